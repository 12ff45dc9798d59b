"""What a preset leaves open: a parameter that it does not name has the value given here."""

from __future__ import annotations

from typing import Any

from misnomer.classifiers import labels
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.inputs import Naming
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
