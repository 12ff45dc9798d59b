"""The classifier against scikit-learn's: fit, predictions, passes of EM, import.

    python -m benchmarks.face            # a million rows
    python -m benchmarks.face --quick    # a tenth of it
    python -m benchmarks.face --write    # and into docs/measured/speed.md

One thread and CPU time, the least of several runs.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from benchmarks.kernels import cpu_time, processor, write
from misnomer import NoisyLabelNB
from misnomer.channel import fixed, free
from misnomer.engines import fold
from misnomer.model import Model
from misnomer.smoothing import additive
from misnomer.solvers.em import climb, starts
from misnomer.solvers.task import Task
from misnomer.table import Column, Schema

COLUMNS, VALUES, CLASSES = 50, 10, 5
CONTRAST = 400.0  # of the classes: so that plain EM needs about 28 passes
GAP = 1e-5  # nats per row
HEAVY = ("pandas", "matplotlib", "dask", "polars", "pyarrow")


def verdict(good: bool) -> str:
    """Say whether a bar is reached."""
    return "ok" if good else "SHORT"


def supervised(n: int, repeats: int) -> str:
    """Fit labels that are taken as true: the same model, by both."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=n)
    X = ((rng.integers(VALUES, size=(n, COLUMNS)) + y[:, None] % 3) % VALUES).astype(np.uint8)
    ours = NoisyLabelNB(channel="identity", smoothing=1.0)
    theirs = CategoricalNB()
    fast, slow = [], []
    for i in range(repeats):
        fast += [cpu_time(lambda: ours.fit(X, y)) for _ in range(2)]
        if i < 3:
            slow.append(cpu_time(lambda: theirs.fit(X, y)))
    few = X[:1000]
    np.testing.assert_allclose(ours.predict_proba(few), theirs.predict_proba(few), atol=1e-10)
    ratio = min(slow) / min(fast)
    return (
        f"fit, {COLUMNS} categories: CategoricalNB {min(slow):.0f} ms, NoisyLabelNB "
        f"{min(fast):.0f} ms, {ratio:.0f}x (bar 50x) {verdict(ratio >= 50)}"
    )


def predicted(n: int, repeats: int) -> Iterator[str]:
    """Predict from the codes as they are, and as the numbers of 64 bits that users have."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=n)
    codes = ((rng.integers(VALUES, size=(n, COLUMNS)) + y[:, None] % 3) % VALUES).astype(np.uint8)
    for kind in (np.uint8, np.int64):
        X = codes.astype(kind)
        some = slice(0, 20_000)
        ours = NoisyLabelNB(families="categorical").fit(X[some], y[some])
        theirs = CategoricalNB().fit(X[some], y[some])
        slow = min(cpu_time(lambda: theirs.predict_proba(X)) for _ in range(2))  # noqa: B023
        fast = min(cpu_time(lambda: ours.predict_proba(X)) for _ in range(repeats))  # noqa: B023
        yield (
            f"predict_proba, {COLUMNS} categories, {np.dtype(kind).name}: CategoricalNB "
            f"{slow:.0f} ms, NoisyLabelNB {fast:.0f} ms, {slow / fast:.1f}x (bar 15x) "
            f"{verdict(slow / fast >= 15)}"
        )


def noisy_task(n: int) -> Task:
    """Draw categories of classes that overlap, behind 30 % uniform noise."""
    rng = np.random.default_rng(1)
    schema = Schema(
        tuple(Column(f"c{j}", "categorical", tuple(range(VALUES))) for j in range(COLUMNS))
    )
    base = rng.dirichlet(np.ones(VALUES), size=COLUMNS)
    p = np.array([[rng.dirichlet(CONTRAST * q + 0.05) for q in base] for _ in range(CLASSES)])
    noise = np.eye(CLASSES) * (0.7 - 0.3 / 4) + 0.3 / 4
    weights = np.log(p.reshape(CLASSES, -1) + 1e-300)
    model = Model(np.full(CLASSES, 1 / CLASSES), fixed(noise), weights, schema)
    batch, _ = model.draw(n, rng)
    return Task(schema, [batch], fold, free(CLASSES), additive(1.0), tol=1e-9, max_iter=400)


def passes(n: int) -> str:
    """Count the passes to ``GAP`` per row below the final likelihood, plain and accelerated."""
    task = noisy_task(n)
    start = starts(task)[0]
    histories = [climb(task, *start, accelerate=fast).history for fast in (False, True)]
    final = max(map(max, histories))
    plain, fast = (
        int(np.argmax(np.maximum.accumulate(history) >= final - GAP * n)) + 1
        for history in histories
    )
    return (
        f"EM passes to a gap of {GAP:g} per row, 30 % noise: plain {plain}, accelerated {fast} "
        f"(bar 15) {verdict(fast <= 15)}"
    )


def cost(module: str, repeats: int) -> float:
    """Time an import in a fresh interpreter; milliseconds."""
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(repeats)]
    return 1e3 * min(float(run.stdout) for run in runs)


def imported(modules: str) -> set[str]:
    """Name the heavy packages that an import brings along."""
    code = f"import sys, {modules}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def imports(repeats: int) -> Iterator[str]:
    """Compare what an import costs, bare and with the classifier."""
    theirs = cost("sklearn.naive_bayes", repeats)
    yield f"import sklearn.naive_bayes: {theirs:.0f} ms"
    for what, module in (
        ("misnomer", "misnomer"),
        ("NoisyLabelNB", "misnomer.classifiers.naive_bayes"),
    ):
        ours = cost(module, repeats)
        ratio = ours / theirs
        yield f"import {what}: {ours:.0f} ms, {ratio:.2f}x (bar 1.3x) {verdict(ratio <= 1.3)}"
    bare = imported("misnomer")
    more = imported("misnomer.classifiers.naive_bayes") - imported("sklearn.naive_bayes")
    yield (
        f"of {', '.join(HEAVY)}, misnomer imports {', '.join(bare) or 'none'}, "
        f"NoisyLabelNB {', '.join(more) or 'none'} that scikit-learn does not "
        f"{verdict(not bare | more)}"
    )


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--write", action="store_true", help="put them into docs/measured/speed.md")
    options = parser.parse_args()
    n = 100_000 if options.quick else 1_000_000
    repeats = 3 if options.quick else 7

    def measured() -> Iterator[str]:
        yield f"{n:,} rows, {processor()}"
        yield supervised(n, repeats)
        yield from predicted(n, repeats)
        yield passes(n)
        yield from imports(repeats)

    lines = []
    for line in measured():
        print(line, flush=True)
        lines.append(line)
    if options.write:
        write("face", lines)


if __name__ == "__main__":
    main()
