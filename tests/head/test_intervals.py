"""Drawn, then fitted: the rate and the matrix are found within their intervals, and no more."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from misnomer import NoisyLabelClassifier, audit
from misnomer.head.answer import Totals
from misnomer.head.profile import Scan, intervals
from tests.head.tables import planted

SEEDS = range(10)
DATA = Path(os.environ.get("MISNOMER_DATA", Path(__file__).parents[3] / "shared" / "data"))
TABLES = ["house_votes_84", "iris", "breast_cancer_ljubljana"]


def test_rate_and_matrix_lie_in_their_intervals():
    """At 90 %, of ten draws eight or more hold in all but a fourteenth of all samples of ten."""
    rates, widths, cells, size = 0, [], 0, 0
    for seed in SEEDS:
        frame, given, true = planted(320, 0.2, seed, apart=2.5)
        clf = NoisyLabelClassifier([], random_state=0).fit(frame, given)
        found = clf.fit_.details.intervals
        rate = found["error_rate"]
        rates += rate.low <= (given != true).mean() <= rate.high
        widths.append(rate.high - rate.low)
        low, high = found["noise_matrix"]
        wanted = pd.crosstab(given, true, normalize="columns").to_numpy()
        cells, size = cells + ((low <= wanted) & (wanted <= high)).sum(), size + wanted.size
    print(f"the rate was inside {rates} of {len(SEEDS)} times, cells {cells} of {size}")
    assert rates >= 8
    assert np.mean(widths) < 0.18
    assert cells >= 0.85 * size


def test_few_right_labels_are_flagged():
    flags = 0
    for seed in range(2):
        frame, _, true = planted(320, 0.0, seed, apart=2.5)
        found = audit(frame, true)
        flags += len(found.issues)
        assert found.error_rate.low < 0.03
    print(f"{flags} of 640 right labels were flagged")
    assert flags <= 0.02 * 640


@pytest.mark.xfail(reason="one seed of four says 1.5% (0 to 10.8%) where 19.7% were planted")
def test_a_second_explanation_stays_in_the_interval():
    """A clump of mixed labels: they are wrong, or its rows are hard to tell; nothing decides."""
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z = np.repeat([0, 1], 150)
        X = rng.normal(size=(300, 4)) + np.where(z[:, None] == 0, -2.0, 2.0)
        given = np.where((z == 0) | (rng.random(300) < 0.35), "a", "b")
        rate = audit(X, given).error_rate
        inside.append(rate.low <= ((given == "a") & (z == 1)).mean() <= rate.high)
    assert inside == [True] * 4


def test_interval_spans_what_the_scan_holds_plausible():
    """Two rates of equal weight are both inside; one of no weight is not."""
    rows = 1e4
    matrices, shares = np.repeat(np.eye(2)[None], 3, axis=0), np.full((3, 2), 0.5)
    scanned = Scan(np.array([0.05, 0.3, 0.6]), np.array([0.5, 0.5, 0.0]), matrices, shares)
    joint = np.array([[4750.0, 250.0], [250.0, 4750.0]])
    rate = intervals(scanned, Totals(joint), rows)["error_rate"]
    assert rate.value == pytest.approx(0.05)
    tenth = 1.2816 / np.sqrt(0.25 * rows)  # half of the weight is below: a tenth of it is left out
    assert rate.low == pytest.approx(0.05 - tenth * np.sqrt(0.05 * 0.95), abs=1e-5)
    assert rate.high == pytest.approx(0.3 + tenth * np.sqrt(0.3 * 0.7), abs=1e-5)
    assert scanned.alternatives(0.05) == [(0.3, 1.0)]


@pytest.mark.parametrize("name", TABLES)
def test_seeds_and_orders_of_rows_move_the_rate_little(name):
    """Eight seeds, each with rows in another order, of a real table with planted errors."""
    if not (DATA / f"{name}.csv").exists():
        pytest.skip(f"{name}.csv is not at hand: set MISNOMER_DATA to a folder that holds it")
    table = pd.read_csv(DATA / f"{name}.csv", dtype=str, keep_default_na=False).replace("", None)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(table)) < 0.1
    table.loc[wrong, "label"] = rng.permutation(table.loc[wrong, "label"].to_numpy())
    rates = []
    for seed in range(8):
        rows = np.random.default_rng(seed).permutation(len(table))
        found = audit(table.iloc[rows].reset_index(drop=True), label="label", random_state=seed)
        rates.append(found.error_rate)
    values = np.array([rate.value for rate in rates])
    width = np.mean([rate.high - rate.low for rate in rates])
    print(f"{name}: {values.min():.4f} to {values.max():.4f}, intervals {width:.4f} wide")
    assert np.ptp(values) < width / 4


def test_order_of_rows_does_not_matter():
    """Folds are dealt by what rows hold, not by where they stand."""
    frame, given, _ = planted(150)
    exact = {"learners": [], "tol": 1e-12, "max_iter": 2000, "random_state": 0}
    order = np.random.default_rng(1).permutation(150)
    one = NoisyLabelClassifier(**exact).fit(frame, given)
    two = NoisyLabelClassifier(**exact).fit(frame.iloc[order], given[order])
    after = one.fit_.details.posterior[order]
    np.testing.assert_allclose(two.fit_.details.posterior, after, atol=1e-5)
