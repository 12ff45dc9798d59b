"""Rows for the conditional solver to learn from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from misnomer import channel as channels
from misnomer.engines import fold
from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.kernels.reference import statistic
from misnomer.rows import read
from misnomer.rows.arrays import pack
from misnomer.smoothing import automatic
from misnomer.solvers.task import Task
from misnomer.table import Batch, Column, Schema

SHARP = {"max_iter": 3000, "tol": 1e-15}


def mixed_table(n=60, K=3, seed=0, gaps=0.2):
    """Rows of every family, some cells missing, with all sorts of evidence and weights."""
    rng = np.random.default_rng(seed)
    schema = Schema(
        (
            Column("color", "categorical", ("b", "g", "r")),
            Column("flag", "bernoulli", (0, 1)),
            Column("size", "gaussian", center=4.0),
            Column("visits", "count"),
            Column("note", "text", width=4, words=("a", "b", "c", "d")),
            Column("shape", "categorical", ("o", "x")),
        )
    )
    seen = rng.random((n, 4)) >= gaps
    codes = np.stack([rng.integers(0, 3, n), rng.integers(0, 2, n)], axis=1)
    codes = np.where(seen[:, :2], codes, 255).astype(np.uint8)
    size = np.where(seen[:, 2], rng.normal(5, 2, n), np.nan)[:, None]
    blocks = (
        Codes(codes, (3, 2)),
        pack(rng.random((n, 1)) < 0.3, seen[:, 3:]),
        Reals(size, np.array([4.0])),
        Words(sparse.csr_array(rng.poisson(5.0, (n, 1)).astype(float))),
        Words(sparse.csr_array(rng.poisson(0.5, (n, 4)).astype(float))),
    )
    given = rng.integers(0, 2 * K + 1, n).astype(np.int32)
    return schema, Batch(blocks, given, rng.uniform(0.5, 2.0, n))


def dense(schema, batch):
    """t(x) of every row, spelled out."""
    parts = [statistic(block) for block in batch.blocks]
    return np.concatenate([p if isinstance(p, np.ndarray) else p.toarray() for p in parts], axis=1)


def parts(batch, k):
    return [batch.take(rows) for rows in np.array_split(np.arange(len(batch)), k)]


def categories(n, K, seed, d=6, strength=1.2):
    """Codes (n, d) of three values each that follow the class linearly, and the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, d))
    weights = rng.normal(0, strength, (K, d, 3))
    scores = sum(weights[:, j, codes[:, j]] for j in range(d)).T
    noisy = scores + rng.gumbel(size=scores.shape)
    return codes, noisy.argmax(axis=1), rng


def balanced(n, K, seed, d=6):
    """Codes (n, d) of three values that are independent within each class, and the class."""
    rng = np.random.default_rng(seed)
    z = np.arange(n) % K
    steps = rng.dirichlet(np.ones(3), (K, d)).cumsum(axis=-1)
    return (rng.random((n, d, 1)) >= steps[z]).sum(axis=-1).clip(max=2), z, rng


def spoiled(z, matrix, rng):
    steps = matrix.cumsum(axis=0)[:, z].T
    return (rng.random((len(z), 1)) >= steps).sum(axis=1)


def task_of(codes, given, channel, **options):
    schema, blocks = read(codes, "categorical")
    batch = Batch(blocks, given.astype(np.int32))
    return Task(schema, [batch], fold, channel, automatic(), **options)


def numeric_gradient(function, at, step=1e-5):
    slopes = np.zeros_like(at)
    for i in range(len(at)):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        slopes[i] = (function(up) - function(down)) / (2 * step)
    return slopes


def channels_to_differentiate():
    mild = 0.9 * np.eye(3) + 0.1
    return {
        "free": channels.free(3, counts=mild),
        "zero": channels.free(3, counts=0.5).restrict([(2, 0)]),
        "flips": channels.flips([0.1, 0.2, 0.4], counts=mild),
        "uniform": channels.uniform(3, 0.3, counts=mild),
        "fixed": channels.fixed([[0.8, 0.1, 0.0], [0.1, 0.9, 0.3], [0.1, 0.0, 0.7]]),
    }


def emptied(block):
    if isinstance(block, Codes):
        return replace(block, codes=np.full_like(block.codes, 255))
    if isinstance(block, Flags):
        return replace(block, observed=np.zeros_like(block.bits))
    if isinstance(block, Reals):
        return replace(block, values=np.full_like(block.values, np.nan))
    return Words(block.matrix * 0.0)
