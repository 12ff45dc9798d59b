"""What a preset leaves open, and `VBNB`, a preset that is in none of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from misnomer.channel import Channel
from misnomer.classifiers import labels
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Fit


class Preset(NoisyLabelNB):
    """A NoisyLabelNB that names its parts; every other parameter keeps its default."""

    channel: Any = "auto"
    smoothing: Any = "auto"
    families: Any = "auto"
    solver: Any = "auto"
    max_iter: int = 200
    tol: float = 1e-6
    n_init: int = 1
    random_state: Any = None
    n_jobs: int | None = None
    progress: Any = None

    def __init__(self) -> None:
        pass

    @property
    def partial_fit(self) -> Any:
        """Hide what the base class offers: a closed form or EM needs all rows at once."""
        raise AttributeError(f"{type(self).__name__} learns from all rows at once: call fit")


class TwoClasses(Preset):
    """A preset for two classes, which says so to scikit-learn."""

    def _labels(self, y: Any, n: int) -> Any:
        y = super()._labels(y, n)
        if y is None:
            return None
        names = labels.distinct(y, labels.missing(y))
        if len(names) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(names)} classes; use INB, VBNB or NoisyLabelNB"
            )
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class FlipRates(TwoClasses):
    """Keeps what Denis et al. call eta, alpha and beta.

    Attributes
    ----------
    flip_rates_ : (2,) array
        P(given the other label | true class), for class 0 and class 1.
    alpha_, beta_ : float
        P(true class 1 | given label), for label 1 and label 0.
    projection_ : float
        How far the closed form was moved to be a distribution.
    """

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        matrix = fit.model.channel.matrix
        reverse = fit.model.channel.reverse(fit.model.prior)
        self.flip_rates_ = matrix[[1, 0], [0, 1]]
        self.beta_, self.alpha_ = reverse[:, 1].tolist()
        self.projection_ = fit.projection


@dataclass(kw_only=True, eq=False, repr=False)
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

    channel: str | Channel | Any = "free"
    smoothing: str | float | Smoothing = "laplace"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 1000
    tol: float = 1e-6
    n_init: int = 1
    random_state: Any = None
    n_jobs: int | None = None

    def _keep(self, fit: Fit, naming: Naming) -> None:
        super()._keep(fit, naming)
        self.elbos_ = fit.objectives
