"""Which file was audited is remembered, and a change of it is noticed."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from misnomer import NoisyLabelNB
from misnomer.audit import audit, load_audit
from misnomer.audit.files import origin
from misnomer.audit.files.origin import SAMPLED, WHOLE, origin_of, state
from misnomer.reports.tables import command_words
from misnomer.store import container
from tests.audited import pets

QUICK = NoisyLabelNB(solver="em")  # what was audited counts here, not what was found


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a file.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    return path


def later(path, seconds=10):
    """Give a file another time than it has."""
    now = path.stat().st_mtime
    os.utime(path, (now + seconds, now + seconds))


def test_an_audit_of_a_path_remembers_the_file(tmp_path):
    path = tmp_path / "pets.csv"
    pets().to_csv(path, index=False)
    found = audit(path, label="pet", ignore=["legs"], classifier=QUICK)
    assert found.origin.path == str(path) and found.origin.method == WHOLE
    assert found.origin.size == path.stat().st_size and found.origin.files == 1
    found.save(tmp_path / "out")
    assert load_audit(tmp_path / "out").origin == found.origin
    said = json.loads((tmp_path / "out" / "audit.json").read_text())["source"]
    assert said["digest"] == found.origin.digest and said["path"] == str(path)
    command = found.origin.command("new")
    assert command.endswith("pets.csv --label pet --ignore legs --out new")


def test_a_frame_is_never_digested(monkeypatch, tmp_path):
    monkeypatch.setattr(origin, "digest", lambda *_: pytest.fail("a frame was digested"))
    found = audit(pets(), label="pet", classifier=QUICK)
    assert found.origin is None
    found.save(tmp_path / "out")
    assert load_audit(tmp_path / "out").origin is None
    assert "source" not in json.loads((tmp_path / "out" / "audit.json").read_text())


def test_size_and_time_are_looked_at_before_the_digest(file, monkeypatch):
    then = origin_of(file)
    with monkeypatch.context() as patched:
        patched.setattr(origin, "digest", lambda *_: pytest.fail("the digest was not needed"))
        assert state(then) == "same"
        file.write_text("x,y\n1,a\n2,b\n3,c\n")
        assert state(then) == "changed"  # another size
    file.write_text("x,y\n1,a\n2,b\n")
    later(file)
    assert state(then) == "same"  # another time, the same bytes
    file.write_text("x,y\n1,a\n2,c\n")
    later(file)
    assert state(then) == "changed"


def test_a_file_that_is_gone_or_elsewhere(file, tmp_path):
    then = origin_of(file)
    file.rename(tmp_path / "moved.csv")
    assert state(then) == "missing"
    assert state(then, tmp_path / "moved.csv") == "same"


def test_a_folder_and_a_pattern_are_digested_part_by_part(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in "ab":
        pq.write_table(pa.table({"x": [name] * 3}), folder / f"{name}.parquet")
    whole, some = origin_of(folder), origin_of(str(folder / "*.parquet"))
    assert whole.files == some.files == 2
    folder.rename(tmp_path / "elsewhere")
    assert state(whole, tmp_path / "elsewhere") == "same" and state(some) == "missing"
    first, second = (tmp_path / "elsewhere" / f"{name}.parquet" for name in "ab")
    first.rename(tmp_path / "c")
    second.rename(first)
    (tmp_path / "c").rename(second)  # the same files under each other's names
    assert state(whole, tmp_path / "elsewhere") == "changed"


def test_of_a_large_file_blocks_are_digested(file, monkeypatch):
    monkeypatch.setattr(origin, "_MAX_WHOLE_BYTES", 1000)
    monkeypatch.setattr(container, "_BLOCK_BYTES", 10)
    file.write_bytes(bytes(range(250)) * 20)
    then = origin_of(file)
    assert then.method == SAMPLED
    for place in (0, 4999):
        content = bytearray(file.read_bytes())
        content[place] ^= 1
        file.write_bytes(content)
        later(file, place + 10)
        assert state(then) == "changed"
        content[place] ^= 1
        file.write_bytes(content)
        later(file, place + 20)
        assert state(then) == "same"


def test_the_command_says_what_was_asked():
    asked = {
        "data": "x.csv",
        "label": "y",
        "text": ["a", "b"],
        "families": {"c": "count"},
        "random_state": 0,
        "trusted": None,
        "skip_bad": True,
        "annotators": ["ann", "bob"],
        "knowledge": {"rates": {"a": 0.2}, "never": [("a", "b")], "most": 0.4},
    }
    words = "--label y --text a --text b --family c=count --skip-bad --annotator-columns ann,bob"
    assert " ".join(command_words(asked)) == f"{words} --known a=0.2 --at-most 0.4 --never a:b"
    assert command_words({"annotators": ["last, first", "b"]}) == (
        "--annotator-columns", "last, first", "--annotator-columns", "b",
    )  # fmt: skip
