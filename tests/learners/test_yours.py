"""A classifier of the user's own as a learner: any of scikit-learn's, and what is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from misnomer import NoisyLabelClassifier, audit, load_audit
from misnomer.store import save_model


def drawn(seed):
    """A class that two columns tell together, and none of them alone."""
    rng = np.random.default_rng(seed)
    sign = rng.integers(2, size=(600, 2))
    X = (2 * sign - 1) * 1.5 + rng.normal(size=(600, 2)) * 0.5
    true = sign[:, 0] ^ sign[:, 1]
    wrong = rng.random(600) < 0.15
    return X, np.where(wrong, 1 - true, true), true


NEW, _, NEW_TRUE = drawn(1)
FOREST = RandomForestClassifier(50, min_samples_leaf=10, random_state=0)


@pytest.fixture(scope="module")
def rows():
    return drawn(0)


@pytest.mark.parametrize(
    "learner",
    [
        FOREST,
        KNeighborsClassifier(15),
        make_pipeline(StandardScaler(), FOREST),
    ],
    ids=["forest", "neighbors", "pipeline"],
)
def test_what_naive_bayes_cannot_see_a_learner_of_yours_sees(rows, learner):
    X, y, true = rows
    alone = NoisyLabelClassifier([], random_state=0).fit(X, y)
    found = NoisyLabelClassifier([learner], random_state=0).fit(X, y)
    assert alone.score(NEW, NEW_TRUE) < 0.75
    assert found.score(NEW, NEW_TRUE) > 0.97
    doubt = 1 - found.fit_.details.posterior[np.arange(600), y]
    assert average_precision_score(y != true, doubt) > 0.9
    assert any(type(learner).__name__ in note for note in found.fit_.details.notes)


def test_margins_of_a_classifier_without_probabilities_are_scores(rows):
    X, y, true = rows
    product = np.column_stack([X, X[:, 0] * X[:, 1]])
    plain = NoisyLabelClassifier([LinearSVC()], random_state=0)
    assert plain.fit(product, y).score(product, true) > 0.97


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)),
        RandomForestClassifier(20, random_state=0),
    ],
    ids=["pipeline", "forest"],
)
def test_weights_reach_a_learner_that_knows_them(rows, learner):
    X, y, _ = rows
    weight = np.where(np.arange(600) < 300, 1.0, 3.0)
    said = []

    class Spy(RandomForestClassifier):
        def fit(self, X, y, sample_weight=None):
            said.append(sample_weight)
            return super().fit(X, y, sample_weight)

    spy = Spy(5, random_state=0)
    spied = make_pipeline(StandardScaler(), spy) if hasattr(learner, "steps") else spy
    NoisyLabelClassifier([spied], random_state=0).fit(X, y, sample_weight=weight)
    assert all(one is not None and {*one} == {1.0, 3.0} for one in said)


def test_a_learner_without_weights_is_fitted_without(rows):
    X, y, _ = rows
    weight = np.where(np.arange(600) < 300, 1.0, 3.0)
    found = NoisyLabelClassifier([KNeighborsClassifier(15)], random_state=0)
    assert found.fit(X, y, sample_weight=weight).score(NEW, NEW_TRUE) > 0.97


def product(frame):
    """Ask for columns by name, as the user's own code does."""
    return (np.asarray(frame["a"]) * np.where(np.asarray(frame["b"]) == "up", 1, -1))[:, None]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_learner_has_the_frame_as_it_came(rows, kind):
    X, y, true = rows
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down"), "y": y})
    other = pl.from_pandas(frame)
    data = {"pandas": frame, "polars": other, "arrow": other.to_arrow()}[kind]
    learner = make_pipeline(FunctionTransformer(product), LogisticRegression())
    found = audit(data, "y", learners=[learner])
    assert average_precision_score(y != true, found.error_probability) > 0.9
    blind = audit(data, "y", learners=[])
    assert average_precision_score(y != true, blind.error_probability) < 0.5


def test_learners_that_agree_exactly_are_one(rows):
    X, y, _ = rows
    forest = RandomForestClassifier(20, random_state=0)
    one = NoisyLabelClassifier([forest], random_state=0).fit(X, y)
    two = NoisyLabelClassifier([forest, forest, "trees", "trees"], random_state=0).fit(X, y)
    both = NoisyLabelClassifier([forest, "trees"], random_state=0).fit(X, y)
    assert two.predict_proba(X) == pytest.approx(both.predict_proba(X), abs=1e-12)
    assert one.predict_proba(X).shape == two.predict_proba(X).shape


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier that does something wrong."""

    def __init__(self, how="nan"):
        self.how = how

    def fit(self, X, y):
        if self.how == "raises":
            raise RuntimeError("the disk of the model is full\nand more")
        self.classes_ = np.array(["x", "y"]) if self.how == "classes" else np.unique(y)
        return self

    def predict_proba(self, X):
        if self.how == "late":
            raise RuntimeError("cannot score")
        out = np.full((len(X), 3 if self.how == "wide" else 2), 0.5)
        if self.how == "nan":
            out[3] = np.nan
        return out


class Mute(BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("learners", "sentence"),
    [
        ([Mute()], "Mute has no predict_proba"),
        ([Odd("raises")], "Odd could not be fitted: the disk of the model is full"),
        ([Odd("classes")], "classes_ are others"),
        ([Odd("late")], "Odd could not score rows: cannot score"),
        ([Odd("wide")], r"scores of the shape \(120, 3\)"),
        ([Odd("nan")], "no numbers"),
        (["forest"], "there is no learner 'forest'"),
        ("logistic", 'learners is "auto" or a list'),
        (LogisticRegression(), 'learners is "auto" or a list'),
        ([LogisticRegression], "a learner is a classifier of scikit-learn"),
        ([3], "a learner is a classifier of scikit-learn, or its name, not 3"),
    ],
)
def test_what_is_no_learner_is_refused_in_a_sentence(rows, learners, sentence):
    X, y, _ = rows
    with pytest.raises(ValueError, match=sentence):
        audit(X, y, learners=learners)


def test_a_class_of_one_row_leaves_a_fold_nothing_to_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.zeros(60, int)
    y[7] = 1
    found = NoisyLabelClassifier([LogisticRegression()], random_state=0).fit(X, y)
    assert np.isfinite(found.predict_proba(X)).all()


def test_names_alone_go_by_batches_and_others_are_refused(rows, tmp_path):
    X, y, _ = rows
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(y, "on", "off")})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = audit(tmp_path / "rows.csv", "y", memory="2GB", learners=["logistic"])
    assert any("logistic" in note for note in found.fitted.notes)
    with pytest.raises(ValueError, match="learners are names"):
        audit(tmp_path / "rows.csv", "y", memory="2GB", learners=[LogisticRegression()])
    with pytest.raises(ValueError, match="do not go with"):
        audit(frame, "y", noise_groups="a", learners=["trees"])
    with pytest.raises(ValueError, match="do not go with"):
        audit(frame, "y", classifier=NoisyLabelClassifier(), learners=["trees"])


def test_an_audit_with_a_learner_of_yours_keeps_rows_and_numbers(rows, tmp_path):
    X, y, _ = rows
    found = audit(X, y, learners=[RandomForestClassifier(20, random_state=0)])
    assert any("cannot be kept in a file" in note for note in found.fitted.notes)
    found.save(tmp_path / "audit")
    same = load_audit(tmp_path / "audit")
    assert np.array_equal(same.posterior, found.posterior)
    assert same.error_rate == found.error_rate
    row = int(found.ranking[0])
    why, again = found.explain(row), same.explain(row)
    assert again.log_odds == pytest.approx(why.log_odds, abs=1e-9)
    assert "RandomForestClassifier" in again.names
    with pytest.raises(ValueError, match="listened to RandomForestClassifier"):
        same.classifier.predict(X)
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        save_model(found.classifier, tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()
