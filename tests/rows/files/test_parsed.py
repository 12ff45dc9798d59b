"""A text file is parsed once, and says what it says when it is read at once."""

import os

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from misnomer.rows.files import delimited, parsed
from misnomer.rows.files.parsed import ParsedPart
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import read_table, scan

CELLS = st.sampled_from(
    [
        *("", " ", "NA", "?", "007", "1,5", "2024-01-31", "2024-01-31 10:00:00", "a b", "3", "0.5"),
        *("-7", " 2", "1e3", "x,y", "nan", "inf", "0", "T", "1.234"),
    ]
)
SOME = st.lists(st.tuples(CELLS, st.sampled_from(["1.5", "2.5", "NA"])), min_size=1, max_size=40)


@pytest.fixture
def small(monkeypatch):
    """First blocks and batches of a few lines."""
    monkeypatch.setattr(parsed, "_FIRST", 64)
    monkeypatch.setattr(delimited, "_BLOCK", 256)
    monkeypatch.setattr(parsed, "_BATCH", 400)


def whole(found):
    return pa.concat_tables(map(decoded_table, found.batches(found.names))).combine_chunks()


def write(path, rows, separator=","):
    head = separator.join(["first", "second", "third"])
    lines = (separator.join([f'"{one}"', two, f"{i + 1}.5"]) for i, (one, two) in enumerate(rows))
    if separator == ";":  # all of them may be thousands, but for 0.500 and the like
        lines = (line.replace(".5", ".500") for line in lines)
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SOME, st.sampled_from([",", ";"]))
def test_whatever_comes_after_the_first_block(tmp_path, small, rows, separator):
    path = write(tmp_path / "t.csv", rows, separator)
    want = read_table(path).combine_chunks()
    got = whole(scan(path))
    assert got.schema == want.schema
    assert got.equals(want)


def test_a_wrong_guess_is_parsed_again(tmp_path, small):
    good = write(tmp_path / "a.csv", [("0.5", "1.5")] * 30)
    assert isinstance(scan(good).parts[0], ParsedPart)
    late = write(tmp_path / "b.csv", [("0.5", "1.5")] * 30 + [("word", "1.5")])
    assert not isinstance(scan(late).parts[0], ParsedPart)
    assert whole(scan(late))["first"].to_pylist()[-2:] == ["0.5", "word"]


def test_a_column_of_numbers_that_another_file_calls_words(tmp_path, small):
    write(tmp_path / "a.csv", [("0.50", "1.5")] * 30)
    write(tmp_path / "b.csv", [("word", "1.5")] * 30)
    found = scan(tmp_path)
    assert [isinstance(part, ParsedPart) for part in found.parts] == [False, True]
    assert whole(found)["first"].to_pylist() == ["0.50"] * 30 + ["word"] * 30


def test_the_file_may_go_and_two_may_read(tmp_path, small):
    path = write(tmp_path / "a.csv", [("x", "1.5"), ("y", "2.5")] * 50)
    found = scan(path)
    os.unlink(path)
    one, two = found.parts[0].batches(["first"]), found.parts[0].batches(["second"])
    pairs = list(zip(one, two, strict=True))
    assert len(pairs) > 3
    assert sum(len(batch) for batch, _ in pairs) == 100


def test_no_room_for_it(tmp_path, small, monkeypatch):
    path = write(tmp_path / "a.csv", [("x", "1.5"), ("y", "2.5")] * 50)
    want = whole(scan(path))
    full = type("Usage", (), {"free": 10})
    monkeypatch.setattr(parsed.shutil, "disk_usage", lambda _: full)
    found = scan(path)
    assert not isinstance(found.parts[0], ParsedPart)
    assert whole(found).equals(want)
