"""Trusted rows of many classes: are they used as well as by reweighting the others?

    python benchmarks/trusted.py [--seeds 3] [--rows 4000]

The 26 letters and the ten digits; of each class one row of twenty is trusted (at least two), the
labels of all other rows are drawn through the noise. A row of the table is the accuracy on the
true classes of held-out rows.

KPDR (Nodet and others, "Biquality learning", 2021) is written anew here, as a stand-in: in each
class a logistic regression tells the trusted rows from the others, its odds are the densities'
ratio, and times the ratio of the class's shares they weigh the untrusted rows of a last fit.
It is given the better of two learners that our default also has, logistic regression and trees,
chosen on the test rows: no method of its kind can do better.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from trust_tasks import features, measured, plant, table, take

from misnomer import NoisyLabelClassifier, NoisyLabelNB

NOISES = ("clean", "uniform .2", "uniform .4", "asymmetric", "boundary")
TRUSTED = 0.05


def letters(rows):
    frame, codes = table("letter")
    chosen = np.random.default_rng(0).permutation(len(codes))[: 2 * rows]
    return frame.iloc[chosen].reset_index(drop=True).astype(float), codes[chosen]


def chosen_by_class(true, rng):
    """Draw the trusted rows: one of twenty in each class, at least two."""
    trusted = np.zeros(len(true), bool)
    for k in np.unique(true):
        rows = rng.permutation(np.flatnonzero(true == k))
        trusted[rows[: max(2, round(TRUSTED * len(rows)))]] = True
    return trusted


def logistic():
    return LogisticRegression(max_iter=300)


def trees():
    return HistGradientBoostingClassifier(max_iter=50, random_state=0, early_stopping=False)


def density_ratio(Phi, trusted):
    """Estimate p(x | trusted) / p(x | not), by the odds of a balanced classifier of the two."""
    model = LogisticRegression(max_iter=300, class_weight="balanced").fit(Phi, trusted)
    chance = model.predict_proba(Phi[~trusted])[:, 1]
    return chance / np.maximum(1 - chance, 1e-9)


def kpdr_weights(Phi, given, trusted):
    """Weigh the untrusted rows of each given class by how much they look like its trusted ones."""
    weights = np.ones(len(given))
    for k in np.unique(given):
        rows = np.flatnonzero(given == k)
        if trusted[rows].all() or not trusted[rows].any():
            continue
        shares = (given[trusted] == k).mean() / (given[~trusted] == k).mean()
        weights[rows[~trusted[rows]]] = shares * density_ratio(Phi[rows], trusted[rows])
    return weights


def fitted(learner, train, test, given, weights=None):
    return learner().fit(train, given, sample_weight=weights).predict(test)


def answers(X, Phi, train, test, given, trusted):
    """Predict the held-out rows by every method; None: not known to be right."""
    X_train, X_test = take(X, train), take(X, test)
    low, high = Phi[train], Phi[test]
    weights = kpdr_weights(low, given, trusted)
    yield (
        "ours, nothing trusted",
        NoisyLabelClassifier(random_state=0).fit(X_train, given).predict(X_test),
    )
    model = NoisyLabelClassifier(random_state=0).fit(X_train, given, trusted=trusted)
    yield "ours, trusted", model.predict(X_test)
    model = NoisyLabelNB(random_state=0).fit(X_train, given)
    yield "NoisyLabelNB, nothing", model.predict(X_test)
    model = NoisyLabelNB(random_state=0).fit(X_train, given, trusted=trusted)
    yield "NoisyLabelNB, trusted", model.predict(X_test)
    for name, learner in (("logistic", logistic), ("trees", trees)):
        yield f"KPDR, {name}", fitted(learner, low, high, given, weights)
        yield f"trusted only, {name}", fitted(learner, low[trusted], high, given[trusted])


def main(seeds, rows):
    for task, (X, true) in {"letters": letters(rows), "digits": measured("digits")}.items():
        Phi = features(X)
        for noise in NOISES:
            found = {}
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                order = rng.permutation(len(true))
                train, test = np.sort(order[: len(order) // 2]), order[len(order) // 2 :]
                given, _ = plant(noise, true[train], Phi[train], seed)
                trusted = chosen_by_class(true[train], rng)
                given[trusted] = true[train][trusted]
                for name, said in answers(X, Phi, train, test, given, trusted):
                    found.setdefault(name, []).append(float((said == true[test]).mean()))
            shown = ", ".join(f"{name} {np.mean(each):.3f}" for name, each in found.items())
            print(f"{task}, {noise}: {shown}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4000)
    said = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main(said.seeds, said.rows)
