"""Where the channel varies, and what that says of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from misnomer.solvers.difficulty_fit import Margin
from misnomer.solvers.pool_average import shift_of
from misnomer.solvers.strata import Codes
from misnomer.solvers.strata_columns import Members, Variable
from misnomer.solvers.strata_groups import Groups, moved
from misnomer.solvers.strata_search import Cells, Labels
from misnomer.solvers.strata_words import told
from misnomer.table import Batch
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

_SURE = 1e-9


@dataclass(frozen=True, eq=False)
class Varied:
    """Channels by strata.

    Attributes
    ----------
    variables : tuple of Variable or Members
        What sorts the rows; none where one channel stands for all.
    channels : (cells, K, K) array
        P(given | true) in each cell.
    mean : (K, K) array
        P(given | true) over all rows.
    margins : tuple of Margin
        What each variable gains, out of fold.
    rates, masses : tuples of arrays
        The share of wrong labels in each stratum of each variable, and the weight of its rows.
    ratio : (cells, K) array or None
        Class shares of a cell over those of the table, where the columns do not know the cell;
        None where they do.
    base : (K, K) array
        One channel for all rows.
    shift : (cells,) array
        What is added to the log-odds of a doubt, where columns know the cells.
    groups : Groups or None
        Where groups were named: what they are like, whether they differ or not.
    evidence : mapping
        What groups are tested by.
    """

    variables: tuple[Variable | Members, ...]
    channels: Array
    mean: Array
    base: Array
    margins: tuple[Margin, ...] = ()
    rates: tuple[Array, ...] = ()
    masses: tuple[Array, ...] = ()
    ratio: Array | None = None
    shift: Array = field(default_factory=lambda: np.zeros(1))
    groups: Groups | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def nowhere(cls, channel: Array) -> Varied:
        """One channel for all rows."""
        return cls((), channel[None], channel, channel)

    @classmethod
    def by_cells(
        cls, chosen: tuple[Variable, ...], cells: Cells, asked: Labels, before: Array
    ) -> Varied:
        """Channels by the values of columns; ``before`` is P(true | x, y) by one channel."""
        channels = asked.seen(cells.cell, 1, cells.rates).channels(cells.rates)
        pure, mean = _judged(asked, asked.share, channels[cells.cell])
        tilted = moved(before, beyond(channels, asked.channel)[cells.cell, asked.label])
        doubt = 1.0 - tilted[np.arange(len(pure)), asked.label]
        shift = np.zeros(len(channels))
        for cell in np.unique(cells.cell):
            at = cells.cell == cell
            shift[cell] = shift_of(doubt[at], pure[at], asked.weight[at])
        sums = [
            _rates(pure, asked.weight, margin.level, one.count)
            for margin, one in zip(cells.margins, chosen, strict=True)
        ]
        rates, masses = (tuple(one[j] for one in sums) for j in range(2))
        return cls(
            chosen, channels, mean, asked.channel, cells.margins, rates, masses, shift=shift
        )  # fmt: skip

    @classmethod
    def by_groups(
        cls,
        variable: Members | Variable,
        groups: Groups,
        asked: Labels,
        code: Codes,
        place: NDArray[np.intp],
    ) -> Varied:
        """Channels of groups, where they differ, or their class shares do; rows by ``place``."""
        share = moved(asked.share, groups.ratio[code])
        doubt, mean = _judged(asked, share, groups.channels[code])
        rate, mass = _rates(doubt, asked.weight, code, variable.count)
        plain = not groups.differ and not groups.own
        seen = {"labels": asked, "group": code, "place": place}
        return cls(
            () if plain else (variable,), groups.channels, mean, asked.channel, (groups.margin,),
            (rate,), (mass,), groups.ratio, groups=groups, evidence=seen,
        )  # fmt: skip

    @property
    def found(self) -> bool:
        """Whether rows are judged by strata."""
        return bool(self.variables)

    @property
    def net(self) -> float:
        """What the first variable gains beyond its price."""
        return self.margins[0].net if self.margins else -np.inf

    def left_out(self) -> Varied:
        """The same, not applied."""
        return replace(self, variables=())

    def cells(self, batch: Batch) -> Codes:
        """Find the cell of each row of a batch, (n,)."""
        cell = np.zeros(len(batch), np.intp)
        for one in self.variables:
            cell = cell * one.count + one.codes(batch)
        return cell

    def judged(
        self, cell: Codes, share: Array, before: Array, label: Codes, trusted: NDArray[np.bool_]
    ) -> Array:
        """Compute P(true | x, y) of each row, (n, K).

        From P(true | x) (``share``), where the columns do not know the cells; else the P(true | x,
        y) by one channel (``before``) is tilted by what the cell's channel says beyond that.
        """
        if self.ratio is not None:
            return after(moved(share, self.ratio[cell]), self.channels[cell], label, trusted)
        tilted = moved(before, beyond(self.channels, self.base)[cell, np.maximum(label, 0)])
        every = np.arange(len(label))
        own = tilted[every, np.maximum(label, 0)]
        doubt = np.asarray(expit(logit(np.clip(1.0 - own, _SURE, 1.0 - _SURE)) + self.shift[cell]))
        rest = doubt / np.maximum(1.0 - own, 1e-300)
        fresh = tilted * rest[:, None]
        fresh[every, label] = np.where(own < 1.0, 1.0 - doubt, 1.0)
        keep = (label < 0) | trusted
        return np.where(keep[:, None], before, fresh)

    def told(self, verdict: Verdict) -> Verdict:
        """Add what was found of columns to a verdict."""
        if not self.found or self.groups is not None:
            return verdict
        every = zip(self.variables, self.margins, self.rates, self.masses, strict=True)
        columns = [
            (v, gain, rate, mass) for v, gain, rate, mass in every if isinstance(v, Variable)
        ]
        return told(verdict, columns)


def beyond(channels: Array, base: Array) -> Array:
    """Compute what channels say beyond another one, ``R_cell[y, k] / R[y, k]``, (cells, K, K)."""
    return np.where(base > _SURE, channels / np.maximum(base, _SURE), 1.0)


def after(
    share: Array, channels: Array, label: NDArray[np.intp], trusted: NDArray[np.bool_]
) -> Array:
    """Compute ``P(true | x, y) ~ q_k R[y, k]`` of each row, R its own channel, (n, K).

    Rows without a label keep q, trusted ones have their label.

    Examples
    --------
    >>> half, own = np.array([[0.5, 0.5]]), np.array([[[0.9, 0.3], [0.1, 0.7]]])
    >>> after(half, own, np.array([0]), np.array([False])).round(9).tolist()
    [[0.75, 0.25]]
    """
    known = (label >= 0)[:, None]
    said = channels[np.arange(len(label)), np.maximum(label, 0)]
    judged = moved(share, np.where(known, said, 1.0))
    return np.where(trusted[:, None], np.eye(share.shape[1])[label], judged)


def _judged(asked: Labels, share: Array, channels: Array) -> tuple[Array, Array]:
    """Compute the doubt of each label, (n,), and the channel over all rows, (K, K)."""
    K, every = share.shape[1], np.arange(len(share))
    judged = after(share, channels, asked.label, np.zeros(len(share), bool))
    joint = np.full((K, K), 1e-9) + 1e-9 * np.eye(K)
    np.add.at(joint, asked.label, judged * asked.weight[:, None])
    return 1.0 - judged[every, asked.label], joint / joint.sum(axis=0)


def _rates(doubt: Array, weight: Array, code: Codes, count: int) -> tuple[Array, Array]:
    """Average the doubt in each stratum; also the weight of its rows, (count,) each."""
    mass = np.bincount(code, weight, minlength=count)
    wrong = np.bincount(code, weight * doubt, minlength=count)
    return wrong / np.maximum(mass, 1e-9), np.asarray(mass, np.float64)
