"""Who said what about a row, what they are worth, and how much each answer weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer.reports.wording import percent, shown

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.audit.sources import Sources
    from misnomer.review.log.decisions import Decision

Array = NDArray[np.float64]

_MOST = 40  # answers about a row that are listed one by one


def answers_about(sources: Sources, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find who answered about a row and what, as places in ``annotators`` and ``labels``."""
    at = slice(*np.searchsorted(sources.answers.row, [row, row + 1]))
    return sources.answers.annotator[at], sources.answers.label[at]


def weights(sources: Sources, row: int, this: int, other: int) -> Array:
    """Weigh each answer: ``log channel_a[y, this] - log channel_a[y, other]``, in nats."""
    who, label = answers_about(sources, row)
    terms = np.log(np.maximum(sources.channels[who, label], 1e-300))
    return np.asarray(terms[:, this] - terms[:, other], np.float64)


def said(
    audit: Audit, row: int, pair: tuple[int, int], decision: Decision | None
) -> list[dict[str, Any]]:
    """List the answers about a row, the heaviest first; the reviewer's own, if any, before all."""
    if audit.sources is None:
        return []
    own = []
    if decision is not None and decision.label is not None:
        who_decided = "reviewer" if decision.who == "person" else decision.who
        own = [_line(who_decided, decision.label, ("trusted", ""), None)]
    who, label = answers_about(audit.sources, row)
    weight = weights(audit.sources, row, *pair)
    order = np.argsort(-np.abs(weight), kind="stable")[:_MOST]
    names, labels = audit.sources.answers.annotators, audit.sources.answers.labels
    worth = worths(audit)
    lines = [
        _line(names[who[j]], labels[label[j]], worth[names[who[j]]], float(weight[j]))
        for j in order.tolist()
    ]
    return own + lines


def _line(who: Any, label: Any, worth: tuple[str, str], weight: float | None) -> dict[str, Any]:
    right, span = worth
    named = {"who": shown(who), "label": shown(label)}
    return {**named, "right": right, "span": span, "weight": weight}


def worths(audit: Audit) -> dict[Any, tuple[str, str]]:
    """Say of everybody how often they are right, and its interval."""
    table, groups = audit.annotators, audit.groups
    if groups is not None:
        right = zip(
            groups.name, 1 - groups.error_rate, 1 - groups.high, 1 - groups.low, strict=True
        )
    elif table is not None:
        right = zip(table.name, table.accuracy, table.low, table.high, strict=True)
    else:
        return {}
    return {
        name: (percent(float(value)), f"{100 * low:.0f}\u2013{100 * high:.0f}%")
        for name, value, low, high in right
    }


def split_terms(
    audit: Audit, row: int, pair: tuple[int, int], terms: list[tuple[str, Any, float]]
) -> tuple[list[tuple[str, Any, float]], list[tuple[str, Any, float]]]:
    """Tell the annotators' answers among the weights of evidence from the columns."""
    if audit.sources is None or audit.sources.groups is not None:
        return [], terms
    who, label = answers_about(audit.sources, row)
    given = audit.sources.answers
    wanted = [
        (str(given.annotators[a]), given.labels[y], weight)
        for a, y, weight in zip(who, label, weights(audit.sources, row, *pair), strict=True)
    ]
    answers: list[tuple[str, Any, float]] = []
    columns: list[tuple[str, Any, float]] = []
    for term in terms:
        same = [one for one in wanted if one[:2] == term[:2] and abs(one[2] - term[2]) < 1e-9]
        if same:
            wanted.remove(same[0])
        (answers if same else columns).append(term)
    return answers, columns
