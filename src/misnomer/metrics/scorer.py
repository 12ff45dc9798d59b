"""Equation 3 as a scikit-learn scorer: accuracy on true labels from rows whose labels are noisy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from misnomer.metrics.corrected import corrected_accuracy
from misnomer.simulate.matrices import HasMatrix

__all__ = ["noise_corrected_accuracy"]


def noise_corrected_accuracy(
    channel: ArrayLike | HasMatrix, *, labels: Sequence[Any] | None = None
) -> NoiseCorrectedAccuracy:
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
    return NoiseCorrectedAccuracy(channel, labels)


@dataclass(frozen=True)
class NoiseCorrectedAccuracy:
    """A scorer: what `noise_corrected_accuracy` returns."""

    channel: ArrayLike | HasMatrix
    labels: Sequence[Any] | None = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score a fitted estimator on rows with given labels."""
        named = list(estimator.classes_) if self.labels is None else self.labels
        return corrected_accuracy(y, estimator.predict(X), self.channel, labels=named).value
