"""One clear sentence for every mistake."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from misnomer import NoisyLabelNB
from misnomer.channel import Channel

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
Y = np.arange(20) % 2


def frame(**columns):
    return pd.DataFrame({"age": X[:, 0], **columns})


@pytest.mark.parametrize(
    ("table", "labels", "options", "words"),
    [
        (np.where(np.arange(40).reshape(20, 2) == 7, np.inf, X), Y, {}, "'x1' .* row 3"),
        (frame(z=np.r_[X[:19, 1], -np.inf]), Y, {}, "'z' .* row 19"),
        (X - 10, Y, {"families": "count"}, "column 'x0' .* cannot be negative"),
        (sparse.csr_array([[0, -1], [1, 0]]), [0, 1], {"families": "count"}, "row 0, column 1"),
        (np.zeros((0, 2)), [], {}, "0 sample"),
        (frame()[:0], [], {}, "no rows"),
        (X, np.zeros(20), {}, "one class only"),
        (X, [None] * 20, {}, "every label is missing"),
        (X, Y[:19], {}, "20 rows but y has 19"),
        (X[:2], ["a", "b"], {"families": "poisson"}, '"poisson" is no family'),
        (frame(), Y, {"families": {"size": "gaussian"}}, "not there: size"),
        (frame(t=["a b"] * 20), Y, {"families": {"t": "gaussian"}}, "'t' holds 'a b', which is no"),
        (frame(t=list("abcde") * 4), Y, {"families": {"t": "bernoulli"}}, "'t' has 5 values"),
        (X, Y, {"channel": [[0.9, 0.2], [0.2, 0.8]]}, "column 0 .* sums to 1.1"),
        (X, Y, {"channel": np.eye(3)}, "3 rows but y holds 2"),
        (X, Y, {"channel": "noisy"}, "channel must be"),
        (X, Y, {"smoothing": "lots"}, "smoothing must be"),
        (X, Y, {"smoothing": -1.0}, "0 or more"),
        (X, Y, {"solver": "magic"}, "solver must be"),
        (X, np.r_[Y[:19], 0.5], {}, "Unknown label type"),
        (frame(f=[{"a": 1}] * 20), Y, {}, "'f' holds objects of named values"),
        (X, Y, {"max_iter": -3}, "max_iter must be a whole number of 1 or more, not -3"),
        (X, Y, {"max_iter": "all"}, "max_iter must be a whole number"),
        (X, Y, {"n_init": 0}, "n_init must be a whole number of 1 or more, not 0"),
        (X, Y, {"tol": -1.0}, "tol must be a number of 0 or more, not -1.0"),
        (X, Y, {"tol": "fine"}, "tol must be a number"),
    ],
)
def test_fit_refuses(table, labels, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        NoisyLabelNB(**options).fit(table, labels)


@pytest.mark.parametrize(
    ("weight", "words"),
    [(-np.ones(20), "[Nn]egative"), (np.zeros(20), "every sample weight is zero")],
)
def test_weights_are_checked(weight, words):
    with pytest.raises(ValueError, match=words):
        NoisyLabelNB().fit(X, Y, sample_weight=weight)


def test_more_classes_than_rows_cannot_be():
    channel = Channel(np.eye(3), np.zeros((3, 3), bool), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="3 given labels"):
        NoisyLabelNB(channel=channel).fit(X, Y)


def test_a_column_without_values_is_ignored_and_said_once():
    table = frame(empty=np.full(20, None), same=["a"] * 20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = NoisyLabelNB().fit(table, Y)
    said = [str(w.message) for w in caught if w.category is UserWarning]
    assert said == [
        "column 'empty' holds no value at all: it is ignored",
        "column 'same' has the same value in every row: it tells nothing",
    ]
    assert np.isfinite(clf.predict_proba(table)).all()


def test_an_identifier_is_ignored():
    table = pd.DataFrame({"id": [f"p{i:03}" for i in range(80)], "z": rng.normal(size=80)})
    with pytest.warns(UserWarning, match="'id' has a value of its own in every row"):
        clf = NoisyLabelNB().fit(table, np.arange(80) % 2)
    assert clf.model_.schema.columns[0].kind == "ignored"


def test_70_000_categories_need_to_be_insisted_on():
    value = [f"v{i % 70_000}" for i in range(70_500)]
    table, y = pd.DataFrame({"city": value}), np.arange(70_500) % 2
    with pytest.raises(ValueError, match=r"column 'city' has 70,000 categories"):
        NoisyLabelNB().fit(table, y)
    clf = NoisyLabelNB(channel="identity", families={"city": "categorical"}).fit(table, y)
    assert clf.predict_proba(table[:5]).shape == (5, 2)


def test_predict_checks_its_columns_and_labels():
    clf = NoisyLabelNB().fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but NoisyLabelNB is expecting 2"):
        clf.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="row 1 has the label 7, which the model does not know"):
        clf.error_probability(X[:2], [0, 7])
    with pytest.raises(ValueError, match=r"trusted names row 99"):
        NoisyLabelNB().fit(X, Y, trusted=[99])
