"""Noise planted in tables whose labels are right: by groups, by columns, near the boundary."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.trust_tasks import DATA, TASKS, features, nearest
from misnomer import NoisyLabelClassifier, audit
from misnomer.classifiers.naive_bayes import NoisyLabelNB

NAMES = ("votes", "wisconsin", "tic-tac-toe", "letters E F")
COLUMN_TABLES = (*NAMES, "wdbc", "balance")
RATES = np.array([0.05, 0.15, 0.4])  # of three groups
SEEDS = 4


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
    """Audit the same labels with the groups and without: groups that differ, and that do not."""
    for title, plant in (("groups differ", by_groups), ("groups alike", alike)):
        yield f"{title:<14}{'true rate':>10}{'without: rate, ranking, right':>32}" + (
            f"{'with noise_groups':>24}{'rates of the groups':>22}{'they judge':>12}"
        )
        for name in NAMES[: 2 if quick else None]:
            runs = [_grouped(name, plant, seed) for seed in range(1 if quick else SEEDS)]
            rate, plain, grouped, rates, judge = (
                np.mean(part, axis=0) for part in zip(*runs, strict=True)
            )
            yield (
                f"{name:<14}{rate:>10.3f}{_three(plain):>32}{_three(grouped):>24}"
                f"{', '.join(f'{one:.2f}' for one in rates):>22}{judge:>12.0%}"
            )
    yield f"planted in groups that differ: {', '.join(f'{rate:.2f}' for rate in RATES)}"


def _grouped(name, plant, seed):
    """Measure one table: true rate, without groups, with them, their rates, do they judge rows."""
    X, true = TASKS[name]()
    group, given = plant(seed, true)
    frame = X.assign(group=[f"g{g}" for g in group], given=[f"c{y}" for y in given])
    plain = judged(audit(frame, label="given", ignore="group"), given, true)
    found = audit(frame, label="given", noise_groups="group")
    table = dict(zip(found.groups.name, found.groups.error_rate, strict=True))
    rates = [float(table[f"g{g}"]) for g in range(len(RATES))]
    judge = found.verdict.tests["groups_judge_rows"]
    return np.mean(given != true), plain, judged(found, given, true), rates, judge


def alike(seed, true):
    """Give rows a group at random that means nothing, and a fifth of all labels errors."""
    rng = np.random.default_rng([seed, 5])
    K, group = int(true.max()) + 1, rng.integers(len(RATES), size=len(true))
    wrong = rng.random(len(true)) < 0.2
    return group, np.where(wrong, (true + rng.integers(1, K, len(true))) % K, true)


def column_lines(quick):
    """Plant errors by the values of a column: one that says nothing else, or one of the table's."""
    yield f"{'column noise':<20}{'found':>8}{'ranking':>10}{'new rows right':>16}"
    for name in COLUMN_TABLES[: 2 if quick else None]:
        for own in (False, True):
            runs = [_by_column(name, seed, own) for seed in range(1 if quick else SEEDS)]
            found, ranking, right = np.mean(runs, axis=0)
            what = f"{name}, {'own' if own else 'ward'}"
            yield f"{what:<20}{found:>8.0%}{ranking:>10.3f}{right:>16.3f}"


def by_column(X, true, seed, own):
    """Add a column (or take one), and let 40 % of the labels be wrong where it has some value."""
    rng = np.random.default_rng([seed, 3])
    K, n = int(true.max()) + 1, len(true)
    ward = rng.integers(0, 3, n)
    name = X.columns[seed] if own else "ward"
    X = X if own else X.assign(ward=np.array(list("ABC"))[ward])
    values = X[name]
    words = values.dtype == object or str(values.dtype).startswith("str")
    bad = (
        ward == 1 if not own else values == values.mode()[0] if words else values > values.median()
    )
    wrong = rng.random(n) < np.where(bad, 0.4, 0.05)
    given = np.where(wrong, (true + rng.integers(1, K, n)) % K, true)
    return X, name, given, rng.permutation(n) < 0.7 * n


def _by_column(name, seed, own):
    """Measure one table: whether the column is found, ranking, and accuracy on new rows."""
    X, true = TASKS[name]()
    X, column, given, half = by_column(X, true, seed, own)
    wrong, label = (given != true)[half], given[half]
    fit = NoisyLabelClassifier(random_state=0).fit(X[half], label)
    after = fit.fit_.details.posterior
    ranking = average_precision_score(wrong, 1 - after[np.arange(len(label)), label])
    named = any(f"by {column!r}" in note for note in fit.fit_.details.notes)
    return [named, ranking, np.mean(fit.predict(X[~half]) == true[~half])]


def boundary_lines(quick):
    """Train on labels wrong near the boundary, predict the true classes of the other half."""
    solvers = {
        "plain NB": NoisyLabelNB(channel="identity"),
        "default": NoisyLabelClassifier(random_state=0),
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
    yield f"means over {1 if quick else SEEDS} seeds"
    yield from group_lines(quick)
    yield "\n70 % of the rows are learned from; 40 % of the labels are wrong where a column has one"
    yield "value, 5 % elsewhere: 'ward' says nothing else, 'own' is a column of the table"
    yield from column_lines(quick)
    yield "\naccuracy on new rows, %: a quarter of the labels, nearest the boundary, are wrong"
    yield from boundary_lines(quick)


def _three(values):
    return ", ".join(f"{value:.3f}" for value in values)
