"""Smoothing is virtual examples: known numbers, and laws that hold in any order of batches."""

import numpy as np
import pytest

from misnomer import NoisyLabelNB, m_estimate
from misnomer.smoothing import automatic_m, resolve

X = np.array([["a"], ["a"], ["b"], ["c"], ["c"], ["c"]], dtype=object)
Y = np.array([0, 0, 0, 1, 1, 1])


def shares(smoothing):
    model = NoisyLabelNB(channel="identity", solver="counts", smoothing=smoothing).fit(X, Y).model_
    return np.exp(model.weights)


@pytest.mark.parametrize(
    ("smoothing", "expected"),
    [
        ("none", [[2 / 3, 1 / 3, 0], [0, 0, 1]]),
        ("laplace", [[3 / 6, 2 / 6, 1 / 6], [1 / 6, 1 / 6, 4 / 6]]),
        (0.5, [[2.5 / 4.5, 1.5 / 4.5, 0.5 / 4.5], [0.5 / 4.5, 0.5 / 4.5, 3.5 / 4.5]]),
        (m_estimate(3, "uniform"), [[3 / 6, 2 / 6, 1 / 6], [1 / 6, 1 / 6, 4 / 6]]),
        (m_estimate(6, "marginal"), [[4 / 9, 2 / 9, 3 / 9], [2 / 9, 1 / 9, 6 / 9]]),
        # Cestnik: m P(class) examples in every cell; P(class) = 1/2, m = 2 adds one to each
        (m_estimate(2, "class"), [[3 / 6, 2 / 6, 1 / 6], [1 / 6, 1 / 6, 4 / 6]]),
    ],
)
def test_known_numbers(smoothing, expected):
    np.testing.assert_allclose(shares(smoothing), expected, atol=1e-12)


def test_a_gaussian_variance_is_shrunk_to_the_pooled_one():
    values = np.array([[0.0], [2.0], [10.0], [10.0]])
    clf = NoisyLabelNB(channel="identity", smoothing=m_estimate(0, shrink=2)).fit(
        values, [0, 0, 1, 1]
    )
    family = clf.model_.schema.groups[0].family
    mean, variance = family.moments(clf.model_.weights)
    np.testing.assert_allclose(mean.ravel(), [1, 10])
    pooled = 2.0 / 4
    np.testing.assert_allclose(variance.ravel(), [(2 + 2 * pooled) / 4, 2 * pooled / 4], rtol=1e-6)


def test_smoothing_does_not_depend_on_the_order_of_batches():
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(60, 3)) * [1, 100, 1e-3], rng.integers(2, size=60)
    order = rng.permutation(60)
    one = NoisyLabelNB(channel="identity").fit(table, y)
    two = NoisyLabelNB(channel="identity").fit(table[order], y[order])
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-9)


def test_an_automatic_m_finds_the_m_that_made_the_data():
    rng = np.random.default_rng(0)
    for m in (2.0, 30.0):
        marginal = np.full(4, 0.25)
        found = []
        for _ in range(30):
            p = rng.dirichlet(m * marginal, size=(40, 3))  # 40 columns, 3 classes
            n = 500
            frequency = np.stack(
                [np.concatenate([rng.multinomial(n, q) for q in p[:, k]]) / n for k in range(3)]
            )
            overall = frequency.mean(axis=0)
            found.append(automatic_m(frequency, np.full(3, 500.0), overall, np.eye(3)))
        assert np.median(found) == pytest.approx(m, rel=0.25)


def test_an_automatic_m_sees_through_a_known_channel():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(4, 1.0), size=(60, 2))
    reverse = np.array([[0.8, 0.2], [0.2, 0.8]])
    clean = p.transpose(1, 0, 2).reshape(2, -1)
    mixed = reverse @ clean
    mass = np.array([1e6, 1e6])
    through = automatic_m(mixed, mass, mixed.mean(axis=0), reverse)
    direct = automatic_m(clean, mass, clean.mean(axis=0), np.eye(2))
    assert through == pytest.approx(direct, rel=0.01)


@pytest.mark.parametrize("wrong", ["lots", None, True, -1.0, float("nan")])
def test_what_is_no_smoothing_is_refused(wrong):
    with pytest.raises(ValueError, match="smoothing"):
        resolve(wrong)
    with pytest.raises(ValueError, match="prior"):
        m_estimate(2, "flat")
    with pytest.raises(ValueError, match="m must be"):
        m_estimate(-2)
