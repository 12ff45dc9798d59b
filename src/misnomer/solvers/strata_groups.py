"""Groups of rows that may err in their own way, and may hold the classes in shares of their own.

The columns know nothing of the groups. Where a group has other class shares than the table, the
P(true | x) of its rows moves with them; without that, other shares would look like other errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.difficulty_fit import Margin
from misnomer.solvers.strata import Codes, Rates, paired, rates_by_stratum, seen
from misnomer.solvers.strata_search import PRICE, Labels

Array = NDArray[np.float64]

_HELD = 20.0  # virtual rows that hold the class shares of a group to those of the table
_ROUNDS, _TURNS = 12, 3
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class Groups:
    """What each group is like.

    Attributes
    ----------
    channels : (G, K, K) array
        P(given | true) of each.
    ratio : (G, K) array
        Its class shares over those of the table.
    margin : Margin
        What channels of their own gain over one for all.
    own : bool
        Whether each has class shares of its own.
    tied : bool or None
        Whether the rates of its classes differ from the usual ones alike, each, or not at all.
    height : (n,) array
        ``log P(y | x, group)`` of each row, all of it from the other folds.
    effective : float
        How many numbers were free in effect.
    rates : Rates or None
        Where the search for the rates has ended; None where they are not the groups' own.
    """

    channels: Array
    ratio: Array
    margin: Margin
    own: bool
    tied: bool | None
    height: Array
    effective: float
    rates: Rates | None = None

    @property
    def differ(self) -> bool:
        """Whether channels of their own clearly explain the labels better."""
        return self.margin.clear


def moved(share: Array, ratio: Array) -> Array:
    """Compute P(true | x) where classes are more or less frequent, (n, K): ``share ratio``, scaled.

    Examples
    --------
    >>> moved(np.array([[0.5, 0.5]]), np.array([[2.0, 1.0]])).round(3).tolist()
    [[0.667, 0.333]]
    """
    out = share * ratio
    return np.asarray(out / np.maximum(out.sum(axis=1, keepdims=True), 1e-300))


def compare(labels: Labels, group: Codes, count: int) -> Groups:
    """Ask whether class shares, then whether channels of the groups' own predict labels better."""
    free = {(own, tied): _gain(labels, group, count, own, tied) for own, tied in _KINDS}
    plain = (False, None)
    shares = Margin("groups", *paired(*_priced(labels, free[True, None])), group)
    without = (True, None) if shares.clear else plain
    best, margin = None, None
    for kind in _KINDS:
        if kind[1] is None:
            continue
        each, price = free[kind][0] - free[without][0], free[kind][1] - free[without][1]
        found = Margin("groups", *paired(each, labels.weight, PRICE * price), group)
        if margin is None or found.net > margin.net:
            best, margin = kind, found
    assert best is not None and margin is not None
    kind = best if margin.clear else without
    channels, ratio, effective, rates = _fitted(labels, group, count, *kind)
    height = free[kind][0] + one_channel(labels)
    return Groups(channels, ratio, margin, *kind, height, effective, rates)


def one_channel(labels: Labels) -> Array:
    """Compute ``log P(y | x)`` of each row, one channel for all, (n,)."""
    rows = labels.seen(np.zeros(len(labels.label), np.intp), 1)
    return np.asarray(np.log(rows.chance(rows.rates)))


def regrouped(groups: Groups, labels: Labels, group: Codes) -> Groups:
    """Fit the same to other rows."""
    channels, ratio, _, rates = _fitted(
        labels, group, len(groups.channels), groups.own, groups.tied
    )
    return replace(groups, channels=channels, ratio=ratio, rates=rates)


#: Class shares of each group's own, or not; rates of its own: none, alike for all classes, or each.
_KINDS: tuple[tuple[bool, bool | None], ...] = tuple(
    (own, tied) for own in (False, True) for tied in (None, True, False)
)


def _priced(labels: Labels, found: tuple[Array, float]) -> tuple[Array, Array, float]:
    return found[0], labels.weight, PRICE * found[1]


def _gain(
    labels: Labels, group: Codes, count: int, own: bool, tied: bool | None
) -> tuple[Array, float]:
    """Compute the gain of each row over one channel, from the other folds, and the free numbers."""
    gain = np.zeros(len(group))
    if not own and tied is None:
        return gain, 0.0
    plain = one_channel(labels)
    for place in np.unique(labels.fold):
        out, inside = np.flatnonzero(labels.fold != place), np.flatnonzero(labels.fold == place)
        channels, ratio, *_ = _fitted(_some(labels, out), group[out], count, own, tied)
        held = _chance(_some(labels, inside), group[inside], channels, ratio)
        gain[inside] = np.log(held) - plain[inside]
    return gain, _fitted(labels, group, count, own, tied)[2]


def _some(labels: Labels, at: NDArray[np.intp]) -> Labels:
    return Labels(
        labels.share[at], labels.label[at], labels.weight[at], labels.fold[at], labels.channel
    )


def _chance(labels: Labels, group: Codes, channels: Array, ratio: Array) -> Array:
    """Compute P(y | x, group) of each row, (n,)."""
    share = moved(labels.share, ratio[group])
    return np.asarray(np.maximum((channels[group, labels.label] * share).sum(axis=1), _LEAST))


def _fitted(
    labels: Labels, group: Codes, count: int, own: bool, tied: bool | None
) -> tuple[Array, Array, float, Rates | None]:
    """Find channels (G, K, K), ratios of class shares (G, K), how many numbers were free, rates."""
    K, rates = labels.share.shape[1], None
    ratio, free = np.ones((count, K)), 0.0
    rows = labels.seen(np.zeros(len(group), np.intp), 1)
    channels = np.repeat(rows.channels(rows.rates), count, axis=0)
    for _ in range(_TURNS if own and tied is not None else 1):
        if tied is not None:
            share = moved(labels.share, ratio[group])
            looked = seen(share, labels.label, labels.weight, labels.channel, group, count)
            rates = rates_by_stratum(looked, tied=tied, spread=None)
            channels, free = looked.channels(rates.values), rates.effective
        if own:
            ratio = _ratio(labels, group, channels)
    if own:
        mass = np.bincount(group, labels.weight, minlength=count)
        free += float((K - 1) * (mass / (mass + _HELD)).sum())
    return channels, ratio, free, rates


def _ratio(labels: Labels, group: Codes, channels: Array) -> Array:
    """Find the class shares of each group by EM, (G, K), over those of the table."""
    usual = labels.weight @ labels.share / labels.weight.sum()
    usual = np.maximum(usual, 1e-9)
    evidence = labels.share / usual * channels[group, labels.label]
    shares = np.tile(usual, (len(channels), 1))
    for _ in range(_ROUNDS):
        after = moved(evidence, shares[group]) * labels.weight[:, None]
        mass = np.zeros_like(shares)
        np.add.at(mass, group, after)
        shares = class_shares(mass, usual)
    return np.asarray(shares / usual)


def class_shares(mass: Array, usual: Array) -> Array:
    """Compute the class shares of groups, (G, K): ``(mass + 20 usual) / (sum of mass + 20)``.

    Examples
    --------
    >>> class_shares(np.array([[0.0, 0.0], [60.0, 20.0]]), np.array([0.5, 0.5])).tolist()
    [[0.5, 0.5], [0.7, 0.3]]
    """
    held = mass + _HELD * usual
    return np.asarray(held / held.sum(axis=1, keepdims=True))
