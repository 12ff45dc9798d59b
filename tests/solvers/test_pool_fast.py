"""Short cuts of the pool for many rows: each gives what the long way gives."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from misnomer.solvers import pool_intervals, pool_search
from misnomer.solvers.pool import Pool
from misnomer.solvers.pool_candidates import Candidate
from misnomer.solvers.pool_intervals import thinned
from misnomer.solvers.pool_judge import Dealt, Judge, dealt, folds_of
from misnomer.solvers.pool_objective import Problem
from misnomer.solvers.pool_profile import profile
from misnomer.solvers.pool_scores import class_sums, less, naive_bayes, out_of_fold, without_each
from misnomer.solvers.pool_search import first_starts, search
from misnomer.table import Batch
from tests.solvers.pooled import clouds, rows_of, task_of
from tests.solvers.test_pool_words import texts


def test_copies_of_folds_are_kept_of_words_in_memory_alone():
    words, reals = task_of(*texts(4), 3, batches=2), task_of(*clouds(100)[:2], 3)
    assert all(isinstance(batch, Dealt) for batch in dealt(words.batches))
    assert dealt(reals.batches) is reals.batches
    assert dealt(tuple(words.batches)) == tuple(words.batches)


def test_rows_are_judged_alike_by_kept_folds_and_by_folds_cut_anew():
    task = task_of(*texts(4), 3)
    batch = replace(task.batches[0], start=3)
    rng = np.random.default_rng(0)
    weights = tuple(rng.normal(size=(4, 3, task.schema.statistics)))
    judge = Judge(weights, rng.normal(size=(4, 3)), np.full((3, 3), 1 / 3), 0.1, 0.5)
    kept = dealt([batch])[0]
    for one, other in zip(folds_of(kept), folds_of(batch), strict=True):
        np.testing.assert_array_equal(one.given, other.given)
    np.testing.assert_array_equal(judge.posterior(kept), judge.posterior(batch))
    tempered = replace(judge, weights=tuple(0.5 * one for one in weights), scale=1.0)
    np.testing.assert_allclose(judge.posterior(batch), tempered.posterior(batch), rtol=1e-9)


def mixed_rows():
    X, given, _ = clouds(300)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["c"] = pd.Series(np.digitize(X[:, 2], [-1, 0, 1])).map(dict(enumerate("wxyz")))
    frame["d"] = X[:, 3] > 0
    return rows_of(frame, given, 3)


@pytest.mark.parametrize("rows", [mixed_rows(), rows_of(*texts(4), 3)])
def test_weights_without_each_part_are_those_of_the_other_parts(rows):
    share = rows.hard * np.random.default_rng(0).random((len(rows), 1))
    parts = [class_sums(rows.stats[fold], share[fold]) for fold in rows.folds]
    masses = np.stack([share[fold].sum(axis=0) for fold in rows.folds])
    total, mass = np.sum(parts, axis=0), masses.sum(axis=0)
    left = less(rows, total, np.stack(parts))
    weights, bias = naive_bayes(rows, total, mass, left, mass - masses)
    for one in parts:
        one.flags.writeable = False  # as arrays from a cluster are
    found, prior = without_each(rows, parts, masses)
    np.testing.assert_allclose(np.stack(found), weights, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(prior, bias, rtol=1e-12, atol=1e-12)


def descents(monkeypatch, n):
    """Count the starts that a search descends from."""
    rows, calls, descend = rows_of(*clouds(n)[:2], 3), [], pool_search._descend
    scores = 3.0 * rows.hard - 1.0 + np.random.default_rng(0).normal(size=(n, 3))

    def counted(*args):
        calls.append(descend(*args))
        return calls[-1]

    monkeypatch.setattr(pool_search, "_descend", counted)
    return search(rows, scores, None, first_starts(3), free=False), calls


def test_of_many_rows_the_starts_farthest_apart_do_where_they_agree(monkeypatch):
    best, calls = descents(monkeypatch, 5000)
    assert len(calls) == 2 and best is min(calls, key=lambda end: end.objective)
    monkeypatch.setattr(pool_search, "_ALIKE", 0.0)
    _, every = descents(monkeypatch, 5000)
    assert len(every) == 4
    assert best.objective == pytest.approx(min(end.objective for end in every), abs=0.01)


def test_of_few_rows_every_start_counts(monkeypatch):
    assert len(descents(monkeypatch, 500)[1]) == 4


@pytest.mark.parametrize(("classes", "most"), [(2, 20_000), (20, 2_000), (100, 2_000)])
def test_a_draw_looks_at_fewer_rows_of_more_classes(classes, most):
    n = 40_000
    hard = np.eye(classes)[np.arange(n) % classes]
    scores, even = np.zeros((n, classes)), np.ones(classes)
    thin = thinned(Problem(scores, None, hard, np.ones(n), None, even, False))
    assert len(thin.weight) == most and thin.weight.sum() == n


def test_few_rows_stand_for_all_in_intervals_and_along_the_rate(monkeypatch):
    """What one row in eight says of the ends is what all say, wherever its own errors lie."""
    X, given, _ = clouds(8000, K=4)
    rows = rows_of(X, given, 4)
    source = out_of_fold(rows, rows.hard * rows.weight[:, None])
    end = search(rows, source.scores, None, first_starts(4), free=False)
    best = Candidate(end, source, None, "given")
    whole, along = pool_intervals.intervals(rows, best), profile(rows, best)[1]
    monkeypatch.setattr(pool_intervals, "_CELLS", 0)
    monkeypatch.setattr(pool_intervals, "_FEWEST", 1000)
    few, shorter = pool_intervals.intervals(rows, best), profile(rows, best)[1]
    width = whole.rate[1] - whole.rate[0]
    assert few.rate == pytest.approx(whole.rate, abs=0.25 * width)
    width = whole.shares[1] - whole.shares[0]
    assert (np.abs(few.shares[0] - whole.shares[0]) < 0.35 * width).all()
    assert (np.abs(few.shares[1] - whole.shares[1]) < 0.35 * width).all()
    middle = [one.rates[one.cost.argmin()] for one in (along, shorter)]
    assert middle[0] == pytest.approx(middle[1], abs=0.002)


def test_labeled_rows_are_counted_as_by_their_sums():
    task = task_of(*clouds(60)[:2], 3, weight=np.linspace(1, 2, 60))
    codes = task.batches[0].given.copy()
    codes[:10], codes[10:15] = 3, 5  # no label, and trusted to be of the second class
    task = replace(task, batches=[replace(task.batches[0], given=codes)])
    assert task.labeled == pytest.approx(task.by_label.rows)
    assert isinstance(task.batches[0], Batch)


def threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_the_pool_uses_one_core():
    """Its products are small: on a busy machine threads would wait for each other."""
    inside = []
    with threadpool_limits(2, user_api="blas"):
        Pool()(task_of(*clouds(120)[:2], 3, progress=lambda *_: inside.extend(threads())))
        if max(threads()) == 1:
            pytest.skip("this BLAS has one thread")
    assert set(inside) == {1}
