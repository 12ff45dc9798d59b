"""Errors near the boundary: rates by level against brute force, and what follows from them."""

import numpy as np
import pytest
from scipy.special import expit

from misnomer.kernels.reference import softmax
from misnomer.solvers.difficulty import decided, examine
from misnomer.solvers.difficulty_fit import Margin
from misnomer.solvers.difficulty_levels import levels_of
from misnomer.solvers.difficulty_pool import bias_of, look, unshifted
from misnomer.solvers.difficulty_temper import tempered
from misnomer.solvers.pool_average import average
from misnomer.solvers.pool_candidates import Search
from misnomer.solvers.pool_channel import even
from misnomer.solvers.strata import out_of_fold_gain, paired, rates_by_stratum, seen
from tests.solvers.pooled import rows_of

FOLDS = [slice(400 * k, 400 * (k + 1)) for k in range(5)]


def scored(seed=0, n=2000, noise="boundary"):
    """Log-odds u that are right about the true class, and labels wrong near zero or anywhere."""
    rng = np.random.default_rng(seed)
    u = rng.choice([-4.5, 4.5], n) + rng.normal(0, 3.0, n)
    true = (rng.random(n) < expit(u)).astype(int)
    near = np.abs(u) < np.quantile(np.abs(u), 0.3)
    rate = np.where(near, 0.7, 0.0) if noise == "boundary" else np.full(n, 0.2)
    given = np.where(rng.random(n) < rate, 1 - true, true)
    return np.column_stack([-u / 2, u / 2]), given.astype(np.intp), true


def one_channel(scores, given):
    """The best error rates that are the same for all rows: what a pool would hand over."""
    share = softmax(scores)[0]
    rows = seen(share, given, np.ones(len(given)), even(2, 0.8), np.zeros(len(given), np.intp), 1)
    return share, rows.channels(rates_by_stratum(rows, tied=False).values)[0]


def test_chance_of_a_label_is_the_sum_over_true_classes():
    rng = np.random.default_rng(0)
    share, channel = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(3), 3).T
    label, level = rng.integers(0, 3, 40), rng.integers(0, 2, 40)
    rows = seen(share, label, np.ones(40), channel, level, 2)
    rates = rng.uniform(0.1, 0.6, (2, 3))
    channels = rows.channels(rates)
    assert np.allclose(channels.sum(axis=1), 1.0)
    expected = [channels[level[i], label[i]] @ share[i] for i in range(40)]
    assert np.allclose(rows.chance(rates), expected)


def test_one_channel_is_the_channel_taken_apart():
    rng = np.random.default_rng(1)
    share, channel = rng.dirichlet(np.ones(3), 30), 0.6 * np.eye(3) + 0.4 / 3
    label = rng.integers(0, 3, 30)
    rows = seen(share, label, np.ones(30), channel, np.zeros(30, np.intp), 1)
    assert np.allclose(rows.chance(rows.rates), (share @ channel.T)[np.arange(30), label])


def test_rates_of_levels_are_recovered():
    rng = np.random.default_rng(2)
    n = 30_000
    true, level = rng.integers(0, 3, n), rng.integers(0, 3, n)
    share = np.full((n, 3), 0.01)
    share[np.arange(n), true] = 0.98
    rate = np.array([0.45, 0.2, 0.02])[level]
    given = np.where(rng.random(n) < rate, (true + rng.integers(1, 3, n)) % 3, true)
    channel = 0.7 * np.eye(3) + 0.1
    rows = seen(share, given, np.ones(n), channel, level, 3)
    for tied in (True, False):
        rates = rates_by_stratum(rows, tied=tied).values
        assert np.abs(rates.mean(axis=1) - [0.45, 0.2, 0.02]).max() < 0.025


def test_a_row_of_weight_two_is_two_rows():
    scores, given, _ = scored(n=300)
    share, channel = one_channel(scores, given)
    level = levels_of(scores, 3)
    weight = np.where(np.arange(300) < 100, 2.0, 1.0)
    twice = np.concatenate([np.arange(300), np.arange(100)])
    one = rates_by_stratum(seen(share, given, weight, channel, level, 3), tied=False).values
    rows = seen(share[twice], given[twice], np.ones(400), channel, level[twice], 3)
    two = rates_by_stratum(rows, tied=False).values
    assert np.allclose(one, two)


def test_equal_margins_share_a_level():
    scores = np.column_stack([np.repeat([1.0, 2.0, 3.0], 4), np.zeros(12)])
    level = levels_of(scores, 3)
    assert level.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert set(levels_of(np.ones((9, 2)), 3)) == {0}


def test_levels_that_mean_nothing_do_not_gain_out_of_fold():
    scores, given, _ = scored(noise="uniform")
    share, channel = one_channel(scores, given)
    rng = np.random.default_rng(0)
    rows = seen(share, given, np.ones(2000), channel, rng.integers(0, 3, 2000), 3)
    gain = out_of_fold_gain(rows, np.arange(2000) % 5, tied=False)
    assert gain.sum() < 3.0


@pytest.mark.parametrize("seed", range(3))
def test_errors_near_the_boundary_are_found_and_judged(seed):
    scores, given, true = scored(seed)
    share, channel = one_channel(scores, given)
    fit = examine(given, share, channel, scores, scores, FOLDS)
    assert fit.reason == "levels" and fit.judges and fit.margin.clear
    assert fit.rates[0] > 0.35 > 0.1 > fit.rates[-1]
    wrong = given != true
    assert abs(fit.error_probability(given).mean() - wrong.mean()) < 0.06
    assert np.array_equal(fit.share.argmax(axis=1), scores.argmax(axis=1))
    assert np.allclose(fit.channels.sum(axis=1), 1.0) and np.allclose(fit.channel.sum(axis=0), 1.0)
    assert "hard to tell" in fit.sentence()


@pytest.mark.parametrize("seed", range(5))
def test_errors_that_strike_all_rows_alike_are_left_to_the_channel(seed):
    scores, given, _ = scored(seed, noise="uniform")
    share, channel = one_channel(scores, given)
    fit = examine(given, share, channel, scores, scores, FOLDS)
    assert not fit.found and "do not predict" in fit.sentence()


def test_the_margin_of_the_true_boundary_is_preferred():
    scores, given, true = scored()
    share, channel = one_channel(scores, given)
    rng = np.random.default_rng(5)
    blurred = scores + rng.normal(0, 1.5, (2000, 1)) * [[-1, 1]]
    by_plain = examine(given, softmax(blurred)[0], channel, blurred, scores, FOLDS)
    assert by_plain.plain and (by_plain.share.argmax(axis=1) == true).mean() > 0.9
    by_pool = examine(given, share, channel, scores, blurred, FOLDS)
    assert by_pool.found and not by_pool.plain


def test_a_bias_that_moves_many_rows_is_not_applied():
    assert decided(*_margins(), z=4.0, moved=0.1)[1] == "bias"
    assert decided(*_margins(), z=4.0, moved=0.01)[1] == ""
    assert decided(*_margins(), z=1.0, moved=0.1)[1] == ""
    assert decided(*_margins(12.0), z=0.0, moved=0.0)[1] == "levels"


def _margins(gain=0.0):
    level = np.zeros(0, np.intp)
    return (Margin(name, gain, 6.0, gain / 4, level) for name in ("pool", "naive Bayes"))


def test_unlabeled_and_trusted_rows_are_not_judged():
    scores, given, true = scored()
    share, channel = one_channel(scores, given)
    trusted = np.arange(2000) % 10 == 0
    label = np.where(np.arange(2000) % 7 == 0, -1, np.where(trusted, true, given)).astype(np.intp)
    fit = examine(label, share, channel, scores, scores, FOLDS, trusted=trusted)
    assert fit.found and fit.share.shape == (2000, 2)
    assert (fit.error_probability(label)[label < 0] == 0).all()


def test_knowledge_overrules_the_test():
    scores, given, _ = scored(noise="uniform")
    share, channel = one_channel(scores, given)
    assert examine(given, share, channel, scores, scores, FOLDS, assume=True).reason == "assumed"
    scores, given, _ = scored()
    share, channel = one_channel(scores, given)
    assert not examine(given, share, channel, scores, scores, FOLDS, assume=False).found


def test_few_rows_prove_nothing():
    scores, given, _ = scored(n=50)
    share, channel = one_channel(scores, given)
    folds = [slice(10 * k, 10 * (k + 1)) for k in range(5)]
    assert not examine(given, share, channel, scores, scores, folds).found


def test_tempered_scores_have_the_slope_of_the_labels():
    rng = np.random.default_rng(0)
    u = rng.normal(0, 2, 20_000)
    label = (rng.random(20_000) < expit(0.5 * u + 0.4)).astype(np.intp)
    S = 10 * np.column_stack([-u / 2, u / 2])
    scale, shift = tempered(S, label, np.ones(20_000), bias=True)
    assert abs(10 * scale - 0.5) < 0.03 and abs(shift[1] - shift[0] - 0.4) < 0.06
    assert not tempered(S, label, np.ones(20_000), bias=False)[1].any()


def test_paired_gain_counts_weights():
    each = np.array([0.5, -0.1, 0.3])
    assert np.allclose(paired(each, np.array([1.0, 2.0, 1.0]), 2.0)[:2], (0.6, 2.0))
    twice = paired(np.array([0.5, -0.1, -0.1, 0.3]), np.ones(4), 2.0)
    assert np.allclose(paired(each, np.array([1.0, 2.0, 1.0]), 2.0), twice)


def test_the_pool_keeps_the_boundary_of_labels_that_err_near_it():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 6)) + 1.1 * rng.integers(0, 2, (900, 1))
    u = X.sum(axis=1) - 3.3
    true = (u > 0).astype(int)
    flipped = np.abs(u) < np.quantile(np.abs(u), 0.25)
    given = np.where(flipped, 1 - true, true)
    found = Search(refit=False, variational=False)(rows_of(X, given, 2))
    answer = average(found)
    seen_by = look(found, answer)
    assert seen_by.fit.reason == "levels"
    fresh = seen_by.applied(found, answer)
    rows = found.rows
    scores = rows.stats @ fresh.weights.T + fresh.bias
    assert (scores.argmax(axis=1) == true[rows.place]).mean() > 0.95
    doubt = 1 - (fresh.posterior * rows.hard).sum(axis=1)
    assert abs(doubt.mean() - 0.25) < 0.08
    assert look(found, answer, False).applied(found, answer) is answer


def test_scores_and_bias_of_an_answer_add_up():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4)) + 1.5 * rng.integers(0, 2, (300, 1))
    given = (X.sum(axis=1) + rng.normal(size=300) > 3).astype(int)
    found = Search(refit=False, variational=False)(rows_of(X, given, 2))
    answer = average(found)
    one = max(answer.parts, key=lambda part: part[0])[1]
    alone = type(answer)(((1.0, one),), *[getattr(answer, name) for name in _REST])
    assert np.allclose(softmax(unshifted(alone) + bias_of(alone))[0], one.pooled.share)


_REST = ("share", "fitted", "reported", "posterior", "weights", "bias")


def test_scores_that_know_next_to_nothing_do_not_call_half_of_all_labels_wrong(monkeypatch):
    scores, given, _ = scored(noise="uniform")
    share, channel = one_channel(scores, given)
    nothing = np.random.default_rng(0).normal(size=scores.shape)
    level = levels_of(nothing, 3)
    clear = Margin("naive Bayes", 20.0, 6.0, 5.0, level)
    monkeypatch.setattr(
        "misnomer.solvers.difficulty.decided", lambda own, other, z, moved: (clear, "levels")
    )
    fit = examine(given, share, channel, scores, nothing, FOLDS)
    assert fit.rates[-1] > 0.4  # the easiest rows: no such errors are what this is about
    assert not fit.found
    assert examine(given, share, channel, scores, nothing, FOLDS, assume=True).found
