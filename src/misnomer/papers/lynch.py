"""Lynch and Willett: the Combined Bayes Test, for labels of two classes wrong at known rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from misnomer.solvers.exact.counts import (
    Array,
    Counts,
    LabeledCounts,
    alpha_pair,
    checked_counts,
    labeled_counts,
)
from misnomer.solvers.exact.error import checked_prior, probability_of_error
from misnomer.solvers.exact.evidence import log_evidence, predictive
from misnomer.solvers.exact.quantization import best_quantization

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
    n_symbols : int or None
        How many symbols there are; None stands for those seen.
    believe : callable
        Puts counts beside what is believed of labels and symbols.
    log_predictive : (2, m + 1) array
        Log P(symbol | class); the last column is a symbol not seen in training.
    """

    name: str
    symbols: tuple[object, ...]
    counts: Counts
    n_symbols: int | None
    believe: Callable[[Counts], LabeledCounts]
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
        training = self.believe(np.pad(self.counts, ((0, 0), (0, new))))
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
    believe = partial(labeled_counts, alpha=alpha, dirichlet=dirichlet, n_symbols=n_symbols)
    seen = predictive(believe(counts))
    unseen = np.ones((2, 1))  # no evidence, where the number of symbols leaves no room
    if n_symbols is not None and n_symbols > len(symbols):
        unseen = predictive(believe(np.pad(counts, ((0, 0), (0, 1)))))[:, -1:]
    logs = np.log(np.concatenate([seen, unseen], axis=1))
    return SymbolTable(name, symbols, counts, n_symbols, believe, logs)


def _sorted(symbols: set[object]) -> tuple[object, ...]:
    try:
        return tuple(sorted(symbols))  # type: ignore[type-var]
    except TypeError:  # words and numbers in one column have no order of their own
        return tuple(sorted(symbols, key=lambda s: (type(s).__name__, str(s))))
