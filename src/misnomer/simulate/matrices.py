"""Noise matrices P(given label | true class): rows given, columns true, columns sum to one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "RandomState",
    "class_conditional_noise",
    "pair_noise",
    "random_noise",
    "uniform_noise",
]

RandomState = int | np.random.SeedSequence | np.random.Generator | None


def uniform_noise(n_classes: int, rate: float) -> NDArray[np.float64]:
    """Return the channel that sends a share ``rate`` of each class evenly to the other classes.

    channel[y, z] = 1 - rate where y = z, rate / (K - 1) elsewhere.

    Examples
    --------
    >>> uniform_noise(3, 0.5)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    return class_conditional_noise(np.full(_class_count(n_classes), rate))


def pair_noise(n_classes: int, rate: float) -> NDArray[np.float64]:
    """Return the channel that sends a share ``rate`` of each class to the next, cyclically.

    channel[y, z] = 1 - rate where y = z, rate where y = z + 1 modulo K.

    Examples
    --------
    >>> pair_noise(3, 0.25)
    array([[0.75, 0.  , 0.25],
           [0.25, 0.75, 0.  ],
           [0.  , 0.25, 0.75]])
    """
    stay = np.eye(_class_count(n_classes))
    rate = float(_rates(rate)[()])
    channel: NDArray[np.float64] = (1 - rate) * stay + rate * np.roll(stay, 1, axis=0)
    return channel


def class_conditional_noise(rates: ArrayLike) -> NDArray[np.float64]:
    """Return the channel where true class z is mislabeled with probability ``rates[z]``.

    channel[y, z] = 1 - rates[z] where y = z, rates[z] / (K - 1) elsewhere. With two classes these
    are the flips of Denis et al., rates = (eta0, eta1).

    Examples
    --------
    >>> class_conditional_noise([0.2, 0.5])
    array([[0.8, 0.5],
           [0.2, 0.5]])
    """
    checked = _rates(rates)
    if checked.ndim != 1:
        raise ValueError(f"rates has shape {checked.shape}: give a list, one rate per true class.")
    n_classes = _class_count(len(checked))
    channel = np.tile(checked / (n_classes - 1), (n_classes, 1))
    np.fill_diagonal(channel, 1 - checked)
    return channel


def random_noise(
    n_classes: int,
    diagonal: tuple[float, float] = (0.55, 0.65),
    *,
    random_state: RandomState = None,
) -> NDArray[np.float64]:
    """Draw a channel as Zeng et al. do.

    channel[z, z] ~ U[low, high); the rest of column z is (1 - channel[z, z]) Dirichlet(1, ..., 1).

    Examples
    --------
    >>> random_noise(3, (0.55, 0.65), random_state=0).round(2)
    array([[0.61, 0.3 , 0.09],
           [0.  , 0.58, 0.35],
           [0.38, 0.12, 0.55]])
    """
    ends = _rates(diagonal)
    if ends.shape != (2,) or ends[0] > ends[1]:
        raise ValueError(f"diagonal is {diagonal}: give two numbers, the lower end first.")
    n_classes = _class_count(n_classes)
    rng = np.random.default_rng(random_state)
    kept = rng.uniform(ends[0], ends[1], size=n_classes)
    others = rng.dirichlet(np.ones(n_classes - 1), size=n_classes)
    channel = np.empty((n_classes, n_classes))
    for true in range(n_classes):
        channel[:, true] = np.insert((1 - kept[true]) * others[true], true, kept[true])
    return channel


def _rates(rates: ArrayLike) -> NDArray[np.float64]:
    """Return rates as floats after checking that each is a probability."""
    checked = np.asarray(rates, dtype=np.float64)
    outside = ~((checked >= 0) & (checked <= 1))
    if outside.any():
        raise ValueError(
            f"The rate {checked[outside].flat[0]:g} is outside [0, 1]: give a share of the labels."
        )
    return checked


def _class_count(n_classes: int) -> int:
    """Return the number of classes after checking that there are two to confuse."""
    if n_classes != int(n_classes) or n_classes < 2:
        raise ValueError(f"There are {n_classes} classes: noise needs a whole number, at least 2.")
    return int(n_classes)
