"""partial_fit is fit, where labels are taken as true; it remembers, and refuses other classes."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectFromModel

from misnomer import NoisyLabelClassifier, NoisyLabelNB
from misnomer.smoothing import m_estimate
from misnomer.store import load_model, save_model

RNG = np.random.default_rng(3)
N = 90
Y = RNG.integers(0, 3, N)
REALS = RNG.normal(size=(N, 3)) * [1, 1e-3, 50] + 40 * Y[:, None]  # far apart: shares underflow
FORMS = {
    "gaussian": REALS,
    "count": sparse.csr_array(RNG.poisson(1 + 30 * (np.arange(5) == Y[:, None]))),
    "bernoulli": (RNG.random((N, 6)) < 0.1 + 0.4 * Y[:, None]).astype(int),
    "categorical": np.column_stack([Y * 7, RNG.integers(0, 4, N)]),
}
SMOOTHING = ["auto", "none", "laplace", 0.1, m_estimate(2.0)]


@pytest.mark.parametrize("smoothing", SMOOTHING, ids=str)
@pytest.mark.parametrize("family", FORMS)
@pytest.mark.parametrize("cuts", [[N], [30, 60], [1, 2, 89]])
def test_some_rows_after_others_are_all_rows(family, smoothing, cuts):
    X = FORMS[family]
    options = {"channel": "identity", "families": family, "smoothing": smoothing}
    whole = NoisyLabelNB(**options).fit(X, Y)
    parts = NoisyLabelNB(**options)
    for start, stop in zip([0, *cuts], [*cuts, N], strict=True):
        if stop > start:
            parts.partial_fit(X[start:stop], Y[start:stop], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(parts.class_count_, whole.class_count_)


NEAR = RNG.normal(size=(N, 3)) + Y[:, None]
MIXED = pd.DataFrame(
    {
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(7 * Y + np.arange(N) % 9, "D"),
        "site": np.array(list("abc"))[(Y + np.arange(N) // 20) % 3],
        "age": np.where(np.arange(N) % 6, NEAR[:, 0], np.nan),
    }
)
LATER = {
    "embedding": pd.DataFrame({"e": list(NEAR), "site": MIXED["site"]}),
    "hashed words": sparse.csr_array(np.where(NEAR > 0.5, NEAR, np.minimum(NEAR, 0).round())),
    "words below zero later": sparse.csr_array(
        np.where(np.arange(N)[:, None] < 40, abs(NEAR), NEAR).round()
    ),
    "mixed": MIXED,
    "other order": MIXED,
}


@pytest.mark.parametrize("weight", [None, np.arange(N) % 4 + 0.5], ids=["even", "weighted"])
@pytest.mark.parametrize("form", LATER)
def test_later_rows_are_read_as_the_first_ones_were(form, weight):
    X = LATER[form]
    parts = NoisyLabelNB(channel="identity")
    for at in (slice(0, 40), slice(40, 90)):
        own = None if weight is None else weight[at]
        some = X.iloc[at] if hasattr(X, "iloc") else X[at]
        if form == "other order" and at.start:
            some = some[["age", "site", "when"]]
        parts.partial_fit(some, Y[at], classes=[0, 1, 2], sample_weight=own)
    whole = NoisyLabelNB(channel="identity").fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-8)


def test_what_later_rows_cannot_add_is_said():
    texts = [f"the {'cat' if one else 'dog'} sat here w{i}" for i, one in enumerate(Y)]
    with pytest.warns(UserWarning, match="column 'text': the words are those of the first call"):
        NoisyLabelNB(channel="identity").partial_fit(texts, Y)
    first = NoisyLabelNB(channel="identity").partial_fit(MIXED[["site"]], Y)
    with pytest.raises(ValueError, match=r"'site' holds 1 \(int\), where the rows before hold 'a'"):
        first.partial_fit(pd.DataFrame({"site": [1, 2]}), [0, 1])
    with pytest.raises(ValueError, match="column 'when' of the training"):
        NoisyLabelNB(channel="identity").partial_fit(MIXED, Y).partial_fit(MIXED[["age"]], Y)


@pytest.mark.parametrize("channel", ["identity", "uniform"])
def test_a_fit_is_remembered(channel):
    X = REALS / [1, 1e-3, 50]
    first = NoisyLabelNB(channel=channel).fit(X[:60], Y[:60])
    before = first.class_count_.copy()
    first.partial_fit(X[60:], Y[60:])
    assert first.class_count_.sum() == pytest.approx(N)
    assert (first.class_count_ >= before).all()
    if channel == "identity":
        whole = NoisyLabelNB(channel=channel).fit(X, Y)
        np.testing.assert_allclose(first.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_other_classes_and_unknown_labels_are_refused():
    classifier = NoisyLabelNB(channel="identity").partial_fit(REALS, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        classifier.partial_fit(REALS, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"The target label\(s\) \[7\] in y do not exist"):
        classifier.partial_fit(REALS[:1], [7])


def test_a_column_keeps_its_family():
    few = pd.DataFrame({"a": [0, 1, 2, 0], "b": [1.5, 2.5, 3.5, 0.5]})
    more = pd.DataFrame({"a": range(30), "b": np.arange(30) / 7})
    classifier = NoisyLabelNB(channel="identity").partial_fit(few, [0, 1, 1, 0])
    classifier.partial_fit(more, [0, 1] * 15)
    column = classifier.model_.schema.columns[0]
    assert (column.kind, len(column.categories)) == ("categorical", 30)


def test_what_keeps_no_sums_says_so(tmp_path):
    classifier = NoisyLabelNB(channel="identity").fit(REALS, Y)
    again = load_model(save_model(classifier, tmp_path / "model.safetensors"))
    with pytest.raises(ValueError, match="keeps no sums to go on from"):
        again.partial_fit(REALS, Y)


class TestWhatUsersOfScikitLearnExpect:
    def test_priors(self):
        X = REALS / [1, 1e-3, 50]
        fit = NoisyLabelNB(channel="identity", class_prior=[0.2, 0.3, 0.5]).fit(X, Y)
        np.testing.assert_array_equal(fit.class_prior_, [0.2, 0.3, 0.5])
        even = NoisyLabelNB(channel="identity", fit_prior=False).fit(REALS, Y)
        np.testing.assert_allclose(even.class_prior_, 1 / 3)
        learned = NoisyLabelNB(channel="identity").fit(X, Y)
        ratio = fit.predict_joint_log_proba(X) - learned.predict_joint_log_proba(X)
        want = np.log([0.2, 0.3, 0.5]) - np.log(learned.class_prior_)
        np.testing.assert_allclose(ratio, np.tile(want, (N, 1)), atol=1e-6)
        for prior, why in [
            ([1.0], "Number of priors"),
            ([2, -1, 0], "non-negative"),
            ([1] * 3, "1"),
        ]:
            with pytest.raises(ValueError, match=why):
                NoisyLabelNB(class_prior=prior, channel="identity").fit(REALS, Y)

    def test_a_number_for_each_column(self):
        X = np.array([[1, 0], [1, 1]])
        fit = NoisyLabelNB(channel="identity", families="count", smoothing=[1, 2]).fit(X, [0, 1])
        np.testing.assert_allclose(np.exp(fit.feature_log_prob_), [[0.5, 0.5], [0.4, 0.6]])
        for wrong, why in [([1, -2], "0 or more"), ([1, 2, 3], "3 numbers, but X has 2 columns")]:
            with pytest.raises(ValueError, match=why):
                NoisyLabelNB(channel="identity", smoothing=wrong).fit(X, [0, 1])

    def test_categories_that_do_not_occur(self):
        X = np.array([[0, 1], [1, 0], [0, 0]])
        fit = NoisyLabelNB(channel="identity", min_categories=[2, 4]).fit(X, [0, 1, 1])
        assert [len(c.categories) for c in fit.model_.schema.columns] == [2, 4]
        assert [part.shape for part in fit.feature_log_prob_] == [(2, 2), (2, 4)]
        with pytest.raises(ValueError, match=r"'min_categories' should have shape \(2,\)"):
            NoisyLabelNB(channel="identity", min_categories=[2.5, 1]).fit(X, [0, 1, 1])

    def test_hashed_words_have_signs(self, tmp_path):
        texts = ["good fine nice", "bad sad awful", "fine good day", "awful bad night"] * 5
        X = HashingVectorizer(n_features=64).transform(texts)
        assert X.min() < 0
        y = [0, 1, 0, 1] * 5
        fit = NoisyLabelNB(channel="identity").fit(X, y)
        assert fit.score(X, y) == 1.0
        again = load_model(save_model(fit, tmp_path / "model.safetensors"))
        np.testing.assert_array_equal(again.predict_proba(X), fit.predict_proba(X))
        with pytest.raises(ValueError, match="features"):
            fit.predict(X[:, :32])
        with pytest.raises(ValueError, match="Negative values"):
            NoisyLabelNB(families="count").fit(X, y)

    def test_importances_choose_columns(self):
        X = np.column_stack([RNG.normal(size=N), REALS[:, 0], RNG.normal(size=N)])
        fit = NoisyLabelNB(channel="identity").fit(X, Y)
        assert fit.feature_importances_.argmax() == 1
        assert SelectFromModel(fit, prefit=True).get_support().tolist() == [False, True, False]
        mixed = pd.DataFrame({"n": X[:, 0], "c": Y.astype(str), "t": ["so it goes now"] * N})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = NoisyLabelNB(channel="identity").fit(mixed, Y).feature_importances_
        assert told.argmax() == 1
        assert told[1] <= np.log(3) + 1e-9
        with pytest.raises(AttributeError, match="flags, counts or categories alone"):
            _ = fit.feature_log_prob_

    @pytest.mark.parametrize("rows", [90, 700])
    def test_importances_of_the_default_choose_columns(self, rows):
        rng = np.random.default_rng(0)
        true = rng.integers(0, 2, rows)
        X = rng.normal(size=(rows, 3)) + 2.0 * true[:, None] * [0, 1, 0]
        given = np.where(rng.random(rows) < 0.2, 1 - true, true)
        fit = NoisyLabelClassifier().fit(X, given)
        assert SelectFromModel(fit, prefit=True).get_support().tolist() == [False, True, False]
        assert (fit.feature_importances_ >= 0).all()
        if rows == 700:  # enough to tell classes behind the wrong labels
            of_labels = NoisyLabelNB(channel="identity").fit(X, given).feature_importances_
            assert fit.feature_importances_[1] > 1.2 * of_labels[1]
        assert SelectFromModel(NoisyLabelClassifier()).fit(X, given).get_support().sum() == 1

    def test_one_class_is_a_class_where_labels_are_true(self):
        fit = NoisyLabelNB(channel="identity").fit(REALS, ["only"] * N)
        assert set(fit.predict(REALS)) == {"only"}
        with pytest.raises(ValueError, match="one class only"):
            NoisyLabelNB().fit(REALS, ["only"] * N)

    def test_tags_follow_parameters(self):
        tags = NoisyLabelNB(families="count", channel=np.eye(2)).__sklearn_tags__()
        assert tags.input_tags.positive_only
        assert not tags.input_tags.categorical
        assert NoisyLabelNB().__sklearn_tags__().input_tags.categorical

    @pytest.mark.parametrize(
        "options",
        [
            {"channel": "identity"},
            {"channel": "uniform"},
            {"channel": "flips", "solver": "moments"},
            {"channel": "uniform", "solver": "variational"},
            {"channel": "uniform", "solver": "conditional"},
        ],
        ids=lambda options: options.get("solver", options["channel"]),
    )
    def test_nothing_random_draws_nothing(self, options):
        before = np.random.get_state()[2], np.random.get_state()[1].tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            NoisyLabelNB(**options, random_state=None).fit(FORMS["bernoulli"], Y > 0)
        assert (np.random.get_state()[2], np.random.get_state()[1].tolist()) == before

    def test_a_solver_with_settings_is_of_a_type_that_is_asked_for(self):
        for name in ("solver", "smoothing"):
            said = str(inspect.signature(NoisyLabelNB).parameters[name].annotation)
            assert {"solver": "Callable", "smoothing": "Sequence"}[name] in said
