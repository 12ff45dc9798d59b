"""Denis, Magnan and Ralaivola: naive Bayes under class-conditional classification noise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.papers.preset import FlipRates
from misnomer.smoothing import Smoothing
from misnomer.solvers.moments import moments
from misnomer.solvers.noisy_em import em_from_moments, em_from_random
from misnomer.solvers.task import Fit


class NBCCCN(FlipRates):
    """NB-CCCN: two classes, two unknown flip rates, in closed form.

    Parameters
    ----------
    estimator : {"least-squares", "literal"}
        "literal" is (18) and (19) as printed; the default regresses instead, and needs less data.
    smoothing, families
        As in NoisyLabelNB.

    Attributes
    ----------
    flip_rates_, alpha_, beta_, projection_
        What `FlipRates` says; all others are those of NoisyLabelNB.

    Examples
    --------
    >>> from misnomer.simulate import make_noisy_labels, matched_target
    >>> X, true = matched_target(0.9, f_value=0.903).draw(2000, random_state=0)
    >>> given = make_noisy_labels(true, [[0.8, 0.5], [0.2, 0.5]], random_state=1)
    >>> bool(NBCCCN().fit(X, given).score(X, true) > 0.85)
    True
    """

    channel = "flips"

    def __init__(
        self,
        *,
        estimator: str = "least-squares",
        smoothing: str | float | Smoothing = "none",
        families: str | Mapping[Any, str] = "auto",
    ) -> None:
        self.estimator = estimator
        self.smoothing = smoothing
        self.families = families

    @property
    def solver(self) -> Any:  # type: ignore[override]
        """The closed form."""
        return partial(moments, estimator=self.estimator)


class NBCCCNEM(FlipRates):
    """NB-CCCN-EM: EM that starts from the closed form, or from random models.

    Parameters
    ----------
    init : {"moments", "random"}
        Where EM starts; with "random" it runs to the end ``n_init`` times.
    estimator, smoothing, families, max_iter, tol, n_init, random_state
        As in NBCCCN and NoisyLabelNB.

    Attributes
    ----------
    objectives_ : array
        The objective that each run reached.
    flip_rates_, alpha_, beta_, projection_
        What `FlipRates` says.
    """

    channel = "flips"

    def __init__(
        self,
        *,
        init: str = "moments",
        estimator: str = "least-squares",
        smoothing: str | float | Smoothing = "none",
        families: str | Mapping[Any, str] = "auto",
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_init: int = 1,
        random_state: Any = None,
    ) -> None:
        self.init = init
        self.estimator = estimator
        self.smoothing = smoothing
        self.families = families
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    @property
    def solver(self) -> Any:  # type: ignore[override]
        """EM from where ``init`` says."""
        if self.init not in ("moments", "random"):
            raise ValueError(f'init must be "moments" or "random", not {self.init!r}')
        if self.init == "random":
            return em_from_random
        return partial(em_from_moments, estimator=self.estimator)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.objectives_ = fit.details["objectives"]
