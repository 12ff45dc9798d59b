"""Where errors strike: planted margin, column and group noise is found, and none where none is."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from misnomer import audit
from misnomer.head.rates import (
    Labeled,
    Strata,
    choose_strata,
    error_rates,
    fitted,
    strata_of_groups,
)
from misnomer.head.words import value_of
from misnomer.kernels.blocks import Codes
from misnomer.table import Batch, Column, Schema

SEEDS = range(12)
SCHEMA = Schema(tuple(Column(f"c{j}", "categorical", tuple("abcd")) for j in range(6)))


def drawn(kind, seed, n=800, K=3):
    """Draw what the head says of rows, and labels that err by margin, column, group or alike."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 3
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    z = (rng.random((n, 1)) > share.cumsum(axis=1)).sum(axis=1)
    codes = rng.integers(4, size=(n, 6)).astype(np.uint8)
    group = rng.integers(5, size=n)
    top = np.sort(logits, axis=1)
    rate = {
        "margin": np.where(top[:, -1] - top[:, -2] < 2.0, 0.45, 0.02),
        "column": np.where(codes[:, 2] == 1, 0.5, 0.05),
        "group": np.where(group == 3, 0.5, 0.05),
        "none": np.full(n, 0.15),
    }[kind]
    label = np.where(rng.random(n) < rate, (z + rng.integers(1, K, n)) % K, z)
    channel = np.where(np.eye(K) > 0, 1 - rate.mean(), rate.mean() / (K - 1))
    rows = Labeled(share, label, np.ones(n), rng.integers(5, size=n), channel)
    batch = Batch((Codes(codes, (4,) * 6),), label.astype(np.int32))
    return rows, batch, logits, group


def chosen(kind):
    names = []
    for seed in SEEDS:
        rows, batch, logits, _ = drawn(kind, seed)
        strata = choose_strata(SCHEMA, batch, rows, logits, np.arange(len(batch)))
        names.append(None if strata is None else strata.name)
    return names


def test_a_spoiled_column_is_found():
    assert chosen("column").count("c2") == len(SEEDS)


def test_noise_at_the_margin_is_found():
    names = chosen("margin")
    print(names)
    assert names.count("margin") >= 0.75 * len(SEEDS)
    assert set(names) <= {"margin", None}


def test_nothing_is_found_where_errors_strike_anywhere():
    assert chosen("none").count(None) >= len(SEEDS) - 1


def table_with_a_careless_column(kind, seed, n=400):
    """Two columns tell the class; the last one tells who was careless: half of them are wrong."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 6)) if kind == "reals" else rng.poisson(0.5, (n, 6)).astype(float)
    X[:, :2] += (2.5 if kind == "reals" else 4.0) * np.eye(2)[true]
    careless = rng.random(n) < 0.2
    X[:, 5] = np.where(careless, 1.0, 0.0) if kind == "counts" else 2.0 * careless + X[:, 5]
    wrong = careless & (rng.random(n) < 0.5)
    return X if kind == "reals" else sparse.csr_array(X), np.where(wrong, 1 - true, true), wrong


@pytest.mark.parametrize("kind", ["reals", "counts"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_errors_that_follow_a_number_or_a_count_are_no_classes(kind, seed):
    """A kernel would take them for classes: no error at all."""
    X, given, wrong = table_with_a_careless_column(kind, seed)
    found = audit(X, given)
    flagged = np.asarray(found.is_label_issue)
    assert found.error_rate.value > 0.4 * wrong.mean()  # strata are held to each other
    assert (flagged & wrong).sum() > 0.3 * wrong.sum()
    assert (flagged & wrong).sum() > 0.6 * flagged.sum()
    assert any("Errors differ by" in one for one in found.verdict.sentences)


@pytest.mark.parametrize(
    ("form", "edges", "said"),
    [
        ("", [15670.0, 67087.0], ["up to 15,670", "15,670 to 67,087", "over 67,087"]),
        ("clock", [0.25], ["up to 6:00", "over 6:00"]),
        ("date", [19643.0], ["up to 2023-10-13", "over 2023-10-13"]),
    ],
)
def test_where_errors_gather_is_said_as_the_column_is_written(form, edges, said):
    schema = Schema((Column("x", "gaussian", form=form),))
    channels = np.repeat(np.eye(2)[None], len(said) + 1, axis=0)
    strata = Strata("x", channels, np.ones((len(said) + 1, 2)), np.array(edges), (0, 0))
    assert [value_of(strata, schema, at) for at in range(len(said))] == said


@pytest.mark.parametrize("name", ["group", "margin"])
def test_a_column_may_be_called_like_what_parts_rows(name):
    rows, batch, logits, _ = drawn("column", 0)
    schema = Schema(tuple(replace(c, name=name) if c.name == "c2" else c for c in SCHEMA.columns))
    found = choose_strata(schema, batch, rows, logits, np.arange(len(batch)))
    assert found.name == name and not found.by_group and not found.by_margin
    assert found.of(batch, logits).tolist() == batch.blocks[0].codes[:, 2].tolist()


@pytest.mark.parametrize("kind", ["group", "none"])
def test_groups_judge_where_they_differ(kind):
    judged = 0
    for seed in SEEDS:
        rows, _, _, group = drawn(kind, seed)
        strata = strata_of_groups(rows, group, 5)
        judged += strata.judges
        if kind == "group":
            rates = error_rates(strata, rows.share.mean(axis=0))[:5]
            assert rates[3] > 2 * np.delete(rates, 3).max()  # held to the others by virtual rows
    assert judged == len(SEEDS) if kind == "group" else judged <= 1


def test_strata_of_weights_are_strata_of_rows_twice():
    rows, batch, logits, _ = drawn("column", 0)
    twice = np.repeat(np.arange(len(batch)), 2)
    longer = rows.take(twice)
    weighed = Labeled(rows.share, rows.label, np.full(len(batch), 2.0), rows.fold, rows.channel)
    one = choose_strata(SCHEMA, batch, weighed, logits, np.arange(len(batch)))
    two = choose_strata(SCHEMA, batch.take(twice), longer, logits[twice], np.arange(len(twice)))
    assert one.name == two.name == "c2"
    assert one.gain == pytest.approx(two.gain, rel=1e-9)
    assert one.errors == pytest.approx(two.errors, rel=1e-9)
    np.testing.assert_allclose(one.channels, two.channels, atol=1e-12)


def test_channels_sum_to_one_and_an_empty_stratum_keeps_the_common_one():
    rows, _, _, group = drawn("group", 1)
    channels, ratio = fitted(rows, np.where(group == 4, 0, group), 5, own_shares=True)
    np.testing.assert_allclose(channels.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(channels[4], rows.channel, rtol=1e-12)
    np.testing.assert_allclose(ratio[4], 1.0, rtol=1e-12)
