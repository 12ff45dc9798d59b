"""The targets of two papers: naive Bayes over {0, 1}^d with exact answers, and Zeng's flags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.simulate.noise import RandomState, make_noisy_labels, random_noise

MAX_COLUMNS = 16
MAX_SEEDS = 10_000


@dataclass(frozen=True, eq=False)
class BinaryTarget:
    """A naive Bayes distribution over d flags and two classes.

    P(x, y) = P(y) prod_j P(x_j | y), the model of Denis et al., section 5.1.

    Parameters
    ----------
    prior : float
        P(y = 1).
    positive, negative : array (d,)
        P(x_j = 1 | y = 1) and P(x_j = 1 | y = 0).

    Examples
    --------
    >>> target = BinaryTarget(0.5, [0.75], [0.25])
    >>> target.bayes_predictions()
    array([0, 1])
    >>> target.bayes_accuracy()
    0.75
    >>> target.regret([1, 1])
    0.25
    """

    prior: float
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]

    def __init__(self, prior: float, positive: ArrayLike, negative: ArrayLike) -> None:
        """Check and freeze the parameters."""
        given = {"prior": prior, "positive": positive, "negative": negative}
        arrays = {name: np.array(value, dtype=np.float64) for name, value in given.items()}
        for name, array in arrays.items():
            if array.ndim != (name != "prior") or not ((array >= 0) & (array <= 1)).all():
                shape = "one number" if name == "prior" else "a list of numbers"
                raise ValueError(f"{name} is {given[name]}: give {shape} in [0, 1].")
            array.flags.writeable = False
        if arrays["positive"].shape != arrays["negative"].shape:
            raise ValueError(
                f"positive has {arrays['positive'].size} columns and negative "
                f"{arrays['negative'].size}: give as many to both."
            )
        object.__setattr__(self, "prior", float(arrays["prior"]))
        object.__setattr__(self, "positive", arrays["positive"])
        object.__setattr__(self, "negative", arrays["negative"])

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.positive)

    def joint(self) -> NDArray[np.float64]:
        """Return P(x, y) for every cell x, in the order of `all_cells`: an array (2^d, 2)."""
        cells = all_cells(self.d).astype(bool)
        per_class = [
            weight * np.where(cells, ones, 1 - ones).prod(axis=1)
            for weight, ones in ((1 - self.prior, self.negative), (self.prior, self.positive))
        ]
        return np.stack(per_class, axis=1)

    def bayes_predictions(self) -> NDArray[np.intp]:
        """Return argmax over y of P(x, y) for every cell."""
        return np.asarray(self.joint().argmax(axis=1), dtype=np.intp)

    def bayes_accuracy(self) -> float:
        """Return the sum over cells of max over y of P(x, y): the best accuracy there is."""
        return float(self.joint().max(axis=1).sum())

    def accuracy(self, predictions: ArrayLike) -> float:
        """Return P(f(x) = y), the sum over cells of P(x, f(x)), for the classes predicted by cell.

        Examples
        --------
        >>> BinaryTarget(0.5, [0.75], [0.25]).accuracy([1, 0])
        0.25
        """
        chosen = self._as_classes(predictions)
        return float(np.take_along_axis(self.joint(), chosen[:, None], axis=1).sum())

    def regret(self, predictions: ArrayLike) -> float:
        """Return how far the predictions fall short of the Bayes accuracy: never negative."""
        chosen = self._as_classes(predictions)
        joint = self.joint()
        # Summed cell by cell: a difference of two sums could come out as -1e-17.
        lost = joint.max(axis=1) - np.take_along_axis(joint, chosen[:, None], axis=1)[:, 0]
        return float(lost.sum())

    def f_value(self, predictions: ArrayLike) -> float:
        """Return F = 2 TP / (2 TP + FP + FN) of class 1, with exact masses in place of counts.

        Examples
        --------
        >>> BinaryTarget(0.5, [0.75], [0.25]).f_value([0, 1])
        0.75
        """
        positive = self._as_classes(predictions) == 1
        joint = self.joint()
        hits = 2 * joint[positive, 1].sum()
        misses = joint[positive, 0].sum() + joint[~positive, 1].sum()
        # Nothing to find and nothing claimed: by convention a perfect score.
        return float(hits / (hits + misses)) if hits + misses > 0 else 1.0

    def kl_divergence(self, other: BinaryTarget) -> float:
        """Return KL(self || other) over (x, y), infinite where other rules out what self allows.

        KL = KL(prior) + sum_y P(y) sum_j KL(P(x_j | y)); no cell is enumerated, so d is free.

        Examples
        --------
        >>> BinaryTarget(0.5, [0.5], [0.5]).kl_divergence(
        ...     BinaryTarget(0.5, [0.25], [0.5])
        ... ).__round__(4)
        0.0719
        """
        if self.d != other.d:
            raise ValueError(
                f"The targets have {self.d} and {other.d} columns: compare two with as many."
            )
        total = float(_flag_divergence(np.array(self.prior), np.array(other.prior)))
        pairs = ((self.prior, "positive"), (1 - self.prior, "negative"))
        for weight, side in pairs:
            if weight > 0:
                apart = _flag_divergence(getattr(self, side), getattr(other, side))
                total += weight * float(apart.sum())
        return total

    def draw(
        self, n: int, *, random_state: RandomState = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Draw n rows: flags (n, d) and true classes (n,).

        Examples
        --------
        >>> X, y = BinaryTarget(0.5, [1.0, 0.0], [0.0, 1.0]).draw(3, random_state=1)
        >>> (X[:, 0] == y).all(), (X[:, 1] == 1 - y).all()
        (np.True_, np.True_)
        """
        if n < 0:
            raise ValueError(f"n is {n}: give the number of rows to draw.")
        rng = np.random.default_rng(random_state)
        y = (rng.random(n) < self.prior).astype(np.int64)
        ones = np.where(y[:, None] == 1, self.positive, self.negative)
        return (rng.random((n, self.d)) < ones).astype(np.uint8), y

    def _as_classes(self, predictions: ArrayLike) -> NDArray[np.intp]:
        """Return predictions as 0 or 1 per cell."""
        chosen = np.asarray(predictions)
        if chosen.shape != (2**self.d,):
            raise ValueError(
                f"The predictions have shape {chosen.shape}: give one per cell of "
                f"all_cells({self.d}), that is {2**self.d}."
            )
        if not np.isin(chosen, (0, 1)).all():
            cell = int(np.flatnonzero(~np.isin(chosen, (0, 1)))[0])
            raise ValueError(f"The prediction for cell {cell} is {chosen[cell]!r}: give 0 or 1.")
        return chosen.astype(np.intp)


def all_cells(d: int) -> NDArray[np.uint8]:
    """Return every x in {0, 1}^d, counting up in binary, column 0 the highest digit.

    Examples
    --------
    >>> all_cells(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if not 0 <= d <= MAX_COLUMNS:
        raise ValueError(f"{d} columns cannot be enumerated: at most {MAX_COLUMNS} can.")
    return (np.arange(2**d)[:, None] >> np.arange(d)[::-1] & 1).astype(np.uint8)


def draw_binary_target(d: int = 10, random_state: RandomState = None) -> BinaryTarget:
    """Draw a target whose prior and flag probabilities are uniform on [0, 1).

    Examples
    --------
    >>> draw_binary_target(2, random_state=0).positive.round(3)
    array([0.27 , 0.041])
    """
    if d < 1:
        raise ValueError(f"d is {d}: a target needs at least one column.")
    rng = np.random.default_rng(random_state)
    return BinaryTarget(rng.random(), rng.random(d), rng.random(d))


def matched_target(
    bayes_accuracy: float = 0.90,
    *,
    f_value: float | None = None,
    d: int = 10,
    tolerance: float = 0.005,
    first_seed: int = 0,
) -> BinaryTarget:
    """Return the target of the first seed whose Bayes classifier scores about as asked.

    Table 1 of Denis et al. prints an accuracy of .899 and an F value of .903 for its target.

    Parameters
    ----------
    bayes_accuracy : float, default .90
        The accuracy sought.
    f_value : float, optional
        Where given, the F value of the Bayes classifier must match too.
    d : int, default 10
        The number of columns.
    tolerance : float, default .005
        How far off either may be.
    first_seed : int, default 0
        Where the count of seeds starts: another start gives another target.

    Examples
    --------
    >>> round(matched_target(0.90).bayes_accuracy(), 2)
    0.9
    """
    if not 0.5 <= bayes_accuracy <= 1:
        raise ValueError(
            f"bayes_accuracy is {bayes_accuracy:g}: with two classes it is between 0.5 and 1."
        )
    for seed in range(first_seed, first_seed + MAX_SEEDS):
        target = draw_binary_target(d, seed)
        if abs(target.bayes_accuracy() - bayes_accuracy) > tolerance:
            continue
        if (
            f_value is None
            or abs(target.f_value(target.bayes_predictions()) - f_value) <= tolerance
        ):
            return target
    raise ValueError(
        f"None of {MAX_SEEDS} targets has a Bayes accuracy of {bayes_accuracy:g}"
        + ("" if f_value is None else f" and an F value of {f_value:g}")
        + f" within {tolerance:g}: ask for another or widen the tolerance."
    )


def _flag_divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p log(p / q) + (1 - p) log((1 - p) / (1 - q)), with 0 log 0 = 0."""
    total = np.zeros_like(p)
    with np.errstate(divide="ignore"):
        for mine, theirs in ((p, q), (1 - p, 1 - q)):
            ratio = np.divide(mine, theirs, out=np.ones_like(mine), where=mine > 0)
            total = total + mine * np.log(ratio)
    return total


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
