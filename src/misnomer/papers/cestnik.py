"""Cestnik: one formula, three ways to estimate its probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import _safe_indexing

from misnomer.classifiers import labels
from misnomer.kernels.blocks import Codes
from misnomer.kernels.reference import softmax
from misnomer.papers.preset import Preset
from misnomer.solvers.counts import bayes

Array = NDArray[np.float64]


class Bayes1(Preset):
    """Relative frequencies: ``P(C | V) = n(CV) / n(V)``; a value never seen says nothing.

    Where a factor is 0 for every class, the class with the fewest zeros is taken.

    Examples
    --------
    >>> X = [["sunny"], ["sunny"], ["rain"], ["rain"]]
    >>> Bayes1().fit(X, ["no", "no", "yes", "no"]).predict_proba([["rain"]]).round(2).tolist()
    [[0.5, 0.5]]
    """

    channel = "identity"
    families = "categorical"
    solver = staticmethod(partial(bayes, rule="frequency"))

    def predict_log_proba(self, X: Any) -> Array:
        """Take the logarithm; a class that a zero rules out has minus infinity."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class Bayes2(Preset):
    """Laplace's law of succession: ``P(C | V) = (n(CV) + 1) / (n(V) + 2)``.

    A value never seen has the factor ``1 / (2 P(C))``, as the formula says.

    Examples
    --------
    >>> X = [["sunny"], ["sunny"], ["rain"], ["rain"]]
    >>> Bayes2().fit(X, ["no", "no", "yes", "no"]).predict_proba([["rain"]]).round(2).tolist()
    [[0.5, 0.5]]
    """

    channel = "identity"
    families = "categorical"
    solver = staticmethod(partial(bayes, rule="laplace"))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Score each class; values that were never seen count too."""
        scores = super().predict_joint_log_proba(X)
        return scores - self._unseen(X)[:, None] * np.log(2 * self.class_prior_)

    def predict_proba(self, X: Any) -> Array:
        """Make the scores sum to one."""
        return softmax(self.predict_joint_log_proba(X))[0]

    def _unseen(self, X: Any) -> Array:
        """Count the values of each row that no training row had."""
        blocks = [block for block in self._batch(X).blocks if isinstance(block, Codes)]
        known = sum(((block.codes < block.sizes).sum(axis=1) for block in blocks), np.zeros(1))
        cells = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=object)
        used = [c.kind != "ignored" for c in self.model_.schema.columns]
        gaps = np.stack([labels.missing(cells[:, j]) for j in np.flatnonzero(used)], axis=1)
        return (~gaps).sum(axis=1) - known


@dataclass(kw_only=True, eq=False, repr=False)
class Bayes3(Preset):
    """The m-estimate: ``P(C | V) = (n(CV) + m P(C)) / (n(V) + m)``.

    Parameters
    ----------
    m : float
        How many examples the class prior is worth; larger where labels are noisier.

    Examples
    --------
    >>> X = [["sunny"], ["sunny"], ["rain"], ["rain"]]
    >>> Bayes3().fit(X, ["no", "no", "yes", "no"]).predict_proba([["rain"]]).round(3).tolist()
    [[0.583, 0.417]]
    """

    channel = "identity"
    families = "categorical"

    m: float = 2.0

    @property
    def solver(self) -> Any:
        """The m-estimate with this m."""
        if not self.m > 0:
            raise ValueError(f"m must be positive, not {self.m}; Bayes1 is the limit m = 0")
        return partial(bayes, rule="m", m=self.m)


def accuracy_against_m(
    X: Any,
    y: Any,
    ms: Sequence[float],
    *,
    n_splits: int = 10,
    train_size: float = 0.7,
    random_state: int = 0,
) -> tuple[Array, Array, Array]:
    """Measure Bayes3 for several m on the same random splits.

    Returns
    -------
    ms, mean, spread : arrays
        The values of m, the mean accuracy over the splits, and its standard deviation.

    Examples
    --------
    >>> X = [["sunny"], ["rain"]] * 20
    >>> ms, mean, spread = accuracy_against_m(X, ["no", "yes"] * 20, [1, 10], n_splits=2)
    >>> mean.tolist()
    [1.0, 1.0]
    """
    y = np.asarray(y)
    split = ShuffleSplit(n_splits, train_size=train_size, random_state=random_state)
    parts = list(split.split(np.zeros((len(y), 1))))

    def score(m: float, train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
        clf = Bayes3(m=m).fit(_safe_indexing(X, train), y[train])
        return float(clf.score(_safe_indexing(X, test), y[test]))

    scores = np.array([[score(m, *part) for part in parts] for m in ms])
    return np.array(ms, np.float64), scores.mean(axis=1), scores.std(axis=1)
