"""Symbols counted under two doubtful labels, and what is believed of them: checked once, here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

MIN_DIRICHLET = 1e-9  # tested down to here; all digits are kept


@dataclass(frozen=True)
class LabeledCounts:
    """How often each symbol was seen under each given label, and what is believed of the labels."""

    counts: Counts  # (2, m): rows of each given class (first axis) showing each symbol
    # P(true class is the other one | given class), for given class 0 and 1
    alpha: tuple[float, float]
    dirichlet: Array  # (m,): dirichlet parameter of each symbol
    # sum of the parameters over *all* symbols, those without a column in ``counts`` too
    total: float

    @property
    def sizes(self) -> Counts:
        """Rows per given class."""
        return np.asarray(self.counts.sum(axis=1))


def labeled_counts(
    counts: ArrayLike,
    *,
    alpha: float | Sequence[float] = 0.0,
    dirichlet: ArrayLike = 1.0,
    n_symbols: int | None = None,
) -> LabeledCounts:
    """Check the input of the exact solver and bring it to one form.

    Examples
    --------
    >>> labeled_counts([[3, 1], [0, 2]], alpha=0.1, n_symbols=4).total
    4.0
    """
    table = checked_counts(counts)
    if table.ndim != 2 or table.shape[0] != 2:
        raise ValueError(
            f"Counts must have one row per class and two classes, not shape {table.shape}."
        )
    seen = table.shape[1]
    parameters = checked_dirichlet(dirichlet, seen)
    if n_symbols is None:
        return LabeledCounts(table, alpha_pair(alpha), parameters, float(parameters.sum()))
    if n_symbols < max(2, seen):
        raise ValueError(
            f"M = {n_symbols} symbols are too few: give at least {max(2, seen)}, "
            "the number of symbols in the counts and never less than 2."
        )
    if np.ndim(dirichlet) > 0 and n_symbols > seen:
        raise ValueError(
            "A Dirichlet parameter per symbol needs every symbol in the counts: "
            f"give {n_symbols} columns, or one number as dirichlet."
        )
    total = float(parameters.sum() + (n_symbols - seen) * parameters[0])
    return LabeledCounts(table, alpha_pair(alpha), parameters, total)


def alpha_pair(alpha: float | Sequence[float], below: float = 0.5) -> tuple[float, float]:
    """Return the mislabeling probability of each given class, checked to lie in [0, below).

    Examples
    --------
    >>> alpha_pair(0.25), alpha_pair((0.1, 0.0))
    ((0.25, 0.25), (0.1, 0.0))
    """
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if values.shape not in ((1,), (2,)):
        raise ValueError(f"alpha must be one number or a pair, not {len(values)} numbers.")
    if not np.all((values >= 0.0) & (values < below)):
        end = "1/2" if below == 0.5 else f"{below:g}"
        raise ValueError(f"alpha must lie in [0, {end}), but it is {alpha}.")
    return float(values[0]), float(values[-1])


def checked_counts(counts: ArrayLike) -> Counts:
    """Return counts as whole numbers, refusing negative and fractional ones.

    Examples
    --------
    >>> checked_counts([2.0, 0.0])
    array([2, 0])
    """
    values = np.asarray(counts, dtype=np.float64)
    if not np.all(np.isfinite(values)) or np.any(values < 0) or np.any(values != np.floor(values)):
        raise ValueError("Counts must be whole numbers that are not negative.")
    return values.astype(np.int64)


def checked_dirichlet(dirichlet: ArrayLike, n_symbols: int) -> Array:
    """Return one positive Dirichlet parameter per symbol.

    Examples
    --------
    >>> checked_dirichlet(0.5, 2)
    array([0.5, 0.5])
    """
    values = np.asarray(dirichlet, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_symbols):
        raise ValueError(
            f"dirichlet must be one number or one per symbol ({n_symbols}), "
            f"not shape {values.shape}."
        )
    if not np.all((values >= MIN_DIRICHLET) & np.isfinite(values)):
        raise ValueError(f"dirichlet must be finite and at least {MIN_DIRICHLET}.")
    return np.broadcast_to(values, (n_symbols,)).astype(np.float64)
