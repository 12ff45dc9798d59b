"""Channels by strata: laws of the fit, columns that are found, groups that differ or do not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from misnomer import kernels
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.kernels.blocks import Codes, Flags, Reals
from misnomer.readers import read
from misnomer.solvers.pool import Pool
from misnomer.solvers.pool_channel import even
from misnomer.solvers.strata import out_of_fold_gain, rates_by_stratum, seen
from misnomer.solvers.strata_columns import Members, cells, variables
from misnomer.solvers.strata_fit import Varied, after
from misnomer.solvers.strata_groups import compare, moved, one_channel
from misnomer.solvers.strata_search import Labels, Strata, beyond, promising, select
from misnomer.solvers.strata_without import put_back, without
from misnomer.solvers.strata_words import divided
from misnomer.table import Batch


def shared(n=2000, rate=0.2, seed=0, K=2, sure=2.0):
    """P(true | x) that are right, labels wrong at some rates, and the true classes."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(K, 1.0 / sure), n)
    true = (rng.random((n, 1)) > share.cumsum(axis=1)).sum(axis=1).clip(max=K - 1)
    wrong = rng.random(n) < rate
    given = np.where(wrong, (true + rng.integers(1, K, n)) % K, true)
    return share, given.astype(np.intp), true


def labels_of(share, given, channel=None):
    channel = even(share.shape[1], 0.8) if channel is None else channel
    n = len(given)
    return Labels(share, given, np.ones(n), np.arange(n) % 5, channel)


def test_the_score_is_the_slope_of_the_log_likelihood():
    share, given, _ = shared(50, K=3)
    level = np.arange(50) % 2
    rows = seen(share, given, np.ones(50), even(3, 0.7), level, 2)
    rates = np.array([[0.1, 0.2, 0.3], [0.4, 0.3, 0.2]])
    step = 1e-6

    def height(shift):
        odds = rates / (1 - rates) * np.exp(shift)
        return np.log(rows.chance(odds / (1 + odds)))

    slope = (height(step) - height(-step)) / (2 * step)
    np.testing.assert_allclose(rows.score(rates), slope, atol=1e-6)


def test_shifts_of_strata_within_cells_add_up():
    rng = np.random.default_rng(0)
    n = 40_000
    cell, level = rng.integers(0, 2, n), rng.integers(0, 2, n)
    logit = np.array([-2.0, -0.5])[cell] + np.array([-0.7, 0.7])[level]
    rate = 1 / (1 + np.exp(-logit))
    share, given, _ = shared(n, rate, sure=8.0)
    base = 1 / (1 + np.exp(-np.array([[-2.0, -2.0], [-0.5, -0.5]])))
    rows = seen(share, given, np.ones(n), even(2, 0.8), cell * 2 + level, 2, rates=base)
    found = rates_by_stratum(rows, tied=True, spread=None).values
    expected = [rate[(cell == c) & (level == v)][0] for c in (0, 1) for v in (0, 1)]
    assert found.shape == (4, 2)
    np.testing.assert_allclose(found[:, 0], expected, atol=0.03)


def test_many_strata_that_are_alike_are_held_together():
    share, given, _ = shared(2000)
    level = np.random.default_rng(1).integers(0, 50, 2000)
    rows = seen(share, given, np.ones(2000), even(2, 0.8), level, 50)
    loose = rates_by_stratum(rows, tied=True)
    held = rates_by_stratum(rows, tied=True, spread=None)
    assert held.values.std() < 0.5 * loose.values.std()
    assert held.effective < loose.effective < 50
    gains = [out_of_fold_gain(rows, np.arange(2000) % 5, tied=True, spread=s) for s in (None, 2.0)]
    assert gains[0].sum() > gains[1].sum()


def test_groups_that_differ_are_found_and_their_rates_too():
    group = np.random.default_rng(2).integers(0, 3, 1500)
    planted = np.array([0.05, 0.15, 0.4])
    share, given, true = shared(1500, planted[group], sure=5.0)
    fit = compare(labels_of(share, given), group, 4)
    assert fit.differ and not fit.own and fit.channels.shape == (4, 2, 2)
    np.testing.assert_allclose(1 - np.einsum("gkk->gk", fit.channels)[:3, 0], planted, atol=0.06)
    np.testing.assert_allclose(fit.channels.sum(axis=1), 1.0)
    judged = after(share, fit.channels[group], given, np.zeros(1500, bool))
    plain = after(share, np.repeat(even(2, 0.8)[None], 1500, 0), given, np.zeros(1500, bool))
    wrong, every = given != true, np.arange(1500)
    ranking = [average_precision_score(wrong, 1 - one[every, given]) for one in (plain, judged)]
    assert ranking[1] > ranking[0]


@pytest.mark.parametrize("seed", range(5))
def test_groups_that_are_alike_keep_one_channel(seed):
    share, given, _ = shared(900, seed=seed)
    group = np.random.default_rng(seed).integers(0, 3, 900)
    labels = labels_of(share, given)
    fit = compare(labels, group, 3)
    assert not fit.differ and fit.tied is None
    np.testing.assert_allclose(fit.channels, np.repeat(even(2, 0.8)[None], 3, 0), atol=1e-12)
    np.testing.assert_allclose(fit.height, one_channel(labels))


def test_other_class_shares_are_not_taken_for_other_errors():
    rng = np.random.default_rng(3)
    n = 3000
    group = rng.integers(0, 2, n)
    true = (rng.random(n) < np.where(group == 0, 0.2, 0.8)).astype(int)
    x = rng.normal(2.0 * true, 1.0)
    share = 1 / (1 + np.exp(-(2 * x - 2.0)))  # of classes that are equally frequent
    given = np.where(rng.random(n) < 0.15, 1 - true, true).astype(np.intp)
    share = np.column_stack([1 - share, share])
    fit = compare(labels_of(share, given, even(2, 0.85)), group, 2)
    assert fit.own and not fit.differ
    assert fit.ratio[0, 0] > 1.3 > 1 > fit.ratio[1, 0]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ward": rng.choice(["A", "B", None], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n)),
            "same": "x",
            "flag": rng.random(n) < 0.5,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column is the same in every row
        schema, blocks = read(frame, "auto")
    return frame, schema, Batch(blocks, np.zeros(n, np.int32))


def test_columns_become_strata():
    frame, schema, batch = table()
    found = {one.name: (one, code) for one, code in variables(schema, batch)}
    assert "same" not in found
    ward, code = found["ward"]
    for value, word in (("A", "ward = A"), ("B", "ward = B"), (None, "ward is missing")):
        rows = frame["ward"].isna() if value is None else frame["ward"] == value
        assert {ward.words[one] for one in code[rows]} == {word}
    age, code = found["age"]
    assert age.count == 5 and (code[frame["age"].isna()] == 4).all()
    assert np.bincount(code)[:4].min() > 50
    low, high = age.edges[0], age.edges[-1]
    assert ((code == 0) == (frame["age"] <= low)).all() and (
        (code == 3) == (frame["age"] > high)
    ).all()
    assert age.where([0, 1, 4]) == f"age <= {age.edges[1]:.4g} or age is missing"


def test_cells_of_all_kinds_of_blocks():
    on = np.random.default_rng(0).random((6, 11)) < 0.5
    there = np.ones((6, 11), bool)
    there[2, 9] = False
    bits, seen_bits = (np.packbits(one, axis=1, bitorder="little") for one in (on & there, there))
    flags = cells(Flags(bits, seen_bits, 11), 9)
    assert np.isnan(flags[2]) and (flags[[0, 1, 3, 4, 5]] == on[[0, 1, 3, 4, 5], 9]).all()
    assert cells(Reals(np.array([[1.5, 2.0]]), np.zeros(2)), 1).tolist() == [2.0]
    assert np.isnan(cells(Codes(np.array([[3]], np.uint8), (3,)), 0)).all()


def test_a_column_that_tells_errors_is_chosen_and_others_are_not():
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 4, 2000) for _ in range(8)]
    share, given, _ = shared(2000, np.where(columns[5] == 2, 0.4, 0.08), seed=4, sure=4.0)
    strata = [Strata(f"c{j}", code, 4) for j, code in enumerate(columns)]
    labels = labels_of(share, given, even(2, 0.84))
    found = select(labels, strata)
    assert found.chosen == (5,) and promising(labels, strata) == 5
    assert beyond(labels, columns[0], 4, strata[5], 8)
    assert not beyond(labels, columns[5], 4, strata[5], 8)  # nothing is left to explain
    assert found.rates[2].mean() > 0.3 > 0.15 > found.rates[[0, 1, 3]].mean()


@pytest.mark.parametrize("seed", range(10))
def test_columns_that_mean_nothing_are_not_chosen(seed):
    rng = np.random.default_rng(seed)
    share, given, _ = shared(600, seed=seed)
    strata = [Strata(f"c{j}", rng.integers(0, 4, 600), 4) for j in range(12)]
    assert select(labels_of(share, given), strata).chosen == ()


@pytest.mark.parametrize("name", ["ward", "flag"])
def test_a_column_left_out_and_put_back(name):
    _, schema, batch = table()
    one, code = next(pair for pair in variables(schema, batch) if pair[0].name == name)
    left, thin = without(schema, batch, one)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(2, left.statistics))
    ratio = rng.uniform(0.5, 2.0, (one.count, 2))
    ratio[-1] = 1.0  # a missing cell says nothing
    whole = put_back(schema, one, weights, ratio)
    scores = kernels.scores(thin.blocks, weights, len(thin)) + np.log(ratio)[code]
    np.testing.assert_allclose(kernels.scores(batch.blocks, whole, len(batch)), scores, atol=1e-9)


def test_a_tilted_posterior_by_hand():
    variable = Members("group", 3)
    channels = np.array([even(2, 0.9), even(2, 0.6), even(2, 0.8)])
    varied = Varied((variable,), channels, even(2, 0.8), even(2, 0.8), shift=np.zeros(3))
    before = np.array([[0.5, 0.5], [0.5, 0.5], [0.3, 0.7], [1.0, 0.0]])
    label, trusted = np.array([0, 0, -1, 0]), np.array([False, False, False, True])
    found = varied.judged(np.array([0, 1, 1, 1]), before, before, label, trusted)
    odds = np.array([0.9 / 0.8 / (0.1 / 0.2), 0.6 / 0.8 / (0.4 / 0.2)])
    np.testing.assert_allclose(found[:2, 0], odds / (1 + odds))
    np.testing.assert_allclose(found[2:], before[2:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_strata_are_divided_where_they_differ_most():
    high, often, seldom = divided(np.array([0.05, 0.4, 0.06, 0.9]), np.array([50.0, 50, 50, 0]))
    assert high == [1] and often == pytest.approx(0.4) and seldom == pytest.approx(0.055)
    rate, alike = moved(np.array([[0.2, 0.8]]), np.array([[1.0, 1.0]]))[0]
    assert (rate, alike) == pytest.approx((0.2, 0.8))


def planted(n, seed=0, rates=(0.05, 0.4, 0.05)):
    """Rows in three wards, one of them careless; the class shares differ, the wards' do not."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.3).astype(int)
    frame = pd.DataFrame(rng.normal(1.3 * true[:, None], 1.0, (n, 6)), columns=list("abcdef"))
    ward = rng.integers(0, 3, n)
    frame["ward"] = np.array(list("ABC"))[ward]
    given = np.where(rng.random(n) < np.array(rates)[ward], 1 - true, true)
    return frame, given, true, ward


def measured(fit, given, true):
    after_ = fit.fit_.details["posterior"]
    doubt = 1 - after_[np.arange(len(given)), given]
    return average_precision_score(given != true, doubt), (after_.argmax(axis=1) == true).mean()


def test_the_default_finds_a_careless_ward_and_says_so():
    frame, given, true, _ = planted(900)
    on = NoisyLabelNB().fit(frame, given)
    off = NoisyLabelNB(solver=Pool(columns=False)).fit(frame, given)
    verdict = on.fit_.details["verdict"]
    assert verdict.tests["columns_that_tell_errors"] == ["ward"]
    assert verdict.sentences[0].startswith("Labels are wrong more often where ward = B: about ")
    assert verdict.level != "trust"
    assert "columns_that_tell_errors" not in off.fit_.details["verdict"].tests
    for better, worse in zip(measured(on, given, true), measured(off, given, true), strict=True):
        assert better > worse
    fresh, _, classes, _ = planted(4000, seed=9)
    right = [np.mean(fit.predict(fresh) == classes) for fit in (on, off)]
    assert right[0] >= right[1]


def test_what_is_assumed_of_columns_is_done():
    frame, given, _, _ = planted(400, rates=(0.1, 0.1, 0.1))
    auto, always = (NoisyLabelNB(solver=Pool(columns=c)).fit(frame, given) for c in ("auto", True))
    assert "columns_that_tell_errors" not in auto.fit_.details["verdict"].tests
    assert len(always.fit_.details["verdict"].tests["columns_that_tell_errors"]) >= 1
    np.testing.assert_allclose(always.fit_.details["posterior"].sum(axis=1), 1.0)


def test_many_rows_are_judged_by_columns_and_by_groups():
    frame, given, true, ward = planted(10_500)
    off = NoisyLabelNB(solver=Pool(columns=False, refit=False)).fit(frame, given)
    on = NoisyLabelNB(solver=Pool(refit=False)).fit(frame, given)
    assert on.fit_.details["verdict"].tests["columns_that_tell_errors"] == ["ward"]
    assert measured(on, given, true)[0] > measured(off, given, true)[0]
    asked = Pool(groups=ward.astype(np.intp), refit=False)
    grouped = NoisyLabelNB(solver=asked).fit(frame.drop(columns="ward"), given)
    varied = grouped.fit_.details["groups"]
    assert varied.found and len(varied.evidence["group"]) == 10_500
    rates = 1 - np.einsum("gkk->gk", varied.channels)[:3].mean(axis=1)
    np.testing.assert_allclose(rates, [0.05, 0.4, 0.05], atol=0.03)
    assert measured(grouped, given, true)[0] > measured(off, given, true)[0]


def test_options_that_mean_nothing_are_refused():
    for bad in ({"columns": "maybe"}, {"difficulty": 3}):
        with pytest.raises(ValueError, match=r'must be True, False or "auto", not '):
            Pool(**bad)
    frame, given, _, _ = planted(100)
    few = NoisyLabelNB(solver=Pool(groups=np.zeros(5, np.intp)))
    with pytest.raises(ValueError, match=r"5 groups were given for 100 rows: give the group"):
        few.fit(frame, given)
