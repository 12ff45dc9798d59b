"""Which rows to look at first: what the model thinks of every row, and two orders of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

#: "probability": most likely wrong first. "information": what the model is least sure of first.
ORDERS = ("probability", "information")

_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class Ranking:
    """What one fit says about every row.

    Attributes
    ----------
    version : int
        How often the model was fitted before.
    wrong : (n,) array
        P(the given label is wrong); 0 without a label.
    given, suggested : (n,) arrays of int
        Places in the audit's ``labels`` (-1: none) and ``classes``.
    judged : (n,) array of bool
        Whether there is a label to judge: none is missing, or was trusted beforehand.
    flagged : (n,) array of bool
        Whether another class is more probable than the given label.
    orders : mapping of str to (m,) array
        The judged rows, as each of `ORDERS` has them.
    """

    version: int
    wrong: Array
    given: NDArray[np.int64]
    suggested: Rows
    judged: NDArray[np.bool_]
    flagged: NDArray[np.bool_]
    orders: dict[str, Rows]


def ranked(audit: Audit, version: int = 0) -> Ranking:
    """Rank the labeled rows of an audit; those trusted beforehand are left out."""
    judged = (audit.given >= 0) & ~audit.trusted
    rows = np.flatnonzero(judged)
    wrong = np.nan_to_num(audit.error_probability)
    doubt = entropy(audit.posterior)
    return Ranking(
        version=version,
        wrong=wrong,
        given=audit.given,
        suggested=audit.suggested,
        judged=judged,
        flagged=audit.is_label_issue,
        orders={
            "probability": rows[np.argsort(-wrong[rows], kind="stable")],
            "information": rows[np.argsort(-doubt[rows], kind="stable")],
        },
    )


def entropy(posterior: Array) -> Array:
    """Compute ``-sum_z P(z) log P(z)``, (n,): what an answer is expected to tell, in nats.

    Examples
    --------
    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3).tolist()
    [0.0, 0.693]
    """
    share = np.clip(posterior, 1e-300, 1.0)
    return np.clip(-(posterior * np.log(share)).sum(axis=1), 0.0, None)


@dataclass(frozen=True)
class Filter:
    """Which rows to show.

    Attributes
    ----------
    given, suggested : int or None
        Places in ``labels`` and ``classes``.
    low, high : float
        Bounds of P(wrong).
    state : {"all", "open", "decided"}
        Decided or not.
    flagged : bool
        Only where another class is more probable than the given label.
    """

    given: int | None = None
    suggested: int | None = None
    low: float = 0.0
    high: float = 1.0
    state: str = "open"
    flagged: bool = False

    def passing(self, ranking: Ranking, decided: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which of the judged rows pass, (n,)."""
        kept = ranking.judged.copy()
        if self.state != "all":
            kept &= decided if self.state == "decided" else ~decided
        if self.flagged:
            kept &= ranking.flagged
        if self.given is not None:
            kept &= ranking.given == self.given
        if self.suggested is not None:
            kept &= ranking.suggested == self.suggested
        if self.low > 0:
            kept &= ranking.wrong >= self.low
        if self.high < 1:
            kept &= ranking.wrong <= self.high
        return kept


#: Every open row.
EVERYTHING = Filter()


def picked(order: Rows, passing: NDArray[np.bool_], offset: int, limit: int) -> Rows:
    """Take the rows from ``offset`` on that pass, in their order, and look no further than needed.

    Examples
    --------
    >>> order, passing = np.array([3, 1, 0, 2]), np.array([True, True, False, True])
    >>> picked(order, passing, 1, 5).tolist()
    [1, 0]
    """
    found: list[Rows] = []
    seen = 0
    for start in range(0, len(order), _CHUNK):
        part = order[start : start + _CHUNK]
        part = part[passing[part]]
        found.append(part[max(offset - seen, 0) : max(offset + limit - seen, 0)])
        seen += len(part)
        if seen >= offset + limit:
            break
    return np.concatenate(found) if found else order[:0]


@dataclass(frozen=True, eq=False)
class Checks:
    """Rows that nobody suspects, in an order fixed beforehand: a random sample of them.

    Attributes
    ----------
    order : (m,) array
        The unsuspected rows of the audit, shuffled; the same audit shuffles alike.
    """

    order: Rows

    def first(self, decided: NDArray[np.bool_]) -> int | None:
        """Find the next row to check: the first of the sample that is still open."""
        open_ones = ~decided[self.order]
        return int(self.order[open_ones.argmax()]) if open_ones.any() else None


def drawn_checks(ranking: Ranking, seed: int) -> Checks:
    """Shuffle the labeled rows that are not suspected."""
    rows = np.sort(ranking.orders["probability"])
    calm = rows[~ranking.flagged[rows]]
    return Checks(np.random.default_rng(seed).permutation(calm))


def as_filter(said: dict[str, Any], labels: int, classes: int) -> Filter:
    """Read a filter as the page sends it; what is out of range is an error."""
    given, suggested = _place(said, "given", labels), _place(said, "suggested", classes)
    low, high = (float(said.get(name) or end) for name, end in (("low", 0), ("high", 1)))
    state = str(said.get("state") or "open")
    if state not in ("all", "open", "decided") or not (0 <= low <= 1 and 0 <= high <= 1):
        raise ValueError("a filter wants a state of all, open or decided, and bounds from 0 to 1")
    return Filter(given, suggested, low, high, state, str(said.get("flagged") or "") == "1")


def _place(said: dict[str, Any], name: str, size: int) -> int | None:
    value = said.get(name)
    if value in (None, ""):
        return None
    place = int(str(value))
    if not 0 <= place < size:
        raise ValueError(f"there is no {name} class number {place}")
    return place
