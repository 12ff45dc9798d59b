"""Which rows to look at first: what the model thinks of every row, and two orders of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

#: Which rows a filter may ask for, by what was decided.
STATES = ("all", "open", "decided", "second")

#: Rows in an order: all in one array, or one array behind another.
Order = NDArray[np.intp] | tuple[NDArray[Any], ...]
Values = Any
Passing = Callable[[NDArray[np.intp]], NDArray[np.bool_]]

_ROWS_PER_LOOK = 1 << 14  # rows looked at while a page of the queue is put together
_ROWS_AT_ONCE = 1 << 22  # rows counted at a time
_MAX_SHUFFLED, _MAX_CHECKS = 1 << 20, 20_000  # rows


@dataclass(frozen=True, eq=False)
class Ranking:
    """What one fit says about every row.

    Of rows that do not fit in memory, "array" means what can be read like one, row by row.
    """

    version: int  # how often the model was fitted before
    wrong: Values  # (n,): P(the given label is wrong); 0 without a label
    # (n,): places in the audit's ``labels`` (-1: none) and ``classes``
    given: Values
    suggested: Values
    # (n,): whether there is a label to judge: none is missing, or was trusted beforehand
    judged: Values
    flagged: Values  # (n,): whether another class is more probable than the given label
    orders: Mapping[str, Order]  # the judged rows, as each of `ORDERS` has them


def rank_rows(audit: Audit, version: int = 0) -> Ranking:
    """Rank the labeled rows of an audit; those trusted beforehand are left out."""
    judged = (audit.given >= 0) & ~audit.trusted
    rows = np.flatnonzero(judged)
    right, doubt = audit.right, audit.shares.entropy
    return Ranking(
        version=version,
        wrong=np.nan_to_num(audit.error_probability),
        given=audit.given,
        suggested=audit.suggested,
        judged=judged,
        flagged=audit.is_label_issue,
        orders={
            "probability": rows[np.argsort(right[rows], kind="stable")],
            "information": rows[np.argsort(-doubt[rows], kind="stable")],
        },
    )


@dataclass(frozen=True)
class Filter:
    """Which rows to show."""

    # places in ``labels`` and ``classes``
    given: int | None = None
    suggested: int | None = None
    # bounds of P(wrong)
    low: float = 0.0
    high: float = 1.0
    # all, open, decided; or second: decided by others, and open for a second opinion
    state: str = "open"
    flagged: bool = False  # only where another class is more probable than the given label
    # only rows that hold this value in this column
    column: str | None = None
    value: str | None = None
    words: str | None = None  # only rows that hold each of these words in some column

    @property
    def looks_at_cells(self) -> bool:
        """Tell whether the rows themselves must be read."""
        return self.column is not None or bool(self.words)

    def passing(
        self, ranking: Ranking, decided: NDArray[np.bool_], rows: Any = slice(None)
    ) -> NDArray[np.bool_]:
        """Tell which rows pass (all, or those named by ``rows``); rows that are not judged do not.

        Of many rows only those that are about to be shown are ever looked at.
        """
        kept = self.fitting(ranking, rows)
        if self.state != "all":
            kept &= ~decided[rows] if self.state == "open" else decided[rows]
        return kept

    def fitting(self, ranking: Ranking, rows: Any = slice(None)) -> NDArray[np.bool_]:
        """Tell the same, decided or not."""
        kept = np.array(ranking.judged[rows])
        if self.flagged:
            kept &= ranking.flagged[rows]
        if self.given is not None:
            kept &= ranking.given[rows] == self.given
        if self.suggested is not None:
            kept &= ranking.suggested[rows] == self.suggested
        if self.low > 0:
            kept &= ranking.wrong[rows] >= self.low
        if self.high < 1:
            kept &= ranking.wrong[rows] <= self.high
        return kept

    def count(self, ranking: Ranking) -> int:
        """Count the rows that pass, decided or not, some at a time."""
        parts = range(0, len(ranking.judged), _ROWS_AT_ONCE)
        return sum(int(self.fitting(ranking, slice(at, at + _ROWS_AT_ONCE)).sum()) for at in parts)


#: Every open row.
EVERYTHING = Filter()


def take_passing(order: Order, passing: Passing, offset: int, limit: int) -> Rows:
    """Take the rows from ``offset`` on that pass, in their order, and look no further than needed.

    Parameters
    ----------
    order : array, or tuple of arrays
        The rows; several arrays stand one behind the other.
    passing : callable
        Tells which of some rows pass.

    Examples
    --------
    >>> order, passing = np.array([3, 1, 0, 2]), np.array([True, True, False, True])
    >>> take_passing(order, lambda rows: passing[rows], 1, 5).tolist()
    [1, 0]
    """
    pieces = order if isinstance(order, tuple) else (order,)
    parts: list[Rows] = []
    seen = 0
    for piece in pieces:
        for start in range(0, len(piece), _ROWS_PER_LOOK):
            part = np.asarray(piece[start : start + _ROWS_PER_LOOK], np.intp)
            part = part[passing(part)]
            parts.append(part[max(offset - seen, 0) : max(offset + limit - seen, 0)])
            seen += len(part)
            if seen >= offset + limit:
                return np.concatenate(parts)
    return np.concatenate(parts) if parts else np.zeros(0, np.intp)


def draw_random_checks(ranking: Ranking, seed: int) -> Rows:
    """Draw labeled rows that are not suspected, as many as anybody will ever check.

    Their order is fixed beforehand: the same audit shuffles alike.
    """
    rng, n = np.random.default_rng(seed), len(ranking.judged)
    some = rng.permutation(n) if n <= _MAX_SHUFFLED else rng.choice(n, _MAX_SHUFFLED, shuffle=False)
    some = np.unique(some) if n > _MAX_SHUFFLED else some
    calm = some[ranking.judged[some] & ~ranking.flagged[some]]
    return rng.permutation(calm)[:_MAX_CHECKS]


def as_filter(said: dict[str, Any], labels: int, classes: int) -> Filter:
    """Read a filter as the page sends it; what is out of range is an error."""
    given, suggested = _place(said, "given", labels), _place(said, "suggested", classes)
    low, high = (float(said.get(name) or end) for name, end in (("low", 0), ("high", 1)))
    state = str(said.get("state") or "open")
    if state not in STATES or not (0 <= low <= 1 and 0 <= high <= 1):
        raise ValueError(f"a filter wants a state of {', '.join(STATES)}, and bounds from 0 to 1")
    flagged = str(said.get("flagged") or "") == "1"
    column, words = (str(said.get(name) or "")[:1000] or None for name in ("column", "words"))
    value = None if said.get("value") is None else str(said["value"])[:1000]
    if column is None or value is None:  # a column without a value asks for nothing
        column = value = None
    return Filter(given, suggested, low, high, state, flagged, column, value, words)


def _place(said: dict[str, Any], name: str, size: int) -> int | None:
    value = said.get(name)
    if value in (None, ""):
        return None
    place = int(str(value))
    if not 0 <= place < size:
        raise ValueError(f"there is no {name} class number {place}")
    return place
