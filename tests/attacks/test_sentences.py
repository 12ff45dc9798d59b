"""Odd input gets a sentence, never a traceback."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from misnomer import NoisyLabelNB
from misnomer.cli import app
from misnomer.engines import Journal
from misnomer.review.export import read_answers
from misnomer.rows.files.paths import LONGEST, in_memory
from misnomer.rows.scan import read_table, scan


def lines(n=60):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    rows = zip(rng.integers(0, 3, n) + z, rng.integers(0, 3, n) + 2 * z, z, strict=True)
    return [json.dumps({"a": int(a), "b": int(b), "y": "ny"[int(y)]}) for a, b, y in rows]


def test_damaged_json_lines_are_left_out_one_by_one(tmp_path):
    text = lines()
    text[7] = text[7][:9]
    text[20] = "[1]"
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(ValueError, match=r"a\.jsonl"):
        scan(path)
    found, bad = scan(path, skip_bad=True), []
    rows = sum(len(b) for part in found.parts for b in part.batches(found.names, bad))
    assert rows == 58 and "2 lines of no JSON" in bad[0]
    words = ["audit", str(path), "--label", "y", "--skip-bad", "--quiet"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


def test_json_lines_of_which_none_is_sound(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": \n{"a"\n')
    done = CliRunner().invoke(app, ["audit", str(path), "--label", "a", "--skip-bad"])
    assert done.exit_code == 2 and done.output.count("\n") == 1 and "no line" in done.output


ODD = ['{"a": {"z": 1}, "y": "n"}', '{"a": "word", "y": "n"}', '{"a": 1, "b": [2], "y": "n"}']


@pytest.mark.parametrize("odd", [*ODD, '{"a": 1, "a": 2, "y": "n"}'])
@pytest.mark.parametrize("n", [300, 40_000])  # of one block, and of two
@pytest.mark.parametrize("first", [False, True])
def test_json_lines_of_another_type_are_left_out_one_by_one(tmp_path, odd, n, first):
    text = lines(n)
    text[0 if first else n - 5] = odd
    text[7] = "no JSON"
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(text) + "\n")
    found, bad = scan(path, skip_bad=True), []
    rows = sum(len(b) for part in found.parts for b in part.batches(found.names, bad))
    assert rows == n - 2
    assert sum("1 line" in one for one in bad) == 2 or "2 lines of no JSON" in bad[0]
    assert found.schema.field("a").type == pa.int64()


def test_a_json_line_of_another_type_is_named(tmp_path):
    text = lines(300)
    text[40] = '{"a": "word", "b": 1, "y": "n"}'
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(ValueError, match="line 41: column 'a' holds a text, but a number in most"):
        scan(path)
    words = ["audit", str(path), "--label", "y", "--skip-bad", "--quiet"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_are_not_utf8_are_left_out_one_by_one(tmp_path, capfd, end):
    text = ["a,b,y", *(f"{i % 3},{i % 2},{'ny'[i % 2]}" for i in range(60))]
    text[20] = "0\udcff,1,y,9"  # too many cells, too: Arrow could not even say so
    text[30] = "0\udcff,1,y"
    text[40] = "0,1"
    path = tmp_path / "a.csv"
    path.write_bytes(end.join([*text, ""]).encode(errors="surrogateescape"))
    found, bad = scan(path, skip_bad=True), []
    rows = sum(len(b) for part in found.parts for b in part.batches(found.names, bad))
    assert rows == 57 and "1 line with too" in bad[0] and "2 lines not in UTF-8" in bad[1]
    done = CliRunner().invoke(app, ["audit", str(path), "--label", "y", "--skip-bad", "--quiet"])
    assert done.exit_code == 0 and "Traceback" not in capfd.readouterr().err, done.output


def test_a_line_that_opens_a_long_cell_stays(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,y\n1,n\n"\xff\nx",y\n"p\nq",n\n2,y\n')
    found = scan(path, skip_bad=True)
    rows = [row for b in found.batches(found.names, []) for row in b.to_pylist()]
    assert [row["a"] for row in rows] == ["1", "\ufffd\nx", "p\nq", "2"]


@pytest.mark.parametrize("label", [{}, [1], object, (1, 2)])
def test_a_label_that_is_none(label):
    X, y = np.arange(24.0).reshape(12, 2), np.array(["a", "b"] * 6, dtype=object)
    y[3] = label
    with pytest.raises(ValueError, match=f"label of row 3 is a {type(label).__name__}"):
        NoisyLabelNB().fit(X, y)


@pytest.mark.parametrize("name", [b'"\xff\xfe": 1', b'"a": "\xe9\xff"'])
def test_json_that_is_no_text_is_refused(tmp_path, name):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{" + name + b', "y": 1}\n')
    for read in (read_table, lambda p: list(scan(p).batches(scan(p).names))):
        with pytest.raises(ValueError, match=r"a\.jsonl"):
            read(path)


RUNS = """
import sys
from pathlib import Path
from misnomer.cli import app
for path in sorted(Path(sys.argv[1]).iterdir()):
    for words in ((), ("--memory", "2GB"), ("--skip-bad",)):
        try:
            app(["audit", str(path), "--label", "a", *words])
        except SystemExit as left:
            print(path.name, *words, left.code)
            print("--", file=sys.stderr)
"""


def test_null_in_place_of_an_object(tmp_path):
    """In a process of its own, which would die of what the reader of JSON does not expect."""
    texts = ["null", "null\n", '\n  null{"a": 1}\n', '{"a": 1}\n\r\tnull\n']
    for at, text in enumerate(texts):
        (tmp_path / f"{at}.jsonl").write_text(text)
    command = [sys.executable, "-c", RUNS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    runs = done.stdout.splitlines()
    assert len(runs) == 3 * len(texts) and all(run.endswith(" 2") for run in runs), done.stdout
    said = done.stderr.split("--\n")[:-1]
    assert len(said) == len(runs) and all(one.count("\n") == 1 for one in said), done.stderr


@pytest.mark.parametrize("before", ["\n", "\r\n\r\n", "\t\t\n", "# made in May\n\n"])
def test_empty_lines_before_the_header(tmp_path, before):
    path = tmp_path / "a.tsv"
    path.write_text(before + "a\tb\ty\n1\t2\tn\n3\t4\ty\n", newline="")
    rows = [{"a": 1, "b": 2, "y": "n"}, {"a": 3, "b": 4, "y": "y"}]
    assert read_table(path).to_pylist() == rows
    found = scan(path)
    assert [row for batch in found.batches(found.names) for row in batch.to_pylist()] == rows


def test_a_row_longer_than_a_block(tmp_path):
    path = tmp_path / "a.csv"
    said = ["so it goes", "word " * 2_500_000, "so"]
    path.write_text("said,y\n" + "".join(f"{text},n\n" for text in said))
    for skip in (False, True):
        found = scan(path, skip_bad=skip)
        seen = [row for batch in found.batches(found.names, []) for row in batch.to_pylist()]
        assert [len(row["said"]) for row in seen] == [len(text) for text in said]


class Bomb(io.RawIOBase):
    """A header, and a line of 300 MB that is made as it is read."""

    def __init__(self):
        self.bytes_read = 0

    def read(self, size):
        block = b"x" * min(size, 300_000_000 - self.bytes_read)
        self.bytes_read += len(block)
        return block if self.bytes_read > size else b"a,y\n" + block[4:]


def test_an_endless_line_is_refused_before_it_is_unpacked():
    bomb = Bomb()
    with pytest.raises(ValueError, match=r"b\.csv: a line is longer than 64 MB"):
        in_memory(lambda: bomb, "b.csv")
    assert bomb.bytes_read < LONGEST + (1 << 25)


@pytest.mark.parametrize("end", ["csv", "tsv"])
@pytest.mark.parametrize(
    "text", ["a\rb,c\ty\n1\t2\t3\n", "a\ty\r1\t2\r", 'a,"b\rc",y\n1,2\n', "a\r,\r"]
)
def test_a_lone_carriage_return(tmp_path, end, text):
    path = tmp_path / f"a.{end}"
    path.write_bytes(text.encode())
    for words in ((), ("--memory", "2GB"), ("--skip-bad",)):
        done = CliRunner().invoke(app, ["audit", str(path), "--label", "y", *words])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        assert done.exit_code in (0, 2)
        assert "universal-newline" not in done.output


@pytest.mark.parametrize(
    ("text", "line"), [("a\tb\rc\ty\n1\t2\tn\n", 1), ("#\na\ty\n3\r4\tn\n5\n", 3)]
)
def test_the_line_of_a_lone_carriage_return_is_named(tmp_path, text, line):
    (tmp_path / "a.tsv").write_bytes(text.encode())
    with pytest.raises(ValueError, match=f"line {line} has a line break of old Macs"):
        read_table(tmp_path / "a.tsv")


@pytest.mark.parametrize("said", ["[]", "null", "3", "{", "\x00", '{"mark": []}'])
def test_a_damaged_checkpoint(tmp_path, said):
    Journal(tmp_path / "j", {"a": 1})
    (tmp_path / "j" / "journal.json").write_text(said)
    with pytest.raises(ValueError, match="checkpoint"):
        Journal(tmp_path / "j", {"a": 1})


@pytest.mark.parametrize("row", ["Infinity", "-Infinity", "NaN", "1e999", "null", '"x"'])
def test_row_numbers_that_are_none(tmp_path, row):
    path = tmp_path / "answers.json"
    path.write_text('[{"data": {"misnomer_row": ' + row + '}, "annotations": []}]')
    with pytest.raises(ValueError, match="entry 0"):
        read_answers(path, 9)


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series])
def test_one_column_of_texts_is_fitted_and_predicted(form):
    texts = ["good and fine", "bad and sad"] * 20
    X = form(texts)
    fitted = NoisyLabelNB(channel="identity").fit(X, [1, 0] * 20)
    assert fitted.predict(X).tolist() == [1, 0] * 20
    rows = [[text] for text in texts]
    fitted = NoisyLabelNB(channel="identity", families="text").fit(rows, [1, 0] * 20)
    assert fitted.predict(rows).tolist() == [1, 0] * 20


@pytest.mark.parametrize("cell", ["\ud800", 2**70, (1, 2), b"x", 1 + 2j, object, pd.NA, None])
def test_odd_cells(cell):
    frame = pd.DataFrame({"a": ["x", "y"] * 10, "b": [1.0, 2.0] * 10})
    fitted = NoisyLabelNB(channel="identity").fit(frame, [0, 1] * 10)
    for name in "ab":
        odd = frame.astype(object)
        odd.loc[3, name] = cell if not isinstance(cell, tuple) else None
        try:
            assert np.isfinite(fitted.predict_proba(odd)).all()
        except (ValueError, TypeError) as error:
            assert name in str(error)


@pytest.mark.parametrize("memory", ["0", "1MB", "50MB"])
def test_a_cap_on_memory_that_cannot_be_kept_is_refused(tmp_path, memory):
    (tmp_path / "a.jsonl").write_text("\n".join(lines()))
    words = ["audit", str(tmp_path / "a.jsonl"), "--label", "y", "--memory", memory]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and "the least that works is" in done.output
