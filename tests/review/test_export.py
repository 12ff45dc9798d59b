"""The clean file: the same rows in the same order with the same types, and who decided."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from misnomer.audit import audit
from misnomer.cli import app
from misnomer.review import FILE, Review, export, load_for_review
from misnomer.review.export import run
from misnomer.review.ledger import ReviewError
from misnomer.rows.scan import read_table


@pytest.fixture
def decided(review, audited):
    """Three rows decided: an error changed, a right label kept, one that nobody can tell."""
    order, planted = review.ranking.orders["probability"], audited[2]
    right = order[~planted[order] & review.ranking.flagged[order]]
    rows = [*order[planted[order]][:1], *right[-1:], *order[planted[order]][1:2]]
    rows = [int(row) for row in rows]
    for row, action in zip(rows, ("accept", "keep", "unsure"), strict=True):
        review.decide(key=f"test-key-{row}", row=row, action=action)
    return rows


def test_the_file_is_the_input_with_its_labels_corrected(
    review, decided, folder, audited, tmp_path
):
    out = tmp_path / "clean.csv"
    assert "1 label changed (2 rows decided by people, 0 by the model)" in run(
        review.audit, folder, out
    )
    before, after = audited[1], read_table(out)
    assert after.column_names == [*before.column_names, "given_label", "decided_by", "decided_at"]
    for name in before.column_names:
        if name != "party":
            assert after.column(name).to_pylist() == before.column(name).to_pylist()
    changed, kept, unsure = decided
    old, new = before.column("party").to_pylist(), after.column("party").to_pylist()
    assert [i for i in range(len(old)) if old[i] != new[i]] == [changed]
    assert after.column("given_label").to_pylist() == old
    who = after.column("decided_by").to_pylist()
    assert (who[changed], who[kept], who[unsure]) == ("person", "person", "untouched")
    assert set(who) == {"person", "untouched"}
    filled = [i for i, at in enumerate(after.column("decided_at").to_pylist()) if at is not None]
    assert filled == sorted([changed, kept])


def test_the_model_decides_where_it_is_sure_enough(review, decided, folder, tmp_path):
    review.undo(key="no-keep-at-all", decision=review.decisions.of(decided.pop(1)).id)
    run(review.audit, folder, tmp_path / "clean.parquet", probability=0.6)
    table = pq.read_table(tmp_path / "clean.parquet")
    review.refit_now()
    who = np.array(table.column("decided_by").to_pylist())
    model = np.flatnonzero(who == "model")
    expected = np.flatnonzero((review.ranking.wrong >= 0.6) & review.ranking.flagged)
    assert len(model) and set(model) == set(expected) - set(decided)


def test_types_stay_what_they_are(tmp_path):
    rng = np.random.default_rng(0)
    true = np.repeat([3, 5], 40)
    spoiled = true.copy()
    spoiled[0] = 5
    day = datetime.date(2020, 1, 1)
    table = pa.table(
        {
            "x": pa.array(rng.normal(size=80) + 4 * (true == 5), pa.float32()),
            "when": [day + datetime.timedelta(days=i) for i in range(80)],
            "word": pa.array(["=1+1", None, "- a,b", '"q"\n'] * 20).dictionary_encode(),
            "decided_by": pa.array(range(1, 161, 2), pa.int16()),
            "y": pa.array(spoiled, pa.int8()),
        }
    )
    found = audit(table, label="y", families={"when": "ignored", "decided_by": "ignored"})
    found.save(tmp_path / "audit")
    found = load_for_review(tmp_path / "audit")
    review = Review(found, tmp_path / "audit" / FILE, refit=False)
    review.decide(key="test-key-0", row=0, action="choose", label=3)
    review.close()
    run(found, tmp_path / "audit", tmp_path / "clean.parquet")
    clean = pq.read_table(tmp_path / "clean.parquet")
    assert clean.schema.field("y").type == pa.int8()
    for name in ("x", "when", "word", "decided_by"):
        assert clean.column(name).to_pylist() == table.column(name).to_pylist()
        assert clean.schema.field(name).type == table.schema.field(name).type
    assert clean.column("y").to_pylist() == true.tolist()
    assert "decided_by (misnomer)" in clean.column_names
    run(found, tmp_path / "audit", tmp_path / "clean.csv")
    text = read_table(tmp_path / "clean.csv")
    assert text.column("word").to_pylist() == table.column("word").to_pylist()
    assert text.column("when").to_pylist() == table.column("when").to_pylist()


def test_a_workbook_holds_the_same_table(review, decided, folder, tmp_path):
    for name in ("clean.xlsx", "clean.csv"):
        run(review.audit, folder, tmp_path / name)
    sheet, text = (read_table(tmp_path / name) for name in ("clean.xlsx", "clean.csv"))
    assert sheet.column_names == text.column_names
    for name in (review.audit.label, "given_label", "decided_by"):
        assert sheet.column(name).to_pylist() == text.column(name).to_pylist()


def test_no_file_is_ever_replaced(review, folder, tmp_path):
    (tmp_path / "data.csv").write_text("mine")
    with pytest.raises(FileExistsError, match="no file is ever replaced"):
        run(review.audit, folder, tmp_path / "data.csv")
    with pytest.raises(FileExistsError):
        run(review.audit, folder, tmp_path / "new.csv", log=tmp_path / "data.csv")
    assert (tmp_path / "data.csv").read_text() == "mine"
    assert not (tmp_path / "new.csv").exists()
    with pytest.raises(ReviewError, match=r"must end in \.csv or \.parquet or \.xlsx"):
        run(review.audit, folder, tmp_path / "new.txt")
    with pytest.raises(ReviewError, match="no format 'xml'"):
        run(review.audit, folder, tmp_path / "new.csv", kind="xml")


def test_the_log_tells_everything(review, decided, folder, tmp_path):
    review.undo(key="test-undo-1", decision=review.decisions.last().id)
    run(review.audit, folder, tmp_path / "clean.csv", log=tmp_path / "log.jsonl")
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [one["action"] for one in entries] == ["accept", "keep", "unsure", "undo"]
    assert entries[3]["undoes"] == entries[2]["id"]


@pytest.mark.parametrize("kind", ["label-studio", "argilla"])
def test_decisions_travel_to_another_tool_and_back(review, decided, folder, tmp_path, kind):
    out = tmp_path / "tasks.json"
    run(review.audit, folder, out, kind=kind)
    entries = json.loads(out.read_text())
    assert len(entries) == len(review.audit.ranking)
    fresh = tmp_path / "fresh"
    review.audit.save(fresh)
    audit_again = load_for_review(fresh)
    assert "took over 2 of 2 answers" in export.take_over(audit_again, fresh, out)
    assert "took over 0 of 2 answers" in export.take_over(audit_again, fresh, out)
    again = Review(audit_again, fresh / FILE, refit=False)
    labels = {one.row: one.label for one in again.decisions.standing()}
    assert labels == {row: review.decisions.of(row).label for row in decided[:2]}
    assert all(one.who.startswith(kind) for one in again.decisions.standing())
    again.close()


def label_studio(row, label):
    result = [{"from_name": "label", "type": "choices", "value": {"choices": [label]}}]
    return {"data": {export.ROW: row}, "annotations": [{"completed_by": 1, "result": result}]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("nonsense", "no JSON file"),
        ("{}", "this is none"),
        ("[1]", "entry 0 is of neither"),
        (json.dumps([{"data": {}}]), "entry 0 is of neither"),
        (json.dumps([label_studio(9999, "democrat")]), "entry 0 is about row 9999 of 435"),
        (json.dumps([label_studio(1, "whig")]), "'whig', which is not among the 2 classes"),
    ],
)
def test_a_foreign_file_is_refused_in_a_sentence(review, folder, tmp_path, content, words):
    (tmp_path / "tasks.json").write_text(content)
    with pytest.raises(ReviewError, match=words):
        export.take_over(review.audit, folder, tmp_path / "tasks.json")
    assert not review.decisions.entries()


@pytest.mark.parametrize("memory", [None, "1GB"])
def test_dictionaries_of_the_audited_file_stay_dictionaries(tmp_path, memory):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 200)
    words = pa.array(np.where(z ^ (rng.random(200) < 0.2), "red", "blue")).dictionary_encode()
    label = pa.array(np.where(z, "yes", "no")).dictionary_encode()
    table = pa.table({"color": words, "size": rng.normal(2 * z), "y": label})
    pq.write_table(table, tmp_path / "t.parquet")
    audit(tmp_path / "t.parquet", label="y", memory=memory).save(tmp_path / "audit")
    for end in ("parquet", "csv"):
        command = ["export", str(tmp_path / "audit"), "--out", str(tmp_path / f"clean.{end}")]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    clean = pq.read_table(tmp_path / "clean.parquet")
    assert clean.select(table.column_names).equals(table)
    assert read_table(tmp_path / "clean.csv")["color"].to_pylist() == words.to_pylist()
