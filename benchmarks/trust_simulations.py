"""Small samples for which the model is true: Denis' random targets and Zeng's five classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from trust_methods import METHODS, Run

from misnomer import NoisyLabelNB
from misnomer.papers import VBNB
from misnomer.simulate import draw_zeng, make_noisy_labels

FLIPS = np.array([[0.8, 0.5], [0.2, 0.5]])


def denis(n, seed):
    """Draw a target of ten flags with random probabilities; flips .2 and .5."""
    rng = np.random.default_rng([seed, 3])
    prior, ones = 0.25 + 0.5 * rng.random(), rng.random((2, 10))

    def rows(m):
        true = (rng.random(m) < prior).astype(int)
        return (rng.random((m, 10)) < ones[true]).astype(int), true

    X, true = rows(n)
    given = make_noisy_labels(true, FLIPS, random_state=seed)
    return (X, given), rows(4000)


def denis_true(n, seed):
    """The true classes of the rows that `denis` draws first."""
    rng = np.random.default_rng([seed, 3])
    prior, _ = 0.25 + 0.5 * rng.random(), rng.random((2, 10))
    return (rng.random(n) < prior).astype(int)


def zeng(n, seed):
    run = draw_zeng(n + 2000, diagonal=(0.55, 0.65), random_state=seed)
    return (run.X[:n], run.given[:n]), (run.X[n:], run.true[n:])


def accuracies(data):
    (X, given), (X_test, true) = data
    run = Run(X, given, X_test, None, None, int(true.max()) + 1)
    out = {name: METHODS[name](run).predicted for name in ("NoisyLabelNB()", "naive Bayes", "INB+")}
    out["variational (VBNB)"] = VBNB().fit(X, given).predict(X_test)
    return {name: 100 * float((found == true).mean()) for name, found in out.items()}


CHANNELS = {".1/.1": (0.1, 0.1), ".2/.5": (0.2, 0.5), ".2/.3": (0.2, 0.3)}


def covered(n, flips, seed):
    """Draw labels, audit them, and see which 90 % intervals hold the truth."""
    (X, _), _ = denis(n, seed)
    true = denis_true(n, seed)
    matrix = np.array([[1 - flips[0], flips[1]], [flips[0], 1 - flips[1]]])
    given = make_noisy_labels(true, matrix, random_state=seed)
    clf = NoisyLabelNB(random_state=0).fit(X, given)
    ends, wrong = clf.fit_.details.intervals, given != true
    low, high = ends["noise_matrix"]
    rate, shares = ends["error_rate"], ends["class_prior"]
    doubt = 1 - clf.fit_.details.posterior[np.arange(n), given]
    place = np.minimum((doubt * 10).astype(int), 9)
    gap = np.bincount(place, doubt - wrong, minlength=10)
    return {
        "error rate, %": 100 * float(rate.low <= wrong.mean() <= rate.high),
        "matrix cells, %": 100 * float(((low <= matrix) & (matrix <= high)).mean()),
        "class share, %": 100 * float(shares[0][1] <= true.mean() <= shares[1][1]),
        "assumed, %": 100 * float(clf.fit_.details.verdict.level == "assumed"),
        "ECE, points": 100 * float(np.abs(gap).sum() / n),
    }


def coverage(repeats):
    """How often 90 % intervals hold the truth where the model is true; calibration of doubt."""
    rows = {}
    for n, name in ((300, ".2/.5"), (1000, ".1/.1"), (1000, ".2/.5"), (3000, ".2/.3")):
        draws = [covered(n, CHANNELS[name], seed) for seed in range(repeats)]
        rows[f"n = {n}, flips {name}"] = pd.DataFrame(draws).mean()
    out = pd.DataFrame(rows).T
    out.insert(0, "draws", repeats)
    return out


def simulations(repeats):
    """Mean accuracy over draws."""
    cases = {
        "Denis, n = 100": (denis, 100, repeats),
        "Denis, n = 300": (denis, 300, repeats),
        "Zeng, n = 500": (zeng, 500, max(1, repeats // 4)),
    }
    rows = {
        name: pd.DataFrame([accuracies(draw(n, seed)) for seed in range(times)]).mean()
        for name, (draw, n, times) in cases.items()
    }
    out = pd.DataFrame(rows).T
    out.insert(0, "draws", [times for _, _, times in cases.values()])
    return out
