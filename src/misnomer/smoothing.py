"""Good probabilities from few examples: virtual examples, added to the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.families import Count, Gaussian
from misnomer.stats import Stats
from misnomer.table import Group, Schema

Array = NDArray[np.float64]

_MIN_M, _MAX_M = 0.5, 1e4  # bounds of an automatic m


@dataclass(frozen=True)
class Smoothing:
    """How many virtual examples each class gets, and what they say.

    Attributes
    ----------
    cells : float or tuple of float
        Virtual examples in every cell of every column (additive smoothing; 1 is Laplace), or of
        each column.
    m : float or None
        Virtual examples per column, spread by ``prior``; None chooses m from the data.
    prior : {"uniform", "marginal", "class"}
        What the m examples say: every value alike, each value as often as in the whole table,
        or ``m P(class)`` examples in every cell (Cestnik's form).
    shrink : float
        Virtual examples at the pooled variance, about the class's own mean (gaussian).
    extra : float
        Added to every variance, as a share of the column's own (gaussian).
    extra_of_largest : bool
        Take that share of the largest variance of all columns instead, as scikit-learn does.
    classes : float
        Virtual rows of each class in the class prior.
    """

    cells: float | tuple[float, ...] = 0.0
    m: float | None = 0.0
    prior: str = "marginal"
    shrink: float = 0.0
    extra: float = 1e-9
    extra_of_largest: bool = False
    classes: float = 0.0

    def virtual(self, schema: Schema, by_label: Stats, reverse: Array) -> Array:
        """Work out the virtual examples of each class, (K, S), once and for all.

        Parameters
        ----------
        schema : Schema
            The columns.
        by_label : Stats
            Sums by *given label*, (L, S): the hard counts that the data show.
        reverse : (L, K) array
            P(true | given), as far as it is known: it says how much of the contrast between
            classes the labels still show.
        """
        if isinstance(self.cells, tuple) and len(self.cells) != schema.width:
            raise ValueError(
                f"smoothing has {len(self.cells)} numbers, but X has {schema.width} columns"
            )
        share = by_label.mass / max(by_label.rows, 1e-300)
        weight = share @ reverse  # (K,) share of each true class

        def example(group: Group) -> Array:
            sums = by_label.sums[:, group.span]
            if isinstance(group.family, Gaussian):
                return self._spread(group.family, sums, len(weight))
            added = self._added(schema, group)
            return self._cells(group, added, sums, by_label.mass, reverse, weight)

        return schema.each(example)

    def _added(self, schema: Schema, group: Group) -> Array:
        """Lay out the virtual examples of every cell of a group, (s,)."""
        family = group.family
        if not isinstance(self.cells, tuple):
            return self.cells * family.cells()
        widths = [column.width if column.kind == "count" else 1 for column in schema.columns]
        start = np.cumsum([0, *widths])
        each = [self.cells[j] for i in group.members for j in range(start[i], start[i + 1])]
        if group.kind == "text":
            each = each * family.columns
        return np.asarray(np.array(each)[family.owner] * family.cells())

    def _cells(
        self, group: Group, added: Array, sums: Array, mass: Array, reverse: Array, weight: Array
    ) -> Array:
        family = group.family
        cells = np.broadcast_to(added, (len(weight), len(family.owner)))
        if self.prior == "class":
            return np.asarray(cells + (self.m or 0.0) * weight[:, None] * family.cells())
        if self.m == 0:
            return cells
        total = sums.sum(axis=0)
        one = family.uniform() if self.prior == "uniform" else family.marginal(total)
        m = self.m
        if m is None:
            seen = sums.sum(axis=1) if isinstance(family, Count) else mass
            frequency = np.stack([family.marginal(row) for row in sums])
            m = automatic_m(frequency, seen, one, reverse)
        return np.broadcast_to(cells[0] + m * one, cells.shape)

    def _spread(self, family: Gaussian, sums: Array, classes: int) -> Array:
        total, pooled = family.variance(sums)
        largest = float(total.max(initial=0.0)) or 1.0
        own = np.where(total > 0, total, largest)
        floor = self.extra * (np.full_like(own, largest) if self.extra_of_largest else own)
        one = [np.full_like(total, self.shrink), floor, self.shrink * pooled]
        return np.tile(np.concatenate(one), (classes, 1))


def automatic_m(frequency: Array, mass: Array, marginal: Array, reverse: Array) -> float:
    """Estimate m by moments: how far the labels' frequencies differ beyond chance.

    With p the marginal, ``v = p(1 - p)`` and W = P(true | given), classes spread about p with
    variance ``v / (1 + m)``; labels show ``A / sum n`` of it, A the weighted spread of the rows of
    W. Hence ``1 / (1 + m) = [sum_y n_y |f_y - p|^2 - (K - 1) sum v] / (A sum v)``. The hard labels
    are used, never soft counts: on those the estimate runs away.

    Parameters
    ----------
    frequency : (L, s) array
        The average example of each given label.
    mass : (L,) array
        Rows (words, for counts) of each given label.
    marginal : (s,) array
        The average example of all rows.
    reverse : (L, K) array
        P(true | given).

    Examples
    --------
    >>> labels = np.array([[0.9, 0.1], [0.1, 0.9]])  # far apart: few virtual examples
    >>> automatic_m(labels, np.array([100.0, 100.0]), np.array([0.5, 0.5]), np.eye(2)) < 1
    True
    """
    seen = mass > 0
    n, w = mass[seen], reverse[seen]
    if not len(n):
        return 1.0
    spread = float(n @ ((w - (n @ w) / n.sum()) ** 2).sum(axis=1))
    variance = float(np.sum(marginal * (1.0 - marginal)))
    if spread <= 0 or variance <= 0:
        return 1.0
    chance = (len(n) - 1) * variance
    excess = float(n @ ((frequency[seen] - marginal) ** 2).sum(axis=1)) - chance
    share = excess / (spread * variance)
    return float(np.clip(1.0 / share - 1.0, _MIN_M, _MAX_M)) if share > 0 else _MAX_M


def none() -> Smoothing:
    """Relative frequencies: what was never seen is impossible."""
    return Smoothing()


def additive(cells: Any = 1.0) -> Smoothing:
    """Add ``cells`` virtual examples in every cell, or so many for each column; 1 is Laplace's.

    Gaussian columns get what scikit-learn gives them: 1e-9 of the largest variance.

    Examples
    --------
    >>> additive([1, 0.5]).cells
    (1.0, 0.5)
    """
    each = np.asarray(cells, np.float64)
    if each.ndim > 1 or not (np.isfinite(each) & (each >= 0)).all():
        raise ValueError(f"additive smoothing must be 0 or more, not {cells}")
    said = tuple(each.tolist()) if each.ndim else float(each)
    return Smoothing(cells=said, extra_of_largest=True)


def laplace() -> Smoothing:
    """Laplace's law of succession: one virtual example in every cell."""
    return additive(1.0)


def m_estimate(m: float = 2.0, prior: str = "marginal", *, shrink: float = 5.0) -> Smoothing:
    """Build an m-estimate: m virtual examples distributed by a prior.

    The default prior is the share of each value in the whole table. Cestnik's own form puts
    ``m P(class)`` examples in every cell: ``m_estimate(2, prior="class")``.

    Examples
    --------
    >>> m_estimate(2, prior="class").prior
    'class'
    """
    if prior not in ("uniform", "marginal", "class"):
        raise ValueError(f'the prior must be "uniform", "marginal" or "class", not {prior!r}')
    if not m >= 0 or not np.isfinite(m):
        raise ValueError(f"m must be 0 or more, not {m}")
    return Smoothing(m=float(m), prior=prior, shrink=shrink)


def automatic() -> Smoothing:
    """Let m follow from the data, toward the marginal; shrink variances to the pooled one."""
    return Smoothing(m=None, prior="marginal", shrink=5.0, classes=1.0)


def resolve(smoothing: Any) -> Smoothing:
    """Turn what the user says into a Smoothing.

    Examples
    --------
    >>> resolve("laplace") == resolve(1)
    True
    """
    if isinstance(smoothing, Smoothing):
        return smoothing
    if isinstance(smoothing, str):
        named = {"auto": automatic, "none": none, "laplace": laplace}
        if smoothing in named:
            return named[smoothing]()
    elif isinstance(smoothing, int | float | np.number) and not isinstance(smoothing, bool):
        return additive(float(smoothing))
    elif isinstance(smoothing, list | tuple | np.ndarray):
        return additive(smoothing)
    raise ValueError(
        'smoothing must be "auto", "none", "laplace", a number (additive) or a Smoothing '
        f"such as m_estimate(2), not {smoothing!r}"
    )
