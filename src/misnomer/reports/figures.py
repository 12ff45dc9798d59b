"""The geometry of the page's figures: numbers in, places on a small canvas out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import Estimate
from misnomer.metrics.calibration import Reliability
from misnomer.posterior import NoiseMatrix
from misnomer.reports.wording import counted, percent, whole

Array = NDArray[np.float64]

#: The canvas: as wide as a phone, so that its letters need no shrinking there.
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 360.0, 230.0, 44.0, 38.0, 12.0

_MOST_CELLS = 2000


@dataclass(frozen=True)
class Mark:
    """A bar or a point: where it is, and what to say about it."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


@dataclass(frozen=True)
class Figure:
    """Marks, and the ticks of both axes as (place, text)."""

    marks: tuple[Mark, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    logarithmic: bool = False


def nice_end(value: float) -> float:
    """Find the round number at or above a share, at most 1.

    Examples
    --------
    >>> [nice_end(x) for x in (0.003, 0.11, 0.7)]
    [0.005, 0.2, 1.0]
    """
    for end in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        if value <= end:
            return end
    return 1.0


def interval(estimate: Estimate) -> dict[str, Any]:
    """Place an estimate and its interval on a line from zero to a round number, in percent."""
    end = nice_end(estimate.high * 1.1)
    return {
        "low": 100 * estimate.low / end,
        "width": 100 * (estimate.high - estimate.low) / end,
        "value": 100 * estimate.value / end,
        "ticks": [(100 * i / 4, f"{100 * end * i / 4:g}%") for i in range(5)],
    }


def histogram(counts: dict[str, Any]) -> Figure:
    """Draw rows by error probability, flagged ones apart; tall bars on a logarithmic scale."""
    rows, flagged, edges = (np.asarray(counts[name]) for name in ("rows", "flagged", "edges"))
    filled = rows[rows > 0]
    log = bool(filled.size and filled.max() > 50 * filled.min())
    top = _nice_count(int(rows.max(initial=1)))
    marks = []
    for i, count in enumerate(rows.tolist()):
        x, width = _across(edges[i]), (WIDTH - LEFT - 8) * (edges[i + 1] - edges[i]) - 1.5
        title = f"{percent(edges[i])} to {percent(edges[i + 1])}: {counted(count, 'row')}"
        for kind, high in (("kept", count), ("flagged", int(flagged[i]))):
            if high:
                y = _up(_scaled(high, top, log))
                marks.append(Mark(x, y, width, HEIGHT - BOTTOM - y, kind, title))
    ticks = (
        [10**k for k in range(int(math.log10(top)) + 1)]
        if log
        else [top / 2, top]
        if top > 1
        else [1]
    )
    up = tuple((_up(_scaled(t, top, log)), whole(t)) for t in ticks)
    return Figure(tuple(marks), _shares_across(), up, log)


def _scaled(count: float, top: float, log: bool) -> float:
    """Place a count between 0 and 1; on the logarithmic scale a single row still has a bar."""
    return math.log(count / 0.6) / math.log(top / 0.6) if log else count / top


def _nice_count(most: int) -> int:
    """Find the round count at or above the largest bar."""
    scale = 10 ** int(math.log10(max(most, 1)))
    return next(
        int(step * scale) for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * scale >= most
    )


def calibration(curve: Reliability) -> Figure:
    """Draw promised against observed shares: a point per bin, a bar for its interval."""
    marks = [
        Mark(
            _across(float(curve.predicted[i])),
            _up(float(curve.observed[i])),
            _up(float(curve.low[i])),
            _up(float(curve.high[i])),
            "point",
            f"promised {percent(float(curve.predicted[i]))}, observed "
            f"{percent(float(curve.observed[i]))} of {counted(float(curve.count[i]), 'row')}",
        )
        for i in range(len(curve.count))
    ]
    up = tuple((_up(share), f"{100 * share:g}%") for share in (0, 0.25, 0.5, 0.75, 1.0))
    return Figure(tuple(marks), _shares_across(), up)


def overview(noise: NoiseMatrix, right: NDArray[np.intp]) -> list[tuple[int, int, float]]:
    """Choose the cells of a large matrix that are worth a dot: (given, true, depth).

    ``right`` is the class of each label, (L,).
    """
    wrong = np.where(right[noise.given] == noise.true, 0.0, noise.value)
    worst = np.argsort(-wrong, kind="stable")[:_MOST_CELLS]
    return [
        (int(noise.given[i]), int(noise.true[i]), max(0.25, math.sqrt(wrong[i])))
        for i in worst
        if wrong[i] > 0.005
    ]


def _across(share: float) -> float:
    return LEFT + (WIDTH - LEFT - 8) * share


def _up(share: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share


def _shares_across() -> tuple[tuple[float, str], ...]:
    return tuple((_across(share), f"{100 * share:g}%") for share in (0, 0.25, 0.5, 0.75, 1.0))
