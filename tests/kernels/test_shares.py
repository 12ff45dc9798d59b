"""Shares and their logarithms: the compiled ones against their definition."""

import numpy as np
import pytest

from misnomer.kernels import reference
from tests.kernels.variants import VARIANTS, check_with

compiled = pytest.importorskip(
    "misnomer.kernels.compiled",
    reason="the C++ kernels were not built",
    exc_type=ImportError,
)


def counts(K, S, *, beside, seed=0):
    rng = np.random.default_rng(seed)
    sums = rng.poisson(2.0, (K, S)) + rng.random((K, S))
    return np.asfortranarray(sums) if beside else sums


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(("K", "S"), [(1, 1), (2, 0), (2, 7), (3, 64), (5, 65), (20, 1000)])
def test_logs_of_shares_are_taken_as_defined(K, S, beside):
    sums = counts(K, S, beside=beside)
    for virtual in (np.ones((K, S)), np.broadcast_to(np.linspace(0.1, 3, S), (K, S))):
        ours = compiled.log_shares(sums, virtual)
        np.testing.assert_allclose(ours, reference.log_shares(sums, virtual), rtol=1e-12)


def test_counts_of_zero_and_classes_without_words_are_as_defined():
    sums = np.array([[0.0, 2.0], [0.0, 0.0]])
    found = compiled.log_shares(sums, np.zeros((2, 2)))
    np.testing.assert_array_equal(found[0], [reference.LOG_ZERO, 0.0])
    np.testing.assert_allclose(np.exp(found[1]), [0.5, 0.5])


def test_a_nan_is_not_hidden():
    sums = np.array([[1.0, np.nan], [1.0, 2.0]])
    assert np.isnan(compiled.log_shares(sums, np.ones((2, 2)))).any()


@pytest.mark.parametrize(("rows", "K"), [(0, 2), (1, 2), (5, 1), (16, 3), (37, 4), (200, 20)])
def test_shares_are_those_of_the_definition(rows, K):
    scores = 40 * np.random.default_rng(rows).normal(size=(rows, K))
    before = scores.copy()
    for one in (scores, np.asfortranarray(scores)):
        for ours, theirs in zip(compiled.softmax(one), reference.softmax(one), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-280)
    np.testing.assert_array_equal(scores, before)


CHECK = """
import numpy as np
from misnomer.kernels import backend, compiled, reference
from tests.kernels.test_shares import counts
sums = counts(7, 300, beside=True)
for a, b in zip(compiled.softmax(sums), reference.softmax(sums)):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
np.testing.assert_allclose(compiled.log_shares(sums, np.ones((7, 300))),
                           reference.log_shares(sums, np.ones((7, 300))), rtol=1e-12)
print(backend())
"""


@VARIANTS
def test_every_instruction_set_gives_the_same_answer(variant):
    check_with(variant, CHECK)
