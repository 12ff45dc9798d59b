"""Texts of many classes: words by Zipf's law, neighbors that share words and are mistaken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Whole = NDArray[np.int64]

ROWS, CLASSES, WORDS = 200_000, 5_000, 1_000_000
WRONG, GROUP, OWN = 0.2, 5, 120  # share of wrong labels, neighbors, words that a class favors
_LENGTH, _TOPICAL = 60, 0.15

# Not getrusage: what it tells of a new process begins with the peak of the one that started it.
PEAK = """
def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
"""

SCRIPT = f"""
import json, sys, time, warnings
{PEAK}
import numpy as np
from scipy import sparse
from misnomer import audit
warnings.simplefilter("ignore")
X, y = sparse.load_npz(sys.argv[1]), np.load(sys.argv[2])["given"]
begin, busy = time.perf_counter(), time.process_time()
found = audit(X, y)
seconds, cpu = time.perf_counter() - begin, time.process_time() - busy
np.savez(sys.argv[3], suggested=found.suggested, wrong=found.error_probability)
print(json.dumps(dict(seconds=seconds, cpu=cpu, peak=peak(), said=repr(found))))
"""


def texts(rows: int, classes: int, words: int, seed: int = 0) -> tuple[Any, Whole, Whole]:
    """Draw documents, their given labels and their true classes.

    Five neighbors share half of their favorite words; a wrong label is one of those neighbors.
    """
    rng = np.random.default_rng(seed)
    ranks = 1.0 / np.arange(1, words + 1) ** 1.05
    ends = np.cumsum(ranks) / ranks.sum()
    true = rng.integers(0, classes, rows)
    rare = words // 100  # favorites are no common words
    favorite = rng.integers(rare, words, (classes, OWN))
    shared = rng.integers(rare, words, (-(-classes // GROUP), OWN // 2))
    favorite[:, : OWN // 2] = shared[np.arange(classes) // GROUP]
    size = np.maximum(rng.poisson(_LENGTH, rows), 1)
    row = np.repeat(np.arange(rows), size)
    word = np.searchsorted(ends, rng.random(len(row))).clip(max=words - 1)
    own = np.flatnonzero(rng.random(len(row)) < _TOPICAL)
    word[own] = favorite[true[row[own]], rng.integers(0, OWN, len(own))]
    X = sparse.csr_matrix((np.ones(len(row)), (row, word)), shape=(rows, words))
    first = true // GROUP * GROUP
    near = np.minimum(GROUP, classes - first)
    other = first + (true - first + rng.integers(1, GROUP, rows)) % near
    return X, np.where(rng.random(rows) < WRONG, other, true), true


def wide(folder: Path) -> dict[str, object]:
    """Thousands of labels and a million words in a process of its own: time, memory, found."""
    X, given, true = texts(ROWS, CLASSES, WORDS)
    sparse.save_npz(folder / "X.npz", X, compressed=False)
    np.savez(folder / "y.npz", given=given)
    names = [str(folder / name) for name in ("X.npz", "y.npz", "out.npz")]
    before = os.getloadavg()[0]
    begin = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    said = json.loads(run.stdout.splitlines()[-1])
    with np.load(names[2]) as out:
        flagged, bad = out["suggested"] != given, given != true
        right = out["suggested"][flagged & bad] == true[flagged & bad]
        rate = float(out["wrong"].mean())
    return {
        "rows": ROWS,
        "classes": CLASSES,
        "words": WORDS,
        "cells": int(X.nnz),
        "seconds": round(said["seconds"]),
        "cpu_seconds": round(said["cpu"]),
        "whole_process_seconds": round(time.perf_counter() - begin),
        "peak_gb": round(said["peak"] / 1e9, 2),
        "bar_gb": 4,
        "dense_weights_gb": round(8 * CLASSES * WORDS / 1e9),
        "dense_shares_gb": round(8 * CLASSES * ROWS / 1e9),
        "precision": round(float((flagged & bad).sum() / flagged.sum()), 3),
        "recall": round(float((flagged & bad).sum() / bad.sum()), 3),
        "right_class_of_found": round(float(right.mean()), 3),
        "rate": round(rate, 3),
        "true_rate": round(float(bad.mean()), 3),
        "load": round(before, 1),
    }
