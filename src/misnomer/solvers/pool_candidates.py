"""Explanations of the given labels that compete: each a source of scores, a twin, and a channel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_belief import INDEPENDENT, confirmed, independent, named_alike
from misnomer.solvers.pool_channel import even
from misnomer.solvers.pool_generative import Dispersion, dispersion, generative
from misnomer.solvers.pool_objective import COSTS
from misnomer.solvers.pool_paths import HOPELESS, Note, Paths
from misnomer.solvers.pool_refit import refit
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source, out_of_fold
from misnomer.solvers.pool_search import Pooled, first_starts, kinds, posterior, search
from misnomer.solvers.pool_twin import Basis, Twin, basis, unexplained, without_two
from misnomer.solvers.pool_variational import variational

Array = NDArray[np.float64]
UNTEMPERED = replace(COSTS, log_scale=0.0, scale_spread=0.4)

_ROUNDS, _LATE_ROUNDS = 10, 3  # of a refit
_HARDLY = 0.05  # what a dispersion may exceed one by without a difference
_NEAR = 6.0  # nats of the labels that the joint likelihood may cost
_CHANCE_LEFT = 3.0  # standard errors of what the columns still know of the labels


@dataclass(frozen=True, eq=False)
class Candidate:
    """One explanation.

    Attributes
    ----------
    pooled, source, twin
        Its channel, its counts, its conditional weights.
    name : str
        What was counted, or the twin's penalty.
    """

    pooled: Pooled
    source: Source
    twin: Twin | None
    name: str

    @property
    def objective(self) -> float:
        """Negative log posterior."""
        return self.pooled.objective


@dataclass(frozen=True, eq=False)
class Field:
    """All explanations of some rows.

    Attributes
    ----------
    rows : Rows
        The rows.
    candidates : tuple of Candidate
        Those that compete.
    counted : Candidate
        The best without a twin.
    on : Basis or None
        The features of the twins.
    shares : (n, K) array or None
        P(true | x, y) by the joint model, where it is believed.
    believed : bool
        Whether it was believed: then no other source competes.
    spread : Dispersion or None
        Of the columns within those shares, where it is known already.
    """

    rows: Rows
    candidates: tuple[Candidate, ...]
    counted: Candidate
    on: Basis | None = None
    shares: Array | None = None
    believed: bool = False
    spread: Dispersion | None = None

    @property
    def best(self) -> Candidate:
        """The best explanation."""
        return min(self.candidates, key=lambda one: one.objective)


@dataclass(frozen=True)
class Search:
    """Which kinds of explanation compete.

    Attributes
    ----------
    twin, refit, variational : bool
        Conditional weights; counts of rows shared out by an earlier answer; the joint model.
    penalties : tuple of float
        Of the twin, falling; empty chooses them by the table.
    note : callable
        Told the objective of every candidate.
    many : bool
        The rows are a sample of many, which will be counted again anyway.
    """

    twin: bool = True
    refit: bool = True
    variational: bool = True
    penalties: tuple[float, ...] = ()
    note: Note = field(default=lambda objective: None)
    many: bool = False

    def __call__(self, rows: Rows) -> Field:
        """Collect the candidates."""
        found = self._counted(rows)
        if self.variational:
            found = self._many(rows, found) if self.many else self._joint(rows, found)
        if not self.twin:
            return found
        on, best = basis(rows), found.best.pooled
        if found.believed and unexplained(rows, on, best.share, best.channel) < _CHANCE_LEFT:
            return found  # the columns know nothing of the labels that it does not
        found = self._twins(rows, found, on)
        first = found.best
        if self.many or not self.refit or found.believed or first.twin is None:
            return found
        twins = without_two(rows, on, first.twin)
        late = [self._refit(rows, first, full, _LATE_ROUNDS, twins) for full in (False, True)]
        return replace(found, candidates=(*found.candidates, *late))

    def _noted(self, candidate: Candidate) -> Candidate:
        self.note(candidate.objective)
        return candidate

    def _counted(self, rows: Rows) -> Field:
        """Naive Bayes of the given labels, and of rows shared out by what that says."""
        source = out_of_fold(rows, rows.hard * rows.weight[:, None])
        found = []
        starts = first_starts(rows.classes)
        for free in kinds(rows.classes):
            end = search(rows, source.scores, None, starts, free=free)
            first = self._noted(Candidate(end, source, None, "given"))
            found.append(first)
            if self.refit and not self.many:
                found += [self._refit(rows, first, full, _ROUNDS) for full in (False, True)]
        if self.refit and self.many:
            best = min(found, key=lambda one: one.objective)
            found.append(self._refit(rows, best, True, _LATE_ROUNDS))
        return Field(rows, tuple(found), min(found, key=lambda one: one.objective))

    def _refit(
        self,
        rows: Rows,
        start: Candidate,
        full: bool,
        rounds: int,
        twins: Array | None = None,
    ) -> Candidate:
        """Count rows by P(true | x, y): only as far as they keep their label, or in full."""
        end, source = refit(
            rows,
            start.pooled,
            start.source,
            twins,
            full=full,
            rounds=rounds,
            strict=not self.many,
        )
        return self._noted(Candidate(end, source, start.twin, source.name))

    def _many(self, rows: Rows, found: Field) -> Field:
        """Believe counts whose columns vary within classes no more than independent ones would."""
        best = found.best
        share = posterior(rows, best.pooled.share, best.pooled.channel)
        spread = dispersion(rows, share)
        if spread.z > INDEPENDENT and spread.ratio > 1.0 + _HARDLY:
            return found
        return replace(found, shares=share, believed=True, spread=spread)

    def _joint(self, rows: Rows, found: Field) -> Field:
        """Believe the joint model alone where it fits its own columns; else let it compete."""
        fitted, source, share = generative(rows, even(rows.classes, 0.8))
        own = self._named(rows, source, share)
        best = min((one.objective for one in own), default=np.inf)
        if best < found.best.objective + _NEAR and independent(fitted, share):
            own = [self._untempered(rows, one) for one in own]
            first = min(own, key=lambda one: one.objective)
            return Field(rows, tuple(own), first, None, share, True)
        own = self._named(rows, *variational(rows, even(rows.classes, 0.8)))
        every = (*found.candidates, *own)
        return Field(rows, every, min(every, key=lambda one: one.objective))

    def _named(self, rows: Rows, source: Source, share: Array) -> list[Candidate]:
        """Explain the labels by clusters, unless these bear other names than the classes."""
        joint = rows.hard.T @ (share * rows.weight[:, None])
        chance = rows.hard.T @ (softmax(source.scores)[0] * rows.weight[:, None])
        if not (named_alike(joint) and confirmed(chance)):
            return []
        K = rows.classes
        starts = [(even(K, 0.8), 1.0), (even(K, 0.7), 0.2)]
        ends = [search(rows, source.scores, None, starts, free=free) for free in kinds(K)]
        return [self._noted(Candidate(end, source, None, source.name)) for end in ends]

    def _untempered(self, rows: Rows, one: Candidate) -> Candidate:
        """Search again with a scale of about one: that is what independent columns have."""
        start, free = [(one.pooled.channel, 1.0)], one.pooled.free
        costs = replace(UNTEMPERED, bias=max(COSTS.bias, rows.total / (4 * rows.classes)))
        end = search(rows, one.source.scores, None, start, free=free, costs=costs)
        return self._noted(replace(one, pooled=end))

    def _twins(self, rows: Rows, found: Field, on: Basis) -> Field:
        """Pool the scores with twins of several channels and penalties."""
        first = found.counted
        hopeful = _hopeful(found)
        paths = Paths(rows, on, first.source, first.pooled, hopeful, self.penalties, self.note)
        twins = [
            Candidate(end, first.source, twin, f"twin {twin.penalty:g}") for end, twin in paths()
        ]
        return replace(found, candidates=(*found.candidates, *twins), on=on)


def _hopeful(found: Field) -> tuple[bool, ...]:
    """Go on with even and free splits of the errors, unless one of them has lost already."""
    best = {
        free: min(
            (one.objective for one in found.candidates if one.pooled.free == free), default=np.inf
        )
        for free in kinds(found.rows.classes)
    }
    return tuple(free for free in best if best[free] < min(best.values()) + HOPELESS)


def silent(rows: Rows) -> float:
    """Negative log likelihood of the given labels where the columns say nothing."""
    count = rows.weight @ rows.hard
    return -float(count @ np.log(np.maximum(count, 1e-9) / max(count.sum(), 1e-9)))
