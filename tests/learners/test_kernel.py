"""Likeness: columns that act together, on rows too few for trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import average_precision_score

from misnomer import NoisyLabelClassifier, audit, load_model, make_noisy_labels
from misnomer.learners.kernel import MARKS, Kernel, marked
from misnomer.learners.learner import View
from misnomer.simulate import uniform_noise
from misnomer.store import save_model
from tests.learners.tables import K, as_rows, mixed_frame


def squares(n, seed=0):
    """Four reals; two of them decide as on a board of two by two squares."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 4))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)


def moons(n, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


@pytest.mark.parametrize(("drawn", "right"), [(moons, 0.9), (squares, 0.8)])
def test_columns_together_are_seen_on_few_rows(drawn, right):
    """Naive Bayes and logistic regression are right in .87 of the moons, in half of the squares."""
    X, true = drawn(400)
    given = make_noisy_labels(true, uniform_noise(2, 0.2), random_state=0)
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    assert model.score(*drawn(2000, seed=9)) > right
    doubt = model.error_probability(X, given)
    assert average_precision_score(given != true, doubt) > right
    without = NoisyLabelClassifier(["logistic"], random_state=0).fit(X, given)
    assert without.score(*drawn(2000, seed=9)) < right - 0.02


def test_where_likeness_explains_more_classes_are_believed_apart():
    """Else every error behind columns that act together is called a soft label."""
    X, true = squares(300)
    given = make_noisy_labels(true, uniform_noise(2, 0.2), random_state=1)
    rate = float(NoisyLabelClassifier(random_state=0).fit(X, given).fit_.details.posterior[
        np.arange(300), 1 - given
    ].mean())  # fmt: skip
    assert abs(rate - (given != true).mean()) < 0.07


def test_many_rows_are_left_to_trees_and_texts_to_words():
    X, y = squares(600)
    assert Kernel().cross_fit(as_rows(X, y, classes=2), View(np.eye(2), 0.5)) == []
    wide = np.random.default_rng(0).normal(size=(100, 150))
    assert Kernel().cross_fit(as_rows(wide, y[:100], classes=2), View(np.eye(2), 0.5)) == []


def test_marks_are_distinct_and_wherever_they_stand():
    frame, y = mixed_frame()
    rows = as_rows(frame, y)
    assert len(marked(rows)) == min(MARKS, len(frame.drop_duplicates()))
    order = np.random.default_rng(0).permutation(len(y))
    moved = as_rows(frame.iloc[order].reset_index(drop=True), y[order])
    assert (np.sort(order[marked(moved)]) == np.sort(marked(rows))).all()


def test_columns_that_say_nothing_are_no_likeness():
    frame = np.ones((60, 2))
    rows = as_rows(frame, np.arange(60) % K)
    assert Kernel().cross_fit(rows, View(np.eye(K), 0.5)) == []


def test_a_row_is_explained_and_a_file_predicts_alike(tmp_path):
    X, true = squares(300)
    given = make_noisy_labels(true, uniform_noise(2, 0.15), random_state=2)
    found = audit(X, given)
    why = found.explain(int(found.ranking[0]))
    assert "columns together" in why.names
    assert why.weights.sum() + why.prior + why.label == pytest.approx(why.log_odds, abs=1e-9)
    odds = np.log(why.error_probability / (1 - why.error_probability))
    assert why.log_odds == pytest.approx(odds, abs=1e-6)  # two classes: of the doubt itself
    save_model(found.classifier, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    new, _ = squares(50, seed=5)
    np.testing.assert_array_equal(again.predict_proba(new), found.classifier.predict_proba(new))
