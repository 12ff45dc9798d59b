"""The whole audit against what people do today: cross-validated naive Bayes and cleanlab.

    python -m benchmarks.auditing            # a million rows, and 100,000 texts
    python -m benchmarks.auditing --quick    # a tenth of it
    python -m benchmarks.auditing --write    # and into docs/measured/speed.md

One thread and CPU time in one run; F1 of the flagged rows against the planted errors, or accuracy
on the true labels.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import CategoricalNB, MultinomialNB

from misnomer import NoisyLabelNB, audit
from misnomer.simulate import make_noisy_labels, pair_noise, uniform_noise

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "speed.md"


def table(n: int):
    rng = np.random.default_rng(0)
    true = rng.integers(5, size=n)
    p = rng.dirichlet(np.ones(10), size=(50, 1)) * 40
    p = np.array([[rng.dirichlet(q[0] + 0.05) for q in p] for _ in range(5)])
    steps = p.cumsum(axis=2)
    X = np.empty((n, 50), np.uint8)
    for j in range(50):
        X[:, j] = (rng.random((n, 1)) >= steps[true, j]).sum(axis=1).clip(max=9)
    return X, true


def texts(n: int, words: int, K: int = 20):
    rng = np.random.default_rng(1)
    true = rng.integers(K, size=n)
    common = 1.0 / np.arange(1, words + 1)
    own = [common * rng.gamma(0.3, 1 / 0.3, words) for _ in range(K)]
    rows = []
    for k in range(K):
        p = np.cumsum(own[k] / own[k].sum())
        size = int((true == k).sum())
        picks = np.searchsorted(p, rng.random((size, 116))).clip(max=words - 1)
        order = np.flatnonzero(true == k)
        rows.append((np.repeat(order, 116), picks.ravel()))
    at = np.concatenate([r for r, _ in rows]), np.concatenate([c for _, c in rows])
    X = sparse.csr_matrix((np.ones(len(at[0]), np.float32), at), shape=(n, words))
    X.data[:] = 1.0  # a word counts once
    return X, true


def timed(action):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = action()
    return value, time.process_time() - start


def compare(name: str, X, true, K: int, peer, bar: float) -> list[str]:
    given = make_noisy_labels(true, uniform_noise(K, 0.1), random_state=2)
    wrong = given != true

    def today():
        proba = cross_val_predict(peer, X, given, cv=5, method="predict_proba")
        return find_label_issues(given, proba, n_jobs=1)

    theirs, slow = timed(today)
    ours, fast = min((timed(lambda: audit(X, given)) for _ in range(2)), key=lambda one: one[1])
    flagged = np.asarray(ours.rows["is_label_issue"])
    rival = f"5-fold {type(peer).__name__} + find_label_issues"
    return [name, rival, f"{slow:.1f}", f"{fast:.1f}", f"{slow / fast:.2g}", f"{bar:g}"] + [
        f"{f1_score(wrong, one):.3f}" for one in (theirs, flagged)
    ]


def mixed(n: int, seed: int = 3):
    """Fifty columns of three kinds, half of which repeat others, and four classes."""
    rng = np.random.default_rng(seed)
    true = rng.integers(4, size=n)
    hidden = rng.normal(size=(n, 12)) + 0.8 * rng.normal(size=(4, 12))[true]
    reals = hidden @ rng.normal(size=(12, 20)) / 3 + rng.normal(size=(n, 20))
    flags = hidden[:, rng.integers(12, size=10)] + rng.normal(size=(n, 10)) > 0.5
    codes = np.digitize(hidden[:, rng.integers(12, size=20)] + rng.normal(size=(n, 20)), [-1, 0, 1])
    columns = {f"r{j}": reals[:, j] for j in range(20)}
    columns |= {f"f{j}": flags[:, j] for j in range(10)}
    columns |= {f"c{j}": np.array(list("abcd"))[codes[:, j]] for j in range(20)}
    hot = np.concatenate([codes == k for k in range(4)], axis=1)
    spread = (reals - reals.mean(axis=0)) / reals.std(axis=0)
    return pd.DataFrame(columns), np.hstack([spread, flags, hot]).astype(float), true


def default(n: int) -> list[str]:
    """The default classifier against CleanLearning over logistic regression."""
    frame, Phi, true = mixed(n)
    given = make_noisy_labels(true, pair_noise(4, 0.3), random_state=2)
    clf, fast = timed(lambda: NoisyLabelNB(random_state=0).fit(frame, given))
    peer, slow = timed(
        lambda: CleanLearning(
            LogisticRegression(max_iter=200), find_label_issues_kwargs={"n_jobs": 1}
        ).fit(Phi, given)
    )
    right = [100 * (one.predict(X) == true).mean() for one, X in ((peer, Phi), (clf, frame))]
    name, rival = f"fit of {n:,} x 50 mixed columns", "CleanLearning(LogisticRegression)"
    ratio = [f"{slow / fast:.2g}", "0.33"]
    return [name, rival, f"{slow:.1f}", f"{fast:.1f}", *ratio, *(f"{a:.1f} %" for a in right)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    part = 10 if options.quick else 1
    X, true = table(1_000_000 // part)
    rows = [compare(f"audit of {len(true):,} x 50 categories", X, true, 5, CategoricalNB(), 5)]
    X, true = texts(100_000 // part, 100_000 // part)
    rows.append(compare(f"audit of {len(true):,} texts", X, true, 20, MultinomialNB(), 4))
    rows.append(default(20_000 // part))
    head = ["", "against", "CPU s", "ours", "times faster", "bar", "F1 or accuracy", "ours"]
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    print("\n".join(lines))
    if options.write:
        start, end = "<!-- auditing -->", "<!-- end auditing -->"
        before, rest = PAGE.read_text().split(start)
        middle = "\n" + "\n".join(lines) + "\n"
        PAGE.write_text(before + start + middle + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
