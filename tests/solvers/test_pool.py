"""The pool: its maths against brute force, its answers on planted noise, its refusals."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad

from misnomer import NoisyLabelNB, kernels
from misnomer.audit import audit
from misnomer.channel import auto
from misnomer.engines.local import fold
from misnomer.kernels.reference import softmax
from misnomer.model import weights_of
from misnomer.readers import read
from misnomer.smoothing import resolve
from misnomer.solvers import pool_large, pool_sample
from misnomer.solvers.pool import Pool, held
from misnomer.solvers.pool_average import average
from misnomer.solvers.pool_candidates import Search
from misnomer.solvers.pool_judge import Judge
from misnomer.solvers.pool_lbfgs import minimise
from misnomer.solvers.pool_objective import Problem
from misnomer.solvers.pool_rows import joined, spelled
from misnomer.solvers.pool_scores import centered, out_of_fold
from misnomer.solvers.pool_twin import basis, unexplained
from misnomer.solvers.task import Task, tally
from misnomer.table import Batch

LAPLACE = held(resolve("auto"))


def target(n, seed=0, flips=(0.2, 0.2), d=10):
    """Flags of two classes with random probabilities, and labels that are flipped."""
    rng = np.random.default_rng(seed)
    ones = rng.uniform(0.1, 0.9, (2, d))
    true = rng.integers(0, 2, n)
    X = (rng.random((n, d)) < ones[true]).astype(int)
    given = np.where(rng.random(n) < np.array(flips)[true], 1 - true, true)
    return X, given, true


def clouds(n, seed=0, K=3, wrong=0.2):
    """Normal clouds with some uniform noise."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, K, n)
    X = rng.normal(size=(n, 6)) + 1.2 * rng.normal(size=(K, 6))[true]
    given = np.where(rng.random(n) < wrong, rng.integers(0, K, n), true)
    return X, given, true


def task_of(X, given, K, batches=1, weight=None, **options):
    schema, blocks = read(X)
    whole = Batch(blocks, np.asarray(given, np.int32), weight)
    edges = np.linspace(0, len(whole), batches + 1).astype(int)
    parts = [whole.take(slice(a, b)) for a, b in pairwise(edges)]
    return Task(schema, parts, fold, auto(K), resolve("auto"), **options)


def rows_of(X, given, K, **options):
    task = task_of(X, given, K)
    return spelled(task, task.batches[0], LAPLACE, **options)


@pytest.mark.parametrize("twin", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("sure", [False, True])
def test_the_gradient_is_that_of_the_objective(twin, free, sure):
    rng = np.random.default_rng(0)
    n, K = 40, 3
    label = rng.integers(0, K, n)
    problem = Problem(
        rng.normal(size=(n, K)),
        rng.normal(size=(n, K)) if twin else None,
        np.eye(K)[label],
        rng.random(n) + 0.5,
        rng.random(n) < 0.2 if sure else None,
        np.array([0.2, 0.3, 0.5]),
        free,
        extra=2.0,
    )
    vector = 0.5 * rng.normal(size=1 + twin + 2 * K + 1 + free * K * K)
    error = check_grad(lambda v: problem(v)[0], lambda v: problem(v)[1], vector)
    assert error < 1e-4 * np.linalg.norm(problem(vector)[1])


def test_the_search_finds_the_bottom_of_a_curved_valley():
    def rosenbrock(x):
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        slope = [-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)]
        return float(value), np.array(slope)

    end, value = minimise(rosenbrock, np.array([-1.2, 1.0]), max_iter=200, tol=1e-14, slope=1e-8)
    np.testing.assert_allclose(end, 1.0, atol=1e-5)
    assert value < 1e-10


def test_scores_out_of_fold_are_those_of_a_model_without_the_fold():
    X, given, _ = target(60)
    rows = rows_of(X, given, 2)
    source = out_of_fold(rows, rows.hard)
    virtual = LAPLACE.virtual(rows.schema, tally(rows.batch, rows.label, 2), np.eye(2))
    for place, part in enumerate(rows.folds):
        others = tally(rows.batch.take(rows.without(place)), rows.label[rows.without(place)], 2)
        weights = weights_of(rows.schema, others.sums, virtual)
        prior = np.log((others.mass + 1) / (others.mass + 1).sum())
        np.testing.assert_allclose(
            source.scores[part], centered(rows.stats[part] @ weights.T + prior), atol=1e-10
        )


def test_folds_depend_on_the_rows_and_not_on_their_order():
    X, given, _ = target(120, d=20)  # no two rows are alike
    order = np.random.default_rng(1).permutation(120)
    one, two = NoisyLabelNB().fit(X, given), NoisyLabelNB().fit(X[order], given[order])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(
        one.fit_.details["posterior"][order], two.fit_.details["posterior"], atol=1e-9
    )


def test_a_whole_weight_is_that_many_rows():
    X, given, _ = target(80)
    weight = np.random.default_rng(2).integers(1, 4, 80)
    one = NoisyLabelNB().fit(X, given, sample_weight=weight)
    two = NoisyLabelNB().fit(np.repeat(X, weight, axis=0), np.repeat(given, weight))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)
    half = NoisyLabelNB().fit(X, given, sample_weight=weight / 2)
    assert half.fit_.details["posterior"].shape == (80, 2)


def test_the_average_is_one_linear_model():
    X, given, _ = clouds(150)
    rows = rows_of(X, given, 3)
    answer = average(Search()(rows))
    clf = NoisyLabelNB().fit(X, given)
    scores = rows.stats @ answer.weights.T + answer.bias
    np.testing.assert_allclose(clf.predict_proba(X)[rows.place], softmax(scores)[0], atol=1e-9)
    assert sum(weight for weight, _ in answer.parts) == pytest.approx(1)
    evidence = clf.explain(X[:3], given[:3])
    np.testing.assert_allclose(
        softmax(np.array([one.total for one in evidence]))[0],
        clf.true_class_proba(X[:3], given[:3]),
    )


@pytest.mark.parametrize("draw", [target, clouds])
def test_planted_noise_is_found_and_undone(draw):
    X, given, true = draw(600, seed=3)
    clf = NoisyLabelNB().fit(X, given)
    plain = NoisyLabelNB(channel="identity").fit(X, given)
    assert clf.score(X, true) >= plain.score(X, true) - 0.005
    after = clf.fit_.details["posterior"]
    doubt = 1 - after[np.arange(600), given]
    wrong = given != true
    assert abs(doubt.mean() - wrong.mean()) < 0.06
    assert doubt[wrong].mean() > 3 * doubt[~wrong].mean()
    np.testing.assert_allclose(after.sum(axis=1), 1)
    np.testing.assert_allclose(clf.noise_matrix_.sum(axis=0), 1)
    joint = np.zeros_like(clf.noise_matrix_)
    np.add.at(joint, (given, true), 1)
    assert np.abs(clf.noise_matrix_ - joint / joint.sum(axis=0)).mean() < 0.05
    np.testing.assert_allclose(clf.class_prior_, after.mean(axis=0))


def test_clean_labels_are_left_alone():
    X, _, true = clouds(400)
    clf = NoisyLabelNB().fit(X, true)
    flagged = clf.fit_.details["posterior"].argmax(axis=1) != true
    assert flagged.mean() < 0.02
    assert clf.score(X, true) >= NoisyLabelNB(channel="identity").fit(X, true).score(X, true) - 0.01


def test_the_doubts_add_up_to_what_the_channel_expects():
    X, given, _ = target(300, flips=(0.2, 0.4))
    rows = rows_of(X, given, 2)
    answer = average(Search()(rows))
    joint = answer.share * answer.fitted[rows.label]
    expected = 1 - (joint / joint.sum(axis=1, keepdims=True))[np.arange(300), rows.label]
    doubt = 1 - (answer.posterior * rows.hard).sum(axis=1)
    assert doubt.sum() == pytest.approx(expected.sum(), rel=1e-9)


def test_missing_cells_and_labels_and_trusted_rows():
    X, given, true = clouds(300, wrong=0.3)
    X[::9, 2] = np.nan
    y = given.astype(object)
    y[250:] = None
    trusted = np.arange(300) < 40
    y[:40] = true[:40]
    clf = NoisyLabelNB().fit(X, y, trusted=trusted)
    after = clf.fit_.details["posterior"]
    np.testing.assert_array_equal(after[:40].argmax(axis=1), true[:40])
    assert (after[:40].max(axis=1) == 1).all()
    assert (after[250:].argmax(axis=1) == true[250:]).mean() > 0.75
    assert np.isfinite(clf.predict_proba(X)).all()


def test_unlabeled_rows_help_where_the_model_is_true():
    scores = []
    for seed in range(4):
        X, given, true = target(1100, seed=seed, flips=(0.2, 0.4))
        y = given.astype(object)
        y[60:] = None
        few = NoisyLabelNB().fit(X[:60], given[:60])
        many = NoisyLabelNB().fit(X, y)
        scores.append((few.score(X[60:], true[60:]), many.score(X[60:], true[60:])))
    few, many = np.mean(scores, axis=0)
    assert many > few


def test_words():
    rng = np.random.default_rng(5)
    true = rng.integers(0, 2, 300)
    rate = rng.gamma(0.3, 1.0, (2, 2000)) * 0.05
    X = sparse.csr_matrix(rng.poisson(rate[true]).astype(float))
    given = np.where(rng.random(300) < 0.2, 1 - true, true)
    clf = NoisyLabelNB().fit(X, given)
    assert clf.score(X, true) > 0.9
    assert clf.model_.weights.shape == (2, 2000)


def test_parts_can_be_left_out():
    X, given, _ = clouds(120)
    for pool, missing in ((Pool(twin=False), "twin"), (Pool(refit=False), "prune")):
        clf = NoisyLabelNB(solver=pool).fit(X, given)
        assert not any(name.startswith(missing) for name, _, _ in clf.fit_.details["candidates"])
    bare = NoisyLabelNB(solver=Pool(twin=False, refit=False, variational=False)).fit(X, given)
    assert {name for name, _, _ in bare.fit_.details["candidates"]} == {"given"}
    assert bare.n_iter_ == 2


def test_it_gives_way_and_says_so():
    X, given, _ = target(15)
    few = NoisyLabelNB().fit(X, given)
    assert "too few" in few.fit_.details["notes"][0]
    np.testing.assert_array_equal(few.noise_matrix_, np.eye(2))
    X, given, _ = target(100)
    known = NoisyLabelNB(channel="flips", solver="pool").fit(X, given)
    assert "EM" in known.fit_.details["notes"][0]


@pytest.mark.parametrize(
    "X", [np.zeros((40, 2)), np.tile([[1.0], [2.0]], (20, 1)), np.arange(40.0)[:, None] ** 8]
)
def test_poor_columns_do_not_break_it(X):
    y = np.arange(40) % 3
    y[0] = 3  # a class of one row
    clf = NoisyLabelNB().fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert np.isfinite(clf.fit_.details["posterior"]).all()
    assert clf.fit_.details["verdict"].level == "cannot tell"
    assert clf.fit_.details["intervals"]["error_rate"].low >= 0


def test_progress_and_history():
    seen = []
    X, given, _ = target(60)
    clf = NoisyLabelNB(progress=lambda *what: seen.append(what)).fit(X, given)
    assert [step for step, _ in seen] == list(range(1, clf.n_iter_ + 1))
    assert (np.diff(clf.history_) >= 0).all()
    assert clf.lower_bound_ == clf.history_[-1] == seen[-1][1]


def test_findings_are_worked_out_when_asked_for_and_survive_a_pickle():
    X, given, _ = target(100)
    clf = NoisyLabelNB().fit(X, given)
    copy = pickle.loads(pickle.dumps(clf))
    assert type(copy.fit_.details) is dict
    assert copy.fit_.details["verdict"] == clf.fit_.details["verdict"]


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


def clumps(seed=0, columns=4):
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, 400)
    X = 0.3 * rng.normal(size=(400, columns)) + 6 * side[:, None]
    return X, np.where(rng.random(400) < 0.25, 1 - side, side)


def unrelated(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(400, 5)), rng.integers(0, 2, 400)


def one_column(seed=0):
    X, y = clumps(seed)
    X[:, 1:] = np.random.default_rng(seed).normal(size=(400, 3))
    X[:, 0] += 2 * np.random.default_rng(seed + 1).normal(size=400)
    return X, y


@pytest.mark.parametrize("draw", [clumps, unrelated, one_column])
def test_it_refuses_a_rate_where_the_data_cannot_tell(draw):
    found = audit(*draw())
    assert found.verdict.level == "cannot tell"
    assert found.verdict.sentences
    assert 0 < len(found.ask) <= 12
    assert set(found.verdict.ask) <= set(range(400))


def test_it_trusts_a_rate_that_the_data_show():
    X, given, true = target(1500, seed=2)
    found = audit(X, given)
    assert found.verdict.level == "trust", found.verdict
    assert len(found.ask) == 0
    assert (given != true).mean() in found.error_rate
    assert found.error_rate.high - found.error_rate.low < 0.12
    assert (found.matrix_low <= found.matrix).all() and (found.matrix <= found.matrix_high).all()


def test_it_names_columns_that_repeat_each_other():
    X, given, _ = target(800, seed=1)
    X[:, 8] = X[:, 6]  # the most telling column, twice
    tests = audit(X, given).verdict.tests
    assert tests["dispersion_z"] > 2
    assert set(tests["repeating_columns"][0][:2]) == {"x6", "x8"}


def test_it_sees_errors_that_depend_on_the_columns():
    X, _, true = target(2000, seed=1)
    given = np.where((X[:, 9] == 1) & (np.random.default_rng(0).random(2000) < 0.4), 1 - true, true)
    tests = audit(X, given).verdict.tests
    assert tests["errors_seen_by_columns_z"] > 3
