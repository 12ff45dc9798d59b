"""Coverage and width of the rate from checked rows: ``python benchmarks/checks.py``.

Over 400 draws of 25, 50, 100 and 200 rows, on sets with real noise and with planted noise: a sheet
answered as drawn; the running interval, which must hold at the most flattering stop; Wilson's
interval of a plain sample; prediction-powered inference (ppi-python) on the same plain sample; and
the share of wrong labels that cleanlab reports. Nominal 90 %. Doubts come from naive Bayes and
logistic regression (planted tables: logistic regression and trees), out of five folds, each with
its own probabilities: nothing of misnomer's own model is in them. With ``--doubts default`` they
are those of ``audit`` as it is. ``--keep FOLDER`` keeps them: the next table needs no fit.
``--made-up`` takes made-up rows instead, whose doubts are good, useless or wrong.

Made-up rows and the first seven of ``SETS`` (noisyag, youtube, music, votes, sms) decide about the
design and the interval; the others (hausa, trec, lidc, car) confirm, and are looked at once.

``--accuracy`` measures what checked rows are worth to the classifier instead: accuracy on the true
labels of test rows, and average precision of the doubts of rows that were not checked, after 0, 25,
50, 100 and 200 checks, through ``audit(checked=...)``.
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from checks_made_up import KINDS, RATES, made_up
from checks_tasks import DOUBTS, SETS, TEXTS, split, task
from cleanlab.count import num_label_issues
from sklearn.metrics import average_precision_score

from misnomer import audit
from misnomer.checks import design
from misnomer.checks.design import Sample
from misnomer.checks.estimate import summed
from misnomer.checks.intervals import capital, running_interval, score_interval, threshold
from misnomer.estimate import normal_quantile

ppi_mean_ci = None
with suppress(ImportError):  # pip install ppi-python
    from ppi_py import ppi_mean_ci

_TURN = "wrong", "stratum", "chance"
SIZES = (25, 50, 100, 200)
CONFIDENCE, WIDTHS = 0.9, 40  # draws of which the running interval's width is taken


def wilson(x, n):
    z = normal_quantile(CONFIDENCE)
    center = (x / n + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(x / n * (1 - x / n) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return center - half, center + half


def sampled(task, q, place, people, n, seed):
    """Draw n rows by the design and answer them with the reference labels."""
    one = design.draw(q, n, random_state=seed)
    rows = one.rows
    return Sample(
        row=rows,
        draw=np.ones(n, np.int64),
        chance=one.chance,
        intensity=q[rows],
        inclusion=one.inclusion,
        stratum=place[rows],
        population=people,
        true=task.true[rows],
        given=task.given[rows],
    )


def sheets(samples):
    """Ends of the sheets' intervals, all draws at once; empty strata weigh nothing."""
    parts = [summed(one, one.wrong) for one in samples]
    shape = len(parts), max(len(one.weight) for one in parts)
    share, rows, weight = np.zeros(shape), np.ones(shape), np.zeros(shape)
    for at, one in enumerate(parts):
        H = len(one.weight)
        share[at, :H], rows[at, :H], weight[at, :H] = one.share, one.rows, one.weight
    strata = (weight > 0).sum(axis=1)
    limit = threshold(CONFIDENCE) * (1 + (strata - 1) / len(samples[0].row))
    return score_interval(share, rows, weight, limit)


def cell(task, n, draws):
    """Coverage and mean width of each interval."""
    truth, doubt = task.wrong.mean(), task.doubt
    q = design.intensity(doubt, task.given, n)
    place = design.strata(doubt, q, n)
    people = design.population(place, doubt, q)
    samples = [sampled(task, q, place, people, n, seed) for seed in range(draws)]
    low, high = sheets(samples)
    found = {"sheet": (((low <= truth) & (truth <= high)).mean(), (high - low).mean())}
    turns = [np.array([getattr(one, part) for one in samples]) for part in _TURN]
    held = capital(*turns, people, np.array([truth])).max(axis=(1, 2))
    width = [
        np.diff(running_interval(one.wrong, one.stratum, one.chance, people, CONFIDENCE))[0]
        for one in samples[:WIDTHS]
    ]
    found["running"] = (held < 1 / (1 - CONFIDENCE)).mean(), np.mean(width)
    return found | plain(task, n, draws)


def plain(task, n, draws):
    """Wilson's interval of plain samples, and that of prediction-powered inference."""
    truth, doubt = task.wrong.mean(), task.doubt
    found = {"wilson": [], "ppi": []}
    for seed in range(draws):
        rows = np.random.default_rng(seed).choice(len(doubt), n, replace=False)
        low, high = wilson(task.wrong[rows].sum(), n)
        found["wilson"].append((low <= truth <= high, high - low))
        if ppi_mean_ci is None:
            found["ppi"].append((np.nan, np.nan))
            continue
        y, p, rest = task.wrong[rows].astype(float), doubt[rows], np.delete(doubt, rows)
        low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(y, p, rest, alpha=0.1))
        found["ppi"].append((low <= truth <= high, high - low))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def table(task, sizes, draws):
    says = num_label_issues(task.given, task.share) / len(task.given)
    for n in sizes:
        found = cell(task, n, draws)
        base = found["wilson"][1]
        yield {
            "set": task.name,
            "wrong": task.wrong.mean(),
            "cleanlab": says,
            "rows": n,
            "sheet": found["sheet"][0],
            "width": found["sheet"][1],
            "/ Wilson": found["sheet"][1] / base,
            "running": found["running"][0],
            "/ Wilson ": found["running"][1] / base,
            "Wilson": found["wilson"][0],
            "PPI": found["ppi"][0],
            "/ Wilson  ": found["ppi"][1] / base,
        }


def made_up_table(sizes, draws):
    """Over all shares of wrong labels: the least coverage, the mean and the largest width."""
    for kind in KINDS:
        for n in sizes:
            cells = [cell(made_up(kind, rate), n, draws) for rate in RATES]
            row = {"doubts": kind.__name__, "rows": n}
            for name in ("sheet", "running"):
                width = [one[name][1] / one["wilson"][1] for one in cells]
                row |= {
                    f"{name}, least": min(one[name][0] for one in cells),
                    f"{name} / Wilson": np.mean(width),
                    f"{name}, most": max(width),
                }
            yield row


def learned(task, found, checked=()):
    """Accuracy on test rows in per cent, and average precision on rows nobody has checked."""
    left = np.setdiff1d(np.arange(len(task.given)), checked)
    wrong = (task.given != task.true)[left]
    return (
        100 * (found.classifier.predict(task.new) == task.truth).mean(),
        100 * average_precision_score(wrong, found.error_probability[left]),
    )


def accuracies(name, sizes, draws):
    """What so many checks make of accuracy and average precision, means over draws.

    Each draw has a seed of its own, before and after the checks: folds fall otherwise, too.
    """
    task = split(name)
    before = [audit(task.table, task.given, random_state=seed) for seed in range(draws)]
    yield {"set": name, "rows": 0, **_summary([learned(task, one) for one in before])}
    for n in sizes:
        made = []
        for seed, first in enumerate(before):
            sheet = first.draw_checks(n, random_state=seed)
            sheet["true_label"] = task.true[sheet["row"]]
            found = audit(task.table, task.given, checked=sheet, random_state=seed)
            made.append(learned(task, found, sheet["row"].to_numpy()))
        yield {"set": name, "rows": n, **_summary(made)}


def _summary(made):
    mean, error = np.mean(made, axis=0), np.std(made, axis=0) / np.sqrt(max(len(made) - 1, 1))
    return {"accuracy": mean[0], "error": error[0], "AP": mean[1], "draws": len(made)}


def printed(tables) -> list:
    """Print rows as they come, under the names of the first."""
    rows: list = []
    for row in tables:
        if not rows:
            print(f"| {' | '.join(row)} |\n|{'---|' * len(row)}")
        rows.append(row)
        cells = (f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values())
        print(f"| {' | '.join(cells)} |", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", help="some sets only, by name")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--accuracy", action="store_true", help="accuracy and AP after checks")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, help="how many checks")
    parser.add_argument("--quick", action="store_true", help="two sets, 40 draws, 25 and 50 rows")
    parser.add_argument("--made-up", action="store_true", help="made-up rows instead of sets")
    parser.add_argument("--doubts", choices=DOUBTS, default="plain", help="whose doubts")
    parser.add_argument("--keep", type=Path, help="a folder for doubts, and for those found there")
    said = parser.parse_args()
    warnings.simplefilter("ignore")
    if said.made_up:
        printed(made_up_table(said.sizes, said.draws))
        return
    if said.accuracy:
        names = said.sets or [*TEXTS, "lidc", "music", "music, majority"]
        printed(row for name in names for row in accuracies(name, said.sizes, said.draws))
        return
    names = said.sets or (["votes 10 %", "car 20 %"] if said.quick else list(SETS))
    draws, sizes = (40, SIZES[:2]) if said.quick else (said.draws, said.sizes)
    every = (table(task(name, said.doubts, said.keep), sizes, draws) for name in names)
    frame = pd.DataFrame(printed(row for one in every for row in one))
    print(
        f"mean width against Wilson's: sheet {frame['/ Wilson'].mean():.2f} (most "
        f"{frame['/ Wilson'].max():.2f}), running {frame['/ Wilson '].mean():.2f}; least coverage: "
        f"sheet {frame['sheet'].min():.3f}, running {frame['running'].min():.3f}"
    )


if __name__ == "__main__":
    main()
