"""The pool: its maths against brute force, its answers on planted noise."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad

from misnomer import NoisyLabelNB
from misnomer.kernels.reference import softmax
from misnomer.model import weights_of
from misnomer.solvers.pool import Pool
from misnomer.solvers.pool_average import average
from misnomer.solvers.pool_candidates import Search
from misnomer.solvers.pool_lbfgs import minimise
from misnomer.solvers.pool_objective import Problem
from misnomer.solvers.pool_scores import centered, out_of_fold
from misnomer.solvers.task import tally
from tests.solvers.pooled import LAPLACE, clouds, rows_of, target


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
