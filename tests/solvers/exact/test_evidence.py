"""The exact solver against rational arithmetic, closed forms and its own laws."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from misnomer.solvers.exact import alpha_pair, checked_dirichlet, labeled_counts, log_moved
from misnomer.solvers.exact.evidence import (
    Mass,
    Node,
    _log_total,
    log_evidence,
    predictive,
    pull_back,
)
from tests.solvers.exact.arrangements import compositions, evidence

ALPHAS = [
    (Fraction(0), Fraction(0)),
    (Fraction(1, 20), Fraction(1, 20)),
    (Fraction(9, 20), Fraction(1, 4)),
    (Fraction(0), Fraction(1, 3)),
]


def small_tables(symbols, most):
    for sizes in product(range(most + 1), repeat=2):
        yield from product(*(list(compositions(n, symbols)) for n in sizes))


def floats(values):
    return [float(v) for v in values]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(
    ("parameters", "most", "tests"),
    [
        ([1.0, 1.0], 3, [(0, 0), (1, 0), (0, 1), (2, 1)]),
        ([0.5, 2.0], 2, [(0, 0), (0, 1), (3, 0)]),
        ([0.5, 0.5, 0.5], 2, [(0, 0, 1), (1, 0, 2)]),
    ],
)
def test_the_evidence_equals_the_sum_over_all_arrangements(alpha, parameters, most, tests):
    for counts in small_tables(len(parameters), most):
        training = labeled_counts(counts, alpha=floats(alpha), dirichlet=parameters)
        for test, truth in product(tests, (0, 1)):
            direct = evidence(counts, test, truth, floats(alpha), parameters)
            ours = np.exp(log_evidence(training, test, truth))
            assert ours == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("counts", [((3, 0, 2), (1, 4, 0)), ((2, 2, 1), (0, 1, 2))])
def test_the_predictive_distribution_is_exact_to_the_last_digits(alpha, counts):
    parameters = [Fraction(1, 2), Fraction(1), Fraction(2)]
    none = evidence(counts, (0, 0, 0), 0, alpha, parameters)
    one = [
        [evidence(counts, row, truth, alpha, parameters) / none for row in np.eye(3, dtype=int)]
        for truth in (0, 1)
    ]
    training = labeled_counts(counts, alpha=floats(alpha), dirichlet=floats(parameters))
    np.testing.assert_allclose(predictive(training), np.array(one, dtype=float), rtol=1e-13)


@pytest.mark.parametrize(("kept", "other"), [(40, 25), (25, 40), (0, 30), (30, 0), (1, 60)])
@pytest.mark.parametrize("alpha", [*ALPHAS, (Fraction(1, 2**900), Fraction(49, 100))])
def test_moved_rows_are_right_in_the_farthest_tail(kept, other, alpha):
    r0, r1 = (a / (1 - a) for a in alpha)
    first, logs = log_moved(kept, other, tuple(floats(alpha)))
    scale = (1 - alpha[0]) ** kept * (1 - alpha[1]) ** other
    for moved, log in enumerate(logs, start=first):
        steps = range(max(0, -moved), min(kept, other - moved) + 1)
        terms = (comb(kept, t) * comb(other, t + moved) * r0**t * r1 ** (t + moved) for t in steps)
        exact = sum(terms, start=Fraction(0)) * scale
        assert log == pytest.approx(_log(exact), abs=1e-11)


def _log(fraction):
    """The log of a fraction that may be too small for a float."""
    shift = fraction.denominator.bit_length() - fraction.numerator.bit_length()
    return float(np.log(float(fraction * 2**shift)) - shift * np.log(2.0))


def test_without_wrong_labels_it_is_the_dirichlet_mean():
    counts = np.array([[5, 0, 2, 1], [1, 1, 0, 9]])
    parameters = np.array([0.5, 1.0, 2.0, 0.1])
    expected = (counts + parameters) / (counts.sum(axis=1, keepdims=True) + parameters.sum())
    ours = predictive(labeled_counts(counts, dirichlet=parameters))
    np.testing.assert_allclose(ours, expected, rtol=1e-13)


def test_without_wrong_labels_several_rows_follow_the_chain_rule():
    counts = np.array([[5, 0, 2], [1, 1, 7]])
    training = labeled_counts(counts, dirichlet=0.5)
    rows = [2, 0, 2, 2]
    for truth in (0, 1):
        chain, table = 0.0, counts.copy()
        for row in rows:
            chain += np.log(predictive(labeled_counts(table, dirichlet=0.5))[truth, row])
            table[truth, row] += 1
        test = np.bincount(rows, minlength=3)
        ways = gammaln(5) - gammaln(test + 1).sum()
        ours = log_evidence(training, test, truth) - log_evidence(training, [0, 0, 0], truth)
        assert ours == pytest.approx(chain + ways, abs=1e-12)


@st.composite
def trainings(draw):
    symbols = draw(st.integers(2, 6))
    counts = [draw(st.lists(st.integers(0, 60), min_size=symbols, max_size=symbols)) for _ in "01"]
    alpha = draw(st.tuples(*[st.one_of(st.just(0.0), st.floats(1e-12, 0.499))] * 2))
    dirichlet = draw(
        st.lists(
            st.one_of(st.just(1e-9), st.floats(0.01, 20.0)), min_size=symbols, max_size=symbols
        )
    )
    return np.array(counts), alpha, np.array(dirichlet)


@settings(max_examples=60, deadline=None)
@given(trainings())
def test_laws_of_the_predictive_distribution(training):
    counts, alpha, dirichlet = training
    ours = predictive(labeled_counts(counts, alpha=alpha, dirichlet=dirichlet))
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, atol=1e-11)
    swapped = predictive(labeled_counts(counts[::-1], alpha=alpha[::-1], dirichlet=dirichlet))
    np.testing.assert_allclose(swapped[::-1], ours, rtol=1e-9)
    order = np.random.default_rng(0).permutation(len(dirichlet))
    shuffled = labeled_counts(counts[:, order], alpha=alpha, dirichlet=dirichlet[order])
    np.testing.assert_allclose(predictive(shuffled), ours[:, order], rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(trainings())
def test_one_row_of_evidence_equals_the_predictive_distribution(training):
    counts, alpha, dirichlet = training
    known = labeled_counts(counts, alpha=alpha, dirichlet=dirichlet)
    none = log_evidence(known, np.zeros(len(dirichlet)), 0)
    one = [[log_evidence(known, e, t) for e in np.eye(len(dirichlet))] for t in (0, 1)]
    np.testing.assert_allclose(np.exp(np.array(one) - none), predictive(known), rtol=1e-9)


def test_a_symbol_without_rows_may_be_left_out_of_the_counts():
    counts = np.array([[4, 0, 3], [1, 2, 2]])
    wide = np.pad(counts, ((0, 0), (0, 2)))
    ours = predictive(labeled_counts(counts, alpha=0.2, dirichlet=0.5, n_symbols=5))
    expected = predictive(labeled_counts(wide, alpha=0.2, dirichlet=0.5))
    np.testing.assert_allclose(ours, expected[:, :3], rtol=1e-12)


def predictive_in_logs(counts, alpha, symbol):
    """The same convolution in the log domain, without tilt, scale or cut; uniform Dirichlet."""
    n0, n1 = counts.sum(axis=1)
    total = counts.shape[1]
    results = []
    for test in ((0, 0), (1, 0), (0, 1)):
        logs = np.array([0.0])
        for j, (a, b) in enumerate(counts.T):
            extra = test if j == symbol else (0, 0)
            first, moved = log_moved(int(a), int(b), alpha)
            n = np.arange(first, first + len(moved))
            weight = moved + gammaln(1 + a + n + extra[0]) + gammaln(1 + b - n + extra[1])
            grid = np.full((len(logs), len(logs) + len(weight) - 1), -np.inf)
            for i, value in enumerate(logs):
                grid[i, i : i + len(weight)] = value + weight
            logs = logsumexp(grid, axis=0)
        n = np.arange(-n0, n1 + 1)
        results.append(
            logsumexp(logs - gammaln(total + n0 + n + test[0]) - gammaln(total + n1 - n + test[1]))
        )
    return np.exp(np.array(results[1:]) - results[0])


@pytest.mark.parametrize("alpha", [(0.05, 0.05), (0.45, 0.1), (0.49, 0.49)])
def test_scaling_and_cutting_change_nothing(alpha):
    rng = np.random.default_rng(3)
    counts = np.stack([rng.multinomial(300, rng.dirichlet(np.ones(8))) for _ in "01"])
    ours = predictive(labeled_counts(counts, alpha=alpha))
    for symbol in (0, 5):
        np.testing.assert_allclose(
            ours[:, symbol], predictive_in_logs(counts, alpha, symbol), rtol=1e-10
        )


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.45, (0.3, 0.01)])
def test_five_thousand_rows_and_five_hundred_symbols(alpha):
    rng = np.random.default_rng(0)
    counts = np.stack([rng.multinomial(5000, rng.dirichlet(np.ones(500))) for _ in "01"])
    ours = predictive(labeled_counts(counts, alpha=alpha))
    assert np.all(ours > 0)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, atol=1e-9)


def test_classes_of_very_different_sizes():
    counts = np.array([[20_000, 10_000, 0], [0, 1, 2]])
    ours = predictive(labeled_counts(counts, alpha=(0.1, 0.4)))
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alpha_pair(0.5), r"alpha must lie in \[0, 1/2\)"),
        (lambda: alpha_pair(-0.1), r"alpha must lie in \[0, 1/2\)"),
        (lambda: alpha_pair(float("nan")), r"alpha must lie in \[0, 1/2\)"),
        (lambda: alpha_pair((0.1, 0.1, 0.1)), "one number or a pair"),
        (lambda: labeled_counts([[1, -1], [0, 1]]), "not negative"),
        (lambda: labeled_counts([[1, 0.5], [0, 1]]), "whole numbers"),
        (lambda: labeled_counts([[1, 2]]), "two classes"),
        (lambda: labeled_counts([[1], [2]], n_symbols=1), "M = 1 symbols are too few"),
        (lambda: labeled_counts([[1, 2], [2, 2]], dirichlet=[1, 1], n_symbols=3), "per symbol"),
        (lambda: checked_dirichlet(0.0, 2), "at least 1e-09"),
        (lambda: checked_dirichlet([1.0, 1.0], 3), "one per symbol"),
        (lambda: log_evidence(labeled_counts([[1, 2], [2, 2]]), [1], 0), "one entry per symbol"),
        (lambda: _log_total(Node(Mass(0, np.ones(1))), Mass(9, np.ones(1))), "underflows"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert str(caught.value).count(". ") == 0


def test_a_message_that_misses_its_factor_is_refused():
    with pytest.raises(ArithmeticError, match="overlap"):
        pull_back(Mass(99, np.ones(1)), Mass(0, np.ones(1)), Mass(0, np.ones(1)))
