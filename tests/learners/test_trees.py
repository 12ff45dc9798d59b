"""Trees as arrays: scikit-learn's numbers, and nothing of columns that tell nothing."""

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from misnomer.learners.trees import forest_of, telling_columns


def test_leaf_shares_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    share = rng.dirichlet(np.ones(3), 300)
    theirs = ExtraTreesRegressor(7, min_samples_leaf=2, random_state=0).fit(X, share)
    new = rng.normal(size=(200, 5)).astype(np.float32)
    new[:20] = X[:20]  # on the edges of leaves
    found = forest_of("trees", theirs.estimators_).leaf_shares(new)
    np.testing.assert_allclose(found, theirs.predict(new), rtol=0, atol=1e-6)  # float32 values


def test_constants_and_copies_are_left_out():
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(50, 4)).astype(np.float32)
    cells[:, 1] = 3.0
    cells[:, 3] = cells[:, 0]
    kept = telling_columns(cells)
    assert sorted(map(float, cells[0, kept])) == sorted(map(float, cells[0, [0, 2]]))
    moved = cells[:, [3, 2, 1, 0]]
    np.testing.assert_array_equal(moved[:, telling_columns(moved)], cells[:, kept])
