"""Zeng et al.: a full channel between K classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.papers.preset import Preset
from misnomer.smoothing import Smoothing
from misnomer.solvers.noisy_em import em_from_diagonal
from misnomer.solvers.task import Fit


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
    def solver(self) -> Any:
        """EM from that diagonal."""
        return partial(em_from_diagonal, diagonal=self.diagonal)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.dominant_ = fit.details["dominant"]
