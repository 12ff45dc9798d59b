"""Zeng et al.: a full channel between K classes; and the same model by variational Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from misnomer.channel import Channel
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.papers.preset import Preset
from misnomer.smoothing import Smoothing
from misnomer.solvers.noisy_em import em_from_diagonal
from misnomer.solvers.task import Fit


class INB(Preset):
    """Improved naive Bayes: EM with any K x K channel whose diagonal is largest.

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

    def __init__(
        self,
        *,
        diagonal: float = 0.8,
        smoothing: str | float | Smoothing = "laplace",
        families: str | Mapping[Any, str] = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.diagonal = diagonal
        self.smoothing = smoothing
        self.families = families
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def solver(self) -> Any:  # type: ignore[override]
        """EM from that diagonal."""
        return partial(em_from_diagonal, diagonal=self.diagonal)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.dominant_ = fit.details["dominant"]


class VBNB(Preset):
    """Naive Bayes and channel by variational Bayes: the one to take for few, noisy rows.

    Parameters
    ----------
    channel, smoothing, families, max_iter, tol, n_init, random_state, n_jobs
        As in NoisyLabelNB; virtual examples are Dirichlet priors. Two starts come from the
        labels, for two classes two more from closed forms and two from the belief that one class
        has all rows; ``n_init`` beyond these adds random ones.

    Attributes
    ----------
    elbos_ : array
        The bound that each start reached. The best was kept (``lower_bound_``); for two classes
        that only the labels name, the average of all ends, by their bounds.

    Examples
    --------
    >>> from misnomer.simulate import make_noisy_labels, matched_target
    >>> X, true = matched_target(0.9, f_value=0.903).draw(500, random_state=0)
    >>> given = make_noisy_labels(true, [[0.8, 0.5], [0.2, 0.5]], random_state=1)
    >>> bool(VBNB().fit(X, given).score(X, true) > 0.85)
    True
    """

    solver = "variational"

    def __init__(
        self,
        *,
        channel: str | Channel | Any = "free",
        smoothing: str | float | Smoothing = "laplace",
        families: str | Mapping[Any, str] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.channel = channel
        self.smoothing = smoothing
        self.families = families
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.elbos_ = fit.details["elbos"]
