"""Each family by each law."""

import itertools

import numpy as np
import pytest
from scipy import integrate, sparse

from misnomer import kernels
from misnomer.families import Bernoulli, Categorical, Count, Gaussian
from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.kernels.reference import statistic
from tests.contracts import SCHEMAS, random_model, random_sums

FAMILIES = ["categorical", "bernoulli", "gaussian", "count", "mixed"]


def spelled_out(block):
    matrix = statistic(block)
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("name", FAMILIES)
def test_sums_of_parts_are_sums_of_the_whole(name):
    model = random_model(name)
    batch, _ = model.draw(50, np.random.default_rng(1))
    parts = model.expect(batch.take(slice(0, 17))) + model.expect(batch.take(slice(17, 50)))
    whole = model.expect(batch)
    np.testing.assert_allclose(parts.sums, whole.sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.joint, whole.joint, rtol=1e-12)
    assert parts.loglik == pytest.approx(whole.loglik, rel=1e-13)


@pytest.mark.parametrize("name", FAMILIES)
def test_drawing_and_counting_recovers_the_weights(name):
    model = random_model(name, classes=2)
    n = 3000 if name in ("count", "mixed") else 20000
    batch, z = model.draw(n, np.random.default_rng(2))
    sums = kernels.tally(batch.blocks, z.astype(np.int32), 2, None)
    again = model.schema.each(
        lambda g: g.family.weights(sums[:, g.span], np.zeros((2, len(g.family.owner))))
    )
    fresh, _ = model.draw(400, np.random.default_rng(3))
    told = kernels.scores(fresh.blocks, model.weights, 400)
    learned = kernels.scores(fresh.blocks, again, 400)
    same = (told.argmax(axis=1) == learned.argmax(axis=1)).mean()
    assert same > 0.93


@pytest.mark.parametrize("name", FAMILIES)
def test_permuting_classes_permutes_the_model(name):
    model = random_model(name)
    order = [2, 0, 1]
    rng = np.random.default_rng(0)
    sums = random_sums(model.schema, 3, rng)
    virtual = np.zeros_like(sums)
    one = model.schema.each(lambda g: g.family.weights(sums[:, g.span], virtual[:, g.span]))
    two = model.schema.each(lambda g: g.family.weights(sums[order][:, g.span], virtual[:, g.span]))
    np.testing.assert_array_equal(one[order], two)


def test_categorical_density_sums_to_one():
    model = random_model("categorical")
    rows = np.array(list(itertools.product(range(3), repeat=6)), np.uint8)
    scores = kernels.scores((Codes(rows, (3,) * 6),), model.weights, len(rows))
    np.testing.assert_allclose(np.exp(scores).sum(axis=0), 1.0, rtol=1e-12)


def test_bernoulli_density_sums_to_one():
    model = random_model("bernoulli")
    rows = np.array(list(itertools.product([0, 1], repeat=11)), np.uint8)
    block = Flags(np.packbits(rows, axis=1, bitorder="little"), None, 11)
    scores = kernels.scores((block,), model.weights, len(rows))
    np.testing.assert_allclose(np.exp(scores).sum(axis=0), 1.0, rtol=1e-12)


def test_gaussian_density_integrates_to_one():
    family = Gaussian((5.0,))
    weights = family.weights(np.array([[10.0, 3.0, 40.0]]), np.zeros((1, 3)))

    def density(x):
        block = Reals(np.array([[x]]), np.array([5.0]))
        return float(np.exp(kernels.scores((block,), weights, 1))[0, 0])

    assert integrate.quad(density, -50, 60)[0] == pytest.approx(1.0, abs=1e-8)


def test_multinomial_of_one_word_sums_to_one():
    model = random_model("count")
    block = Words(sparse.csr_array(np.eye(30)))
    scores = kernels.scores((block,), model.weights, 30)
    np.testing.assert_allclose(np.exp(scores).sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_class_without_rows_gives_no_nan(name):
    schema = SCHEMAS[name]
    zero = np.zeros((2, schema.statistics))
    weights = schema.each(lambda g: g.family.weights(zero[:, g.span], zero[:, g.span]))
    assert np.isfinite(weights).all()


def test_a_missing_value_adds_nothing():
    codes = Codes(np.array([[3], [200]], np.uint8), (3,))
    flags = Flags(np.array([[1]], np.uint8), np.array([[0]], np.uint8), 1)
    reals = Reals(np.array([[np.nan]]), np.zeros(1))
    for block in (codes, flags, reals):
        assert not spelled_out(block).any()


def test_unsmoothed_zero_counts_stay_finite():
    family = Categorical((2,))
    weights = family.weights(np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    assert np.isfinite(weights).all()
    assert np.exp(weights[0, 1]) == 0.0
    flag = Bernoulli(1).weights(np.array([[2.0, 2.0]]), np.zeros((1, 2)))
    assert np.exp(flag.sum()) == pytest.approx(1.0, abs=1e-9)


def test_virtual_examples_of_a_gaussian_leave_the_mean_alone():
    family = Gaussian((0.0,))
    sums = np.array([[2.0, 6.0, 20.0]])  # mean 3, variance 1
    mean, variance = family.moments(family.weights(sums, np.array([[2.0, 0.0, 2.0 * 5.0]])))
    assert mean[0, 0] == pytest.approx(3.0)
    assert variance[0, 0] == pytest.approx((2 * 1.0 + 2 * 5.0) / 4)


def test_count_marginal_is_the_share_of_each_word():
    np.testing.assert_allclose(Count(2).marginal(np.array([3.0, 1.0])), [0.75, 0.25])
