"""Zeng et al.: a full channel between K classes, and what their slides review."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from misnomer.channel import Channel
from misnomer.classifiers.inputs import Naming
from misnomer.papers.preset import Preset
from misnomer.smoothing import Smoothing
from misnomer.solvers.aspect import aspect
from misnomer.solvers.conditional import Conditional
from misnomer.solvers.counts import counts
from misnomer.solvers.em import em_from_diagonal
from misnomer.solvers.moments import dominant, feature_map, feature_rows
from misnomer.solvers.task import Fit, Task


@dataclass(kw_only=True, eq=False, repr=False)
class INB(Preset):
    """Improved naive Bayes: EM with any K x K channel whose diagonal is largest.

    E-step ``gamma[i, k] ~ prior[k] channel[y_i, k] prod_j P(x_ij | k)``; the M-step takes means of
    gamma. A permutation of classes changes nothing in the likelihood: the classes are named so that
    the diagonal is largest. One virtual example in every cell (Laplace) is ours, not the slides'.

    Parameters
    ----------
    diagonal : float
        Where the channel's diagonal starts; 1 would never be left.
    smoothing, families, max_iter, tol, n_init, random_state, n_jobs
        As in NoisyLabelNB.

    Attributes
    ----------
    dominant_ : bool
        Whether each class is given its own label more often than any other, as assumed.

    Examples
    --------
    >>> from misnomer.simulate import draw_zeng
    >>> run = draw_zeng(500, diagonal=(0.7, 0.8), random_state=0)
    >>> clf = INB().fit(run.X, run.given)
    >>> bool(clf.score(run.X, run.true) > (run.given == run.true).mean())
    True
    """

    channel = "free"

    diagonal: float = 0.8
    smoothing: str | float | Smoothing = "laplace"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 200
    tol: float = 1e-6
    n_init: int = 1
    random_state: Any = None
    n_jobs: int | None = None

    @property
    def solver(self) -> Any:
        """EM from that diagonal."""
        return partial(em_from_diagonal, diagonal=self.diagonal)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.dominant_ = dominant(fit.model.channel)


@dataclass(kw_only=True, eq=False, repr=False)
class _Network(Preset):
    """What both networks share: their parameters, and how these become a solver.

    A network without hidden layers is one linear form over the table's statistics: the same model
    as naive Bayes, with weights that fit the given labels instead of the columns.

    `NLNN` and `NAL` have one objective here, climbed in two ways: both maximize the likelihood of
    the given labels over weights and one channel for all rows, and without hidden layers they
    mostly end at the same maximum. What sets them apart in their papers is not here: networks with
    hidden layers trained by stochastic gradients, and the second form of the adaptation layer,
    whose channel depends on the row.
    """

    _steps: ClassVar[str]

    channel: str | Channel | Any = "auto"
    penalty: float | str = "auto"
    hidden_layer_sizes: Sequence[int] = ()
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 200
    tol: float = 1e-6
    n_init: int = 1
    random_state: Any = None
    n_jobs: int | None = None
    progress: Callable[[int, float], None] | None = None

    @property
    def solver(self) -> Any:
        """How the model is basis, as the parameters say now."""
        return Conditional(self.penalty, self._steps, tuple(self.hidden_layer_sizes))


class NLNN(_Network):
    """Noisy-label network (Bekker and Goldberger, 2016): channel and weights in turns, by EM.

    ``P(given y | x) = sum_z channel[y, z] softmax(w x)[z]``. The E-step takes
    ``gamma[i, z] ~ channel[y_i, z] softmax(w x_i)[z]``; the M-step counts the channel from gamma
    and fits the weights w to it.

    Parameters and attributes are those of NoisyLabelNB, but for ``penalty``, the cost of squared
    weights ("auto": rows x columns / 2000, 1 at least, texts not counted; chosen for linear
    networks, and too large for hidden layers), and ``hidden_layer_sizes``, the units of each
    hidden layer (none: a linear network). ``class_prior_`` is P(true class) of a row of which
    nothing is known. Without hidden layers `NAL` climbs the same objective, mostly sooner; where
    that has several maxima, the two may end apart.

    Examples
    --------
    >>> X = [["sunny"], ["sunny"], ["rain"], ["rain"]]
    >>> NLNN(channel="identity").fit(X, ["no", "no", "yes", "yes"]).predict([["rain"]]).tolist()
    ['yes']
    """

    _steps = "em"


class NAL(_Network):
    """Noise adaptation layer (Goldberger and Ben-Reuven, 2017): the channel is one more layer.

    ``P(given y | x) = sum_z channel[y, z] softmax(w x)[z]``, where each column of the channel is
    a softmax too. Channel and weights follow the gradient together: the objective is that of
    `NLNN`, and so is, where it has one maximum, the model that it reaches. Parameters and
    attributes are those of NLNN.

    Examples
    --------
    >>> X = [["sunny"], ["sunny"], ["rain"], ["rain"]]
    >>> NAL(channel="identity").fit(X, ["no", "no", "yes", "yes"]).predict([["rain"]]).tolist()
    ['yes']
    """

    _steps = "gradient"


@dataclass(kw_only=True, eq=False, repr=False)
class BayesANIL(Preset):
    """Naive Bayes that weighs each row by an estimate of P(class, row), from an aspect model.

    ``P(z, row, word) = P(z) P(row | z) P(word | z)``, by EM from the given labels. Labels are only
    the start, so that many passes forget them.

    Parameters
    ----------
    trust : float
        P(true = given) at the start.
    smoothing, families
        As in NoisyLabelNB; no reals.
    max_iter : int
        Passes of EM, all of which are made.

    Examples
    --------
    >>> from misnomer.simulate import draw_zeng
    >>> run = draw_zeng(300, diagonal=(0.7, 0.8), random_state=0)
    >>> clf = BayesANIL(families="bernoulli").fit(run.X, run.given)
    >>> bool(clf.score(run.X, run.true) > 0.5)
    True
    """

    channel = "free"

    trust: float = 0.8
    smoothing: str | float | Smoothing = "laplace"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 5

    @property
    def solver(self) -> Any:
        """The aspect model, then counts."""
        return partial(aspect, trust=self.trust)


FILTER_FOLDS = 4  # as Brodley and Friedl have it
VOTE_SHARES = {"classification": 0.0, "majority": 0.5, "consensus": 1.0}


def judges(vote: str) -> list[Any]:
    """List who votes: naive Bayes alone, or a tree, nearest neighbors and a linear machine."""
    if vote == "classification":
        return [BernoulliNB(binarize=0.5)]
    return [
        DecisionTreeClassifier(random_state=0),
        KNeighborsClassifier(5),
        LogisticRegression(max_iter=2000),
    ]


@dataclass(kw_only=True, eq=False, repr=False)
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

    vote: str = "majority"
    smoothing: str | float | Smoothing = "laplace"
    families: str | Mapping[Any, str] = "auto"

    @property
    def solver(self) -> Any:
        """Filter, then count."""
        if self.vote not in VOTE_SHARES:
            known = ", ".join(f'"{name}"' for name in VOTE_SHARES)
            raise ValueError(f"vote must be one of {known}, not {self.vote!r}")
        return partial(filter_and_count, vote=self.vote)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        assert isinstance(fit, FilteredFit)
        self.kept_ = fit.kept


@dataclass(frozen=True, eq=False)
class FilteredFit(Fit):
    """A fit to the rows that a filter has left: ``kept``, (n,)."""

    kept: NDArray[np.bool_] = field(kw_only=True)


def filter_and_count(task: Task, vote: str) -> Fit:
    """Count the rows that at most a share of the judges would label otherwise."""
    whole = task.whole
    basis = feature_map(task.schema, whole.sums[0], whole.rows)
    rows = [x.toarray() for batch in task.batches for _, x, _ in feature_rows(basis, batch)]
    X = sparse.csr_array(sparse.vstack(list(map(sparse.csr_array, rows))))
    given = np.concatenate([batch.given for batch in task.batches])
    outvoted = against(X, given, task.channel.n_labels, judges(vote))
    kept = outvoted <= VOTE_SHARES[vote] if vote != "consensus" else outvoted < 1.0
    if len(np.unique(given[kept])) < len(np.unique(given)):
        kept = np.ones(len(given), bool)  # a class without rows cannot be counted
    ends = np.cumsum([0, *(len(batch) for batch in task.batches)])
    parts = [
        batch.take(np.flatnonzero(kept[start:stop]))
        for batch, start, stop in zip(task.batches, ends[:-1], ends[1:], strict=True)
    ]
    fit = counts(replace(task, batches=parts))
    return FilteredFit(fit.model, fit.objective, fit.history, details=fit.details, kept=kept)


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
    split = StratifiedKFold(min(FILTER_FOLDS, int(sizes.min())), shuffle=True, random_state=0)
    for voter in voters:
        guess = cross_val_predict(voter, X[known], given[known], cv=split)
        out[known] += (guess != given[known]) / len(voters)
    return out.round(9)
