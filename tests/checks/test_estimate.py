"""Intervals of checked rows: known numbers, laws, and that they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from misnomer import audit
from misnomer.audit.checked import with_checks
from misnomer.checks import design
from misnomer.checks.design import OPEN, UNSURE, Sample
from misnomer.checks.estimate import (
    assisted_share,
    domain_share,
    recalibrated,
    rows_needed,
    running_share,
    sheet_share,
)
from misnomer.checks.intervals import capital, score_interval, threshold
from misnomer.estimate import normal_quantile
from misnomer.posterior import Posterior

Z = normal_quantile(0.9)


def wilson(x, n, z=Z):
    center = (x / n + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(x / n * (1 - x / n) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return center - half, center + half


def sampled(wrong, doubt, n, seed=0, draws=1):
    """Draw and answer: two classes, given 0, true 1 where wrong."""
    N = len(wrong)
    q = design.intensity(doubt, np.zeros(N, int), n)
    place = design.strata(doubt, q, n)
    rows, chance, which = np.zeros(0, int), [], []
    for d in range(draws):
        one = design.draw(q, n // draws, drawn=rows, random_state=1000 * d + seed)
        rows = np.concatenate([rows, one.rows])
        chance.append(one.chance)
        which += [d + 1] * len(one.rows)
    return Sample(
        row=rows,
        draw=np.array(which),
        chance=np.concatenate(chance),
        intensity=q[rows],
        inclusion=n * q[rows],
        stratum=place[rows],
        population=design.population(place, doubt, q),
        true=wrong[rows].astype(np.int64),
        given=np.zeros(len(rows), np.int64),
    )


@pytest.mark.parametrize(("x", "n"), [(0, 10), (3, 25), (25, 50), (50, 50)])
def test_one_stratum_is_never_much_wider_than_wilson(x, n):
    low, high = score_interval(np.array([x / n]), np.array([float(n)]), np.ones(1), Z * Z)
    assert high - low <= 1.05 * (wilson(x, n)[1] - wilson(x, n)[0])


@pytest.mark.parametrize("n", [25, 50, 100, 200])
def test_one_stratum_holds_every_rate(n):
    """Exact: over all counts that can be found, for every rate there is."""
    found, rates = np.arange(n + 1), np.linspace(0.001, 0.999, 999)
    share, limit = (found / n)[:, None], threshold(0.9)
    low, high = score_interval(share, np.array([float(n)]), np.ones(1), limit)
    chance = stats.binom.pmf(found[:, None], n, rates)
    held = (chance * ((low[:, None] <= rates) & (rates <= high[:, None]))).sum(axis=0)
    assert held.min() >= 0.875 and held.mean() >= 0.915


def test_nothing_wrong_in_any_stratum_is_nothing_wrong_in_all():
    parts = np.array([20.0, 20.0, 10.0])
    low, high = score_interval(np.zeros(3), parts, parts / 50, 2.706)
    whole = score_interval(np.zeros(1), np.array([50.0]), np.ones(1), 2.706)
    assert low == whole[0] == 0 and high == pytest.approx(whole[1], abs=1e-6)
    assert whole[1] == pytest.approx(1 - (1 + 5 / 9 * 2.706 / 50) ** -1.5, abs=1e-6)


def test_nothing_wrong_reaches_as_far_as_an_exact_test_and_no_farther():
    """Feldman and Cousins (1998): none was found, so up to 2.44 were expected, at 90 %."""
    _, high = score_interval(np.zeros(1), np.array([1e5]), np.ones(1), threshold(0.9))
    assert 2.44 <= float(high) * 1e5 <= 2.5


def test_right_and_wrong_are_symmetric():
    share, rows, weight = np.array([0.1, 0.7]), np.array([12.0, 9.0]), np.array([0.3, 0.7])
    low, high = score_interval(share, rows, weight, 2.7)
    assert score_interval(1 - share, rows, weight, 2.7) == pytest.approx((1 - high, 1 - low))


def test_little_found_wrong_has_the_low_end_of_the_likelihood():
    low, _ = score_interval(np.array([0.1]), np.array([10.0]), np.ones(1), 2.706)
    at = float(low)
    away = 0.1 * np.log(0.1 / at) + 0.9 * np.log(0.9 / (1 - at))
    assert 2 * 10 * away == pytest.approx(2.706, rel=1e-5)


def test_all_rows_checked_is_the_truth():
    rng = np.random.default_rng(0)
    wrong = rng.random(60) < 0.3
    one = sampled(wrong, rng.random(60), 60)
    rate = sheet_share(one, one.wrong)
    assert (rate.low, rate.high) == pytest.approx((wrong.mean(),) * 2, abs=1e-3)


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("n", [10, 40])
def test_sheets_hold_the_truth_with_a_useless_model(rate, n):
    rng = np.random.default_rng(1)
    wrong, doubt = rng.random(2000) < rate, rng.beta(0.5, 2, 2000)
    held = 0
    for seed in range(100):
        one = sampled(wrong, doubt, n, seed)
        held += wrong.mean() in sheet_share(one, one.wrong)
    assert held / 100 >= 0.88


def test_a_good_model_makes_sheets_and_running_intervals_narrow():
    rng = np.random.default_rng(2)
    wrong = rng.random(3000) < 0.2
    doubt = np.clip(wrong + rng.normal(0, 0.1, 3000), 0.01, 0.99)
    sheet, running, held = [], [], 0
    for seed in range(40):
        one = sampled(wrong, doubt, 100, seed)
        rate, always = sheet_share(one, one.wrong), running_share(one, one.wrong)
        sheet.append(rate.high - rate.low)
        running.append(always.high - always.low)
        held += wrong.mean() in rate
    low, high = wilson(20, 100)
    assert held >= 38
    assert np.mean(sheet) < 0.5 * (high - low) and np.mean(running) < 0.9 * (high - low)


def test_a_bet_on_the_true_rate_is_fair():
    """Given the past, the mean of what a turn leaves is what was there: the law of it all."""
    rng = np.random.default_rng(3)
    wrong, doubt = (rng.random(40) < 0.3).astype(float), rng.random(40)
    q = design.intensity(doubt, np.zeros(40, int), 20)
    place = np.arange(40) // 20
    rows = design.population(place, doubt, q)
    start = design.draw(q, 3, random_state=0)
    left, mean = np.setdiff1d(np.arange(40), start.rows), 0.0
    for row in left:
        chance, turns = q[row] / q[left].sum(), np.append(start.rows, row)
        chances = np.append(start.chance, chance)
        held = capital(wrong[turns], place[turns], chances, rows, np.array([wrong.mean()]))[:, 0]
        mean += chance * held[-1]
    assert mean == pytest.approx(held[-2], rel=1e-9)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.4])
def test_running_intervals_hold_at_the_most_flattering_stop(rate):
    rng = np.random.default_rng(4)
    wrong, doubt = rng.random(500) < rate, rng.beta(0.5, 2, 500)
    lost = 0
    for seed in range(150):
        one = sampled(wrong, doubt, 60, seed, draws=2)
        turns = one.wrong, one.stratum, one.chance, one.population
        lost += bool((capital(*turns, np.array([wrong.mean()])) >= 10).any())
    assert lost / 150 <= 0.1


def test_who_cannot_say_widens_the_interval_to_both_sides():
    rng = np.random.default_rng(5)
    wrong, doubt = rng.random(2000) < 0.2, np.full(2000, 0.2)
    one = sampled(wrong, doubt, 50)
    half = np.where(np.arange(50) % 2, np.nan, one.wrong)
    for share in (sheet_share, running_share):
        full, less = share(one, one.wrong), share(one, half)
        assert less.low < full.low and less.high > full.high
        assert less.high - less.low > 0.5


def test_parts_and_rows_needed():
    rng = np.random.default_rng(6)
    wrong, doubt = rng.random(5000) < 0.2, np.full(5000, 0.2)
    one = sampled(wrong, doubt, 200)
    some = domain_share(one, one.row < 2500, one.wrong)
    assert some is not None and some.low < 0.2 < some.high
    assert domain_share(one, np.zeros(200, bool), one.wrong) is None
    found = one.wrong.mean()
    plain = found * (1 - found) * threshold(0.9) / 0.05**2
    assert rows_needed(one, one.wrong, 0.05) == pytest.approx(plain, rel=0.15)
    assert rows_needed(one, one.wrong, 0.02) > rows_needed(one, one.wrong, 0.05)
    with pytest.raises(ValueError, match="between 0 and 1"):
        rows_needed(one, one.wrong, 2.0)


def test_recalibrated_doubts_add_up_and_keep_their_order():
    rng = np.random.default_rng(7)
    truth = rng.beta(1, 3, 3000)
    wrong, doubt = rng.random(3000) < truth, truth**3  # far too sure
    doubt[:5] = np.nan
    one = sampled(wrong, np.nan_to_num(doubt, nan=0.0), 200)
    fresh = recalibrated(doubt, one, 0.25)
    assert np.nanmean(fresh) == pytest.approx(0.25, abs=1e-9) and np.isnan(fresh[:5]).all()
    others = np.setdiff1d(np.arange(5, 3000), one.row)
    assert (np.diff(fresh[others][np.argsort(doubt[others])]) >= 0).all()
    before, after = doubt[others] - truth[others], fresh[others] - truth[others]
    assert np.mean(after**2) < np.mean(before**2)


def test_a_row_that_was_passed_over_counts_as_cannot_say():
    one = sampled(np.zeros(100, bool), np.full(100, 0.1), 10)
    assert one.as_drawn
    true = one.true.copy()
    true[4], true[2] = OPEN, UNSURE
    gap = replace(one, true=true)
    assert not gap.as_drawn and gap.answered.sum() == 9
    assert len(gap.first().row) == 10 and (gap.first().true[[2, 4]] == UNSURE).all()
    true[[5, 6, 9]] = OPEN  # too many by then: one in five may be passed over
    assert len(replace(one, true=true).first().row) == 4
    true[0] = OPEN
    assert not len(replace(one, true=true).first().row)


def test_right_answers_where_nothing_was_doubted_leave_the_other_errors_to_the_model():
    doubt = np.where(np.arange(400) < 40, 0.99, 0.01)
    frame = pd.DataFrame({"x": np.arange(400.0)})
    given = np.where(np.arange(400) % 2, "a", "b")
    found = audit(frame, given)
    found = replace(found, shares=Posterior.of(posterior_of(doubt, found)))
    sheet = found.draw_checks(12, random_state=0)
    sheet = sheet[sheet["row"] >= 40].assign(true_label=lambda s: given[s["row"]])
    told = with_checks(found, sheet, doubt)
    assert told.checks.counts["wrong"] == 0
    assert told.error_rate.low == 0.0
    assert (told.error_probability[:40] > 0.5).all()
    assert told.error_count.value == pytest.approx(told.error_probability.sum())


def posterior_of(doubt, found):
    out = np.tile(doubt[:, None], 2)
    out[np.arange(len(doubt)), found.given] = 1 - doubt
    return out


def test_the_assisted_share_is_right_on_average_whatever_the_doubts():
    rng = np.random.default_rng(0)
    wrong = rng.random(2000) < 0.3
    doubt = np.clip(
        rng.normal(0.05, 0.02, 2000), 0.001, 1.0
    )  # they say nothing, and far too little
    q = design.intensity(doubt, np.zeros(2000, np.int64), 100)
    place = design.strata(doubt, q, 100)
    people = design.population(place, doubt, q)
    shares = []
    for seed in range(200):
        one = design.draw(q, 100, random_state=seed)
        true = wrong[one.rows].astype(np.int64)
        ones = np.ones(100, np.int64)
        sample = Sample(
            one.rows, ones, one.chance, q[one.rows], one.inclusion, place[one.rows], people, true,
            0 * ones,
        )  # fmt: skip
        shares.append(assisted_share(doubt, sample))
    assert np.mean(shares) == pytest.approx(wrong.mean(), abs=0.01)


@pytest.mark.parametrize(("answers", "wrong"), [(1, 1), (4, 3), (9, 2)])
def test_fewer_than_ten_answers_leave_rate_and_doubts_to_the_model(answers, wrong):
    """One wrong label of one would make all labels wrong, and every row a suspect."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 4)) + 2.0 * y[:, None]
    given = np.where(rng.random(300) < 0.1, 1 - y, y)
    plain = audit(X, given)
    sheet = plain.draw_checks(50, random_state=1)
    said = [None] * 50
    for place, row in enumerate(list(sheet["row"])[:answers]):
        said[place] = 1 - given[row] if place < wrong else given[row]
    found = audit(X, given, checked={**sheet, "true_label": said})
    assert abs(found.error_rate.value - plain.error_rate.value) < 0.05
    assert found.error_rate.high > 0.5  # the interval says how little that is
    assert abs(len(found.issues["row"]) - len(plain.issues["row"])) < 20
    assert found.verdict.level == "cannot tell"
