"""The design: every row can be drawn, its chance is known, draws add up."""

from __future__ import annotations

import numpy as np
import pytest

from misnomer.checks.design import ROWS_PER_LABEL, draw, inclusion, intensity, strata


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.beta(0.3, 1.0, n), rng.integers(0, 3, n)


def test_every_labeled_row_can_be_drawn_and_no_other():
    doubt, label = rows()
    label[:7] = -1
    q = intensity(doubt, label, 50)
    assert q.sum() == pytest.approx(1.0)
    assert (q[:7] == 0).all() and (q[7:] > 0.5 / 400).all()


@pytest.mark.parametrize("n", [25, 200])
@pytest.mark.parametrize("unsure", [1, 40, 200])
def test_wrong_doubts_cost_one_row_in_ten_at_most(n, unsure):
    """Whatever is wrong: the variance is at most 1 / .9 of a plain sample's."""
    doubt = np.where(np.arange(400) < unsure, 0.5, 1e-6)
    q = intensity(doubt, np.zeros(400, int), n)
    assert (1 / (400 * q)).max() <= 1 / 0.9 + 1e-9


def test_rare_labels_get_a_few_checks():
    label = np.zeros(1000, int)
    label[:10] = 1
    q = intensity(np.full(1000, 0.1), label, 50)
    assert 50 * q[:10].sum() == pytest.approx(ROWS_PER_LABEL, rel=0.1)


def test_chances_are_those_of_drawing_one_after_the_other():
    q = np.array([0.5, 0.3, 0.2])
    first = np.bincount([draw(q, 2, random_state=s).rows[0] for s in range(4000)]) / 4000
    assert np.abs(first - q).max() < 0.03
    one, left = draw(q, 3, random_state=1), 1.0
    for row, chance in zip(one.rows, one.chance, strict=True):
        assert chance == pytest.approx(q[row] / left)
        left -= q[row]


def test_a_later_draw_goes_on_with_what_is_left():
    q = intensity(*rows(), 30)
    first = draw(q, 30, random_state=0)
    second = draw(q, 20, drawn=first.rows, random_state=1)
    assert not {*first.rows.tolist()} & {*second.rows.tolist()}
    gone = q[first.rows].sum()
    assert second.chance[0] == pytest.approx(q[second.rows[0]] / (1 - gone))


def test_inclusion_is_how_often_a_row_is_drawn():
    q = np.array([0.4, 0.2, 0.2, 0.1, 0.1])
    often = np.zeros(5)
    for seed in range(4000):
        often[draw(q, 2, random_state=seed).rows] += 1
    assert inclusion(q, 2).sum() == pytest.approx(2.0)
    assert np.abs(often / 4000 - inclusion(q, 2)).max() < 0.04  # an approximation


def test_the_same_seed_draws_the_same_rows():
    q = intensity(*rows(), 30)
    assert draw(q, 30, random_state=5).rows.tolist() == draw(q, 30, random_state=5).rows.tolist()
    assert draw(q, 30, random_state=5).rows.tolist() != draw(q, 30, random_state=6).rows.tolist()


def test_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="only 2 labeled rows are left to draw"):
        draw(np.array([0.5, 0.5, 0.0]), 3)


def test_strata_follow_the_doubts_and_hold_enough_rows():
    doubt, label = rows()
    q = intensity(doubt, label, 100)
    place = strata(doubt, q, 100)
    assert place.max() >= 2 and (np.diff(place[np.argsort(doubt)]) >= 0).all()
    assert np.bincount(place, weights=q).min() >= 7 / 100 - 1e-9
    assert strata(doubt, q, 12).max() == 0
    alike = np.linspace(0.28, 0.32, 400)  # cuts would gain less than strata cost
    assert strata(alike, np.full(400, 1 / 400), 100).max() == 0
    assert strata(np.full(50, 0.3), np.full(50, 0.02), 50).max() == 0  # nothing to tell apart
