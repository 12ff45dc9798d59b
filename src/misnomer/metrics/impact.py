"""What wrong training labels cost."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from misnomer.simulate.encoding import as_labels

__all__ = ["measure_mislabeling_impact", "mislabeling_impact"]


def mislabeling_impact(accuracy_noisy: float, accuracy_clean: float) -> float:
    """Return what wrong training labels do to the accuracy: noisy minus clean, below zero for harm.

    This is the Delta ACC of Zeng et al.; both accuracies are of the same method on the same test
    rows, both as shares or both in percent.

    Examples
    --------
    >>> round(mislabeling_impact(66.0, 88.2), 1)
    -22.2
    """
    impact = float(accuracy_noisy) - float(accuracy_clean)
    if not np.isfinite(impact):
        raise ValueError(
            f"The accuracies are {accuracy_noisy} and {accuracy_clean}: give two finite numbers."
        )
    return impact


def measure_mislabeling_impact(
    estimator: Any,
    X: Any,
    y_true: Any,
    y_given: Any,
    X_test: Any,
    y_test: Iterable[Any],
) -> float:
    """Fit copies of an estimator on given and on true labels; return the `mislabeling_impact`.

    Parameters
    ----------
    estimator : object with fit and predict
        Left as it is: copies are fitted.
    X, y_true, y_given : n rows and their true and given labels
    X_test, y_test : rows and true labels to score on

    Examples
    --------
    >>> class Majority:
    ...     def fit(self, X, y):
    ...         self.label_ = max(set(y), key=list(y).count)
    ...
    ...     def predict(self, X):
    ...         return [self.label_] * len(X)
    >>> measure_mislabeling_impact(Majority(), [0, 1, 2], "aab", "abb", [3, 4], ["a", "a"])
    -1.0
    """
    truth = as_labels(y_test)
    scores = []
    for labels in (y_given, y_true):
        fitted = copy.deepcopy(estimator)
        fitted.fit(X, labels)
        predicted = as_labels(fitted.predict(X_test))
        if len(predicted) != len(truth):
            raise ValueError(
                f"X_test has {len(predicted)} rows and y_test {len(truth)}: give as many to both."
            )
        scores.append(float(np.mean(predicted == truth)))
    return mislabeling_impact(*scores)
