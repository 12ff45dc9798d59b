"""How the command line fails: one line, an exit code, nothing half-written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from misnomer.audit.files import folder
from tests.cli.test_cli import audited, misnomer_cli, pets, pets_csv

__all__ = ["audited", "pets"]  # fixtures


def test_predict_says_what_is_missing(audited, tmp_path):
    _, out = audited
    path = tmp_path / "t.csv"
    path.write_text("weight,sound\n1,bark\n", encoding="utf-8")
    done = misnomer_cli("predict", out, path)
    assert done.exit_code == 2 and "column 'note' of the training data is missing" in done.output
    (tmp_path / "bad.safetensors").write_bytes(b"not a model")
    done = misnomer_cli("predict", tmp_path / "bad.safetensors", path)
    assert done.exit_code == 2 and "no misnomer model" in done.output


TWO = "x,pet\n" + "".join(f"{i / 7},{'cat' if i % 2 else 'dog'}\n" for i in range(40))
MESSY = {
    "no such file": (None, [], "there is no file"),
    "empty": (b"", [], "the file is empty"),
    "header only": (b"x,pet\n", [], "but no rows"),
    "ragged": (TWO.encode() + b"1\n", [], "line 42 has 1 cell"),
    "encoding": (
        TWO.encode() + b"\x81,cat\n",
        [],
        "this is neither UTF-8 nor Windows-1252: say its encoding",
    ),
    "another encoding": (TWO.encode() + b"\x81,cat\n", ["--encoding", "cp1252"], "no cp1252 text"),
    "no such encoding": (TWO.encode(), ["--encoding", "klingon"], "no encoding 'klingon'"),
    "binary": (bytes(range(256)), [], "binary file"),
    "twice": (b"pet,pet\n1,2\n", [], "occurs twice"),
    "wrong label": (TWO.encode(), ["--label", "pets"], "did you mean 'pet'"),
    "one class": (b"x,pet\n1,cat\n2,cat\n", [], "one class only"),
    "ids": (b"x,pet\n" + b"".join(b"1,%d\n" % i for i in range(60)), [], "most likely an ident"),
    "no labels": (b"x,pet\n1,\n2,\n", [], "no label at all"),
    "only labels": (b"pet\ncat\ndog\n", [], "no column is left"),
    "bad family": (TWO.encode(), ["--family", "x=poisson"], "is no family"),
    "family of nothing": (TWO.encode(), ["--family", "x"], "--family takes COL=KIND"),
    "ignored nothing": (TWO.encode(), ["--ignore", "y"], "there is no column 'y'"),
    "trusted words": (TWO.encode(), ["--trusted", "x"], "which rows are trusted, but line 3 holds"),
    "infinite": (TWO.encode() + b"inf,cat\n", [], "infinite value (infinity) in line 42"),
}


@pytest.mark.parametrize("name", MESSY)
def test_bad_input_gets_one_line_and_exit_code_2(tmp_path, name):
    data, words, sentence = MESSY[name]
    path, out = tmp_path / "t.csv", tmp_path / "out"
    if data is not None:
        path.write_bytes(data)
    done = misnomer_cli("audit", path, "--label", "pet", "--out", out, *words)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("misnomer: ") and done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ([] if data is None else ["t.csv"])


def test_a_leak_is_noted(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{line},{line.rsplit(',', 1)[1]}" for line in pets_csv().splitlines()]
    path.write_text("\n".join(lines).replace("pet,pet", "pet,copy"), encoding="utf-8")
    done = misnomer_cli("audit", path, "--label", "pet")
    assert done.exit_code == 0
    assert "'copy'" in done.output and "away almost one to one" in " ".join(done.output.split())


def test_names_of_every_kind(tmp_path):
    header = '"a,b ""c""","<script>alert(1)</script>","😀\nnew",pet'
    path, out = tmp_path / "t.csv", tmp_path / "out"
    path.write_text(pets_csv(header=header), encoding="utf-8")
    done = misnomer_cli("audit", path, "--label", "pet", "--out", out)
    assert done.exit_code == 0, done.output
    names = ['a,b "c"', "<script>alert(1)</script>", "😀\nnew", "pet"]
    assert pq.read_table(out / "rows.parquet").column_names[7:] == names
    assert "<script>alert(1)" not in (out / "report.html").read_text(encoding="utf-8")


def test_output_that_exists(pets, tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    done = misnomer_cli("audit", pets, "-l", "pet", "-o", tmp_path)
    assert done.exit_code == 2 and "use --force" in done.output
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]
    assert misnomer_cli("audit", pets, "-l", "pet", "-o", tmp_path, "--force", "-q").exit_code == 0
    assert (tmp_path / "mine.txt").read_text() == "x"


def test_output_that_cannot_be(pets, tmp_path):
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "a"):
        done = misnomer_cli("audit", pets, "-l", "pet", "-o", out)
        assert done.exit_code == 2 and done.stderr.count("\n") == 1
        assert done.stderr.startswith("misnomer: ")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "permission denied")],
)
def test_a_disk_that_refuses(pets, tmp_path, monkeypatch, number, sentence):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number), "rows.parquet")

    monkeypatch.setattr("pyarrow.parquet.write_table", refuse)
    done = misnomer_cli("audit", pets, "-l", "pet", "-o", tmp_path / "out")
    assert done.exit_code == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_full_device(audited, pets):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    _, out = audited
    done = misnomer_cli("predict", out, pets, "--out", "/dev/full")
    assert done.exit_code == 2 and "the disk is full" in done.stderr


def test_interrupted_in_the_middle(pets, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "run", interrupt)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # pytest itself goes on listening
    done = misnomer_cli("audit", pets, "-l", "pet", "-o", tmp_path / "out")
    assert done.exit_code == 130
    assert done.stderr == "misnomer: interrupted: nothing was written\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_ends_with_130_and_one_line(tmp_path):
    fifo = tmp_path / "never.csv"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "misnomer", "audit", str(fifo), "--label", "x"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with fifo.open("wb"):  # returns when the other side has opened the file: it is reading now
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert (out, err) == ("", "misnomer: interrupted: nothing was written\n")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_pressed_twice_ends_the_same_way(tmp_path):
    fifo = tmp_path / "never.csv"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "misnomer", "audit", str(fifo), "--label", "x"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with fifo.open("wb"):
        process.send_signal(signal.SIGINT)
        said = process.stderr.readline()
        while process.poll() is None:  # on its way out: whatever comes now changes nothing
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, said + err
    assert (out, said + err) == ("", "misnomer: interrupted: nothing was written\n")


def test_usage_errors_are_typers_own():
    assert misnomer_cli("audit").exit_code == 2
    assert misnomer_cli("nonsense").exit_code == 2
