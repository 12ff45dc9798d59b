"""A head in a file: trees and strata come back bitwise; damaged ones are refused in a sentence."""

from dataclasses import replace

import numpy as np
import pytest

from misnomer import NoisyLabelClassifier
from misnomer.head import explanation
from misnomer.head.model import HeadModel
from misnomer.head.rates import Strata
from misnomer.learners import trees
from misnomer.store import load_model, save_model
from misnomer.store.heads import about, arrays_of, with_head
from misnomer.store.validate import ContradictionError
from tests.head.tables import planted


@pytest.fixture(scope="module")
def fitted():
    """A classifier with ten trees and two kinds of strata to choose from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 10)
        patch.setattr(trees, "ROUNDS", 5)
        patch.setattr(trees, "FEWEST_ROWS", 100)
        patch.setattr(trees, "CLASS_ROWS", 10)
        patch.setattr(trees, "_is_worse", lambda *said: False)
        patch.setattr(explanation, "LEAST_SHARE", 0.0)
        frame, given, _ = planted(220)
        clf = NoisyLabelClassifier(["trees"], random_state=0).fit(frame, given)
    assert isinstance(clf.model_, HeadModel)
    assert clf.model_.others
    return clf, frame, given


def with_strata(model, kind):
    rng = np.random.default_rng(0)
    channels = np.moveaxis(rng.dirichlet(np.full(3, 9.0), (4, 3)), 1, 2)
    ratio = np.ones((4, 3))
    if kind == "margin":
        strata = Strata("margin", channels, ratio, edges=np.array([0.5, 2.0]), judges=True)
    else:
        block = next(i for i, g in enumerate(model.schema.groups) if g.kind == "categorical")
        strata = Strata("town", channels, ratio, place=(block, 1), judges=True)
    return replace(model, strata=strata)


@pytest.mark.parametrize("kind", ["none", "margin", "town"])
def test_round_trip(fitted, tmp_path, kind):
    clf, frame, given = fitted
    whole = clf.model_
    clf.model_ = whole if kind == "none" else with_strata(whole, kind)
    try:
        path = save_model(clf, tmp_path / "one.safetensors")
        again = load_model(path)
        second = save_model(again, tmp_path / "two.safetensors")
        assert path.read_bytes() == second.read_bytes()
        wanted = clf.error_probability(frame, given)
        np.testing.assert_array_equal(again.error_probability(frame, given), wanted)
        np.testing.assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))
        if kind != "none":
            strata = replace(clf.model_, strata=None)
            assert (strata.doubt(clf._batch(frame, given)) != wanted).any()
    finally:
        clf.model_ = whole


def damaged(name, change):
    def damage(arrays):
        arrays[name] = change(arrays[name].copy())
        return arrays

    return damage


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


DAMAGES = {
    "a child that is a parent": damaged("other.0.nodes", put((0, 0), 0)),
    "a child beyond the end": damaged("other.0.nodes", put((0, 1), 10**6)),
    "a child before its parent": damaged("other.0.nodes", put((3, 0), 1)),
    "a column that is none": damaged("other.0.nodes", put((0, 2), 10**4)),
    "a negative column": damaged("other.0.columns", put(0, -1)),
    "a column beyond the cells": damaged("other.0.columns", put(0, 10**4)),
    "a root beyond the end": damaged("other.0.roots", put(0, 10**6)),
    "no tree": damaged("other.0.roots", lambda array: array[:0]),
    "a share that is no number": damaged("other.0.values", put((0, 0), np.nan)),
    "a share below zero": damaged("other.0.values", put((0, 0), -3.0)),
    "shares of another width": damaged("other.0.values", lambda array: array[:, :1]),
    "splits of another type": damaged("other.0.splits", lambda array: array.astype(float)),
    "a factor that is no number": damaged("other.0.factor", put(0, np.inf)),
    "a channel that sums to two": damaged("strata.channels", lambda array: 2 * array),
    "a ratio below zero": damaged("strata.ratio", put((0, 0), -1.0)),
    "edges that fall": damaged("strata.edges", lambda array: array[::-1]),
    "more edges than channels": damaged("strata.edges", lambda array: np.arange(9.0)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused(fitted, name):
    model = with_strata(fitted[0].model_, "margin")
    arrays = {key: np.array(value) for key, value in arrays_of(model).items()}
    said = about(model)
    np.testing.assert_array_equal(
        arrays_of(with_head(model, arrays, said))["other.0.nodes"], arrays["other.0.nodes"]
    )
    with pytest.raises(ContradictionError) as error:
        with_head(model, DAMAGES[name](arrays), said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("place", [[-1, 0], [9, 0], [0, 99], [0, 0, 0], "ab", [0.5, 1], [True, 1]])
def test_strata_of_no_column_are_refused(fitted, place):
    model = with_strata(fitted[0].model_, "town")
    said = about(model)
    said["strata"]["place"] = place
    with pytest.raises(ContradictionError):
        with_head(model, dict(arrays_of(model)), said)


def test_missing_arrays_are_refused(fitted):
    model = with_strata(fitted[0].model_, "margin")
    for name in arrays_of(model):
        arrays = {key: value for key, value in arrays_of(model).items() if key != name}
        if name == "strata.edges":
            continue  # without them the strata are those of a column, and there is none
        with pytest.raises((ContradictionError, KeyError)):
            with_head(model, arrays, about(model))
