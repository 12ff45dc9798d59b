"""Knowledge: what is said holds for ever, what is not said is learned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.knowledge import Knowledge, channel_of, rows_needed

LABELS = ["a", "b", "c"]


def masses():
    return st.lists(st.floats(0.01, 100), min_size=9, max_size=9).map(
        lambda values: np.array(values).reshape(3, 3)
    )


@given(masses())
def test_everything_known_survives_a_refit(joint):
    known = Knowledge(
        rates={"a": 0.2}, cells={("c", "b"): 0.05}, never=[("a", "c")], most={"b": 0.3, "c": 0.1}
    )
    matrix = known.channel(LABELS).refit(joint).matrix
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    assert matrix[0, 0] == 0.8
    assert matrix[2, 1] == 0.05
    assert matrix[0, 2] == 0.0
    assert 1 - matrix[1, 1] <= 0.3 + 1e-12
    assert 1 - matrix[2, 2] <= 0.1 + 1e-12


@given(masses(), st.floats(0.02, 0.9))
def test_the_bounded_refit_is_the_best_admissible_one(joint, most):
    best = Knowledge(most=most).channel(LABELS).refit(joint).matrix
    height = np.sum(joint * np.log(np.maximum(best, 1e-300)))
    rng = np.random.default_rng(0)
    for _ in range(20):
        rate = most * rng.random(3)
        off = rng.dirichlet(np.ones(2), 3)
        other = np.diag(1 - rate)
        for z in range(3):
            other[[y for y in range(3) if y != z], z] = rate[z] * off[z]
        assert np.sum(joint * np.log(np.maximum(other, 1e-300))) <= height + 1e-9


def test_a_mapping_says_the_same():
    one = channel_of({"rates": {"b": 0.1}, "most": 0.4, "counts": 0.5}, LABELS)
    two = Knowledge(rates={"b": 0.1}, most=0.4, counts=0.5).channel(LABELS)
    np.testing.assert_array_equal(one.matrix, two.matrix)
    np.testing.assert_array_equal(one.counts, np.full((3, 3), 0.5))


def test_a_classifier_takes_it():
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=400)
    X = (rng.random((400, 12)) < np.where(z, 0.75, 0.25)[:, None]).astype(float)
    y = np.where((z == 1) & (rng.random(400) < 0.4), 0, z)  # half of the ones are lost
    known = Knowledge(never=[(1, 0)], most={1: 0.3})
    clf = NoisyLabelNB(channel=known.channel([0, 1]), solver="em").fit(X, y)
    assert clf.noise_matrix_[1, 0] == 0.0
    assert abs(clf.noise_matrix_[0, 1] - 0.3) < 1e-12  # the data ask for .4


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (Knowledge(rates={"d": 0.1}), "names the class 'd'"),
        (Knowledge(rates={"a": 1.5}), "between 0 and 1"),
        (Knowledge(most=-0.1), "between 0 and 1"),
        (Knowledge(rates={"a": 0.5}, most=0.1), "raise the bound"),
        (Knowledge(cells={("b", "a"): 0.4}, most=0.1), "raise the bound"),
        (Knowledge(cells={("b", "a"): 0.8, ("c", "a"): 0.8}), "column 0"),
        (Knowledge(counts=[1.0, 2.0]), "3 x 3 table"),
    ],
)
def test_what_cannot_be_is_refused(known, words):
    with pytest.raises(ValueError, match=words):
        known.channel(LABELS)
    with pytest.raises(ValueError, match="has no part 'rate'"):
        channel_of({"rate": 0.1}, LABELS)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_rows_needed_are_enough(rate):
    n = rows_needed(rate, within=0.03)
    found = np.random.default_rng(0).binomial(n, rate, 4000) / n
    assert np.mean(abs(found - rate) <= 0.03) >= 0.89
    assert rows_needed(rate, within=0.03, confidence=0.99) > n


def test_rows_needed_are_the_fewest_by_wilson():
    n = rows_needed(0.5, within=0.05)
    reach = [binomtest(m // 2, m).proportion_ci(0.9, "wilson").high - 0.5 for m in (n, n - 2)]
    assert n % 2 == 0
    assert reach[0] <= 0.05 < reach[1]


def test_rows_needed_of_a_rate_of_zero_is_finite():
    assert 0 < rows_needed(0.0) < 200
    with pytest.raises(ValueError, match="within"):
        rows_needed(0.1, within=0.0)
