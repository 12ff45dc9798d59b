"""Networks that learn through a noisy channel, without hidden layers by default.

A network without hidden layers is one linear form over the table's statistics: the same model as
naive Bayes, with weights that fit the given labels instead of the columns.

`NLNN` and `NAL` have one objective here, climbed in two ways: both maximize the likelihood of the
given labels over weights and one channel for all rows, and without hidden layers they mostly end
at the same maximum. What sets them apart in their papers is not here: networks with hidden layers
trained by stochastic gradients, and the second form of the adaptation layer, whose channel depends
on the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from misnomer.channel import Channel
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.solvers.conditional.fit import Conditional


class _Network(NoisyLabelNB):
    """What both networks share: their parameters, and how these become a solver."""

    smoothing = "auto"  # there are no virtual examples: the penalty does their work
    _steps: str

    def __init__(
        self,
        *,
        channel: str | Channel | Any = "auto",
        penalty: float | str = "auto",
        hidden_layer_sizes: Sequence[int] = (),
        families: str | Mapping[Any, str] = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        self.channel = channel
        self.penalty = penalty
        self.hidden_layer_sizes = hidden_layer_sizes
        self.families = families
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    @property
    def solver(self) -> Any:
        """How the model is found, as the parameters say now."""
        return Conditional(self.penalty, self._steps, tuple(self.hidden_layer_sizes))

    @property
    def partial_fit(self) -> Any:
        """Hide what the base class offers: a network needs all rows at once."""
        raise AttributeError("a network learns from all rows at once: call fit")


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
