"""P(e): the known numbers, brute force, an independent simulation, and the bound for large N."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import betabinom

from misnomer.solvers.exact import labeled_counts
from misnomer.solvers.exact.error import (
    count_partitions,
    error_curve,
    partitions,
    probability_of_error,
)
from misnomer.solvers.exact.evidence import predictive
from misnomer.solvers.exact.quantization import best_quantization, own_counts_error
from tests.solvers.exact.arrangements import error

KNOWN = {  # ten rows per class: P(e) at M = 3, 4, 5 and M*
    0.0: ([0.32576, 0.32093, 0.32161], 4),
    0.05: ([0.33076, 0.32723, 0.32895], 4),
    0.25: ([0.37093, 0.37357], 3),
    0.45: ([0.46824, 0.47001], 3),
}


@pytest.mark.parametrize("alpha", KNOWN)
def test_known_numbers_and_normalization(alpha):
    errors, best = KNOWN[alpha]
    curve = error_curve(range(2, 41), 10, alpha)
    np.testing.assert_array_equal(curve.error[1 : 1 + len(errors)].round(5), errors)
    assert curve.best == best
    np.testing.assert_allclose(curve.mass, 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("symbols", "sizes", "alpha", "dirichlet", "assumed"),
    [
        (2, (2, 3), (Fraction(1, 4), Fraction(1, 10)), Fraction(1, 2), None),
        (3, (2, 2), (Fraction(1, 4), Fraction(1, 4)), Fraction(1), None),
        (2, (3, 1), (Fraction(1, 5), Fraction(2, 5)), Fraction(1), (Fraction(0), Fraction(1, 10))),
        (3, (2, 1), (Fraction(0), Fraction(1, 3)), Fraction(2), (Fraction(2, 5), Fraction(1, 9))),
        (4, (1, 1), (Fraction(1, 3), Fraction(1, 3)), Fraction(1), None),
    ],
)
def test_small_cases_by_brute_force(symbols, sizes, alpha, dirichlet, assumed):
    expected = error(symbols, sizes, alpha, [dirichlet] * symbols, assumed)
    ours = probability_of_error(
        symbols,
        sizes,
        [float(a) for a in alpha],
        dirichlet=float(dirichlet),
        assumed_alpha=None if assumed is None else [float(a) for a in assumed],
    )
    assert ours == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize(("n_test", "known"), [(1, 0.3808), (2, 0.3635), (3, 0.3487)])
def test_more_test_observations_err_less(n_test, known):
    assert probability_of_error(2, 4, 0.1, n_test=n_test) == pytest.approx(known, abs=5e-5)


@pytest.mark.parametrize(
    ("symbols", "sizes", "n_test", "assumed"),
    [(2, (2, 3), 2, None), (3, (2, 1), 3, None), (4, (1, 1), 3, None), (3, (1, 2), 2, (0, 1 / 9))],
)
def test_several_test_observations_by_brute_force(symbols, sizes, n_test, assumed):
    alpha = (Fraction(1, 4), Fraction(1, 10))
    expected = error(symbols, sizes, alpha, [Fraction(1, 2)] * symbols, assumed, n_test)
    curve = error_curve(
        [symbols, symbols + 1],
        sizes,
        [float(a) for a in alpha],
        dirichlet=0.5,
        assumed_alpha=assumed,
        n_test=n_test,
    )
    assert curve.error[0] == pytest.approx(float(expected), rel=1e-12)
    np.testing.assert_allclose(curve.mass, 1.0, rtol=0, atol=1e-12)


def test_beyond_one_half_the_error_is_that_of_the_mirror_image():
    symbols = [2, 3, 5]
    for alpha in (0.05, 0.25, 0.45):
        below, above = (error_curve(symbols, 6, a) for a in (alpha, 1 - alpha))
        np.testing.assert_allclose(above.error, below.error, rtol=1e-12)
    fooled = error_curve(symbols, 6, 0.75, assumed_alpha=0.25).error
    assert np.all(fooled > 0.5)
    np.testing.assert_allclose(error_curve(symbols, 6, 0.5).error, 0.5)
    with pytest.raises(ValueError, match="alpha must lie in"):
        error_curve(symbols, 6, 1.0)


def test_the_number_of_test_observations_is_checked():
    with pytest.raises(ValueError, match="n_test must be a whole number"):
        probability_of_error(2, 4, n_test=0)


@pytest.mark.parametrize(("symbols", "dirichlet"), [(2, 1.0), (5, 1.0), (7, 0.5)])
def test_without_wrong_labels_one_symbol_tells_all(symbols, dirichlet):
    n0, n1 = 9, 6
    total = symbols * dirichlet
    a, b = np.arange(n0 + 1)[:, None], np.arange(n1 + 1)
    weight = betabinom.pmf(a, n0, dirichlet, total - dirichlet) * betabinom.pmf(
        b, n1, dirichlet, total - dirichlet
    )
    next_symbol = np.minimum((dirichlet + a) / (total + n0), (dirichlet + b) / (total + n1))
    expected = symbols / 2 * np.sum(weight * next_symbol)
    ours = probability_of_error(symbols, (n0, n1), dirichlet=dirichlet)
    assert ours == pytest.approx(expected, rel=1e-12)


def simulated_error(symbols, n, alpha, draws, seed):
    """The mean error of real decisions on drawn data, and its standard error.

    Only what exceeds the error of knowing both distributions is averaged; that error has mean
    M / (2 (2M - 1)), the mean of half of the sum of min(p0, p1) for uniform p0 and p1.
    """
    rng = np.random.default_rng(seed)
    excess = np.zeros(draws)
    for draw in range(draws):
        p = rng.dirichlet(np.ones(symbols), size=2)
        counts = np.zeros((2, symbols), dtype=int)
        for label in (0, 1):
            wrong = rng.binomial(n, alpha)
            counts[label] = rng.multinomial(n - wrong, p[label])
            counts[label] += rng.multinomial(wrong, p[1 - label])
        zero, one = predictive(labeled_counts(counts, alpha=alpha))
        chosen = np.where(one > zero, p[0], p[1])
        excess[draw] = (chosen.sum() - p.min(axis=0).sum()) / 2
    best = symbols / (2 * (2 * symbols - 1))
    return best + excess.mean(), excess.std() / np.sqrt(draws)


@pytest.mark.parametrize(("symbols", "alpha"), [(4, 0.05), (3, 0.25), (6, 0.45)])
def test_an_independent_simulation_agrees(symbols, alpha):
    mean, deviation = simulated_error(symbols, 10, alpha, draws=500, seed=symbols)
    assert abs(mean - probability_of_error(symbols, 10, alpha)) < 4 * deviation


def test_the_right_belief_is_the_best_one():
    right = error_curve([2, 3, 4], 6, (0.05, 0.4)).error
    for belief in (0.0, 0.2, (0.4, 0.05)):
        assert np.all(error_curve([2, 3, 4], 6, (0.05, 0.4), assumed_alpha=belief).error > right)


def test_exchanging_the_classes_changes_nothing():
    ours = error_curve([2, 3, 5], (3, 6), (0.1, 0.3), class_prior=(0.4, 0.6)).error
    other = error_curve([2, 3, 5], (6, 3), (0.3, 0.1), class_prior=(0.6, 0.4)).error
    np.testing.assert_allclose(ours, other, rtol=1e-12)


def test_a_certain_prior_leaves_little_to_err():
    assert probability_of_error(3, 4, 0.1, class_prior=(0.99, 0.01)) < 0.01 + 1e-12


def test_every_partition_is_listed_once():
    room = count_partitions((4, 5), 9).sum(axis=2)
    table = partitions((4, 5), 9, (0.1, 0.2), 1.0)
    assert {n: len(p.parts) for n, p in table.items()} == {n: room[n] for n in table}
    assert np.all(table[4, 5].parts > 0)
    assert len(np.unique(table[4, 5].weights.round(12), axis=0)) == room[4, 5]


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.4, (0.0, 0.3)])
@pytest.mark.parametrize("dirichlet", [0.5, 1.0])
def test_own_counts_bound_the_error_from_above(alpha, dirichlet):
    curve = error_curve([2, 3, 4, 6], (7, 5), alpha, dirichlet=dirichlet)
    bound = [own_counts_error(M, (7, 5), alpha, dirichlet=dirichlet) for M in curve.symbols]
    assert bound[0] == pytest.approx(curve.error[0], rel=1e-11)
    assert np.all(bound >= curve.error - 1e-12)
    assert np.all(bound <= curve.error + 0.02)
    if alpha == 0.0:
        np.testing.assert_allclose(bound, curve.error, rtol=1e-11)


def test_normal_counts_continue_binomial_ones():
    for alpha in (0.0, 0.25, (0.1, 0.3)):
        binomial, normal = (own_counts_error(6, n, alpha) for n in ((63, 63), (63, 64)))
        assert normal == pytest.approx(binomial, abs=1.5e-3)


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.25, 0.45])
def test_both_ways_to_the_best_quantization_agree_at_ten_rows(alpha):
    assert best_quantization(10, alpha, method="own-counts") == KNOWN[alpha][1]


def test_the_best_quantization_is_the_lowest_point_of_the_curve():
    for sizes, alpha in (((6, 6), 0.2), ((3, 8), (0.0, 0.3))):
        assert best_quantization(sizes, alpha) == error_curve(range(2, 12), sizes, alpha).best
    bound = [own_counts_error(M, (40, 400), (0.0, 0.1)) for M in range(2, 30)]
    best = best_quantization((40, 400), (0.0, 0.1), method="own-counts")
    assert best == 2 + int(np.argmin(bound))


def test_many_rows_bear_about_their_root_of_symbols():
    for alpha in (0.0, 0.25):
        best = best_quantization(10_000, alpha, method="own-counts")
        assert best == pytest.approx(1 + (1 - 2 * alpha) * 100, abs=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: probability_of_error(1, 10), "M must be a whole number of at least 2"),
        (lambda: probability_of_error(2.5, 10), "M must be a whole number of at least 2"),
        (lambda: probability_of_error(4, 10, 1.0), r"alpha must lie in \[0, 1\)"),
        (lambda: own_counts_error(4, 10, 0.5), r"alpha must lie in \[0, 1/2\)"),
        (lambda: probability_of_error(4, -1), "N must be"),
        (lambda: probability_of_error(4, 10, dirichlet=0.0), "dirichlet"),
        (lambda: probability_of_error(4, 10, class_prior=(0.5, 0.6)), "class_prior"),
        (lambda: probability_of_error(4, 100), "too large for exact enumeration"),
        (lambda: probability_of_error(40, 14), "too large for exact enumeration"),
        (lambda: best_quantization(100), "too large for exact enumeration"),
        (lambda: best_quantization(10, method="magic"), "method must be"),
        (lambda: own_counts_error(1, 10), "M must be"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert str(caught.value).count(". ") == 0
