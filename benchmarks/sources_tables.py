"""Noise planted in tables whose labels are right: by groups of rows, and near the boundary."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.trust_tasks import DATA, TASKS, features, nearest
from misnomer import audit
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.solvers.pool import Pool

NAMES = ("votes", "wisconsin", "tic-tac-toe", "letters E F")
RATES = np.array([0.05, 0.15, 0.4])  # of three groups


def by_groups(seed, true):
    """Give rows a group at random, and each group its share of wrong labels."""
    rng = np.random.default_rng(seed)
    K, group = int(true.max()) + 1, rng.integers(len(RATES), size=len(true))
    wrong = rng.random(len(true)) < RATES[group]
    return group, np.where(wrong, (true + rng.integers(1, K, len(true))) % K, true)


def judged(found, given, true):
    """Measure an audit: its rate, the ranking of the wrong rows, and labels right if corrected."""
    wrong = given != true
    doubt = np.asarray(found.rows["error_probability"], float)
    best = found.posterior.argmax(axis=1)
    return found.error_rate.value, average_precision_score(wrong, doubt), np.mean(best == true)


def group_lines(quick):
    """Audit the same labels with the groups and without."""
    yield f"{'group noise':<14}{'true rate':>10}{'without: rate, ranking, right':>32}" + (
        f"{'with noise_groups':>30}{'rates of the groups':>26}"
    )
    for name in NAMES[: 2 if quick else None]:
        X, true = TASKS[name]()
        group, given = by_groups(0, true)
        frame = X.assign(group=[f"g{g}" for g in group], given=[f"c{y}" for y in given])
        plain = judged(audit(frame, label="given", ignore="group"), given, true)
        found = audit(frame, label="given", noise_groups="group")
        table = dict(zip(found.groups.name, found.groups.error_rate, strict=True))
        rates = [float(table[f"g{g}"]) for g in range(len(RATES))]
        yield (
            f"{name:<14}{np.mean(given != true):>10.3f}{_three(plain):>32}"
            f"{_three(judged(found, given, true)):>30}"
            f"{', '.join(f'{rate:.2f}' for rate in rates):>26}"
        )
    yield f"planted in the groups: {', '.join(f'{rate:.2f}' for rate in RATES)}"


def boundary_lines(quick):
    """Train on labels wrong near the boundary, predict the true classes of the other half."""
    solvers = {
        "plain NB": NoisyLabelNB(channel="identity"),
        "default": NoisyLabelNB(),
        "Pool(difficulty=True)": NoisyLabelNB(solver=Pool(difficulty=True)),
        "Pool(difficulty=False)": NoisyLabelNB(solver=Pool(difficulty=False)),
    }
    yield f"{'boundary noise':<16}" + "".join(f"{name:>24}" for name in solvers)
    for name in NAMES[: 2 if quick else None]:
        X, true = TASKS[name]()
        given = nearest(true, features(X), 0.25)
        half = np.random.default_rng(0).permutation(len(true)) < len(true) // 2
        scores = [
            np.mean(one.fit(X[half], given[half]).predict(X[~half]) == true[~half])
            for one in solvers.values()
        ]
        yield f"{name:<16}" + "".join(f"{100 * score:>24.1f}" for score in scores)


def lines(quick):
    """Yield both tables, or say why there are none."""
    if not DATA.exists():
        yield f"no tables to plant noise in: {DATA.name} is not there"
        return
    yield "rate found, average precision of the wrong rows, share of suggested labels that are true"
    yield from group_lines(quick)
    yield "\naccuracy on new rows, %: a quarter of the labels, nearest the boundary, are wrong"
    yield from boundary_lines(quick)


def _three(values):
    return ", ".join(f"{value:.3f}" for value in values)
