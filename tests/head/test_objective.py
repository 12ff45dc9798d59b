"""The objective of the head: its gradient, its channel, and the typical rate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import comb, logsumexp
from scipy.stats import beta, betabinom, dirichlet_multinomial

from misnomer.head.explain import Search, even
from misnomer.head.explanation import Explanation, agreed, speaks_for_own
from misnomer.head.objective import (
    BELIEFS,
    RATE_ROWS,
    RATES,
    Problem,
    Typical,
    counts_chance,
    typical_rate,
)
from misnomer.kernels.blocks import Reals
from misnomer.learners.learner import Linear, Scored
from misnomer.learners.rows import Rows
from misnomer.smoothing import Smoothing
from misnomer.table import Batch, Column, Schema

KINDS = ["labels", "some labels", "known classes", "weights", "all of it"]


def problem(kind, n=60, J=3, K=3):
    rng = np.random.default_rng(KINDS.index(kind))
    label, known, weight = rng.integers(K, size=n), np.full(n, -1), np.ones(n)
    if kind in ("some labels", "all of it"):
        label[:15] = -1
    if kind in ("known classes", "all of it"):
        known[10:30] = rng.integers(K, size=20)
    if kind in ("weights", "all of it"):
        weight = rng.uniform(0.2, 3.0, n)
    batch = Batch((Reals(np.zeros((n, 1)), np.zeros(1)),), np.zeros(n, np.int32))
    schema = Schema((Column("a", "gaussian"),))
    rows = Rows(schema, batch, label, known, weight, K, (), Smoothing())
    none = Linear("none", np.zeros((K, 3)), np.zeros(K))
    scored = [Scored(rng.normal(size=(n, K)) * (1 + j), none) for j in range(J)]
    return Problem(rows, scored, rng.dirichlet(np.full(K, 5.0)), 1), rng


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_that_of_the_value(kind):
    found, rng = problem(kind)
    typical = Typical(0.15, 30.0)
    vector = found.write(np.eye(3) * 0.6 + 0.4 / 3) + 0.3 * rng.normal(size=1 + 3 + 3 + 9)
    _, gradient = found(vector, typical)
    assert np.abs(gradient).min() > 1e-6
    step = 1e-5
    for i in range(len(vector)):
        way = np.zeros(len(vector))
        way[i] = step
        slope = (found(vector + way, typical)[0] - found(vector - way, typical)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_value_is_the_log_posterior_written_out():
    found, rng = problem("all of it")
    typical, rows = Typical(0.1, 20.0), found.rows
    vector = found.write(np.eye(3) * 0.7 + 0.1) + 0.2 * rng.normal(size=16)
    point = found.read(vector)
    wanted, mean, total = 0.0, np.zeros(3), 0.0
    for i in range(len(rows)):
        y, z, w = rows.label[i], rows.known[i], rows.weight[i]
        if y < 0 and z < 0:
            continue
        pairs = zip(point.shares / found.units, found.scored, strict=True)
        mixed = sum(factor * one.scores[i] for factor, one in pairs)
        q = np.exp(point.temper * (mixed + point.shift))
        q /= q.sum()
        mean, total = mean + w * q, total + w
        seen = point.channel[y] if y >= 0 else np.ones(3)
        wanted -= w * np.log(seen @ q if z < 0 else seen[z] * q[z])
    away = (point.log_temper - found.mean_log_temper) / BELIEFS.temper_spread
    wanted -= 3 * BELIEFS.anchor_rows * found.anchor @ np.log(mean / total)
    wanted += away**2 / 2 + (point.shift**2).sum() / 2 / BELIEFS.shift_spread**2
    wanted -= BELIEFS.share_count * np.log(point.shares).sum()
    wanted -= (20.0 * np.where(np.eye(3) > 0, 0.9, 0.05) * np.log(point.channel)).sum()
    assert found(vector, typical)[0] == pytest.approx(wanted, rel=1e-12)


def test_weights_are_rows_and_units_too():
    found, rng = problem("labels")
    twice = Problem(
        found.rows.take(np.repeat(np.arange(60), 2)),
        [Scored(np.repeat(one.scores, 2, axis=0), one.scorer) for one in found.scored],
        found.anchor,
        1,
    )
    object.__setattr__(found.rows, "weight", np.full(60, 2.0))
    np.testing.assert_allclose(found.units, twice.units, rtol=1e-12)
    vector = found.write(np.eye(3) * 0.7 + 0.1) + 0.2 * rng.normal(size=16)
    one, two = found(vector, Typical()), twice(vector, Typical())
    assert one[0] == pytest.approx(two[0], rel=1e-12)
    np.testing.assert_allclose(one[1], two[1], atol=1e-9)


def test_columns_of_the_channel_sum_to_one_wherever_the_search_is():
    found, rng = problem("labels")
    for _ in range(5):
        point = found.read(rng.normal(size=16) * 20)
        np.testing.assert_allclose(point.channel.sum(axis=0), 1.0, rtol=1e-12)
        assert point.shares.sum() == pytest.approx(1.0)


def test_what_is_written_is_read_back():
    found, rng = problem("labels")
    channel = rng.dirichlet(np.full(3, 2.0), 3).T
    point = found.read(found.write(channel, found.read(rng.normal(size=16) * 0.3)))
    np.testing.assert_allclose(point.channel, channel, atol=1e-12)
    again = found.read(found.write(point.channel, point))
    np.testing.assert_allclose(again.shares, point.shares, atol=1e-12)
    assert again.log_temper == point.log_temper


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.25])
def test_typical_rate_is_the_most_likely_one(rate):
    rng = np.random.default_rng(int(100 * rate))
    channel = np.where(np.eye(4) > 0, 1 - rate, rate / 3)
    joint = np.stack([rng.multinomial(400, column) for column in channel.T], axis=1)

    def chance(one):
        columns = zip(joint.T, one.counts(4, 4).T, strict=True)
        own = sum(dirichlet_multinomial.logpmf(x, alpha, 400) for x, alpha in columns)
        return own + BELIEFS.rate_count * np.log1p(-one.rate)

    every = [Typical(r, rows) for rows in RATE_ROWS for r in RATES]
    best = max(every, key=chance)
    assert typical_rate(joint.astype(float)) == best
    assert abs(best.rate - rate) <= 0.05


def test_columns_that_repeat_each_other_do_not_make_classes_certain():
    """Scores a hundred times as large claim more, and are believed up to a limit."""
    found, _ = problem("labels")
    sure = [replace(one, scores=100.0 * one.scores) for one in found.scored]
    claimed = BELIEFS.temper * replace(found, scored=sure).units[1]
    assert claimed > BELIEFS.certain
    limit = np.log(BELIEFS.certain)
    assert replace(found, scored=sure).mean_log_temper == pytest.approx(limit)
    assert found.mean_log_temper < limit


def test_classes_alike_ask_for_many_virtual_rows():
    alike = np.array([[900.0, 100.0], [100.0, 900.0]])
    unlike = np.array([[990.0, 300.0], [10.0, 700.0]])
    assert typical_rate(alike).rows > typical_rate(unlike).rows


def test_chance_of_counts_is_that_of_two_beta_binomials():
    """With two labels, a column of the channel is Beta: known numbers of scipy."""
    one, joint = Typical(0.2, 20.0), np.array([[18.0, 3.0], [2.0, 27.0]])
    wanted = betabinom.logpmf(2, 20, 4, 16) + betabinom.logpmf(3, 30, 4, 16)
    found = counts_chance(joint, one) - BELIEFS.rate_count * np.log1p(-0.2)
    assert found + np.log(comb(20, 2) * comb(30, 3)) == pytest.approx(wanted, rel=1e-9)


def ends(found, typical):
    vector, _, _ = found.minimum(found.write(even(2, 0.1)), typical, max_iter=500, tol=1e-12)
    return vector


def test_evidence_where_all_classes_are_told_is_exact():
    """Then the channel has nothing to do with the head: what differs is the chance of counts."""
    found, rng = problem("labels", n=200, J=2, K=2)
    label = found.rows.label % 2
    known = np.where(rng.random(200) < 0.2, 1 - label, label)
    found = replace(found, rows=replace(found.rows, label=label, known=known))
    few, many = Typical(0.002, 50.0), Typical(0.2, 50.0)
    joint = np.zeros((2, 2))
    np.add.at(joint, (label, known), 1.0)
    gain = found.evidence_cost(ends(found, few), few) - found.evidence_cost(ends(found, many), many)
    wanted = counts_chance(joint, many) - counts_chance(joint, few)
    assert gain == pytest.approx(wanted, abs=1e-4)


def test_evidence_sums_over_the_channel_where_its_density_misleads():
    """Without errors, a rate of 1 in 500 must not lose against 1 in 10 by its flat density."""
    found, rng = problem("labels", n=200, J=2, K=2)
    label = found.rows.label % 2
    scores = [
        replace(s, scores=3.0 * np.eye(2)[label] + rng.normal(size=(200, 2))) for s in found.scored
    ]
    found = replace(found, rows=replace(found.rows, label=label), scored=scores)
    grid = np.exp(np.linspace(np.log(1e-12), np.log(0.5), 400))
    width = np.gradient(np.log(grid))

    def summed(typical):
        """Sum the likelihood over both error rates, by the grid, the head where it is best."""
        vector = ends(found, typical)
        point = found.read(vector)
        share = found.judge(found.logits(point), point.channel).share
        sides = []
        for y in (0, 1):
            rows = label == y
            right, wrong = np.log(share[rows, y]), np.log(share[rows, 1 - y])
            one = np.log1p(-grid)[None, :, None] + right[:, None, None]
            other = np.log(grid)[None, None, :] + wrong[:, None, None]
            sides.append(np.logaddexp(one, other).sum(axis=0))
        prior = beta.logpdf(grid, 50 * typical.rate, 50 * (1 - typical.rate)) + np.log(grid * width)
        return logsumexp(sides[0] + sides[1].T + prior[:, None] + prior[None, :])

    few, many = Typical(0.002, 50.0), Typical(0.1, 50.0)
    vectors = ends(found, few), ends(found, many)
    wanted = summed(few) - summed(many)
    gain = found.evidence_cost(vectors[1], many) - found.evidence_cost(vectors[0], few)
    gain -= BELIEFS.rate_count * (np.log1p(-0.002) - np.log1p(-0.1))
    assert wanted > 2.0
    assert gain == pytest.approx(wanted, abs=0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_search_ends_where_no_entry_slopes(kind):
    """In steps of their own size entries as unlike as a temper and a rare confusion end alike."""
    found, _ = problem(kind, n=300)
    typical = Typical(0.1, 20.0)
    start = found.write(np.eye(3) * 0.7 + 0.1)
    vector, value, converged = found.minimum(start, typical, max_iter=200, tol=1e-9)
    assert converged
    assert value < found(start, typical)[0]
    assert np.abs(found(vector, typical)[1] * found.leg(vector, typical)[1]).max() < 0.05


def test_pace_of_the_channel_is_that_of_complete_data():
    """If all true classes are known, the curvature of log-odds is N C (1 - C): a known number."""
    found, _ = problem("known classes")
    label, known = found.rows.label, np.arange(60) % 3
    told = replace(found, rows=replace(found.rows, known=known))
    typical, channel = Typical(0.1, 20.0), np.eye(3) * 0.7 + 0.1
    counts = typical.counts(3, 3)
    np.add.at(counts, (label, known), 1.0)
    begin, pace = (part[-9:].reshape(3, 3) for part in told.leg(told.write(channel), typical))
    known_channel = counts / counts.sum(axis=0)
    assert np.exp(begin) == pytest.approx(known_channel, rel=1e-9)
    assert pace == pytest.approx(1 / np.sqrt(counts * (1 - known_channel)), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_channel_of_rows_as_shared_out_is_never_worse(kind):
    """A step of EM: the value falls at every one of them, whatever the start."""
    found, rng = problem(kind)
    typical = Typical(0.1, 20.0)
    vector = found.write(rng.dirichlet(np.ones(3), 3).T)
    for _ in range(5):
        value, vector = found(vector, typical)[0], found.leg(vector, typical)[0]
        assert found(vector, typical)[0] <= value + 1e-9


def reversed_problem(told=0):
    """Pose a problem whose columns speak for the other label of two."""
    found, rng = problem("labels", n=200, J=2, K=2)
    label = rng.integers(2, size=200)
    known = np.where(np.arange(200) < told, 1 - label, -1)
    scores = [Scored(2.0 - 4.0 * np.eye(2)[label], one.scorer) for one in found.scored]
    return replace(found, rows=replace(found.rows, label=label, known=known), scored=scores)


def test_every_label_speaks_for_its_own_class():
    backward, typical = reversed_problem(), Typical(0.4)
    vector = backward.write(even(2, 0.4))
    free = backward.read(backward.minimum(vector, typical, max_iter=200, tol=1e-9)[0])
    assert not speaks_for_own(free.channel)  # alone, the search exchanges the classes
    held = Search().climb(backward, vector, typical)
    assert speaks_for_own(held.point.channel)


def test_rows_whose_class_is_told_may_say_that_a_label_means_another_class():
    backward = reversed_problem(told=100)
    found = Search().climb(backward, backward.write(even(2, 0.4)), Typical(0.4))
    assert not speaks_for_own(found.point.channel)


def test_explanations_agree_on_how_far_classes_are_apart():
    """One whose classes are near has a temper that the other finds too small: a known number."""
    near, _ = problem("labels")
    far = replace(near, scored=[replace(one, scores=2 * one.scores) for one in near.scored])
    assert far.mean_log_temper == pytest.approx(near.mean_log_temper + np.log(2))
    point = near.read(near.write(even(3, 0.1)))
    found = [Explanation(one, point, Typical(), cost=10.0) for one in (near, far)]
    first, second = agreed(found)
    spread = BELIEFS.temper_spread
    assert first.cost == pytest.approx(10.0 + 0.5 * (np.log(2) / spread) ** 2)
    assert second.cost == 10.0
    assert first.problem.mean_log_temper == second.problem.mean_log_temper == far.mean_log_temper


@pytest.mark.parametrize("seed", range(4))
def test_choosing_the_rate_anew_never_loses_evidence(seed):
    """Where scores say little, rows as shared out and the rate they ask for lead each other on."""
    found, _ = problem("labels", n=400, K=4)
    rng = np.random.default_rng(seed)
    label = rng.integers(4, size=400)
    says = 0.6 * np.eye(4)[label]
    scored = [replace(one, scores=says + rng.normal(size=(400, 4))) for one in found.scored]
    found = replace(found, rows=replace(found.rows, label=label), scored=scored)
    for rate in (0.02, 0.2, 0.4):
        start, typical = found.write(even(4, rate)), Typical(rate, 50.0)
        once = Search().climb(found, start, typical, rounds=1)
        assert Search().climb(found, start, typical).cost <= once.cost
