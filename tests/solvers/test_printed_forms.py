"""The estimators as printed, and how sure the closed form is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from misnomer import noise_corrected_accuracy
from misnomer.papers import NBCCCN, NBUNL, PUNB
from misnomer.simulate import make_noisy_labels, matched_target
from misnomer.solvers.flip_rates import alpha_given_beta
from tests.solvers.test_moments import CELLS, ROWS, TARGET, exact, flags_of

NOISE = [[0.8, 0.5], [0.2, 0.5]]


def test_nbunl_as_printed_is_exact_where_no_sign_is_lost():
    alike = type(TARGET)(0.35, [0.9, 0.7, 0.6, 0.8], [0.3, 0.2, 0.1, 0.65])  # all u_k positive
    weight = ROWS * alike.joint().sum(axis=1)
    clf = NBUNL(estimator="literal", families="bernoulli").fit(CELLS, sample_weight=weight)
    order = np.argsort(clf.class_prior_)[::-1]
    np.testing.assert_allclose(clf.class_prior_[order], [0.65, 0.35], atol=1e-6)
    np.testing.assert_allclose(flags_of(clf)[order], [alike.negative, alike.positive], atol=1e-6)


def test_nbunl_as_printed_by_hand():
    rng = np.random.default_rng(0)
    X = TARGET.draw(400, random_state=rng)[0]
    clf = NBUNL(estimator="literal", families="bernoulli").fit(X)
    z1 = X.mean(axis=0)
    x = X - z1
    z2 = x.T @ x / len(x)
    z3 = np.einsum("ni,nj,nk->ijk", x, x, x) / len(x)
    triples = list(permutations(range(4), 3))
    u = np.zeros(4)
    for k in range(4):
        mine = [(i, j) for i, j, last in triples if last == k]
        inner = [z2[k, i] * z2[k, j] * z2[i, j] + z3[k, i, j] ** 2 / 4 for i, j in mine]
        u[k] = np.sqrt(np.maximum(inner, 0)).sum() / sum(z2[i, j] for i, j in mine)
    s = -sum(z3[t] for t in triples) / sum(2 * u[i] * z2[j, k] for i, j, k in triples)
    sign = np.sign(z2[0] / ((1 - s**2) * u[0]))
    sign[0] = np.sign(u[0])
    u = abs(u) * sign
    expected = np.clip([z1 - (1 + s) * u, z1 + (1 - s) * u], 1 / 402, 1 - 1 / 402)
    np.testing.assert_allclose(clf.class_prior_, [(1 - s) / 2, (1 + s) / 2])
    np.testing.assert_allclose(flags_of(clf), expected)


def test_positive_share_as_printed_by_hand():
    rng = np.random.default_rng(0)
    X, true = TARGET.draw(900, random_state=rng)
    X = np.concatenate([X[true == 1][:200], X[400:]])
    y = np.repeat([1, 0], [200, 500])
    one, all_rows = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
    both = X[y == 0].T @ X[y == 0] / 500
    apart = ~np.eye(4, dtype=bool)
    above = (both - np.outer(one, one))[apart].sum()
    mixed = np.outer(all_rows, one)
    below = (both + np.outer(all_rows, all_rows) - mixed - mixed.T)[apart].sum()
    clf = PUNB(estimator="literal", families="bernoulli").fit(X, y)
    expected = np.clip(above / below, 1 / 502, 1 - 1 / 502)
    np.testing.assert_allclose(clf.class_prior_[1], expected)


@pytest.mark.parametrize("rates", [(0.2, 0.4), (0.0, 0.3), (0.1, 0.0)])
def test_equation_13_is_exact_on_an_exact_distribution(rates):
    X, y, weight = exact([[1 - rates[0], rates[1]], [rates[0], 1 - rates[1]]])
    clf = NBCCCN(estimator="equation-13", families="bernoulli").fit(X, y, weight)
    np.testing.assert_allclose(clf.flip_rates_, rates, atol=1e-5)


def test_equation_13_by_its_own_numbers():
    alpha, beta, w = 0.7, 0.2, 0.3
    C, D, E = (alpha - beta) ** 2 * w, alpha * (1 - alpha) * w, beta * (1 - beta) * w
    assert alpha_given_beta(beta, C, D, E) == pytest.approx(alpha)
    assert alpha_given_beta(0.0, 0.49 * w, 0.21 * w, 0.0) == pytest.approx(0.7)  # (12)
    with pytest.raises(ValueError, match="0/0 at beta = 1/2"):
        alpha_given_beta(0.5, C, D, E)


def test_standard_errors_are_those_of_repeated_draws():
    target = matched_target(0.9, f_value=0.903)
    fits = []
    for seed in range(60):
        X, true = target.draw(1500, random_state=seed)
        fits.append(NBCCCN().fit(X, make_noisy_labels(true, NOISE, random_state=seed)))
    stated = [
        [*errors["flip_rates"], errors["alpha"], errors["beta"], errors["prior"]]
        for errors in (fit.standard_errors_ for fit in fits)
    ]
    spread = np.std(
        [[*fit.flip_rates_, fit.alpha_, fit.beta_, fit.class_prior_[1]] for fit in fits], axis=0
    )
    ratio = np.median(stated, axis=0) / spread
    assert np.all((ratio > 0.65) & (ratio < 1.5)), ratio


def test_a_scorer_from_equation_3():
    target = matched_target(0.9, f_value=0.903)
    X, true = target.draw(4000, random_state=0)
    given = make_noisy_labels(true, NOISE, random_state=1)
    scorer = noise_corrected_accuracy(NOISE)
    scores = cross_val_score(NBCCCN(), X, given, cv=4, scoring=scorer)
    assert abs(scores.mean() - target.bayes_accuracy()) < 0.03
    noisy = cross_val_score(NBCCCN(), X, given, cv=4)
    assert noisy.mean() < scores.mean() - 0.1
    clf = NBCCCN().fit(X, np.array(["ill", "well"])[given])
    assert noise_corrected_accuracy(NOISE)(clf, X, np.array(["ill", "well"])[given]) > 0.85
