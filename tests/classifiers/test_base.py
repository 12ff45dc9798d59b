"""The scikit-learn face: its contract, known numbers, and answers equal to scikit-learn's."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from misnomer import Logistic, NoisyLabelClassifier, NoisyLabelNB
from misnomer.channel import Channel, unlabeled
from misnomer.classifiers.choose import warn_of_search

PLAIN = {"channel": "identity", "solver": "counts"}
TENNIS = """
Sunny Hot High Weak No
Sunny Hot High Strong No
Overcast Hot High Weak Yes
Rain Mild High Weak Yes
Rain Cool Normal Weak Yes
Rain Cool Normal Strong No
Overcast Cool Normal Strong Yes
Sunny Mild High Weak No
Sunny Cool Normal Weak Yes
Rain Mild Normal Weak Yes
Sunny Mild Normal Strong Yes
Overcast Mild High Strong Yes
Overcast Hot Normal Weak Yes
Rain Mild High Strong No
"""


@pytest.mark.parametrize(
    "estimator", [NoisyLabelNB(), NoisyLabelNB(channel="identity"), NoisyLabelNB(solver="em")]
)
def test_check_estimator(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [r for r in results if r["status"] not in ("passed", "skipped")]
    # Searches end within their tolerance, and rounding takes another way there where rows are
    # repeated; the laws of weights are tested to what that allows in tests/head and tests/learners.
    near = "check_sample_weight_equivalence"
    assert not [one for one in failed if not one["check_name"].startswith(near)], failed


def test_play_tennis():
    table = np.array([line.split() for line in TENNIS.strip().splitlines()], dtype=object)
    clf = NoisyLabelNB(**PLAIN, smoothing="none").fit(table[:, :4], table[:, 4])
    day = np.array([["Sunny", "Cool", "High", "Strong"]], dtype=object)
    no, yes = np.exp(clf.predict_joint_log_proba(day))[0]
    assert round(yes, 4) == 0.0053
    assert round(no, 4) == 0.0206
    assert clf.predict(day).tolist() == ["No"]


def some_rows(rng, K=3, n=400, d=7):
    y = rng.integers(K, size=n)
    return y, rng.random((n, d)) < (0.2 + 0.2 * y[:, None])


@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_categorical_nb(weighted):
    rng = np.random.default_rng(0)
    y, flips = some_rows(rng)
    X = (flips + rng.integers(3, size=flips.shape)).astype(np.uint8)
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    ours = NoisyLabelNB(**PLAIN, smoothing=0.7).fit(X, y, weight)
    theirs = CategoricalNB(alpha=0.7).fit(X, y, weight)
    same(ours, theirs, X)


def test_agrees_with_bernoulli_nb():
    y, X = some_rows(np.random.default_rng(1))
    ours = NoisyLabelNB(**PLAIN, smoothing=0.3, families="bernoulli").fit(X, y)
    same(ours, BernoulliNB(alpha=0.3).fit(X, y), X)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, np.asarray])
def test_agrees_with_multinomial_nb(form):
    y, X = some_rows(np.random.default_rng(2))
    X = form(X * np.random.default_rng(3).integers(1, 5, X.shape))
    ours = NoisyLabelNB(**PLAIN, smoothing=1.0, families="count").fit(X, y)
    same(ours, MultinomialNB().fit(X, y), X)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_agrees_with_gaussian_nb(shift, kind):
    rng = np.random.default_rng(4)
    y, flags = some_rows(rng)
    X = (rng.normal(size=flags.shape) + flags + (shift if kind is np.float64 else 0)).astype(kind)
    ours = NoisyLabelNB(**PLAIN, smoothing=1.0).fit(X, y)
    theirs = GaussianNB().fit(X.astype(np.float64), y)
    tolerance = 1e-10 if shift == 0 else 1e-6  # at a shift of 1e6, theirs has lost the digits
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(X.astype(np.float64)), atol=tolerance
    )


def same(ours, theirs, X):
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert (ours.predict(X) == theirs.predict(X)).all()


def mixed_frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    sick = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 20 * sick, 8),
            "sex": rng.choice(["f", "m"], n),
            "smokes": rng.random(n) < 0.2 + 0.5 * sick,
            "visits": rng.integers(0, 4, n) + 2 * sick,
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame["sex"] = frame["sex"].where(np.arange(n) % 5 > 0)
    return frame, np.where(sick, "sick", "well")


def test_every_kind_of_frame_gives_the_same_answer():
    frame, y = mixed_frame()
    records = frame.astype(object).where(frame.notna(), None)
    forms = [
        frame,
        pl.DataFrame(records.to_dict("list"), strict=False),
        pa.Table.from_pandas(frame, preserve_index=False),
        records.to_numpy(),
    ]
    answers = [NoisyLabelNB(**PLAIN).fit(X, y).predict_proba(X) for X in forms]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-9)
    kinds = [c.kind for c in NoisyLabelNB(**PLAIN).fit(frame, y).model_.schema.columns]
    assert kinds == ["gaussian", "categorical", "categorical", "categorical"]


def test_columns_in_another_order_are_matched_by_name():
    frame, y = mixed_frame()
    clf = NoisyLabelNB(**PLAIN).fit(frame, y)
    np.testing.assert_array_equal(
        clf.predict_proba(frame), clf.predict_proba(frame[["visits", "sex", "age", "smokes"]])
    )
    with pytest.raises(ValueError, match="column 'age' of the training data is missing"):
        clf.predict(frame.drop(columns="age"))


def test_unseen_categories_and_missing_cells_carry_no_evidence():
    frame, y = mixed_frame()
    clf = NoisyLabelNB(**PLAIN).fit(frame, y)
    nothing = pd.DataFrame(
        {"age": [np.nan], "sex": ["x"], "smokes": pd.array([None], "boolean"), "visits": [99]}
    )
    np.testing.assert_allclose(clf.predict_proba(nothing)[0], clf.class_prior_, rtol=1e-12)


def test_noise_is_found_and_explained():
    frame, y = mixed_frame(2000, seed=1)
    rng = np.random.default_rng(2)
    wrong = rng.random(2000) < 0.15
    given = np.where(wrong, np.where(y == "sick", "well", "sick"), y)
    clf = NoisyLabelNB(solver="em").fit(frame, given)
    doubt = clf.error_probability(frame, given)
    assert doubt[wrong].mean() > 3 * doubt[~wrong].mean()
    share = clf.true_class_proba(frame, given)
    np.testing.assert_allclose(doubt, 1 - share[np.arange(2000), (given == "well") * 1], atol=1e-12)
    np.testing.assert_allclose(clf.noise_matrix_.sum(axis=0), 1.0)
    for row, joint in zip(
        clf.explain(frame[:5]), clf.predict_joint_log_proba(frame[:5]), strict=True
    ):
        np.testing.assert_allclose(row.total, joint, rtol=1e-10)
    judged = clf.explain(frame[:5], given[:5])
    logs = np.array([row.total for row in judged])
    shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(shares, share[:5], rtol=1e-9)


def test_labels_of_any_type_and_missing_ones():
    frame, y = mixed_frame()
    blank = np.arange(len(y)) % 3 == 0
    number = (y == "well").astype(int)
    forms = [
        (np.where(blank, None, y), ["sick", "well"]),
        (np.where(blank, np.nan, number), [0, 1]),
        (np.array([None if b else bool(v) for b, v in zip(blank, number, strict=True)]), [0, 1]),
        (pd.Series(np.where(blank, None, y)), ["sick", "well"]),
        (pd.array(np.where(blank, None, number), dtype="Int64"), [0, 1]),
        (np.where(blank, "", y), ["sick", "well"]),
    ]
    answers = []
    for labels, classes in forms:
        clf = NoisyLabelNB(channel="identity").fit(frame, labels)
        assert clf.classes_.tolist() == classes
        answers.append(clf.predict_proba(frame))
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0])


def test_partial_fit_equals_fit_in_any_order():
    frame, y = mixed_frame()
    frame["town"] = np.arange(300) // 40
    whole = NoisyLabelNB(**PLAIN).fit(frame, y)
    parts = [slice(0, 50), slice(50, 170), slice(170, 300)]
    for order in ([0, 1, 2], [2, 0, 1]):
        clf = NoisyLabelNB(**PLAIN)
        for part in order:
            clf.partial_fit(frame[parts[part]], y[parts[part]], classes=["sick", "well"])
        np.testing.assert_allclose(
            clf.predict_proba(frame), whole.predict_proba(frame), rtol=1e-8, atol=1e-12
        )


def test_partial_fit_through_a_channel_learns():
    frame, y = mixed_frame(2000, seed=1)
    clf = NoisyLabelNB(solver="em")
    for start in range(0, 2000, 500):
        clf.partial_fit(frame[start : start + 500], y[start : start + 500])
    assert clf.score(frame, y) > 0.8


def test_more_labels_than_classes_and_the_reverse():
    frame, y = mixed_frame(1500)
    coarse = np.array(["a", "b", "maybe"])[
        np.where(np.arange(1500) % 4 == 0, 2, (y == "well").astype(int))
    ]
    matrix = np.array([[0.75, 0.0], [0.0, 0.75], [0.25, 0.25]])
    three = Channel(matrix, matrix > 0, np.zeros((3, 2)), classes=("sick", "well"))
    clf = NoisyLabelNB(channel=three, solver="em").fit(frame, coarse)
    assert clf.classes_.tolist() == ["sick", "well"]
    assert clf.noise_matrix_.shape == (3, 2)
    assert clf.score(frame, y) > 0.8
    two = Channel(
        np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), np.zeros((2, 3), bool), np.zeros((2, 3))
    )
    clf = NoisyLabelNB(channel=two, solver="em", n_init=3, random_state=0).fit(frame, y)
    assert clf.predict_proba(frame).shape == (1500, 3)


def test_no_labels_at_all():
    frame, y = mixed_frame(1500)
    clf = NoisyLabelNB(channel=unlabeled(2), n_init=4, random_state=0).fit(frame, None)
    guess = clf.predict(frame) == 1
    hit = np.mean(guess == (y == "well"))
    assert max(hit, 1 - hit) > 0.8


def test_it_works_wherever_scikit_learn_does():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.integers(2, size=120)
    X[:, 0] += 2 * y
    weight = np.ones(120)
    pipe = make_pipeline(StandardScaler(), NoisyLabelNB())
    assert cross_val_score(pipe, X, y).mean() > 0.7
    search = GridSearchCV(NoisyLabelNB(), {"channel": ["identity", "uniform"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    clf = clone(NoisyLabelNB(channel="free", smoothing=2.0)).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(NoisyLabelNB().set_fit_request(sample_weight=True))
        routed.fit(X, y, sample_weight=weight)


def test_trusted_rows_pull_the_answer():
    frame, y = mixed_frame(400, seed=2)
    swapped = np.where(y == "sick", "well", "sick")
    trusted = np.zeros(400, bool)
    trusted[:200] = True
    labels = np.where(trusted, y, swapped)
    clf = NoisyLabelNB(solver="em").fit(frame, labels, trusted=trusted)
    assert clf.score(frame, y) > 0.7
    assert clf.noise_matrix_[0, 1] > 0.5  # the rest is known to be mostly wrong
    by_place = NoisyLabelNB(solver="em").fit(frame, labels, trusted=np.arange(200))
    np.testing.assert_allclose(by_place.noise_matrix_, clf.noise_matrix_)


@pytest.mark.parametrize("solver", ["auto", "em", "counts"])
def test_without_a_column_classes_go_by_their_shares(solver):
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [0, 1, 1, 0]}), ["x", "x", "x", "y"]
    channel = "auto" if solver == "auto" else "identity"
    model = NoisyLabelNB(
        channel=channel, solver=solver, families={"a": "ignored", "b": "ignored"}
    ).fit(X, y)
    assert model.predict(X).tolist() == ["x"] * 4
    assert model.predict_proba(X)[:, 0] == pytest.approx(model.class_prior_[0])


def test_a_smoothing_number_for_each_column_is_counted_whatever_the_columns():
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(ValueError, match="smoothing has 3 numbers, but X has 4 columns"):
        NoisyLabelNB(channel="identity", smoothing=[1.0, 2.0, 3.0]).fit(X, [0, 1] * 10)


@pytest.mark.parametrize(
    "said", [{"channel": "identity"}, {"solver": "em"}, {"channel": "uniform"}], ids=str
)
def test_nothing_is_drawn_where_nothing_is_random(said):
    X = np.random.default_rng(0).normal(size=(40, 2))
    before = np.random.get_state()
    one = NoisyLabelNB(**said).fit(X, [0, 1] * 20).predict_proba(X)
    after = np.random.get_state()
    assert before[2] == after[2] and (before[1] == after[1]).all()
    assert (NoisyLabelNB(random_state=7, **said).fit(X, [0, 1] * 20).predict_proba(X) == one).all()


def test_a_learner_with_settings_is_asked_as_its_name_is():
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=300)
    X, y = rng.normal(size=(300, 3)) + z[:, None], np.where(rng.random(300) < 0.2, 1 - z, z)
    fits = [
        NoisyLabelClassifier(learners=[one]).fit(X, y)
        for one in ("logistic", Logistic(), Logistic(strengths=(0.1,)))
    ]
    named, same, flat = (fit.predict_proba(X) for fit in fits)
    np.testing.assert_array_equal(named, same)
    assert abs(named - flat).max() > 0.01


def test_who_chose_no_solver_hears_of_none():
    with pytest.warns(ConvergenceWarning, match="stopped after 3 passes, before it had settled"):
        warn_of_search("auto", 3)
    with pytest.warns(ConvergenceWarning, match='The solver "em" has not .* raise max_iter'):
        warn_of_search("em", 3)
