"""Nothing is lost, nothing is doubled, and trouble is said in one sentence."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from misnomer.review.decisions import ConflictError, Decisions
from misnomer.review.ledger import FullError, ReviewError, only_server


@pytest.fixture
def path(tmp_path):
    return tmp_path / "review.sqlite"


def said(row=1, **more):
    return {"row": row, "action": "choose", "label": "b", "given": "a", "suggested": "b", **more}


def test_the_same_key_is_the_same_decision(path):
    decisions = Decisions(path, "rows")
    first = decisions.add(key="k1", **said())
    assert decisions.add(key="k1", **said(row=2)) == first
    assert [one.row for one in decisions.standing()] == [1]


def test_a_decision_is_read_back_with_its_types(path):
    Decisions(path, "rows").add(key="k", **said(label=3, given=True, probability=0.25, check=True))
    (found,) = Decisions(path, "rows").entries()
    assert (found.label, found.given, found.probability, found.check) == (3, True, 0.25, True)


def test_undo_brings_the_decision_before_back(path):
    decisions = Decisions(path, "rows")
    first = decisions.add(key="k1", **said(label="b"))
    second = decisions.add(key="k2", **said(label="c"))
    assert decisions.of(1) == second
    decisions.undo(key="u1", decision=second.id)
    decisions.undo(key="u2", decision=second.id)
    assert decisions.of(1) == first == decisions.last()
    decisions.undo(key="u3", decision=first.id)
    assert decisions.of(1) is None and decisions.last() is None
    assert len(decisions.entries()) == 4  # the log keeps all; the second undo of one adds nothing


def test_there_is_nothing_to_undo_but_decisions(path):
    decisions = Decisions(path, "rows")
    with pytest.raises(ReviewError, match="no decision 7"):
        decisions.undo(key="u1", decision=7)


def test_whoever_comes_second_is_told(path):
    here, there = Decisions(path, "rows"), Decisions(path, "rows")
    here.add(key="k1", seen=0, **said())
    with pytest.raises(ConflictError, match="row 1 was decided"):
        there.add(key="k2", seen=0, **said(label="c"))
    assert [one.label for one in there.standing()] == ["b"]


def _many(path, name):
    decisions = Decisions(path, "rows")
    for i in range(25):
        decisions.add(key=f"{name}-{i}", **said(row=i))


def test_two_processes_lose_nothing(path):
    Decisions(path, "rows").close()
    start = multiprocessing.get_context("spawn")
    workers = [start.Process(target=_many, args=(path, name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = Decisions(path, "rows").entries()
    assert len(found) == 50 == len({one.key for one in found})


def test_what_was_acknowledged_survives_a_kill(path):
    code = """
        import sys
        from misnomer.review.decisions import Decisions
        decisions = Decisions(sys.argv[1], "rows")
        for i in range(10_000):
            decisions.add(key=f"k{i}", row=i, action="keep", label="a", given="a")
            print(i, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        told = [int(process.stdout.readline()) for _ in range(20)]
        os.kill(process.pid, signal.SIGKILL)
        told += [int(line) for line in process.stdout.read().split()]
    rows = [one.row for one in Decisions(path, "rows").standing()]
    assert set(told) <= set(rows) and len(rows) == len(set(rows))


def test_a_full_disk_is_said_and_nothing_is_half_written(path):
    decisions = Decisions(path, "rows")
    decisions.add(key="k0", **said())
    pages = decisions._connection.execute("PRAGMA page_count").fetchone()[0]
    decisions._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(FullError, match="the disk is full, nothing was written"):
        decisions.add(key="k1", **said(row=2, label="x" * 100_000))
    decisions._connection.execute("PRAGMA max_page_count = 100000")
    decisions.add(key="k1", **said(row=3))
    assert [one.row for one in Decisions(path, "rows").standing()] == [1, 3]


def test_a_file_about_other_rows_is_refused(path):
    Decisions(path, "rows").close()
    with pytest.raises(ReviewError, match="the data has changed since; audit it into a new folder"):
        Decisions(path, "other rows")


def test_a_damaged_a_foreign_and_a_newer_file_are_refused(path, tmp_path):
    path.write_bytes(b"SQLite format 3\0" + b"nonsense" * 1000)
    with pytest.raises(ReviewError, match="damaged"):
        Decisions(path, "rows")
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE cookies (x)")
    other.close()
    with pytest.raises(ReviewError, match="another program's file"):
        Decisions(tmp_path / "other.sqlite", "rows")
    newer = Decisions(tmp_path / "newer.sqlite", "rows")
    newer._connection.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(ReviewError, match="upgrade misnomer"):
        Decisions(tmp_path / "newer.sqlite", "rows")
    older = Decisions(tmp_path / "older.sqlite", "rows")
    older._connection.execute("PRAGMA user_version = 0")
    older.close()
    with pytest.raises(ReviewError, match="too old"):
        Decisions(tmp_path / "older.sqlite", "rows")


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ReviewError, match="may not be written"):
        Decisions(tmp_path / "nowhere" / "review.sqlite", "rows")


def test_a_second_server_is_noticed(tmp_path):
    with only_server(tmp_path / "lock") as first, only_server(tmp_path / "lock") as second:
        assert first and not second
    with only_server(tmp_path / "lock") as again:
        assert again
