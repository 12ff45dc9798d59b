"""The second derivatives of the pool's objective against differences of its gradient."""

import numpy as np
import pytest

from misnomer.solvers.pool_curvature import curvature
from misnomer.solvers.pool_objective import Problem


def problem(K, *, contrast, trusted, free, extra=0.0, n=300):
    rng = np.random.default_rng(K)
    label = rng.integers(K, size=n)
    hard = np.eye(K)[label]
    scores = 2.0 * hard + rng.normal(size=(n, K))
    return Problem(
        scores,
        rng.normal(size=(n, K)) if contrast else None,
        hard,
        rng.uniform(0.5, 2.0, n),
        rng.random(n) < 0.2 if trusted else None,
        rng.dirichlet(np.full(K, 5.0)),
        free,
        extra,
    )


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize(("trusted", "free", "extra"), [(False, False, 0.0), (True, True, 3.0)])
def test_second_derivatives_are_differences_of_first_ones(K, contrast, trusted, free, extra):
    task = problem(K, contrast=contrast, trusted=trusted, free=free, extra=extra)
    rng = np.random.default_rng(0)
    vector = task.write(0.6, 0.3, 0.7 * np.eye(K) + 0.3 * rng.dirichlet(np.ones(K), K).T)
    vector = vector + 0.3 * rng.normal(size=len(vector))
    found = curvature(task, task.read(vector))
    size, step = len(found), 1e-5
    assert size == (2 if contrast else 1) + 2 * K + 1
    for place in range(size):
        by = np.zeros_like(vector)
        by[place] = step
        wanted = (task(vector + by)[1] - task(vector - by)[1])[:size] / (2 * step)
        np.testing.assert_allclose(found[place], wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-12)
