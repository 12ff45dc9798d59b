"""How far reviewers agree about the rows that more than one of them has decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from misnomer.review.log.decisions import Decision


@dataclass(frozen=True)
class Agreement:
    """Two reviewers, and the rows that both have decided.

    Attributes
    ----------
    pair : tuple of str
        Who.
    rows, same : int
        How many rows both decided, and of how many they said the same.
    beyond_chance : float or None
        Cohen's kappa: 1 is full agreement, 0 what chance would give; None where it says nothing.
    """

    pair: tuple[str, str]
    rows: int
    same: int
    beyond_chance: float | None


def agreements(opinions: Mapping[int, Mapping[str, Decision]]) -> list[Agreement]:
    """Compare all reviewers, those with most rows in common first.

    What nobody could tell is no opinion; what was decided in bulk was not looked at.
    """
    said: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in opinions.values():
        sure = {who: str(one.label) for who, one in row.items() if _is_opinion(one)}
        for pair in combinations(sorted(sure), 2):
            said.setdefault(pair, []).append((sure[pair[0]], sure[pair[1]]))
    found = [
        Agreement(pair, len(both), sum(a == b for a, b in both), kappa(both))
        for pair, both in said.items()
    ]
    return sorted(found, key=lambda one: -one.rows)


def _is_opinion(one: Decision) -> bool:
    return one.action != "unsure" and one.bulk is None


def kappa(both: list[tuple[str, str]]) -> float | None:
    """Compute ``(same - chance) / (1 - chance)``, with chance from each one's own shares.

    Examples
    --------
    >>> kappa([("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")])
    0.5
    >>> kappa([("a", "a")]) is None
    True
    """
    n = len(both)
    first, second = Counter(a for a, _ in both), Counter(b for _, b in both)
    chance = sum(first[name] * second[name] for name in first) / n**2
    same = sum(a == b for a, b in both) / n
    return None if chance >= 1.0 else (same - chance) / (1.0 - chance)
