"""NLNN and NAL: networks behind a noisy channel, as scikit-learn estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.papers import NAL, NLNN
from misnomer.simulate import draw_zeng
from misnomer.solvers.conditional import Conditional

NETWORKS = [NLNN, NAL]


def table(n=400, seed=0):
    """A mixed table with gaps, its true classes, and labels of which a quarter is wrong."""
    rng = np.random.default_rng(seed)
    z = np.where(rng.random(n) < 0.5, "ill", "well")
    frame = pd.DataFrame(
        {
            "fever": rng.normal(np.where(z == "ill", 39.0, 37.0), 1.0),
            "cough": np.where(rng.random(n) < np.where(z == "ill", 0.8, 0.2), "yes", "no"),
            "ward": rng.choice(["a", "b", "c"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "cough"] = None
    y = np.where(rng.random(n) < 0.25, np.where(z == "ill", "well", "ill"), z)
    return frame, z, y


@parametrize_with_checks([network(tol=1e-5) for network in NETWORKS])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_mixed_table_with_gaps(network):
    X, z, y = table()
    clf = network().fit(X, y)
    assert clf.score(X, z) > 0.85
    assert clf.history_[-1] == clf.lower_bound_ and len(clf.history_) == clf.n_iter_
    np.testing.assert_allclose(clf.noise_matrix_.sum(axis=0), 1.0)
    wrong = clf.error_probability(X, y)
    assert wrong[y != z].mean() > wrong[y == z].mean() + 0.3
    total = np.stack([evidence.total for evidence in clf.explain(X)])
    np.testing.assert_allclose(total, clf.predict_joint_log_proba(X), atol=1e-9)


def test_nal_is_the_conditional_solver():
    X, _, y = table()
    one, other = NAL().fit(X, y), NoisyLabelNB(solver="conditional").fit(X, y)
    np.testing.assert_array_equal(one.model_.weights, other.model_.weights)
    third = NoisyLabelNB(solver=Conditional(penalty=100.0)).fit(X, y)
    np.testing.assert_array_equal(third.model_.weights, NAL(penalty=100.0).fit(X, y).model_.weights)
    assert abs(third.model_.weights).max() < abs(one.model_.weights).max()


def test_without_hidden_layers_both_reach_one_maximum():
    X, _, y = table()
    one, other = (network(tol=1e-8, max_iter=2000).fit(X, y) for network in NETWORKS)
    assert abs(one.lower_bound_ - other.lower_bound_) < 0.01
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=0.01)


def test_the_usual_penalty_grows_with_rows_and_columns():
    run = draw_zeng(1500, diagonal=(0.55, 0.65), random_state=1)
    train, test = slice(0, 500), slice(500, 1500)
    usual, light = (
        NAL(families="bernoulli", **settings).fit(run.X[train], run.given[train])
        for settings in ({}, {"penalty": 1.0})
    )
    assert usual.fit_.penalty == 500 * 500 / 2000
    assert usual.score(run.X[test], run.true[test]) > light.score(run.X[test], run.true[test])
    X, _, y = table()
    assert NAL().fit(X, y).fit_.penalty == 1.0  # 400 rows, 3 columns
    with pytest.raises(ValueError, match='; or say "auto"'):
        NAL(penalty="large").fit(X, y)


@pytest.mark.parametrize("network", NETWORKS)
def test_parameters_reach_the_solver_at_any_time(network):
    clf = network().set_params(penalty=3.0, hidden_layer_sizes=[4])
    assert clf.solver.penalty == 3.0 and clf.solver.hidden == (4,)
    assert clone(clf).solver == clf.solver
    assert not hasattr(clf, "partial_fit")


@pytest.mark.parametrize("network", NETWORKS)
def test_hidden_layers_predict_and_refuse_to_explain(network):
    X, z, y = table(200)
    clf = network(hidden_layer_sizes=(5,), random_state=0, tol=1e-5).fit(X, y)
    assert clf.score(X, z) > 0.8
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    again = clone(clf).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    with pytest.raises(ValueError, match="fit it without hidden layers"):
        clf.explain(X)


@pytest.mark.parametrize("network", NETWORKS)
def test_trusted_rows_and_missing_labels(network):
    X, z, y = table()
    known = np.arange(len(y)) < 100
    partly = np.where(known, z, y).astype(object)
    partly[300:] = None
    clf = network().fit(X, partly, trusted=known)
    assert clf.score(X[300:], z[300:]) > 0.85
