"""Measuring classifiers where labels are wrong.

Accuracy on true labels from noisy ones: equation (3) of Denis et al., for any channel.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.channel import Channel, checked_matrix
from misnomer.estimate import Estimate, normal_quantile
from misnomer.simulate.noise import as_labels, encode_labels

__all__ = [
    "corrected_accuracy",
    "corrected_joint",
    "corrected_risk",
    "measure_mislabeling_impact",
    "mislabeling_impact",
    "noise_corrected_accuracy",
]

Array = NDArray[np.float64]

# Beyond this an error of 1e-6 in the channel is an error of one in the answer.
MAX_CONDITION = 1e6
# So many standard errors outside [0, 1] are not chance.
MAX_STANDARD_ERRORS_OUTSIDE = 5.0


def corrected_accuracy(
    y_given: Iterable[Any],
    y_pred: Iterable[Any],
    channel: ArrayLike | Channel,
    *,
    labels: Sequence[Any] | None = None,
    given_labels: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.90,
) -> Estimate:
    """Estimate P(prediction = true class) from given labels and the channel that made them.

    With G[y, f] = P(given y, predicted f) and channel R, G = R J where J[z, f] is the joint of true
    class and prediction, so J = R^-1 G and the accuracy is its trace (Denis et al., eq. 3, for any
    number of classes). Predictions must not depend on the given labels of these rows.

    Parameters
    ----------
    y_given : sequence of n labels
        The noisy labels of the test set. Rows without one are left out.
    y_pred : sequence of n labels
        The predicted classes.
    channel : array (L, K), or a channel
        P(given | true), taken as known: the interval holds no doubt about it.
    labels : sequence of K labels, optional
        The true classes, in the order of the channel's columns; by default the sorted labels seen.
    given_labels : sequence of L labels, optional
        The given labels, in the order of its rows; by default the same as ``labels``.
    sample_weight : array (n,), optional
        The weight of each row; only ratios of weights matter.
    confidence : float, default .90
        The coverage of the interval.

    Returns
    -------
    Estimate
        Kept within [0, 1]. The interval is that of the delta method, with the pseudo-rows of
        Agresti and Coull, so that it does not shrink to a point where every prediction is right.

    Examples
    --------
    Of ten rows eight agree with their label; a fifth of the labels is wrong, which explains it.

    >>> given = [0, 0, 0, 0, 1, 1, 1, 1, 0, 1]
    >>> guess = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]
    >>> print(corrected_accuracy(given, guess, [[0.8, 0.2], [0.2, 0.8]]))
    1.000 (90% interval 0.555 to 1.000)
    """
    z = normal_quantile(confidence)
    test = _noisy_test(y_given, y_pred, channel, labels, given_labels, sample_weight)
    value, _ = _mean_and_variance(test.joint, test.inverse)
    _refuse_impossible(value, test)
    center, variance = _mean_and_variance(_agresti_coull(test, z), test.inverse)
    # Clipping the center moves it toward every possible accuracy: no coverage is lost.
    center = _clip(center)
    reach = z * float(np.sqrt(variance / (test.size + z**2)))
    value = _clip(value)
    low, high = _clip(min(center - reach, value)), _clip(max(center + reach, value))
    return Estimate(value, low, high, confidence)


def corrected_risk(
    y_given: Iterable[Any],
    y_pred: Iterable[Any],
    channel: ArrayLike | Channel,
    *,
    labels: Sequence[Any] | None = None,
    given_labels: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.90,
) -> Estimate:
    """Estimate the risk P(prediction != true class): one minus `corrected_accuracy`.

    With two classes and channel [[1 - e0, e1], [e0, 1 - e1]] this is Denis et al., eq. 3:
    R = (R_noisy - e1 p - e0 (1 - p)) / (1 - e0 - e1), p the share predicted as class 1.

    Examples
    --------
    Of ten rows four disagree with their label; with e0 = .25, e1 = 0, p = .5 the risk is
    (.4 - .125) / .75.

    >>> given = [0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
    >>> guess = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> print(corrected_risk(given, guess, [[0.75, 0], [0.25, 1]]))
    0.367 (90% interval 0.086 to 0.704)
    """
    return corrected_accuracy(
        y_given,
        y_pred,
        channel,
        labels=labels,
        given_labels=given_labels,
        sample_weight=sample_weight,
        confidence=confidence,
    ).complement()


def corrected_joint(
    y_given: Iterable[Any],
    y_pred: Iterable[Any],
    channel: ArrayLike | Channel,
    *,
    labels: Sequence[Any] | None = None,
    given_labels: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> Array:
    """Estimate J[z, f] = P(true class z, predicted f) = R^-1 G, by least squares where L > K.

    The estimate is unbiased, so a cell may come out below zero. Its trace is the accuracy before
    `corrected_accuracy` brings it into [0, 1]: take that one to average over many test sets.

    Examples
    --------
    >>> corrected_joint([0, 1, 1, 1], [0, 1, 1, 0], [[0.5, 0], [0.5, 1]])
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    test = _noisy_test(y_given, y_pred, channel, labels, given_labels, sample_weight)
    return test.inverse @ test.joint


@dataclass(frozen=True, eq=False)
class _NoisyTest:
    """A test set in numbers."""

    joint: Array  # (L, K)  G[y, f] = P(given y, predicted f)
    matrix: Array  # (L, K)  R
    inverse: Array  # (K, L)  R^-1, or the pseudo-inverse
    size: float  # the number of rows, less where weights differ


def _noisy_test(
    y_given: Iterable[Any],
    y_pred: Iterable[Any],
    channel: ArrayLike | Channel,
    labels: Sequence[Any] | None,
    given_labels: Sequence[Any] | None,
    sample_weight: ArrayLike | None,
) -> _NoisyTest:
    """Validate and count."""
    matrix = checked_matrix(channel)
    inverse = _inverse(matrix)
    given, predicted = as_labels(y_given), as_labels(y_pred)
    _same_length("y_given", len(given), "y_pred", len(predicted))
    rows, columns = _names(given, predicted, matrix.shape, given_labels, labels)
    y = encode_labels(given, rows)[1]
    f = encode_labels(predicted, columns)[1]
    if (f < 0).any():
        raise ValueError(f"Row {int((f < 0).argmax())} has no prediction: predict every row.")
    weight = _weights(sample_weight, len(y)) * (y >= 0)
    if weight.sum() == 0:
        raise ValueError("No row has a given label and a weight: give at least one such row.")
    joint = np.zeros(matrix.shape)
    np.add.at(joint, (y, f), weight)
    size = float(weight.sum() ** 2 / (weight**2).sum())
    return _NoisyTest(joint / weight.sum(), matrix, inverse, size)


def _inverse(matrix: Array) -> Array:
    """Return the pseudo-inverse of a channel that can be turned round."""
    n_given, n_true = matrix.shape
    if n_true < 2:
        raise ValueError("The channel has one true class: accuracy needs at least two.")
    if n_given < n_true or np.linalg.cond(matrix) > MAX_CONDITION:
        raise ValueError(
            "The channel cannot be inverted, since it gives some true classes (or mixtures of "
            "them) the same labels: no accuracy on true labels can be read from labels like these."
        )
    invert = np.linalg.inv if n_given == n_true else np.linalg.pinv
    return np.asarray(invert(matrix), dtype=np.float64)


def _names(
    given: NDArray[Any],
    predicted: NDArray[Any],
    shape: tuple[int, ...],
    given_labels: Sequence[Any] | None,
    labels: Sequence[Any] | None,
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return what the rows and the columns of the channel stand for."""
    square = shape[0] == shape[1]
    if labels is None:
        seen = [*predicted.tolist(), *(given.tolist() if square else [])]
        labels = encode_labels(seen)[2]
    if given_labels is None:
        given_labels = labels if square else encode_labels(given)[2]
    sizes = (len(given_labels), len(labels))
    if sizes != shape:
        raise ValueError(
            f"The channel has shape {shape} for {sizes[0]} given labels and {sizes[1]} classes: "
            "name its columns with labels= and its rows with given_labels=."
        )
    return given_labels, labels


def _weights(sample_weight: ArrayLike | None, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(f"sample_weight must hold {n} finite numbers, none below zero.")
    return weight


def _mean_and_variance(joint: Array, inverse: Array) -> tuple[float, float]:
    """Return the mean and the variance under G of the score R^-1[f, y]; the mean is tr(R^-1 G)."""
    score = inverse.T
    mean = float((joint * score).sum())
    return mean, float((joint * (score - mean) ** 2).sum())


def _joint_at(accuracy: float, test: _NoisyTest) -> Array:
    """Return G = R J for the same predictions at some accuracy, errors spread evenly."""
    n_true = test.matrix.shape[1]
    truth = np.full((n_true, n_true), (1 - accuracy) / (n_true - 1))
    np.fill_diagonal(truth, accuracy)
    predicted = test.joint.sum(axis=0)
    joint: Array = test.matrix @ (truth * predicted)
    return joint


def _agresti_coull(test: _NoisyTest, z: float) -> Array:
    """Return G after z^2 pseudo-rows, half of them predicted right."""
    pseudo = _joint_at(0.5, test)
    return (test.size * test.joint + z**2 * pseudo) / (test.size + z**2)


def _refuse_impossible(value: float, test: _NoisyTest) -> None:
    """Refuse an accuracy so far outside [0, 1] that the channel must be another one."""
    nearest = _clip(value)
    # At the nearest possible accuracy: the observed spread may be nil by luck in a small test set.
    _, variance = _mean_and_variance(_joint_at(nearest, test), test.inverse)
    error = float(np.sqrt(variance / test.size))
    # A rounding error is no contradiction.
    if abs(value - nearest) > MAX_STANDARD_ERRORS_OUTSIDE * error + 1e-9:
        raise ValueError(
            f"With this channel the accuracy would be {value:.3f}, with a standard error of "
            f"{error:.3f}, so the channel did not make these labels: check that its rows are given "
            "labels and its columns true classes, in the order of labels=."
        )


def _clip(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _same_length(name: str, n: int, other: str, m: int) -> None:
    if n != m:
        raise ValueError(f"{name} has {n} rows and {other} {m}: give as many to both.")


def noise_corrected_accuracy(
    channel: ArrayLike | Channel, *, labels: Sequence[Any] | None = None
) -> Callable[[Any, Any, Any], float]:
    """Build a scorer: accuracy on true labels, by equation (3) of Denis et al., for ``scoring=``.

    The channel must be known from elsewhere: one that was found on the same noisy rows makes the
    score depend on the model that it judges.

    Parameters
    ----------
    channel : array (K, K), or a channel
        P(given | true): rows given, columns true.
    labels : sequence of K labels, optional
        The classes in the order of the channel; by default those of the fitted estimator.

    Returns
    -------
    callable (estimator, X, y) -> float
        y are given labels.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from misnomer.papers import NBCCCN
    >>> from misnomer.simulate import make_noisy_labels, matched_target
    >>> X, true = matched_target(0.9, f_value=0.903).draw(2000, random_state=0)
    >>> channel = [[0.8, 0.5], [0.2, 0.5]]
    >>> given = make_noisy_labels(true, channel, random_state=1)
    >>> scores = cross_val_score(
    ...     NBCCCN(), X, given, cv=3, scoring=noise_corrected_accuracy(channel)
    ... )
    >>> bool(scores.mean() > cross_val_score(NBCCCN(), X, given, cv=3).mean() + 0.1)
    True
    """
    return partial(_score, channel=channel, labels=labels)


def _score(
    estimator: Any, X: Any, y: Any, *, channel: ArrayLike | Channel, labels: Sequence[Any] | None
) -> float:
    """Score a fitted estimator on rows with given labels."""
    named = list(estimator.classes_) if labels is None else labels
    return corrected_accuracy(y, estimator.predict(X), channel, labels=named).value


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
    estimator: Any, X: Any, y_true: Any, y_given: Any, X_test: Any, y_test: Iterable[Any]
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
