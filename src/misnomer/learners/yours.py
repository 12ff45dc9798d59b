"""Your own model as a learner: any classifier of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from misnomer.learners.learner import LEAST_CHANCE, Scored, View, centered
from misnomer.learners.rows import Rows
from misnomer.table import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Yours:
    """A classifier of scikit-learn, fitted without each fold to the labels as they are."""

    estimator: Any

    @property
    def name(self) -> str:
        """Its name."""
        return type(self.estimator).__name__

    def __post_init__(self) -> None:
        """Refuse what cannot score classes."""
        if not hasattr(self.estimator, "fit") or not hasattr(type(self.estimator), "fit"):
            raise ValueError(
                f"a learner is a classifier of scikit-learn, or its name, not {self.estimator!r}"
            )
        if not (
            hasattr(self.estimator, "predict_proba") or hasattr(self.estimator, "decision_function")
        ):
            raise ValueError(
                f"{self.name} has no predict_proba: take a classifier that has it, or wrap this "
                "one in sklearn.calibration.CalibratedClassifierCV"
            )

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by a fit without its fold."""
        table = rows.batch.table
        if table is None:
            raise ValueError(
                f"{self.name} needs the rows in memory: leave memory, cluster and checkpoint out, "
                "or bring its probabilities (pred_probs)"
            )
        target, weight = rows.hard.argmax(axis=1), rows.hard.sum(axis=1)
        at = rows.informed
        out = np.zeros((len(rows), rows.classes))
        for fold, folds in rows.splits():
            for place, places in enumerate(folds):
                fitted = self._fitted(table, target, weight, at[fold[at] != place])
                out[places] += scores_of(fitted, _safe_indexing(table, places), rows.classes)
        scorer = Fitted(self.name, self._fitted(table, target, weight, at), rows.classes)
        return [Scored(centered(out / len(rows.deals)), scorer)]

    def _fitted(
        self, table: Any, target: NDArray[np.intp], weight: Array, use: NDArray[np.intp]
    ) -> Any:
        X, y = _safe_indexing(table, use), target[use]
        seen = np.unique(y)
        if len(seen) < 2:
            return None  # a fold that has left one class only: there is nothing to learn
        try:
            fresh = clone(self.estimator)
            how = {} if (weight[use] == 1.0).all() else weights_for(fresh, weight[use])
            fitted = fresh.fit(X, y, **how)
        except Exception as error:
            raise ValueError(f"{self.name} could not be fitted: {_first_line(error)}") from error
        known = np.asarray(getattr(fitted, "classes_", ()))
        if known.shape != seen.shape or not (known == seen).all():
            raise ValueError(
                f"{self.name} was fitted to {len(seen)} classes, and its classes_ are others: a "
                "learner keeps the classes that it is given"
            )
        return fitted


def weights_for(estimator: Any, weight: Array) -> dict[str, Array]:
    """Hand weights to a classifier, or to the last step of a pipeline, where it knows any.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaled = make_pipeline(StandardScaler(), LogisticRegression())
    >>> [list(weights_for(one, np.ones(3))) for one in (scaled, KNeighborsClassifier())]
    [['logisticregression__sample_weight'], []]
    """
    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weight}
    steps = getattr(estimator, "steps", None)
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return {f"{steps[-1][0]}__sample_weight": weight}
    return {}


def scores_of(fitted: Any, X: Any, classes: int) -> Array:
    """Score rows by a fitted classifier, (n, K); classes that it never saw are improbable."""
    if fitted is None:
        return np.zeros((_num_samples(X), classes))
    name = type(fitted).__name__
    by_chance = hasattr(fitted, "predict_proba")
    try:
        told = fitted.predict_proba(X) if by_chance else fitted.decision_function(X)
        found = np.asarray(told, np.float64)
    except Exception as error:
        raise ValueError(f"{name} could not score rows: {_first_line(error)}") from error
    if not np.isfinite(found).all():
        raise ValueError(f"{name} gave probabilities that are no numbers")
    if by_chance:
        found, least = np.log(np.maximum(found, LEAST_CHANCE)), np.log(LEAST_CHANCE)
    else:
        found = np.stack([-found / 2, found / 2], axis=1) if found.ndim == 1 else found
        least = float(found.min(initial=0.0)) - 1.0
    known = np.asarray(fitted.classes_, np.intp)
    if found.shape != (_num_samples(X), len(known)):
        raise ValueError(
            f"{name} gave scores of the shape {found.shape} for {_num_samples(X)} rows and "
            f"{len(known)} classes"
        )
    out = np.full((len(found), classes), least)
    out[:, known] = found
    return centered(out)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted classifier that scores new rows as they came."""

    name: str
    estimator: Any
    classes: int

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K), centered."""
        if batch.table is None:
            raise ValueError(f"{self.name} needs the rows as they came, and they are not at hand")
        return scores_of(self.estimator, batch.table, self.classes)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Refuse: nobody knows what it depends on."""
        raise ValueError(
            f"a model with {self.name} in it cannot be kept in a file: only misnomer's own "
            "learners can"
        )


@dataclass(frozen=True)
class Absent:
    """A classifier that a file could not keep: its name is known, its scores are not."""

    name: str

    def scores(self, batch: Batch) -> Array:
        """Refuse to score."""
        raise ValueError(
            f"this model listened to {self.name}, which no file can keep: fit it again to judge "
            "rows; the rows and numbers of the audit are all here"
        )

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay out nothing: the name says it."""
        return {}
