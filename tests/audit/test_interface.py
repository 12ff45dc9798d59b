"""One interface of an audit, whatever its source; and the answers that were stored."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from misnomer.audit import load_audit
from misnomer.estimate import Estimate
from misnomer.reports.json import to_json
from misnomer.verdict import LEVELS
from tests.golden import AUDITS, FILE, answer, audited, differences

GOLDEN = json.loads(FILE.read_text())
SOURCES = (
    "frame", "array", "texts", "pred_probs", "csv", "batches", "dask", "groups", "group batches",
    "annotators", "annotator batches", "lines", "line batches", "annotators dask", "many labels",
)  # fmt: skip


@cache
def found(name: str):
    """One audit for all laws."""
    if "dask" in name:
        pytest.importorskip("distributed", reason="Dask is not installed")
    with TemporaryDirectory() as folder:
        return audited(name, Path(folder))


def frame(rows) -> pd.DataFrame:
    """Whatever kind of frame, as pandas; a lazy one is computed."""
    rows = rows.compute() if hasattr(rows, "compute") else rows
    return rows.to_pandas() if hasattr(rows, "to_pandas") else rows


@pytest.mark.parametrize("name", AUDITS)
def test_stored_answers(name):
    assert name in GOLDEN, "python -m tests.golden --write"
    assert not differences(name, answer(found(name)), GOLDEN[name])


@pytest.mark.parametrize("name", AUDITS)
def test_numbers_agree(name):
    audit = found(name)
    for estimate in (audit.error_rate, audit.error_count):
        assert isinstance(estimate, Estimate)
        assert estimate.low <= estimate.value <= estimate.high
    assert audit.error_rate.value * audit.fitted.labeled == pytest.approx(audit.error_count.value)
    assert np.nansum(audit.error_probability) == pytest.approx(audit.error_count.value)
    assert audit.verdict.level in LEVELS
    assert audit.verdict.sentences
    shares = frame(audit.class_prior)
    assert shares["true_share"].sum() == pytest.approx(1.0)
    assert shares["class"].tolist() == list(audit.classes)


@pytest.mark.parametrize("name", SOURCES)
def test_the_matrix(name):
    audit = found(name)
    matrix = audit.noise_matrix
    assert matrix.index.tolist() == list(audit.labels)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    assert (audit.noise_matrix_low <= matrix + 1e-12).all(axis=None)
    assert (matrix <= audit.noise_matrix_high + 1e-12).all(axis=None)


@pytest.mark.parametrize("name", AUDITS)
def test_rows_and_issues(name):
    audit = found(name)
    rows, issues = frame(audit.rows), frame(audit.issues)
    assert len(rows) == audit.fitted.rows
    assert rows["given_label"].notna().sum() == audit.fitted.labeled
    np.testing.assert_allclose(rows["label_quality"], 1.0 - rows["error_probability"])
    assert rows["error_probability"].sum() == pytest.approx(audit.error_count.value)
    assert rows["is_label_issue"].sum() == len(issues)
    flagged = np.flatnonzero(rows["is_label_issue"].to_numpy(bool))
    assert sorted(issues["row"]) == flagged.tolist()
    assert issues["error_probability"].is_monotonic_decreasing


@pytest.mark.parametrize("name", SOURCES)
def test_explanations_add_up(name):
    audit = found(name)
    why = audit.explain_at(int(np.asarray(audit.issues["row"])[0]))
    assert why.log_odds == pytest.approx(why.prior + sum(why.weights) + why.label)


@pytest.mark.parametrize("name", SOURCES)
def test_the_classifier(name):
    audit = found(name)
    assert audit.classifier.classes_.tolist() == list(audit.classes)
    assert audit.classifier.class_prior_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", SOURCES)
def test_drawn_checks(name):
    drawn = frame(found(name).draw_checks(10, random_state=0))
    assert len(drawn) == 10
    assert drawn["row"].is_unique
    assert drawn["true_label"].isna().all()


@pytest.mark.parametrize("name", AUDITS)
def test_pages_and_plain_values(name, tmp_path):
    audit = found(name)
    page = audit.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page
    assert "<script" not in page
    said = json.loads(json.dumps(to_json(audit), allow_nan=False))
    assert said["error_rate"]["value"] == audit.error_rate.value
    assert said["rows"]["flagged"] == len(audit.issues)


@pytest.mark.parametrize("name", SOURCES)
def test_saved_and_loaded(name, tmp_path):
    audit = found(name)
    written = audit.save(tmp_path / "out")
    assert all(path.exists() for path in written.values())
    loaded = load_audit(tmp_path / "out")
    assert loaded.error_rate == audit.error_rate
    assert loaded.verdict.sentences == audit.verdict.sentences
    np.testing.assert_array_equal(loaded.error_probability, audit.error_probability)
    assert frame(loaded.issues)["row"].tolist() == frame(audit.issues)["row"].tolist()


@pytest.mark.parametrize("name", SOURCES)
def test_a_review_of_it(name, tmp_path):
    from misnomer.review import Review

    found(name).save(tmp_path / "out")
    review = Review(load_audit(tmp_path / "out"), tmp_path / "decisions", refit=False)
    try:
        assert len(review.first.wrong) == found(name).fitted.rows
        assert review.first.flagged.sum() == len(found(name).issues)
    finally:
        review.close()
