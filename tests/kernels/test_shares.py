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


def labeled(n=53, K=3, lines=5, seed=0):
    rng = np.random.default_rng(seed)
    logits, table = 4 * rng.normal(size=(n, K)), rng.dirichlet(np.ones(K), lines)
    codes, weight = rng.integers(lines, size=n).astype(np.int32), rng.random(n)
    more = {"anchor": 5 * rng.random(K), "holds": rng.random(n), "besides": rng.random((n, K))}
    return (logits, table, codes, weight), more


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 7, 20, 201])
@pytest.mark.parametrize("said", [(), ("besides",), ("anchor",), ("anchor", "holds", "besides")])
def test_label_slopes_are_those_of_the_definition(K, said):
    for n in (0, 1, 53):
        rows, more = labeled(n, K)
        some = {name: more[name] for name in said}
        wanted = reference.label_slopes(*rows, **some)
        for ours, theirs in zip(compiled.label_slopes(*rows, **some), wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_label_slopes_are_the_gradient_of_the_cost():
    (logits, *rows), more = labeled(11)
    _, slope, joint = reference.label_slopes(logits, *rows, **more)
    step = 1e-6
    for i, k in ((0, 0), (3, 1), (10, 2)):
        away = np.zeros_like(logits)
        away[i, k] = step
        up = reference.label_slopes(logits + away, *rows, **more)[0]
        down = reference.label_slopes(logits - away, *rows, **more)[0]
        assert (up - down) / (2 * step) == pytest.approx(slope[i, k], rel=1e-5, abs=1e-8)
    assert joint.sum() == pytest.approx(rows[2].sum(), abs=1e-12)  # every row is shared out once


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (1, np.ones((5, 2)), "needs 3 columns"),
        (2, np.full(53, 5, np.int32), "not below 5"),
        (2, np.full(53, -1, np.int32), "not below 5"),
        (2, np.zeros(50, np.int32), "50 codes for 53 rows"),
        (3, np.ones(50), "53 rows"),
    ],
)
def test_label_slopes_refuse_what_does_not_fit(place, value, words):
    rows, _ = labeled()
    with pytest.raises(ValueError, match=words):
        compiled.label_slopes(*(value if i == place else one for i, one in enumerate(rows)))


@pytest.mark.parametrize("name", ["anchor", "holds", "besides"])
def test_label_slopes_refuse_other_shapes(name):
    rows, more = labeled()
    with pytest.raises(ValueError, match="shape"):
        compiled.label_slopes(*rows, **{name: more[name][:-1]})


CHECK = """
import numpy as np
from misnomer.kernels import backend, compiled, reference
from tests.kernels.test_shares import counts
sums = counts(7, 300, beside=True)
for a, b in zip(compiled.softmax(sums), reference.softmax(sums)):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
np.testing.assert_allclose(compiled.log_shares(sums, np.ones((7, 300))),
                           reference.log_shares(sums, np.ones((7, 300))), rtol=1e-12)
from tests.kernels.test_shares import labeled
for K in (2, 3, 5, 20):
    rows, more = labeled(K=K)
    pairs = zip(compiled.label_slopes(*rows, **more), reference.label_slopes(*rows, **more))
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
print(backend())
"""


@VARIANTS
def test_every_instruction_set_gives_the_same_answer(variant):
    check_with(variant, CHECK)


@pytest.mark.parametrize("kernels", [compiled, reference])
def test_label_slopes_keep_the_logits_unless_they_may_not(kernels):
    (logits, *rows), more = labeled()
    before = logits.copy()
    wanted = kernels.label_slopes(logits, *rows, **more)
    np.testing.assert_array_equal(logits, before)
    found = kernels.label_slopes(logits, *rows, **more, overwrite=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
