"""Several annotators by batches: what they say, and what is refused, as in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misnomer import audit, engines
from misnomer.answers import from_table
from misnomer.audit import collector, load_audit
from misnomer.audit.crowds.lines import (
    Lines,
    digests,
    line_answers,
    numbers_of,
    rows_of,
    same_columns,
)
from misnomer.audit.crowds.run import check_room
from misnomer.engines import Stream
from misnomer.head import crowd as head_crowd
from misnomer.head.crowd import LearnedColumns, columns_of
from misnomer.review import load_for_review
from misnomer.rows import read
from misnomer.rows.parts import TablePart
from misnomer.solvers.annotators import draws
from misnomer.solvers.annotators.draws import learn_sources
from misnomer.solvers.annotators.fit import SourcesTask
from misnomer.table import Batch
from tests.audit.crowds.rows import LONG, WHO, lines, wide
from tests.audit.rows import save_stream
from tests.rows.test_scan import damaged

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MUCH = "64GB"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Draw less often: the same draws are compared."""
    monkeypatch.setattr(draws, "_MAX_ANSWERS_DRAWN", 1.0)
    monkeypatch.setattr(draws, "_MIN_SWEEPS", 15)


def written(table, path):
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=130)
    return path


def same_answer(got, want):
    np.testing.assert_array_equal(got.given, want.given)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)
    for name in ("matrix", "matrix_low", "prior", "prior_high"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), atol=1e-9)
    assert got.error_rate.value == pytest.approx(want.error_rate.value, abs=1e-9)
    assert got.error_count.high == pytest.approx(want.error_count.high)
    assert (got.verdict.level, got.verdict.sentences) == (
        want.verdict.level, want.verdict.sentences,
    )  # fmt: skip
    assert got.fitted.families == want.fitted.families
    assert got.fitted.notes == want.fitted.notes
    assert sorted(got.warnings) == sorted(want.warnings)
    assert got.sources.asked == want.sources.asked
    for name, column in want.annotators.columns().items():
        mine = got.annotators.columns()[name]
        if column.dtype.kind == "f":
            np.testing.assert_allclose(mine, column, atol=1e-9)
        else:
            assert mine.tolist() == column.tolist()
    why, mine = want.explain_at(7), got.explain_at(7)
    assert [one[:2] for one in mine.terms] == [one[:2] for one in why.terms]
    assert mine.log_odds == pytest.approx(why.log_odds, abs=1e-9)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_annotators_by_batches_are_as_in_memory(tmp_path, kind):
    path = written(wide(), tmp_path / f"rows.{kind}")
    got = audit(path, annotators=WHO, id="number", memory=MUCH)
    same_answer(got, audit(path, annotators=WHO, id="number"))
    assert got.is_whole
    assert got.given[3] == -1


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_lines_by_batches_are_as_in_memory(tmp_path, kind):
    path = written(lines(wide()), tmp_path / f"lines.{kind}")
    got = audit(path, long=LONG, memory=MUCH)
    same_answer(got, audit(path, long=LONG))
    assert "column 'minute' differs between answers about one row: left out" in got.warnings
    assert got.data.column_names[0] == "item" and len(got.data) == 500


def test_answers_without_columns_trusted_rows_and_knowledge(tmp_path):
    rows = wide().select(WHO)
    path = written(rows, tmp_path / "answers.csv")
    same_answer(audit(path, annotators=WHO, memory=MUCH), audit(path, annotators=WHO))
    rows = lines(wide())
    sure = pa.array(["yes" if one.endswith("5") else None for one in rows["item"].to_pylist()])
    path = written(rows.append_column("sure", sure), tmp_path / "sure.csv")
    said = {"long": LONG, "trusted": "sure", "knowledge": {"most": 0.4}, "random_state": 3}
    got, want = audit(path, memory=MUCH, **said), audit(path, **said)
    same_answer(got, want)
    assert got.fitted.trusted == want.fitted.trusted > 40


@pytest.mark.parametrize("sampled", [False, True])
def test_spilled_batches_give_the_same_fit(monkeypatch, sampled):
    if sampled:  # then some rows learn, and score the others
        monkeypatch.setattr(head_crowd, "MOST_ROWS", 400)
        monkeypatch.setattr(head_crowd, "SAMPLE_ROWS", 300)
    rows = wide()
    answers = from_table(rows.select(WHO).to_pandas())
    schema, blocks = read(rows.drop_columns([*WHO, "number"]))
    batch = Batch(blocks, np.zeros(len(rows), np.int32))
    want = learn_sources(SourcesTask(answers, columns=columns_of(schema, batch, answers.n_labels)))
    parts = Stream((batch.take(slice(at, at + 77)) for at in range(0, 500, 77)), memory=0)
    columns = LearnedColumns(schema, parts, 500, answers.n_labels, passes=engines)
    got = learn_sources(SourcesTask(answers, columns=columns))
    assert parts.spilled and want.trust > 0
    np.testing.assert_allclose(got.share, want.share, atol=1e-9)
    np.testing.assert_allclose(got.model.weights, want.model.weights, atol=1e-9)


def twice(table):
    """Let somebody contradict himself about a row."""
    said = table["said"].to_pylist()
    at = next(j for j, one in enumerate(said) if one == "x")
    more = table.slice(at, 1).set_column(table.column_names.index("said"), "said", pa.array(["y"]))
    return pa.concat_tables([table, more])


def without(table, name, at=11):
    """Empty a cell."""
    cells = table[name].to_pylist()
    cells[at] = None
    return table.set_column(table.column_names.index(name), name, pa.array(cells))


SMALL, LINES = wide(60), lines(wide(60))
FIRST = next(j for j, one in enumerate(LINES["said"].to_pylist()) if one)
NUMBERS = SMALL.set_column(SMALL.column_names.index("bob"), "bob", pa.array([1, 2] * 30))
BAD = {
    "contradiction": (twice(LINES), {"long": LONG}, "says both x and y about row r"),
    "no row": (without(LINES, "item"), {"long": LONG}, "line 11 names no row in column 'item'"),
    "nobody": (without(LINES, "who", FIRST), {"long": LONG}, "names nobody in column 'who'"),
    "two columns": (LINES, {"long": LONG[:2]}, "long= names three columns"),
    "id of answers": (LINES, {"long": LONG, "id": "minute"}, "column 'minute' differs between"),
    "column": (SMALL, {"annotators": ["ann", "bobb"]}, "no column 'bobb'; did you mean 'bob'"),
    "words and numbers": (NUMBERS, {"annotators": WHO}, "make them all of one type"),
    "alone": (SMALL, {"annotators": ["ann"]}, "say label=..."),
    "label": (SMALL, {"annotators": WHO, "label": "ann"}, "leave label= out"),
    "groups": (SMALL, {"annotators": WHO, "noise_groups": "color"}, "say one of"),
    "class": (SMALL, {"annotators": WHO, "knowledge": {"rates": {"q": 0.1}}}, "the class 'q'"),
    "nothing": (
        SMALL.set_column(7, "bob", pa.nulls(60)).set_column(6, "ann", pa.nulls(60)),
        {"annotators": ["ann", "bob"]},
        "there is no label at all",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_as_in_memory(tmp_path, name):
    table, said, sentence = BAD[name]
    path = tmp_path / "bad.parquet"
    pq.write_table(table, path, row_group_size=25)
    with pytest.raises(ValueError, match=sentence) as here:
        audit(path, **said)
    with pytest.raises(ValueError, match=sentence) as by_batches:
        audit(path, memory=MUCH, **said)
    assert str(by_batches.value) == str(here.value)


def test_what_batches_cannot_do_is_said(tmp_path):
    path = written(SMALL, tmp_path / "small.csv")
    with pytest.raises(ValueError, match="leave checkpoint out"):
        audit(path, annotators=WHO, checkpoint=tmp_path / "sums")
    with pytest.raises(ValueError, match="trusted must name a column"):
        audit(path, annotators=WHO, trusted=np.ones(60, bool), memory=MUCH)
    with pytest.raises(ValueError, match=r"answers about 60 rows of 3 classes .* more than 20MB"):
        audit(path, annotators=WHO, memory="20MB")
    few = from_table([["a", "b"], ["b", "a"]])
    assert check_room(few, "1MB") == 100 * 2 * 2 + 100 * 4 + 64 * 2 * 2 * 2 == check_room(few, None)


def test_damaged_parts_are_left_out_every_time(tmp_path):
    """The damage is in a column that the labels are read without."""
    rows = wide()
    path = written(rows, tmp_path / "rows.parquet")
    damaged(path, 1)
    with pytest.raises(ValueError, match="row group 1"):
        audit(path, annotators=WHO, memory=MUCH)
    got = audit(path, annotators=WHO, skip_bad=True)
    assert len(got.given) == 370 and "row group 1" in got.left_out[0]
    kept = pa.concat_tables([rows.slice(0, 130), rows.slice(260)])
    want = audit(kept, annotators=WHO)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)


def test_many_rows_are_written_and_a_sample_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(collector, "SAMPLE", 120)
    path = written(lines(wide()), tmp_path / "lines.csv")
    want = audit(path, long=LONG)
    said = {"long": LONG, "memory": MUCH}
    found, files = save_stream(path, None, tmp_path / "out", **said)
    assert not found.is_whole and found.fitted.rows == 500 and len(found.given) == 120
    assert found.error_count.value == pytest.approx(want.error_count.value)
    every = pq.read_table(files["rows.parquet"])
    assert every["item"].to_pylist() == want.data["item"].to_pylist()
    shown = want.error_probability
    np.testing.assert_allclose(every["error_probability"].to_numpy(), shown, atol=1e-9)
    at = found.shape.index.get_loc(found.shape.index[50])
    row = int(found.shape.index[50])
    assert found.explain_at(at).log_odds == pytest.approx(want.explain_at(row).log_odds, abs=1e-9)
    assert "Whose labels are wrong" in files["report.html"].read_text()
    again = load_audit(files["sample"])
    assert again.annotators.name.tolist() == want.annotators.name.tolist()
    assert len(again.sources.answers) == len(found.sources.answers)
    with pytest.raises(ValueError, match="from several annotators: review the sample"):
        load_for_review(tmp_path / "out")


def test_the_command_line_reads_annotators_by_batches(tmp_path):
    path = written(lines(wide(200)), tmp_path / "lines.csv")
    words = ["--long", ",".join(LONG), "--memory", MUCH, "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "misnomer", "audit", str(path), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Annotators, the most informative first" in done.stdout
    found = load_audit(tmp_path / "out")
    assert len(found.given) == 200 and found.annotators.name[-1] == "dee"
    assert f"--memory {MUCH}" in found.origin.command("new")


CELLS = {
    "words": st.sampled_from(["a", "b", None]),
    "whole": st.sampled_from([0, -1, 2**62, None]),
    "real": st.sampled_from([0.5, -1e300, float("nan"), None]),
    "flag": st.sampled_from([True, False, None]),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_columns_that_vary_within_rows_are_found(data):
    n = data.draw(st.integers(1, 12))
    item = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    columns = {}
    for name, cells in CELLS.items():
        by_item = data.draw(st.lists(cells, min_size=5, max_size=5))
        values = [by_item[i] for i in item]
        if data.draw(st.booleans()):
            values[data.draw(st.integers(0, n - 1))] = data.draw(cells)
        columns[name] = pa.array(values)
    table = pa.table({"item": item, "who": list(range(n)), "said": ["x"] * n, **columns})
    parts = [TablePart(table.slice(0, n // 2)), TablePart(table.slice(n // 2), rows=2)]
    found = [line_answers(part, LONG) for part in parts]
    found = Lines(numbers_of(rows_of(found, LONG)), [one.lines for one in found])
    want = [name for name, cells in columns.items() if lines_agree(cells.to_pylist(), item)]
    assert same_columns(parts, found, list(columns)) == want


def lines_agree(cells, item):
    first = {}
    lines = zip(item, map(repr, cells), strict=True)
    return all(cell == first.setdefault(row, cell) for row, cell in lines)


def test_digests_do_not_depend_on_how_cells_are_kept():
    days = pa.array([1, None, 2], pa.date32())
    for cells in (pa.array(["b", None, "a"]), days, pa.array([1.5, None, 0.0])):
        assert digests(cells).tolist() == digests(cells.dictionary_encode()).tolist()
        assert len({*digests(cells).tolist()}) == 3
