"""Small tables of every kind of column, as learners see them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from misnomer.learners.naive_bayes import USUAL
from misnomer.learners.rows import Rows, rows_of
from misnomer.rows import read
from misnomer.table import Batch

K = 3


def mixed_frame(n: int = 160, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Reals, categories, flags and gaps about three classes; a sixth of the labels are wrong."""
    rng = np.random.default_rng(seed)
    z = rng.integers(K, size=n)
    frame = pd.DataFrame(
        {
            "height": rng.normal(size=n) + 1.2 * z,
            "width": rng.normal(size=n) * (1 + z) - z,
            "color": np.array(list("rgb"))[(z + (rng.random(n) < 0.3)) % K],
            "town": rng.choice(list("abcdef"), n),
            "wet": rng.random(n) < 0.2 + 0.3 * z,
            "old": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.1, "height"] = np.nan
    frame.loc[rng.random(n) < 0.1, "color"] = None
    y = np.where(rng.random(n) < 1 / 6, rng.integers(K, size=n), z)
    return frame, y


def as_rows(frame, y, weight=None, seed=0, classes=K) -> Rows:
    """Read a table; -1 is a missing label."""
    schema, blocks = read(frame)
    given = np.where(y < 0, classes, y).astype(np.int32)
    batch = Batch(blocks, given, weight)
    return rows_of(schema, batch, classes, USUAL, seed, classes)
