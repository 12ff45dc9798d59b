"""NoisyLabelNB: naive Bayes that knows its labels may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.classifiers import online
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.choose import feature_log_prob, importances
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Fit, Task

Array = NDArray[np.float64]


class NoisyLabelNB(NoisyLabelEstimator):
    """Naive Bayes that knows its labels may be wrong.

    Learns a classifier of the *true* class together with the channel P(given label | true class).
    Columns may be categories, flags, counts, reals or texts, freely mixed; cells and labels may be
    missing.

    Parameters
    ----------
    channel : {"auto", "identity", "uniform", "flips", "free"}, Channel or (L, K) array
        What may have happened to the labels. "identity" takes them as true; a matrix is taken as
        known; "auto" lets the solver choose.
    smoothing : {"auto", "none", "laplace"}, float, (d,) array or Smoothing
        The virtual examples; a number adds that many in every cell, or one for each column.
    families : "auto", str or mapping
        The family of every column, or of each by name: "categorical", "bernoulli", "gaussian",
        "count", "text", "ignored".
    solver : {"auto", "head", "counts", "em", "variational", "conditional", "moments"} or callable
        How to find the model. "auto" asks the head where nothing is said of the channel
        (``channel="auto"``): naive Bayes, of the labels and of rows shared out, scored out of fold,
        tempered, and seen through a channel. It counts where labels are taken as true, and climbs
        by EM behind any other channel.
    max_iter, tol : int, float
        EM stops after so many passes, or when a pass gains less than ``tol`` nats per row; the
        head's searches after so many steps, or when a step gains less than that per nat.
    n_init : int
        How many starts to try.
    random_state : int, RandomState or None
        The seed of folds and random starts. None draws one from NumPy's global generator, where
        something is random: not where labels are counted, nor in closed forms, nor for one start
        from the labels.
    n_jobs : int or None
        Threads of a pass; -1 uses all cores. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(pass, objective)`` after each pass.
    class_prior, fit_prior : (K,) array or None, bool
        Class shares to predict with, instead of those that were learned; all alike where
        ``fit_prior`` is False. What is learned of columns and errors does not depend on them.
    min_categories : int or (d,) array or None
        Whole numbers 0, 1, ... up to here are categories, whether they occur or not.

    Attributes
    ----------
    classes_, labels_ : arrays
        The true classes (K) and the given labels (L).
    class_prior_ : (K,) array
        P(true class): the share of each among the training rows.
    class_count_ : (K,) array
        Rows of each true class, as far as they can be told apart (after ``fit`` in memory).
    feature_log_prob_ : array or list of arrays
        log P(value | class) of flags and counts, (K, d), or of the categories of each column.
    feature_importances_ : (d,) array
        How much each column tells about the class: mutual information, in nats.
    noise_matrix_ : (L, K) array
        P(given | true): rows given, columns true, columns sum to one.
    model_ : Model
        All of it.
    n_iter_, lower_bound_, converged_, history_
        Passes (of the head: explanations tried), the objective reached, whether the last pass
        gained little, and all objectives.
    fit_ : Fit
        What else the solver found, in ``fit_.details``; the head's ``posterior`` holds
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
        smoothing: str | float | Sequence[float] | Array | Smoothing = "auto",
        families: str | Mapping[Any, str] = "auto",
        solver: str | Callable[[Task], Fit] = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: Callable[[int, float], None] | None = None,
        class_prior: Any = None,
        fit_prior: bool = True,
        min_categories: Any = None,
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
        self.class_prior = class_prior
        self.fit_prior = fit_prior
        self.min_categories = min_categories

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows: their expected sums are added to those seen before.

        With the identity channel the result is that of one fit on all rows, in any order. With
        another channel it is stepwise EM: each row is shared out once, by the model of its time.
        A column keeps the family that the first call has found, and a text the words of the first
        call, which is said: words that come later are known to hashed texts (`HashingVectorizer`).

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
            online.update(self, X, y, classes, sample_weight)
        return self

    @property
    def class_count_(self) -> Array:
        """Rows of each true class."""
        seen = getattr(self, "_seen", None)
        if seen is None:
            raise AttributeError("class_count_ is known after a fit in memory")
        counts: Array = seen.expected.mass
        return counts

    @property
    def feature_log_prob_(self) -> Any:
        """Log P(value | class)."""
        check_is_fitted(self)
        return feature_log_prob(self.model_)

    @property
    def feature_importances_(self) -> Array:
        """Mutual information of each column with the class, in nats."""
        check_is_fitted(self)
        return importances(self.model_)
