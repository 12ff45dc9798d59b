"""Tables and tasks that the tests of the pool share."""

from itertools import pairwise

import numpy as np

from misnomer.channel import auto
from misnomer.engines.local import fold
from misnomer.readers import read
from misnomer.smoothing import resolve
from misnomer.solvers.pool import held
from misnomer.solvers.pool_rows import spelled
from misnomer.solvers.task import Task
from misnomer.table import Batch

LAPLACE = held(resolve("auto"))


def target(n, seed=0, flips=(0.2, 0.2), d=10):
    """Flags of two classes with random probabilities, and labels that are flipped."""
    rng = np.random.default_rng(seed)
    ones = rng.uniform(0.1, 0.9, (2, d))
    true = rng.integers(0, 2, n)
    X = (rng.random((n, d)) < ones[true]).astype(int)
    given = np.where(rng.random(n) < np.array(flips)[true], 1 - true, true)
    return X, given, true


def clouds(n, seed=0, K=3, wrong=0.2):
    """Normal clouds with some uniform noise."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, K, n)
    X = rng.normal(size=(n, 6)) + 1.2 * rng.normal(size=(K, 6))[true]
    given = np.where(rng.random(n) < wrong, rng.integers(0, K, n), true)
    return X, given, true


def task_of(X, given, K, batches=1, weight=None, **options):
    schema, blocks = read(X)
    whole = Batch(blocks, np.asarray(given, np.int32), weight)
    edges = np.linspace(0, len(whole), batches + 1).astype(int)
    parts = [whole.take(slice(a, b)) for a, b in pairwise(edges)]
    return Task(schema, parts, fold, auto(K), resolve("auto"), **options)


def rows_of(X, given, K, **options):
    task = task_of(X, given, K)
    return spelled(task, task.batches[0], LAPLACE, **options)
