"""Tables of every kind go in, with columns set aside; bad ones get one sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from misnomer.audit import audit
from tests.audited import check_sums, pets


def test_frames_of_every_kind_give_the_same_answer(tmp_path):
    frame = pets(gaps=10)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(tmp_path / "pets.csv", index=False)
    inputs = [frame, table, pl.from_arrow(table), tmp_path / "pets.csv", str(tmp_path / "pets.csv")]
    kinds = [pd.DataFrame, pa.Table, pl.DataFrame, pd.DataFrame, pd.DataFrame]
    first = audit(frame, label="pet")
    for data, kind in zip(inputs, kinds, strict=True):
        found = audit(data, label="pet")
        check_sums(found)
        for view in (found.rows, found.issues, found.noise_matrix, found.class_prior):
            assert isinstance(view, kind)
        np.testing.assert_array_equal(found.posterior, first.posterior)


def test_frames_without_an_index_name_their_rows():
    found = audit(pl.from_pandas(pets()), label="pet")
    assert found.issues.columns[0] == "row"
    assert found.noise_matrix.columns == ["given", "cat", "dog"]
    assert found.rows["given_label"].null_count() == 0


def test_arrays_and_sparse_matrices():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 5)) + 4 * np.eye(3)[z] @ rng.normal(size=(3, 5))
    y = z.copy()
    y[:15] = (y[:15] + 1) % 3
    found = audit(X, y)
    check_sums(found)
    assert found.rows["given_label"].tolist() == y.tolist()
    assert set(range(15)) & set(found.issues["row"])
    counts = rng.poisson(np.exp(0.3 * np.abs(X)))
    words = audit(sparse.csr_array(counts), y)
    check_sums(words)
    assert words.data.num_columns == 0
    assert len(words.explain(0).names) > 0


def test_whole_numbers_with_gaps_stay_whole_numbers():
    frame = pets(gaps=5)
    frame["pet"] = frame["pet"].map({"cat": 0, "dog": 1})
    found = audit(frame, label="pet")
    assert found.labels == (0, 1)
    assert found.rows["given_label"].dropna().tolist() == frame["pet"].dropna().astype(int).tolist()
    assert found.rows["suggested_label"].dtype.kind == "i"


@pytest.mark.parametrize("as_column", [True, False])
def test_trusted_rows_are_never_wrong(as_column):
    frame = pets()
    mask = np.zeros(len(frame), bool)
    mask[:5] = True
    if as_column:
        frame["sure"] = np.where(mask, "yes", "")
    found = audit(frame, label="pet", trusted="sure" if as_column else mask)
    check_sums(found)
    assert (found.rows["error_probability"][:5] == 0).all()
    assert found.fitted.trusted == 5
    assert "sure" not in found.fitted.families


def test_columns_set_aside():
    frame = pets()
    frame["name"] = [f"pet {i}" for i in range(len(frame))]
    frame["note"] = "a"
    found = audit(frame, label="pet", id="name", ignore=["note"], families={"legs": "gaussian"})
    assert set(found.fitted.families) == {"weight", "sound", "legs", "ears"}
    assert found.fitted.families["legs"] == "gaussian"
    assert found.warnings == ()
    assert found.shape.id == "name"


def test_text_on_demand():
    frame = pets()
    said = audit(frame, label="pet", text="sound")
    assert said.fitted.families["sound"] == "text"
    with pytest.raises(ValueError, match="did you mean 'sound'"):
        audit(frame, label="pet", text="sounds")


def test_numbers_of_rows_are_ignored():
    frame = pets()
    frame.insert(0, "row", range(5, 5 + len(frame)))
    frame["user_id"] = np.random.default_rng(0).permutation(10 * len(frame))[: len(frame)]
    with pytest.warns(UserWarning, match="only numbers the rows"):
        found = audit(frame, label="pet")
    assert "row" not in found.fitted.families and "user_id" not in found.fitted.families
    assert len(found.warnings) == 2


@pytest.mark.parametrize("how", ["copy", "code", "real"])
def test_a_column_that_gives_the_label_away_is_named(how):
    frame = pets()
    dog = frame["pet"] == "dog"
    frame["leak"] = {"copy": frame["pet"], "code": dog.astype(int), "real": dog.astype(float)}[how]
    with pytest.warns(UserWarning, match="column 'leak' gives the label 'pet' away"):
        found = audit(frame, label="pet")
    assert len(found.warnings) == 1


def test_good_evidence_is_no_leak():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit(pets(), label="pet")


def test_labels_called_na_are_missing_with_a_warning():
    frame = pets()
    frame["pet"] = np.where(np.arange(len(frame)) < 3, "NA", frame["pet"] + "  ")
    with pytest.warns(UserWarning, match="3 labels are 'NA': they are taken for missing labels"):
        found = audit(frame, label="pet")
    assert found.labels == ("cat", "dog")
    assert found.rows["given_label"].isna().sum() == 3
    none = pets()["pet"].replace("dog", "none")  # of side effects, "none" is a class
    with pytest.warns(UserWarning, match="the label 'none' is taken for a class"):
        assert audit(frame.assign(pet=none), label="pet").labels == ("cat", "none")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_labels_that_are_missing_are_counted_wherever_the_rows_are(tmp_path):
    frame = pets()
    frame["pet"] = np.where(np.arange(len(frame)) % 50, frame["pet"] + " ", " NA ")
    frame.to_csv(tmp_path / "pets.csv", index=False)
    said = "5 labels are 'NA': they are taken for missing labels"
    for options in ({}, {"memory": "2GB"}):
        found = audit(tmp_path / "pets.csv", label="pet", **options)
        assert sum(note.startswith(said) for note in found.warnings) == 1
    frame["other"] = pets()["pet"]
    frame.to_csv(tmp_path / "crowd.csv", index=False)
    for options in ({}, {"memory": "2GB"}):
        found = audit(tmp_path / "crowd.csv", annotators=["pet", "other"], **options)
        assert sum(note.startswith(said) for note in found.warnings) == 1


def test_labels_in_another_order_than_their_rows_are_noticed():
    table = pets()
    shuffled = table["pet"].sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match="another order, and are taken by place: .*y.loc"):
        audit(table.drop(columns="pet"), shuffled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit(table.drop(columns="pet"), table["pet"].set_axis(range(7, 247)))


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["DE", "NA"], r"one class only \('DE'\): .* wrong; 120 labels are 'NA': they are taken"),
        (["NA", "NA"], "no label at all: 240 labels are 'NA': they are taken for missing"),
    ],
)
def test_words_that_are_no_labels_explain_a_refusal(labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit(pets().assign(pet=labels * 120), label="pet")


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"label": "Pett"}, "there is no column 'Pett'; did you mean 'pet'"),
        ({}, {"label": "zzz"}, "there is no column 'zzz'; there are 'weight', "),
        ({}, {"label": None}, "which column holds the labels"),
        ({}, {"label": "pet", "ignore": "ear"}, "did you mean 'ears'"),
        ({}, {"label": "pet", "trusted": "sound"}, "which rows are trusted, but row"),
        ({"pet": "cat"}, {"label": "pet"}, "one class only \\('cat'\\)"),
        ({"pet": None}, {"label": "pet"}, "holds no label at all"),
        ({"pet": [f"p{i}" for i in range(240)]}, {"label": "pet"}, "most likely an identifier"),
        ({}, {"label": ["cat", "dog"]}, "X has 240 rows but y has 2 labels"),
        ({"x": [np.inf] + [0.5] * 239}, {"label": "pet"}, "column 'x' holds an infinite value"),
        ({}, {"label": "pet", "families": {"x": "text"}}, "a column that is not there: x"),
    ],
)
def test_bad_input_gets_one_sentence(change, options, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        audit(pets().assign(**change), **options)
    assert "\n" not in str(caught.value)


def test_bad_arrays():
    with pytest.raises(ValueError, match=r"call audit\(X, y\)"):
        audit(np.ones((4, 2)), label="pet")
    with pytest.raises(ValueError, match=r"one column of numbers is X.reshape\(-1, 1\)"):
        audit(pd.Series([1.0, 2.0]), ["a", "b"])
    with pytest.raises(ValueError, match=r"complex numbers: make columns of their real [a-z ]*$"):
        audit(np.ones((4, 2), complex), list("abab"))
    with pytest.raises(ValueError, match="the table has no rows"):
        audit(pets().iloc[:0], label="pet")
    with pytest.raises(ValueError, match="no column is left"):
        audit(pets()[["pet"]], label="pet")


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"id": [f"p{i}" for i in range(60)]}, "No column says anything"),
        ({"x": [None] * 60}, "No column says anything"),
        ({"x": [0.5, 1.5, 2.5] * 4}, "12 labeled rows are too few to doubt any"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_where_nothing_can_be_compared_nothing_is_claimed(table, why):
    """It said "0% (90% interval 0% to 0%)"."""
    frame = pd.DataFrame(table)
    found = audit(frame, ["cat", "dog"] * (len(frame) // 2))
    assert found.verdict.level == "cannot tell"
    assert any(why in sentence for sentence in found.verdict.sentences)
    assert (found.error_rate.low, found.error_rate.high) == (0.0, 1.0)


def test_a_constant_column_tells_nothing_whatever_its_size():
    """Its center was off by a 2^32-th, which made evidence of rounding errors."""
    frame = pets()
    with pytest.warns(UserWarning, match="column 'big' has the same value in every row"):
        found = audit(frame.assign(big=1e20 / 3), label="pet")
    assert found.error_rate.value == pytest.approx(audit(frame, label="pet").error_rate.value)


def test_a_line_that_was_not_split_is_told(tmp_path):
    (tmp_path / "t.txt").write_text("x pet\n1 cat\n2 dog\n")
    with pytest.raises(ValueError, match=r"only one column, 'x pet': .*\(--sep\)"):
        audit(tmp_path / "t.txt", label="pet")


def test_columns_that_misnomer_wrote_are_not_learned_from(tmp_path):
    frame = pets()
    frame["given_label"], frame["decided_by"] = frame["pet"], "person"
    said = "'decided_by' were written by misnomer.*--label given_label --ignore pet"
    with pytest.warns(UserWarning, match=said):
        found = audit(frame, label="pet")
    assert {"given_label", "decided_by"}.isdisjoint(found.fitted.families)
    frame.to_csv(tmp_path / "t.csv", index=False)
    streamed = audit(tmp_path / "t.csv", label="pet", memory="1GB")
    assert {"given_label", "decided_by"}.isdisjoint(streamed.fitted.families)
    assert any("were written by misnomer" in note for note in streamed.warnings)


def test_probabilities_of_a_prediction_are_not_learned_from():
    frame = pets()
    said = {"predicted_class": frame["pet"], "probability": 0.9, "P(cat)": np.arange(240) / 240}
    with pytest.warns(UserWarning, match=r"'P\(cat\)' were written by misnomer"):
        found = audit(frame.assign(**said), label="pet")
    assert {*said}.isdisjoint(found.fitted.families)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_export_of_several_annotators_is_not_learned_from(tmp_path):
    frame = pets().assign(ann=pets()["pet"], bob=pets()["pet"]).drop(columns="pet")
    frame.loc[:20, "ann"] = "cat"
    said = frame.assign(consensus=frame["bob"], given_label=frame["bob"], decided_by="model")
    said.to_csv(tmp_path / "t.csv", index=False)
    for options in ({}, {"memory": "2GB"}):
        found = audit(tmp_path / "t.csv", annotators=["ann", "bob"], **options)
        assert {"consensus", "given_label", "decided_by"}.isdisjoint(found.fitted.families)
        assert any("'consensus', 'given_label', 'decided_by' were" in one for one in found.warnings)
