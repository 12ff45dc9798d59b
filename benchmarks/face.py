"""The classifier against scikit-learn's: fit, import, passes of EM.

    python -m benchmarks.face            # a million rows
    python -m benchmarks.face --quick    # a tenth of it

One thread and CPU time, the least of several runs.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from misnomer import NoisyLabelNB
from misnomer.channel import fixed, free
from misnomer.engines.local import fold
from misnomer.model import Model
from misnomer.smoothing import additive
from misnomer.solvers.em import climb
from misnomer.solvers.starts import starts
from misnomer.solvers.task import Task
from misnomer.table import Column, Schema


def least(action, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def supervised(n: int, repeats: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=n)
    X = ((rng.integers(10, size=(n, 50)) + y[:, None] % 3) % 10).astype(np.uint8)
    ours = NoisyLabelNB(channel="identity", smoothing=1.0)
    theirs = CategoricalNB()
    a, b = least(lambda: ours.fit(X, y), repeats), least(lambda: theirs.fit(X, y), 2)
    same = np.abs(ours.predict_proba(X[:1000]) - theirs.predict_proba(X[:1000])).max()
    print(
        f"fit, {n:,} x 50 categories: {1e3 * b:.0f} ms, ours {1e3 * a:.0f} ms: {b / a:.0f}x "
        f"faster (bar 50x); largest difference of a probability {same:.1e}"
    )


def passes(n: int, contrast: float) -> None:
    """Count the passes to a likelihood gap of 1e-5 per row at 30 % noise, plain and accelerated."""
    rng = np.random.default_rng(1)
    d, K = 50, 5
    schema = Schema(tuple(Column(f"c{j}", "categorical", tuple(range(10))) for j in range(d)))
    base = rng.dirichlet(np.ones(10), size=d)
    p = np.array([[rng.dirichlet(contrast * q + 0.05) for q in base] for _ in range(K)])
    noise = np.eye(K) * (0.7 - 0.3 / 4) + 0.3 / 4
    model = Model(np.full(K, 1 / K), fixed(noise), np.log(p.reshape(K, -1) + 1e-300), schema)
    batch, _ = model.draw(n, rng)
    task = Task(schema, [batch], fold, free(K), additive(1.0), tol=1e-9, max_iter=400)
    start = starts(task)[0]
    runs = [climb(task, *start, accelerate=False), climb(replace(task), *start)]
    best = max(max(run.history) for run in runs)
    counts = [
        int(np.argmax(np.maximum.accumulate(run.history) >= best - 1e-5 * n)) + 1 for run in runs
    ]
    print(
        f"EM passes to a gap of 1e-5 per row, {n:,} rows, 30 % noise, contrast {contrast:g}: "
        f"plain {counts[0]}, accelerated {counts[1]} (bar 15 where plain needs 28)"
    )


def imports(repeats: int) -> None:
    def cost(module: str) -> float:
        code = (
            f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
        )
        return min(
            float(
                subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(repeats)
        )

    theirs = cost("sklearn.naive_bayes")
    bare = cost("misnomer")
    whole = cost("misnomer.classifiers.base")
    print(
        f"import: sklearn.naive_bayes {1e3 * theirs:.0f} ms, misnomer {1e3 * bare:.0f} ms "
        f"({bare / theirs:.2f}x, bar 1.3x), with NoisyLabelNB {1e3 * whole:.0f} ms "
        f"({whole / theirs:.2f}x)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    quick = parser.parse_args().quick
    n = 100_000 if quick else 1_000_000
    supervised(n, 7)
    for contrast in (200.0, 300.0):
        passes(n, contrast)
    imports(3 if quick else 7)


if __name__ == "__main__":
    main()
