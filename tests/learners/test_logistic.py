"""Long searches of logistic regression: one strength, and only where it is worth it."""

import numpy as np
import pytest
from scipy import sparse

from misnomer.learners import logistic
from misnomer.learners.learner import View
from misnomer.learners.logistic import Logistic, basis_of
from tests.learners.tables import K, as_rows, mixed_frame


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(logistic, "WORK_OF_ALL", 0)
    return as_rows(*mixed_frame())


def view(rows, chance):
    seen = rows.seen_through(np.eye(K))
    return View(np.eye(K), 0.5, chance=np.full(len(rows), chance), seen=seen)


def test_a_long_search_that_is_not_better_ends_with_the_first_fold(rows, monkeypatch):
    assert len(Logistic().cross_fit(rows, view(rows, 1e-3))) == 1
    poor = view(rows, 0.999)
    assert Logistic().cross_fit(rows, poor) == []
    monkeypatch.setattr(logistic, "CrossFit", None)  # and is not begun again
    assert Logistic().cross_fit(rows, poor) == []


def test_without_naive_bayes_beside_it_one_strength_is_fitted(rows):
    assert len(Logistic().cross_fit(rows, View(np.eye(K), 0.5))) == 1


def test_words_that_no_row_has_keep_the_coefficient_zero():
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, 120)
    counts = rng.poisson(0.02, (120, 2400)) + 2 * (np.arange(2400) == y[:, None])
    counts[:, 1000:] = 0
    rows = as_rows(sparse.csr_array(counts.astype(float)), y)
    basis = basis_of(rows)
    assert basis.features.shape[1] == (counts.sum(axis=0) > 0).sum()
    weights = Logistic((1.0,)).cross_fit(rows, View(np.eye(K), 0.5))[0].scorer.weights
    assert (weights[:, 1000:] == 0).all()
    assert (weights[:, :K].argmax(axis=0) == np.arange(K)).all()


def test_more_numbers_than_a_search_can_look_at_are_said_in_the_longest_directions(monkeypatch):
    """Embeddings of many numbers and classes are not left to naive Bayes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, K, 300)
    vectors = rng.normal(size=(300, 150)) + 3.0 * rng.normal(size=(K, 150))[y]
    rows = as_rows(vectors, y)
    assert basis_of(rows).features.shape[1] == 150
    monkeypatch.setattr(logistic, "MOST_WORK", 20 * len(y) * K)
    basis = basis_of(rows)
    assert basis.features.shape[1] == 20
    kept = basis.features.var(axis=0).sum()
    monkeypatch.undo()
    every = np.sort(basis_of(rows).features.var(axis=0))
    assert kept == pytest.approx(every[-20:].sum())  # the longest
    monkeypatch.setattr(logistic, "MOST_WORK", 20 * len(y) * K)
    found = Logistic().cross_fit(rows, View(np.eye(K), 0.5))
    assert found and (found[0].scores.argmax(axis=1) == y).mean() > 0.95


def test_axes_are_the_same_from_the_side_of_the_rows():
    """More columns than rows: inner products of rows say sums of squares, axes and features."""
    rng = np.random.default_rng(5)
    phi, weight = rng.normal(size=(6, 9)), rng.uniform(0.5, 2.0, 6)
    size, axes, features = logistic._rotated(phi, weight, 9)
    wanted = np.linalg.eigvalsh((phi * weight[:, None]).T @ phi)[-6:]
    assert size == pytest.approx(wanted, rel=1e-9)
    assert features == pytest.approx(phi @ axes, rel=1e-9)
    assert axes.T @ axes == pytest.approx(np.eye(6), abs=1e-9)
