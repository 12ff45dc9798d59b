"""Columns that matter together: the car table, made-up tables of decisions, classes that overlap;
and errors that follow a column.

    python benchmarks/together.py [--write]

70 % of the rows are fitted, noise planted in them; accuracy is on the true labels of the others.
"Next smaller" gives 30 % of each class's labels, but of the smallest one's, to the next smaller
class. Decisions combine categories two by two in random tables until one is left: the label.
Overlapping classes are drawn from P(class | x), so that a clean label may be the unlikely one.

Errors that follow a column: two classes that two columns tell apart, and half of the labels are
wrong where a third, which tells nothing of the class, has a certain value: one of three names, a
number in its upper fifth, a count that is there. 1 % are wrong elsewhere.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits
from trust import markdown, measured, page, prepared
from trust_methods import Run, default
from trust_tasks import features, split, table, take

from misnomer import audit, make_noisy_labels

NOISES = ("clean", "uniform .2", "uniform .4", "next smaller")


def decisions(seed):
    rng = np.random.default_rng([seed, 99])
    columns, classes = int(rng.integers(5, 9)), int(rng.integers(2, 5))
    sizes, rows = rng.integers(2, 5, columns), int(rng.integers(600, 2500))
    cells = np.stack([rng.integers(size, size=rows) for size in sizes], axis=1)
    nodes = [(cells[:, j], int(sizes[j])) for j in range(columns)]
    while len(nodes) > 1:
        i, j = sorted(rng.choice(len(nodes), 2, replace=False))
        (b, wide), (a, high) = nodes.pop(j), nodes.pop(i)
        values = int(rng.integers(2, 5)) if nodes else classes
        height = np.add.outer(np.linspace(0, 1, high), np.linspace(0, 1, wide)) / 2
        rule = (values * height + rng.normal(0, 0.35, height.shape)).astype(int)
        nodes.append((np.clip(rule, 0, values - 1)[a, b], values))
    label = nodes[0][0]
    kept = np.bincount(label)[label] >= 20
    frame = pd.DataFrame(cells[kept].astype(str)).rename(columns=lambda j: f"c{j}")
    return frame, np.unique(label[kept], return_inverse=True)[1]


def overlapping(seed):
    rng = np.random.default_rng([seed, 55])
    rows, columns = int(rng.integers(600, 2500)), int(rng.integers(6, 15))
    classes = int(rng.integers(2, 4))
    X = rng.normal(size=(rows, columns))
    logits = 0.5 * X @ rng.normal(size=(columns, classes))
    logits += 0.6 * X[:, :1] * X[:, 1:2] * rng.normal(size=(1, classes))
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (rng.random(rows)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    return pd.DataFrame(X).rename(columns=lambda j: f"x{j}"), np.minimum(label, classes - 1)


def careless(kind, seed, rows=1000):
    """Draw a table in which a column tells where labels are wrong."""
    rng = np.random.default_rng([seed, 77])
    true = rng.integers(2, size=rows)
    X = rng.normal(size=(rows, 5)) if kind != "count" else rng.poisson(0.5, (rows, 5)) * 1.0
    X[:, :2] += (2.0 if kind != "count" else 4.0) * np.eye(2)[true]
    frame = pd.DataFrame(X).rename(columns=lambda j: f"x{j}")
    number = rng.normal(size=rows)
    who = {
        "name": rng.choice(list("abc"), rows),
        "number": number,
        "count": (number > 0.84).astype(float),
    }[kind]
    at = {"name": who == "a", "number": number > 0.84, "count": who == 1}[kind]
    wrong = rng.random(rows) < np.where(at, 0.5, 0.01)
    given = np.where(wrong, 1 - true, true)
    frame["who"] = who
    return (sparse.csr_array(frame.to_numpy()) if kind == "count" else frame), given, wrong


def followed(kind, seeds):
    """Audit such tables: what is said, what was found of the errors, how much of it is true."""
    rows = []
    for seed in seeds:
        X, given, wrong = careless(kind, seed)
        found = audit(X, given)
        flagged, rate = np.asarray(found.is_label_issue), found.error_rate
        rows.append({
            "wrong, said": 100 * rate.value,
            "wrong": 100 * wrong.mean(),
            "found": 100 * (flagged & wrong).sum() / wrong.sum(),
            "of those flagged": 100 * (flagged & wrong).sum() / max(flagged.sum(), 1),
            "AP": 100 * average_precision_score(wrong, found.error_probability),
            "held": 100.0 * (rate.low <= wrong.mean() <= rate.high),
        })  # fmt: skip
    return pd.DataFrame(rows).mean().rename(f"by a {kind}")


def to_smaller(X, true, seed):
    train, test = split(true, seed)
    Phi, K = features(X), int(true.max()) + 1
    order = np.argsort(-np.bincount(true), kind="stable")
    matrix = np.eye(K)
    for larger, smaller in pairwise(order):
        matrix[larger, larger], matrix[smaller, larger] = 0.7, 0.3
    given = make_noisy_labels(true[train], matrix, random_state=seed)
    run = Run(take(X, train), given, take(X, test), Phi[train], Phi[test], K)
    return run, true[train], true[test], matrix


def runs(name, build, seeds):
    for seed in seeds:
        X, true = build(seed)
        for noise in NOISES:
            smaller = noise == "next smaller"
            at = to_smaller(X, true, seed) if smaller else prepared(X, true, noise, seed)
            answer = default(at[0])
            row = {"tables": name, "noise": noise, **measured(at[0], answer, *at[1:])}
            row["wrong, said"] = 100 * float(answer.doubt.mean())
            yield row | {"wrong": 100 * float((at[0].given != at[1]).mean())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = [
        *runs("car, 3 splits", lambda _: table("car"), range(3)),
        *runs("decisions, 6 fresh tables", decisions, range(100, 106)),
        *runs("overlapping classes, 6 fresh tables", overlapping, range(100, 106)),
    ]
    frame = pd.DataFrame(rows).assign(held=lambda f: 100.0 * f["covered"])
    shown = ["accuracy", "AP", "wrong, said", "wrong", "false flags", "held"]
    out = frame.groupby(["tables", "noise"], sort=False)[shown].mean().reset_index()
    kinds = ("name", "number", "count")
    follow = pd.DataFrame([followed(kind, range(100, 110)) for kind in kinds])
    follow.index.name = "errors"
    tables = {"together": markdown(out.set_index("tables"), 1), "follow": markdown(follow, 1)}
    print("\n\n".join(tables.values()))
    if options.write:
        page(tables)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
