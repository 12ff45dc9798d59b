"""Planting wrong labels: by a noise matrix, or near the boundary between classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.channel import Channel, checked_matrix
from misnomer.simulate.encoding import Labels, decode_labels, encode_labels
from misnomer.simulate.matrices import RandomState

__all__ = ["flip_near_boundary", "make_noisy_labels"]


def make_noisy_labels(
    y: Labels,
    noise_matrix: ArrayLike | Channel,
    *,
    classes: Sequence[Any] | None = None,
    random_state: RandomState = None,
) -> NDArray[Any]:
    """Draw a given label for every true one.

    P(given = classes[y] | true = classes[z]) = noise_matrix[y, z].

    Parameters
    ----------
    y : sequence of n labels
        True labels of any type. A missing one (None, NaN, NA or "") stays missing.
    noise_matrix : array (K, K)
        Rows given, columns true; columns sum to one.
    classes : sequence of K labels, optional
        What rows and columns stand for; by default the sorted labels of ``y``.
    random_state : int or Generator, optional
        Makes the draw repeatable.

    Returns
    -------
    array (n,)
        Labels of the same type as ``y``.

    Examples
    --------
    >>> make_noisy_labels(["cat", "dog", None, "dog"], [[1, 1], [0, 0]], random_state=0).tolist()
    ['cat', 'cat', None, 'cat']
    """
    matrix = checked_matrix(noise_matrix)
    true, codes, names = encode_labels(y, classes)
    if matrix.shape != (len(names), len(names)):
        raise ValueError(
            f"The noise matrix has shape {matrix.shape} but there are {len(names)} classes: "
            "give one row and one column per class, and name them with classes=."
        )
    uniform = _generator(random_state).random(len(codes))
    return decode_labels(true, _draw_codes(codes, matrix, uniform), names)


def flip_near_boundary(
    y: Labels,
    margin_or_proba: ArrayLike,
    rate: float,
    *,
    spread: float = 0.0,
    classes: Sequence[Any] | None = None,
    random_state: RandomState = None,
) -> NDArray[Any]:
    """Give the rows nearest the boundary the label of the class that comes next.

    The distance of row i is ``abs(p[i, y_i] - max over k != y_i of p[i, k])``, or
    ``abs(margin_i)`` with two classes; the ``rate`` of the labeled rows with the smallest distances
    are flipped. This noise depends on the features, so no noise matrix describes it.

    Parameters
    ----------
    y : sequence of n labels
        True labels; a missing one stays missing and does not count.
    margin_or_proba : array (n,) or (n, K)
        A signed score for two classes, or a probability (or any score) per class.
    rate : float
        The share of the labeled rows to flip, rounded to whole rows.
    spread : float, default 0
        0 flips exactly the nearest rows. Above, rows are drawn without replacement with chances
        proportional to exp(-(rank of the distance / n) / spread): a large spread flips anywhere.
    classes : sequence of K labels, optional
        What the columns stand for; by default the sorted labels of ``y``.
    random_state : int or Generator, optional
        Settles ties, and the draw where spread is not 0.

    Examples
    --------
    >>> flip_near_boundary(
    ...     ["a", "a", "b", "b"], [-3.0, -0.1, 0.5, 2.0], 0.5, random_state=0
    ... ).tolist()
    ['a', 'b', 'a', 'b']
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"The rate {rate:g} is outside [0, 1]: give a share of the labels.")
    if not (spread >= 0 and np.isfinite(spread)):
        raise ValueError(f"spread is {spread}: give 0 for the nearest rows, or a positive number.")
    true, codes, names = encode_labels(y, classes)
    distance, runner_up = _boundary(codes, np.asarray(margin_or_proba, dtype=np.float64), names)
    labeled = np.flatnonzero(codes >= 0)
    rng = _generator(random_state)
    order = rng.permutation(labeled)
    order = order[np.argsort(distance[order], kind="stable")]
    # Gumbel keys draw without replacement in proportion to exp(-rank / spread).
    keys = np.arange(len(order)) / max(len(order), 1) - spread * rng.gumbel(size=len(order))
    flipped = order[np.argsort(keys, kind="stable")[: round(rate * len(order))]]
    codes[flipped] = runner_up[flipped]
    return decode_labels(true, codes, names)


def _draw_codes(
    codes: NDArray[np.intp], matrix: NDArray[np.float64], uniform: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return, per row, the first y with uniform < sum of matrix[:y + 1, true]; -1 stays -1."""
    drawn = codes.copy()
    cumulative = matrix.cumsum(axis=0)
    # Dividing makes the end exactly one, so that a label of probability zero is never drawn.
    cumulative /= cumulative[-1]
    for true in range(matrix.shape[1]):
        rows = codes == true
        drawn[rows] = np.searchsorted(cumulative[:, true], uniform[rows], side="right")
    return drawn


def _boundary(
    codes: NDArray[np.intp], scores: NDArray[np.float64], names: list[Any]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return each row's distance to the boundary and the class on the other side."""
    if scores.shape not in {(len(codes),), (len(codes), len(names))} or len(names) < 2:
        raise ValueError(
            f"The scores have shape {scores.shape} for {len(codes)} labels of {len(names)} "
            "classes: give one score per row and class, or with two classes one margin per row."
        )
    if not np.isfinite(scores).all():
        raise ValueError(
            f"The score in row {np.argwhere(~np.isfinite(scores))[0][0]} is not a finite number: "
            "give a finite margin or probability for every row."
        )
    if scores.ndim == 1:
        if len(names) != 2:
            raise ValueError(
                f"One margin per row cannot rank {len(names)} classes: give a score per class."
            )
        return np.abs(scores), 1 - codes
    rows, own = np.arange(len(codes)), np.maximum(codes, 0)
    others = scores.copy()
    others[rows, own] = -np.inf
    runner_up = others.argmax(axis=1)
    return np.abs(scores[rows, own] - scores[rows, runner_up]), runner_up


def _generator(random_state: RandomState) -> np.random.Generator:
    """Seed a stream apart from ``default_rng(seed)``: the data are often drawn with that one."""
    if isinstance(random_state, int | np.integer):
        return np.random.default_rng([int(random_state), 0x6E6F697365])
    return np.random.default_rng(random_state)
