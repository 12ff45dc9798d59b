"""A folder is the old one or the new one, whatever happens while it is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from misnomer import NoisyLabelNB
from misnomer.audit import audit, load_audit, save_audit
from misnomer.cli import app
from misnomer.review import load_for_review
from misnomer.store import container, writing
from misnomer.store.container import check_whole, filling, reading

OLD = {"a.txt": "old a", "b.txt": "old b", "gone.txt": "old", "sample/c.txt": "old c"}
NEW = {"a.txt": "new a", "b.txt": "new b", "fresh.txt": "new", "sample/c.txt": "new c"}


def fill(folder, files, **options):
    with filling(folder, **options) as inside:
        for name, text in files.items():
            (inside / name).parent.mkdir(exist_ok=True)
            (inside / name).write_text(text)


def held_files(folder):
    with reading(folder):
        check_whole(folder, sorted({name.split("/")[0] for name in container.manifest(folder)}))
        return {
            path.relative_to(folder).as_posix(): path.read_text()
            for path in folder.rglob("*")
            if path.is_file() and path.name != "manifest.json"
        }


def test_the_new_files_replace_the_old_ones_and_no_others(tmp_path):
    folder = tmp_path / "out"
    fill(folder, OLD)
    (folder / "mine.txt").write_text("mine")
    fill(folder, NEW, force=True)
    assert held_files(folder) == {**NEW, "mine.txt": "mine"}
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def steps(folder, monkeypatch, stop):
    """Fail at the n-th change of a name, as a power cut would; tell whether there was one."""
    count = 0

    def counted(real):
        def change(*said):
            nonlocal count
            count += 1
            if count == stop:
                raise KeyboardInterrupt
            return real(*said)

        return change

    with monkeypatch.context() as patched:
        for name in ("rename", "replace"):
            patched.setattr(os, name, counted(getattr(os, name)))
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)  # nobody tidies up after a cut
        try:
            fill(folder, NEW, force=True)
        except KeyboardInterrupt:
            return True
    return False


def test_old_or_new_at_every_point_of_a_power_cut(tmp_path, monkeypatch):
    seen, stop = [], 1
    while True:
        folder = tmp_path / str(stop)
        fill(folder, OLD)
        cut = steps(folder, monkeypatch, stop)
        found = {n: t for n, t in held_files(folder).items() if not n.startswith(".misnomer.")}
        assert found in (OLD, NEW)
        seen.append(found == NEW)
        fill(folder, OLD, force=True)
        assert held_files(folder) == OLD  # and what was left behind is cleared away
        if not cut:
            break
        stop += 1
    assert stop > 5 and seen == sorted(seen) and len(set(seen)) == 2


def test_files_of_two_writings_are_refused(tmp_path):
    fill(tmp_path / "one", OLD)
    fill(tmp_path / "two", NEW)
    shutil.copy(tmp_path / "two" / "b.txt", tmp_path / "one" / "b.txt")
    check_whole(tmp_path / "one", ["a.txt", "sample"])
    with pytest.raises(ValueError, match=r"b\.txt: this is not the file that was written"):
        check_whole(tmp_path / "one", ["b.txt"])
    with pytest.raises(ValueError, match="not listed"):
        check_whole(tmp_path / "one", ["fresh.txt"])
    (tmp_path / "one" / "manifest.json").unlink()
    with pytest.raises(ValueError, match="lacks manifest"):
        check_whole(tmp_path / "one", ["a.txt"])


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"format": "misnomer folder", "files": []}'])
def test_a_damaged_manifest_is_refused(tmp_path, said):
    fill(tmp_path / "one", OLD)
    (tmp_path / "one" / "manifest.json").write_text(said)
    with pytest.raises(ValueError, match="the list of files is damaged"):
        check_whole(tmp_path / "one", ["a.txt"])


def test_a_manifest_that_leads_out_of_the_folder_is_refused(tmp_path):
    fill(tmp_path / "one", OLD)
    text = (tmp_path / "one" / "manifest.json").read_text()
    (tmp_path / "one" / "manifest.json").write_text(text.replace("gone.txt", "../x.txt"))
    with pytest.raises(ValueError, match="the list of files is damaged"):
        check_whole(tmp_path / "one", ["a.txt"])


def test_what_a_stranger_left_to_be_finished_is_not_followed(tmp_path):
    fill(tmp_path / "secret", {"letter.txt": "mine"})
    fill(tmp_path / "one", OLD)
    (tmp_path / "one" / ".misnomer.swap").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match="no folder of ours"), reading(tmp_path / "one"):
        pass
    assert (tmp_path / "secret" / "letter.txt").exists()


def test_the_next_run_clears_what_a_killed_one_left_and_nothing_else(tmp_path):
    code = (
        "import os, sys; from misnomer.store.container import filling\n"
        "with filling(sys.argv[1]) as inside:\n"
        "    (inside / 'half').write_text('x'); os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert list(tmp_path.glob(".misnomer.*.part"))
    with filling(tmp_path / "alive") as inside:
        fill(tmp_path / "out", OLD)
        assert list(tmp_path.glob(".misnomer.*.part")) == [inside.parent]


def test_a_folder_in_use_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_MAX_WAIT_SECONDS", 0.0)
    fill(tmp_path / "one", OLD)
    with reading(tmp_path / "one"):
        with pytest.raises(OSError, match="is in use"):
            fill(tmp_path / "one", NEW, force=True)
        assert held_files(tmp_path / "one") == OLD


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 900)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 900) + z, "b": rng.integers(0, 3, 900) + 2 * z})
    frame["y"] = np.where(rng.random(900) < 0.1, 1 - z, z)
    path = tmp_path_factory.mktemp("data") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_a_streamed_audit_may_be_replaced_by_either_kind(tmp_path, table, monkeypatch):
    from misnomer.audit import collector

    monkeypatch.setattr(collector, "SAMPLE", 200)
    monkeypatch.setattr(collector, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(collector, "_choose_rows", lambda n, m, seed: np.arange(min(n, 200)))
    out, words = tmp_path / "out", ("--label", "y", "--quiet")
    for _ in range(2):
        done = run("audit", table, *words, "--memory", "2GB", "--out", out, "--force")
        assert done.exit_code == 0, done.output
    assert (out / "sample").is_dir() and len(load_for_review(out).given) == 900
    assert run("audit", table, *words, "--out", out, "--force").exit_code == 0
    assert not (out / "sample").exists() and len(load_for_review(out).given) == 900


def test_a_mixture_of_two_audits_is_refused_by_every_reader(tmp_path, table):
    quick = NoisyLabelNB(channel="identity")  # which files lie there counts, not what they say
    one = audit(table, label="y", classifier=quick)
    frame = pd.read_csv(table)
    frame["y"] = 1 - frame["y"]
    save_audit(one, tmp_path / "one")
    save_audit(audit(frame, label="y", classifier=quick), tmp_path / "two")
    for name in ("rows.parquet", "audit.safetensors", "model.safetensors"):
        mixed = tmp_path / f"mixed {name}"
        shutil.copytree(tmp_path / "one", mixed)
        shutil.copy(tmp_path / "two" / name, mixed / name)
        with pytest.raises(ValueError, match=r"written with the others|does not fit"):
            load_audit(mixed)
        done = run("export", mixed, "--out", tmp_path / "clean.csv")
        assert done.exit_code == 2 and not (tmp_path / "clean.csv").exists()
