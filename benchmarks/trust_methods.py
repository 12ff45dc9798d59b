"""What is compared: each method predicts, doubts, flags and says the noise matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from cleanlab.classification import CleanLearning
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from misnomer import NoisyLabelNB
from misnomer.channel import auto
from misnomer.engines.local import fold
from misnomer.kernels.reference import softmax
from misnomer.readers import read, read_like
from misnomer.smoothing import Smoothing, automatic
from misnomer.solvers.pool_channel import even
from misnomer.solvers.pool_rows import spelled
from misnomer.solvers.pool_scores import class_sums, out_of_fold
from misnomer.solvers.pool_search import posterior
from misnomer.solvers.task import Task
from misnomer.stats import Stats
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


def pool(run, solver="auto"):
    clf = NoisyLabelNB(solver=solver, random_state=0).fit(run.X, run.given)
    details, more = clf.fit_.details, {}
    if "verdict" in details:
        rate = details["intervals"]["error_rate"]
        more = {"level": details["verdict"].level, "interval": (rate.low, rate.high)}
    after = details.get("posterior")
    after = clf.true_class_proba(run.X, run.given) if after is None else after
    return judged(clf.predict(run.X_test), after, run.given, clf.noise_matrix_, **more)


def naive_bayes():
    return NoisyLabelNB(channel="identity", smoothing=LAPLACE)


@dataclass(frozen=True)
class Fixed:
    """Virtual examples that were worked out beforehand."""

    table: np.ndarray
    classes: float = 1.0

    def virtual(self, schema, by_label, reverse):
        return self.table


def with_automatic_m(rows, channel):
    """Choose m toward the marginal from the hard labels and what the channel leaves of them."""
    counted = rows.hard * rows.weight[:, None]
    by_label = Stats(np.diag(counted.sum(axis=0)), class_sums(rows.stats, counted))
    size = np.maximum(np.linalg.pinv(channel) @ by_label.mass, 1.0)
    reverse = channel * size
    reverse /= reverse.sum(axis=1, keepdims=True)
    return replace(rows, smoothing=Fixed(automatic().virtual(rows.schema, by_label, reverse)))


def spelled_out(run, folds):
    schema, blocks = read(run.X)
    batch = Batch(blocks, run.given.astype(np.int32))
    return spelled(
        Task(schema, [batch], fold, auto(run.classes), LAPLACE), batch, LAPLACE, folds=folds
    )


def plain(run):
    rows = spelled_out(run, 5)
    source = out_of_fold(rows, rows.hard)
    after = rows.given_back(softmax(source.scores)[0], len(run.given))
    clf = naive_bayes().fit(run.X, run.given)
    return judged(clf.predict(run.X_test), after, run.given, np.eye(run.classes))


def inb_plus(run, rounds=15):
    """Tempered EM on scores out of 20 folds, "prune" and "full", gated against no correction.

    m follows from the hard labels in every round.
    """
    rows, K = spelled_out(run, 20), run.classes
    ends = []
    for keep in (None, 0.0, 1.0):
        share, channel = rows.hard, even(K, 0.98 if keep is None else 0.8)
        for _ in range(1 if keep is None else rounds):
            known = keep is None
            source = out_of_fold(with_automatic_m(rows, np.eye(K) if known else channel), share)
            tempered, channel = _temper(rows, source.scores, channel, known=known)
            after = posterior(rows, tempered, channel)
            fresh = share if keep is None else rows.hard * after + keep * after * (1 - rows.hard)
            moved, share = np.abs(fresh - share).mean(), fresh
            if moved < 1e-3:
                break
        chance = np.log(np.maximum((channel[rows.label] * tempered).sum(axis=1), 1e-300))
        ends.append((chance, source, channel, after))
    best = max(ends[1:], key=lambda end: end[0].sum())
    gain = best[0] - ends[0][0]
    z = gain.mean() / (gain.std() / np.sqrt(len(gain)) + 1e-12)
    _, source, channel, after = best if z > 2 else ends[0]
    scores = read_scores(run, rows, source)
    return judged(scores.argmax(axis=1), rows.given_back(after, len(after)), run.given, channel)


def read_scores(run, rows, source):
    from misnomer import kernels

    blocks = read_like(run.X_test, rows.schema)
    return kernels.scores(blocks, source.weights, run.X_test.shape[0]) + source.bias


def _temper(rows, scores, channel, *, known):
    counts = 0.1 + 0.9 * np.eye(rows.classes)
    for _ in range(1 if known else 6):

        def loss(heat, channel=channel):
            share = softmax(scores / np.exp(heat))[0]
            return -np.log(np.maximum((channel[rows.label] * share).sum(axis=1), 1e-300)).sum()

        heat = minimize_scalar(loss, bounds=(0, 5), method="bounded", options={"xatol": 1e-2}).x
        share = softmax(scores / np.exp(heat))[0]
        for _ in range(0 if known else 30):
            joint = rows.hard.T @ posterior(rows, share, channel) + counts
            before, channel = channel, joint / joint.sum(axis=0)
            if np.abs(channel - before).max() < 1e-4:
                break
    return share, channel


def clean_learning(run, base):
    X, X_test = (run.Phi, run.Phi_test) if base == "lr" else (run.X, run.X_test)
    learner = LogisticRegression(max_iter=200) if base == "lr" else naive_bayes()
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


def boosting(run):
    dense = run.Phi.toarray() if sparse.issparse(run.Phi) else run.Phi
    test = run.Phi_test.toarray() if sparse.issparse(run.Phi_test) else run.Phi_test
    kept = np.argsort(-dense.var(axis=0), kind="stable")[:300]  # of texts, what varies most
    clf = HistGradientBoostingClassifier(max_iter=50, random_state=0, early_stopping=False)
    return Answer(clf.fit(dense[:, kept], run.given).predict(test[:, kept]))


METHODS = {
    "NoisyLabelNB()": pool,
    "naive Bayes": plain,
    "INB+": inb_plus,
    "CleanLearning(NB)": lambda run: clean_learning(run, "nb"),
    "CleanLearning(LR)": lambda run: clean_learning(run, "lr"),
    "LogisticRegression": logistic,
    "HistGradientBoosting": boosting,
}
