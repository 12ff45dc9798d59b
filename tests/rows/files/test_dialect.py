"""Files as doctors have them: old encodings, odd separators, comments, workbooks, JSON arrays."""

import datetime
import json
import pickle
import warnings

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from misnomer import audit
from misnomer.rows.files import excel
from misnomer.rows.files.dialect import DescribedPath, Dialect, dialect_of
from misnomer.rows.files.excel import read_workbook, write_workbook
from misnomer.rows.parts import decoded_table, lines_of
from misnomer.rows.scan import read_table, scan

WANT = {"größe": [1, 2, None], "ort": ["Köln", "Bâle", "x, y"]}
CSV = 'größe,ort\n1,Köln\n2,Bâle\n,"x, y"\n'


def both(path, dialect=None):
    """Read a file at once and by batches: they must agree."""
    table = read_table(path, dialect=dialect)
    found = scan(path, dialect=dialect)
    parts = pa.concat_tables(map(decoded_table, found.batches(found.names)))
    assert parts.to_pydict() == table.to_pydict()
    return table


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (CSV.encode(), {}),
        (CSV.encode("utf-16"), {}),
        (CSV.encode("utf-16-le"), {"encoding": "utf-16-le"}),
        (CSV.encode("utf-32"), {}),
        (CSV.replace("\n", "\r").encode(), {}),
        (CSV.replace("\n", "\r").encode("mac-roman"), {"encoding": "mac-roman"}),
        (CSV.encode("cp1252"), {"encoding": "cp1252"}),
        (CSV.encode("mac-roman"), {"encoding": "mac-roman"}),
        (("sep=,\n" + CSV).encode(), {}),
        (("\ufeffsep=,\r\n" + CSV).encode(), {}),
        (("# made by hand\nsep=,\n" + CSV).encode(), {}),
        (("# from the ward, 2024\n# second\n" + CSV).encode(), {}),
        (CSV.replace('"', "").replace(",", "|").replace("x|", "x,").encode(), {}),
        (CSV.replace(",", "~").replace("x~", "x,").encode(), {"sep": "~"}),
        (CSV.replace("\n,", "\nunknown,").encode(), {"missing": "unknown"}),
    ],
)
def test_text_of_any_dialect(tmp_path, data, said):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert both(path, dialect_of(said)).to_pydict() == WANT


def test_a_guessed_encoding_is_said(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(CSV.encode("cp1252"))
    with pytest.warns(UserWarning, match=r"old.csv: .*as Windows-1252, in which one .* 'größe'"):
        assert both(path).to_pydict() == WANT
    path.write_bytes(CSV.encode("mac-roman"))
    with pytest.warns(UserWarning, match=r"in which one word is 'grš§e': say the encoding"):
        read_table(path)


@pytest.mark.parametrize("title", ["Ward 7;;;\n;;;\n", "Ward 7\n\n", "# hand made\nWard 7;;;\n"])
def test_titles_above_the_header_of_a_text(tmp_path, title):
    path = tmp_path / "t.csv"
    path.write_text(title + "id;age;sex;ill\n1;40,5;f;no\n2;50,5;m;no\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="'Ward 7' above the header: taken for a title"):
        table = both(path)
    assert table.to_pydict()["age"] == [40.5, 50.5]
    assert lines_of(table).tolist() == [title.count("\n") + 2, title.count("\n") + 3]


def test_a_single_column_has_no_title(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("temp\n36,5\n37,5\n38,5\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 has 2 cells, but the header has 1"):
        read_table(path)


def test_a_workbook_under_another_name(tmp_path):
    made = book(tmp_path / "t.xlsx", a=[["x", "y"], [1, 2]])
    with pytest.raises(ValueError, match=r"an Excel workbook: let its name end in \.xlsx"):
        read_table(made.rename(tmp_path / "t.csv"))


def test_without_a_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,a\n2,b\n")
    table = both(path, Dialect(header=False))
    assert table.to_pydict() == {"column 1": [1, 2], "column 2": ["a", "b"]}
    path.write_text("1,a\n2\n")
    with pytest.raises(ValueError, match="line 2 has 1 cell, but the first line has 2"):
        read_table(path, dialect=Dialect(header=False))


def test_a_header_may_begin_with_a_hash(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("#id,x\n1,a\n")
    assert both(path).column_names == ["#id", "x"]


def test_lines_are_counted_as_editors_do(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# a comment\nx,y\n1,2\n3\n")
    with pytest.raises(ValueError, match="line 4 has 1 cell"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("t.json", {"missing": "n.d."}),
        ("t.jsonl", {"encoding": "cp1252"}),
        ("t.parquet", {"header": False}),
        ("t.csv", {"sheet": 2}),
        ("t.xlsx", {"sep": ";"}),
    ],
)
def test_what_would_not_be_heard_is_refused(tmp_path, name, said):
    frame, path = pd.DataFrame({"x": [1, 2]}), tmp_path / name
    {
        "t.json": lambda: frame.to_json(path, orient="records"),
        "t.jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "t.parquet": lambda: frame.to_parquet(path),
        "t.csv": lambda: frame.to_csv(path),
        "t.xlsx": lambda: frame.to_excel(path),
    }[name]()
    with pytest.raises(
        ValueError, match=rf"{name}: {next(iter(said))} \(--.*another kind: leave it out"
    ):
        both(path, dialect_of(said))


@pytest.mark.parametrize(
    ("cells", "is_number"),
    [
        (["7.200", "11.300", "980"], False),  # a thousand, or a part of one
        (["12,5", "1.103"], False),  # which the notation reads, see below
        (["1,5", "3.2"], False),
        (["7.2", "11.300", "980"], True),
        (["0.123", "1.234"], True),
    ],
)
def test_points_beside_semicolons_may_be_thousands(tmp_path, cells, is_number):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"{cell};a\n" for cell in cells), encoding="utf-8")
    column = both(path).column("x")
    assert pa.types.is_floating(column.type) == is_number
    path.write_text("x;y\n" + "".join(f"{cell};0.5\n" for cell in cells), encoding="utf-8")
    decimals = "," not in "".join(cells)  # the other column shows what a point is
    assert pa.types.is_floating(both(path).column("x").type) == decimals


def test_thousands_and_decimals_of_one_column_are_read_together(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i},5;{'ab'[i % 2]}\n" for i in range(60)] + ["1.103;a\n", "2.200,5;b\n"]
    path.write_text("x;y\n" + "".join(lines), encoding="utf-8")
    found = audit(path, label="y")
    assert found.batch.blocks[0].values[-2:, 0].tolist() == [1103.0, 2200.5]


def test_missing_words_are_missing_everywhere(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("word,number\nn.d.,1\na, n.d.\nb,3\n")
    table = both(path, dialect_of({"missing": ["n.d.", "b"]}))
    assert table.to_pydict() == {"word": [None, "a", None], "number": [1, None, 3]}


def test_a_path_keeps_what_is_said_of_it():
    path = DescribedPath("t.csv", Dialect("cp1252"))
    assert pickle.loads(pickle.dumps(path)).dialect == path.dialect


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"encoding": "bz2_codec"}, "there is no encoding 'bz2_codec'"),
        ({"sep": "--"}, "a separator is one character"),
        ({"delimiter": ";"}, "encoding, sep, header, missing, sheet can be said"),
    ],
)
def test_what_cannot_be_said(said, sentence):
    with pytest.raises(ValueError, match=sentence):
        dialect_of(said)


def test_arrays_of_json(tmp_path):
    rows = [{"age": 3, "word": "a"}, {"age": None, "word": "b", "more": [1.0, 2.0]}]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows))
    want = {"age": [3, None], "word": ["a", "b"], "more": [None, [1.0, 2.0]]}
    assert both(path).to_pydict() == want


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, lines in sheets.items():
        sheet = made.create_sheet(name)
        for line in lines:
            sheet.append(line)
    made.save(path)
    return path


class TestWorkbooks:
    LINES = (
        ["id", "größe", "when", "ok", "note", "mixed"],
        [1, 1.5, datetime.datetime(2024, 3, 1), True, "a", 1],
        [None, None, None, None, None, None],
        [2, 2, None, False, "#N/A", "x"],
    )

    def test_cells_keep_their_types(self, tmp_path):
        table = both(book(tmp_path / "t.xlsx", data=self.LINES))
        assert table.to_pydict() == {
            "id": [1, 2],
            "größe": [1.5, 2.0],
            "when": [datetime.datetime(2024, 3, 1), None],
            "ok": [True, False],
            "note": ["a", None],
            "mixed": ["1", "x"],
        }

    def test_a_number_may_mean_missing(self, tmp_path):
        path = book(tmp_path / "t.xlsx", data=[["x", "y"], [1.5, -99], [-99.0, 3], [99, True]])
        table = both(path, dialect_of({"missing": "-99"}))
        assert table.to_pydict() == {"x": [1.5, None, 99], "y": [None, "3", "True"]}

    def test_which_sheet(self, tmp_path):
        path = book(tmp_path / "t.xlsx", empty=[], a=[["x"], [1]], b=[["x"], [2]])
        with pytest.warns(UserWarning, match="sheet 'a' was read; say the sheet if it is"):
            assert both(path).to_pydict() == {"x": [1]}
        for sheet in ("b", 3):
            assert both(path, dialect_of({"sheet": sheet})).to_pydict() == {"x": [2]}
        with pytest.raises(ValueError, match="no sheet 'c'; there are 'empty', 'a', 'b'"):
            read_table(path, dialect=Dialect(sheet="c"))
        with pytest.raises(ValueError, match="the sheet is empty"):
            read_table(path, dialect=Dialect(sheet="empty"))

    def test_a_sheet_of_a_single_line_is_no_table(self, tmp_path):
        path = book(tmp_path / "t.xlsx", notes=[["read me"]], data=[["x", "y"], [1, 2]])
        with pytest.warns(UserWarning, match="sheet 'data' was read; .* 'notes'"):
            assert both(path).to_pydict() == {"x": [1], "y": [2]}
        alone = book(tmp_path / "t.xlsx", notes=[["read me"]])
        with pytest.raises(ValueError, match="'notes': the sheet has a header but no rows"):
            read_table(alone)

    @pytest.mark.parametrize("block", [1 << 20, 20])
    def test_merged_cells_hold_for_all_of_their_rows(self, tmp_path, monkeypatch, block):
        monkeypatch.setattr(excel, "_BLOCK_BYTES", block)
        path = tmp_path / "t.xlsx"
        made = openpyxl.Workbook()
        sheet = made.active
        for line in [["x", "y"], [1, "a"], [2, None], [3, None], [4, None], [5, "b"], [6, None]]:
            sheet.append(line)
        sheet.merge_cells("B2:B4")
        sheet.merge_cells("A6:B6")
        made.save(path)
        with pytest.warns(UserWarning, match="2 cells have the value of the one merged with it"):
            table = read_workbook(path)
        assert table.column("y").to_pylist() == ["a", "a", "a", None, None, None]
        assert table.column("x").to_pylist() == [1, 2, 3, 4, 5, 6]

    def test_a_title_or_header_over_several_lines_is_no_row(self, tmp_path):
        path = tmp_path / "t.xlsx"
        made = openpyxl.Workbook()
        sheet = made.active
        for line in [["Title"], [None], ["x", "y"], [1, "a"], [2, "b"]]:
            sheet.append(line)
        sheet.merge_cells("A1:B2")
        made.save(path)
        with pytest.warns(UserWarning, match="taken for a title"):
            assert read_workbook(path).to_pydict()["y"] == ["a", "b"]

    def test_titles_above_the_header(self, tmp_path):
        rows = [["Ward 7"], [], [None, "of 2024"], ["x", "y"], [1, 2], [3, None]]
        path = book(tmp_path / "t.xlsx", a=rows)
        with pytest.warns(UserWarning, match="2 lines such as 'Ward 7' above the header"):
            table = both(path)
        assert table.to_pydict() == {"x": [1, 3], "y": [2, None]}
        assert lines_of(table).tolist() == [5, 6]
        single = book(tmp_path / "t.xlsx", a=[["x"], ["a"], ["b"]])
        assert both(single).to_pydict() == {"x": ["a", "b"]}

    def test_texts_are_read_as_in_a_csv(self, tmp_path):
        path = book(tmp_path / "t.xlsx", a=[["x", "y"], ["1", "unknown"], ["2", "3"]])
        want = {"x": [1, 2], "y": [None, 3]}
        assert both(path, Dialect(missing=("unknown",))).to_pydict() == want

    def test_written_and_read_again(self, tmp_path):
        table = pa.table({"a": ["=1+1", "ü\x01", None], "b": [1.5, None, 2.0], "c": [1, 2, 3]})
        write_workbook(table, tmp_path / "t.xlsx")
        want = table.set_column(0, "a", pa.array(["=1+1", "ü", None]))
        assert read_workbook(tmp_path / "t.xlsx").to_pydict() == want.to_pydict()

    def test_names_twice_and_nothing_below(self, tmp_path):
        with pytest.raises(ValueError, match="column 'x' occurs twice"):
            read_table(book(tmp_path / "t.xlsx", a=[["x", "x"], [1, 2]]))
        with pytest.raises(ValueError, match="a header but no rows"):
            read_table(book(tmp_path / "t.xlsx", a=[["x", "y"]]))


def test_an_audit_of_what_was_said(tmp_path):
    lines = [f"{'sick' if i % 2 else ' Well '};{i % 2 * 7 + i % 3},5;{i}" for i in range(40)]
    lines += ["NA;3,5;41", "?;1,5;42", "well;1,5;43"]
    path = tmp_path / "t.txt"
    path.write_bytes("\n".join(lines).encode("cp1252"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = audit(path, "column 1", reading={"header": False}, ignore_case=True)
    taken = "it is taken for a missing label (if it is a class, give it another name)"
    assert f"1 label is 'NA': {taken}" in found.warnings
    assert f"1 label is '?': {taken}" in {str(w.message) for w in caught}
    assert found.labels == ("sick", "well")
    assert found.fitted.labeled == 41
    assert found.origin.options[-2:] == ("--no-header", "--ignore-case")
    streamed = audit(path, "column 1", reading={"header": False}, ignore_case=True, memory="1GB")
    assert streamed.labels == found.labels
    assert streamed.fitted.labeled == 41
    with pytest.raises(ValueError, match="the rows are no file"):
        audit([[1.0]], [1], reading={"sep": ";"})


def test_a_column_on_another_sheet(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["note"])
    book.active.append(["hello"])
    other = book.create_sheet("Data")
    for row in (["x", "label"], [1, "a"], [2, "b"]):
        other.append(row)
    book.save(tmp_path / "two.xlsx")
    with pytest.raises(ValueError, match=r"no column 'label'.*say the sheet if it is 'Data'"):
        audit(tmp_path / "two.xlsx", label="label")
