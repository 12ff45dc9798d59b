"""BayesANIL (Ramakrishnan et al., 2005), as far as its abstract tells it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from misnomer.classifiers.papers.preset import Preset
from misnomer.smoothing import Smoothing
from misnomer.solvers.aspect import aspect


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

    def __init__(
        self,
        *,
        trust: float = 0.8,
        smoothing: str | float | Smoothing = "laplace",
        families: str | Mapping[Any, str] = "auto",
        max_iter: int = 5,
    ) -> None:
        self.trust = trust
        self.smoothing = smoothing
        self.families = families
        self.max_iter = max_iter

    @property
    def solver(self) -> Any:
        """The aspect model, then counts."""
        return partial(aspect, trust=self.trust)
