"""Regret to the Bayes classifier over random targets, and what the exact posterior would lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from misnomer.classifiers.base import NoisyLabelNB
from misnomer.simulate import (
    BinaryTarget,
    all_cells,
    class_conditional_noise,
    draw_binary_target,
    make_noisy_labels,
)
from papers import tables

HERE = Path(__file__).parent
NOISE = class_conditional_noise(tables.expected(HERE)["noise"])
CELLS = all_cells(10)
FLAGS = "bernoulli"
COMPARED = ("NB", "NB-CCCN", "NB-CCCN-EM", "variational")
CHAINS, SWEEPS = 4, 1000


def noisy_draw(target: BinaryTarget, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows, labels = np.random.SeedSequence([n, seed]).spawn(2)
    X, true = target.draw(n, random_state=np.random.default_rng(rows))
    return X, make_noisy_labels(
        true, NOISE, classes=(0, 1), random_state=np.random.default_rng(labels)
    )


def em_from_labels() -> NoisyLabelNB:
    settings = {"channel": "flips", "solver": "em", "smoothing": "none", "families": FLAGS}
    return NoisyLabelNB(**settings, max_iter=1000, tol=1e-7)


def regret(methods: Mapping[str, Callable[[], Any]], targets: int) -> None:
    """Every method on the same draws: mean regret in points, and its standard error."""
    chosen = {name: methods[name] for name in COMPARED} | {"EM from the labels": em_from_labels}
    body = []
    for n in (100, 300):
        lost = {name: one(n, make, targets) for name, make in chosen.items()}
        lost["exact posterior"] = one_by_sampling(n, targets)
        half = np.mean(lost["variational"]) / np.mean(lost["NB-CCCN-EM"])
        cells = [f"{np.mean(x):.1f} ± {np.std(x) / np.sqrt(len(x)):.1f}" for x in lost.values()]
        body.append([n, *cells, f"{half:.2f}"])
    header = ["n", *lost, "variational / NB-CCCN-EM"]
    note = f"{targets} targets.\n\n"
    tables.write(HERE, "regret", note + tables.markdown(header, body))


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
