"""What all classifiers share: the scikit-learn face of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.classifiers import inputs, labels
from misnomer.classifiers.choose import (
    checked_class_prior,
    is_default_channel,
    solve,
    takes_as_true,
    warn_of_search,
    with_prior,
)
from misnomer.classifiers.inputs import check_size
from misnomer.engines import fold
from misnomer.evidence import Evidence
from misnomer.head.solve import Head
from misnomer.model import Model
from misnomer.posterior import NoiseMatrix, Posterior
from misnomer.rows import read_like
from misnomer.smoothing import resolve
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]


class NoisyLabelEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What `NoisyLabelNB` and `NoisyLabelClassifier` have in common: rows in, a model out."""

    channel: Any
    smoothing: Any
    families: Any
    solver: Any
    max_iter: int
    tol: float
    n_init: int
    random_state: Any
    n_jobs: int | None
    progress: Callable[[int, float], None] | None
    model_: Model

    def fit(self, X: Any, y: Any, sample_weight: Any = None, trusted: Any = None) -> Self:
        """Learn from rows and their given labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, d)
            The rows. Missing cells carry no evidence.
        y : array (n,) of any type
            The given labels; None or NaN means unlabeled.
        sample_weight : array (n,), optional
            A row of weight zero is absent.
        trusted : array (n,) of bool, or row positions, optional
            Rows whose label is known to be right.

        Returns
        -------
        self : NoisyLabelEstimator
            The fitted classifier.
        """
        self._learn(X, y, sample_weight, trusted)
        return self

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        trusted: Any = None,
        checked: Any = None,
        noise_groups: Any = None,
        pred_probs: Any = None,
        design_weight: Any = None,
    ) -> Batch:
        """Fit, and hand out the rows in compact form."""
        said = (sample_weight, trusted, checked, noise_groups, pred_probs, design_weight)
        task, naming, groups = self._task(X, y, *said)
        with kernels.using(threads=self._threads()):
            fit = solve(self._solver(groups), task)
            self._keep(fit, naming)
            self._remember(task, fit)
        if not self.converged_:
            warn_of_search(self.solver, self.n_iter_)
        return task.batches[0]

    def _remember(self, task: Task, fit: Fit) -> None:
        """Keep what only the rows in memory can tell."""

    def _solver(self, groups: int = 0) -> Any:
        """Say who finds the model; groups are told apart by the head alone."""
        if groups and self.solver in ("auto", "head"):
            return Head(groups=groups)
        return self.solver

    def _task(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        trusted: Any,
        checked: Any,
        noise_groups: Any,
        pred_probs: Any = None,
        design_weight: Any = None,
    ) -> tuple[Task, Any, int]:
        """Check and read what the user gave; the last number is that of the groups."""
        inputs.check_search(self.max_iter, self.tol, self.n_init)
        if X is None and pred_probs is None:
            raise ValueError("there are no rows: pass X, or the probabilities of a model of yours")
        X = inputs.checked_table(self, X, reset=True)
        weight = inputs.checked_weights(sample_weight, X)
        n = inputs.row_count(X, y)
        y = self._labels(y, n)
        trusted = inputs.checked_trusted(trusted, n)
        side = inputs.side_inputs(checked, noise_groups, n, pred_probs, design_weight)
        weight, X, y, trusted, side = inputs.drop_weightless(weight, X, y, trusted, side)
        n = n if weight is None else len(weight)
        naming = inputs.naming_of(y, self.channel, n)
        given = np.zeros(n, np.int32) if y is None else naming.codes(y, trusted)
        schema, blocks = inputs.read_rows(X, self.families, self._setting("min_categories"))
        batch = Batch(blocks, given, weight, table=self._kept_table(X))
        if side is not None:
            batch = inputs.with_side_inputs(batch, side, naming)
        groups = 0 if batch.group is None else int(batch.group.max(initial=-1)) + 1
        task = self._posed(schema, [batch], fold, naming)
        if batch.design is not None:
            task = replace(task, checked=np.flatnonzero(batch.design > 0))
        return task, naming, groups

    def _posed(
        self, schema: Schema, batches: Sequence[Batch], fold: Fold[Any], naming: inputs.Naming
    ) -> Task:
        """Put the question to a solver, with the options of this classifier."""
        check_size(len(naming.classes), schema.statistics)
        return Task(
            schema,
            batches,
            fold,
            naming.channel,
            resolve(self.smoothing),
            max_iter=self.max_iter,
            tol=self.tol,
            n_init=self.n_init,
            seed=self._seed(naming),
            progress=self.progress,
        )

    def _seed(self, naming: inputs.Naming) -> int:
        """Draw a seed, unless nothing is random: sums, closed forms, one climb from labels."""
        channel, solver = naming.channel, self.solver
        if solver == "moments" or (solver in ("auto", "counts") and takes_as_true(channel)):
            return 0
        climbs = solver in ("em", "variational", "conditional") or (
            solver == "auto" and not is_default_channel(channel)
        )
        if climbs and self.n_init == 1 and channel.n_labels:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _kept_table(self, X: Any) -> Any:
        """Keep the rows as they came, where somebody asks for them."""
        return None

    def _setting(self, name: str) -> Any:
        """Read a parameter that presets do not have."""
        return getattr(self, name, {"fit_prior": True}.get(name))

    def _labels(self, y: Any, n: int) -> Any:
        if y is None:
            if isinstance(self.channel, Channel) and not self.channel.n_labels:
                return None
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = labels.column(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows but y has {len(y)} labels")
        return y

    def _threads(self) -> int:
        import os

        jobs = self.n_jobs or 1
        return max(1, (os.cpu_count() or 1) + 1 + jobs) if jobs < 0 else jobs

    def _keep(self, fit: Fit, naming: inputs.Naming) -> None:
        model = fit.model
        if fit.details.class_shares is not None and model.bias is None:
            model = model.with_shares(fit.details.class_shares)
            fit = replace(fit, model=model)
        prior = checked_class_prior(
            self._setting("class_prior"), self._setting("fit_prior"), len(naming.classes)
        )
        if prior is not None:
            model = with_prior(model, prior)
            fit = replace(fit, model=model, details=replace(fit.details, class_shares=prior))
        self.model_, self._naming = model, naming
        self.classes_, self.labels_ = naming.classes, naming.labels
        shares, matrix = fit.details.class_shares, fit.details.noise_matrix
        self.class_prior_ = model.prior if shares is None else shares
        self._noise = model.channel.matrix if matrix is None else matrix
        self.n_iter_, self.lower_bound_ = max(fit.passes, 1), fit.objective
        self.converged_, self.history_ = fit.converged, np.array(fit.history)
        self.fit_ = fit

    @property
    def noise_matrix_(self) -> Array:
        """P(given | true), (L, K): rows given, columns true, columns sum to one."""
        check_is_fitted(self)
        return self._noise.array() if isinstance(self._noise, NoiseMatrix) else self._noise

    def _batch(self, X: Any, y: Any = None) -> Batch:
        check_is_fitted(self)
        X = inputs.checked_table(self, X, reset=False)
        blocks = read_like(X, self.model_.schema)
        return self._labeled(blocks, X.shape[0], y, self._kept_table(X))

    def _labeled(self, blocks: Any, n: int, y: Any, table: Any = None) -> Batch:
        """Put the labels of rows beside them, where there are any."""
        if y is None:
            return Batch(blocks, np.full(n, len(self.labels_), np.int32), table=table)
        y = labels.column(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows but y has {len(y)} labels")
        return Batch(blocks, self._naming.codes(y), table=table)

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Compute log P(true class, x), up to a term free of the class, (n, K)."""
        batch = self._batch(X)
        with kernels.using(threads=self._threads()):
            return self.model_.log_joint(batch)

    def predict_proba(self, X: Any) -> Array:
        """Compute P(true class | x), (n, K)."""
        batch = self._batch(X)
        with kernels.using(threads=self._threads()):
            return Posterior.of(self.model_.posterior(batch)).array

    def predict_log_proba(self, X: Any) -> Array:
        """Compute log P(true class | x), (n, K)."""
        joint = self.predict_joint_log_proba(X)
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Name the most probable true class of each row."""
        joint = self.predict_joint_log_proba(X)
        return self.classes_[joint.argmax(axis=1)]

    def true_class_proba(self, X: Any, y: Any) -> Array:
        """Compute P(true class | x, given label), (n, K)."""
        return Posterior.of(self.model_.posterior(self._batch(X, y))).array

    def error_probability(self, X: Any, y: Any) -> Array:
        """Compute P(true class is not the given label | x, given label), (n,)."""
        return self._doubt(self.true_class_proba(X, y), y)

    def _doubt(self, share: Array, y: Any) -> Array:
        same = self.labels_[:, None] == self.classes_[None, :]
        right = np.concatenate([same, np.ones((1, same.shape[1]), bool)])
        return np.clip((share * ~right[self._naming.codes(y)]).sum(axis=1), 0.0, 1.0)

    def explain(self, X: Any, y: Any = None) -> list[Evidence]:
        """Say why: the weights of evidence of each column, which add up to the log joint.

        Returns
        -------
        list of Evidence
            One per row; ``evidence.total`` is what ``predict_joint_log_proba`` returns, with the
            given label's own weight where y is passed.
        """
        return self.model_.evidence(self._batch(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        mixed = not isinstance(self.families, str) or self.families in ("auto", "categorical")
        tags.input_tags.string = mixed or self.families == "text"
        tags.input_tags.categorical = mixed
        tags.input_tags.positive_only = self.families == "count"
        if isinstance(self.channel, Channel):
            tags.classifier_tags.multi_class = self.channel.n_classes > 2
        return tags
