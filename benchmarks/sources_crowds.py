"""Simulated crowds, and what the peers make of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

K, A = 5, 50


def pattern(kind):
    if kind == "drawn":
        return None
    table = np.ones((K, K))
    if kind == "neighbors":
        table[(np.arange(K) + 1) % K, np.arange(K)] = 4.0
    np.fill_diagonal(table, 0.0)
    return table / table.sum(axis=0)


def annotator(rng, usual):
    """Draw one of 20 % spammers (at random or by habit), 20 % experts, 60 % in between.

    Without a usual pattern every column is drawn for itself: nothing that the method assumes.
    """
    if usual is None:
        right = rng.beta(4, 2, K)
        off = rng.dirichlet(np.ones(K - 1), K)
        return np.stack([np.insert((1 - right[z]) * off[z], z, right[z]) for z in range(K)], axis=1)
    draw = rng.random()
    if draw < 0.2:
        habit = np.full(K, 1 / K) if rng.random() < 0.5 else rng.dirichlet(np.full(K, 0.3))
        return np.tile(habit[:, None], (1, K))
    expert = draw < 0.4
    level = rng.uniform(0.88, 0.97) if expert else rng.uniform(0.45, 0.8)
    out = np.empty((K, K))
    for z in range(K):
        own = usual[:, z] if expert else rng.dirichlet(6 * usual[:, z] + 1e-3)
        right = level if expert else np.clip(level + rng.normal(0, 0.1), 0.1, 0.98)
        own = np.where(np.arange(K) == z, 0.0, own)
        out[:, z] = (1 - right) * own / own.sum()
        out[z, z] = right
    return out


def say(rng, channel, z):
    steps = channel[:, z].cumsum()
    return int((rng.random() * steps[-1] >= steps).sum())


def crowd(seed, n, kind, *, repeats=1, apart=0.5):
    """Draw rows, their columns (each ``repeats`` times, with a little noise) and their answers."""
    rng = np.random.default_rng(seed)
    z = rng.choice(K, 2 * n, p=rng.dirichlet(np.full(K, 8.0)))
    channels = [annotator(rng, pattern(kind)) for _ in range(A)]
    table = np.full((n, A), np.nan)
    for i in range(n):
        for a in rng.choice(A, 3, replace=False):
            table[i, a] = say(rng, channels[a], z[i])
        if not np.isnan(table[i, 1]):  # annotator 1 copies annotator 0, nine times of ten
            if np.isnan(table[i, 0]):
                table[i, 0] = say(rng, channels[0], z[i])
            table[i, 1] = table[i, 0] if rng.random() < 0.9 else table[i, 1]
    X = rng.normal(0, apart, (K, 10))[z] + rng.normal(size=(2 * n, 10))
    X = np.concatenate([X + 0.3 * rng.normal(size=X.shape) * (j > 0) for j in range(repeats)], 1)
    return X[:n], table, z[:n], X[n:], z[n:]


def listed(table):
    rows, who = np.nonzero(~np.isnan(table))
    return pd.DataFrame({"task": rows, "worker": who, "label": table[rows, who].astype(int)})


def peers(table, name, kept):
    """Name each peer's consensus from the answers; what a file of earlier runs holds is not redone.

    MACE and GLAD take minutes, and nothing here changes them.
    """
    from cleanlab.multiannotator import get_majority_vote_label
    from crowdkit.aggregation import GLAD, MACE, DawidSkene, OneCoinDawidSkene

    said = listed(table)
    yield "majority vote", np.asarray(get_majority_vote_label(pd.DataFrame(table))).astype(int)
    for peer in (
        DawidSkene(n_iter=100),
        OneCoinDawidSkene(n_iter=100),
        GLAD(n_iter=100),
        MACE(n_iter=50, random_state=0),
    ):
        key = f"{name} {type(peer).__name__}"
        if key not in kept:
            label = peer.fit_predict(said).reindex(range(len(table))).to_numpy()
            kept[key] = label.astype(int).tolist()
        yield f"crowd-kit {type(peer).__name__}", np.array(kept[key])


def cleanlab(X, table, vote):
    """Find cleanlab's consensus, with the columns."""
    from cleanlab.multiannotator import get_label_quality_multiannotator

    chance = cross_val_predict(GaussianNB(), X, vote, cv=5, method="predict_proba")
    found = get_label_quality_multiannotator(pd.DataFrame(table), chance, verbose=False)
    return found["label_quality"]["consensus_label"].to_numpy()


class Kept(dict):
    """Answers of the peers by name, in a JSON file if there is one."""

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        if self.path is not None and self.path.exists():
            self.update(json.loads(self.path.read_text()))

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if self.path is not None:
            self.path.write_text(json.dumps(self))
