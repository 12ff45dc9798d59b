"""Trees as arrays: scikit-learn's numbers, and nothing of columns that tell nothing."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
)

from misnomer.learners import trees
from misnomer.learners.learner import centered
from misnomer.learners.trees import (
    Trees,
    averaged_trees,
    boosting,
    cuts_of,
    forest,
    log_shares,
    telling_columns,
)


def test_leaf_shares_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    share = rng.dirichlet(np.ones(3), 300)
    theirs = ExtraTreesRegressor(7, min_samples_leaf=2, random_state=0).fit(X, share)
    new = rng.normal(size=(200, 5)).astype(np.float32)
    new[:20] = X[:20]  # on the edges of leaves
    found = averaged_trees("trees", [one.tree_ for one in theirs.estimators_]).cell_scores(new)
    wanted = log_shares(theirs.predict(new))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)  # float32 values


@pytest.mark.parametrize("classes", [2, 4])
def test_boosted_scores_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5)).round(1).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0) + (classes - 2) * (X[:, 2] > 0)
    found = boosting(Trees(), X, np.eye(classes)[y], trees.ROUNDS).cell_scores(X)
    theirs = HistGradientBoostingClassifier(
        max_iter=trees.ROUNDS, max_leaf_nodes=trees.ROUND_LEAVES,
        l2_regularization=trees.LEAF_RIDGE, early_stopping=False, random_state=0,
    ).fit(X, y)  # fmt: skip
    logits = theirs.decision_function(X) - theirs._baseline_prediction.ravel()
    wanted = np.stack([-logits / 2, logits / 2], axis=1) if classes == 2 else centered(logits)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


def test_many_values_are_cut_evenly_however_often_they_occur():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 3)).astype(np.float32)
    cuts = cuts_of(X[:, 0])
    held = np.bincount(np.searchsorted(cuts, X[:, 0]))
    assert len(held) == trees.MOST_CUTS + 1
    assert held.min() >= 3 and held.max() <= 4
    np.testing.assert_array_equal(cuts_of(X[:, 0].repeat(rng.integers(1, 9, 900))), cuts)
    share = np.eye(2)[(X[:, 0] + X[:, 1] > 0).astype(int)]
    found = boosting(Trees(), X, share, trees.ROUNDS).cell_scores(X)
    assert (found.argmax(axis=1) == share.argmax(axis=1)).mean() > 0.95


def test_cuts_lie_between_values_that_are_next_to_each_other():
    first = np.float32(1.0)
    column = np.array([first, np.nextafter(first, np.float32(2.0))], np.float32)
    assert np.searchsorted(cuts_of(column), column).tolist() == [0, 1]
    assert len(cuts_of(np.ones(5, np.float32))) == 0


def test_a_class_that_a_fold_lacks_is_the_least_likely():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    share = np.eye(4)[np.where(X[:, 0] > 0, 1, 3)]
    scores = boosting(Trees(), X, share, trees.ROUNDS).cell_scores(X)
    assert (scores.argmax(axis=1) == share.argmax(axis=1)).all()
    assert (scores[:, [0, 2]].max(axis=1) < scores[:, [1, 3]].min(axis=1)).all()


@pytest.mark.parametrize(("grow", "count"), [(forest, 30), (boosting, 30)])
def test_rows_shared_out_weigh_by_their_shares(grow, count):
    """A row that is mostly of one class teaches that class."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 2)).astype(np.float32)
    share = np.where(X[:, :1] * X[:, 1:] > 0, [[0.8, 0.2]], [[0.2, 0.8]])
    found = grow(Trees(), X, share, count).cell_scores(X).argmax(axis=1)
    assert (found == share.argmax(axis=1)).mean() > 0.9


def test_constants_and_copies_are_left_out():
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(50, 4)).astype(np.float32)
    cells[:, 1] = 3.0
    cells[:, 3] = cells[:, 0]
    kept = telling_columns(cells)
    assert sorted(map(float, cells[0, kept])) == sorted(map(float, cells[0, [0, 2]]))
    moved = cells[:, [3, 2, 1, 0]]
    np.testing.assert_array_equal(moved[:, telling_columns(moved)], cells[:, kept])


def test_a_forest_is_the_ensemble_of_scikit_learn():
    """The same seeds, drawn the same way: tree by tree the same splits and leaves."""
    rng = np.random.default_rng(4)
    cells, label = rng.normal(size=(90, 4)).astype(np.float32), rng.integers(3, size=90)
    weight = rng.uniform(0.5, 2.0, 90)
    found = trees.forest(trees.Trees(), cells, np.eye(3)[label] * weight[:, None], 7)
    grower = ExtraTreesClassifier(7, min_samples_leaf=3, max_features="sqrt", random_state=0)
    grower.fit(cells, label, sample_weight=weight)
    wanted = trees.averaged_trees("trees", [one.tree_ for one in grower.estimators_])
    for name, value in wanted.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], value)
