"""Accuracy behind noisy test labels, and the impact of mislabeling."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from misnomer.estimate import normal_quantile
from misnomer.metrics import (
    corrected_accuracy,
    corrected_joint,
    corrected_risk,
    measure_mislabeling_impact,
    mislabeling_impact,
)
from misnomer.simulate import (
    class_conditional_noise,
    make_noisy_labels,
    pair_noise,
    random_noise,
    uniform_noise,
)

laws = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)
flip_rates = st.floats(0, 0.45)


def noisy_test(matrix, *, accuracy, n, rng):
    """Draw given labels and predictions that are right with the same chance in every class."""
    n_classes = len(matrix)
    true = rng.integers(n_classes, size=n)
    wrong = (true + rng.integers(1, n_classes, size=n)) % n_classes
    predicted = np.where(rng.random(n) < accuracy, true, wrong)
    given_labels = make_noisy_labels(true, matrix, classes=range(n_classes), random_state=rng)
    return given_labels, predicted


class TestKnownNumbers:
    # 100 rows; (given, predicted) counts 00: 40, 01: 10, 10: 20, 11: 30.
    y_given = [0] * 50 + [1] * 50
    y_pred = [0] * 40 + [1] * 10 + [0] * 20 + [1] * 30
    channel = class_conditional_noise([0.2, 0.1])

    def test_two_classes_by_hand(self):
        # R^-1 = [[.9, -.1], [-.2, .8]] / .7.
        joint = np.array([[34, 6], [8, 22]]) / 70
        np.testing.assert_allclose(corrected_joint(self.y_given, self.y_pred, self.channel), joint)
        found = corrected_accuracy(self.y_given, self.y_pred, self.channel)
        assert found.value == pytest.approx(56 / 70)

    def test_interval_by_hand(self):
        # z^2 pseudo-rows, half right: true x predicted [[.3, .2], [.3, .2]], given x predicted
        # R times it, so (.8 + .1) and (.2 + .9) of (.3, .2).
        z = normal_quantile(0.90)
        pseudo = np.array([[0.27, 0.18], [0.33, 0.22]])
        cells = (np.array([[40, 10], [20, 30]]) + z**2 * pseudo) / (100 + z**2)
        score = np.array([[0.9, -0.2], [-0.1, 0.8]]) / 0.7
        center = (cells * score).sum()
        spread = math.sqrt((cells * score**2).sum() - center**2)
        found = corrected_accuracy(self.y_given, self.y_pred, self.channel)
        assert found.low == pytest.approx(center - z * spread / math.sqrt(100 + z**2))
        assert found.high == pytest.approx(center + z * spread / math.sqrt(100 + z**2))

    def test_one_point_two_worlds(self):
        # Denis et al., section 3, X = {a}: two thirds of the labels are 1. Without noise the best
        # guess is 1; with eta = (1/2, 0) the same labels come from P(0 | a) = 2/3, and it is 0.
        y_given = [0] * 10 + [1] * 20
        clean, noisy = np.eye(2), class_conditional_noise([0.5, 0])
        for guess, in_clean, in_noisy in ((1, 2 / 3, 1 / 3), (0, 1 / 3, 2 / 3)):
            for channel, expected in ((clean, in_clean), (noisy, in_noisy)):
                found = corrected_accuracy(y_given, [guess] * 30, channel, labels=[0, 1])
                assert found.value == pytest.approx(expected)

    def test_identity_interval_is_that_of_agresti_and_coull(self):
        z = normal_quantile(0.95)
        center = (20 + z**2 / 2) / (20 + z**2)
        found = corrected_accuracy([0, 1] * 10, [0, 1] * 10, np.eye(2), confidence=0.95)
        reach = z * math.sqrt(center * (1 - center) / (20 + z**2))
        assert (found.value, found.high) == (1, 1)
        assert found.low == pytest.approx(center - reach)

    def test_more_given_labels_than_classes(self):
        # A third label "unsure" that says nothing of the class: rows 0 and 1 carry the answer.
        channel = [[0.6, 0.2], [0.2, 0.6], [0.2, 0.2]]
        truth = np.array([[0.5, 0.1], [0.1, 0.3]])
        counts = np.rint(1000 * np.array(channel) @ truth).astype(int)
        pairs = [(y, f) for y in range(3) for f in range(2) for _ in range(counts[y, f])]
        y_given, y_pred = (list(column) for column in zip(*pairs, strict=True))
        np.testing.assert_allclose(corrected_joint(y_given, y_pred, channel), truth)
        names = ["no", "yes", "unsure"]
        found = corrected_accuracy(
            [names[y] for y in y_given],
            [names[f] for f in y_pred],
            channel,
            labels=["no", "yes"],
            given_labels=names,
        )
        assert found.value == pytest.approx(0.8)


class TestLaws:
    @laws
    @given(seeds, flip_rates, flip_rates)
    def test_two_classes_give_equation_3(self, seed, eta0, eta1):
        rng = np.random.default_rng(seed)
        channel = class_conditional_noise([eta0, eta1])
        y_given, y_pred = noisy_test(channel, accuracy=0.8, n=200, rng=rng)
        noisy_risk, share = np.mean(y_given != y_pred), np.mean(y_pred == 1)
        risk = (noisy_risk - eta1 * share - eta0 * (1 - share)) / (1 - eta0 - eta1)
        joint = corrected_joint(y_given, y_pred, channel, labels=[0, 1])
        assert 1 - np.trace(joint) == pytest.approx(risk, abs=1e-10)
        found = corrected_risk(y_given, y_pred, channel, labels=[0, 1])
        assert found.value == pytest.approx(min(max(risk, 0), 1), abs=1e-10)

    @laws
    @given(seeds, st.integers(2, 5), st.booleans())
    def test_identity_gives_plain_accuracy(self, seed, n_classes, weighted):
        rng = np.random.default_rng(seed)
        y_given, y_pred = rng.integers(n_classes, size=(2, 30))
        weight = rng.random(30) if weighted else None
        found = corrected_accuracy(
            y_given, y_pred, np.eye(n_classes), labels=range(n_classes), sample_weight=weight
        )
        assert found.value == pytest.approx(np.average(y_given == y_pred, weights=weight))

    @laws
    @given(seeds, st.permutations(range(4)))
    def test_the_order_of_classes_is_of_no_matter(self, seed, order):
        rng = np.random.default_rng(seed)
        channel = random_noise(4, (0.7, 0.9), random_state=rng)
        y_given, y_pred = noisy_test(channel, accuracy=0.7, n=100, rng=rng)
        found = corrected_accuracy(y_given, y_pred, channel, labels=range(4))
        turned = corrected_accuracy(y_given, y_pred, channel[np.ix_(order, order)], labels=order)
        assert astuple(turned) == pytest.approx(astuple(found), abs=1e-9)

    @laws
    @given(seeds)
    def test_a_row_of_zero_weight_is_absent(self, seed):
        rng = np.random.default_rng(seed)
        channel = uniform_noise(3, 0.3)
        y_given, y_pred = noisy_test(channel, accuracy=0.7, n=60, rng=rng)
        kept = rng.random(60) < 0.6
        options = {"labels": range(3)}
        absent = corrected_accuracy(y_given[kept], y_pred[kept], channel, **options)
        weightless = corrected_accuracy(y_given, y_pred, channel, sample_weight=7 * kept, **options)
        unlabeled = np.where(kept, y_given.astype(object), None)
        dropped = corrected_accuracy(unlabeled, y_pred, channel, **options)
        assert astuple(weightless) == pytest.approx(astuple(absent), abs=1e-9)
        assert astuple(dropped) == pytest.approx(astuple(absent), abs=1e-9)

    @laws
    @given(seeds, st.floats(0, 1))
    def test_exact_joints_are_recovered(self, seed, low):
        rng = np.random.default_rng(seed)
        channel = random_noise(3, (low, 1), random_state=rng)
        assume(np.linalg.cond(channel) < 1e3)
        truth = rng.dirichlet(np.ones(9)).reshape(3, 3)
        noisy = channel @ truth
        cells = [(y, f) for y in range(3) for f in range(3)]
        y_given, y_pred = (list(column) for column in zip(*cells, strict=True))
        found = corrected_joint(y_given, y_pred, channel, sample_weight=noisy.ravel())
        np.testing.assert_allclose(found, truth, atol=1e-10)

    @laws
    @given(seeds)
    def test_risk_is_one_minus_accuracy(self, seed):
        rng = np.random.default_rng(seed)
        y_given, y_pred = noisy_test(pair_noise(3, 0.2), accuracy=0.7, n=50, rng=rng)
        options = {"labels": range(3), "confidence": 0.8}
        accuracy = corrected_accuracy(y_given, y_pred, pair_noise(3, 0.2), **options)
        risk = corrected_risk(y_given, y_pred, pair_noise(3, 0.2), **options)
        ends = (1 - accuracy.value, 1 - accuracy.high, 1 - accuracy.low, 0.8)
        assert astuple(risk) == pytest.approx(ends)

    @pytest.mark.parametrize(
        ("channel", "accuracy", "n"),
        [
            (class_conditional_noise([0.2, 0.5]), 0.7, 300),
            (uniform_noise(4, 0.3), 0.85, 200),
            (random_noise(5, random_state=1), 0.6, 400),
            (np.eye(2), 0.95, 60),
        ],
    )
    def test_intervals_cover_as_promised(self, channel, accuracy, n):
        rng = np.random.default_rng(20)
        classes, repeats = range(len(channel)), 400
        covered, centers = 0, []
        for _ in range(repeats):
            y_given, y_pred = noisy_test(channel, accuracy=accuracy, n=n, rng=rng)
            found = corrected_accuracy(y_given, y_pred, channel, labels=classes)
            covered += accuracy in found
            centers.append(np.trace(corrected_joint(y_given, y_pred, channel, labels=classes)))
        # At most three standard errors too few; somewhat too many is only cautious.
        assert 0.90 - 3 * math.sqrt(0.09 / repeats) <= covered / repeats <= 0.96
        error = np.std(centers) / math.sqrt(repeats)
        assert abs(np.mean(centers) - accuracy) < 4 * error

    def test_intervals_ignore_the_noisy_accuracy(self):
        channel = class_conditional_noise([0.2, 0.5])
        y_given, y_pred = noisy_test(channel, accuracy=0.9, n=4000, rng=np.random.default_rng(0))
        found = corrected_accuracy(y_given, y_pred, channel)
        assert 0.9 in found
        assert np.mean(y_given == y_pred) not in found


class TestBadInput:
    @pytest.mark.parametrize(
        ("y_given", "y_pred", "channel", "options", "message"),
        [
            ("ab", "ab", class_conditional_noise([0.5, 0.5]), {}, "cannot be inverted"),
            ("ab", "ab", [[0.5, 0.5 + 1e-9], [0.5, 0.5 - 1e-9]], {}, "cannot be inverted"),
            ("ab", "ab", [[0.5, 0.5, 0], [0.5, 0.5, 1]], {}, "cannot be inverted"),
            ("ab", "ab", [[0.9, 0.1], [0.2, 0.9]], {}, "column 0 .* sums to 1.1"),
            ("ab", "ab", [[1.0], [0.0]], {}, "one true class"),
            ("ab", "abb", np.eye(2), {}, "y_given has 2 rows and y_pred 3"),
            ("abc", "abb", np.eye(2), {}, r"shape \(2, 2\) for 3 given labels and 3 classes"),
            ("abc", "abb", np.eye(2), {"labels": "ab"}, "label 'c' in row 2 is not among"),
            ("ab", "ac", np.eye(2), {"labels": "ab"}, "label 'c' in row 1 is not among"),
            (["a", "b"], ["a", None], np.eye(2), {}, "Row 1 has no prediction"),
            ([None, None], "ab", np.eye(2), {}, "No row has a given label"),
            ("ab", "ab", np.eye(2), {"sample_weight": [0, 0]}, "No row has a given label"),
            ("ab", "ab", np.eye(2), {"sample_weight": [1]}, "must hold 2 finite numbers"),
            ("ab", "ab", np.eye(2), {"sample_weight": [1, -1]}, "none below zero"),
            ("ab", "ab", np.eye(2), {"sample_weight": [1, math.nan]}, "finite numbers"),
            ("ab", "ab", np.eye(2), {"confidence": 1.0}, "confidence is 1.0"),
        ],
    )
    def test_it_is_named(self, y_given, y_pred, channel, options, message):
        if "labels" in options:
            options = {**options, "labels": list(options["labels"])}
        with pytest.raises(ValueError, match=message):
            corrected_accuracy(list(y_given), list(y_pred), channel, **options)

    def test_a_channel_that_contradicts_the_labels_is_refused(self):
        labels = ["a", "b"] * 100
        with pytest.raises(ValueError, match=r"would be 1\.750.*did not make these labels"):
            corrected_accuracy(labels, labels, uniform_noise(2, 0.3))

    def test_a_small_test_set_may_be_lucky(self):
        labels = ["a", "b"] * 5
        found = corrected_accuracy(labels, labels, uniform_noise(2, 0.3))
        assert (found.value, found.high) == (1, 1)
        assert found.low < 0.95


class Stump:
    """Predict, for each value of a column, the label most often seen with it."""

    def fit(self, X, y):
        self.table_ = {x: max(sorted(set(y)), key=list(y[x == X]).count) for x in set(X)}

    def predict(self, X):
        return [self.table_[x] for x in X]


class TestImpact:
    def test_table_1_of_the_slides(self):
        # NB by interval (rows) and n = 500, 1000, 5000; the last row has correct labels.
        accuracy = np.array(
            [[66.0, 75.9, 90.9], [73.8, 85.3, 93.3], [78.7, 89.2, 94.2], [84.3, 91.8, 94.7]]
        )
        clean = np.array([88.2, 93.4, 95.1])
        printed = [
            [-22.3, -17.6, -4.2],
            [-14.5, -8.1, -1.8],
            [-9.6, -4.2, -0.9],
            [-4.0, -1.6, -0.4],
        ]
        found = [
            [mislabeling_impact(a, c) for a, c in zip(row, clean, strict=True)] for row in accuracy
        ]
        # Three numbers rounded to .1 can disagree by .15.
        np.testing.assert_allclose(found, printed, atol=0.15)
        assert found[0][0] == pytest.approx(-22.2)

    def test_an_estimator_is_fitted_on_both(self):
        X = np.array([0, 0, 0, 1, 1, 1])
        y_true = np.array(["a", "a", "a", "b", "b", "b"])
        y_given = np.array(["a", "b", "b", "b", "b", "b"])
        stump = Stump()
        found = measure_mislabeling_impact(
            stump, X, y_true, y_given, np.array([0, 0, 0, 1]), ["a", "a", "a", "b"]
        )
        assert found == pytest.approx(0.25 - 1)
        assert not hasattr(stump, "table_")

    def test_bad_input_is_named(self):
        with pytest.raises(ValueError, match=r"accuracies are nan and 0\.5"):
            mislabeling_impact(math.nan, 0.5)
        X, y = np.array([0, 1]), np.array(["a", "b"])
        with pytest.raises(ValueError, match="X_test has 2 rows and y_test 1"):
            measure_mislabeling_impact(Stump(), X, y, y, X, ["a"])
