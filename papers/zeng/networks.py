"""NLNN and NAL: what their penalty does, and what hidden layers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from misnomer.papers import NAL, NLNN
from misnomer.simulate import draw_zeng
from papers import page
from papers.measured import Results, measured
from papers.zeng.simulation import EXPECTED, FLAGS, LONG, TEST

INTERVAL = 0  # of the diagonal: the one with most wrong labels
DRAWS = {500: 8, 5000: 3}
UNITS = 20
PENALTIES = (1.0, 10.0, 100.0)  # of a hidden layer, beside the default
HIDDEN = NAL(hidden_layer_sizes=(UNITS,), random_state=0, **FLAGS, **LONG)
NETWORKS: dict[str, Any] = {
    "NLNN": NLNN(**FLAGS, **LONG),
    "NAL": NAL(**FLAGS, **LONG),
    "NAL, penalty 1": NAL(penalty=1.0, **FLAGS, **LONG),
    f"NAL, {UNITS} hidden units": HIDDEN,
} | {
    f"NAL, {UNITS} hidden units, penalty {penalty:g}": clone(HIDDEN).set_params(penalty=penalty)
    for penalty in PENALTIES
}


def networks(quick: bool) -> Results:
    """Measure accuracy on further rows of true labels, in percent."""
    out = {}
    for n, draws in DRAWS.items():
        if quick and n > min(DRAWS):
            continue
        runs = np.array([_one(n, seed) for seed in range(2 if quick else draws)])
        for name, scores in zip(NETWORKS, runs.T, strict=True):
            out[f"{name}: {n}"] = measured(scores)
    return out


def _one(n: int, seed: int) -> list[float]:
    """Fit every network on 80 % of n rows, as Table 1 does."""
    low, high = EXPECTED["intervals"][INTERVAL]
    run = draw_zeng(n + TEST, diagonal=(low, high), random_state=seed)
    train, test = slice(0, int(0.8 * n)), slice(n, n + TEST)
    return [
        100 * float(clf.fit(run.X[train], run.given[train]).score(run.X[test], run.true[test]))
        for clf in NETWORKS.values()
    ]


def show(found: Results, folder: Path) -> str:
    sizes = [n for n in DRAWS if f"NAL: {n}" in found]
    body = [[name, *(found[f"{name}: {n}"].shown(1) for n in sizes)] for name in NETWORKS]
    low, high = EXPECTED["intervals"][INTERVAL]
    draws = ", ".join(f"{found[f'NAL: {n}'].draws} draws of n = {n}" for n in sizes)
    note = f"Accuracy in percent ± standard error, diagonal in [{low}, {high}), {draws}.\n\n"
    return note + page.markdown(["network", *(f"n = {n}" for n in sizes)], body)
