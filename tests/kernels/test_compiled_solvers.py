"""The kernels of single solvers against their definition."""

import numpy as np
import pytest

from misnomer.kernels import reference
from tests.kernels.variants import VARIANTS, check_with

compiled = pytest.importorskip(
    "misnomer.kernels.compiled_solvers",
    reason="the C++ kernels were not built",
    exc_type=ImportError,
)


def labels_to_explain(classes, rows, with_contrast):
    rng = np.random.default_rng(classes + rows)
    scores = 3 * rng.normal(size=(classes, rows))
    contrast = rng.normal(size=(classes, rows)) if with_contrast else None
    codes = np.sort(rng.integers(2 * classes, size=rows)).astype(np.int32)
    table = np.concatenate([rng.dirichlet(np.ones(classes), classes).T, np.eye(classes)])
    return scores, contrast, codes, rng.random(rows), table, 0.7, 0.3, rng.normal(size=classes)


SHAPES = [(2, 0), (2, 1), (3, 200), (7, 130), (8, 400), (30, 65)]


@pytest.mark.parametrize(("classes", "rows"), SHAPES)
@pytest.mark.parametrize("with_contrast", [False, True])
def test_labels_are_explained_as_defined(classes, rows, with_contrast):
    task = labels_to_explain(classes, rows, with_contrast)
    for one, other in zip(compiled.pooled(*task), reference.pooled(*task), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("classes", "rows"), SHAPES)
@pytest.mark.parametrize("with_contrast", [False, True])
def test_labels_are_matched_as_they_are_explained(classes, rows, with_contrast):
    task = labels_to_explain(classes, rows, with_contrast)
    whole = compiled.pooled(*task)
    for one, other, third in zip(
        compiled.matched(*task), reference.matched(*task), whole, strict=False
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one, third, rtol=1e-14, atol=1e-300)


def test_a_code_beyond_the_table_is_refused():
    scores, contrast, codes, *rest = labels_to_explain(3, 200, False)
    codes[-1] = 6
    with pytest.raises(ValueError, match="row 199 has the code 6"):
        compiled.matched(scores, contrast, codes, *rest)


def counts(K, S, *, beside, seed=0):
    rng = np.random.default_rng(seed)
    sums = rng.poisson(2.0, (K, S)) + rng.random((K, S))
    return np.asfortranarray(sums) if beside else sums


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(("K", "S"), [(1, 1), (2, 0), (2, 7), (3, 64), (5, 65), (20, 1000)])
def test_logs_of_shares_are_taken_as_defined(K, S, beside, centered):
    sums, less = counts(K, S, beside=beside), counts(K, S, beside=not beside, seed=1)
    for virtual in (np.ones((K, S)), np.broadcast_to(np.linspace(0.1, 3, S), (K, S))):
        for part in (None, less):
            ours = compiled.log_shares(sums, virtual, part, centered=centered)
            theirs = reference.log_shares(sums, virtual, part, centered=centered)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("beside", [False, True])
def test_logs_may_take_the_place_of_what_is_taken_off(beside):
    sums, part = counts(3, 100, beside=beside), counts(3, 100, beside=beside, seed=1)
    wanted = reference.log_shares(sums, np.ones((3, 100)), part, centered=True)
    found = compiled.log_shares(sums, np.ones((3, 100)), part, out=part, centered=True)
    assert found is part
    np.testing.assert_allclose(part, wanted, rtol=1e-12, atol=1e-12)


def test_counts_of_zero_and_classes_without_words_are_as_defined():
    sums = np.array([[0.0, 2.0], [0.0, 0.0]])
    found = compiled.log_shares(sums, np.zeros((2, 2)))
    np.testing.assert_array_equal(found[0], [reference.LOG_ZERO, 0.0])
    np.testing.assert_allclose(np.exp(found[1]), [0.5, 0.5])


def test_a_nan_is_not_hidden():
    sums = np.array([[1.0, np.nan], [1.0, 2.0]])
    assert np.isnan(compiled.log_shares(sums, np.ones((2, 2)), np.zeros((2, 2)))).any()


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
from misnomer.kernels import backend, compiled_solvers as compiled, reference
from tests.kernels.test_compiled_solvers import counts, labels_to_explain
task = labels_to_explain(7, 300, True)
for a, b in zip(compiled.pooled(*task), reference.pooled(*task)):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
for a, b in zip(compiled.softmax(task[0]), reference.softmax(task[0])):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
sums = counts(7, 300, beside=True)
np.testing.assert_allclose(compiled.log_shares(sums, np.ones((7, 300)), centered=True),
                           reference.log_shares(sums, np.ones((7, 300)), centered=True), atol=1e-12)
print(backend())
"""


@VARIANTS
def test_every_instruction_set_gives_the_same_answer(variant):
    check_with(variant, CHECK)
