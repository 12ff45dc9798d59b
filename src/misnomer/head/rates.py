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
from misnomer.kernels.blocks import Codes, Flags
from misnomer.kernels.threads import each
from misnomer.learners.learner import over_classes
from misnomer.learners.rows import Places, Rows
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]

HELD_ROWS = 20.0  # virtual rows that hold each column of a stratum's channel to the common one
HELD_SHARES = 20.0  # virtual rows that hold the class shares of a group to those of the table
MARGIN_LEVELS = 3
MOST_VALUES = 12  # of a column that may tell where labels are wrong
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
        Where margins part, if they do.
    place : tuple of int
        Block and column of the values, if they part the rows.
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
    def none(self) -> int:
        """The stratum of rows that are in none."""
        return len(self.channels) - 1

    def of(self, batch: Batch, logits: Array) -> Places:
        """Find the stratum of each row, (n,)."""
        if self.edges is not None:
            return margin_levels(logits, self.edges)
        if self.name == "group":
            found = np.full(len(batch), -1) if batch.group is None else batch.group
        else:
            block, column = self.place
            found = _values(batch, block, column)
        inside = (found >= 0) & (found < self.none)
        return np.where(inside, found, self.none).astype(np.intp)


def margin_levels(logits: Array, edges: Array) -> Places:
    """Number rows by how far their best class is ahead of the second, (n,)."""
    if logits.shape[1] < 2:
        return np.zeros(len(logits), np.intp)
    top = np.partition(logits, -2, axis=1)
    return np.searchsorted(edges, top[:, -1] - top[:, -2]).astype(np.intp)


def _values(batch: Batch, place: int, column: int) -> Places:
    block = batch.blocks[place]
    if isinstance(block, Codes):
        codes = block.codes[:, column].astype(np.intp)
        return np.where(codes < block.sizes[column], codes, -1)
    assert isinstance(block, Flags)
    bits = ((block.bits[:, column // 8] >> (column % 8)) & 1).astype(np.intp)
    if block.observed is None:
        return bits
    seen = (block.observed[:, column // 8] >> (column % 8)) & 1
    return np.where(seen > 0, bits, -1)


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


def choose_strata(
    schema: Schema, batch: Batch, rows: Labeled, logits: Array, places: Places
) -> Strata | None:
    """Look for strata that tell where labels are wrong; None where one channel does.

    ``logits`` and ``places`` are those of the labeled rows.
    """
    least = CELL_ROWS * rows.share.shape[1]
    every = _candidates(schema, batch, logits, places)
    tried = [one for one in every if len(rows.label) >= least * one[2]]
    needed = LEAST_GAIN + np.log(max(len(tried), 1))
    best: Strata | None = None
    rivalry = Rivalry(rows)
    if not rivalry.folds:
        return None
    gains = each(lambda one: rivalry.gained(one[1], one[2], own_shares=False), tried)
    for (name, stratum, count, edges, place), (gain, errors) in zip(tried, gains, strict=True):
        if gain > needed and errors > LEAST_ERRORS and (best is None or gain > best.gain):
            channels, ratio = fitted(rows, stratum, count, own_shares=False)
            best = Strata(name, channels, ratio, edges, place, gain, errors, True)
    return best


def _candidates(
    schema: Schema, batch: Batch, logits: Array, places: Places
) -> Iterator[tuple[str, Places, int, Array | None, tuple[int, int]]]:
    top = np.partition(logits, -2, axis=1) if logits.shape[1] > 1 else np.zeros((len(logits), 2))
    quantiles = np.arange(1, MARGIN_LEVELS) / MARGIN_LEVELS
    edges = np.quantile(top[:, -1] - top[:, -2], quantiles)
    yield "margin", margin_levels(logits, edges), MARGIN_LEVELS, edges, (-1, -1)
    for place, group in enumerate(schema.groups):
        block = batch.blocks[place]
        if not isinstance(block, Codes | Flags):
            continue
        for column, member in enumerate(group.members):
            count = block.sizes[column] if isinstance(block, Codes) else 2
            if 2 <= count <= MOST_VALUES:
                found = _values(batch, place, column)[places]
                stratum = np.where(found >= 0, found, count).astype(np.intp)
                yield schema.columns[member].name, stratum, count, None, (place, column)


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
