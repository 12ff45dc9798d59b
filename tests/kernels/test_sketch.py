"""Texts of which a coarse look decides most: the compiled pass against its definition."""

import numpy as np
import pytest
from scipy import sparse

from misnomer.kernels import reference, using
from misnomer.kernels.blocks import Codes, Words
from tests.kernels.variants import VARIANTS, check_with

compiled = pytest.importorskip(
    "misnomer.kernels.compiled", reason="the C++ kernels were not built", exc_type=ImportError
)


def texts(K, *, n=1500, words=300, length=80, sure=1.0, seed=0):
    """Draw rows of words, each of one class; every tenth row is short, and stays undecided."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet(np.full(words, 0.3), K) + 1e-6
    chance /= chance.sum(axis=1, keepdims=True)
    z = rng.integers(0, K, n)
    lengths = np.where(np.arange(n) % 10, length, 3)
    counts = np.stack([rng.multinomial(m, chance[k]) for m, k in zip(lengths, z, strict=True)])
    table = np.log(0.8 * np.eye(K) + 0.2 / K)
    return counts.astype(np.float64), sure * np.log(chance), table, z.astype(np.int32)


def matrix(counts, kind="float64", wide=False):
    made = sparse.csr_array(counts.astype(kind))
    if wide:
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return Words(made)


def decided(blocks, weights, table, codes):
    """Which part of the rows belongs to one class by more than 60 bits."""
    joint = np.sort(reference.scores(blocks, weights, len(codes)) + table[codes], axis=1)
    return np.mean(joint[:, -1] - joint[:, -2] > 42)


def check(blocks, weights, table, codes, weight=None):
    ours = compiled.expect(blocks, weights, table, codes, weight)
    theirs = reference.expect(blocks, weights, table, codes, weight)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("K", [8, 9, 13, 20, 33, 64, 65])
def test_any_number_of_classes(K):
    counts, weights, table, codes = texts(K)
    blocks = (matrix(counts),)
    assert 0.75 < decided(blocks, weights, table, codes) < 0.95
    check(blocks, weights, table, codes)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8"])
@pytest.mark.parametrize("wide", [False, True])
def test_any_type_of_counts(kind, wide):
    counts, weights, table, codes = texts(12)
    check((matrix(counts, kind, wide),), weights, table, codes)


def test_rows_that_are_hardly_decided():
    """Margins on both sides of the bound, where the coarse look must leave rows alone."""
    for sure in (0.2, 0.35, 0.5, 0.7):
        counts, weights, table, codes = texts(16, sure=sure)
        check((matrix(counts),), weights, table, codes)


def test_row_weights_and_other_columns():
    counts, weights, table, codes = texts(11)
    rng = np.random.default_rng(3)
    other = Codes(rng.integers(0, 5, (len(codes), 3)).astype(np.uint8), (4, 5, 3))
    both = np.concatenate([rng.normal(0, 30, (11, other.width)), weights], axis=1)
    check((other, matrix(counts)), both, table, codes, rng.uniform(0, 2, len(codes)))


def test_impossible_words_and_labels():
    counts, weights, table, codes = texts(10)
    forbidden = table.copy()
    forbidden[2, 5:] = forbidden[4, :3] = -np.inf
    check((matrix(counts),), weights, forbidden, codes)
    impossible = weights.copy()
    impossible[3, 7] = -np.inf
    ours = compiled.expect((matrix(counts),), impossible, table, codes, None)
    assert all(np.isfinite(part).all() for part in ours)
    assert ours[1][3, 7] == 0.0


def test_a_row_may_be_empty_and_a_count_negative():
    counts, weights, table, codes = texts(14)
    counts[5] = 0.0
    counts[6, :9] = -1.5
    counts[7, :200] = 1e6
    check((matrix(counts),), weights, table, codes)


def test_the_answer_does_not_depend_on_the_threads():
    counts, weights, table, codes = texts(20, n=6000)
    blocks = (matrix(counts),)
    one = compiled.expect(blocks, weights, table, codes, None)
    for threads in (2, 7):
        with using(threads=threads):
            for a, b in zip(one, compiled.expect(blocks, weights, table, codes, None), strict=True):
                np.testing.assert_array_equal(a, b)


CHECK = """
from misnomer.kernels import backend
from tests.kernels.test_sketch import check, matrix, texts
for K in (9, 20, 33, 64):
    counts, *rest = texts(K)
    check((matrix(counts),), *rest)
print(backend())
"""


@VARIANTS
def test_every_instruction_set_gives_the_same_answer(variant):
    check_with(variant, CHECK)
