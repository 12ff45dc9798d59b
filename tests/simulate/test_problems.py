"""The papers' simulated problems: random targets over flags, and Zeng's five classes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misnomer.simulate import (
    BinaryTarget,
    all_cells,
    draw_binary_target,
    draw_zeng,
    matched_target,
)

seeds = st.integers(0, 2**32 - 1)
laws = settings(max_examples=40, deadline=None)


def some_target(seed: int, d: int = 4) -> BinaryTarget:
    return draw_binary_target(d, seed)


class TestBinaryTarget:
    def test_by_hand(self):
        # P(x, y) over x = 00, 01, 10, 11 with p = .4, P+ = (.5, 1), P- = (.25, .5).
        target = BinaryTarget(0.4, [0.5, 1], [0.25, 0.5])
        joint = [[0.225, 0], [0.225, 0.2], [0.075, 0], [0.075, 0.2]]
        np.testing.assert_allclose(target.joint(), joint)
        assert target.bayes_predictions().tolist() == [0, 0, 0, 1]
        assert target.bayes_accuracy() == pytest.approx(0.725)
        assert target.accuracy([1, 1, 1, 1]) == pytest.approx(0.4)
        assert target.regret([0, 1, 0, 1]) == pytest.approx(0.025)
        assert target.f_value([0, 1, 0, 1]) == pytest.approx(0.8 / 1.1)

    @laws
    @given(seeds, seeds)
    def test_laws_of_any_classifier(self, seed, other):
        target = some_target(seed)
        predictions = np.random.default_rng(other).integers(2, size=16)
        assert target.joint().sum() == pytest.approx(1)
        assert target.accuracy(predictions) + target.accuracy(1 - predictions) == pytest.approx(1)
        assert target.regret(predictions) >= 0
        assert target.regret(predictions) == pytest.approx(
            target.bayes_accuracy() - target.accuracy(predictions)
        )
        assert target.regret(target.bayes_predictions()) == 0

    def test_no_classifier_beats_bayes(self):
        target = some_target(3, d=3)
        best = max(target.accuracy(f) for f in itertools.product([0, 1], repeat=8))
        assert best == pytest.approx(target.bayes_accuracy())

    @laws
    @given(seeds, seeds)
    def test_divergence_equals_the_sum_over_cells(self, seed, other):
        mine, theirs = some_target(seed), some_target(other)
        p, q = mine.joint(), theirs.joint()
        assert mine.kl_divergence(theirs) == pytest.approx((p * np.log(p / q)).sum(), abs=1e-9)
        assert mine.kl_divergence(theirs) >= -1e-12
        assert mine.kl_divergence(mine) == 0

    def test_divergence_at_the_edges(self):
        certain = BinaryTarget(1, [1], [0.5])
        open_minded = BinaryTarget(0.5, [0.5], [0.5])
        assert certain.kl_divergence(open_minded) == pytest.approx(math.log(4))
        assert open_minded.kl_divergence(certain) == math.inf
        # What class 0 looks like is of no matter where it never occurs.
        assert certain.kl_divergence(BinaryTarget(1, [1], [0])) == 0

    def test_draws_approach_the_joint(self):
        target = some_target(5, d=3)
        n = 40_000
        X, y = target.draw(n, random_state=0)
        cell = X @ np.array([4, 2, 1])
        found = np.zeros((8, 2))
        np.add.at(found, (cell, y), 1 / n)
        np.testing.assert_allclose(found, target.joint(), atol=5 * 0.5 / math.sqrt(n))
        assert (X.dtype, y.dtype) == (np.uint8, np.int64)

    def test_cells_come_in_the_order_of_the_joint(self):
        cells = all_cells(3)
        assert cells[5].tolist() == [1, 0, 1]
        assert len(np.unique(cells, axis=0)) == 8
        # Column 0 almost always set, the others almost never: cell 100 is the likely one.
        assert BinaryTarget(0.5, [0.9, 0.1, 0.1], [0.9, 0.1, 0.1]).joint().sum(axis=1).argmax() == 4

    def test_sixteen_columns_can_be_enumerated(self):
        assert some_target(0, d=16).joint().sum() == pytest.approx(1)

    def test_parameters_cannot_be_changed(self):
        with pytest.raises(ValueError, match="read-only"):
            some_target(0).positive[0] = 0.5

    def test_matched_targets(self):
        target = matched_target(0.90)
        assert target.bayes_accuracy() == pytest.approx(0.90, abs=0.005)
        np.testing.assert_array_equal(target.positive, matched_target(0.90).positive)
        another = matched_target(0.90, first_seed=1000)
        assert another.prior != target.prior
        assert another.bayes_accuracy() == pytest.approx(0.90, abs=0.005)

    def test_the_target_of_table_1(self):
        # Denis et al. print accuracy .899 and F .903 for the target itself.
        target = matched_target(0.899, f_value=0.903)
        assert target.bayes_accuracy() == pytest.approx(0.899, abs=0.005)
        assert target.f_value(target.bayes_predictions()) == pytest.approx(0.903, abs=0.005)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: BinaryTarget(1.5, [0.5], [0.5]), "prior is 1.5: give one number"),
            (lambda: BinaryTarget(0.5, [-0.5], [0.5]), r"positive is \[-0.5\]"),
            (lambda: BinaryTarget(0.5, [0.5], 0.5), "negative is 0.5: give a list"),
            (lambda: BinaryTarget(0.5, [0.5], [math.nan]), r"negative is \[nan\]"),
            (lambda: BinaryTarget(0.5, [0.5], [0.5, 0.5]), "positive has 1 columns and negative 2"),
            (lambda: draw_binary_target(0), "at least one column"),
            (lambda: some_target(0, d=17).bayes_accuracy(), "17 columns cannot be enumerated"),
            (lambda: some_target(0).accuracy([0, 1]), r"shape \(2,\): give one per cell .* 16"),
            (lambda: some_target(0, d=1).accuracy([0, 2]), "prediction for cell 1 is .*2"),
            (lambda: some_target(0).kl_divergence(some_target(0, d=2)), "have 4 and 2 columns"),
            (lambda: some_target(0).draw(-1), "n is -1"),
            (lambda: matched_target(0.4), "bayes_accuracy is 0.4: .* between 0.5 and 1"),
        ],
    )
    def test_bad_input_is_named(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()

    def test_a_search_in_vain_ends(self, monkeypatch):
        monkeypatch.setattr("misnomer.simulate.targets.MAX_SEEDS", 20)
        with pytest.raises(
            ValueError, match=r"None of 20 .* accuracy of 0\.7 and an F value of 0\.2"
        ):
            matched_target(0.7, f_value=0.2, tolerance=0)


class TestZeng:
    def test_shapes_types_and_repeatability(self):
        run = draw_zeng(40, random_state=1)
        assert run.X.shape == (40, 500)
        assert run.X.dtype == np.uint8
        assert set(np.unique(run.X)) == {0, 1}
        assert run.probabilities.shape == (5, 500)
        assert run.prior.tolist() == [0.2] * 5
        again = draw_zeng(40, random_state=1)
        np.testing.assert_array_equal(run.X, again.X)
        np.testing.assert_array_equal(run.given, again.given)

    def test_draws_follow_the_parameters(self):
        run = draw_zeng(20_000, d=20, n_classes=3, random_state=0)
        for k in range(3):
            rows = run.true == k
            bound = 5 * 0.5 / math.sqrt(rows.sum())
            assert abs(rows.mean() - 1 / 3) < bound
            np.testing.assert_allclose(run.X[rows].mean(axis=0), run.probabilities[k], atol=bound)
            found = np.bincount(run.given[rows], minlength=3) / rows.sum()
            np.testing.assert_allclose(found, run.noise_matrix[:, k], atol=bound)

    def test_one_shift_per_class(self):
        # Within a class the spread is .06; between class means it is that of U[0, .1).
        runs = [draw_zeng(0, random_state=seed).probabilities for seed in range(60)]
        assert np.std(runs, axis=2).mean() == pytest.approx(0.06, abs=0.001)
        means = np.mean(runs, axis=2).ravel()
        assert means.mean() == pytest.approx(0.70, abs=0.006)
        assert means.std() == pytest.approx(0.1 / math.sqrt(12), abs=0.004)
        assert np.min(runs) >= 0.001
        assert np.max(runs) <= 0.999

    def test_clean_labels(self):
        run = draw_zeng(100, d=5, diagonal=(1.0, 1.0), random_state=0)
        np.testing.assert_array_equal(run.given, run.true)

    @pytest.mark.parametrize("bad", [{"n": -1}, {"n": 5, "d": 0}, {"n": 5, "n_classes": 1}])
    def test_bad_input_is_named(self, bad):
        with pytest.raises(ValueError, match=r"give numbers of rows|There are 1 classes"):
            draw_zeng(**bad)
