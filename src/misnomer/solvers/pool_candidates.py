"""Explanations of the given labels that compete: each a source of scores, a twin, and a channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import chdtri

from misnomer.kernels.reference import softmax
from misnomer.solvers.pool_channel import dominant, even
from misnomer.solvers.pool_generative import dispersion, generative
from misnomer.solvers.pool_objective import COSTS
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source, out_of_fold
from misnomer.solvers.pool_search import Pooled, first_starts, kinds, posterior, search
from misnomer.solvers.pool_twin import Basis, Twin, basis, cross_fit, unexplained

Array = NDArray[np.float64]
UNTEMPERED = replace(COSTS, log_scale=0.0, scale_spread=0.4)
Note = Callable[["Candidate"], None]

_ROUNDS, _LATE_ROUNDS = 10, 3  # of a refit
_SETTLED = 2e-3  # mean change of the shares at which a refit ends
_DENSE_PENALTIES = (200.0, 50.0, 10.0, 2.0, 0.3)
_SPARSE_PENALTIES = (10.0, 2.0, 0.3)
_INDEPENDENT = 2.0  # standard errors of the dispersion
_HARDLY = 0.05  # what a dispersion may exceed one by without a difference
_NEAR = 6.0  # nats of the labels that the joint likelihood may cost
_HOPELESS = 4.0  # nats behind: such a candidate would have no weight
_CHANCE = 1.0  # standard errors of the labels of a cluster
_SURE = 0.95  # probability of a class, and share of the rows that reach it
_CHANCE_LEFT = 3.0  # standard errors of what the columns still know of the labels
_CONFIRMED = 0.90  # two-sided; but labels are to agree, not to disagree: one in twenty by chance


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
    """

    rows: Rows
    candidates: tuple[Candidate, ...]
    counted: Candidate
    on: Basis | None = None
    shares: Array | None = None
    believed: bool = False

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
        Told of every candidate.
    many : bool
        The rows are a sample of many, which will be counted again anyway.
    """

    twin: bool = True
    refit: bool = True
    variational: bool = True
    penalties: tuple[float, ...] = ()
    note: Note = field(default=lambda candidate: None)
    many: bool = False

    def __call__(self, rows: Rows) -> Field:
        """Collect the candidates."""
        found = self._counted(rows)
        if self.variational:
            found = self._many(rows, found) if self.many else self._joint(rows, found)
        if found.believed and not self.many and _is_sure(found.best):
            return found  # all that a twin could add is what the errors have to do with columns
        if self.twin:
            on, best = basis(rows), found.best.pooled
            if self.many and found.believed:
                left = unexplained(rows, on, best.share, best.channel)
                if left < _CHANCE_LEFT:
                    return found  # the columns know nothing of the labels that it does not
            found = self._twins(rows, found, on)
        if self.many or not self.refit or found.believed:
            return found
        if found.best.twin is not None:
            late = [self._refit(rows, found.best, full, _LATE_ROUNDS) for full in (False, True)]
            found = replace(found, candidates=(*found.candidates, *late))
        return found

    def _noted(self, candidate: Candidate) -> Candidate:
        self.note(candidate)
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

    def _refit(self, rows: Rows, start: Candidate, full: bool, rounds: int) -> Candidate:
        """Count rows by P(true | x, y): only as far as they keep their label, or in full."""
        end, source, before = start.pooled, start.source, None
        twin = None if start.twin is None else start.twin.scores
        for _ in range(rounds):
            after = posterior(rows, end.share, end.channel)
            if not full:
                after = after * rows.hard
            counted = after * rows.weight[:, None]
            if before is not None and np.abs(counted - before).mean() < _SETTLED:
                break
            source, before = out_of_fold(rows, counted, "full" if full else "prune"), counted
            begin = [(end.channel, end.scale)]
            end = search(rows, source.scores, twin, begin, free=end.free)
        return self._noted(Candidate(end, source, start.twin, source.name))

    def _many(self, rows: Rows, found: Field) -> Field:
        """Believe counts whose columns vary within classes no more than independent ones would."""
        best = found.best
        share = posterior(rows, best.pooled.share, best.pooled.channel)
        spread = dispersion(rows, share)
        if spread.z > _INDEPENDENT and spread.ratio > 1.0 + _HARDLY:
            return found
        return replace(found, shares=share, believed=True)

    def _joint(self, rows: Rows, found: Field) -> Field:
        """Let the joint model compete; where it fits its own columns, believe it alone."""
        K = rows.classes
        source, share = generative(rows, even(K, 0.8))
        joint = rows.hard.T @ (share * rows.weight[:, None])
        if not _named_alike(joint):
            return found  # its clusters have changed names: they are not the classes
        starts = [(even(K, 0.8), 1.0), (even(K, 0.7), 0.2)]
        own = []
        for free in kinds(K):
            end = search(rows, source.scores, None, starts, free=free)
            own.append(self._noted(Candidate(end, source, None, "generative")))
        best = min(own, key=lambda one: one.objective)
        if not confirmed(rows.hard.T @ (softmax(source.scores)[0] * rows.weight[:, None])):
            return found
        spread = dispersion(rows, share)
        near = best.objective < found.best.objective + _NEAR
        if abs(spread.z) < _INDEPENDENT and near:
            own = [self._untempered(rows, one) for one in own]
            best = min(own, key=lambda one: one.objective)
            return Field(rows, tuple(own), best, None, share, True)
        every = (*found.candidates, *own)
        first = min(every, key=lambda one: one.objective)
        return Field(rows, every, first)

    def _untempered(self, rows: Rows, one: Candidate) -> Candidate:
        """Search again with a scale of about one: that is what independent columns have."""
        start = [(one.pooled.channel, 1.0)]
        free = one.pooled.free
        end = search(rows, one.source.scores, None, start, free=free, costs=UNTEMPERED)
        return self._noted(replace(one, pooled=end))

    def _twins(self, rows: Rows, found: Field, on: Basis) -> Field:
        """Pool the scores with a twin of every penalty; once more with the best one's channel."""
        first = found.counted
        twins: list[Candidate] = []
        hopeful = _hopeful(found)

        def add(channel: Array, penalty: float, start: Twin | None, fresh: bool) -> Twin:
            twin = cross_fit(rows, on, channel, penalty, first.source.scores, start)
            begin = [(channel, first.pooled.scale)]
            if fresh:
                begin = [(end, first.pooled.scale) for end in (first.pooled.channel, even(K, 0.9))]
            for free in hopeful:
                end = search(rows, first.source.scores, twin.scores, begin, free=free)
                twins.append(self._noted(Candidate(end, first.source, twin, f"twin {penalty:g}")))
            return twin

        K, twin = rows.classes, None
        for penalty in self.penalties or _penalties(rows):
            twin = add(first.pooled.channel, penalty, twin, True)
            last = min(one.objective for one in twins[-len(hopeful) :])
            if last > min(one.objective for one in twins) + _HOPELESS:
                break
        for channel in (even(K, 0.98), None):
            best = min(twins, key=lambda one: one.objective)
            assert best.twin is not None
            known = best.pooled.channel if channel is None else channel
            add(known, best.twin.penalty, best.twin, channel is not None)
        return replace(found, candidates=(*found.candidates, *twins), on=on)


def _is_sure(one: Candidate) -> bool:
    """Tell whether the columns alone leave hardly a row open: the classes stand apart."""
    return float((one.pooled.share.max(axis=1) > _SURE).mean()) > _SURE


def _named_alike(joint: Array) -> bool:
    """Tell whether clusters may be the classes: labels agree, up to a standard error.

    ``joint`` is the weight of (given, cluster), (K, K).
    """
    mass = np.maximum(joint.sum(axis=0), 1e-9)
    error = _CHANCE * np.sqrt(0.5 / mass)  # of the difference of two shares of a column
    held = joint / mass
    np.fill_diagonal(held, np.diag(held) + error)
    return dominant(held)


def confirmed(joint: Array) -> bool:
    """Tell whether labels have to do with clusters that were found without them.

    ``joint`` is the weight of (label, cluster), (K, K); twice its mutual information in nats is
    chi-squared with (K - 1)^2 degrees of freedom by chance.

    Examples
    --------
    >>> confirmed(np.array([[9.0, 1.0], [2.0, 8.0]])), confirmed(np.array([[6.0, 4.0], [5.0, 5.0]]))
    (True, False)
    """
    total = max(float(joint.sum()), 1e-300)
    chance = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / total
    known = float((joint * np.log(np.maximum(joint, 1e-300) / np.maximum(chance, 1e-300))).sum())
    return bool(known > chdtri((len(joint) - 1) ** 2, 1.0 - _CONFIRMED) / 2.0)


def _hopeful(found: Field) -> tuple[bool, ...]:
    """Go on with even and free splits of the errors, unless one of them has lost already."""
    best = {
        free: min(
            (one.objective for one in found.candidates if one.pooled.free == free), default=np.inf
        )
        for free in kinds(found.rows.classes)
    }
    return tuple(free for free in best if best[free] < min(best.values()) + _HOPELESS)


def _penalties(rows: Rows) -> tuple[float, ...]:
    return _SPARSE_PENALTIES if sparse.issparse(rows.stats) else _DENSE_PENALTIES


def silent(rows: Rows) -> float:
    """Negative log likelihood of the given labels where the columns say nothing."""
    count = rows.weight @ rows.hard
    return -float(count @ np.log(np.maximum(count, 1e-9) / max(count.sum(), 1e-9)))
