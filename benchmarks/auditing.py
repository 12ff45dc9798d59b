"""The whole audit against what people do today: cross-validated naive Bayes and cleanlab.

    python -m benchmarks.auditing            # a million rows, and 100,000 texts
    python -m benchmarks.auditing --quick    # a tenth of it

One thread and CPU time in one run; F1 of the flagged rows against the planted errors.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings

import numpy as np
from cleanlab.filter import find_label_issues
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import CategoricalNB, MultinomialNB

from misnomer import audit
from misnomer.simulate import make_noisy_labels, uniform_noise


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


def compare(name: str, X, true, K: int, peer, bar: float) -> None:
    given = make_noisy_labels(true, uniform_noise(K, 0.1), random_state=2)
    wrong = given != true

    def today():
        proba = cross_val_predict(peer, X, given, cv=5, method="predict_proba")
        return find_label_issues(given, proba, n_jobs=1)

    theirs, slow = timed(today)
    found, fast = timed(lambda: audit(X, given))
    ours = np.asarray(found.rows["is_label_issue"])
    print(
        f"{name}: {slow:.1f} s, F1 {f1_score(wrong, theirs):.3f}; "
        f"audit {fast:.1f} s, F1 {f1_score(wrong, ours):.3f}: {slow / fast:.2g}x (bar {bar}x)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    part = 10 if parser.parse_args().quick else 1
    X, true = table(1_000_000 // part)
    compare(f"{len(true):,} x 50 categories", X, true, 5, CategoricalNB(), 5)
    X, true = texts(100_000 // part, 100_000 // part)
    compare(f"{len(true):,} texts", X, true, 20, MultinomialNB(), 4)


if __name__ == "__main__":
    main()
