"""Can these labels be judged at all? Tests of what the pool assumes, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import Estimate
from misnomer.kernels.reference import softmax
from misnomer.solvers.difficulty_fit import DifficultyFit
from misnomer.solvers.pool_ask import information, most_telling
from misnomer.solvers.pool_average import Average
from misnomer.solvers.pool_candidates import Candidate, Field, silent
from misnomer.solvers.pool_objective import Problem
from misnomer.solvers.pool_profile import Profile, profile
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_search import posterior
from misnomer.solvers.pool_tests import informative, repeating, seen_by_columns
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

_CONFIRMED = 3.0  # nats by which the columns must explain the labels
_LOST, _WIDE = 0.20, 0.10  # width of the valley of error rates
_CLOSE = 0.02  # ends that need a decimal
_APART = 0.10  # error rates of explanations that are about as good
_SEEN = 3.0  # standard errors
_FEW = 10.0  # rows of a class
_NEAR = 3.0  # nats
_SURE, _CLUMPS = 0.95, 0.95  # rows whose class the columns leave no doubt about, and their share


@dataclass(frozen=True, eq=False)
class Case:
    """All that a verdict is based on."""

    found: Field  # of the rows on which explanations competed
    answer: Average
    difficulty: DifficultyFit


Along = tuple[Problem, Profile]


def along_the_rate(case: Case) -> Along:
    """Profile the best explanation over the error rate.

    Independent columns tell the scale of the scores, unless those are sure of every row.
    """
    found = case.found
    sure = float((found.best.pooled.share.max(axis=1) > _SURE).mean())
    shown = found.believed and sure < _CLUMPS
    return profile(found.rows, found.best, any_scale=not shown)


def verdict(case: Case, along: Along, rate: Estimate) -> Verdict:
    """Run the tests and put them into words; the rows to ask about go with the tests."""
    tests = _tests(case, along[1]) | {"interval": (round(rate.low, 3), round(rate.high, 3))}
    lost, doubtful, fine = _reasons(tests)
    if case.difficulty.found:
        doubtful.insert(0, case.difficulty.sentence())
    level = "cannot tell" if lost else "ranking" if doubtful else "trust"
    if level != "trust":
        tests["ask"] = asked(case, *along)
    return Verdict(level, tuple((lost + doubtful + fine)[:4]), tests)


def _tests(case: Case, along: Profile) -> dict[str, Any]:
    found, answer, rows = case.found, case.answer, case.found.rows
    shares = answer.posterior if found.shares is None else found.shares
    ratio, z, pairs = repeating(rows, shares, found.spread)
    low, high = along.valley
    near = [one for one in found.candidates if one.objective < found.best.objective + 2.0]
    rates = [_expected(rows, one) for one in near]
    size = rows.weight @ answer.posterior
    return {
        "labels": float(rows.total),
        "nats_explained": float(silent(rows) - found.best.objective),
        "informative_columns": informative(rows),
        "rates_about_as_good": (round(low, 3), round(high, 3)),
        "rates_of_explanations": (round(min(rates), 3), round(max(rates), 3)),
        "dispersion": float(ratio),
        "dispersion_z": float(z),
        "repeating_columns": [list(pair) for pair in pairs],
        "errors_seen_by_columns_z": float(seen_by_columns(rows, answer)),
        "rows_of_the_smallest_class": float(size.min()),
        "twin": float(answer.mix),
        "admissible": bool(found.best.pooled.admissible),
        **_difficulty(case.difficulty),
    }


def _expected(rows: Rows, one: Candidate) -> float:
    """Compute the share of wrong labels that an explanation lets one expect."""
    at = rows.labeled
    after = posterior(rows, one.pooled.share, one.pooled.channel)[at, rows.label[at]]
    return float(1.0 - rows.weight[at] @ after / rows.total)


def _difficulty(fit: DifficultyFit) -> dict[str, Any]:
    return {
        "difficulty": fit.reason or "no",
        "difficulty_nats": round(fit.margin.gain, 2),
        "difficulty_z": round(fit.margin.z, 2),
        "error_rate_by_difficulty": [round(float(rate), 3) for rate in fit.rates],
        "predictions_moved_by_channel": round(fit.moved, 3),
    }


def _reasons(t: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Sort the findings: what makes any answer idle, what makes the rate doubtful, what is fine."""
    lost, doubtful, fine = [], [], []
    low, high = t["rates_about_as_good"]
    valley = f"Error rates from {low:.0%} to {high:.0%} explain the labels about equally well"
    if t["nats_explained"] < _CONFIRMED:
        lost.append(
            "The columns do not tell the labels apart "
            f"({max(t['nats_explained'], 0.0):.1f} nats gained over {t['labels']:.0f} labels)."
        )
    elif t["informative_columns"] < 2:
        one = "Only one column says" if t["informative_columns"] else "No single column says"
        lost.append(
            f"{one} anything about the label beyond chance: wrong labels and rows that are hard "
            "to tell look the same."
        )
    elif high - low > _LOST:
        lost.append(f"{valley}: wrong labels and rows that are hard to tell look the same here.")
    elif high - low > _WIDE:
        doubtful.append(f"{valley}, so the number of errors is uncertain; their order is less so.")
    if not t["admissible"]:
        lost.append("For some class another label would be more usual than its own.")
    doubtful += _doubts(t)
    if not lost and not doubtful:
        fine.append(
            f"Only error rates from {_span(*t['interval'])} explain the labels well, if errors "
            "strike rows of a class alike; errors on borderline rows only would not show."
        )
    fine.append(_dependence(t))
    return lost, doubtful, fine


def _span(low: float, high: float) -> str:
    """Say two rates, with a decimal where they are near each other.

    Examples
    --------
    >>> _span(0.04, 0.13), _span(0.187, 0.193)
    ('4% to 13%', '18.7% to 19.3%')
    """
    digits = 1 if high - low < _CLOSE else 0
    return f"{low:.{digits}%} to {high:.{digits}%}"


def _doubts(t: dict[str, Any]) -> list[str]:
    out = []
    first, last = t["rates_of_explanations"]
    if last - first > _APART:
        out.append(
            f"Explanations that fit about equally well put the error rate at {first:.0%} and at "
            f"{last:.0%}."
        )
    if t["errors_seen_by_columns_z"] > _SEEN:
        out.append(
            "Within a class the columns tell who is mislabeled "
            f"(z = {t['errors_seen_by_columns_z']:.1f}): errors are not blind to the row, "
            "and one matrix for all rows is only an average."
        )
    low, high = t["interval"]
    if high - low > _WIDE:
        out.append(f"The interval of the error rate is wide: {low:.0%} to {high:.0%}.")
    if t["rows_of_the_smallest_class"] < _FEW:
        out.append(f"The smallest class has about {t['rows_of_the_smallest_class']:.0f} rows.")
    return out


def _dependence(t: dict[str, Any]) -> str:
    ratio, pairs = t["dispersion"], t["repeating_columns"]
    if t["dispersion_z"] < 3.0:
        return f"The columns look independent given the class (dispersion {ratio:.2f})."
    most = f", most of all {pairs[0][0]!r} and {pairs[0][1]!r}" if pairs else ""
    return (
        f"The columns repeat each other given the class{most}: their evidence varies {ratio:.1f} "
        "times as much as independent columns' would; the scores were tempered for it."
    )


def asked(case: Case, task: Problem, along: Profile) -> list[int]:
    """Name the rows whose true class would settle most between explanations that fit alike."""
    found, rows = case.found, case.found.rows
    best = found.best.objective
    shares: list[Array] = []
    weights: list[float] = []
    for one in found.candidates:
        if one.objective < best + _NEAR:
            shares.append(posterior(rows, one.pooled.share, one.pooled.channel))
            weights.append(float(np.exp(best - one.objective)) / len(found.candidates))
    twin = None if found.best.twin is None else found.best.twin.scores
    for vector, cost in zip(along.vectors, along.cost, strict=True):
        if cost < _NEAR:
            share, channel = _at(task, vector, found.best.source.scores, twin)
            shares.append(posterior(rows, share, channel))
            weights.append(float(np.exp(-cost)))
    told = information(shares, np.array(weights))
    allowed = (rows.label >= 0) & ~rows.trusted
    return most_telling(told, allowed, rows.place)


def _at(task: Problem, vector: Array, scores: Array, twin: Array | None) -> tuple[Array, Array]:
    point = task.read(vector)
    mixed = scores if twin is None else scores + point.mix * (twin - scores)
    return softmax(point.scale * (mixed + point.bias))[0], point.channel()
