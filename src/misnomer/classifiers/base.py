"""NoisyLabelNB: the scikit-learn face of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.classifiers import inputs, labels, online
from misnomer.classifiers.choose import solve, warn_of_search
from misnomer.classifiers.sizes import check_size
from misnomer.engines.local import fold
from misnomer.evidence import Evidence
from misnomer.readers import read, read_like
from misnomer.smoothing import Smoothing, resolve
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]


class NoisyLabelNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes that knows its labels may be wrong.

    Learns a classifier of the *true* class together with the channel P(given label | true class).
    Columns may be categories, flags, counts, reals or texts, freely mixed; cells and labels may be
    missing.

    Parameters
    ----------
    channel : {"auto", "identity", "uniform", "flips", "free"}, Channel or (L, K) matrix
        What may have happened to the labels. "identity" takes them as true; a matrix is taken as
        known; "auto" lets the solver choose.
    smoothing : {"auto", "none", "laplace"}, float or Smoothing
        The virtual examples; a number adds that many in every cell.
    families : "auto", str or mapping
        The family of every column, or of each by name: "categorical", "bernoulli", "gaussian",
        "count", "text", "ignored".
    solver : {"auto", "pool", "counts", "em", "variational", "conditional", "moments"} or callable
        How to find the model. "auto" pools explanations of the labels, naive Bayes and its
        conditional twin, scored out of fold, where nothing is said of the channel
        (``channel="auto"``); it counts where labels are taken as true, and climbs by EM behind any
        other channel. A solver with settings is given as what it is: ``solver=Pool(twin=False)``.
    max_iter, tol : int, float
        EM stops after so many passes, or when a pass gains less than ``tol`` nats per row. The
        pool needs neither.
    n_init : int
        How many starts to try.
    random_state : int, RandomState or None
        The seed of random starts.
    n_jobs : int or None
        Threads of a pass; -1 uses all cores. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(pass, objective)`` after each pass.

    Attributes
    ----------
    classes_, labels_ : arrays
        The true classes (K) and the given labels (L).
    class_prior_ : (K,) array
        P(true class): the share of each among the training rows.
    noise_matrix_ : (L, K) array
        P(given | true): rows given, columns true, columns sum to one.
    model_ : Model
        All of it.
    n_iter_, lower_bound_, converged_, history_
        Passes (of the pool: explanations tried), the objective reached, whether the last pass
        gained little, and all objectives.
    fit_ : Fit
        What else the solver found, in ``fit_.details``; the pool's "posterior" holds
        P(true class | row, label) of the training rows, each judged without itself.

    Examples
    --------
    >>> X = [["sunny", "hot"], ["sunny", "mild"], ["rain", "cool"], ["rain", "mild"]]
    >>> clf = NoisyLabelNB(channel="identity").fit(X, ["no", "no", "yes", "yes"])
    >>> clf.predict([["rain", "hot"]]).tolist()
    ['yes']
    """

    def __init__(
        self,
        *,
        channel: str | Channel | Any = "auto",
        smoothing: str | float | Smoothing = "auto",
        families: str | Mapping[Any, str] = "auto",
        solver: str = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        self.channel = channel
        self.smoothing = smoothing
        self.families = families
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

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
        self : NoisyLabelNB
            The fitted classifier.
        """
        self._learn(X, y, sample_weight, trusted)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any = None, trusted: Any = None) -> Batch:
        """Fit, and hand out the rows in compact form."""
        task, naming = self._task(X, y, sample_weight, trusted)
        with kernels.using(threads=self._threads()):
            self._keep(solve(self.solver, task), naming)
        if not self.converged_:
            warn_of_search(self.solver, self.n_iter_)
        return task.batches[0]

    def _task(self, X: Any, y: Any, sample_weight: Any, trusted: Any) -> tuple[Task, Any]:
        """Check and read what the user gave."""
        X = inputs.checked_table(self, X, reset=True)
        weight = inputs.checked_weights(sample_weight, X)
        n = len(X) if not hasattr(X, "shape") else X.shape[0]
        y = self._labels(y, n)
        trusted = inputs.checked_trusted(trusted, n)
        weight, X, y, trusted = inputs.kept_rows(weight, X, y, trusted)
        n = n if weight is None else len(weight)
        naming = inputs.named(y, self.channel, n)
        given = np.zeros(n, np.int32) if y is None else naming.codes(y, trusted)
        schema, blocks = read(X, self.families)
        return self._posed(schema, [Batch(blocks, given, weight)], fold, naming), naming

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
            seed=check_random_state(self.random_state).randint(np.iinfo(np.int32).max),
            progress=self.progress,
        )

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
        if "class_shares" in fit.details and model.bias is None:
            model = model.with_shares(fit.details["class_shares"])
            fit = replace(fit, model=model)
        self.model_, self._naming = model, naming
        self.classes_, self.labels_ = naming.classes, naming.labels
        self.class_prior_ = fit.details.get("class_shares", model.prior)
        self.noise_matrix_ = model.channel.matrix
        self.n_iter_, self.lower_bound_ = max(fit.passes, 1), fit.objective
        self.converged_, self.history_ = fit.converged, np.array(fit.history)
        self.fit_ = fit

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows: their expected sums are added to those seen before.

        With the identity channel the result is that of one fit on all rows, in any order. With
        another channel it is stepwise EM: each row is shared out once, by the model of its time.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : array, optional
            All the labels there will be; required in the first call if y does not hold them all.

        Returns
        -------
        self : NoisyLabelNB
            The fitted classifier.
        """
        with kernels.using(threads=self._threads()):
            online.learn_some(self, X, y, classes, sample_weight)
        return self

    def _batch(self, X: Any, y: Any = None) -> Batch:
        check_is_fitted(self)
        X = inputs.checked_table(self, X, reset=False)
        blocks = read_like(X, self.model_.schema)
        n = X.shape[0]
        if y is None:
            return Batch(blocks, np.full(n, len(self.labels_), np.int32))
        y = labels.column(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows but y has {len(y)} labels")
        return Batch(blocks, self._naming.codes(y))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Compute log P(true class, x), up to a term free of the class, (n, K)."""
        batch = self._batch(X)
        with kernels.using(threads=self._threads()):
            return self.model_.log_joint(batch)

    def predict_proba(self, X: Any) -> Array:
        """Compute P(true class | x), (n, K)."""
        batch = self._batch(X)
        with kernels.using(threads=self._threads()):
            return self.model_.posterior(batch)

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
        return self.model_.posterior(self._batch(X, y))

    def error_probability(self, X: Any, y: Any) -> Array:
        """Compute P(true class is not the given label | x, given label), (n,)."""
        share = self.true_class_proba(X, y)
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
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
