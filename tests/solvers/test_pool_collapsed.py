"""The joint model in which no row counts for itself."""

from dataclasses import replace

import numpy as np
import pytest

from misnomer import NoisyLabelNB
from misnomer.simulate import draw_zeng
from misnomer.smoothing import Smoothing
from misnomer.solvers.pool_belief import independent
from misnomer.solvers.pool_channel import even
from misnomer.solvers.pool_collapsed import USUAL, _Part, log_channel, settled, shared_out
from misnomer.solvers.pool_generative import dispersion, generative
from tests.solvers.pooled import rows_of, target


def begun(rows):
    seen = rows.hard @ even(rows.classes, 0.8)
    return seen / seen.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def alike():
    """Classes that differ a little in each of many flags, and hardly in most."""
    drawn = draw_zeng(300, d=300, random_state=1)
    return rows_of(drawn.X, drawn.given, 5), drawn


def test_what_is_believed_of_a_row_does_not_reach_its_own_log_joint():
    X, given, _ = target(60)
    rows = rows_of(X, given, 2)
    part = _Part.of(rows, slice(None))
    share = np.random.default_rng(0).dirichlet(np.ones(2), len(rows))
    for number, (place, total) in enumerate(part.totals(share)):
        other = share.copy()
        other[place] = other[place][:, ::-1]
        again = list(part.totals(other))[number][1]
        np.testing.assert_allclose(softmaxed(total), softmaxed(again), atol=1e-9)


def softmaxed(total):
    grown = np.exp(total - total.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def test_a_piece_is_judged_by_plain_counts_of_the_others():
    X, given, _ = target(40)
    rows = rows_of(X, given, 2)
    share = np.random.default_rng(1).dirichlet(np.ones(2), len(rows))
    place, total = next(iter(_Part.of(rows, slice(None)).totals(share)))
    others = np.setdiff1d(np.arange(len(rows)), place)
    on = X[rows.place].astype(float)
    mass = share[others].sum(axis=0)
    chance = (share[others].T @ on[others] + 1.0) / (mass[:, None] + 2.0)
    prior = (mass + 1.0) / (mass + 1.0).sum()
    plain = on[place] @ np.log(chance).T + (1 - on[place]) @ np.log(1 - chance).T + np.log(prior)
    joint = rows.hard[others].T @ share[others]
    plain = plain + log_channel(joint)[rows.label[place]]
    np.testing.assert_allclose(softmaxed(total), softmaxed(plain), atol=1e-9)


def test_classes_that_are_much_alike_ask_for_more_virtual_examples(alike):
    rows, drawn = alike
    chosen, share = settled(rows, begun(rows))
    assert chosen.smoothing.m and chosen.smoothing.m >= 8
    true = drawn.true[rows.place]
    usual = shared_out(rows, begun(rows), slice(None)).share
    assert (share.argmax(axis=1) == true).mean() > (usual.argmax(axis=1) == true).mean()


def test_virtual_examples_of_the_user_stay(alike):
    rows, _ = alike
    own = replace(rows, smoothing=Smoothing(cells=0.5, classes=1.0))
    assert settled(own, begun(own))[0].smoothing == own.smoothing


def test_classes_far_apart_keep_the_usual_virtual_examples():
    X, given, _ = target(150)
    rows = rows_of(X, given, 2)
    assert settled(rows, begun(rows))[0].smoothing == USUAL


def test_many_independent_columns_are_seen_to_be_independent(alike):
    rows, drawn = alike
    truth = np.eye(5)[drawn.true[rows.place]]
    assert abs(dispersion(rows, truth).z) < 2.0
    fitted, _, share = generative(rows, even(5, 0.8))
    assert independent(fitted, share)


def test_many_columns_that_hardly_differ_are_learned_from_wrong_labels():
    drawn = draw_zeng(1500, random_state=0)
    clf = NoisyLabelNB(random_state=0).fit(drawn.X[:500], drawn.given[:500])
    assert (clf.predict(drawn.X[500:]) == drawn.true[500:]).mean() > 0.87


def test_rows_without_a_label_and_trusted_rows_take_part():
    X, given, true = target(120)
    rows = rows_of(X, given, 2)
    label, trusted = rows.label.copy(), rows.trusted.copy()
    label[:20], trusted[20:40] = -1, True
    some = replace(rows, label=label, trusted=trusted)
    start = np.where((label < 0)[:, None], 0.5, begun(rows))
    share = shared_out(some, start, slice(None)).share
    np.testing.assert_array_equal(share[20:40], some.hard[20:40])
    assert (share[:20].argmax(axis=1) == true[rows.place][:20]).mean() > 0.8
