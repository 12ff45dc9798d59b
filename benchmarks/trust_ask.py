"""How many verified rows turn a wrong answer into a right one: the rows asked for, or any."""

from __future__ import annotations

import numpy as np
import pandas as pd
from trust_tasks import NOISES, TASKS, features, plant, split, take

from misnomer import NoisyLabelNB

CASES = (("tumor lung", "asymmetric"), ("sms", "boundary"))
STEPS, ROWS = 5, 12


def curve(X, true, noise, seed, *, ask):
    """Accuracy after 0, 12, 24, ... verified rows, each time those that the verdict asks for."""
    train, test = split(true, seed)
    noisy, _ = plant(noise, true[train], features(X)[train], 100 * seed + NOISES.index(noise))
    given, truth, rng = noisy.copy(), true[train], np.random.default_rng(seed)
    trusted, out = np.zeros(len(train), bool), []
    for step in range(STEPS):
        clf = NoisyLabelNB(random_state=0).fit(take(X, train), given, trusted=trusted)
        out.append(100 * float((clf.predict(take(X, test)) == true[test]).mean()))
        if step == STEPS - 1:
            break
        rows = np.flatnonzero(~trusted)
        wanted = clf.fit_.details.verdict.tests.get("ask", []) if ask else []
        wanted = [row for row in wanted if not trusted[row]][:ROWS]
        rest = rng.permutation(np.setdiff1d(rows, wanted))
        chosen = np.concatenate([wanted, rest[: ROWS - len(wanted)]]).astype(int)
        given[chosen], trusted[chosen] = truth[chosen], True
    return out


def asking(seeds):
    """Mean accuracy over splits, by number of verified rows."""
    rows = {}
    for task, noise in CASES:
        X, true = TASKS[task]()
        for name, ask in (("asked for", True), ("at random", False)):
            found = [curve(X, true, noise, seed, ask=ask) for seed in range(seeds)]
            rows[f"{task}, {noise}, {name}"] = np.mean(found, axis=0)
    return pd.DataFrame(rows, index=[f"{ROWS * step} rows" for step in range(STEPS)]).T
