"""Where errors strike: the channel's rates may differ by the margin, a group or a column.

One mechanism: rows fall into strata, each stratum has a channel of its own, held to the common one
by some virtual rows, and class shares of its own where strata are groups. One criterion: strata
judge rows where they predict left-out labels better than one channel does, by more nats than the
number of strata that were tried could gain by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.head.objective import LEAST
from misnomer.kernels.blocks import Block, Codes, Reals, Words
from misnomer.kernels.threads import each
from misnomer.learners.learner import over_classes
from misnomer.learners.rows import Places, Rows
from misnomer.table import Batch, Group, Schema

Array = NDArray[np.float64]

HELD_ROWS = 20.0  # virtual rows that hold each column of a stratum's channel to the common one
HELD_SHARES = 20.0  # virtual rows that hold the class shares of a group to those of the table
MARGIN_LEVELS = 3
MOST_VALUES = 12  # of a column that may tell where labels are wrong
QUARTERS = 4  # pieces that the numbers of a column are cut into
MOST_WORDS = 100  # counts, or numbers: of more, as of texts and embeddings, none tells by itself
MOST_TRIED = 8  # strata that are fitted out of fold: those in which labels surprise most
LEAST_GAIN, LEAST_ERRORS = 4.0, 2.0  # nats, and standard errors, out of fold
CELL_ROWS = 5  # of each class in each stratum, on average, or its channel cannot be told
ROUNDS = 8  # of sharing out


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows by the stratum whose channel judges them.

    Attributes
    ----------
    name : str
        "margin", "group", or the column.
    channels : (m + 1, K, K) array
        P(given | true) of each stratum; the last is that of rows in none.
    ratio : (m + 1, K) array
        Class shares of each over those of the table.
    edges : (m - 1,) array
        Where margins part, or the numbers of a column, if they do.
    place : tuple of int
        Block and column of the values, if they part the rows; the number of a word.
    gain, errors : float
        What strata gain over one channel out of fold, in nats and in standard errors.
    judges : bool
        Whether rows are judged by them.
    """

    name: str
    channels: Array
    ratio: Array
    edges: Array | None = None
    place: tuple[int, int] = (-1, -1)
    gain: float = 0.0
    errors: float = 0.0
    judges: bool = False

    @property
    def by_group(self) -> bool:
        """Whether they are groups that somebody named, whatever columns are called."""
        return self.place[0] < 0 and self.edges is None

    @property
    def by_margin(self) -> bool:
        """Whether margins part the rows."""
        return self.place[0] < 0 and self.edges is not None

    @property
    def none(self) -> int:
        """The stratum of rows that are in none."""
        return len(self.channels) - 1

    def of(self, batch: Batch, logits: Array) -> Places:
        """Find the stratum of each row, (n,)."""
        found: Places
        if self.place[0] >= 0:
            found = _values(batch.blocks[self.place[0]], self.place[1], self.edges)
        elif self.edges is not None:
            return margin_levels(logits, self.edges)
        else:
            found = np.asarray(np.full(len(batch), -1) if batch.group is None else batch.group)
        inside = (found >= 0) & (found < self.none)
        return np.where(inside, found, self.none).astype(np.intp)


def margin_levels(logits: Array, edges: Array) -> Places:
    """Number rows by how far their best class is ahead of the second, (n,)."""
    if logits.shape[1] < 2:
        return np.zeros(len(logits), np.intp)
    return np.searchsorted(edges, _ahead(logits)).astype(np.intp)


def _ahead(logits: Array) -> Array:
    top = np.partition(logits, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def _values(block: Block, column: int, edges: Array | None = None) -> Places:
    """Number the values of a column, (n,); -1 where there is none."""
    if isinstance(block, Codes):
        codes = block.codes[:, column].astype(np.intp)
        return np.where(codes < block.sizes[column], codes, -1)
    if isinstance(block, Words):
        return np.asarray(block.matrix[:, [column]].toarray().ravel() > 0).astype(np.intp)
    if isinstance(block, Reals):
        assert edges is not None
        values = block.values[:, column]
        return np.where(np.isnan(values), -1, np.searchsorted(edges, values)).astype(np.intp)
    bits = ((block.bits[:, column // 8] >> (column % 8)) & 1).astype(np.intp)
    if block.observed is None:
        return bits
    seen = (block.observed[:, column // 8] >> (column % 8)) & 1
    return np.where(seen > 0, bits, -1)


def cuts(values: Array, weight: Array, pieces: int) -> Array:
    """Cut numbers into pieces of equal weight, as far as equal numbers allow: at most so many.

    Examples
    --------
    >>> cuts(np.array([4.0, 1.0, 2.0, 3.0]), np.ones(4), 2).tolist()
    [2.0]
    >>> cuts(np.array([1.0, 1.0, 1.0, 2.0]), np.ones(4), 4).tolist()
    [1.0]
    """
    at = np.flatnonzero(~np.isnan(values) & (weight > 0))
    order = at[np.argsort(values[at], kind="stable")]
    mass = np.cumsum(weight[order])
    if not len(order):
        return np.zeros(0)
    below = np.searchsorted(mass, mass[-1] * np.arange(1, pieces) / pieces)
    found = np.unique(values[order[below]])
    return np.asarray(found[found < values[order[-1]]])


@dataclass(frozen=True, eq=False)
class Labeled:
    """Labeled rows and what the head says of them without their labels."""

    share: Array  # (n, K) P(true | x)
    label: Places
    weight: Array
    fold: Places
    channel: Array  # (K, K)

    def take(self, at: Places) -> Labeled:
        """Keep some of them."""
        return replace(
            self,
            share=self.share[at],
            label=self.label[at],
            weight=self.weight[at],
            fold=self.fold[at],
        )


def fitted(rows: Labeled, stratum: Places, count: int, *, own_shares: bool) -> tuple[Array, Array]:
    """Find the channel of each stratum, (count + 1, K, K), and its ratio of class shares."""
    K, n = rows.share.shape[1], len(rows.label)
    channels = np.repeat(rows.channel[None], count + 1, axis=0)
    ratio = np.ones((count + 1, K))
    usual = np.maximum(rows.weight @ rows.share / rows.weight.sum(), 1e-9)
    code = stratum * K + rows.label
    added = sparse.csr_array((rows.weight, (code, np.arange(n))), shape=((count + 1) * K, n))
    for _ in range(ROUNDS):
        share = rows.share * ratio[stratum] if own_shares else rows.share
        after = judged(share, channels.reshape(-1, K)[code])
        joint = (added @ after).reshape(count + 1, K, K)
        held = joint + HELD_ROWS * rows.channel
        channels = held / held.sum(axis=1, keepdims=True)
        if own_shares:
            shares = joint.sum(axis=1) + HELD_SHARES * usual
            ratio = shares / shares.sum(axis=1, keepdims=True) / usual
    return channels, ratio


def judged(share: Array, seen: Array) -> Array:
    """Weigh classes by what is seen, and scale, (n, K)."""
    joint = np.asarray(share * seen)
    joint /= np.maximum(over_classes(joint), LEAST)[:, None]
    return joint


def chance(share: Array, ratio: Array, seen: Array) -> Array:
    """Compute P(label | x, stratum), (n,)."""
    moved = share * ratio
    total = np.maximum(over_classes(moved), LEAST)
    return np.asarray(np.maximum(over_classes(moved * seen) / total, 1e-6))


@dataclass(frozen=True, eq=False)
class Rivalry:
    """One channel for all rows, each judged by the other folds: what strata must beat."""

    rows: Labeled

    @cached_property
    def folds(self) -> list[tuple[Places, Places, Labeled, Array]]:
        """The rows outside and inside of each fold, the former, and log P(label) of the latter."""
        rows, out = self.rows, []
        one = np.ones((1, rows.share.shape[1]))
        for place in np.unique(rows.fold):
            others, inside = np.flatnonzero(rows.fold != place), np.flatnonzero(rows.fold == place)
            if not len(others):
                return []
            rest = rows.take(others)
            plain = fitted(rest, np.zeros(len(others), np.intp), 1, own_shares=False)[0][0]
            usual = np.log(chance(rows.share[inside], one, plain[rows.label[inside]]))
            out.append((others, inside, rest, usual))
        return out

    def gained(self, stratum: Places, count: int, *, own_shares: bool) -> tuple[float, float]:
        """Compute what strata gain over one channel: nats, and standard errors."""
        rows = self.rows
        gain = np.zeros(len(rows.label))
        for others, inside, rest, usual in self.folds:
            channels, ratio = fitted(rest, stratum[others], count, own_shares=own_shares)
            at, label = stratum[inside], rows.label[inside]
            ahead = chance(rows.share[inside], ratio[at], channels[at, label])
            gain[inside] = np.log(ahead) - usual
        total = float(rows.weight @ gain)
        mean = total / max(float(rows.weight.sum()), 1e-300)
        spread = float(np.sqrt(rows.weight @ (gain - mean) ** 2))
        return total, total / max(spread, 1e-9)


def strata_of_groups(rows: Labeled, group: Places, count: int) -> Strata:
    """Fit channels to groups, and tell whether they judge rows."""
    best: Strata | None = None
    at, rivalry = np.where(group >= 0, group, count), Rivalry(rows)
    for own in (False, True):
        gain, errors = rivalry.gained(at, count, own_shares=own)
        if best is None or gain > best.gain:
            channels, ratio = fitted(rows, at, count, own_shares=own)
            judges = gain > LEAST_GAIN and errors > LEAST_ERRORS
            best = Strata("group", channels, ratio, gain=gain, errors=errors, judges=judges)
    assert best is not None
    return best


@dataclass(frozen=True, eq=False)
class Candidate:
    """Strata that may tell where labels are wrong: the stratum of each labeled row."""

    name: str
    of: Places  # (n,); the last number where there is no value
    count: int
    edges: Array | None = None
    place: tuple[int, int] = (-1, -1)


def choose_strata(
    schema: Schema, batch: Batch, rows: Labeled, logits: Array, places: Places
) -> Strata | None:
    """Look for strata that tell where labels are wrong; None where one channel does.

    ``logits`` and ``places`` are those of the labeled rows.
    """
    least = CELL_ROWS * rows.share.shape[1]
    every = _candidates(schema, batch, rows, logits, places)
    able = [one for one in every if len(rows.label) >= least * one.count]
    needed = LEAST_GAIN + np.log(max(len(able), 1))
    best: Strata | None = None
    rivalry = Rivalry(rows)
    if not rivalry.folds:
        return None
    odd = surprises(rows)
    tried = sorted(able, key=lambda one: -unevenness(odd, one.of, one.count))[:MOST_TRIED]
    gains = each(lambda one: rivalry.gained(one.of, one.count, own_shares=False), tried)
    for one, (gain, errors) in zip(tried, gains, strict=True):
        if gain > needed and errors > LEAST_ERRORS and (best is None or gain > best.gain):
            channels, ratio = fitted(rows, one.of, one.count, own_shares=False)
            best = Strata(one.name, channels, ratio, one.edges, one.place, gain, errors, True)
    return best


def surprises(rows: Labeled) -> Array:
    """Compute by how much more a label seems wrong than its row let expect, weighted, (n,).

    The slope of the log likelihood by the error rate at each row: its mean is zero in any stratum,
    if one channel does for all rows.
    """
    channel, every = rows.channel, np.arange(len(rows.label))
    after = judged(rows.share, channel[rows.label])
    expected = 1.0 - rows.share @ np.diag(channel)
    return np.asarray(rows.weight * ((1.0 - after[every, rows.label]) - expected))


def unevenness(odd: Array, stratum: Places, count: int) -> float:
    """Add up over the strata how many standard errors their surprises are off zero, squared.

    Examples
    --------
    >>> unevenness(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1]), 2)
    4.0
    >>> unevenness(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 1, 0, 1]), 2)
    0.0
    """
    total = np.bincount(stratum, odd, minlength=count + 1)
    square = np.bincount(stratum, odd**2, minlength=count + 1)
    return float((total**2 / np.maximum(square, LEAST)).sum())


def _candidates(
    schema: Schema, batch: Batch, rows: Labeled, logits: Array, places: Places
) -> Iterator[Candidate]:
    """List the margin, columns of few values, numbers in quarters, and words that are there."""
    if logits.shape[1] > 1:
        hard = cuts(_ahead(logits), rows.weight, MARGIN_LEVELS)
        yield Candidate("margin", margin_levels(logits, hard), MARGIN_LEVELS, hard)
    for place, group in enumerate(schema.groups):
        columns = list(_columns(schema, group, batch.blocks[place]))
        labeled = batch.blocks[place].take(places if columns else [])
        for name, column, count in columns:
            edges = None
            if isinstance(labeled, Reals):
                edges = cuts(labeled.values[:, column].astype(float), rows.weight, QUARTERS)
                count = len(edges) + 1
            if 2 <= count <= MOST_VALUES:
                found = _values(labeled, column, edges)
                stratum = np.where(found >= 0, found, count).astype(np.intp)
                yield Candidate(name, stratum, count, edges, (place, column))


def _columns(schema: Schema, group: Group, block: Block) -> Iterator[tuple[str, int, int]]:
    """Name the columns of a block, with their places and numbers of values."""
    columns = [schema.columns[i] for i in group.members]
    if isinstance(block, Words):
        if block.width <= MOST_WORDS:
            words = [column.label(i) for column in columns for i in range(column.width)]
            yield from ((word, place, 2) for place, word in enumerate(words))
    elif not isinstance(block, Reals) or len(columns) <= MOST_WORDS:
        sizes = block.sizes if isinstance(block, Codes) else [2] * len(columns)
        for place, (column, size) in enumerate(zip(columns, sizes, strict=True)):
            yield column.name, place, int(size)


def labeled_rows(rows: Rows, share: Array, channel: Array) -> tuple[Labeled, Places]:
    """Take the labeled rows of unknown class, and their positions."""
    at = rows.labeled[rows.known[rows.labeled] < 0]
    found = Labeled(share[at], rows.label[at], rows.weight[at], rows.deals[0][at], channel)
    return found, at


def error_rates(strata: Strata, shares: Sequence[float] | Array) -> Array:
    """Compute the error rate that each stratum's channel lets one expect, (m + 1,)."""
    moved = np.asarray(shares) * strata.ratio
    moved = moved / moved.sum(axis=1, keepdims=True)
    right = np.einsum("skk->sk", strata.channels)
    return np.asarray(1.0 - (moved * right).sum(axis=1))
