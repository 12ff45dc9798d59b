"""Lynch and Willett: the Combined Bayes Test, for labels of two classes wrong at known rates.

And into how many symbols to cut measurements for it: as many as the training data can bear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from misnomer.solvers.exact import Array, alpha_pair, checked_counts, checked_prior, checked_sizes
from misnomer.solvers.exact.error import probability_of_error
from misnomer.solvers.exact.evidence import SymbolTable, symbol_table
from misnomer.solvers.exact.quantization import Method, best_quantization

MIN_LOG_ODDS = 1e-9  # smaller log-odds are rounding: exact ties are common with small counts


@dataclass(eq=False, repr=False)
class CombinedBayesTest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify symbols by the exact Dirichlet evidence of training data with wrong labels.

    A row given class t truly belongs to the other class with probability ``alpha[t]``; the test
    compares ``f(x_0, x_1, y | class 1) prior[1] > f(x_0, x_1, y | class 0) prior[0]``, equation
    (5), where x_0 and x_1 count the symbols of each given class, y those to classify, and f sums
    over all arrangements of wrong labels (4), with a Dirichlet prior on the symbols of each class.
    Where X has several columns, their log evidence ratios add up, as in naive Bayes; with one
    column this is the test of the paper. Two classes only.

    Parameters
    ----------
    alpha : float or pair of float
        P(true class is the other one | given class), in [0, 1/2), in the order of ``classes_``.
    dirichlet : float or array of float
        Dirichlet parameter: 1 is uniform, 1/2 another usual choice; an array gives one parameter
        to each symbol, in the order of ``symbols_``.
    class_prior : pair of float, optional
        P(class) of what will be classified, in the order of ``classes_``; equal by default, because
        the sizes of the training classes are chosen by whoever collects them.
    n_symbols : int or sequence of int, optional
        Number M of symbols, for all columns or for each. A symbol not seen in training then counts
        as one with zero rows. By default M is the number of symbols seen, and others carry no
        evidence.

    Attributes
    ----------
    classes_ : (2,) array
    class_prior_ : pair of float
    symbols_ : list of tuple
        The symbols of each column.
    counts_ : list of (2, m) arrays
        How often each symbol was seen under each given class.
    n_features_in_ : int

    Examples
    --------
    >>> symbols, labels = list("aaabbbbc"), [0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = CombinedBayesTest(alpha=0.1, n_symbols=4).fit(symbols, labels)
    >>> test.predict(["a", "b", "c", "d"])
    array([0, 1, 1, 0])
    >>> test.predict_proba(["a", "b", "c", "d"]).round(3)
    array([[0.784, 0.216],
           [0.322, 0.678],
           [0.37 , 0.63 ],
           [0.506, 0.494]])
    >>> test.predict_batch(["a", "a", "b"])
    np.int64(0)
    """

    probability_of_error = staticmethod(probability_of_error)
    best_quantization = staticmethod(best_quantization)

    alpha: float | Sequence[float] = 0.0
    _: KW_ONLY
    dirichlet: ArrayLike = 1.0
    class_prior: Sequence[float] | None = None
    n_symbols: int | Sequence[int] | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the symbols of each column under each label.

        Parameters
        ----------
        X : (n, d) array, or (n,) array of words or whole numbers
            Symbols: anything that can be told apart.
        y : (n,) array
            Given labels, of two classes.
        sample_weight : (n,) array, optional
            Whole numbers: a row of weight w counts as w equal rows.

        Returns
        -------
        CombinedBayesTest
        """
        rows, labels = validate_data(self, _as_column(X), y, dtype=None)
        _check_target(labels)
        _refuse_missing(rows)
        weights = _whole_weights(sample_weight, rows)
        kept = weights > 0
        self.classes_, given = np.unique(labels[kept], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The rows show one class only ({self.classes_.tolist()[0]!r}): "
                "give rows of two classes."
            )
        prior = (0.5, 0.5) if self.class_prior is None else self.class_prior
        self.class_prior_ = checked_prior(prior)
        self._tables = self._count(rows[kept], given, weights[kept])
        self.symbols_ = [table.symbols for table in self._tables]
        self.counts_ = [table.counts for table in self._tables]
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of classes_[1] for each row; a tie, 0, goes to classes_[0]."""
        columns = self._checked_columns(X)
        ratios = [t.log_ratio(c) for t, c in zip(self._tables, columns, strict=True)]
        return self._odds(np.sum(ratios, axis=0))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log P(class | row), one column per class."""
        return _log_proba(self.decision_function(X))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return P(class | row), one column per class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        odds = self.decision_function(X)
        return np.asarray(self.classes_[(odds > 0).astype(np.int64)])

    def batch_decision(self, X: ArrayLike) -> float:
        """Return the log-odds of classes_[1] for all rows together, known to be of one class.

        The rows are not independent given the training data: each tells about the symbols of its
        class, so this is not the sum of ``decision_function``.
        """
        columns = self._checked_columns(X)
        ratios = [t.batch_log_ratio(c) for t, c in zip(self._tables, columns, strict=True)]
        return float(self._odds(np.array([sum(ratios)]))[0])

    def predict_batch_proba(self, X: ArrayLike) -> Array:
        """Return P(class | all rows are of it), one number per class."""
        return np.asarray(np.exp(_log_proba(np.array([self.batch_decision(X)])))[0])

    def predict_batch(self, X: ArrayLike) -> Any:
        """Return the one class that all rows most probably belong to."""
        return self.classes_[int(self.batch_decision(X) > 0)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _count(
        self, X: NDArray[Any], given: NDArray[np.int64], weights: NDArray[np.int64]
    ) -> list[SymbolTable]:
        d, alpha = X.shape[1], alpha_pair(self.alpha)
        sizes = _per_column(self.n_symbols, d)
        if all(m is None for m in sizes) and all(len(set(column)) == 1 for column in X.T.tolist()):
            raise ValueError(
                "Every column of X holds one symbol only (M = 1): give symbols that differ."
            )
        count = partial(symbol_table, alpha=alpha, dirichlet=self.dirichlet)
        return [
            count(column, given, weights, name=f"Column {j}", n_symbols=sizes[j])
            for j, column in enumerate(X.T.tolist())
        ]

    def _checked_columns(self, X: ArrayLike) -> list[list[object]]:
        check_is_fitted(self)
        listed = _as_column(X) if self.n_features_in_ == 1 else X
        rows = validate_data(self, listed, dtype=None, reset=False)
        _refuse_missing(rows)
        columns: list[list[object]] = rows.T.tolist()
        return columns

    def _odds(self, log_ratio: Array) -> Array:
        odds = log_ratio + np.log(self.class_prior_[1]) - np.log(self.class_prior_[0])
        return np.where(np.abs(odds) < MIN_LOG_ODDS, 0.0, odds)


def _as_column(X: ArrayLike) -> Any:
    """Stand a plain list of words or whole numbers up as one column; leave all else as it is."""
    if hasattr(X, "toarray") or getattr(X, "ndim", 1) != 1:
        return X
    try:
        values = np.asarray(X)
    except ValueError:  # rows of unequal length
        return X
    return values.reshape(-1, 1) if values.ndim == 1 and values.dtype.kind in "biuOSUT" else X


def _check_target(y: NDArray[Any]) -> None:
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )


def _refuse_missing(rows: NDArray[Any]) -> None:
    """Refuse None, which scikit-learn lets pass (NaN it does not)."""
    cells = np.ndindex(rows.shape) if rows.dtype == object else ()
    for row, column in cells:
        if rows[row, column] is None:
            raise ValueError(
                f"Row {row} of column {column} is missing: fill it in, or leave the row out."
            )


def _whole_weights(sample_weight: ArrayLike | None, X: NDArray[Any]) -> NDArray[np.int64]:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if np.any(weights < 0) or np.any(weights != np.floor(weights)):
        raise ValueError("sample_weight must hold whole numbers: the exact test counts rows.")
    if not np.any(weights > 0):
        raise ValueError("All weights are zero: sample_weight must keep rows of two classes.")
    return checked_counts(weights)


def _per_column(n_symbols: int | Sequence[int] | None, d: int) -> list[int | None]:
    """Return the number of symbols of each column, None where it is not said."""
    if n_symbols is None or np.ndim(n_symbols) == 0:
        sizes: list[int | None] = [n_symbols] * d  # type: ignore[list-item]
        return sizes
    listed = [int(m) for m in np.asarray(n_symbols)]
    if len(listed) != d:
        raise ValueError(
            f"n_symbols must be one number or one per column ({d}), not {len(listed)}."
        )
    return list(listed)


def _log_proba(odds: Array) -> Array:
    """Return log P of both classes from the log-odds of the second."""
    return np.stack([-np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)], axis=1)


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
