"""Denis, Magnan and Ralaivola: naive Bayes where labels are flipped at random, or are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from misnomer.channel import unlabeled
from misnomer.classifiers import labels
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.noisy import class_names
from misnomer.papers.preset import FlipRates, Preset, TwoClasses
from misnomer.smoothing import Smoothing
from misnomer.solvers.em import em_from_moments, em_from_random
from misnomer.solvers.flip_rates import ClosedForm, moments
from misnomer.solvers.moments import permuted
from misnomer.solvers.task import Fit
from misnomer.solvers.unlabeled import closed_form, em_from_closed_form, third_moments


@dataclass(kw_only=True, eq=False, repr=False)
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

    estimator: str = "least-squares"
    smoothing: str | float | Smoothing = "none"
    families: str | Mapping[Any, str] = "auto"

    @property
    def solver(self) -> Any:
        """The closed form."""
        return partial(moments, estimator=self.estimator)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        if isinstance(fit, ClosedForm) and fit.standard_errors is not None:
            self.standard_errors_ = fit.standard_errors


@dataclass(kw_only=True, eq=False, repr=False)
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

    init: str = "moments"
    estimator: str = "least-squares"
    smoothing: str | float | Smoothing = "none"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 1000
    tol: float = 1e-7
    n_init: int = 1
    random_state: Any = None

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
        self.objectives_ = fit.objectives


@dataclass(kw_only=True, eq=False, repr=False)
class NBUNL(TwoClasses):
    """NB-UNL: two classes without labels, from the moments of three columns.

    With ``P(class 1) = (1 + s) / 2`` and means ``x_i + (1 - s) u_i`` and ``x_i - (1 + s) u_i``, the
    central moments are ``z_ij = (1 - s^2) u_i u_j`` and ``z_ijk = -2 s (1 - s^2) u_i u_j u_k``.

    Labels passed to ``fit`` only name the two classes; without them they are 0 and 1, in an order
    of no meaning.

    Parameters
    ----------
    estimator : {"aligned", "literal"}
        "literal" is Algorithm 3 in print, for flags: the signs of its square roots are lost where
        they are summed. The default aligns them by the covariances.
    smoothing, families
        As in NoisyLabelNB; columns of flags, categories or reals, three at least.

    Examples
    --------
    >>> from misnomer.simulate import matched_target
    >>> X, true = matched_target(0.9, f_value=0.903).draw(2000, random_state=0)
    >>> bool(NBUNL().fit(X, true).score(X, true) > 0.85)
    True
    """

    estimator: str = "aligned"
    smoothing: str | float | Smoothing = "none"
    families: str | Mapping[Any, str] = "auto"

    @property
    def channel(self) -> Any:
        """No labels, two classes."""
        return unlabeled(2)

    @property
    def solver(self) -> Any:
        """The moments of three columns."""
        return partial(third_moments, estimator=self.estimator)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, trusted: Any = None) -> Self:
        """Learn from rows; y only names the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame, (n, d)
            The rows.
        y : array (n,), optional
            Two labels: each class takes the name that more of its rows have.
        sample_weight : array (n,), optional
            A row of weight zero is absent.
        trusted : ignored
            There are no labels to trust.

        Returns
        -------
        self : NBUNL
            The fitted classifier.
        """
        super().fit(X, None, sample_weight)
        return self if y is None else self._named_after(X, y)

    def _named_after(self, X: Any, y: Any) -> Self:
        y = labels.column(y)
        gaps = labels.missing(y)
        names = labels.distinct(y, gaps)
        if len(names) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"NBUNL tells two classes apart, but y holds {len(names)}"
            )
        code = labels.encode(y, names, gaps)
        guess = self.predict(X)
        if (guess == code)[~gaps].mean() < 0.5:
            self.model_ = permuted(self.model_, np.array([1, 0]))
            self.class_prior_ = self.model_.prior
        self.classes_ = names
        self._naming = replace(self._naming, classes=names)
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class PUNB(TwoClasses):
    """Naive Bayes from positive and unlabeled rows.

    ``P(positive) = sum C D / sum (C D + C^2)`` over pairs of columns, C the product of the
    differences of their means between positives and population, D their covariance in the
    population: (12) and (17), corrected.

    Parameters
    ----------
    estimator : {"em", "closed-form", "literal"}
        EM started at the closed form, or the closed form alone, or (17) as printed, which is far
        off: it exchanges two products.
    design : {"two-sample", "one-sample"}
        Two samples, one of positives and one of the population; or one sample of the population,
        some of whose positives were labeled.
    positive : label, optional
        Which label means positive: needed where two words are given; else 1, True, or the only
        label there is.
    smoothing, families, max_iter, tol
        As in NoisyLabelNB.

    Attributes
    ----------
    class_prior_ : (2,) array
        P(class) in the population: in the unlabeled rows, or (one-sample) in all rows.

    Examples
    --------
    >>> from misnomer.simulate import matched_target
    >>> target = matched_target(0.9, f_value=0.903)
    >>> X, true = target.draw(2000, random_state=0)
    >>> positive = np.flatnonzero(true)[:400]
    >>> rows = np.r_[positive, np.arange(1000, 2000)]
    >>> pu = PUNB().fit(X[rows], np.r_[np.ones(400, int), np.zeros(1000, int)])
    >>> bool(abs(pu.class_prior_[1] - target.prior) < 0.1)
    True
    """

    channel = "free"

    estimator: str = "em"
    design: str = "two-sample"
    positive: Any = None
    smoothing: str | float | Smoothing = "none"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 1000
    tol: float = 1e-7

    @property
    def solver(self) -> Any:
        """The closed form, or EM from there."""
        if self.estimator not in ("closed-form", "em", "literal"):
            raise ValueError(
                f'estimator must be "closed-form", "em" or "literal", not {self.estimator!r}'
            )
        if self.estimator == "em":
            return partial(em_from_closed_form, design=self.design)
        form = "literal" if self.estimator == "literal" else "least-squares"
        return partial(closed_form, design=self.design, estimator=form)

    def _labels(self, y: Any, n: int) -> Any:
        """Turn labels into 1 (positive) and 0 (unlabeled, missing), and remember their names."""
        given = Preset._labels(self, y, n)
        gaps = labels.missing(given)
        positive, off = class_names(given, gaps, self.positive)
        on = ~gaps & (given == positive)
        if not on.any():
            raise ValueError(
                f"no row is labeled positive ({positive!r}): positive-unlabeled learning needs "
                "some positives"
            )
        self._names = (off, positive)
        return on.astype(np.int64)

    def _keep(self, fit: Fit, naming: Naming) -> None:
        """Give the two classes their names, sorted as scikit-learn sorts them."""
        names = np.array(self._names)
        order = np.argsort(names)
        if order[0] == 1:
            model, channel = fit.model, fit.model.channel
            cells = ("matrix", "free", "counts")
            turned = {name: getattr(channel, name)[::-1, ::-1] for name in cells}
            model = replace(permuted(model, order), channel=replace(channel, **turned))
            fit = replace(fit, model=model)
        super()._keep(fit, replace(naming, labels=names[order], classes=names[order]))
