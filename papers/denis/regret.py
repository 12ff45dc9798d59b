"""Regret to the Bayes classifier over random targets, and what the exact posterior would lose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from misnomer import NoisyLabelNB
from misnomer.simulate import draw_binary_target
from papers import page
from papers.denis.targets import CELLS, FLAGS, LONG, METHODS, noisy_draw
from papers.measured import Results, measured

COMPARED = ("NB", "NB-CCCN", "NB-CCCN-EM", "variational")
CHAINS, SWEEPS = 4, 1000


def em_from_labels() -> NoisyLabelNB:
    settings = {"channel": "flips", "solver": "em", "smoothing": "none", "families": FLAGS}
    return NoisyLabelNB(**settings, tol=1e-7, **LONG)


def regret(quick: bool) -> Results:
    """Every method on the same draws: mean regret in points of accuracy."""
    targets = 6 if quick else 400
    chosen = {name: METHODS[name] for name in COMPARED} | {"EM from the labels": em_from_labels}
    out = {}
    for n in (100, 300):
        for name, make in chosen.items():
            out[f"{name} {n}"] = measured(one(n, make, targets))
        if not quick:
            out[f"exact posterior {n}"] = measured(one_by_sampling(n, targets))
    return out


def show_regret(found: Results, folder: Path) -> str:
    names = list(dict.fromkeys(key.rsplit(" ", 1)[0] for key in found))
    body = []
    for n in (100, 300):
        share = found[f"variational {n}"].mean / found[f"NB-CCCN-EM {n}"].mean
        body.append([n, *(found[f"{name} {n}"].shown(1) for name in names), f"{share:.2f}"])
    header = ["n", *names, "variational / NB-CCCN-EM"]
    targets = found["NB 300"].draws
    return f"{targets} targets, mean ± standard error.\n\n" + page.markdown(header, body)


def one(n: int, make: Callable[[], Any], targets: int) -> list[float]:
    lost = []
    for seed in range(targets):
        target = draw_binary_target(10, seed)
        X, given = noisy_draw(target, n, seed)
        if len(np.unique(given)) == 2:
            lost.append(100 * target.regret(make().fit(X, given).predict(CELLS)))
    return lost


def one_by_sampling(n: int, targets: int) -> list[float]:
    """The same for the posterior itself, by Gibbs sampling, with the priors that drew the targets.

    Flip rates are uniform over all that add up to less than one. A sample beyond is the same
    model with the names of its classes exchanged, and is counted so.
    """
    drawn = [draw_binary_target(10, seed) for seed in range(targets)]
    rows = [noisy_draw(target, n, seed) for seed, target in enumerate(drawn)]
    X = np.stack([x for x, _ in rows]).astype(float)
    given = np.stack([y for _, y in rows]).astype(float)
    rng = np.random.default_rng(0)
    positive = np.mean([_chain(X, given, rng) for _ in range(CHAINS)], axis=0)
    return [
        100 * target.regret((p > 0.5).astype(int))
        for target, p, y in zip(drawn, positive, given, strict=True)
        if 0 < y.mean() < 1
    ]


def _chain(X: np.ndarray, given: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """P(class 1 | cell), averaged over one chain for each target, (targets, cells)."""
    true = given.copy()
    total, kept = np.zeros((len(X), len(CELLS))), 0
    for sweep in range(SWEEPS):
        base, slope, label = _parameters(X, given, true, rng)
        score = base[..., None] + slope @ X.transpose(0, 2, 1)
        said = np.where(given[:, None] == 1, label[..., None], 1 - label[..., None])
        score += np.log(np.maximum(said, 1e-300))
        true = (rng.random(given.shape) < _second(score)).astype(float)
        if sweep >= SWEEPS // 5 and sweep % 5 == 0:
            p = _second(base[..., None] + slope @ CELLS.T)
            named = (label[:, 1] > label[:, 0])[:, None]
            total, kept = total + np.where(named, p, 1 - p), kept + 1
    return total / kept


def _parameters(X: np.ndarray, given: np.ndarray, true: np.ndarray, rng: np.random.Generator):
    """Draw a model given all true classes: log P(z) P(x = 0 | z), log odds, P(given 1 | z)."""
    weight = np.stack([1 - true, true], axis=1)
    mass, on = weight.sum(axis=2), weight @ X
    ones = (weight * given[:, None]).sum(axis=2)
    zero = rng.beta(mass[:, 0] + 1, mass[:, 1] + 1).clip(1e-12, 1 - 1e-12)
    prior = np.stack([zero, 1 - zero], axis=1)
    flag = rng.beta(on + 1, mass[..., None] - on + 1).clip(1e-12, 1 - 1e-12)
    base = np.log(prior) + np.log1p(-flag).sum(axis=2)
    return base, np.log(flag) - np.log1p(-flag), rng.beta(ones + 1, mass - ones + 1)


def _second(score: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(np.clip(score[:, 0] - score[:, 1], -700, 700)))
