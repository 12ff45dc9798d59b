"""Which rows a person should check: drawn by chance, more often where the model is unsure.

Rows are drawn one after the other, without replacement. At each turn row i of those left is drawn
with a probability proportional to

    q_i  ~  1 - g + g s_i,      s_i = sqrt(p_i (1 - p_i)) / its mean,      p_i = doubt of the row,

raised where a given label would otherwise be looked at too seldom. g, the share that goes by the
doubts, is one tenth: a sheet must first of all meet surprises, and those may be anywhere. No row is
drawn less than 1 - g times as often as in a plain sample, so that doubts, however wrong, make the
variance at most 1 / (1 - g) times as large: one row in ten is lost at worst. Every row can be drawn
and its chance at its turn is known. Turns add: a later draw goes on with the rows that are left.
A sample is the answers with the design they were drawn by: all that an estimate needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

SHARE_BY_DOUBTS = 0.1  # of the chance: what may be lost where the doubts are wrong
ROWS_PER_LABEL = 4  # expected checks of each given label, where there is room
MAX_FLOOR_SHARE = 0.25  # of all checks go to rare labels at most
ROWS_PER_STRATUM = 7  # expected checks of each stratum of doubts
MAX_STRATA = 5
_BINS = 60

UNSURE, OPEN = -1, -2  # answers that are no class: nobody can say, nobody has said yet
MOST_PASSED = 0.2  # the share of turns that may be passed over


@dataclass(frozen=True)
class Population:
    """All rows that may be drawn, by stratum.

    Attributes
    ----------
    size : (H,) array
        Rows of each stratum.
    guess : (H,) array
        The mean doubt of each.
    mass : (H,) array
        The summed intensity of each; the sum over all is one.
    least : (H,) array
        The smallest intensity of a row of each.
    """

    size: Array
    guess: Array
    mass: Array
    least: Array


def population(stratum: Codes, doubt: Array, q: Array) -> Population:
    """Sum the rows up by stratum.

    Examples
    --------
    >>> one = population(np.array([0, 0, 1]), np.array([0.1, 0.3, 0.9]), np.array([0.2, 0.3, 0.5]))
    >>> one.size.tolist(), one.guess.round(2).tolist(), one.least.tolist()
    ([2.0, 1.0], [0.2, 0.9], [0.2, 0.5])
    """
    member = stratum >= 0
    h, H = stratum[member], int(stratum.max()) + 1
    size = np.bincount(h, minlength=H).astype(np.float64)
    guess = np.bincount(h, weights=np.nan_to_num(doubt[member], nan=0.5), minlength=H) / size
    mass = np.bincount(h, weights=q[member], minlength=H).astype(np.float64)
    least = np.full(H, np.inf)
    np.minimum.at(least, h, q[member])
    return Population(size, guess, mass, least)


@dataclass(frozen=True)
class Draw:
    """Rows in the order of their turns, with the chance that each had.

    Attributes
    ----------
    rows : (n,) array of int
        Positions of the rows.
    chance : (n,) array
        The probability of being drawn at its turn, given the turns before.
    inclusion : (n,) array
        The probability of being among the rows of this draw.
    """

    rows: Codes
    chance: Array
    inclusion: Array


def intensity(doubt: Array, label: Codes, rows: int) -> Array:
    """Weigh the rows, q (N,), sums to one: how often each row is drawn, relative to the others.

    Parameters
    ----------
    doubt : (N,) array
        P(the given label is wrong); NaN counts as one half.
    label : (N,) array of int
        The given label; a row with a negative one is never drawn.
    rows : int
        How many are meant to be checked.

    Examples
    --------
    >>> q = intensity(np.array([0.0, 0.5, 0.5, 0.0]), np.array([0, 0, 1, 1]), 4)
    >>> q.round(4).tolist()
    [0.225, 0.275, 0.275, 0.225]
    """
    member = label >= 0
    p = np.clip(np.nan_to_num(doubt, nan=0.5), 0.0, 1.0)
    unsure = np.where(member, np.sqrt(p * (1.0 - p)), 0.0)
    mean = unsure.sum() / max(member.sum(), 1)
    relative = unsure / mean if mean > 0 else np.ones(len(p))
    q = np.where(member, 1.0 - SHARE_BY_DOUBTS + SHARE_BY_DOUBTS * relative, 0.0)
    return _raised(q / q.sum(), label, rows)


def _raised(q: Array, label: Codes, rows: int) -> Array:
    """Raise rare labels to a few expected checks, the others pay for it in proportion."""
    member = label >= 0
    mass = np.bincount(label[member], weights=q[member])
    seen = int(np.count_nonzero(mass))
    floor = min(ROWS_PER_LABEL / max(rows, 1), MAX_FLOOR_SHARE / max(seen, 1))
    size = np.bincount(label[member])
    wanted = np.where(mass > 0, np.maximum(mass, np.minimum(floor, size / max(rows, 1))), 0.0)
    factor = np.divide(wanted, mass, out=np.zeros_like(mass), where=mass > 0)
    out = np.where(member, q * factor[np.where(member, label, 0)], 0.0)
    return out / out.sum()


def draw(q: Array, rows: int, *, drawn: Codes | None = None, random_state: Any = None) -> Draw:
    """Draw rows one after the other from those that are left.

    Parameters
    ----------
    q : (N,) array
        The intensity; zero for rows that must not be drawn.
    rows : int
        How many.
    drawn : (m,) array of int
        Rows that were drawn before.
    random_state : int or None
        The seed.

    Returns
    -------
    Draw
        Rows in the order of their turns.

    Examples
    --------
    >>> one = draw(np.array([0.5, 0.25, 0.25]), 3, random_state=0)
    >>> sorted(one.rows.tolist()), one.chance[-1].item()
    ([0, 1, 2], 1.0)
    """
    left = np.array(q, np.float64)
    if drawn is not None:
        left[drawn] = 0.0
    there = int(np.count_nonzero(left))
    if rows > there:
        raise ValueError(
            f"{rows:,} rows are wanted, but only {there:,} labeled rows are left to draw: "
            f"draw {there:,} or fewer"
        )
    left /= left.sum() if there else 1.0
    # The order of E_i / q_i, E_i exponential, is that of drawing one after the other.
    rng = np.random.default_rng(random_state)
    waiting = rng.exponential(size=len(left))
    keys = np.divide(waiting, left, out=np.full(len(left), np.inf), where=left > 0)
    order = np.argsort(keys, kind="stable")[:rows]
    before = np.concatenate([[0.0], np.cumsum(left[order])[:-1]])[:rows]
    # The sum of what is left, added from the end, so that the last chance is exactly one.
    rest = np.maximum(1.0 - before, left[order])
    return Draw(order.astype(np.int64), left[order] / rest, inclusion(left, rows)[order])


def inclusion(q: Array, rows: int) -> Array:
    """The probability of being among so many rows, pi_i = 1 - exp(-t q_i), t such that they add up.

    Exact for one row and for all; in between Rosén's approximation, better the more rows there are.

    Examples
    --------
    >>> inclusion(np.array([0.25, 0.25, 0.25, 0.25]), 2).round(3).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    there = int(np.count_nonzero(q))
    if rows >= there:
        return (q > 0).astype(np.float64)
    low, high = 0.0, 1.0
    while -np.expm1(-high * q).sum() < rows:
        high *= 2.0
    high = halved(lambda t: bool(-np.expm1(-t * q).sum() >= rows), low, high)
    return np.asarray(-np.expm1(-high * q))


def halved(enough: Callable[[float], bool], low: float, high: float, steps: int = 60) -> float:
    """Find the least number that is enough, by halving where it may lie.

    Examples
    --------
    >>> round(halved(lambda x: x * x >= 2.0, 0.0, 2.0), 6)
    1.414214
    """
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def strata(doubt: Array, q: Array, rows: int) -> Codes:
    """Cut the rows by their doubts into strata, (N,); -1 for rows that are never drawn.

    The cuts are those that would make the interval narrowest if the doubts were right,
    sum_h W_h^2 p_h (1 - p_h) / Q_h least, each stratum with at least seven expected checks; H of
    them cost 1 + (H - 1) / n, so that one more must pay for itself. They know no answer: whatever
    the doubts are worth, the rows of a stratum are a sample of it.

    Examples
    --------
    >>> p = np.repeat([0.01, 0.9], 50)
    >>> np.unique(strata(p, np.full(100, 0.01), 40), return_counts=True)[1].tolist()
    [50, 50]
    """
    out = np.full(len(q), -1, np.int64)
    member = np.flatnonzero(q > 0)
    p = np.nan_to_num(doubt[member], nan=0.5)
    order = np.argsort(p, kind="stable")
    edges = _edges(p[order], q[member][order])
    cuts = _best_cuts(p[order], q[member][order], edges, max(rows, 1))
    number = np.zeros(len(member), np.int64)
    number[cuts] = 1
    place = np.empty(len(member), np.int64)
    place[order] = np.cumsum(number)
    out[member] = place
    return out


def _edges(p: Array, q: Array) -> Codes:
    """Where cuts may lie: at some sixty places of equal chance, never among equal doubts."""
    mass = np.cumsum(q)
    at = np.searchsorted(mass, np.arange(1, _BINS) / _BINS * mass[-1])
    at = np.searchsorted(p, p[np.minimum(at, len(p) - 1)])
    return np.unique(np.concatenate([[0], at, [len(p)]])).astype(np.int64)


def _best_cuts(p: Array, q: Array, edges: Codes, rows: int) -> list[int]:
    """Find the best cuts by dynamic programming over the edges; inner cuts only."""
    total = len(p)
    sums = [np.concatenate([[0.0], np.cumsum(v)])[edges] for v in (np.ones(total), p, q)]
    count, mean, mass = (s[None, :] - s[:, None] for s in sums)  # [i, j]: from edge i to edge j
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.clip(mean / count, 1e-3, 1.0 - 1e-3)
        cost = (count / total) ** 2 * rate * (1.0 - rate) / (mass / mass[0, -1])
    cost = np.where((count > 0) & (rows * mass >= ROWS_PER_STRATUM * mass[0, -1]), cost, np.inf)
    best, back = cost[0].copy(), np.zeros((MAX_STRATA, len(edges)), np.int64)
    last, depth = best[-1], 0
    for h in range(1, MAX_STRATA):
        through = best[:, None] + cost
        back[h], best = through.argmin(axis=0), through.min(axis=0)
        if best[-1] * (1.0 + h / rows) < last:
            last, depth = best[-1] * (1.0 + h / rows), h
    cuts, at = [], len(edges) - 1
    for h in range(depth, 0, -1):
        at = int(back[h, at])
        cuts.append(int(edges[at]))
    return [cut for cut in cuts if 0 < cut < total]


@dataclass(frozen=True, eq=False)
class Sample:
    """Drawn rows in the order of their turns.

    Attributes
    ----------
    row : (n,) array of int
        Positions in the input.
    draw : (n,) array of int
        Which draw it was: 1, then 2 where more were drawn later.
    chance, intensity, inclusion : (n,) arrays
        The chance at its turn, q, and the chance of being in the draw at all.
    stratum : (n,) array of int
        The stratum of doubts.
    population : Population
        All rows that could have been drawn.
    true : (n,) array of int
        The answer: a class; `UNSURE` for "cannot say", `OPEN` where there is none yet.
    given : (n,) array of int
        The given label, in the codes of ``true``.
    """

    row: Codes
    draw: Codes
    chance: Array
    intensity: Array
    inclusion: Array
    stratum: Codes
    population: Population
    true: Codes
    given: Codes

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Tell which rows have an answer, "cannot say" included."""
        return self.true != OPEN

    @property
    def known(self) -> NDArray[np.bool_]:
        """Tell which rows have a class for an answer."""
        return self.true >= 0

    @property
    def wrong(self) -> Array:
        """One where the given label is not the true class; NaN where that is not known."""
        return np.where(self.known, (self.true != self.given).astype(np.float64), np.nan)

    @property
    def as_drawn(self) -> bool:
        """Tell whether one sheet was drawn and all of it was answered."""
        return bool(len(self.row) and self.answered.all() and (self.draw == self.draw[0]).all())

    def first(self) -> Sample:
        """Take the turns up to the last answer before which at most one in five was passed over.

        A row that was passed over counts as "cannot say": left out, it could hide what it is.
        """
        turns = np.arange(1, len(self.row) + 1)
        passed = np.cumsum(~self.answered)
        ends = np.flatnonzero(self.answered & (passed <= MOST_PASSED * turns))
        begun = self.take(slice(0, int(ends[-1]) + 1 if len(ends) else 0))
        return replace(begun, true=np.where(begun.answered, begun.true, UNSURE))

    def take(self, which: slice | NDArray[np.bool_]) -> Sample:
        """Take some of the turns."""
        parts = {
            field.name: getattr(self, field.name)[which]
            for field in fields(self)
            if field.name != "population"
        }
        return replace(self, **parts)
