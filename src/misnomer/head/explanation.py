"""One explanation of the labels, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.head.checked import FEWEST_DRAWN, sureness
from misnomer.head.objective import Point, Problem, Typical
from misnomer.head.rates import choose_strata, labeled_rows
from misnomer.kernels import softmax
from misnomer.learners.learner import LEAST_CHANCE
from misnomer.learners.rows import Rows

Array = NDArray[np.float64]

LEAST_SHARE = 0.01  # of a learner in the mixture


@dataclass(frozen=True, eq=False)
class Explanation:
    """One way to explain the labels.

    Attributes
    ----------
    problem : Problem
        The rows and the learners' scores.
    point : Point
        The best parameters.
    typical : Typical
        The typical error rate that was believed.
    cost : float
        Negative log evidence: posterior of the head's parameters, whatever the channel.
    converged : bool
        Whether the search ended by itself.
    surprise : float, optional
        Negative log probability of the classes of checked rows, each by a head that did not know,
        and of the explanation before they were asked.
    """

    problem: Problem
    point: Point
    typical: Typical
    cost: float
    converged: bool = True
    surprise: float | None = None

    def factors(self) -> Array:
        """What each learner's scores are multiplied by, (J,)."""
        return np.asarray(self.point.temper * self.point.shares / self.problem.units)

    def logits(self) -> Array:
        """Compute B (sum_j w_j S_j + a) of all rows, (n, K)."""
        out = np.tile(self.point.temper * self.point.shift, (len(self.problem.rows), 1))
        for factor, one in zip(self.factors(), self.problem.scored, strict=True):
            out += factor * one.scores
        return out


def tempered(one: Explanation) -> Explanation:
    """Let the rows that were drawn and checked say how sure the head may be of itself."""
    rows = one.problem.rows
    assert rows.design is not None
    at = np.flatnonzero(rows.design > 0)
    factor = sureness(one.logits()[at], rows.known[at], rows.design[at])
    return replace(
        one, point=replace(one.point, log_temper=one.point.log_temper + float(np.log(factor)))
    )


def chance_of(one: Explanation) -> Array:
    """Compute P(what is said of a row | x), (n,); one where nothing is."""
    share = softmax(one.logits())[0]
    chance = (share * one.problem.rows.seen_through(one.point.channel)).sum(axis=1)
    return np.asarray(np.maximum(chance, LEAST_CHANCE))


def heard(one: Explanation) -> Explanation:
    """Leave out learners whose share changes nothing: others need not be scored by them."""
    shares = np.where(one.point.shares < LEAST_SHARE, 0.0, one.point.shares)
    return replace(one, point=replace(one.point, shares=shares / shares.sum()))


def stratified_chance(best: Explanation) -> Array | None:
    """Compute P(label | x, stratum) of the rows, (n,), where strata tell where errors strike.

    None where one channel does for all rows; one for rows without a label.
    """
    rows, logits = best.problem.rows, best.logits()
    share = softmax(logits)[0]
    labeled, at = labeled_rows(rows, share, best.point.channel)
    strata = choose_strata(rows.schema, rows.batch, labeled, logits[at], at) if len(at) else None
    if strata is None:
        return None
    seen = rows.seen_through(best.point.channel)
    seen[at] = strata.channels[strata.of(rows.batch, logits)[at], rows.label[at]]
    return np.asarray(np.maximum((share * seen).sum(axis=1), LEAST_CHANCE))


def agreed(explanations: Sequence[Explanation]) -> list[Explanation]:
    """Let all explanations believe that classes are as far apart as the one that knows most says.

    How far they are is the same whoever explains the labels: one by which rows are hard to tell may
    not find that usual because it sees no more.
    """
    apart = max(one.problem.mean_log_temper for one in explanations)
    common = [replace(one.problem, apart=apart) for one in explanations]
    return [
        replace(
            one,
            problem=problem,
            cost=one.cost + problem.temper_cost(one.point) - one.problem.temper_cost(one.point),
        )
        for one, problem in zip(explanations, common, strict=True)
    ]


def speaks_for_own(channel: Array) -> bool:
    """Tell whether each label is most usual in its own class: seeing it speaks for that class.

    Of two classes the two error rates then add up to less than one. Without it a label means
    another class, and nothing but a person who knows could tell.

    Examples
    --------
    >>> speaks_for_own(np.array([[0.5, 0.2], [0.5, 0.8]]))
    True
    >>> speaks_for_own(np.array([[0.5, 0.6], [0.5, 0.4]]))
    False
    """
    return bool((np.diag(channel)[:, None] >= channel - 1e-9).all())


def is_told_by_others(rows: Rows) -> bool:
    """Tell whether labels are not alone: others saw the rows, or told the classes of some."""
    return rows.evidence is not None or int((rows.known >= 0).sum()) >= FEWEST_DRAWN
