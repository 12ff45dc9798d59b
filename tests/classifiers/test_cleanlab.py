"""NoisyLabelNB inside cleanlab's CleanLearning: what a classifier must do there, form by form.

CleanLearning copies the classifier, fits it on folds and on weighted rows, hands it rows by masks
and by positions, and asks for classes, probabilities and scores.

Cleanlab's own 59 tests of CleanLearning (tests/test_classification.py) were run with naive Bayes
that takes labels for true in the place of every logistic regression: 58 pass. The one that does not
(test_aux_inputs, in its last lines) draws weights of rows from a normal distribution; half of them
are negative, which no count of rows can be, and they are refused in a sentence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from misnomer import NoisyLabelClassifier, NoisyLabelNB
from misnomer.simulate import make_noisy_labels, uniform_noise

classification = pytest.importorskip("cleanlab.classification")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # theirs, of rare classes

FORMS: dict[str, Any] = {
    "array": lambda X: X,
    "sparse": sparse.csr_matrix,
    "frame": pd.DataFrame,
    "named": lambda X: pd.DataFrame(X, columns=["a", "b"], index=np.arange(len(X))[::-1] * 3),
}
COLUMNS = ["is_label_issue", "label_quality", "given_label", "predicted_label"]

forms = pytest.mark.parametrize("form", FORMS)


def rows(size: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three clouds of points, their classes, and labels of which a fifth is wrong."""
    rng = np.random.default_rng(seed)
    true = np.repeat([0, 1, 2], size)
    X = rng.normal(size=(len(true), 2)) + np.array([[0, 0], [4, 1], [0, 5]])[true]
    return X, true, make_noisy_labels(true, uniform_noise(3, 0.2), random_state=seed)


X, TRUE, GIVEN = rows()
UNSEEN, ANSWERS, _ = rows(seed=1)


def cleaner(**said: Any) -> Any:
    """Wrap naive Bayes that takes labels for true, so that cleanlab does the cleaning.

    What a sparse matrix holds are counts, unless it is said that they are reals.
    """
    inner = said.pop("clf", NoisyLabelNB(channel="identity", families="gaussian"))
    return classification.CleanLearning(inner, cv_n_folds=3, seed=0, **said)


@forms
def test_it_learns_in_spite_of_wrong_labels(form: str) -> None:
    data, unseen = FORMS[form](X), FORMS[form](UNSEEN)
    before = data.copy()
    wrapped = cleaner().fit(data, GIVEN)
    assert wrapped.predict(unseen).shape == ANSWERS.shape
    assert wrapped.predict_proba(unseen).shape == (len(ANSWERS), 3)
    assert wrapped.score(unseen, ANSWERS) > 0.95
    assert abs(data - before).sum().sum() == 0


@forms
def test_the_default_learns_there_too(form: str) -> None:
    wrapped = cleaner(clf=NoisyLabelClassifier()).fit(FORMS[form](X), GIVEN)
    assert wrapped.score(FORMS[form](UNSEEN), ANSWERS) > 0.95


@forms
def test_a_label_that_occurs_once(form: str) -> None:
    rare = np.where(GIVEN == 0, 1, GIVEN)
    rare[0] = 0
    wrapped = cleaner().fit(FORMS[form](X), rare)
    assert wrapped.predict_proba(FORMS[form](UNSEEN)).shape == (len(ANSWERS), 3)


@forms
@pytest.mark.parametrize("known", ["noise_matrix", "inverse_noise_matrix", "both"])
def test_known_noise(form: str, known: str) -> None:
    matrix = uniform_noise(3, 0.2)
    names = ["noise_matrix", "inverse_noise_matrix"] if known == "both" else [known]
    said = dict.fromkeys(names, matrix)  # its own inverse: classes of one size, alike noise
    wrapped = cleaner().fit(FORMS[form](X), GIVEN, **said)
    assert wrapped.score(FORMS[form](UNSEEN), ANSWERS) > 0.95


@forms
def test_probabilities_from_outside(form: str) -> None:
    from cleanlab.count import estimate_cv_predicted_probabilities

    data, inner = FORMS[form](X), cleaner().clf
    shares = estimate_cv_predicted_probabilities(data, GIVEN, inner, cv_n_folds=3, seed=0)
    assert shares.shape == (len(GIVEN), 3) and np.allclose(shares.sum(axis=1), 1)
    scores = [
        cleaner().fit(data, GIVEN, pred_probs=given).score(FORMS[form](UNSEEN), ANSWERS)
        for given in (None, shares)
    ]
    assert abs(scores[0] - scores[1]) < 0.01


@forms
def test_its_issues_are_found_and_handed_back(form: str) -> None:
    data, wrapped = FORMS[form](X), cleaner()
    found = wrapped.find_label_issues(data, GIVEN)
    assert list(found.columns) == COLUMNS
    flagged = found["is_label_issue"].to_numpy()
    wrong = GIVEN != TRUE
    assert (flagged & wrong).sum() > 0.8 * wrong.sum()
    assert (flagged & wrong).sum() > 0.8 * flagged.sum()
    for handed in (found, flagged, np.flatnonzero(flagged)):
        again = cleaner().fit(data, GIVEN, label_issues=handed)
        assert again.score(FORMS[form](UNSEEN), ANSWERS) > 0.95


@forms
def test_weights_go_through(form: str) -> None:
    weights = np.where(GIVEN == 2, 1e-9, 1.0)  # as if nobody had said the third class
    wrapped = cleaner().fit(FORMS[form](X), GIVEN, sample_weight=weights)
    share = wrapped.clf.class_prior_
    assert share[2] < 0.01 < share[0] < 0.99


@pytest.mark.parametrize("labels", [list, pd.Series])
def test_labels_of_any_form(labels: Any) -> None:
    assert cleaner().fit(X, labels(GIVEN)).score(UNSEEN, ANSWERS) > 0.95


def test_texts_in_a_series() -> None:
    words = np.array(["to be or not", "it was the best", "call me some"])
    texts = pd.Series([f"{words[k]} {i % 7}" for i, k in enumerate(TRUE)], name="said")
    wrapped = cleaner(clf=NoisyLabelNB(channel="identity")).fit(texts, GIVEN)
    assert (wrapped.predict(texts) == TRUE).mean() > 0.95


@pytest.mark.parametrize("filter_by", ["both", "confident_learning", "predicted_neq_given"])
def test_a_grid_search_over_the_cleaning(filter_by: str) -> None:
    grid = {
        "find_label_issues_kwargs": [{"filter_by": filter_by}],
        "converge_latent_estimates": [True, False],
        "clf__smoothing": [0.5, 2.0],
    }
    search = GridSearchCV(cleaner(), grid, cv=2, error_score="raise").fit(X, GIVEN)
    assert search.best_estimator_.score(UNSEEN, ANSWERS) > 0.95


@pytest.mark.parametrize("seed", [0, 6])
def test_a_joint_from_outside_finds_as_many(seed: int) -> None:
    from cleanlab.count import compute_confident_joint, estimate_cv_predicted_probabilities

    inner = NoisyLabelNB(channel="identity")
    shares = estimate_cv_predicted_probabilities(X, GIVEN, inner, seed=seed)
    joint = compute_confident_joint(GIVEN, shares)
    found = [
        classification.CleanLearning(inner, seed=seed, find_label_issues_kwargs=said)
        .find_label_issues(X, GIVEN)["is_label_issue"]
        .sum()
        for said in ({}, {"confident_joint": joint})
    ]
    assert found[0] == found[1]


def test_the_same_seed_the_same_answer() -> None:
    one, two = (cleaner().find_label_issues(X, GIVEN) for _ in range(2))
    assert one.equals(two)


def test_negative_weights_are_refused_in_a_sentence() -> None:
    weights = np.random.default_rng(0).normal(size=len(GIVEN))
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        cleaner().fit(X, GIVEN, sample_weight=weights)


def test_rows_of_many_numbers_and_labels_of_no_meaning() -> None:
    rng = np.random.default_rng(0)
    wide, labels = rng.random((200, 300)), rng.integers(0, 10, 200)
    wrapped = cleaner().fit(wide, labels)
    assert wrapped.predict_proba(wide).shape == (200, 10)
    assert np.isfinite(wrapped.predict_proba(wide)).all()


def test_rows_to_validate_by_go_through() -> None:
    seen: list[int] = []

    class Validated(NoisyLabelNB):
        def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Validated:
            super().fit(X, y)
            if X_val is not None:
                seen.append(len(y_val))
                assert self.score(X_val, y_val) > 0.5
            return self

    inner = Validated(channel="identity", families="gaussian")
    wrapped = cleaner(clf=inner)
    wrapped.fit(X, GIVEN, validation_func=lambda rows, labels: {"X_val": rows, "y_val": labels})
    assert sum(seen) == len(GIVEN)
