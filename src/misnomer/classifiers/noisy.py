"""The scikit-learn faces of the head.

`NoisyLabelClassifier` is what `audit` fits; `PUClassifier` learns from positive and unlabeled rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from misnomer import channel as channels
from misnomer import kernels
from misnomer.classifiers import NoisyLabelEstimator, inputs, labels
from misnomer.classifiers.choose import importances_of_rows
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.labels import align_columns
from misnomer.engines import Stream, joined
from misnomer.head.positive import PositiveUnlabeled
from misnomer.head.solve import Head
from misnomer.learners.brought import NEW_ROWS
from misnomer.learners.kernel import Kernel
from misnomer.learners.learner import Learner
from misnomer.learners.logistic import Logistic
from misnomer.learners.trees import Trees
from misnomer.posterior import Posterior
from misnomer.smoothing import Smoothing, resolve
from misnomer.solvers.sparse import is_many
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]

#: The learners that have a name; naive Bayes is always asked.
LEARNER_NAMES = ("naive_bayes", "logistic", "kernel", "trees")


@dataclass(eq=False, repr=False)
class NoisyLabelClassifier(NoisyLabelEstimator):
    """A classifier of the true class that knows its labels may be wrong, of any learners.

    Learners score every row without its own label; a head mixes their scores, tempers and shifts
    them, and sees them through the channel P(given label | true class), which it learns with them.

    Parameters
    ----------
    learners : "auto" or sequence
        Who is asked beside naive Bayes: "logistic" and "kernel" (through the channel; "kernel" up
        to some 500 rows), "trees" (from there on), these with settings
        (``Logistic(strengths=(1.0,))``), or classifiers of scikit-learn. "auto" asks the first
        three.
    smoothing, families
        As in `NoisyLabelNB`.
    max_iter, tol : int, float
        A search of the head stops after so many steps, or when a step gains less than ``tol`` of
        what is left to explain.
    random_state : int, RandomState or None
        The seed of the folds and of the trees.
    n_jobs : int or None
        Threads; -1 uses all cores. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(step, objective)`` after each explanation.

    Attributes
    ----------
    classes_, labels_ : arrays
        The classes, which are also the labels that may be given (K).
    class_prior_ : (K,) array
        The share of each true class among the labeled rows.
    noise_matrix_ : (K, K) array
        P(given | true) of the training rows: rows given, columns true, columns sum to one.
    model_ : Model
        All of it.
    n_iter_, lower_bound_, converged_, history_
        Explanations tried, the objective reached, whether every search ended by itself, and all
        objectives.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.integers(2, size=300)
    >>> X = rng.normal(size=(300, 3)) + 3 * z[:, None]
    >>> y = np.where(rng.random(300) < 0.2, 1 - z, z)
    >>> bool(NoisyLabelClassifier().fit(X, y).score(X, z) > 0.95)
    True
    """

    channel = "auto"
    solver = "auto"
    n_init = 1

    learners: str | Sequence[Any] = "auto"
    _: KW_ONLY
    smoothing: str | float | Smoothing = "auto"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = 0
    n_jobs: int | None = None
    progress: Callable[[int, float], None] | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        trusted: Any = None,
        checked: Any = None,
        noise_groups: Any = None,
        pred_probs: Any = None,
        design_weight: Any = None,
    ) -> Self:
        """Learn from rows and their given labels.

        Parameters
        ----------
        X, y, sample_weight, trusted
            As in `NoisyLabelNB.fit`.
        checked : array (n,), optional
            The true class of the rows that somebody has looked at, None for the others. What was
            given to such a row tells how labels go wrong.
        noise_groups : array (n,), optional
            The group of each row; groups may err each in their own way.
        pred_probs : array (n, K) or frame, optional
            Probabilities of the labels by a model of yours, each row scored without its own label;
            the columns of a frame are the classes, those of an array their sorted order. With them
            X may be None, and new rows need new ones.
        design_weight : array (n,), optional
            One over the chance by which a checked row was drawn (``1 / inclusion`` of
            `Audit.draw_checks`), zero for rows that were picked for what they look like, and for
            all others. Rows drawn by chance also tell how far labels are to be believed.

        Returns
        -------
        self : NoisyLabelClassifier
            The fitted classifier.
        """
        said = (sample_weight, trusted, checked, noise_groups, pred_probs, design_weight)
        self._learn(X, y, *said)
        return self

    @property
    def feature_importances_(self) -> Array:
        """How much each column tells about the class by itself, (d,).

        Mutual information, as in `NoisyLabelNB`, of the training rows and the classes that they
        probably are.
        """
        check_is_fitted(self)
        importances: Array | None = getattr(self, "_told", None)
        if importances is None:
            raise AttributeError(
                "feature_importances_ is known after a fit in memory to few labels"
            )
        return importances

    def _remember(self, task: Task, fit: Fit) -> None:
        found = fit.details.posterior
        # of many labels, not every class of a row is kept
        self._told = importances_of_rows(task, found) if isinstance(found, np.ndarray) else None

    def _solver(self, groups: int = 0) -> Any:
        """Build the head of the learners."""
        through, once = self._learners()
        return Head(through, once, groups)

    def _posed(
        self, schema: Schema, batches: Sequence[Batch], fold: Fold[Any], naming: inputs.Naming
    ) -> Task:
        """Put the question; of many labels what occurs is kept, where nothing else was said."""
        if not self._is_many(schema, batches, naming):
            return super()._posed(schema, batches, fold, naming)
        blank = channels.blank(len(naming.classes))
        rows, smoothing = [joined(list(batches))], resolve(self.smoothing)
        return Task(schema, rows, fold, blank, smoothing, progress=self.progress, sparse=True)

    def _is_many(self, schema: Schema, batches: Sequence[Batch], naming: inputs.Naming) -> bool:
        """Tell whether labels are many, of rows that are here and have no groups."""
        said = not isinstance(self.learners, str) or self.smoothing != "auto"
        if said or not isinstance(batches, list | Stream) or not len(batches):
            return False
        rows = batches.rows if isinstance(batches, Stream) else sum(map(len, batches))
        beside = batches[0].group is not None or batches[0].brought is not None
        return not beside and is_many(rows, len(naming.classes), schema.statistics)

    def predict_proba(self, X: Any, *, pred_probs: Any = None) -> Array:
        """Compute P(true class | x), (n, K); X is None where there were probabilities alone."""
        batch = self._batch_with_probabilities(X, None, pred_probs)
        with kernels.using(threads=self._threads()):
            return Posterior.of(self.model_.posterior(batch)).array

    def predict(self, X: Any, *, pred_probs: Any = None) -> NDArray[Any]:
        """Name the most probable true class of each row."""
        batch = self._batch_with_probabilities(X, None, pred_probs)
        with kernels.using(threads=self._threads()):
            return self.classes_[self.model_.log_joint(batch).argmax(axis=1)]

    def true_class_proba(self, X: Any, y: Any, *, pred_probs: Any = None) -> Array:
        """Compute P(true class | x, given label), (n, K)."""
        batch = self._batch_with_probabilities(X, y, pred_probs)
        return Posterior.of(self.model_.posterior(batch)).array

    def error_probability(self, X: Any, y: Any, *, pred_probs: Any = None) -> Array:
        """Compute P(true class is not the given label | x, given label), (n,)."""
        return self._doubt(self.true_class_proba(X, y, pred_probs=pred_probs), y)

    def _batch_with_probabilities(self, X: Any, y: Any, pred_probs: Any) -> Batch:
        """Read new rows, with the probabilities that they bring."""
        if pred_probs is None:
            return self._batch(X, y)
        check_is_fitted(self)
        brought = align_columns(pred_probs, self.classes_)
        rows = Batch((), np.zeros(len(brought), np.int32)) if X is None else self._batch(X)
        if len(rows) != len(brought):
            raise ValueError(f"X has {len(rows)} rows but pred_probs has {len(brought)}")
        labeled = self._labeled(rows.blocks, len(rows), y, rows.table)
        return replace(labeled, brought=brought)

    def _batch(self, X: Any, y: Any = None) -> Batch:
        check_is_fitted(self)
        if not self.model_.schema.columns and not self.n_features_in_:
            raise ValueError(NEW_ROWS)
        return super()._batch(X, y)

    def _kept_table(self, X: Any) -> Any:
        """Keep the rows as they came, where somebody's own classifier asks for them."""
        if X is None or isinstance(self.learners, str):
            return None
        asked = any(not isinstance(one, str) for one in named_learners(self.learners))
        return inputs.as_given(X) if asked else None

    def _learners(self) -> tuple[tuple[Learner, ...], tuple[Learner, ...]]:
        """Sort the learners: fitted through the channel, and once."""
        names = named_learners(self.learners)
        through: list[Learner] = []
        once: list[Learner] = []
        for one in names:
            if isinstance(one, Logistic) or one == "logistic":
                through.append(one if isinstance(one, Logistic) else Logistic())
            elif one == "kernel":
                through.append(Kernel())
            elif one == "trees":
                once.append(Trees(n_jobs=self._threads()))
            elif not isinstance(one, str):
                once.append(_as_learner(one))
        return tuple(through), tuple(once)


def named_learners(learners: Any) -> list[Any]:
    """List the learners that are asked beside naive Bayes; refuse a name that none has.

    Examples
    --------
    >>> named_learners("auto")
    ['logistic', 'kernel', 'trees']
    """
    if isinstance(learners, str) and learners == "auto":
        return ["logistic", "kernel", "trees"]
    if isinstance(learners, str) or not isinstance(learners, Iterable):
        raise ValueError(f'learners is "auto" or a list of learners, not {learners!r}')
    for one in (asked := list(learners)):
        if isinstance(one, str) and one not in LEARNER_NAMES:
            known = ", ".join(f'"{name}"' for name in LEARNER_NAMES)
            raise ValueError(f"there is no learner {one!r}; there are {known}")
    return asked


def _as_learner(learner: Any) -> Learner:
    """Take a learner as it is, or a classifier of scikit-learn for one."""
    from misnomer.learners.yours import Yours

    if hasattr(learner, "cross_fit"):
        taken: Learner = learner
        return taken
    return Yours(learner)


@dataclass(kw_only=True, eq=False, repr=False)
class PUClassifier(NoisyLabelEstimator):
    """Learns from rows known to be positive and rows of which nothing is known.

    Naive Bayes, logistic regression and trees tell labeled rows from the others, each row judged
    without itself. Where only positives score high, labeled and unlabeled rows differ by the share
    of positives alone, which is read off there. With it the learners learn once more, through the
    channel that it implies.

    Parameters
    ----------
    design : {"two-sample", "one-sample"}
        Two samples, one of positives and one of the population; or one sample of the population,
        some of whose positives were labeled.
    positive : label, optional
        Which label means positive: needed where two words are given; else 1, True, or the only
        label there is.
    smoothing, families
        As in `NoisyLabelNB`.
    random_state : int, RandomState or None
        The seed of the folds.
    n_jobs : int or None
        Threads; -1 uses all cores.

    Attributes
    ----------
    class_prior_ : (2,) array
        P(class) in the population: in the unlabeled rows, or (one-sample) in all rows.
    noise_matrix_ : (2, 2) array
        P(labeled or not | class); no negative is ever labeled.
    classes_, model_
        As in `NoisyLabelNB`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ill = rng.random(1000) < 0.4
    >>> X = rng.normal(size=(1000, 4)) + 2 * ill[:, None]
    >>> diagnosed = ill & (rng.random(1000) < 0.3)
    >>> pu = PUClassifier(design="one-sample", random_state=0).fit(X, diagnosed)
    >>> bool(abs(pu.class_prior_[1] - ill.mean()) < 0.05)
    True
    >>> bool(pu.score(X, ill) > 0.95)
    True
    """

    channel = "free"
    max_iter, tol, n_init, progress = 200, 1e-6, 1, None

    design: str = "two-sample"
    positive: Any = None
    smoothing: str | float | Smoothing = "auto"
    families: str | Mapping[Any, str] = "auto"
    random_state: Any = None
    n_jobs: int | None = None

    @property
    def solver(self) -> Any:
        """The head, asked how many unlabeled rows are positive."""
        if self.design not in ("two-sample", "one-sample"):
            raise ValueError(f'design must be "two-sample" or "one-sample", not {self.design!r}')
        return PositiveUnlabeled(self.design, getattr(self, "_place", 1))

    def _labels(self, y: Any, n: int) -> Any:
        """Number the labels in the order of their names; a missing one is not positive."""
        given = super()._labels(y, n)
        gaps = labels.missing(given)
        positive, off = class_names(given, gaps, self.positive)
        on = ~gaps & (given == positive)
        if on.all() or not on.any():
            which = "the positive one" if on.any() else f"not the positive one ({positive!r})"
            raise ValueError(
                f"y holds one class only, {which}: positive-unlabeled learning needs some rows "
                "that are labeled positive and some that are not"
            )
        names = np.array([off, positive])
        self._place = int(np.argsort(names)[1] == 1)
        self._names = np.sort(names)
        return np.where(on, self._place, 1 - self._place)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        """Give the two classes their names."""
        super()._keep(fit, replace(naming, labels=self._names, classes=self._names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def class_names(y: NDArray[Any], gaps: NDArray[np.bool_], positive: Any) -> tuple[Any, Any]:
    """Tell the name of the positives, and that of the rest.

    Examples
    --------
    >>> class_names(np.array(["ill", None], dtype=object), np.array([False, True]), None)
    ('ill', '(not ill)')
    """
    if gaps.all():
        raise ValueError(
            "no row is labeled positive (1): positive-unlabeled learning needs some positives"
        )
    names = labels.distinct(y, gaps).tolist()
    if len(names) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"positive-unlabeled learning takes two labels at most, but y holds {len(names)}"
        )
    words = isinstance(names[0], str)
    if positive is None and words and len(names) == 2:
        raise ValueError(
            f"which of {names[0]!r} and {names[1]!r} is positive? say positive={names[1]!r}"
        )
    if positive is None:
        positive = names[-1] if words or len(names) == 2 else type(names[0])(1)
    rest = [name for name in names if name != positive]
    if rest:
        return positive, rest[0]
    return positive, f"(not {positive})" if words else type(names[0])(0)
