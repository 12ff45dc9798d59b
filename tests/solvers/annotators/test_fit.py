"""Several annotators: Dawid and Skene's method as a special case, and what goes beyond it."""

from dataclasses import replace

import numpy as np
import pytest

from misnomer.answers import from_groups, from_long
from misnomer.head.crowd import columns_of
from misnomer.rows import read
from misnomer.solvers.annotators import (
    Characters,
    characters,
    evidence,
    left_out,
    one_coin,
    shrunk,
)
from misnomer.solvers.annotators.draws import learn_sources
from misnomer.solvers.annotators.fit import SourcesTask, first_shares, step
from misnomer.solvers.annotators.worth import (
    accuracies,
    ask_next,
    bits,
    colluding,
    gains,
    groups_differ,
)
from misnomer.table import Batch


def crowd(seed, n=400, A=20, K=3, asked=3, levels=(0.4, 0.95)):
    """Draw rows, and annotators who are right so often and slip evenly."""
    rng = np.random.default_rng(seed)
    z = rng.integers(K, size=n)
    level = rng.uniform(*levels, A)
    row = np.repeat(np.arange(n), asked)
    who = np.concatenate([rng.choice(A, asked, replace=False) for _ in range(n)])
    right = rng.random(len(row)) < level[who]
    label = np.where(right, z[row], (z[row] + rng.integers(1, K, len(row))) % K)
    return from_long(row, who, label, n_rows=n, labels=np.arange(K)), z, level


def columns(seed, z, *, apart=1.0, repeats=1, trees=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(0, apart, (z.max() + 1, 5))[z] + rng.normal(size=(len(z), 5))
    schema, blocks = read(np.concatenate([X] * repeats, axis=1))
    found = columns_of(schema, Batch(blocks, np.zeros(len(z), np.int32)), int(z.max()) + 1)
    return found if trees else replace(found, once=())  # of clouds they would say no more


def right(fit, z):
    return np.mean(fit.share.argmax(axis=1) == z)


def naive_dawid_skene(answers, K, passes):
    """Dawid and Skene's EM, answer by answer."""
    share = answers.votes() / answers.asked[:, None]
    for _ in range(passes):
        counts = np.zeros((answers.n_annotators, K, K))
        for i, a, y in zip(answers.row, answers.annotator, answers.label, strict=True):
            counts[a, y] += share[i]
        channels = np.maximum(counts, 1e-10)
        channels /= channels.sum(axis=1, keepdims=True)
        joint = np.tile(np.log(share.mean(axis=0)), (answers.n_rows, 1))
        for i, a, y in zip(answers.row, answers.annotator, answers.label, strict=True):
            joint[i] += np.log(channels[a, y])
        top = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        share = np.exp(joint - top)
    return share, channels, top.sum()


def test_without_virtual_answers_it_is_dawid_and_skene():
    answers, _, _ = crowd(0, n=60, A=6)
    share, channels, loglik = naive_dawid_skene(answers, 3, 25)
    fit = learn_sources(SourcesTask(answers, strength=0.0, max_iter=25, tol=0.0))
    np.testing.assert_allclose(fit.share, share, atol=1e-9)
    np.testing.assert_allclose(fit.channels, channels, atol=1e-9)
    assert abs(fit.loglik - loglik) < 1e-6


@pytest.mark.parametrize("shape", ["free", "one"])
def test_the_likelihood_rises_at_every_plain_step(shape):
    task = SourcesTask(crowd(1)[0], strength=0.0, shape=shape)
    share, heights = first_shares(task.answers, 3, 1.0), []
    for _ in range(30):
        fit = step(task, share, None, None)
        share = fit.share
        heights.append(fit.loglik)
    assert np.all(np.diff(heights) > -1e-8)


def test_two_annotators_multiply_by_hand():
    answers = from_long([0, 0], [0, 1], [0, 1], labels=[0, 1])
    channels = np.array([[[0.9, 0.2], [0.1, 0.8]], [[0.6, 0.4], [0.4, 0.6]]])
    found = np.exp(evidence(answers, channels))
    np.testing.assert_allclose(found, [[0.9 * 0.4, 0.2 * 0.6]])
    right, chance = left_out(answers, np.log(found), channels)
    np.testing.assert_allclose(right, [0.4, 0.2 / 1.1])
    np.testing.assert_allclose(chance[0], 0.4 * 0.9 + 0.6 * 0.2)


def test_few_answers_are_held_to_the_crowd_and_many_are_not():
    center = np.full((1, 2, 2), 0.5)
    few = shrunk(np.array([[[1.0, 0.0], [0.0, 1.0]]]), center, 20.0)
    many = shrunk(np.array([[[2500.0, 0.0], [0.0, 2500.0]]]), center, 20.0)
    assert few[0, 0, 0] < 0.53
    assert many[0, 0, 0] > 0.99


def test_a_character_is_found_from_counts():
    """A spammer by habit and one who knows: the shares tell them apart."""
    habit = np.tile([[60.0], [30.0], [10.0]], (1, 3))
    counts = np.stack([habit, 100 * np.eye(3)])
    kinds = Characters(
        np.tile([0.7, 0.2, 0.1], (2, 1)), np.full((2, 3), 1 / 3), np.ones((3, 3)) / 3
    )
    for _ in range(200):
        kinds = characters(counts, kinds)
    assert kinds.shares[0, 0] < 0.1
    assert kinds.shares[1, 0] > 0.9
    np.testing.assert_allclose(kinds.centers().sum(axis=1), 1.0)


def test_held_to_the_crowd_beats_the_plain_method_and_votes():
    gain = []
    for seed in range(4):
        answers, z, _ = crowd(seed, n=300, A=40, K=4, levels=(0.25, 0.95))
        held, plain = (learn_sources(SourcesTask(answers, strength=s)) for s in (20.0, 0.0))
        votes = np.mean(answers.votes().argmax(axis=1) == z)
        gain.append([right(held, z) - right(plain, z), right(held, z) - votes])
    assert np.all(np.mean(gain, axis=0) > 0.01)


@pytest.mark.parametrize("seed", range(4))
def test_columns_help_and_repeated_ones_say_it_once(seed):
    answers, z, _ = crowd(seed)
    alone = learn_sources(SourcesTask(answers))
    once, often = (
        learn_sources(SourcesTask(answers, columns=columns(seed, z, repeats=times)))
        for times in (1, 6)
    )
    assert once.trust == often.trust == 1.0
    assert right(once, z) > right(alone, z)
    np.testing.assert_allclose(often.scores, once.scores, atol=1e-6)  # nats
    np.testing.assert_allclose(often.share, once.share, atol=1e-6)


def test_columns_that_act_together_are_learned_through_the_answers():
    """The class is the exclusive or of two columns: no single column says anything."""
    answers, z, _ = crowd(6, n=1200, K=2, A=30, levels=(0.55, 0.8))
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=len(z))
    sides = np.stack([first, first ^ z], axis=1)
    schema, blocks = read(2.0 * sides + 0.3 * rng.normal(size=(len(z), 2)))
    rows = Batch(blocks, np.zeros(len(z), np.int32))
    fit = learn_sources(SourcesTask(answers, columns=columns_of(schema, rows, 2)))
    assert right(learn_sources(SourcesTask(answers)), z) < 0.85
    assert right(fit, z) > 0.95
    blank = rows.judged_by(np.full(len(z), 2, np.int32))
    assert np.mean(fit.model.posterior(blank).argmax(axis=1) == z) > 0.95


def test_columns_that_say_nothing_are_left_out():
    answers, z, _ = crowd(3)
    alone = learn_sources(SourcesTask(answers))
    fit = learn_sources(SourcesTask(answers, columns=columns(3, z, apart=0.0)))
    assert fit.trust == 0.0
    np.testing.assert_array_equal(fit.share, alone.share)


def test_permuting_the_classes_permutes_the_answer():
    answers, _, _ = crowd(4)
    other = from_long(answers.row, answers.annotator, (answers.label + 1) % 3, n_rows=400)
    one, two = (learn_sources(SourcesTask(said)).share for said in (answers, other))
    np.testing.assert_allclose(one, np.roll(two, -1, axis=1), atol=1e-7)


def test_known_rows_are_known_and_teach():
    answers, z, level = crowd(5, A=8)
    truth = np.where(np.arange(400) < 300, z, -1).astype(np.int32)
    fit = learn_sources(SourcesTask(answers, truth=truth))
    assert right(fit, z)[()] >= 0.75
    assert (fit.share[:300].argmax(axis=1) == z[:300]).all()
    assert fit.share[np.arange(300), z[:300]].min() > 0.999
    assert abs(accuracies(fit.prior, fit.channels) - level).max() < 0.12


def test_one_coin_ties_the_cells():
    channel = one_coin(np.array([[[8.0, 0.0, 1.0], [1.0, 5.0, 0.0], [1.0, 0.0, 4.0]]]), 0.0)[0]
    np.testing.assert_allclose(np.diag(channel), 17 / 20)
    np.testing.assert_allclose(channel[0, 1], 3 / 40)


def test_worth_of_sure_blind_and_contrary_annotators():
    prior = np.full(2, 0.5)
    told = bits(prior, np.stack([np.eye(2), np.full((2, 2), 0.5), np.eye(2)[::-1]]))
    np.testing.assert_allclose(told, [1.0, 0.0, 1.0])  # always wrong tells as much as always right


def test_the_next_question_is_the_best_of_all():
    answers, _, _ = crowd(7, n=50, A=6)
    fit = learn_sources(SourcesTask(answers))
    gain = gains(fit.share, fit.channels)
    gain[answers.row, answers.annotator] = -1.0
    best = np.sort(gain.max(axis=1))[::-1][:5]
    np.testing.assert_allclose([q.bits for q in ask_next(answers, fit, 5)], best)
    asked = [q.annotator for q in ask_next(answers, fit, 6, each=2)]
    assert max(asked.count(name) for name in asked) <= 2


def test_a_pair_that_copies_is_found_and_others_are_not():
    answers, z, _ = crowd(8, n=600, A=12)
    clouds = columns(8, z, trees=False)
    fit = learn_sources(SourcesTask(answers, columns=clouds))
    assert colluding(answers, fit) == []
    said = {
        (i, a): y for i, a, y in zip(answers.row, answers.annotator, answers.label, strict=True)
    }
    for i in range(600):
        if (i, 0) in said:
            said[i, 1] = said[i, 0]  # annotator 1 copies annotator 0
    rows, who = np.array(list(said)).T
    copied = from_long(rows, who, np.array(list(said.values())), labels=np.arange(3))
    again = columns(8, z, trees=False)
    found = colluding(copied, learn_sources(SourcesTask(copied, columns=again)))
    assert [(pair.first, pair.second) for pair in found] == [(0, 1)]
    assert found[0].agreed == found[0].shared


def groups(seed, differ):
    rng = np.random.default_rng(seed)
    z, group = rng.integers(2, size=500), rng.integers(3, size=500)
    rate = np.where(group == 0, 0.35, 0.1) if differ else np.full(500, 0.2)
    y = np.where(rng.random(500) < rate, 1 - z, z)
    answers = from_groups(y, group)
    clouds = columns(seed, z, apart=1.5, trees=False)
    return answers, learn_sources(SourcesTask(answers, columns=clouds))


def test_groups_that_differ_are_told_from_groups_that_do_not():
    p_alike = [groups_differ(*groups(seed, False), draws=19).p_value for seed in range(8)]
    p_other = [groups_differ(*groups(seed, True), draws=19).p_value for seed in range(4)]
    assert np.mean(np.array(p_alike) <= 0.05) <= 0.25
    assert np.mean(p_alike) > 0.25
    assert max(p_other) <= 0.05


def test_the_rates_of_groups_are_found():
    _, fit = groups(3, True)
    rates = 1 - accuracies(fit.prior, fit.channels)
    assert abs(rates - [0.35, 0.1, 0.1]).max() < 0.1
