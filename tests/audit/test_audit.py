"""One audit, whatever the rows come in; one number per question."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from misnomer.audit import Audit, audit
from misnomer.audit.inputs import gather
from misnomer.audit.learn import _audit, _rows
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.estimate import Estimate
from misnomer.head.solve import Given
from misnomer.solvers.task import Details
from misnomer.verdict import Verdict
from tests.audited import check_sums, pets

COLUMNS = [
    "given_label",
    "suggested_label",
    "error_probability",
    "label_quality",
    "is_label_issue",
    "near_duplicate",
    "is_outlier",
]


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(pets(gaps=15), label="pet")


def test_the_rows_add_up_to_the_count(found):
    check_sums(found)
    assert list(found.rows.columns) == COLUMNS
    assert found.rows["label_quality"].sum() == pytest.approx(225 - found.error_count.value)


def test_planted_errors_are_found(found):
    assert set(range(20)) <= set(found.issues.index)
    assert len(found.issues) < 25
    assert 15 < found.error_count.value < 25
    assert found.error_rate.low <= found.error_rate.value <= found.error_rate.high
    assert found.error_rate.low < found.error_rate.high


def test_issues_are_flagged_and_worst_first(found):
    flagged = found.rows[found.rows["is_label_issue"]]
    assert set(flagged.index) == set(found.issues.index)
    assert (found.issues["error_probability"].diff().dropna() <= 1e-12).all()
    assert (found.issues["given_label"] != found.issues["suggested_label"]).all()
    assert (found.issues["error_probability"] > 0.5).all()


def test_unlabeled_rows_have_a_suggestion_and_no_error(found):
    last = found.rows.iloc[-15:]
    assert last["given_label"].isna().all()
    assert last["error_probability"].isna().all()
    assert last["suggested_label"].isin(["cat", "dog"]).all()


def test_matrix_and_shares(found):
    matrix = found.noise_matrix
    assert matrix.index.name == "given" and matrix.columns.name == "true"
    assert list(matrix.index) == list(matrix.columns) == ["cat", "dog"]
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    assert (found.noise_matrix_low.to_numpy() <= matrix.to_numpy()).all()
    assert (found.noise_matrix_high.to_numpy() >= matrix.to_numpy()).all()
    prior = found.class_prior.set_index("class")
    np.testing.assert_allclose(prior[["given_share", "true_share"]].sum(), 1)


def test_the_index_is_the_inputs_own():
    frame = pets()
    frame.index = [f"pet {i}" for i in range(len(frame))]
    found = audit(frame, label="pet")
    assert found.rows.index.equals(frame.index)
    assert "pet 3" in found.issues.index
    assert found.explain("pet 3").row == 3
    with pytest.raises(ValueError, match="no row 3"):
        found.explain(3)


def test_evidence_adds_up_to_the_log_odds(found):
    for row in (3, 100, 239):
        why = found.explain(row)
        parts = sum(weight for _, _, weight in why.terms)
        share = found.posterior[row]
        place = {name: k for k, name in enumerate(found.classes)}
        odds = np.log(share[place[why.suggested]] / share[place[why.against]])
        assert parts == pytest.approx(why.log_odds)
        assert why.log_odds == pytest.approx(odds)
    assert found.explain(3).given != found.explain(3).suggested
    assert found.explain(239).given is None and found.explain(239).label == 0
    with pytest.raises(ValueError, match="no row"):
        found.explain(10_000)


def test_the_solvers_own_findings_are_taken():
    inputs = gather(pets(), "pet")
    classifier = NoisyLabelNB()
    batch = _rows(inputs, classifier)
    share = np.tile([0.9, 0.1], (240, 1))
    verdict = Verdict("assumed", ("because",), {"test": 1})
    ends = (np.zeros((2, 2)), np.ones((2, 2)))
    intervals = {
        "error_rate": Estimate(0.2, 0.1, 0.9, 0.8),
        "noise_matrix": ends,
        "class_prior": (ends[0][0], ends[1][0]),
    }
    opinion = Given(intervals, verdict)
    details = Details(posterior=share, opinion=opinion, solver="pool", notes=("a note",))
    classifier.fit_ = replace(classifier.fit_, details=details)
    found = _audit(inputs, classifier, batch, np.zeros(240, bool), (), 0.0)
    check_sums(found)
    dogs = int((inputs.y == "dog").sum())
    assert found.error_count.value == pytest.approx(0.9 * dogs + 0.1 * (240 - dogs))
    assert (found.error_rate.low, found.error_rate.high) == (0.1, 0.9)
    assert found.error_rate.confidence == 0.8
    assert found.verdict == verdict
    assert found.fitted.solver == "pool" and found.fitted.notes == ("a note",)
    np.testing.assert_array_equal(found.matrix_high, ends[1])


def test_the_same_seed_gives_the_same_audit():
    one, two = (audit(pets(), label="pet", random_state=3) for _ in range(2))
    assert one.error_rate == two.error_rate
    np.testing.assert_array_equal(one.matrix_low, two.matrix_low)


def test_an_audit_is_a_value(found):
    with pytest.raises(FrozenInstanceError):
        found.label = "x"
    assert "225 labels" in repr(found)
    assert str(found.explain(3)).startswith("row 3: ")


def test_a_classifier_of_ones_own():
    found = audit(pets(), label="pet", classifier=NoisyLabelNB(channel="uniform"))
    off = found.matrix[~np.eye(2, dtype=bool)]
    assert off[0] == pytest.approx(off[1])


def test_importing_the_function_is_light():
    code = (
        "import sys, misnomer.audit; "
        "print([m for m in ('numpy', 'sklearn', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_verdicts_have_known_levels():
    with pytest.raises(ValueError, match='is one of "checked"'):
        Verdict("maybe")


def test_a_notebook_shows_a_part_of_a_page(found):
    assert "<html" not in found._repr_html_()


@pytest.mark.filterwarnings("ignore:the labels")
def test_spellings_of_one_label_are_noticed():
    frame = pets()
    frame.loc[frame.index[:12], "pet"] = frame["pet"][:12].str.upper() + " "
    found = audit(frame, label="pet")
    said = "the labels 'CAT' and 'cat' differ in case or blanks only and are taken for 2 classes"
    assert any(said in note for note in found.warnings)
