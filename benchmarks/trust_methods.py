"""What is compared: each method predicts, doubts, flags and says the noise matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cleanlab.classification import CleanLearning
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from misnomer import NoisyLabelClassifier, NoisyLabelNB
from misnomer.kernels.reference import softmax
from misnomer.learners.learner import View
from misnomer.learners.naive_bayes import NaiveBayes
from misnomer.learners.rows import rows_of
from misnomer.rows import read
from misnomer.smoothing import Smoothing
from misnomer.table import Batch

LAPLACE = Smoothing(cells=1.0, shrink=5.0, extra=1e-4, classes=1.0)


@dataclass
class Run:
    X: object
    given: np.ndarray
    X_test: object
    Phi: object
    Phi_test: object
    classes: int


@dataclass
class Answer:
    predicted: np.ndarray
    doubt: np.ndarray | None = None
    matrix: np.ndarray | None = None
    flagged: np.ndarray | None = None
    level: str = ""
    interval: tuple[float, float] | None = None


def judged(predicted, after, given, matrix, **more):
    doubt = 1 - after[np.arange(len(given)), given]
    return Answer(predicted, doubt, matrix, after.argmax(axis=1) != given, **more)


def default(run):
    clf = NoisyLabelClassifier(random_state=0).fit(run.X, run.given)
    details, more = clf.fit_.details, {}
    if details.verdict is not None:
        rate = details.intervals["error_rate"]
        more = {"level": details.verdict.level, "interval": (rate.low, rate.high)}
    after = details.posterior
    after = clf.true_class_proba(run.X, run.given) if after is None else after
    return judged(clf.predict(run.X_test), after, run.given, clf.noise_matrix_, **more)


def naive_bayes():
    return NoisyLabelNB(channel="identity", smoothing=LAPLACE)


def plain(run):
    """Naive Bayes of the given labels, each row scored without its fold."""
    schema, blocks = read(run.X)
    batch = Batch(blocks, run.given.astype(np.int32))
    rows = rows_of(schema, batch, run.classes, LAPLACE, 0, run.classes)
    scored = NaiveBayes().cross_fit(rows, View(np.eye(run.classes), 1.0))[0]
    clf = naive_bayes().fit(run.X, run.given)
    return judged(
        clf.predict(run.X_test), softmax(scored.scores)[0], run.given, np.eye(run.classes)
    )


def clean_learning(run, base):
    X, X_test = (run.X, run.X_test) if base == "nb" else (run.Phi, run.Phi_test)
    learner = LogisticRegression(max_iter=200) if base == "lr" else naive_bayes()
    if base == "boosting":
        X, X_test = few_dense(run)
        learner = HistGradientBoostingClassifier(random_state=0)
    least = int(np.bincount(run.given, minlength=run.classes).min())
    clf = CleanLearning(
        learner, cv_n_folds=min(5, max(2, least)), find_label_issues_kwargs={"n_jobs": 1}
    )
    clf.fit(X, run.given)
    issues = clf.get_label_issues()
    doubt = 1 - issues["label_quality"].to_numpy()
    matrix = np.asarray(clf.noise_matrix)
    return Answer(clf.predict(X_test), doubt, matrix, issues["is_label_issue"].to_numpy())


def logistic(run):
    return Answer(LogisticRegression(max_iter=200).fit(run.Phi, run.given).predict(run.Phi_test))


def few_dense(run):
    """Write the features out for trees; of texts, what varies most."""
    dense = run.Phi.toarray() if sparse.issparse(run.Phi) else run.Phi
    test = run.Phi_test.toarray() if sparse.issparse(run.Phi_test) else run.Phi_test
    kept = np.argsort(-dense.var(axis=0), kind="stable")[:300]
    return dense[:, kept], test[:, kept]


def boosting(run):
    X, X_test = few_dense(run)
    clf = HistGradientBoostingClassifier(max_iter=50, random_state=0, early_stopping=False)
    return Answer(clf.fit(X, run.given).predict(X_test))


METHODS = {
    "NoisyLabelClassifier()": default,
    "naive Bayes": plain,
    "CleanLearning(NB)": lambda run: clean_learning(run, "nb"),
    "CleanLearning(LR)": lambda run: clean_learning(run, "lr"),
    "CleanLearning(boosting)": lambda run: clean_learning(run, "boosting"),
    "LogisticRegression": logistic,
    "HistGradientBoosting": boosting,
}
