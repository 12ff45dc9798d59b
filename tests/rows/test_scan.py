"""Scans: what a file gives by batches is what it gives at once."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from misnomer.rows.files import delimited, parsed
from misnomer.rows.files.cells import Guess, cast_cells, guess, typed
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import read_table, scan
from tests.audit.rows import table


def whole(found):
    return pa.concat_tables(map(decoded_table, found.batches(found.names))).combine_chunks()


def test_text_in_small_blocks_is_text_at_once(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    csv.write_csv(table(), path)
    want = read_table(path)
    monkeypatch.setattr(delimited, "_BLOCK", 2000)
    monkeypatch.setattr(parsed, "_BATCH", 1000)
    got = scan(path)
    assert got.names == want.column_names
    assert len(list(got.batches(got.names))) > 10
    assert whole(got).equals(want.combine_chunks())
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert whole(scan(packed)).equals(want.combine_chunks())


CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "NA",
            "?",
            "007",
            "1,5",
            "2024-01-31",
            "2024-01-31 10:00:00",
            "a b",
            "9" * 19,
            "1" + "0" * 19,
        ]
    ),
    st.integers(-20, 20).map(str),
    st.floats(-5, 5).map(lambda x: f"{x:.2f}"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=40), st.integers(1, 9), st.booleans())
def test_types_settle_as_if_seen_at_once(cells, rows, comma):
    column = pa.chunked_array([pa.array([c or None for c in cells], pa.string())])
    want = typed(column, decimal_comma=comma).combine_chunks()
    parts = [column.combine_chunks().slice(i, rows) for i in range(0, len(cells), rows)]
    total = Guess()
    for part in parts:
        total = total + guess(part, total)
    got = pa.concat_arrays([cast_cells(part, total.kind(decimal_comma=comma)) for part in parts])
    assert got.type == want.type
    assert got.equals(want)


def test_json_lines(tmp_path, monkeypatch):
    path = tmp_path / "t.jsonl"
    table().to_pandas().to_json(path, orient="records", lines=True)
    want = read_table(path)
    monkeypatch.setattr(delimited, "_BLOCK", 3000)
    got = whole(scan(path))
    assert got.equals(want.combine_chunks().cast(got.schema))
    assert got.schema.types == want.schema.types


def test_folders_patterns_and_partitions(tmp_path):
    want = table(60)
    for site in ("a", "b"):
        folder = tmp_path / "t" / f"site={site}" / "year=2024"
        folder.mkdir(parents=True)
        pq.write_table(want, folder / "0.parquet", row_group_size=25)
    (tmp_path / "t" / "_SUCCESS").write_text("")
    found = scan(tmp_path / "t")
    assert found.names[-2:] == ["site", "year"]
    got = whole(found)
    assert got.equals(read_table(tmp_path / "t").combine_chunks().cast(got.schema))
    assert next(scan(tmp_path / "t").batches(["year"]))["year"][0].as_py() == 2024
    assert whole(scan(f"{tmp_path}/t/*/*/*.parquet")).num_rows == 120
    assert whole(scan(f"file://{tmp_path}/t")).equals(got)


def test_whole_numbers_give_way_to_reals_and_gaps_to_anything(tmp_path):
    parts = [pa.table({"x": [1, 2]}), pa.table({"x": [0.5]}), pa.table({"x": pa.nulls(2)})]
    for i, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    assert whole(scan(tmp_path))["x"].to_pylist() == [1.0, 2.0, 0.5, None, None]


def test_a_column_that_changes_its_type_is_named(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1\.parquet: column 'x' holds string, but int64 in"):
        scan(tmp_path)


def test_empty_files_and_single_rows(tmp_path):
    rows = table(5)
    for i in range(5):
        pq.write_table(rows.slice(i, 1), tmp_path / f"{i}.parquet")
    pq.write_table(rows.slice(0, 0), tmp_path / "9.parquet")
    assert whole(scan(tmp_path)).equals(rows.combine_chunks())


def damaged(path, group):
    """Overwrite the pages of one row group."""
    about = pq.ParquetFile(path).metadata.row_group(group)
    column = about.column(0)
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    end = start + column.total_compressed_size
    data[start:end] = bytes(255 for _ in range(end - start))
    path.write_bytes(bytes(data))


def test_a_damaged_row_group_is_named_or_left_out(tmp_path):
    path = tmp_path / "t.parquet"
    rows = table(100)
    pq.write_table(rows, path, row_group_size=40)
    damaged(path, 1)
    found = scan(path)
    with pytest.raises(ValueError, match=r"t\.parquet: row group 1 \(40 rows\) cannot be read"):
        list(found.batches(found.names))
    bad = []
    got = pa.concat_tables(map(decoded_table, found.batches(found.names, bad)))
    assert got["number"].to_pylist() == [*range(40), *range(80, 100)]
    assert len(bad) == 1
    (tmp_path / "u.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match=r"u\.parquet: the file cannot be read"):
        scan(tmp_path)
    assert len(scan(tmp_path, skip_bad=True).left_out) == 1


def test_odd_lines_are_named_or_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3\n4,5,6\n7,8\n")
    with pytest.raises(ValueError, match="line 3 has 1 cell, but the header has 2"):
        scan(path)
    found = scan(path, skip_bad=True)
    bad = []
    assert pa.Table.from_batches(list(found.batches(["b"], bad)))["b"].to_pylist() == [2, 8]
    assert bad == [f"{path}: 2 lines with too many or too few cells"]


def test_arrow_files_of_both_formats(tmp_path):
    rows = table(50)
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as s, pa.ipc.new_file(s, rows.schema) as w:
        w.write_table(rows, max_chunksize=20)
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as s, pa.ipc.new_stream(s, rows.schema) as w:
        w.write_table(rows)
    got = whole(scan(tmp_path, rows=7))
    assert got.equals(pa.concat_tables([rows, rows]).combine_chunks())
    assert pc.max(got["number"]).as_py() == 49
    assert np.asarray(got["number"])[50] == 0
