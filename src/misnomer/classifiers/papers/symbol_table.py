"""One discrete column under two doubtful labels: which symbols, how often, and what they tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.solvers.exact.counts import Array, Counts, labeled_counts
from misnomer.solvers.exact.evidence import log_evidence, predictive


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """The counts of a column's symbols and the exact evidence that each carries.

    Attributes
    ----------
    name : str
        The column, for messages.
    symbols : tuple
        The symbols seen in training, in order.
    counts : (2, m) array
        Rows of each given class showing each symbol.
    alpha : pair of float
        P(true class is the other one | given class).
    dirichlet : float or (m,) array
    n_symbols : int or None
        How many symbols there are; None stands for those seen.
    log_predictive : (2, m + 1) array
        Log P(symbol | class); the last column is a symbol not seen in training.
    """

    name: str
    symbols: tuple[object, ...]
    counts: Counts
    alpha: tuple[float, float]
    dirichlet: ArrayLike
    n_symbols: int | None
    log_predictive: Array

    def codes(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the place of each symbol in ``symbols``; m, m + 1, ... are new ones."""
        place: dict[object, int] = {symbol: i for i, symbol in enumerate(self.symbols)}
        codes = np.array([place.setdefault(v, len(place)) for v in values], dtype=np.int64)
        if self.n_symbols is not None and len(place) > self.n_symbols:
            raise ValueError(
                f"{self.name} shows {list(place)[self.n_symbols]!r}, one symbol more than "
                f"n_symbols={self.n_symbols}: raise n_symbols."
            )
        return codes

    def log_ratio(self, values: Iterable[object]) -> Array:
        """Return log P(symbol | class 1) - log P(symbol | class 0) of each value."""
        codes = np.minimum(self.codes(values), len(self.symbols))
        return np.asarray(self.log_predictive[1, codes] - self.log_predictive[0, codes])

    def batch_log_ratio(self, values: Iterable[object]) -> float:
        """Return the same for all values together, known to be of one class."""
        codes = self.codes(values)
        if self.n_symbols is None:
            codes = codes[codes < len(self.symbols)]
        test = np.bincount(codes, minlength=len(self.symbols))
        new = len(test) - len(self.symbols)
        training = labeled_counts(
            np.pad(self.counts, ((0, 0), (0, new))),
            alpha=self.alpha,
            dirichlet=self.dirichlet,
            n_symbols=self.n_symbols,
        )
        return log_evidence(training, test, 1) - log_evidence(training, test, 0)


def symbol_table(
    values: Iterable[object],
    given: NDArray[np.int64],
    weights: NDArray[np.int64],
    *,
    name: str,
    alpha: tuple[float, float],
    dirichlet: ArrayLike = 1.0,
    n_symbols: int | None = None,
) -> SymbolTable:
    """Count the symbols of a column under each given class, and weigh them.

    Examples
    --------
    >>> given, ones = np.array([0, 0, 1, 1]), np.ones(4, dtype=int)
    >>> table = symbol_table("aabb", given, ones, name="Column 0", alpha=(0.0, 0.0))
    >>> table.symbols, np.exp(table.log_ratio("ab")).round(9)
    (('a', 'b'), array([0.33333333, 3.        ]))
    """
    column = list(values)
    symbols = _sorted(set(column))
    place = {symbol: i for i, symbol in enumerate(symbols)}
    codes = np.array([place[v] for v in column], dtype=np.int64)
    counts = np.zeros((2, len(symbols)), dtype=np.int64)
    np.add.at(counts.reshape(-1), given * len(symbols) + codes, weights)
    seen = _log_predictive(counts, alpha, dirichlet, n_symbols)
    unseen = np.zeros((2, 1))  # no evidence, where the number of symbols leaves no room
    if n_symbols is not None and n_symbols > len(symbols):
        wider = np.pad(counts, ((0, 0), (0, 1)))
        unseen = _log_predictive(wider, alpha, dirichlet, n_symbols)[:, -1:]
    logs = np.concatenate([seen, unseen], axis=1)
    return SymbolTable(name, symbols, counts, alpha, dirichlet, n_symbols, logs)


def _log_predictive(
    counts: Counts, alpha: tuple[float, float], dirichlet: ArrayLike, n_symbols: int | None
) -> Array:
    training = labeled_counts(counts, alpha=alpha, dirichlet=dirichlet, n_symbols=n_symbols)
    return np.log(predictive(training))


def _sorted(symbols: set[object]) -> tuple[object, ...]:
    try:
        return tuple(sorted(symbols))  # type: ignore[type-var]
    except TypeError:  # words and numbers in one column have no order of their own
        return tuple(sorted(symbols, key=lambda s: (type(s).__name__, str(s))))
