"""The Combined Bayes Test and its quantizer as scikit-learn users meet them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from misnomer.papers import CombinedBayesTest
from misnomer.papers.lynch import BestQuantizer, inner_edges
from tests.solvers.exact.arrangements import evidence

SYMBOLS = list("aaabbbbc")
LABELS = ["sick"] * 4 + ["well"] * 4
COUNTS = ((3, 1, 0), (0, 3, 1))


@parametrize_with_checks(
    [CombinedBayesTest(), CombinedBayesTest(alpha=(0.1, 0.3)), BestQuantizer()]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def log_odds(test, alpha, symbols=3, dirichlet=1.0):
    """Formula (5) by brute force, in favor of the second class."""
    counts = tuple(row + (0,) * (symbols - 3) for row in COUNTS)
    seen = [evidence(counts, test, truth, alpha, [dirichlet] * symbols) for truth in (0, 1)]
    return np.log(seen[1] / seen[0])


@pytest.mark.parametrize("alpha", [(0.0, 0.0), (0.1, 0.1), (0.05, 0.4)])
@pytest.mark.parametrize("dirichlet", [1.0, 0.5])
def test_one_column_is_the_test_of_the_paper(alpha, dirichlet):
    model = CombinedBayesTest(alpha, dirichlet=dirichlet).fit(SYMBOLS, LABELS)
    expected = [log_odds(row, alpha, dirichlet=dirichlet) for row in np.eye(3, dtype=int).tolist()]
    np.testing.assert_allclose(model.decision_function(list("abc")), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(list("abc")), np.take(["sick", "well"], [0, 1, 1]))


def test_probabilities_follow_the_odds_and_the_prior():
    model = CombinedBayesTest(0.1, class_prior=(0.9, 0.1)).fit(SYMBOLS, LABELS)
    odds = log_odds((0, 1, 0), (0.1, 0.1)) + np.log(0.1 / 0.9)
    proba = model.predict_proba(["b"])
    assert proba[0, 1] == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(["b"])), proba)
    assert model.predict(["b"]) == ["sick"]


def test_several_rows_of_one_class_are_weighed_together():
    alpha = (0.1, 0.2)
    model = CombinedBayesTest(alpha).fit(SYMBOLS, LABELS)
    together = model.batch_decision(list("bab"))
    assert together == pytest.approx(log_odds((1, 2, 0), alpha), abs=1e-12)
    assert together != pytest.approx(model.decision_function(list("bab")).sum(), abs=1e-3)
    assert model.batch_decision(["c"]) == pytest.approx(model.decision_function(["c"])[0])
    assert model.predict_batch(list("bbc")) == "well"
    assert model.predict_batch_proba(list("bbc")).sum() == pytest.approx(1.0)


def test_a_symbol_not_seen_in_training_has_zero_rows_where_there_is_room():
    alpha = (0.1, 0.3)
    model = CombinedBayesTest(alpha, n_symbols=5).fit(SYMBOLS, LABELS)
    expected = log_odds((0, 0, 0, 1, 0), alpha, symbols=5)
    assert model.decision_function(["d"])[0] == pytest.approx(expected, abs=1e-12)
    expected = log_odds((0, 1, 0, 2, 1), alpha, symbols=5)
    assert model.batch_decision(list("dbde")) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="Column 0 shows 'f', one symbol more than n_symbols=5"):
        model.predict(list("def"))


def test_a_symbol_not_seen_in_training_tells_nothing_where_there_is_none():
    model = CombinedBayesTest((0.1, 0.3)).fit(SYMBOLS, LABELS)
    assert model.decision_function(["d"])[0] == 0.0
    assert model.batch_decision(list("bd")) == pytest.approx(model.batch_decision(["b"]))


def test_columns_add_up():
    X = np.array([SYMBOLS, list("xyxyxxyy")]).T
    both = CombinedBayesTest(0.1).fit(X, LABELS)
    alone = [
        CombinedBayesTest(0.1).fit(X[:, [j]], LABELS).decision_function(X[:, [j]]) for j in (0, 1)
    ]
    np.testing.assert_allclose(both.decision_function(X), np.sum(alone, axis=0), atol=1e-12)
    assert both.batch_decision(X[:2]) != 0.0


def test_whole_weights_repeat_rows():
    weights = [1, 2, 0, 3, 1, 1, 2, 1]
    weighted = CombinedBayesTest(0.1).fit(SYMBOLS, LABELS, sample_weight=weights)
    repeated = CombinedBayesTest(0.1).fit(np.repeat(SYMBOLS, weights), np.repeat(LABELS, weights))
    np.testing.assert_array_equal(weighted.counts_[0], repeated.counts_[0])


@pytest.mark.parametrize(
    "X",
    [
        np.array(SYMBOLS),
        pd.Series(SYMBOLS),
        pd.DataFrame({"symbol": SYMBOLS}),
        pd.Series([ord(s) for s in SYMBOLS]),
        [[s] for s in SYMBOLS],
        np.array([ord(s) for s in SYMBOLS], dtype=float).reshape(-1, 1),
        np.array([1 if s == "a" else s for s in SYMBOLS], dtype=object),
    ],
    ids=["array", "series", "frame", "whole", "lists", "floats", "mixed"],
)
def test_symbols_may_come_in_any_form(X):
    expected = CombinedBayesTest(0.1).fit(SYMBOLS, LABELS).decision_function(SYMBOLS)
    model = CombinedBayesTest(0.1).fit(X, LABELS)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)


def test_clone_and_pickle():
    model = CombinedBayesTest(0.1, dirichlet=[0.5, 1.0, 2.0]).fit(SYMBOLS, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(SYMBOLS), model.predict_proba(SYMBOLS))
    assert clone(model).get_params()["dirichlet"] == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CombinedBayesTest(0.5).fit(SYMBOLS, LABELS), r"alpha must lie in \[0, 1/2\)"),
        (lambda: CombinedBayesTest().fit(SYMBOLS, [0] * 8), "one class only"),
        (lambda: CombinedBayesTest().fit(SYMBOLS, [0, 1, 2, 0, 1, 2, 0, 1]), "Only binary"),
        (lambda: CombinedBayesTest(n_symbols=1).fit(SYMBOLS, LABELS), "M = 1 symbols are too few"),
        (lambda: CombinedBayesTest(n_symbols=2).fit(SYMBOLS, LABELS), "too few: give at least 3"),
        (lambda: CombinedBayesTest(n_symbols=[3, 3]).fit(SYMBOLS, LABELS), "one per column"),
        (lambda: CombinedBayesTest().fit(["a"] * 8, LABELS), "one symbol only"),
        (lambda: CombinedBayesTest(class_prior=(1, 0)).fit(SYMBOLS, LABELS), "class_prior"),
        (lambda: CombinedBayesTest(dirichlet=-1).fit(SYMBOLS, LABELS), "dirichlet"),
        (lambda: CombinedBayesTest().fit(SYMBOLS, LABELS, [0.5] * 8), "whole numbers"),
        (lambda: CombinedBayesTest().fit(["a", None] * 4, LABELS), "missing"),
        (lambda: CombinedBayesTest().fit(SYMBOLS, LABELS).predict(["a", None]), "missing"),
        (lambda: CombinedBayesTest().fit([1.0] * 8, LABELS), "Expected 2D array"),
        (lambda: CombinedBayesTest.probability_of_error(4, 100), "too large for exact"),
        (lambda: BestQuantizer(alpha=0.7).fit([[1.0], [2.0]]), r"alpha must lie in \[0, 1/2\)"),
        (lambda: BestQuantizer(n_per_class=-3).fit([[1.0], [2.0]]), "N must be"),
    ],
)
def test_bad_input_gets_a_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_class_offers_the_error_and_the_best_quantization():
    assert round(CombinedBayesTest.probability_of_error(4, 10, 0.05), 5) == 0.32723
    assert CombinedBayesTest.best_quantization(5, 0.1) == 3


@pytest.mark.parametrize(
    ("options", "y", "bins", "method"),
    [
        ({}, np.repeat([0, 1], 10), 4, "exact"),
        ({"alpha": 0.25}, None, 3, "exact"),
        ({"n_per_class": 1000}, None, 32, "own-counts"),
        ({"n_per_class": (40, 400), "alpha": (0.0, 0.1)}, None, 9, "own-counts"),
        ({}, np.arange(20) % 3, 4, "exact"),
    ],
)
def test_the_quantizer_finds_the_number_of_bins(options, y, bins, method):
    model = BestQuantizer(**options).fit(np.arange(20.0).reshape(-1, 1), y)
    assert (model.n_bins_, model.method_) == (bins, method)


def test_bins_are_equally_full_and_never_empty():
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[:, 1] = np.maximum(X[:, 1], 0)  # half of it is zero
    codes = BestQuantizer(n_per_class=50).fit_transform(X)
    np.testing.assert_array_equal(np.bincount(codes[:, 0]), [50] * 8)
    assert np.all(np.bincount(codes[:, 1]) > 0)
    assert inner_edges(np.zeros(5), 4).size == 0


def test_in_a_pipeline_on_measurements_with_wrong_labels():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 300)
    X = rng.normal(loc=truth[:, None] * 2.0, size=(600, 2))
    given = np.where(rng.random(600) < 0.2, 1 - truth, truth)
    model = make_pipeline(BestQuantizer(alpha=0.2), CombinedBayesTest(alpha=0.2))
    assert np.mean(model.fit(X, given).predict(X) == truth) > 0.9
    assert cross_val_score(model, X, given).mean() > 0.7
