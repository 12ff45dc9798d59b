"""What has not been proven does not displace naive Bayes.

On few rows the explanations of the pool fit the labels a little better than plain counts do, and
predict no better: the gain is what a choice among many gains by chance. Predictions therefore lean
on naive Bayes of the given labels as far as it is not refuted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from misnomer.kernels import softmax
from misnomer.solvers.difficulty_temper import tempered
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source, margin
from misnomer.solvers.strata import paired

Array = NDArray[np.float64]

_PROVEN = 1.0  # standard errors
_HARDLY = 0.01  # a part that changes nothing
_LEAST, _SURE = 1e-6, 1e-12


def doubt_of_gain(rows: Rows, chance: Array, plain: Array) -> float:
    """Compute how little it is proven that labels are better explained: a number from 0 to 1.

    With z the gain in log likelihood over tempered naive Bayes, rows paired, in standard errors,
    ``Phi(1 - z)``: one half where the gain is one of them.

    Parameters
    ----------
    rows : Rows
        The rows.
    chance : (n, K) array
        P(given | x) of the pool, out of fold.
    plain : (n, K) array
        Scores of naive Bayes of the given labels, out of fold.
    """
    at = np.flatnonzero((rows.label >= 0) & ~rows.trusted)
    if not len(at):
        return 0.0
    label, weight, every = rows.label[at], rows.weight[at], np.arange(len(at))
    scale, shift = tempered(plain[at], label, weight, bias=True)
    none = softmax(scale * plain[at] + shift)[0][every, label]
    own = chance[at][every, label]
    each = np.log(np.maximum(own, _LEAST)) - np.log(np.maximum(none, _LEAST))
    return float(ndtr(_PROVEN - paired(each, weight, 0.0)[2]))


def leaning(
    part: float, plain: Source, share: Array, weights: Array, bias: Array
) -> tuple[Array, Array]:
    """Mix weights and bias with a part of naive Bayes, whose margins are brought to those of q.

    ``share`` is q, P(true | x) of the rows out of fold, (n, K).
    """
    own = margin(plain.scores)
    if part < _HARDLY or own <= 0:
        return weights, bias
    factor = part * margin(np.log(np.maximum(share, _SURE))) / own
    rest = 1.0 - part
    return rest * weights + factor * plain.weights, rest * bias + factor * plain.bias
