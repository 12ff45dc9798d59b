"""Every kind of file gives the same table, and every bad one a sentence."""

from __future__ import annotations

import datetime
import gzip
import os
import threading

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from misnomer.rows.files.cells import typed
from misnomer.rows.scan import read_table, scan

TABLE = pa.table({"age": [31, None, 45], "word": ["a", "b", None], "x": [0.5, 1.5, -2.0]})
CSV = b"age,word,x\n31,a,0.5\n,b,1.5\n45,,-2.0\n"
LINES = b'{"age":31,"word":"a","x":0.5}\n{"word":"b","x":1.5}\n{"age":45,"x":-2.0}\n'


def write(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", CSV),
        ("t.txt", CSV),
        ("no_extension", CSV),
        ("bom.csv", b"\xef\xbb\xbf" + CSV),
        ("crlf.csv", CSV.replace(b"\n", b"\r\n")),
        ("utf16.csv", CSV.decode().encode("utf-16")),
        ("no_newline_at_end.csv", CSV.rstrip()),
        ("blank_lines.csv", CSV.replace(b"\n", b"\n\n")),
        ("t.tsv", CSV.replace(b",", b"\t")),
        ("semicolon.csv", CSV.replace(b",", b";")),
        ("decimal_comma.csv", CSV.replace(b",", b";").replace(b".", b",")),
        ("t.csv.gz", gzip.compress(CSV, mtime=0)),
        ("t.jsonl", LINES),
        ("bom.jsonl", b"\xef\xbb\xbf" + LINES),
        ("bom_without_a_name", b"\xef\xbb\xbf" + LINES),
        ("bom.json", b"\xef\xbb\xbf[" + LINES.strip().replace(b"\n", b",") + b"]"),
        ("called.csv", b"[" + LINES.strip().replace(b"\n", b",\n") + b"]"),
    ],
)
def test_text_of_any_kind(tmp_path, name, data):
    found = read_table(write(tmp_path / name, data))
    assert found.select(TABLE.column_names).to_pydict() == TABLE.to_pydict()
    assert set(found.column_names) == set(TABLE.column_names)


@pytest.mark.parametrize("name", ["t.parquet", "called.csv"])
def test_parquet_is_known_by_its_bytes(tmp_path, name):
    pq.write_table(TABLE, tmp_path / name)
    assert read_table(tmp_path / name).equals(TABLE)


def test_arrow_and_feather(tmp_path):
    feather.write_feather(TABLE, tmp_path / "t.feather")
    with pa.ipc.new_stream(str(tmp_path / "t.arrows"), TABLE.schema) as stream:
        stream.write_table(TABLE)
    for name in ("t.feather", "t.arrows"):
        assert read_table(tmp_path / name).to_pydict() == TABLE.to_pydict()


def test_a_folder_of_parquet_with_partitions(tmp_path):
    for part in ("a", "b"):
        (tmp_path / f"site={part}").mkdir()
        pq.write_table(TABLE, tmp_path / f"site={part}" / "0.parquet")
    found = read_table(tmp_path)
    assert len(found) == 6
    assert sorted(set(found.column("site").to_pylist())) == ["a", "b"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", None], [1, 2, None]),
        (["1", "NA", "3"], [1, None, 3]),
        (["1.5", "?", "null", "-2e3"], [1.5, None, None, -2000.0]),
        (["a", "NA", "?"], ["a", "NA", "?"]),
        (["NA", "NA"], ["NA", "NA"]),
        (["01234", "99999"], ["01234", "99999"]),
        (["0", "10"], [0, 10]),
        (["0.5", "0.25"], [0.5, 0.25]),
        (["2020-01-31", ""], [datetime.date(2020, 1, 31), None]),
        (["  ", "x"], [None, "x"]),
        (["True", "False"], ["True", "False"]),
        ([None, None], [None, None]),
        (["1", "2", "many"], ["1", "2", "many"]),
    ],
)
def test_what_a_cell_means(cells, expected):
    assert typed(pa.chunked_array([pa.array(cells, pa.string())])).to_pylist() == expected


BAD = {
    "empty.csv": (b"", "the file is empty"),
    "blank.csv": (b" \n\n", "the file is empty"),
    "header.csv": (b"a,b\n", r"has a header \('a', 'b'\) but no rows"),
    "header_only.csv": (b"a,b", "but no rows"),
    "short.csv": (b"a,b\n1,2\n3\n", r"line 3 has 1 cell, but the header has 2.*\(--skip-bad\)"),
    "long.csv": (b'a,b\n1,"2\n2"\n3,4,5\n', "line 4 has 3 cells, but the header has 2"),
    "quote.csv": (b'a,b\n1,2\n"x,2\n3,4\n', "line 3 has 1 cell, "),
    "neither.csv": (b"a,b\nx,1\n\x81\x8d,2\n", "neither UTF-8 nor Windows-1252: say its encoding"),
    "binary.csv": (bytes(range(256)) * 9, "this is a binary file"),
    "image.csv": (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "this is a binary file"),
    "book.csv": (b"PK\x03\x04rest", "this is a zip file: unpack it first"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "column 'a' occurs twice"),
    "cut.csv.gz": (
        gzip.compress(CSV * 1000, mtime=0)[:40],
        "the gzip file is damaged or cut short",
    ),
    "not.parquet": (b"hello", "this is no parquet file"),
    "cut.parquet": (b"PAR1abc", "the file cannot be read .*footer"),
    "cut.feather": (b"ARROW1\x00\x00abc", "the file cannot be read .*too small"),
    "array.json": (b'[{"a": 1}, 2]', "entry 2 of the array is no object"),
    "cut.json": (b'[{"a": 1}, ', "JSON that cannot be read"),
    "none.json": (b"[]", "holds no column"),
    "damaged.xlsx": (b"PK\x03\x04rest", "this is no workbook, or a damaged one"),
    "text.xlsx": (b"a,b\n1,2\n", "damaged one: this is text, let its name end in .csv"),
    "locked.xlsx": (b"\xd0\xcf\x11\xe0rest", "asks for a password: save it without one"),
    "page.xls": (
        b"\n<HTML><table><tr><td>1</td></tr>",
        "a web page: save its table as .xlsx or CSV",
    ),
    "sheet.xls": (b'\xef\xbb\xbf<?xml version="1.0"?>', "this is XML: save its table"),
    "print.csv": (b"%PDF-1.4 \x00", "this is a PDF: save its table"),
    "visits.sav": (b"$FL2@(#) SPSS", "this is a file of SPSS: save its table"),
    "visits.ods": (b"PK\x03\x04rest", "this is a sheet of LibreOffice: save its table"),
    "columns.json": (b'{"a": [1, 2], "b": ["x", "y"]}', "one JSON object, .*orient='records'"),
    "index.json": (b'{"a": {"0": 1}, "b": {"0": "x"}}', "one JSON object, .*orient='records'"),
    "inside.json": (b'{"data": [{"a": 1}, {"a": 2}]}', "one JSON object, .*orient='records'"),
    "pretty.json": (b'{\n  "a": [1, 2]\n}', "one JSON object, .*orient='records'"),
    "old.xls": (b"\xd0\xcf\x11\xe0rest", r"an old workbook \(.xls\): save it as .xlsx"),
    "bad.jsonl": (b'{"a": 1}\n\n{"a": 1,\n', "line 3 is no JSON object: mend it, or leave it out"),
    "old.json": (
        b'[{"a": "\xf6"}]',
        "this is not UTF-8, as JSON is: write it with encoding='utf-8'",
    ),
    "old.jsonl": (b'{"a": "\xf6"}\n', "line 1: this is not UTF-8, as JSON is"),
    "wide.json": ('[{"a": 1}]'.encode("utf-16"), "line 1: this is not UTF-8, as JSON is"),
    "number.json": (b"3", "line 1 is no JSON object"),
    "wide.csv": ("a,b\n1,2\n".encode("utf-16-le"), r"binary file.*say --encoding utf-16-le"),
}


def test_numbers_longer_than_64_bits_are_names(tmp_path):
    """As doubles, these would be one number, 1e20."""
    ids = [str(10**20 + i) for i in range(60)]
    path = write(tmp_path / "t.csv", "\n".join(["id", *ids]).encode())
    assert read_table(path).column("id").to_pylist() == ids
    found = scan(path)
    assert [cell.as_py() for batch in found.batches(["id"]) for cell in batch.column(0)] == ids
    exact = write(tmp_path / "t.csv", b"x\n1.00000000000000000001\n2e20\n")
    assert read_table(exact).column("x").to_pylist() == [1.0, 2e20]


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_sentence(tmp_path, name):
    data, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        read_table(write(tmp_path / name, data))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*nowhere.csv'"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="the folder holds no Parquet, Arrow, CSV"):
        read_table(tmp_path)


def test_odd_names_survive(tmp_path):
    text = '"a,b","c\nd","say ""hi""",<b>x</b>,😀,\n1,2,3,4,5,6\n'
    found = read_table(write(tmp_path / "t.csv", text.encode()))
    assert found.column_names == ["a,b", "c\nd", 'say "hi"', "<b>x</b>", "😀", "column 6"]


def test_parquet_with_a_name_twice(tmp_path):
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    feather.write_feather(twice, tmp_path / "t.arrow")
    with pytest.raises(ValueError, match="column 'a' occurs twice"):
        read_table(tmp_path / "t.arrow")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(CSV,))
    writer.start()
    found = read_table(pipe)
    writer.join()
    assert found.to_pydict() == TABLE.to_pydict()
