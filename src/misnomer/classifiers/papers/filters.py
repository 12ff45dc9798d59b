"""Noise filters (Brodley and Friedl, 1999; Farid et al., 2014): drop suspects, then count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.papers.preset import Preset
from misnomer.smoothing import Smoothing
from misnomer.solvers.counts import counts
from misnomer.solvers.features import Features, features, spelled_features
from misnomer.solvers.task import Fit, Task

_FOLDS = 4  # as Brodley and Friedl have it
_SHARES = {"classification": 0.0, "majority": 0.5, "consensus": 1.0}


def judges(vote: str) -> list[Any]:
    """List who votes: naive Bayes alone, or a tree, nearest neighbors and a linear machine."""
    if vote == "classification":
        return [BernoulliNB(binarize=0.5)]
    return [
        DecisionTreeClassifier(random_state=0),
        KNeighborsClassifier(5),
        LogisticRegression(max_iter=2000),
    ]


class NoiseFilterNB(Preset):
    """Naive Bayes on the rows that a filter leaves: the rest are taken to be mislabeled.

    Every judge predicts each row from the other three quarters of the rows (four folds). A row is
    dropped where too large a share of them predicts another label:
    ``share(prediction != label) > 1/2`` by majority, ``= 1`` by consensus.

    Parameters
    ----------
    vote : {"majority", "consensus", "classification"}
        More than half of three judges (a decision tree, five nearest neighbors, a linear machine)
        must predict another label; or all three; or naive Bayes alone.
    smoothing, families
        As in NoisyLabelNB.

    Attributes
    ----------
    kept_ : (n,) array of bool
        The rows that were learned from.

    Examples
    --------
    >>> from misnomer.simulate import draw_zeng
    >>> run = draw_zeng(300, diagonal=(0.8, 0.9), random_state=0)
    >>> clf = NoiseFilterNB(vote="consensus").fit(run.X, run.given)
    >>> wrong = run.given != run.true
    >>> bool(wrong[clf.kept_].mean() < wrong.mean())
    True
    """

    channel = "identity"

    def __init__(
        self,
        *,
        vote: str = "majority",
        smoothing: str | float | Smoothing = "laplace",
        families: str | Mapping[Any, str] = "auto",
    ) -> None:
        self.vote = vote
        self.smoothing = smoothing
        self.families = families

    @property
    def solver(self) -> Any:
        """Filter, then count."""
        if self.vote not in _SHARES:
            known = ", ".join(f'"{name}"' for name in _SHARES)
            raise ValueError(f"vote must be one of {known}, not {self.vote!r}")
        return partial(filter_and_count, vote=self.vote)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.kept_ = fit.details["kept"]


def filter_and_count(task: Task, vote: str) -> Fit:
    """Count the rows that at most a share of the judges would label otherwise."""
    whole = task.whole
    found = features(task.schema, whole.sums[0], whole.rows)
    X = sparse.csr_array(sparse.vstack([_spelled(found, batch) for batch in task.batches]))
    given = np.concatenate([batch.given for batch in task.batches])
    outvoted = against(X, given, task.channel.n_labels, judges(vote))
    kept = outvoted <= _SHARES[vote] if vote != "consensus" else outvoted < 1.0
    if len(np.unique(given[kept])) < len(np.unique(given)):
        kept = np.ones(len(given), bool)  # a class without rows cannot be counted
    ends = np.cumsum([0, *(len(batch) for batch in task.batches)])
    parts = [
        batch.take(np.flatnonzero(kept[start:stop]))
        for batch, start, stop in zip(task.batches, ends[:-1], ends[1:], strict=True)
    ]
    fit = counts(replace(task, batches=parts))
    return replace(fit, details={**fit.details, "kept": kept})


def against(
    X: Any, given: NDArray[np.int32], labels: int, voters: Sequence[Any]
) -> NDArray[np.float64]:
    """Compute the share of voters that predict another label than the given one, (n,).

    Rows without a label, and all rows where a label has too few to be predicted, are left alone.
    """
    out = np.zeros(len(given))
    known = np.flatnonzero(given < labels)
    sizes = np.unique(given[known], return_counts=True)[1]
    if len(sizes) < 2 or sizes.min() < 2:
        return out
    split = StratifiedKFold(min(_FOLDS, int(sizes.min())), shuffle=True, random_state=0)
    for voter in voters:
        guess = cross_val_predict(voter, X[known], given[known], cv=split)
        out[known] += (guess != given[known]) / len(voters)
    return out.round(9)


def _spelled(found: Features, batch: Any) -> sparse.csr_array:
    return sparse.csr_array(
        sparse.vstack([sparse.csr_array(x) for x, _ in spelled_features(found, batch)])
    )
