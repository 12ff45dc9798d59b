"""Targets drawn at random, rows of them, and the methods that learn from these rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from misnomer import NoisyLabelNB
from misnomer.papers import NBCCCN, NBCCCNEM, NBUNL, VBNB
from misnomer.simulate import (
    BinaryTarget,
    all_cells,
    class_conditional_noise,
    draw_binary_target,
    make_noisy_labels,
)
from papers import page

HERE = Path(__file__).parent
EXPECTED = page.expected(HERE)
NOISE = class_conditional_noise(EXPECTED["noise"])
CELLS = all_cells(10)
FLAGS = "bernoulli"
LONG = {"max_iter": 50_000}  # every search runs to its end


def nb(families: str = FLAGS) -> NoisyLabelNB:
    return NoisyLabelNB(channel="identity", smoothing="laplace", families=families)


METHODS: dict[str, Any] = {
    "NB": nb,
    "NB-CCCN": lambda families=FLAGS: NBCCCN(families=families),
    "NB-CCCN, literal": lambda families=FLAGS: NBCCCN(estimator="literal", families=families),
    "NB-CCCN-EM": lambda families=FLAGS: NBCCCNEM(families=families, **LONG),
    "NB-UNL": lambda families=FLAGS: NBUNL(families=families),
    "NB-UNL, literal": lambda families=FLAGS: NBUNL(estimator="literal", families=families),
    "variational": lambda families=FLAGS: VBNB(families=families, **LONG),
}


def matched(count: int) -> list[BinaryTarget]:
    """Draw the first targets whose Bayes classifier has the printed accuracy and F value."""
    return [draw_binary_target(10, seed) for seed in EXPECTED["matched_seeds"][:count]]


def noisy_draw(target: BinaryTarget, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rows, labels = np.random.SeedSequence([n, seed]).spawn(2)
    X, true = target.draw(n, random_state=np.random.default_rng(rows))
    return X, make_noisy_labels(
        true, NOISE, classes=(0, 1), random_state=np.random.default_rng(labels)
    )
