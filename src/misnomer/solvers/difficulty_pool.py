"""The pool's answer, with errors that depend on difficulty taken into account."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.difficulty import Assume, examine
from misnomer.solvers.difficulty_fit import DifficultyFit
from misnomer.solvers.pool_average import Average
from misnomer.solvers.pool_candidates import Candidate, Field
from misnomer.solvers.pool_scores import Source, out_of_fold

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Look:
    """What was found, and the naive Bayes that may be needed for it.

    Attributes
    ----------
    fit : DifficultyFit
        Whether errors depend on difficulty.
    plain : Source
        Naive Bayes of the given labels.
    """

    fit: DifficultyFit
    plain: Source

    def applied(self, found: Field, answer: Average) -> Average:
        """Take the shift of the boundary out of an answer; where errors were found, judge by them.

        An answer that was refitted to more rows than were looked at keeps its posteriors.
        """
        fit = self.fit
        if not fit.found:
            return answer
        weights, bias = answer.weights, answer.bias - bias_of(answer)
        if fit.plain:
            weights, bias = self.plain.weights, self.plain.bias
        answer = replace(answer, weights=fit.scale * weights, bias=fit.scale * bias + fit.shift)
        rows = found.rows
        if not fit.judges or len(rows) != len(fit.share):
            return answer
        after = np.where(rows.trusted[:, None], rows.hard, fit.share)
        return replace(
            answer, share=fit.share, fitted=fit.channel, reported=fit.channel, posterior=after
        )


def look(found: Field, answer: Average, assume: Assume = "auto") -> Look:
    """Examine the rows on which explanations competed."""
    rows = found.rows
    given = [one.source for one in found.candidates if one.source.name == "given"]
    plain = given[0] if given else out_of_fold(rows, rows.hard * rows.weight[:, None])
    fit = examine(
        rows.label,
        answer.share,
        answer.fitted,
        unshifted(answer),
        plain.scores,
        rows.folds,
        weight=rows.weight,
        trusted=rows.trusted,
        assume=assume,
    )
    return Look(fit, plain)


def unshifted(answer: Average) -> Array:
    """Add up ``s ((1 - w) S + w T)`` over the explanations: the scores without a bias, (n, K)."""
    return np.asarray(sum(weight * _scores(one) for weight, one in answer.parts))


def _scores(one: Candidate) -> Array:
    mix, scores = one.pooled.point.mix, one.source.scores
    mixed = scores if one.twin is None else scores + mix * (one.twin.scores - scores)
    return one.pooled.scale * mixed


def bias_of(answer: Average) -> Array:
    """Add up ``s a`` over the explanations, (K,)."""
    parts = [weight * one.pooled.scale * one.pooled.point.bias for weight, one in answer.parts]
    return np.asarray(sum(parts))
