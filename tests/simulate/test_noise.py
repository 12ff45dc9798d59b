"""Planted noise: the matrices, and the labels they draw."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from misnomer.simulate import (
    class_conditional_noise,
    flip_near_boundary,
    make_noisy_labels,
    pair_noise,
    random_noise,
    uniform_noise,
)
from misnomer.simulate.noise import _draw_codes

rates = st.floats(0, 1)
class_counts = st.integers(2, 7)
seeds = st.integers(0, 2**32 - 1)
laws = settings(max_examples=40, deadline=None)


class TestMatrices:
    @laws
    @given(class_counts, rates, seeds)
    def test_columns_sum_to_one(self, n_classes, rate, seed):
        for matrix in (
            uniform_noise(n_classes, rate),
            pair_noise(n_classes, rate),
            class_conditional_noise([rate] * n_classes),
            random_noise(n_classes, (rate / 2, rate), random_state=seed),
        ):
            assert matrix.shape == (n_classes, n_classes)
            assert (matrix >= 0).all()
            np.testing.assert_allclose(matrix.sum(axis=0), 1, atol=1e-12)

    @laws
    @given(class_counts, rates)
    def test_uniform_noise_treats_classes_alike(self, n_classes, rate):
        matrix = uniform_noise(n_classes, rate)
        order = np.arange(n_classes)[::-1]
        np.testing.assert_array_equal(matrix, matrix[np.ix_(order, order)])
        np.testing.assert_array_equal(matrix.diagonal(), 1 - rate)

    def test_pair_noise_moves_each_class_to_the_next(self):
        expected = [[0.7, 0, 0, 0.3], [0.3, 0.7, 0, 0], [0, 0.3, 0.7, 0], [0, 0, 0.3, 0.7]]
        np.testing.assert_allclose(pair_noise(4, 0.3), expected)

    def test_class_conditional_noise_spreads_evenly(self):
        expected = [[0.9, 0.2, 0], [0.05, 0.6, 0], [0.05, 0.2, 1]]
        np.testing.assert_allclose(class_conditional_noise([0.1, 0.4, 0]), expected)

    def test_random_noise_keeps_its_diagonal_in_the_interval(self):
        diagonals = [random_noise(5, random_state=seed).diagonal() for seed in range(200)]
        assert 0.55 <= np.min(diagonals) < 0.551
        assert 0.649 < np.max(diagonals) < 0.65

    def test_random_noise_spreads_the_rest_by_a_flat_dirichlet(self):
        # With K = 3 the first of two parts of a flat Dirichlet is uniform: variance 1/12.
        parts = np.array(
            [random_noise(3, (0.5, 0.5), random_state=seed)[1, 0] / 0.5 for seed in range(2000)]
        )
        assert abs(parts.mean() - 1 / 2) < 0.03
        assert abs(parts.var() - 1 / 12) < 0.01

    @pytest.mark.parametrize("build", [uniform_noise, pair_noise])
    @pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
    def test_a_rate_outside_is_named(self, build, rate):
        with pytest.raises(ValueError, match=rf"rate {rate:g} is outside \[0, 1\]"):
            build(3, rate)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: uniform_noise(1, 0.1), "There are 1 classes"),
            (lambda: pair_noise(2.5, 0.1), "There are 2.5 classes"),
            (lambda: class_conditional_noise([0.1]), "There are 1 classes"),
            (lambda: class_conditional_noise([[0.1, 0.2]]), r"rates has shape \(1, 2\)"),
            (lambda: class_conditional_noise([0.1, 2]), "rate 2 is outside"),
            (lambda: random_noise(3, (0.7, 0.6)), "lower end first"),
            (lambda: random_noise(3, (0.7, 1.6)), "rate 1.6 is outside"),
            (lambda: random_noise(3, (0.7,)), "two numbers"),
        ],
    )
    def test_bad_input_is_named(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()


class TestNoisyLabels:
    @laws
    @given(class_counts, seeds)
    def test_the_identity_changes_nothing(self, n_classes, seed):
        y = np.random.default_rng(seed).integers(n_classes, size=50)
        drawn = make_noisy_labels(y, np.eye(n_classes), classes=range(n_classes), random_state=seed)
        np.testing.assert_array_equal(drawn, y)

    @settings(max_examples=15, deadline=None)
    @given(st.integers(2, 5), seeds)
    def test_frequencies_approach_the_matrix(self, n_classes, seed):
        matrix = random_noise(n_classes, (0.3, 0.9), random_state=seed)
        n = 20_000
        y = np.repeat(np.arange(n_classes), n)
        drawn = make_noisy_labels(y, matrix, random_state=seed)
        found = np.stack(
            [np.bincount(drawn[y == k], minlength=n_classes) for k in range(n_classes)]
        )
        # Six standard errors of a share, at its widest.
        np.testing.assert_allclose(found.T / n, matrix, atol=6 * 0.5 / math.sqrt(n))

    def test_a_structural_zero_is_never_drawn(self):
        # Ten tenths add up to less than one in floating point: the gap must not reach label 11.
        column = np.array([0, *[0.1] * 10, 0])
        assert column.cumsum()[-1] < 1
        matrix = np.tile(column[:, None], 12)
        ends = np.array([0, np.nextafter(1, 0)])
        assert _draw_codes(np.array([0, 11]), matrix, ends).tolist() == [1, 10]

    def test_rows_are_given_and_columns_true(self):
        drawn = make_noisy_labels(["a", "b"], [[0, 0], [1, 1]], random_state=0)
        assert drawn.tolist() == ["b", "b"]

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([0, 1, 1], dtype=np.int8),
            np.array([True, False, True]),
            np.array(["no", "yes", "no"]),
            np.array([0.0, 1.0, 0.0]),
            np.array(["no", "yes", "no"], dtype=object),
        ],
    )
    def test_types_stay(self, labels):
        drawn = make_noisy_labels(labels, [[0, 1], [1, 0]], random_state=0)
        first, second = np.unique(labels)
        assert drawn.dtype == labels.dtype
        assert drawn.tolist() == np.where(labels == first, second, first).tolist()

    def test_a_longer_name_than_any_in_y_is_not_cut(self):
        drawn = make_noisy_labels(
            np.array(["a"]), [[0, 0], [1, 1]], classes=["a", "absent"], random_state=0
        )
        assert drawn.tolist() == ["absent"]

    def test_a_class_of_another_type_is_kept_whole(self):
        drawn = make_noisy_labels(np.array([1]), [[0, 0], [1, 1]], classes=[1, 2.5], random_state=0)
        assert drawn.tolist() == [2.5]

    @pytest.mark.parametrize(
        ("labels", "missing"),
        [
            (["a", None, "b"], lambda x: x is None),
            (["a", float("nan"), "b"], lambda x: x != x),
            (["a", "", "b"], lambda x: x == ""),
            (np.array([0.0, np.nan, 1.0]), np.isnan),
            (pd.Series(["a", pd.NA, "b"], dtype="string"), lambda x: x is pd.NA),
            (pd.Series(["a", None, "b"], dtype="category"), lambda x: x != x),
            (pl.Series(["a", None, "b"]), lambda x: x is None),
        ],
    )
    def test_missing_labels_stay_missing(self, labels, missing):
        drawn = make_noisy_labels(labels, [[0, 1], [1, 0]], random_state=0)
        assert missing(drawn[1])
        assert [drawn[0], drawn[2]] == [labels[2], labels[0]]

    def test_a_seed_repeats_the_draw_and_a_generator_moves_on(self):
        y, matrix = ["a", "b"] * 50, uniform_noise(2, 0.5)
        first = make_noisy_labels(y, matrix, random_state=3)
        np.testing.assert_array_equal(first, make_noisy_labels(y, matrix, random_state=3))
        rng = np.random.default_rng(3)
        one, two = (make_noisy_labels(y, matrix, random_state=rng) for _ in range(2))
        assert (one != two).any()

    def test_the_same_seed_for_data_and_noise_draws_different_numbers(self):
        y = np.random.default_rng(3).random(200) < 0.5
        noisy = make_noisy_labels(y, uniform_noise(2, 0.3), random_state=3)
        assert 0.2 < np.mean(noisy != y) < 0.4
        assert 0.2 < np.mean((noisy != y)[y]) < 0.4

    def test_an_object_with_a_matrix_will_do(self):
        class Carrier:
            matrix = np.array([[0.0, 1.0], [1.0, 0.0]])

        assert make_noisy_labels([0, 1], Carrier(), random_state=0).tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("y", "matrix", "classes", "message"),
        [
            (
                "ab",
                [[0.9, 0.1], [0.2, 0.9]],
                None,
                "column 0 .* sums to 1.1, not 1; rows are given",
            ),
            ("ab", [[0.9, 0.4], [0.1, 0.5]], None, "column 1 .* sums to 0.9"),
            ("ab", [[1.5, 0], [-0.5, 1]], None, r"-0.5 in row 1, column 0"),
            ("ab", [[float("nan"), 0], [0, 1]], None, r"nan in row 0, column 0"),
            ("ab", [0.5, 0.5], None, r"shape \(2,\)"),
            ("ab", np.eye(3), None, r"shape \(3, 3\) but there are 2 classes"),
            ("ab", [[0.5, 0.5], [0.25, 0.5], [0.25, 0]], None, r"shape \(3, 2\)"),
            ("abc", np.eye(2), ["a", "b"], "label 'c' in row 2 is not among the classes"),
            ("ab", np.eye(3), ["a", "b", "a"], "names 'a' twice"),
            ("ab", np.eye(3), ["a", "b", None], "holds a missing label"),
            (["a", 1], np.eye(2), None, "cannot be sorted together"),
            ([["a"], ["b"]], np.eye(2), None, r"labels have shape \(2, 1\)"),
        ],
    )
    def test_bad_input_is_named(self, y, matrix, classes, message):
        with pytest.raises(ValueError, match=message):
            make_noisy_labels(list(y), matrix, classes=classes, random_state=0)


class TestFlipNearBoundary:
    proba = np.array([[0.9, 0.1, 0], [0.4, 0.35, 0.25], [0.2, 0.3, 0.5], [0.3, 0.36, 0.34]])

    def test_the_nearest_rows_take_the_runner_up(self):
        y = ["a", "a", "c", "b"]
        drawn = flip_near_boundary(y, self.proba, 0.5, random_state=0)
        assert drawn.tolist() == ["a", "b", "c", "c"]

    def test_distance_is_to_the_own_class(self):
        # Row 0 is on the wrong side by far, row 1 hardly: the latter is nearer.
        drawn = flip_near_boundary([1, 0], [[0.9, 0.1], [0.45, 0.55]], 0.5, random_state=0)
        assert drawn.tolist() == [1, 1]

    @laws
    @given(st.integers(0, 60), rates, st.sampled_from([0.0, 0.1, 10.0]), seeds)
    def test_exactly_the_rate_is_flipped(self, n, rate, spread, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=n)
        drawn = flip_near_boundary(
            y, rng.normal(size=n), rate, spread=spread, classes=[0, 1], random_state=seed
        )
        assert (drawn != y).sum() == round(rate * n)

    def test_missing_labels_stay_and_do_not_count(self):
        y = ["a", None, "b", None]
        drawn = flip_near_boundary(y, [1.0, 0.1, 2.0, 0.2], 0.5, random_state=0)
        assert drawn.tolist() == ["b", None, "b", None]

    def test_ties_are_settled_by_the_seed(self):
        y = np.zeros(100, dtype=int)
        chosen = [
            np.flatnonzero(
                flip_near_boundary(y, np.zeros(100), 0.2, classes=[0, 1], random_state=seed)
            )
            for seed in (0, 0, 1)
        ]
        np.testing.assert_array_equal(chosen[0], chosen[1])
        assert set(chosen[0]) != set(chosen[2])

    def test_spread_moves_flips_away_from_the_boundary(self):
        margin = np.linspace(0.001, 1, 2000)
        y = np.zeros(2000, dtype=int)
        means = []
        for spread in (0, 0.1, 100):
            drawn = flip_near_boundary(
                y, margin, 0.1, spread=spread, classes=[0, 1], random_state=0
            )
            means.append(margin[drawn == 1].mean())
        assert means[0] == pytest.approx(0.05, abs=0.002)
        assert means[0] < means[1] - 0.02
        assert means[2] == pytest.approx(0.5, abs=0.07)

    @pytest.mark.parametrize(
        ("y", "scores", "options", "message"),
        [
            ([0, 1], [1.0, 2.0], {"rate": 1.2}, r"rate 1.2 is outside \[0, 1\]"),
            ([0, 1], [1.0, 2.0], {"rate": 0.5, "spread": -1}, "spread is -1"),
            ([0, 1], [1.0], {"rate": 0.5}, r"shape \(1,\) for 2 labels of 2 classes"),
            ([0, 1], np.ones((2, 3)), {"rate": 0.5}, r"shape \(2, 3\)"),
            ([0, 1, 2], [1.0, 2.0, 3.0], {"rate": 0.5}, "cannot rank 3 classes"),
            ([0, 0], [1.0, 2.0], {"rate": 0.5}, "labels of 1 classes"),
            ([0, 1], [1.0, math.nan], {"rate": 0.5}, "score in row 1 is not a finite number"),
        ],
    )
    def test_bad_input_is_named(self, y, scores, options, message):
        with pytest.raises(ValueError, match=message):
            flip_near_boundary(y, scores, **options)
