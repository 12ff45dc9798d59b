"""How far a review is, and what remains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import Estimate
from misnomer.review.estimate import Advice, Bins, Left, Reviewed, advice, left
from misnomer.review.log.decisions import Decision
from misnomer.review.ranking import Ranking
from misnomer.review.refit.beliefs import errors_believed

Array = NDArray[np.float64]

_PART = 1 << 22  # rows summarized at a time


@dataclass(frozen=True)
class Progress:
    """How far the review is, and what remains."""

    decided: int
    unsure: int
    errors: int
    labeled: int
    left: Left
    advice: Advice


def open_rows(now: Ranking, first: Ranking) -> tuple[Bins, Bins]:
    """Summarize P(wrong) of the judged rows: those suspected at first, and all others.

    Once per ranking: decided rows are taken out of it when they are needed.
    """
    none = Bins(np.zeros(256), np.zeros(256))
    suspects, others = none, none
    for start in range(0, len(now.judged), _PART):
        rows = slice(start, start + _PART)
        wrong, flagged, judged = now.wrong[rows], first.flagged[rows], now.judged[rows]
        suspects += Bins.of(np.asarray(wrong[judged & flagged], np.float64))
        others += Bins.of(np.asarray(wrong[judged & ~flagged], np.float64))
    return suspects, others


def progress_of(
    standing: list[Decision],
    first: Ranking,
    now: Ranking,
    summary: tuple[Bins, Bins],
    coming: Array,
    claimed: Estimate,
    error: float = 0.0,
) -> Progress:
    """Count the decisions, and estimate the errors among the rows that are left.

    ``error`` is the share of decisions that are probably wrong themselves.

    Before the first decision that is what the audit ``claimed``.
    """
    sure = [one for one in standing if one.action != "unsure"]
    labeled = len(summary[0]) + len(summary[1])
    found = left(reviewed(standing, first, now, summary, error))
    if not standing:
        value = found.model.value
        low, high = min(claimed.low, value), max(claimed.high, value)
        found = replace(found, model=Estimate(value, low, high, claimed.confidence))
    return Progress(
        decided=len(standing),
        unsure=len(standing) - len(sure),
        errors=sum(one.is_error for one in sure),
        labeled=labeled,
        left=found,
        advice=advice(found, coming, labeled),
    )


def reviewed(
    standing: list[Decision],
    first: Ranking,
    now: Ranking,
    summary: tuple[Bins, Bins],
    error: float = 0.0,
) -> Reviewed:
    """Take the decided rows out of both strata, and count what was found in them."""
    sure = [one for one in standing if one.action != "unsure"]
    rows = np.array([one.row for one in standing], np.intp)
    rows = rows[now.judged[rows]] if len(rows) else rows
    suspect = first.flagged[rows] if len(rows) else np.zeros(0, bool)
    gone = np.asarray(now.wrong[rows], np.float64) if len(rows) else np.zeros(0)
    suspected = [one for one in sure if first.flagged[one.row] and one.bulk is None]
    checked = [one for one in sure if one.check]
    shown = np.array([one.probability or 0.0 for one in suspected])
    wrong = np.array([one.is_error for one in suspected], bool)
    return Reviewed(
        suspects=summary[0] - Bins.of(gone[suspect]),
        others=summary[1] - Bins.of(gone[~suspect]),
        expected=float(shown.sum()),
        errors=errors_believed(shown, wrong, error),
        checks=len(checked),
        check_errors=sum(one.is_error for one in checked),
    )
