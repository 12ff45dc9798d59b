"""Can the default be trusted? Planted noise of four kinds, against naive Bayes and cleanlab.

    python benchmarks/trust.py [--quick] [--seeds 3] [--ours] [--write] [--cache trust.jsonl]

Accuracy is on true labels of held-out rows; AP is the average precision of the ranking of the
training rows by doubt; the matrix error is the mean absolute error of P(given | true).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits
from trust_ask import asking
from trust_methods import METHODS, Run
from trust_simulations import coverage, simulations
from trust_tasks import NOISES, QUICK, TASKS, features, plant, split, take

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "default.md"
OURS, PLAIN = "NoisyLabelClassifier()", "naive Bayes"


def prepared(X, true, noise, seed):
    train, test = split(true, seed)
    Phi = features(X)
    given, matrix = plant(noise, true[train], Phi[train], 100 * seed + NOISES.index(noise))
    K = int(true.max()) + 1
    run = Run(take(X, train), given, take(X, test), Phi[train], Phi[test], K)
    return run, true[train], true[test], matrix


def calibration_error(doubt, wrong, bins=10):
    """Expected calibration error in points: mean distance of doubt and share of errors by bin."""
    place = np.minimum((doubt * bins).astype(int), bins - 1)
    mass = np.bincount(place, minlength=bins)
    gap = np.bincount(place, doubt, minlength=bins) - np.bincount(place, wrong, minlength=bins)
    return 100 * float(np.abs(gap).sum() / mass.sum())


def measured(run, answer, true, true_test, matrix):
    wrong = run.given != true
    out = {"accuracy": 100 * float((answer.predicted == true_test).mean()), "level": answer.level}
    if answer.doubt is not None and wrong.any():
        out["AP"] = 100 * average_precision_score(wrong, answer.doubt)
    if answer.doubt is not None:
        out["rate error"] = 100 * abs(float(answer.doubt.mean()) - wrong.mean())
        out["ECE"] = calibration_error(answer.doubt, wrong)
    if answer.matrix is not None and answer.matrix.shape == matrix.shape:
        out["matrix error"] = float(np.abs(answer.matrix - matrix).mean())
    if answer.interval is not None:
        out["covered"] = bool(answer.interval[0] <= wrong.mean() <= answer.interval[1])
    if answer.flagged is not None:
        out["false flags"] = 100 * float((answer.flagged & ~wrong).mean())
    return out


def results(tasks, seeds, cache, methods):
    known = {}
    if cache and Path(cache).exists():
        for line in Path(cache).read_text().splitlines():
            row = json.loads(line)
            known[row["task"], row["noise"], row["seed"], row["method"]] = row
    for task in tasks:
        X = None
        for noise in NOISES:
            for seed in range(seeds):
                missing = [m for m in methods if (task, noise, seed, m) not in known]
                if missing and X is None:
                    X, true = TASKS[task]()
                at = prepared(X, true, noise, seed) if missing else None
                for method in missing:
                    row = {"task": task, "noise": noise, "seed": seed, "method": method}
                    began = time.process_time()
                    answer = methods[method](at[0])
                    row["CPU s"] = time.process_time() - began
                    row |= measured(at[0], answer, *at[1:])
                    known[task, noise, seed, method] = row
                    if cache:
                        with Path(cache).open("a") as file:
                            file.write(json.dumps(row) + "\n")
    wanted = set(tasks)
    return pd.DataFrame([r for r in known.values() if r["task"] in wanted and r["seed"] < seeds])


def summary(rows):
    """Average over tasks and seeds: accuracy by noise, and what else was measured."""
    noisy, clean = rows[rows["noise"] != "clean"], rows[rows["noise"] == "clean"]
    out = rows.pivot_table(index="method", columns="noise", values="accuracy")[list(NOISES)]
    out["noisy mean"] = noisy.groupby("method")["accuracy"].mean()
    by_task = rows.pivot_table(index=["noise", "task"], columns="method", values="accuracy")
    gap = by_task.sub(by_task[PLAIN], axis=0).drop("clean", level=0)
    out["worst vs NB"] = gap.min()
    for name in ("AP", "matrix error", "rate error", "ECE"):
        out[name] = noisy.groupby("method")[name].mean()
    out["false flags, clean"] = clean.groupby("method")["false flags"].mean()
    out["CPU s"] = rows.groupby("method")["CPU s"].mean()
    return out.reindex(list(METHODS))


def markdown(frame, digits=1):
    def cell(value):
        if isinstance(value, str):
            return value
        return "" if pd.isna(value) else f"{value:.{digits}f}"

    head = [frame.index.name or "", *map(str, frame.columns)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, row in frame.iterrows():
        lines.append("| " + " | ".join([str(name), *map(cell, row)]) + " |")
    return "\n".join(lines)


def differences(rows):
    """Compare with each rival, task by task: mean gain in accuracy and its standard error."""
    noisy = rows[rows["noise"] != "clean"]
    by_task = noisy.pivot_table(index="task", columns="method", values="accuracy")
    gain = by_task[[OURS]].to_numpy() - by_task.drop(columns=OURS)
    out = pd.DataFrame({"mean gain": gain.mean(), "standard error": gain.sem()})
    return out.reindex([name for name in METHODS if name != OURS])


def worst(rows, count=8):
    by_task = rows.pivot_table(index=["noise", "task"], columns="method", values="accuracy")
    gap = (by_task[OURS] - by_task[PLAIN]).sort_values().head(count)
    frame = pd.DataFrame({"noise": gap.index.get_level_values(0), "points": gap.to_numpy()})
    frame.index = pd.Index(gap.index.get_level_values(1), name="task")
    return frame


def levels(rows):
    """What the verdicts are worth: errors of the rate and coverage of its 90 % interval."""
    ours = rows[(rows["method"] == OURS) & (rows["level"] != "")]
    by = ours.groupby("level")
    alike = ours[ours["noise"] != "boundary"].groupby("level")["covered"]
    out = pd.DataFrame(
        {
            "runs": by.size(),
            "on clean labels": by["noise"].agg(lambda noise: int((noise == "clean").sum())),
            "on boundary noise": by["noise"].agg(lambda noise: int((noise == "boundary").sum())),
            "rate error, points": by["rate error"].mean(),
            "interval holds the rate, %": 100 * by["covered"].agg(lambda held: held.mean()),
            "without boundary noise, %": 100 * alike.agg(lambda held: held.mean()),
            "AP": by["AP"].mean(),
        }
    )
    return out


def splits(rows):
    """Average ours by split: accuracy by noise, AP, errors of the rate, false flags, coverage."""
    ours = rows[rows["method"] == OURS]
    noisy, clean = ours[ours["noise"] != "clean"], ours[ours["noise"] == "clean"]
    alike = ours[ours["noise"] != "boundary"]
    out = ours.pivot_table(index="seed", columns="noise", values="accuracy")[list(NOISES)]
    out["noisy mean"] = noisy.groupby("seed")["accuracy"].mean()
    out["AP"] = noisy.groupby("seed")["AP"].mean()
    out["rate error"] = noisy.groupby("seed")["rate error"].mean()
    out["false flags, clean"] = clean.groupby("seed")["false flags"].mean()
    out["worst table"] = clean.groupby("seed")["false flags"].max()
    out["interval holds, %"] = 100 * alike.groupby("seed")["covered"].agg(lambda held: held.mean())
    out.loc["mean"] = out.mean()
    out.index.name = "split"
    return out


def by_task(rows):
    """Average ours by task and noise, over the splits."""
    ours = rows[rows["method"] == OURS]
    return ours.pivot_table(index="task", columns="noise", values="accuracy")[list(NOISES)]


def page(tables):
    """Write the tables between their marks in the docs; the words around them stay."""
    text = PAGE.read_text()
    for name, body in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, rest = text.split(start)
        text = before + start + "\n" + body + "\n" + end + rest.split(end)[1]
    PAGE.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="four tasks, one split")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", default="")
    parser.add_argument("--ours", action="store_true", help="measure the default alone")
    parser.add_argument("--cache", default="")
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    parser.add_argument("--repeats", type=int, default=0, help="draws of each simulation")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    tasks = options.tasks.split(",") if options.tasks else QUICK if options.quick else list(TASKS)
    methods = {OURS: METHODS[OURS]} if options.ours else METHODS
    rows = results(tasks, 1 if options.quick else options.seeds, options.cache, methods)
    tables = {
        "splits": markdown(splits(rows), 1),
        "tasks": markdown(by_task(rows), 1),
        "levels": markdown(levels(rows), 1),
    }
    if not options.ours:
        tables["all"] = markdown(summary(rows), 2)
        tables["gains"] = markdown(differences(rows), 1)
        tables["worst"] = markdown(worst(rows), 1)
    print("\n\n".join(tables.values()))
    if options.write:
        page(tables)
    if options.repeats:
        repeats = 3 if options.quick else options.repeats
        for one in (
            simulations(2 * repeats),
            coverage(3 * repeats),
            asking(1 if options.quick else 3),
        ):
            print(one.round(1).to_string())


if __name__ == "__main__":
    with threadpool_limits(1):  # CPU seconds of one thread
        main()
