"""Planted label noise and the simulated problems of the papers.

Every matrix here is a channel, ``noise_matrix[given, true] = P(given label | true class)``:
rows are given labels, columns true classes, and each column sums to one.
"""

from __future__ import annotations

from misnomer.simulate.noise import (
    class_conditional_noise,
    flip_near_boundary,
    make_noisy_labels,
    pair_noise,
    random_noise,
    uniform_noise,
)
from misnomer.simulate.targets import (
    BinaryTarget,
    ZengDraw,
    all_cells,
    draw_binary_target,
    draw_zeng,
    matched_target,
)

__all__ = [
    "BinaryTarget",
    "ZengDraw",
    "all_cells",
    "class_conditional_noise",
    "draw_binary_target",
    "draw_zeng",
    "flip_near_boundary",
    "make_noisy_labels",
    "matched_target",
    "pair_noise",
    "random_noise",
    "uniform_noise",
]
