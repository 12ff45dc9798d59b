"""Made-up rows on which the design and the interval of checked rows were decided.

Seven ways in which doubts p and errors can go together, at six shares of wrong labels, for five
given labels of which one is rare. Sharp doubts are near zero or one, soft ones in between. They
were written down before anything was tried on them; sets with real labels only confirm.
"""

from __future__ import annotations

import numpy as np
from checks_tasks import Task

RATES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
LABELS = (0.55, 0.3, 0.1, 0.04, 0.01)
ROWS = 4000


def _doubts(rng, rate, count):
    return np.clip(rng.beta(rate * count, (1 - rate) * count, ROWS), 1e-6, 1 - 1e-6)


def sharp_right(rng, rate):
    p = _doubts(rng, rate, 0.3)
    return p, p


def soft_right(rng, rate):
    p = _doubts(rng, rate, 3.0)
    return p, p


def sharp_useless(rng, rate):
    return _doubts(rng, rate, 0.3), np.full(ROWS, rate)


def soft_useless(rng, rate):
    return _doubts(rng, rate, 3.0), np.full(ROWS, rate)


def turned_around(rng, rate):
    """Errors are where nobody doubts."""
    p = np.sort(_doubts(rng, rate, 3.0))
    return p, p[::-1]


def half_hidden(rng, rate):
    """Half of the errors are doubted, the others are anywhere."""
    p = _doubts(rng, rate / 2, 0.3)
    return p, p + (1 - p) * rate / 2


def too_sure(rng, rate):
    """The order is right, the log-odds are three times too large."""
    chance = _doubts(rng, rate, 3.0)
    odds = (chance / (1 - chance)) ** 3
    return odds / (1 + odds), chance


KINDS = (
    sharp_right, soft_right, sharp_useless, soft_useless, turned_around, half_hidden, too_sure,
)  # fmt: skip


def made_up(kind, rate) -> Task:
    """Make rows of one kind: P(wrong) as doubted, P(wrong) as it is, then who is wrong."""
    rng = np.random.default_rng([0, KINDS.index(kind), int(1000 * rate)])
    doubt, chance = kind(rng, rate)
    wrong = rng.random(ROWS) < chance
    given = np.searchsorted(np.cumsum(LABELS)[:-1], rng.random(ROWS))
    share = np.repeat(doubt[:, None] / (len(LABELS) - 1), len(LABELS), axis=1)
    share[np.arange(ROWS), given] = 1 - doubt
    return Task(kind.__name__, given, np.where(wrong, (given + 1) % len(LABELS), given), share)
