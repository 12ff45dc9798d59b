"""How many errors are left, and whether it is time to stop.

Two strata. Among the rows that the audit *suspected*, the model's probabilities are believed as far
as the decisions bear them out: a factor corrects them. Among those it did *not* suspect, only the
randomly checked rows count: whoever looks at suspects alone never learns what the model overlooks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import Estimate
from misnomer.review.decisions import Decision
from misnomer.review.ranking import Ranking
from misnomer.review.refit import errors_believed

Array = NDArray[np.float64]

CONFIDENCE = 0.90
_DRAWS = 4_000
_MODEL_ERRORS = 4.0  # expected errors that the model's own probabilities are worth
_ROWS_AT_ONCE = 1 << 22
_MIN_CHECKS = 10  # below, a sample says nothing yet


@dataclass(frozen=True)
class Left:
    """The errors among the rows that nobody has decided yet."""

    # what the model's probabilities add up to, corrected by the decisions about suspects
    model: Estimate
    # the same for suspects, and the share of errors among checked rows for all others; None before
    # ten rows were checked
    sample: Estimate | None
    # how many unsuspected rows were checked at random, and how many were wrong
    checks: int
    check_errors: int

    @property
    def best(self) -> Estimate:
        """The sample's answer where there is one: it does not take the model's word for it."""
        return self.model if self.sample is None else self.sample


@dataclass(frozen=True, eq=False)
class Bins:
    """Many probabilities, summarized by 256 bins: how many are in each, and their sum.

    Examples
    --------
    >>> some = Bins.of(np.array([0.5, 0.25, 0.25]))
    >>> (some - Bins.of(np.array([0.25]))).sum
    0.75
    """

    # (256,): of each bin
    rows: Array
    total: Array

    @classmethod
    def of(cls, wrong: Array) -> Bins:
        """Sort probabilities into bins."""
        place = np.minimum((256 * wrong).astype(np.intp), 255)
        rows = np.bincount(place, minlength=256).astype(np.float64)
        return cls(rows, np.bincount(place, wrong, minlength=256).astype(np.float64))

    def __add__(self, other: Bins) -> Bins:
        return Bins(self.rows + other.rows, self.total + other.total)

    def __sub__(self, other: Bins) -> Bins:
        return Bins(self.rows - other.rows, np.maximum(self.total - other.total, 0.0))

    def __len__(self) -> int:
        return round(float(self.rows.sum()))

    @property
    def sum(self) -> float:
        """The expected number of errors."""
        return float(self.total.sum())

    def corrected(self, factor: Array) -> tuple[Array, Array]:
        """Compute ``min(factor p, 1)`` of each filled bin, (B, F), and its rows, (B,)."""
        filled = self.rows > 0
        value = self.total[filled] / self.rows[filled]
        return np.minimum(value[:, None] * factor[None, :], 1.0), self.rows[filled]


@dataclass(frozen=True, eq=False)
class Reviewed:
    """What is known about two strata, suspected and not."""

    # P(wrong) of the rows still open, as the model has it now
    suspects: Bins
    others: Bins
    # over the decided suspects: the sum of P(wrong) as it was shown, and the errors found, each as
    # far as the decision is believed
    expected: float
    errors: float
    # unsuspected rows that were checked at random, and the errors among them
    checks: int
    check_errors: int


def left(reviewed: Reviewed) -> Left:
    """Estimate the errors that remain, by the model and by the sample.

    Examples
    --------
    >>> suspects, others = Bins.of(np.full(10, 0.5)), Bins.of(np.full(100, 0.01))
    >>> remaining = left(Reviewed(suspects, others, 20.0, 20, 50, 0))
    >>> round(remaining.model.value), remaining.checks
    (6, 50)
    >>> remaining.sample.low < 6 < remaining.sample.high
    True
    """
    rng = np.random.default_rng(0)
    among_suspects = _suspects(reviewed, rng)
    factor = _factor(reviewed)
    model = among_suspects + _errors(reviewed.others, np.ones(1), rng)
    share, rows = reviewed.suspects.corrected(np.array([factor]))
    suspected = float((rows @ share).sum())
    sample = None
    if reviewed.checks >= _MIN_CHECKS:
        drawn = among_suspects + rng.binomial(len(reviewed.others), _share(reviewed, rng))
        # The value takes the model's word for one row; the interval takes it for none.
        expected = reviewed.others.sum / max(len(reviewed.others), 1)
        middle = (reviewed.check_errors + expected) / (reviewed.checks + 1)
        sample = _estimate(suspected + len(reviewed.others) * middle, drawn)
    value = _estimate(suspected + reviewed.others.sum, model)
    return Left(value, sample, reviewed.checks, reviewed.check_errors)


def _factor(reviewed: Reviewed) -> float:
    """Compute ``(errors + belief) / (expected + belief)``: how far the model is off."""
    return (reviewed.errors + _MODEL_ERRORS) / (reviewed.expected + _MODEL_ERRORS)


def _suspects(reviewed: Reviewed, rng: np.random.Generator) -> Array:
    """Draw the errors among open suspects: the factor is a Gamma variable about its mean."""
    shape, rate = reviewed.errors + _MODEL_ERRORS, reviewed.expected + _MODEL_ERRORS
    return _errors(reviewed.suspects, rng.gamma(shape, 1.0 / rate, _DRAWS), rng)


def _errors(wrong: Bins, factor: Array, rng: np.random.Generator) -> Array:
    """Draw ``sum_i Bernoulli(min(factor p_i, 1))``, by its mean and variance."""
    if not len(wrong):
        return np.zeros(_DRAWS)
    share, rows = wrong.corrected(factor)
    mean, variance = rows @ share, rows @ (share * (1 - share))
    drawn: Array = np.clip(rng.normal(mean, np.sqrt(variance), _DRAWS), 0.0, len(wrong))
    return drawn


def _share(reviewed: Reviewed, rng: np.random.Generator) -> Array:
    """Draw the share of errors among unsuspected rows (Jeffreys: half a row of each kind)."""
    good = reviewed.checks - reviewed.check_errors
    drawn: Array = rng.beta(reviewed.check_errors + 0.5, good + 0.5, _DRAWS)
    return drawn


def _estimate(value: float, drawn: Array) -> Estimate:
    edge = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [edge, 1 - edge])
    return Estimate(value, min(float(low), value), max(float(high), value), CONFIDENCE)


@dataclass(frozen=True)
class Advice:
    """Whether to go on, and why, in one sentence."""

    stop: bool
    sentence: str


def advice(remaining: Left, coming: Array, labeled: int) -> Advice:
    """Say whether further decisions are worth it.

    Parameters
    ----------
    remaining : Left
        What remains.
    coming : array
        P(wrong) of the next rows in the queue.
    labeled : int
        How many labels there are.

    Examples
    --------
    >>> few = Left(Estimate(0.5, 0, 2), None, 0, 0)
    >>> advice(few, np.array([0.02, 0.01]), 1000).stop
    False
    >>> print(advice(few, np.array([0.02, 0.01]), 1000).sentence)
    The next 2 suspects hold about 0.0 errors; check 10 more random rows before you stop.
    """
    ahead = coming[:20]
    hope = float(ahead.sum())
    if not len(ahead):
        return Advice(True, "Every labeled row has been decided.")
    if hope >= 1.0:
        return Advice(False, f"Go on: the next {len(ahead)} suspects hold about {hope:.0f} errors.")
    if remaining.sample is None:
        more = _MIN_CHECKS - remaining.checks
        return Advice(
            False,
            f"The next {len(ahead)} suspects hold about {hope:.1f} errors; check {more} more "
            "random rows before you stop.",
        )
    rest = remaining.sample
    return Advice(
        True,
        f"You may stop: the next {len(ahead)} suspects hold about {hope:.1f} errors. Left are "
        f"about {rest.value:.0f} of {labeled:,} labels (at most {rest.high:.0f} with 95% "
        "confidence); more random checks would narrow that.",
    )


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
    for start in range(0, len(now.judged), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
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
    remaining = left(reviewed(standing, first, now, summary, error))
    if not standing:
        value = remaining.model.value
        low, high = min(claimed.low, value), max(claimed.high, value)
        remaining = replace(remaining, model=Estimate(value, low, high, claimed.confidence))
    return Progress(
        decided=len(standing),
        unsure=len(standing) - len(sure),
        errors=sum(one.is_error for one in sure),
        labeled=labeled,
        left=remaining,
        advice=advice(remaining, coming, labeled),
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
