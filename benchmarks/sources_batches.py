"""A crowd whose file is read by batches: time, memory, and whether it is right."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmarks.scale_texts import PEAK

CROWD, EACH, SPAMMERS = 200, 3, 20
TREES = np.array(["ash", "birch", "cedar", "dogwood"])
SHARES = (0.4, 0.3, 0.2, 0.1)


def made(path: Path, n: int) -> np.ndarray:
    """Write a line per answer in a random order, five reals and five categories a row: the truth.

    A tenth of the annotators is right three times of ten; the others are by a beta distribution.
    """
    rng = np.random.default_rng(0)
    z = rng.choice(4, n, p=SHARES)
    columns = {f"x{j}": rng.normal(0.5 * (j % 3) * z, 1.0).round(3) for j in range(5)}
    for j in range(5):
        columns[f"c{j}"] = np.array([f"v{k}" for k in range(6)])[(z + rng.integers(0, 3, n)) % 6]
    right = rng.beta(8, 2, CROWD)
    right[:SPAMMERS] = 0.3
    step = rng.integers(1, CROWD // EACH, (n, 1))
    who = (rng.integers(0, CROWD, (n, 1)) + np.arange(EACH) * step) % CROWD
    wrong = (z[:, None] + rng.integers(1, 4, who.shape)) % 4
    said = np.where(rng.random(who.shape) < right[who], z[:, None], wrong)
    order = rng.permutation(n * EACH)
    row = order // EACH
    lines = {
        "item": np.char.add("item", row.astype(str)),
        **{name: values[row] for name, values in columns.items()},
        "annotator": np.char.add("w", who.ravel()[order].astype(str)),
        "label": TREES[said.ravel()[order]],
    }
    csv.write_csv(pa.table(lines), path)
    return TREES[z]


def audited(path: Path, out: Path, *words: str) -> dict[str, float]:
    """Run the command in a process of its own: seconds, seconds of CPU, the most memory in MiB."""
    script = (
        "import os, sys\n"
        f"{PEAK}\n"
        "from misnomer.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "print(peak(), sum(os.times()[:2]))\n"
    )
    said = ["audit", str(path), "--quiet", "--out", str(out), "--long", "item,annotator,label"]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, *said, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    peak, cpu = map(float, done.stdout.split())
    return {"seconds": time.perf_counter() - begin, "cpu": cpu, "peak": peak / (1 << 20)}


def right(out: Path, truth: np.ndarray) -> str:
    """Compare with the truth: the rate of wrong votes, and how often the suggestions are wrong."""
    rows = pq.read_table(out / "rows.parquet")
    place = np.array([int(name[4:]) for name in rows["item"].to_pylist()])
    vote, best = (np.array(rows[f"{name}_label"].to_pylist()) for name in ("given", "suggested"))
    rate = float(np.mean(rows["error_probability"].to_numpy()))
    wrong = float((vote != truth[place]).mean())
    left = float((best != truth[place]).mean())
    return f"rate {rate:.4f}, true {wrong:.4f}; suggested labels wrong {left:.4f}"


def lines(quick):
    """Measure crowds of two sizes, in memory and by batches."""
    sizes = [(20_000, "500MB")] if quick else [(300_000, "500MB"), (666_667, "900MB")]
    with tempfile.TemporaryDirectory() as name:
        for n, cap in sizes:
            path = Path(name) / f"{n}.csv"
            truth = made(path, n)
            size = path.stat().st_size / 1e6
            yield f"{n * EACH:,} answers by {CROWD} about {n:,} rows, {size:.0f} MB of CSV"
            for how, words in (("in memory", ()), (f"--memory {cap}", ("--memory", cap))):
                out = Path(name) / f"{n} {how}"
                run = audited(path, out, *words)
                yield (
                    f"  {how:<15} {run['seconds']:5.0f} s, {run['cpu']:5.0f} s of CPU, "
                    f"{run['peak']:5.0f} MiB; {right(out, truth)}"
                )
