"""Naive Bayes of texts once more, with a tenth of a virtual word."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from misnomer import NoisyLabelClassifier, make_noisy_labels
from misnomer.head import large
from misnomer.learners.learner import View
from misnomer.learners.naive_bayes import NaiveBayes, RareWords, SharedNaiveBayes
from misnomer.simulate import uniform_noise
from misnomer.smoothing import Smoothing
from tests.learners.tables import as_rows, mixed_frame

K = 8


def letters(n, seed=0, words=3000):
    """Texts of common words and, now and then, a rare one that its topic alone has."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, K, n)
    common = rng.integers(0, 400, (n, 15))
    own = 400 + (rng.integers(0, (words - 400) // K, (n, 5)) * K + z[:, None])
    at = np.repeat(np.arange(n), 20), np.concatenate([common, own], axis=1).ravel()
    X = sparse.csr_matrix((np.ones(20 * n), at), (n, words))
    X.data[:] = 1.0
    return X, z


@pytest.mark.parametrize("who", [NaiveBayes(), SharedNaiveBayes()], ids=lambda one: one.name)
def test_own_label_does_not_come_back_by_rare_words(who):
    X, y = letters(300)
    rows = as_rows(X, y, classes=K)
    view = View(np.full((K, K), 0.02) + 0.84 * np.eye(K), 0.4)
    (before,) = RareWords(who).cross_fit(rows, view)
    for place in (0, 17, 200):
        other = y.copy()
        other[place] = (y[place] + 1) % K
        flipped = replace(as_rows(X, other, classes=K), deals=rows.deals)
        (after,) = RareWords(who).cross_fit(flipped, view)
        np.testing.assert_allclose(after.scores[place], before.scores[place], rtol=0, atol=1e-9)


def test_tables_and_smoothing_of_the_user_are_left_alone():
    frame, y = mixed_frame()
    view = View(np.eye(3), 0.4)
    assert RareWords(NaiveBayes()).cross_fit(as_rows(frame, y), view) == []
    X, y = letters(300)
    rows = replace(as_rows(X, y, classes=K), smoothing=Smoothing(cells=0.5, classes=1.0))
    assert RareWords(NaiveBayes()).cross_fit(rows, View(np.eye(K), 0.4)) == []


def test_labels_cannot_come_back_where_one_chain_serves_all_folds(monkeypatch):
    from misnomer.learners import naive_bayes

    X, y = letters(300)
    monkeypatch.setattr(naive_bayes, "STRICT_ROWS", 0)
    rows = as_rows(X, y, classes=K)
    assert RareWords(SharedNaiveBayes()).cross_fit(rows, View(np.eye(K), 0.4)) == []


@pytest.mark.parametrize("is_sampled", [False, True])
def test_rare_words_are_heard_in_memory_and_counted_over_all_rows(is_sampled, monkeypatch):
    """Laplace's one virtual word drowns words that occur twice."""
    X, true = letters(1500)
    given = make_noisy_labels(true, uniform_noise(K, 0.2), random_state=1)
    if is_sampled:
        monkeypatch.setattr(large, "MOST_ROWS", 1000)
        monkeypatch.setattr(large, "SAMPLE_ROWS", 800)
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    best = model.fit_.details.opinion.answer.best
    names = [one.scorer.name for one in best.problem.scored]
    shares = dict(zip(names, best.point.shares, strict=True))
    assert shares["naive Bayes of rare words"] > 0.1
    new, z = letters(2000, seed=5)
    right = model.score(new, z)
    monkeypatch.setattr(RareWords, "cross_fit", lambda self, rows, view: [])
    assert right > NoisyLabelClassifier(random_state=0).fit(X, given).score(new, z) + 0.005
