"""Made-up crowds for the engines: every family of column, gaps, a column that numbers the rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.audit.rows import table

WHO = ["ann", "bob", "cyd", "dee"]
LONG = ["item", "who", "said"]
NAMES = np.array(["x", "y", "z"], object)


def wide(n=500, seed=0):
    """A column per annotator, the last careless; a row without any answer."""
    rng = np.random.default_rng(seed)
    rows = table(n, seed)
    seen = np.array([{"x": 0, "y": 1, "z": 2}.get(one, 0) for one in rows["label"].to_pylist()])
    rows = rows.drop_columns(["label"])
    for name, right in zip(WHO, (0.9, 0.85, 0.8, 0.45), strict=True):
        said = NAMES[np.where(rng.random(n) < right, seen, rng.integers(0, 3, n))]
        said[rng.random(n) < (0.0 if name == "ann" else 0.4)] = None
        said[3] = None
        rows = rows.append_column(name, pa.array(said.tolist()))
    return rows


def lines(rows, seed=0):
    """The same answers, a line each, in a random order; a column of the answers' own."""
    n = len(rows)
    item = pa.array([f"r{i}" for i in range(n)])
    about = rows.drop_columns(WHO).add_column(0, "item", item)
    parts = [
        about.append_column("who", pa.array([name] * n)).append_column("said", rows[name])
        for name in WHO
    ]
    every = pa.concat_tables(parts)
    rng = np.random.default_rng(seed)
    filled = np.flatnonzero(np.asarray(every["said"].is_valid()))
    empty = np.arange(3, 4 * n, n)  # the row without any answer has four lines that say nothing
    chosen = rng.permutation(np.union1d(filled, empty))
    every = every.take(pa.array(chosen))
    return every.append_column("minute", pa.array(rng.integers(0, 60, len(every))))
