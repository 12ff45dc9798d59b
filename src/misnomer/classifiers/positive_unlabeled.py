"""PUClassifier: positive and unlabeled rows, by any columns, through the learners of the head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.classifiers import labels
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.inputs import Naming
from misnomer.head.positive import PositiveUnlabeled
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Fit


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
