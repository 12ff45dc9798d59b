"""Displays: what they hold, and that they can be drawn."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from misnomer.metrics.calibration import forecast_reliability, forget_labels, reliability
from misnomer.plots import (
    ErrorProbabilityDisplay,
    EvidenceDisplay,
    NoiseMatrixDisplay,
    ReliabilityDisplay,
    to_svg,
)
from misnomer.posterior import NoiseMatrix
from tests.reports.audits import hostile_audit, large_audit, small_audit

mpl.use("agg")


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def displays(audit):
    return [
        NoiseMatrixDisplay.from_audit(audit),
        NoiseMatrixDisplay.from_audit(audit, direction="true"),
        ErrorProbabilityDisplay.from_audit(audit),
        EvidenceDisplay.from_audit(audit, int(audit.ranking[0])),
        ReliabilityDisplay.from_audit(audit),
    ]


def test_importing_the_package_leaves_matplotlib_alone():
    code = "import sys, misnomer, misnomer.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("make", [small_audit, hostile_audit])
def test_all_of_them_draw_in_the_ink_of_the_page(make):
    for display in displays(make()):
        drawing = to_svg(display)
        assert drawing.startswith("<svg") and "currentColor" in drawing
        assert "<script>" not in drawing and "#010203" not in drawing


def test_the_same_display_gives_the_same_drawing():
    display = ErrorProbabilityDisplay.from_audit(small_audit())
    assert to_svg(display) == to_svg(display)


def test_the_matrix_is_shown_as_it_is(axes):
    audit = small_audit()
    display = NoiseMatrixDisplay.from_audit(audit).plot(ax=axes)
    assert display.text_[0, 1].get_text() == "20%"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["cold", "flu"]
    assert axes.get_xlabel() == "True class" and display.figure_ is axes.figure
    back = NoiseMatrixDisplay.from_audit(audit, direction="true")
    np.testing.assert_allclose(back.matrix.sum(axis=1), 1)


def test_many_classes_lose_their_numbers_not_the_picture(axes):
    many = large_audit(classes=60, columns=3, rows=200)
    assert NoiseMatrixDisplay.from_audit(many).plot(ax=axes).text_ is None


def test_bars_of_evidence_end_in_their_sum(axes):
    audit = small_audit()
    row = int(audit.ranking[0])
    display = EvidenceDisplay.from_audit(audit, row).plot(ax=axes)
    assert display.bars_[-1].get_width() == pytest.approx(audit.explain(row).log_odds)
    assert "(given label) = cold" in display.names
    few = EvidenceDisplay.from_audit(large_audit(5, 30, 200), 0, most=3)
    assert len(few.weights) == 3 + 1 + 2


def test_rows_are_counted_once():
    audit = small_audit()
    display = ErrorProbabilityDisplay.from_audit(audit)
    assert display.counts.sum() == audit.fitted.labeled
    assert display.flagged.sum() == len(audit.ranking)


def test_known_truth_is_what_the_probabilities_are_held_to():
    audit = small_audit()
    truth = ["cold", "cold", None, "flu", "flu", "flu", "flu", "cold", None]
    curve = ReliabilityDisplay.from_audit(audit, truth).curve
    assert curve.count.sum() == 6  # rows with a label and a known truth
    assert curve.observed @ curve.count == 1  # the seventh row is wrong
    with pytest.raises(ValueError, match="3 true labels for 9 rows"):
        ReliabilityDisplay.from_audit(audit, truth[:3])
    with pytest.raises(ValueError, match="No labeled row has a known true label"):
        ReliabilityDisplay.from_audit(audit, [None] * 9)


def test_without_truth_a_channel_with_zeros_has_nothing_to_check():
    eye = np.eye(2)
    audit = replace(small_audit(), noise=NoiseMatrix.of(eye, eye, eye))
    with pytest.raises(ValueError, match="give the true labels"):
        ReliabilityDisplay.from_audit(audit)


def test_promises_that_are_kept_lie_on_the_line():
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    curve = reliability(p, rng.random(50_000) < p)
    assert curve.error < 0.01
    assert len(curve.count) == 10 and curve.count.sum() == 50_000
    overconfident = reliability(p, rng.random(50_000) < 0.5)
    assert overconfident.error == pytest.approx(0.25, abs=0.01)


def test_weights_count_as_rows():
    p, happened = [0.2, 0.3, 0.9], [True, False, True]
    twice = reliability([*p, 0.2], [*happened, True])
    weighted = reliability(p, happened, sample_weight=[2, 1, 1])
    np.testing.assert_allclose(twice.observed, weighted.observed)
    np.testing.assert_allclose(twice.high, weighted.high)


def test_forgetting_the_label_undoes_bayes():
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(3), 20)
    channel = rng.dirichlet(np.ones(3), 3).T
    given = rng.integers(-1, 3, 20)
    judged = np.where(given[:, None] < 0, share, share * channel[given])
    judged /= judged.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(forget_labels(judged, given, channel), share)
    assert forecast_reliability(share, given, channel).count.sum() == (given >= 0).sum()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reliability([0.5], [1, 0]), "1 probabilities, 2 outcomes"),
        (lambda: reliability([], []), "no rows"),
        (lambda: reliability([0.2, 1.5], [1, 0]), "probability of row 1 is 1.5"),
        (lambda: reliability([np.nan], [1]), "probability of row 0 is nan"),
        (lambda: NoiseMatrixDisplay(matrix=[0.5]), "noise matrix has the shape"),
        (lambda: NoiseMatrixDisplay(matrix=[[1.0]], classes=["a", "b"]), "2 names for 1"),
        (lambda: NoiseMatrixDisplay.from_arrays([[1.0]], direction="up"), "direction is 'up'"),
        (lambda: NoiseMatrixDisplay.from_arrays([[1.0]], direction="true"), "give class_prior"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
