"""Denis, Magnan and Ralaivola: naive Bayes under class-conditional classification noise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.papers.preset import FlipRates
from misnomer.smoothing import Smoothing
from misnomer.solvers.moments.flip_rates import moments
from misnomer.solvers.noisy_em import em_from_moments, em_from_random
from misnomer.solvers.task import Fit


class NBCCCN(FlipRates):
    """NB-CCCN: two classes, two unknown flip rates, in closed form.

    With C the product of the differences of two columns' means between the labels, D and E their
    covariances within label 1 and label 0: ``(a - b)^2 D = a (1 - a) C`` and
    ``(a - b)^2 E = b (1 - b) C``, equations (10) and (11), for a = P(true 1 | label 1) and
    b = P(true 1 | label 0). It needs two columns that differ between the labels, independent
    columns within a class, and flip rates that add up to less than one.

    Parameters
    ----------
    estimator : {"least-squares", "literal", "equation-13"}
        "literal" is (18) and (19) as printed, "equation-13" (18) and then (13); the default
        regresses instead, and needs less data.
    smoothing, families
        As in NoisyLabelNB.

    Attributes
    ----------
    flip_rates_, alpha_, beta_, projection_
        What `FlipRates` says; all others are those of NoisyLabelNB.
    standard_errors_ : dict
        Of "alpha", "beta", "prior" (P(class 1)) and "flip_rates", by a jackknife over twenty parts
        of the rows; least squares only.

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
    def solver(self) -> Any:
        """The closed form."""
        return partial(moments, estimator=self.estimator)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        if "standard_errors" in fit.details:
            self.standard_errors_ = fit.details["standard_errors"]


class NBCCCNEM(FlipRates):
    """NB-CCCN-EM: EM that starts from the closed form, or from random models.

    E-step ``P(label is wrong | x, y) = P(1 - y | x) eta[1 - y] / (that + P(y | x) (1 - eta[y]))``,
    equation (20); the M-step is (21) to (23), with (22) divided by the rows of its class. Flip
    rates start between .01 and .99: one of exactly 0 or 1 would never change.

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

    Examples
    --------
    >>> from misnomer.simulate import make_noisy_labels, matched_target
    >>> X, true = matched_target(0.9, f_value=0.903).draw(4000, random_state=0)
    >>> given = make_noisy_labels(true, [[0.8, 0.5], [0.2, 0.5]], random_state=1)
    >>> NBCCCNEM().fit(X, given).flip_rates_.round(1).tolist()
    [0.2, 0.5]
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
    def solver(self) -> Any:
        """EM from where ``init`` says."""
        if self.init not in ("moments", "random"):
            raise ValueError(f'init must be "moments" or "random", not {self.init!r}')
        if self.init == "random":
            return em_from_random
        return partial(em_from_moments, estimator=self.estimator)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.objectives_ = fit.details["objectives"]
