"""What words say in sums over all of them, against each word and class spelled out."""

import numpy as np
import pytest
from scipy import sparse

from misnomer.solvers import pool_tests
from misnomer.solvers.pool_generative import _inside, _variances
from misnomer.solvers.pool_scores import class_sums, out_of_fold, scored
from misnomer.solvers.pool_words import only_words, variances_of_words
from tests.solvers.pooled import rows_of


def texts(most, *, n=400, words=2000, K=3, seed=0):
    """Draw rows of more words than are spelled out densely, with labels that are partly wrong."""
    rng = np.random.default_rng(seed)
    true = rng.integers(K, size=n)
    chance = rng.dirichlet(np.full(words, 0.3), K)
    counts = np.stack([rng.multinomial(40, chance[k]) for k in true])
    given = np.where(rng.random(n) < 0.2, rng.integers(K, size=n), true)
    return sparse.csr_matrix(np.minimum(counts, most)), given


@pytest.mark.parametrize("most", [1, 4])
def test_variances_are_those_of_the_words_one_by_one(most):
    rng = np.random.default_rng(0)
    rows = rows_of(*texts(most), 3)
    assert only_words(rows)
    n, S = rows.stats.shape
    counted = rng.dirichlet(np.full(5, 0.2), n)
    counted[:, 3] = 0.0
    counted[1:, 4] = 0.0  # one row says nothing of a variance
    contrast = rng.normal(size=(5, S))
    one_by_one = [_variances(rows, contrast[k], counted[:, k], slice(0, n)) for k in range(5)]
    at_once = variances_of_words(rows.stats, contrast, _inside(counted))
    np.testing.assert_allclose(at_once, np.transpose(one_by_one), rtol=1e-10, atol=1e-10)
    assert (at_once[:, 3:] == 0).all()


@pytest.mark.parametrize("most", [1, 4])
def test_rows_are_told_apart_as_by_a_naive_bayes_of_each_class(most, monkeypatch):
    rows = rows_of(*texts(most), 3)
    likely = np.random.default_rng(1).integers(3, size=len(rows))
    differs = rows.label != likely
    several = [likely == k for k in (0, 2)]
    at_once = pool_tests._odds_of_another(rows, likely, differs, several)
    monkeypatch.setattr(pool_tests, "only_words", lambda rows: False)
    one_by_one = pool_tests._odds_of_another(rows, likely, differs, several)
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-10, atol=1e-10)
    assert at_once[likely != 1].all() and not at_once[likely == 1].any()


@pytest.mark.parametrize("K", [2, 3, 4])
def test_sums_and_scores_of_sparse_rows_are_products(K):
    rng = np.random.default_rng(K)
    stats = sparse.csr_array(rng.poisson(0.3, (50, 30)).astype(np.float32))
    share, weights = rng.random((50, K)), rng.normal(size=(K, 30))
    dense = stats.toarray().astype(np.float64)
    np.testing.assert_allclose(class_sums(stats, share), share.T @ dense, rtol=1e-12)
    np.testing.assert_allclose(scored(stats, weights), dense @ weights.T, rtol=1e-10, atol=1e-12)


def test_scores_out_of_fold_come_from_the_counts_of_the_other_folds():
    rows = rows_of(*texts(4), 3)
    found = out_of_fold(rows, rows.hard)
    fold = rows.folds[0]
    rest = np.ones(len(rows), bool)
    rest[fold] = False
    counts = rows.hard[rest].T @ rows.stats[rest] + 1.0
    prior = rows.hard[rest].sum(axis=0) + rows.smoothing.classes
    shares = counts / counts.sum(axis=1, keepdims=True)
    scores = rows.stats[fold] @ np.log(shares).T + np.log(prior / prior.sum())
    scores -= scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.scores[fold], scores, rtol=1e-9, atol=1e-9)
