"""Variational Bayes for the same model: in none of the papers, and beside them in their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from misnomer.channel import Channel
from misnomer.classifiers.inputs import Naming
from misnomer.papers.preset import Preset
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Fit


class VBNB(Preset):
    """Naive Bayes and channel by variational Bayes: the one to take for few, noisy rows.

    It is in none of the papers. A Dirichlet distribution over prior, columns and channel takes the
    place of one value, and its mean of the logarithm that of ``log p`` in the E-step:
    ``log gamma[i, z] = E log prior[z] + E log channel[y_i, z] + sum_j E log P(x_ij | z)``, up to
    a constant of the row.

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
        self.elbos_ = fit.objectives
