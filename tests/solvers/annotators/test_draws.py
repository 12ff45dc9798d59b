"""Rows judged by many plausible channels: how sure they are, weights, and what is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import betabinom

from misnomer.answers import from_long
from misnomer.knowledge import Knowledge
from misnomer.solvers.annotators import obeying, shrunk
from misnomer.solvers.annotators.draws import drawn_rows, learn_sources, log_chance
from misnomer.solvers.annotators.fit import SourcesTask, first_shares, step


def crowd(seed, n=300, A=40, K=4, asked=3, kinds=(0.25, 0.5, 0.8, 0.9), own=False):
    """Draw rows and annotators who know so often and else guess; with `own` by habits of theirs."""
    rng = np.random.default_rng(seed)
    z = rng.integers(K, size=n)
    knows = np.array(kinds)[np.arange(A) % len(kinds)]
    habit = rng.dirichlet(np.full(K, 0.5), A) if own else np.full((A, K), 1 / K)
    row = np.repeat(np.arange(n), asked)
    who = np.argsort(rng.random((n, A)), axis=1)[:, :asked].ravel()
    guess = (rng.random((len(row), 1)) >= habit[who].cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    label = np.where(rng.random(len(row)) < knows[who], z[row], guess)
    return from_long(row, who, label, n_rows=n, labels=np.arange(K)), z


@pytest.mark.parametrize("own", [False, True])
def test_rows_are_as_often_wrong_as_they_say(own):
    """With 22 answers an annotator; by the best guess of the channels a third too few are named."""
    said, wrong = [], []
    for seed in range(4):
        answers, z = crowd(seed, own=own)
        share = learn_sources(SourcesTask(answers)).share
        said.append(1 - share.max(axis=1).mean())
        wrong.append(np.mean(share.argmax(axis=1) != z))
    assert 0.85 < np.mean(said) / np.mean(wrong) < 1.15


def test_annotators_alike_are_held_closer_than_annotators_unlike():
    alike, _ = crowd(0, n=1500, A=15, kinds=(0.7,))
    rng = np.random.default_rng(1)
    z, channels = rng.integers(4, size=1500), rng.dirichlet(np.ones(4), (15, 4))
    channels = 0.5 * channels + 0.5 * np.eye(4)  # every annotator confuses in a way of its own
    steps = channels[alike.annotator, z[alike.row]].cumsum(axis=1)
    label = (rng.random((len(alike), 1)) * steps[:, -1:] >= steps).sum(axis=1)
    unlike = from_long(alike.row, alike.annotator, label, n_rows=1500)
    held, free = (learn_sources(SourcesTask(one)).strength for one in (alike, unlike))
    assert held > 3 * free


def test_the_chance_of_counts_is_the_beta_binomial():
    virtual = np.array([1.5, 2.5])
    height = log_chance(np.array([3.0, 4.0]), virtual, 0)
    one_order = betabinom.pmf(3, 7, *virtual) / 35  # of the 35 orders of three among seven
    assert np.exp(height) == pytest.approx(one_order)


def test_rows_are_drawn_by_their_shares():
    share = np.tile([0.2, 0.0, 0.8], (20_000, 1))
    often = np.bincount(drawn_rows(share, np.random.default_rng(0)), minlength=3) / 20_000
    assert often[1] == 0
    assert abs(often[0] - 0.2) < 0.01


def test_a_row_of_weight_two_counts_as_two_rows():
    answers, _ = crowd(2, n=60, A=6)
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    first = answers.row < 20
    row = np.concatenate([answers.row, answers.row[first] + 60])
    who, said = (np.concatenate([part, part[first]]) for part in (answers.annotator, answers.label))
    twice = from_long(row, who, said, n_rows=80, labels=np.arange(4))
    task, plain = SourcesTask(answers, weight=weight), SourcesTask(twice)
    one = step(task, first_shares(answers, 4, 0.8), None, None)
    two = step(plain, first_shares(twice, 4, 0.8), None, None)
    np.testing.assert_allclose(one.channels, two.channels)
    np.testing.assert_allclose(one.share, two.share[:60])


def test_rows_of_weight_zero_teach_nothing():
    answers, z = crowd(3, n=400, A=8)
    odd = answers.row >= 300
    bad = replace(answers, label=np.where(odd, (answers.label + 1) % 4, answers.label))
    weight = (np.arange(400) < 300).astype(float)
    fit = learn_sources(SourcesTask(bad, weight=weight))
    clean = learn_sources(SourcesTask(answers.take(~odd)))
    assert abs(fit.channels - clean.channels).max() < 0.05
    assert np.mean(fit.share[:300].argmax(axis=1) == z[:300]) > 0.6


def test_what_is_known_holds_for_everybody():
    rule = Knowledge(rates={0: 0.2}, never=[(1, 2)], most={3: 0.3}).channel(range(4))
    channels = learn_sources(SourcesTask(crowd(4)[0], knowledge=rule)).channels
    np.testing.assert_allclose(channels[:, 0, 0], 0.8, atol=1e-6)
    assert channels[:, 1, 2].max() < 1e-6
    assert channels[:, 3, 3].min() > 0.7 - 1e-6
    np.testing.assert_allclose(channels.sum(axis=1), 1.0)


def test_virtual_rows_of_the_user_are_added_once():
    rule = Knowledge(counts=np.array([[8.0, 0.0], [0.0, 8.0]])).channel(["a", "b"])
    counts = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    np.testing.assert_allclose(shrunk(counts, None, 0.0, rule)[0], [[0.9, 0.1], [0.1, 0.9]])
    np.testing.assert_allclose(obeying(counts / 2, rule), counts / 2)


def test_the_same_seed_gives_the_same_draws():
    answers, _ = crowd(5, n=80, A=8)
    one, two, other = (learn_sources(SourcesTask(answers, seed=s)).share for s in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert 0 < abs(one - other).max() < 0.25
