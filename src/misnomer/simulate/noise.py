"""Planting wrong labels: noise matrices, labels as numbers, errors near the boundary of classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.answers import absent
from misnomer.channel import Channel, checked_matrix

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


Labels = Iterable[Any]


def encode_labels(
    y: Labels, classes: Sequence[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.intp], list[Any]]:
    """Return labels as an array, their positions in ``classes`` (-1 = missing), and the classes.

    Examples
    --------
    >>> encode_labels(["b", None, "a"])[1:]
    (array([ 1, -1,  0]), ['a', 'b'])
    """
    labels = as_labels(y)
    plain = labels.tolist()
    missing = absent(labels).tolist()
    present = [label for label, gone in zip(plain, missing, strict=True) if not gone]
    names = _sorted_classes(present) if classes is None else _checked_classes(classes)
    position: dict[Hashable, int] = {name: k for k, name in enumerate(names)}
    for row, (label, gone) in enumerate(zip(plain, missing, strict=True)):
        if not gone and label not in position:
            raise ValueError(
                f"The label {label!r} in row {row} is not among the classes {names}: "
                "add it to classes= or correct it."
            )
    codes = [-1 if gone else position[x] for x, gone in zip(plain, missing, strict=True)]
    return labels, np.array(codes, dtype=np.intp), names


def as_labels(y: Labels) -> NDArray[Any]:
    """Return labels as a 1-D array, keeping the type of each where a list mixes types."""
    # NumPy would turn ["a", nan] into two strings; objects stay what they are.
    listed = isinstance(y, list | tuple)
    labels = np.array(y, dtype=object) if listed else np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"The labels have shape {labels.shape}: give one label per row.")
    return labels


def decode_labels(labels: NDArray[Any], codes: NDArray[np.intp], names: list[Any]) -> NDArray[Any]:
    """Return labels with every present one replaced by the class at its code.

    Examples
    --------
    >>> decode_labels(np.array(["b", "", "a"]), np.array([0, -1, 0]), ["a", "b"]).tolist()
    ['a', '', 'a']
    """
    decoded = labels.astype(_common_type(labels.dtype, names))
    named = np.empty(len(names), dtype=decoded.dtype)
    named[:] = names
    present = codes >= 0
    decoded[present] = named[codes[present]]
    return decoded


def _sorted_classes(present: list[Any]) -> list[Any]:
    try:
        return sorted(set(present))
    except TypeError:
        raise ValueError(
            "The labels are of types that cannot be sorted together: name them with classes=."
        ) from None


def _checked_classes(classes: Sequence[Any]) -> list[Any]:
    listed = as_labels(classes)
    names: list[Any] = listed.tolist()
    if absent(listed).any():
        raise ValueError("classes= holds a missing label: name only the classes themselves.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"classes= names {twice!r} twice: name each class once.")
    return names


def _common_type(dtype: np.dtype[Any], names: list[Any]) -> np.dtype[Any]:
    """Return the type of the labels where it holds every class unchanged, else a wider one."""
    if dtype.kind == "U" and all(isinstance(name, str) for name in names):
        return np.result_type(dtype, np.array(names, dtype=str))
    try:
        kept = np.array(names, dtype=dtype).tolist() == names
    except (TypeError, ValueError, OverflowError):
        kept = False
    return dtype if kept else np.dtype(object)


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
