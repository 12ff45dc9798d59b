"""The pool on many rows and by batches: the same answers, pass by pass."""

from dataclasses import replace

import numpy as np
import pytest

from misnomer import NoisyLabelNB, kernels
from misnomer.solvers import pool_large, pool_sample
from misnomer.solvers.pool import Pool, held
from misnomer.solvers.pool_judge import Judge
from misnomer.solvers.pool_rows import joined, spelled
from misnomer.solvers.pool_twin import basis, unexplained
from tests.solvers.pooled import clouds, target, task_of


def test_many_rows_are_fitted_pass_by_pass(monkeypatch):
    X, given, true = clouds(3000, wrong=0.3)
    whole = Pool()(task_of(X, given, 3))
    monkeypatch.setattr(pool_sample, "MOST_ROWS", 2000)
    monkeypatch.setattr(pool_sample, "SAMPLE", 800)
    large = Pool()(task_of(X, given, 3, batches=4))
    batch = task_of(X, given, 3).batches[0].judged_by(np.full(3000, 3, np.int32))
    best = [(fit.model.posterior(batch).argmax(axis=1) == true).mean() for fit in (whole, large)]
    assert best[1] > best[0] - 0.01
    assert large.details["posterior"].shape == (3000, 3)
    assert np.abs(large.model.channel.matrix - whole.model.channel.matrix).max() < 0.1
    assert any("competed on" in note for note in large.details["notes"])
    assert large.details["intervals"]["error_rate"].low > 0.1
    assert large.details["verdict"].level in ("trust", "ranking", "cannot tell")


@pytest.mark.parametrize("twin", [True, False])
def test_many_rows_get_the_same_answer_from_any_batches(monkeypatch, twin):
    X, given, _ = clouds(2500, wrong=0.3)
    X = np.column_stack([X, X[:, 0] * 1.01])  # a column that repeats another
    monkeypatch.setattr(pool_sample, "MOST_ROWS", 2000)
    monkeypatch.setattr(pool_sample, "SAMPLE", 700)
    monkeypatch.setattr(pool_large, "THIN", 900)
    one, five = (Pool(twin=twin)(task_of(X, given, 3, batches=b)).details for b in (1, 5))
    np.testing.assert_allclose(one["posterior"], five["posterior"], atol=1e-7)
    assert one["intervals"]["error_rate"].value == pytest.approx(
        five["intervals"]["error_rate"].value, abs=1e-9
    )


def test_many_rows_are_counted_by_their_labels_alone_where_refits_are_off(monkeypatch):
    X, given, _ = clouds(2500, wrong=0.3)
    monkeypatch.setattr(pool_sample, "MOST_ROWS", 2000)
    monkeypatch.setattr(pool_sample, "SAMPLE", 700)
    made = Pool(twin=False, refit=False)(task_of(X, given, 3)).details["candidates"]
    assert [name for name, _, _ in made] == ["given"]


def test_a_judge_gives_rows_the_doubt_of_the_definition():
    rng = np.random.default_rng(0)
    X, given, _ = clouds(60, wrong=0.3)
    given = given.astype(np.int32)
    given[:3], given[3:6] = 3, 4 + given[3:6]  # no label; trusted
    batch = replace(task_of(X, np.zeros(60, int), 3).batches[0], given=given, start=2)
    S = sum(block.width for block in batch.blocks)
    channel = np.array([[0.8, 0.1, 0.0], [0.1, 0.8, 0.3], [0.1, 0.1, 0.7]])
    judge = Judge(rng.normal(size=(4, 3, S)), rng.normal(size=(4, 3)), channel, 0.5)
    after = judge.posterior(batch)
    for row in range(60):
        fold = (row + 2) % 4
        one = batch.take(slice(row, row + 1))
        score = kernels.scores(one.blocks, judge.weights[fold], 1)[0] + judge.bias[fold]
        q = np.exp(score - score.max())
        q /= q.sum()
        if row >= 3:
            label = given[row] if row >= 6 else given[row] - 4
            full = q * channel[label]
            full /= full.sum()
            plain = np.clip(0.5 * (1 - full[label] + 1 - q[label]), 1e-9, 1 - 1e-9)
            doubt = 0.0 if row < 6 else 1 / (1 + np.exp(-np.log(plain / (1 - plain)) - 0.5))
            rest = full * (np.arange(3) != label)
            q = doubt * rest / rest.sum()
            q[label] = 1 - doubt
        np.testing.assert_allclose(after[row], q, atol=1e-12)


def test_columns_that_know_more_of_the_labels_are_noticed():
    X, given, _ = clouds(800, wrong=0.2)
    task = task_of(X, given, 3)
    rows = spelled(task, task.batches[0], held(task.smoothing))
    on = basis(rows)
    blind = np.tile(rows.given, (800, 1))
    assert unexplained(rows, on, blind, np.eye(3)) > 10
    seen = NoisyLabelNB(solver="conditional", channel="identity").fit(X, given)
    share = seen.predict_proba(X)[rows.place]
    assert unexplained(rows, on, share, np.eye(3)) < 3


def test_batches_are_joined_for_a_small_table():
    X, given, _ = target(90)
    task = task_of(X, given, 2, batches=3)
    one = joined(task.batches)
    np.testing.assert_array_equal(one.given, given)
    np.testing.assert_allclose(
        Pool()(task).details["posterior"],
        Pool()(task_of(X, given, 2)).details["posterior"],
        atol=1e-8,
    )
