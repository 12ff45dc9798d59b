"""Many labels, many words: the sparse solver is the dense definition, kept where it counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from misnomer import smoothing
from misnomer.families import Categorical, Count
from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.kernels.reference import softmax
from misnomer.solvers.sparse import naive_bayes
from misnomer.solvers.sparse import rows as sparse_rows
from misnomer.solvers.sparse.naive_bayes import (
    GRID,
    chances,
    fit_sparse,
    judge,
    pairs_of,
)
from misnomer.solvers.sparse.rows import (
    Own,
    automatic_m,
    background,
    candidates,
    evidence,
    sums_by_class,
    tokens,
    weights_of,
)

K, V = 6, 40


@pytest.fixture
def texts():
    """Rows of a text and a category; a few without a label, a tenth of the labels wrong."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, K, 240)
    p = rng.dirichlet(np.full(V, 0.15), K)
    words = np.stack([rng.multinomial(12, p[k]) for k in z])
    words[:, -1] = 0  # a word that never occurs
    codes = ((z + rng.integers(0, 2, 240)) % 5).astype(np.uint8)[:, None]  # 4 is "not observed"
    y = np.where(rng.random(240) < 0.1, rng.integers(0, K, 240), z)
    y[rng.random(240) < 0.05] = -1
    blocks = (Codes(codes, (4,)), Words(sparse.csr_array(words)))
    return tokens(blocks), blocks, y, z


def dense_weights(counts, m, share, owner):
    """The definition: counts and m virtual examples, family by family."""
    virtual = np.broadcast_to(m[owner] * share, counts.shape)
    first = Categorical((4,)).weights(counts[:, :4], virtual[:, :4])
    return np.hstack([first, Count(V).weights(counts[:, 4:], virtual[:, 4:])])


def centered(scores):
    return scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("hot", [0.0, 0.5, 2.0])
def test_evidence_is_that_of_dense_naive_bayes(texts, monkeypatch, hot):
    monkeypatch.setattr(sparse_rows, "_DENSE_WORD_SHARE", hot)
    rows, _, y, _ = texts
    weight = np.linspace(0.2, 1.0, len(y))
    sums = sums_by_class(rows, y, weight, K)
    behind = background(sums, rows)
    X = rows.matrix.toarray()
    counts = np.stack([weight[y == k] @ X[y == k] for k in range(K)])
    seen = X.any(axis=0)
    want = X[:, seen] @ dense_weights(counts, behind.m, behind.share, behind.owner)[:, seen].T
    got = evidence(rows, weights_of(sums, behind))
    assert_allclose(centered(got), centered(want), atol=1e-9)


def test_a_row_is_judged_as_if_it_had_not_been_counted(texts):
    rows, _, y, _ = texts
    weight = np.linspace(0.2, 1.0, len(y))
    sums = sums_by_class(rows, y, weight, K)
    behind = background(sums, rows)
    got = Own(sums, behind)(rows.take(y >= 0), y[y >= 0], weight[y >= 0])
    for place, i in enumerate(np.flatnonzero(y >= 0)[:40]):
        others = np.arange(len(y)) != i
        less = sums_by_class(rows.take(others), y[others], weight[others], K)
        want = evidence(rows.take([i]), weights_of(less, behind))[0, y[i]]
        assert got[place] == pytest.approx(want, abs=1e-9)


def test_m_is_that_of_the_dense_table(texts):
    _, blocks, y, _ = texts
    text = tokens(blocks[1:])
    sums = sums_by_class(text, y, np.ones(len(y)), K)
    share = np.asarray(text.matrix.sum(axis=0)).ravel() / text.matrix.sum()
    dense = sums.counts.toarray()
    frequency, mass = dense / dense.sum(axis=1, keepdims=True), dense.sum(axis=1)
    want = smoothing.automatic_m(frequency, mass, share, np.eye(K))
    assert automatic_m(sums, share, text.owner)[0] == pytest.approx(want, rel=1e-9)


def test_the_channel_is_the_dense_one_when_all_classes_are_candidates(texts):
    rows, _, y, _ = texts
    one = np.ones(len(y))
    sums = sums_by_class(rows, y, one, K)
    behind = background(sums, rows)
    prior = np.arange(1.0, K + 1) / np.arange(1.0, K + 1).sum()
    found = candidates(rows, weights_of(sums, behind), Own(sums, behind), y, one, prior)
    assert (found.rest[:, 0] == 0).all()
    log_prior = np.log(prior)
    pairs = pairs_of(found, y, K)
    got = judge(found, pairs, log_prior, np.full(len(y), -1), scales=(0.1,))
    scores = np.empty((len(y), K))
    np.put_along_axis(scores, found.classes.astype(int), found.evidence, axis=1)
    share, channel = dense_channel(scores, log_prior, y, got.passes)
    spread = np.empty((len(y), K))
    np.put_along_axis(spread, found.classes.astype(int), got.share, axis=1)
    assert_allclose(spread, share, atol=1e-9)
    assert got.converged
    chance = chances(pairs, got.mass, got.rate, got.virtual)
    assert_allclose(chance, channel[pairs.given, pairs.true], atol=1e-9)


def dense_channel(scores, log_prior, y, passes):
    """The same equations on full matrices."""
    scale, rate, c, a = 0.1, 0.1, GRID[0], GRID[0]
    J, share, labeled = np.zeros((K, K)), np.zeros_like(scores), y >= 0
    right, shown = np.eye(K, dtype=bool), y[y >= 0]

    def chance(right, J, E, T, c, a):
        wrong = (E + c * rate) / (T + c)
        return np.where(right, 1 - wrong, wrong * (J + a / (K - 1)) / (E + a))

    for step in range(passes):
        alone = softmax(scale * scores + log_prior)[0]
        joint, own, same = alone.copy(), share[labeled], right[shown]
        E, T = J.sum(axis=0) - np.diag(J), J.sum(axis=0)
        left = np.maximum(np.where(same, E, E - own), 0)
        others = same, np.maximum(J[shown] - own, 0), left, np.maximum(T - own, 0)
        joint[labeled] *= chance(*others, c, a)
        share = joint / joint.sum(axis=1, keepdims=True)
        if step + 1 in naive_bayes._CHOICE_PASSES:
            heights = {
                (c, a): (share[labeled] * np.log(chance(*others, c, a))).sum()
                for c in GRID
                for a in GRID
            }
            c, a = max(heights, key=heights.get)
        J = np.stack([share[y == k].sum(axis=0) for k in range(K)])
        rate = (J.sum() - np.trace(J) + 1) / (J.sum() + 10)
        q, e = alone[labeled], scores[labeled]
        mean = (q * e).sum(axis=1)
        slope = ((share[labeled] * e).sum(axis=1) - mean).sum()
        curve = (q * (e - mean[:, None]) ** 2).sum()
        scale = np.clip(scale + slope / curve, scale / 2, min(2 * scale, 1.0))
    return share, chance(right, J, J.sum(axis=0) - np.diag(J), J.sum(axis=0), c, a)


def test_few_candidates_hold_the_best_and_the_label(texts):
    rows, _, y, _ = texts
    one = np.ones(len(y))
    sums = sums_by_class(rows, y, one, K)
    behind = background(sums, rows)
    args = rows, weights_of(sums, behind), Own(sums, behind), y, one, np.full(K, 1 / K)
    every, few = candidates(*args), candidates(*args, most=3)
    assert_array_equal(few.classes[:, 0], every.classes[:, 0])
    assert (few.classes == y[:, None]).any(axis=1)[y >= 0].all()
    assert_array_equal(np.sort(few.classes, axis=1), np.array([np.unique(r) for r in few.classes]))


def test_classes_that_are_not_kept_weigh_what_they_should(texts):
    """At any scale the kept classes and the others have the mass of all."""
    rows, _, y, _ = texts
    one, prior = np.ones(len(y)), np.arange(1.0, K + 1) / np.arange(1.0, K + 1).sum()
    sums = sums_by_class(rows, y, one, K)
    behind = background(sums, rows)
    args = rows, weights_of(sums, behind), Own(sums, behind), y, one, prior
    every, few = candidates(*args), candidates(*args, most=3)
    for scale, close in ((1e-6, 1e-9), (0.05, 0.02)):
        whole = np.log(np.exp(scale * every.evidence + np.log(prior)[every.classes]).sum(axis=1))
        kept = np.exp(scale * few.evidence + np.log(prior)[few.classes]).sum(axis=1)
        far, slope, _ = few.others(scale)
        assert_allclose(np.log(kept + np.exp(far)), whole, atol=close)
        assert_allclose((few.others(scale + 1e-6)[0] - far) / 1e-6, slope, rtol=1e-3, atol=1e-3)


def test_scattered_errors_among_many_labels_are_counted():
    """Each class has few rows and each pair of labels hardly an error: they must not vanish."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 300, 4000)
    topics = rng.integers(0, 6000, (300, 12))
    words = np.column_stack([topics[z[:, None], rng.integers(0, 12, (4000, 8))],
                             rng.integers(0, 6000, (4000, 6))])  # fmt: skip
    at = np.repeat(np.arange(4000), 14), words.ravel()
    X = sparse.csr_array((np.ones(words.size), at), shape=(4000, 6000))
    y = np.where(rng.random(4000) < 0.1, rng.integers(0, 300, 4000), z)
    fit = fit_sparse(tokens([Words(X)]), y, 300)
    doubt = 1 - fit.shares.at(y)
    assert doubt.mean() == pytest.approx((y != z).mean(), abs=0.01)
    assert doubt[y != z].min() > 0.5 > doubt[y == z].max()


def test_wrong_labels_are_found_and_trusted_ones_are_not_doubted(texts):
    rows, _, y, z = texts
    sure = np.arange(len(y)) % 10 == 0
    fit = fit_sparse(rows, y, K, trusted=sure & (y == z))
    doubt = 1 - fit.shares.at(y)
    wrong = (y != z) & (y >= 0)
    assert doubt[wrong].mean() > 0.8
    assert doubt[(y == z)].mean() < 0.05
    assert (doubt[sure & (y == z)] == 0).all()
    assert fit.class_shares.sum() == pytest.approx(1.0)


def test_flags_and_reals_become_categories():
    values = np.array([[1.0], [2.0], [np.nan], [40.0]])
    real = tokens([Reals(values, np.zeros(1))]).matrix.toarray()
    assert real.sum(axis=1).tolist() == [1, 1, 0, 1]
    assert len(np.unique(real.argmax(axis=1)[[0, 1, 3]])) == 3
    bits, seen = np.array([[0b01], [0b10]], np.uint8), np.array([[0b11], [0b10]], np.uint8)
    flags = tokens([Flags(bits, seen, 2)])
    assert flags.matrix.toarray().tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]
    assert flags.owner.tolist() == [0, 0, 1, 1]


def test_sums_of_different_rows_add(texts):
    rows, _, y, _ = texts
    one = np.ones(len(y))
    whole = sums_by_class(rows, y, one, K)
    cuts = slice(0, 90), slice(90, None)
    parts = [sums_by_class(rows.take(cut), y[cut], one[cut], K) for cut in cuts]
    both = parts[0] + parts[1]
    assert_allclose(both.counts.toarray(), whole.counts.toarray(), rtol=1e-12)
    assert_allclose(both.observed, whole.observed, rtol=1e-12)
