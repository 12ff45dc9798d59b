"""The line of a row is the one on which an editor or a spreadsheet shows it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from misnomer import audit, load_audit
from misnomer.reports.text import render
from misnomer.rows.parts import lines_of, with_lines
from misnomer.rows.scan import read_table

CELLS = {
    "plain": ("a,b\n1,x\n2,y\n", [2, 3]),
    "no last end": ("a,b\n1,x\n2,y", [2, 3]),
    "comments": ("# by hand\n# twice\na,b\n1,x\n2,y\n", [4, 5]),
    "a comment and nothing": ("# by hand\n\na,b\n1,x\n2,y\n", [4, 5]),
    "empty lines first": ("\n\na,b\n1,x\n2,y\n", [4, 5]),
    "empty lines between": ("a,b\n1,x\n\n\n2,y\n\n", [2, 5]),
    "cells of several lines": ('a,b\n1,"x\ny\nz"\n2,y\n', [2, 5]),
    "sep": ("sep=;\na;b\n1;x\n2;y\n", [3, 4]),
    "sep and nothing": ("sep=;\n\na;b\n1;x\n2;y\n", [4, 5]),
}


@pytest.mark.parametrize("name", CELLS)
def test_lines_of_separated_cells(tmp_path: Path, name: str) -> None:
    text, lines = CELLS[name]
    path = tmp_path / "some.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_text(text, encoding=encoding, newline="")
        table = read_table(path)
        found = lines_of(table)
        assert table.column_names == ["a", "b"]
        assert found is not None and found.tolist() == lines


def test_lines_of_json_and_workbooks(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    book = openpyxl.Workbook()
    for place, cell in ((3, "a"), (4, 1), (7, 2)):
        book.active.cell(place, 2, cell)
    book.save(tmp_path / "a.xlsx")
    for name, lines in (("a.jsonl", [1, 3]), ("a.xlsx", [4, 7])):
        found = lines_of(read_table(tmp_path / name))
        assert found is not None and found.tolist() == lines


def test_a_table_on_disk_has_no_lines_of_another_file(tmp_path: Path) -> None:
    table = with_lines(pa.table({"a": [1, 2]}), [7, 9])
    pq.write_table(table, tmp_path / "a.parquet")
    assert lines_of(read_table(tmp_path / "a.parquet")) is None
    assert lines_of(with_lines(table, [1])) is None
    assert lines_of(table.slice(0, 1).replace_schema_metadata(table.schema.metadata)) is None


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 rows behind a comment and a header, two lines each; row 28 is mislabeled."""
    path = tmp_path_factory.mktemp("lines") / "patients.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        stream.write("# from the ward\n")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["name", "note", "cost", "label"])
        for i in range(60):
            ill = i % 2
            cost = 10_000.0 + 20_000 * ill + 37 * i
            told = "ill" if bool(ill) != (i == 28) else "well"
            writer.writerow([f"P{i:03}", f"see\nbelow {i % 3}", cost, told])
    return path


def printed(found: Any) -> str:
    out = io.StringIO()
    render(found, Console(width=100, file=out))
    return out.getvalue()


def test_a_suspect_is_named_by_its_line(patients: Path, tmp_path: Path) -> None:
    found = audit(patients, label="label", ignore="name")
    assert found.ranking.tolist() == [28]
    line = 3 + 2 * 28  # a comment, the header, two lines for each row before
    assert patients.read_text(encoding="utf-8").splitlines()[line - 1].startswith("P028")
    found.save(tmp_path / "audit")
    for one in (found, load_audit(tmp_path / "audit")):
        text = printed(one)
        assert f"line {line}: ill → well" in text
        assert f"Most suspect: lines {line}," in text.replace("\n", " ")
        assert "Flagged       1 row " in text
        assert "cost = 11,036" in text and "e+04" not in text
        assert f"Line {line}</span>" in one.to_html()
    with (tmp_path / "audit" / "issues.csv").open(encoding="utf-8-sig", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["row"], row["line"]) == ("28", str(line))


def test_a_suspect_is_named_by_its_id_where_there_is_one(patients: Path) -> None:
    text = printed(audit(patients, label="label", id="name"))
    assert "row P028: ill → well" in text
    assert "Most suspect: rows P028," in text.replace("\n", " ")
