"""The simulation of Zeng et al.: five classes, 500 flags, a random noise matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.simulate.labels import make_noisy_labels
from misnomer.simulate.matrices import RandomState, random_noise

__all__ = ["ZengDraw", "draw_zeng"]

# A flag that is always or never set would give a class an infinite log-probability.
MIN_CLASS_SHARE = 0.001


@dataclass(frozen=True, eq=False)
class ZengDraw:
    """What one run of the simulation drew.

    Attributes
    ----------
    X : array (n, d)
        Flags, 0 or 1.
    given, true : array (n,)
        Labels 0 ... K - 1, as given and as they are. Rows are independent, so the first four
        fifths are as good a training set as any.
    noise_matrix : array (K, K)
        P(given | true), rows given.
    prior : array (K,)
        P(true class), all alike.
    probabilities : array (K, d)
        P(x_j = 1 | true class).
    """

    X: NDArray[np.uint8]
    given: NDArray[np.int64]
    true: NDArray[np.int64]
    noise_matrix: NDArray[np.float64]
    prior: NDArray[np.float64]
    probabilities: NDArray[np.float64]


def draw_zeng(
    n: int,
    d: int = 500,
    n_classes: int = 5,
    diagonal: tuple[float, float] = (0.55, 0.65),
    random_state: RandomState = None,
) -> ZengDraw:
    """Draw parameters, rows, and noisy labels as in the slides of Zeng et al.

    P(x_j = 1 | k) = U_k + N(.65, .06^2), with one U_k ~ U[0, .1) per class; the prior is 1 / K,
    and the noise matrix is that of `random_noise`.

    Examples
    --------
    >>> run = draw_zeng(200, d=50, diagonal=(0.85, 0.95), random_state=0)
    >>> run.X.shape, run.noise_matrix.shape
    ((200, 50), (5, 5))
    >>> float((run.given == run.true).mean().round(3))
    0.91
    """
    if n < 0 or d < 1:
        raise ValueError(f"n is {n} and d is {d}: give numbers of rows and columns to draw.")
    rng = np.random.default_rng(random_state)
    noise_matrix = random_noise(n_classes, diagonal, random_state=rng)
    shift = rng.uniform(0, 0.1, size=(n_classes, 1))
    probabilities = np.clip(
        shift + rng.normal(0.65, 0.06, size=(n_classes, d)), MIN_CLASS_SHARE, 1 - MIN_CLASS_SHARE
    )
    true = rng.integers(n_classes, size=n)
    X = (rng.random((n, d)) < probabilities[true]).astype(np.uint8)
    given = make_noisy_labels(true, noise_matrix, classes=range(n_classes), random_state=rng)
    prior = np.full(n_classes, 1 / n_classes)
    return ZengDraw(X, given, true, noise_matrix, prior, probabilities)
