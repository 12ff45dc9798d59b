"""Tables with planted errors, for the head."""

from __future__ import annotations

import numpy as np
import pandas as pd


def planted(n=300, rate=0.15, seed=0, classes=3, d=6, apart=1.6):
    """Draw reals and categories about some classes; return frame, given labels and true ones."""
    rng = np.random.default_rng(seed)
    z = rng.integers(classes, size=n)
    centers = np.random.default_rng(99).normal(size=(classes, d - 2))
    reals = rng.normal(size=(n, d - 2)) + apart * centers[z]
    frame = pd.DataFrame(reals, columns=[f"r{j}" for j in range(d - 2)])
    frame["kind"] = np.array(list("pqrst"))[
        np.where(rng.random(n) < 0.7, z, rng.integers(5, size=n))
    ]
    frame["town"] = rng.choice(list("abc"), n)
    y = np.where(rng.random(n) < rate, (z + rng.integers(1, classes, n)) % classes, z)
    names = np.array(["ash", "birch", "cedar", "dogwood", "elm"], object)
    return frame, names[y], names[z]
