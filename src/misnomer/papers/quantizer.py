"""Cut measurements into as many symbols as the training data can bear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from misnomer.solvers.exact.error import checked_sizes
from misnomer.solvers.exact.quantization import Method, best_quantization

MAX_ROWS_EXACT = 20  # in both classes together: a second or two


@dataclass(eq=False, repr=False)
class BestQuantizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Bin each column at quantiles, into the number of bins with the smallest P(e).

    With few bins classes look alike, with many each holds too few rows to learn from: P(e) of the
    Combined Bayes Test (6) is smallest at some number between, ``M* = argmin_M P(e; M)``, which
    depends on the rows per class and on how many labels are wrong. Up to 20 rows in both classes
    together M* comes from exact enumeration; beyond, from the best rule that looks at the observed
    symbol's own counts only (:func:`misnomer.solvers.exact.quantization.best_quantization`).

    Parameters
    ----------
    alpha : float or pair of float
        P(true class is the other one | given class), in [0, 1/2), in the order of sorted labels.
    n_per_class : int or pair of int, optional
        Rows per given class; by default counted in y, or half of the rows where y is absent or does
        not hold two classes.
    dirichlet : float
        Dirichlet parameter of each symbol.

    Attributes
    ----------
    n_bins_ : int
        M*; a column with many equal values may get fewer bins.
    method_ : {"exact", "own-counts"}
        How M* was found.
    bin_edges_ : list of arrays
        The inner edges of each column; a value on an edge belongs to the bin above.
    n_features_in_ : int

    Examples
    --------
    >>> X, y = np.arange(10.0).reshape(-1, 1), np.repeat([0, 1], 5)
    >>> cut = BestQuantizer(alpha=0.1).fit(X, y)
    >>> cut.n_bins_, cut.method_, cut.transform([[-1.0], [4.5], [99.0]]).ravel()
    (3, 'exact', array([0, 1, 2]))
    """

    alpha: float | Sequence[float] = 0.0
    _: KW_ONLY
    n_per_class: int | Sequence[int] | None = None
    dirichlet: float = 1.0

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the number of bins and the edges of each column."""
        rows: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        sizes = self._sizes(len(rows), y)
        self.method_: Method = "exact" if sum(sizes) <= MAX_ROWS_EXACT else "own-counts"
        self.n_bins_ = best_quantization(
            sizes, self.alpha, dirichlet=self.dirichlet, method=self.method_
        )
        self.bin_edges_ = [inner_edges(column, self.n_bins_) for column in rows.T]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the bin of each value, counted from zero."""
        check_is_fitted(self)
        rows: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=False)
        bins = [
            np.searchsorted(edges, column, side="right")
            for edges, column in zip(self.bin_edges_, rows.T, strict=True)
        ]
        return np.stack(bins, axis=1).astype(np.int64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _sizes(self, n: int, y: ArrayLike | None) -> tuple[int, int]:
        if self.n_per_class is not None:
            return checked_sizes(self.n_per_class)
        if y is not None:
            _, counts = np.unique(np.asarray(y), return_counts=True)
            if len(counts) == 2:
                return int(counts[0]), int(counts[1])
        return max(1, n // 2), max(1, n // 2)


def inner_edges(column: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    """Return the distinct quantiles 1/n_bins, 2/n_bins, ... that leave no bin empty.

    Examples
    --------
    >>> inner_edges(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]), 3)
    array([1.33333333])
    """
    edges = np.unique(np.quantile(column, np.arange(1, n_bins) / n_bins))
    return np.asarray(edges[edges > column.min()], dtype=np.float64)
