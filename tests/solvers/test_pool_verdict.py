"""The pool's verdict: what it refuses, what it trusts, what it notices."""

import numpy as np
import pytest

from misnomer.audit import audit
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.solvers.pool import Pool
from tests.solvers.pooled import target


def clumps(seed=0, columns=4):
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, 400)
    X = 0.3 * rng.normal(size=(400, columns)) + 6 * side[:, None]
    return X, np.where(rng.random(400) < 0.25, 1 - side, side)


def unrelated(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(400, 5)), rng.integers(0, 2, 400)


def one_column(seed=0):
    X, y = clumps(seed)
    X[:, 1:] = np.random.default_rng(seed).normal(size=(400, 3))
    X[:, 0] += 2 * np.random.default_rng(seed + 1).normal(size=400)
    return X, y


@pytest.mark.parametrize("draw", [clumps, unrelated, one_column])
def test_it_refuses_a_rate_where_the_data_cannot_tell(draw):
    found = audit(*draw())
    assert found.verdict.level == "cannot tell"
    assert found.verdict.sentences
    assert 0 < len(found.ask) <= 12
    assert set(found.verdict.ask) <= set(range(400))


def test_it_trusts_a_rate_that_the_data_show():
    X, given, true = target(1500, seed=2)
    found = audit(X, given)
    assert found.verdict.level == "trust", found.verdict
    assert len(found.ask) == 0
    assert (given != true).mean() in found.error_rate
    assert found.error_rate.high - found.error_rate.low < 0.12
    assert (found.matrix_low <= found.matrix).all() and (found.matrix <= found.matrix_high).all()


def test_it_names_columns_that_repeat_each_other():
    X, given, _ = target(800, seed=1)
    X[:, 8] = X[:, 6]  # the most telling column, twice
    tests = audit(X, given).verdict.tests
    assert tests["dispersion_z"] > 2
    assert set(tests["repeating_columns"][0][:2]) == {"x6", "x8"}


def test_it_sees_errors_that_depend_on_the_columns():
    X, _, true = target(2000, seed=1)
    given = np.where((X[:, 9] == 1) & (np.random.default_rng(0).random(2000) < 0.4), 1 - true, true)
    tests = audit(X, given, classifier=NoisyLabelNB(solver=Pool(columns=False))).verdict.tests
    assert tests["errors_seen_by_columns_z"] > 3
    assert audit(X, given).verdict.tests["columns_that_tell_errors"] == ["x9"]
