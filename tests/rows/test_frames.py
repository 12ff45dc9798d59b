"""First calls: whatever holds rows is a table, for the audit and for the classifier."""

from collections import UserList
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from misnomer import NoisyLabelNB, audit
from misnomer.rows import read, read_like
from misnomer.rows.frames import as_table

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 2, 60)
X = RNG.normal(size=(60, 4)) + 3 * TRUE[:, None]
Y = np.where(TRUE, "b", "a")
TEXTS = [("good fine day" if one else "bad sad night") + f" w{i % 5}" for i, one in enumerate(TRUE)]
VECTORS = RNG.normal(size=(60, 12)) + TRUE[:, None]

FORMS = {
    "frame with whole numbers for names": pd.DataFrame(X),
    "frame with tuples for names": pd.DataFrame(
        X, columns=pd.MultiIndex.from_product([["a", "b"], ["c", "d"]])
    ),
    "dict of lists": {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()},
    "dict of arrays": {0: X[:, 0], 1: X[:, 1]},
    "dict of Series": {"a": pd.Series(X[:, 0]), "b": pl.Series(X[:, 1])},
    "list of dicts": [{"a": one, "b": two} for one, two in X[:, :2].tolist()],
    "record batch": pa.RecordBatch.from_pydict({"a": X[:, 0], "b": X[:, 1]}),
    "pandas Series of texts": pd.Series(TEXTS, name="said"),
    "polars Series of texts": pl.Series(TEXTS),
    "list of texts": TEXTS,
    "array of texts": np.array(TEXTS),
    "texts of which the first is missing": [None, *TEXTS[1:]],
    "a sequence of texts of its own kind": UserList(TEXTS),
    "record array": pd.DataFrame(X, columns=list("abcd")).to_records(index=False),
    "frame with names of several types": pd.DataFrame(X, columns=["a", 0, "b", 2.5]),
    "pandas embedding": pd.DataFrame({"e": list(VECTORS)}),
    "polars embedding": pl.DataFrame({"e": VECTORS}),
    "arrow embedding": pa.table({"e": VECTORS.tolist()}),
    "dict with a matrix": {"e": VECTORS},
}


@pytest.mark.parametrize("form", FORMS)
def test_first_calls(form):
    rows = FORMS[form]
    found = audit(rows, Y)
    assert len(found.rows) == 60
    assert found.error_rate.value < 0.1
    classifier = NoisyLabelNB(channel="identity").fit(rows, Y)
    assert classifier.score(rows, Y) > 0.9


@pytest.mark.parametrize("form", ["dict of lists", "list of dicts", "record batch"])
def test_equal_columns_are_equal_rows(form):
    want = read(pd.DataFrame(X[:, :2], columns=["a", "b"]))[1][0].values
    np.testing.assert_array_equal(read(as_table(FORMS[form]))[1][0].values, want)


def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": TEXTS, "y": Y.tolist()})
    assert len(audit(rows.select(range(50)), label="y").rows) == 50
    with pytest.raises(
        ValueError, match=r"in parts \('train'\): pass one of them, data\['train'\]"
    ):
        audit(datasets.DatasetDict({"train": rows}), label="y")


class Stored:
    """What is asked of a Hugging Face Dataset, where that library is not installed."""

    __module__ = "datasets.arrow_dataset"

    def __init__(self, table, classes):
        self.table = table
        self.features = {name: SimpleNamespace() for name in table.column_names}
        self.features["y"] = SimpleNamespace(names=classes)

    def __len__(self):
        return len(self.table)

    def with_format(self, form):
        assert form == "arrow"
        return self.table


def test_classes_of_a_dataset_go_by_their_names():
    codes = np.where(TRUE[0] == TRUE, 0, 1).tolist()
    codes[-1] = -1
    rows = Stored(pa.table({"text": TEXTS, "y": codes}), ["ham", "spam"])
    given = audit(rows, label="y").rows["given_label"].to_list()
    assert given[:-1] == [("ham", "spam")[code] for code in codes[:-1]]
    assert pd.isna(given[-1])


def test_a_stream_of_rows_says_what_to_pass():
    stream = type("IterableDataset", (), {"__module__": "datasets.x", "with_format": None})()
    with pytest.raises(TypeError, match=r"a stream of rows: pass a list of them, list\(X\)"):
        audit(stream, label="y")
    with pytest.raises(TypeError, match="a stream of rows"):
        NoisyLabelNB().fit(stream, Y)


def test_a_frame_may_be_followed_by_its_array():
    classifier = NoisyLabelNB(channel="identity").fit(pd.DataFrame(X), Y)
    assert not hasattr(classifier, "feature_names_in_")
    assert (classifier.predict(X) == classifier.predict(pd.DataFrame(X))).all()


def test_labels_by_number_and_by_name():
    whole = pd.DataFrame(X)
    whole[4] = TRUE
    for data in (whole, np.column_stack([X, TRUE])):
        assert audit(data, label=4).rows["given_label"].tolist() == TRUE.tolist()
    assert audit(X, y=Y).error_rate == audit(X, Y).error_rate
    with pytest.raises(ValueError, match="given twice"):
        audit(X, Y, y=Y)
    with pytest.raises(ValueError, match="there is no column 7"):
        audit(X, label=7)
    with pytest.raises(ValueError, match="there is no column '7'"):
        audit(whole, label=7)


def test_labels_of_several_types_are_texts():
    mixed = [7 if one else "a" for one in TRUE]
    with pytest.warns(UserWarning, match=r"several types \(int, str\) are all read as texts"):
        classifier = NoisyLabelNB(channel="identity").fit(X, mixed)
    assert classifier.classes_.tolist() == ["7", "a"]
    np.testing.assert_array_equal(
        classifier.error_probability(X[TRUE > 0], [7] * TRUE.sum()),
        classifier.error_probability(X, mixed)[TRUE > 0],
    )
    with pytest.warns(UserWarning, match="several types"):
        assert audit(X, mixed).rows["given_label"].tolist() == list(map(str, mixed))


class TestEmbeddings:
    def test_dimensions_are_reals_of_length_one(self):
        schema, blocks = read({"e": VECTORS} | {"age": X[:, 0]})
        names = [f"e[{j}]" for j in range(12)]
        assert [column.name for column in schema.columns] == [*names, "age"]
        assert {column.kind for column in schema.columns} == {"gaussian"}
        np.testing.assert_allclose(np.linalg.norm(blocks[0].values[:, :12], axis=1), 1.0)
        again = read_like(pa.table({"age": X[:, 0], "e": VECTORS.tolist()}), schema)
        np.testing.assert_array_equal(again[0].values, blocks[0].values)

    def test_a_point_keeps_its_length(self):
        np.testing.assert_array_equal(read({"at": X})[1][0].values, X)

    def test_a_missing_cell_says_nothing(self):
        rows = pa.table({"e": [None, *VECTORS[1:].tolist()]})
        assert np.isnan(read(rows)[1][0].values[0]).all()
        shares = NoisyLabelNB(channel="identity").fit(rows, Y)
        np.testing.assert_allclose(shares.predict_proba(rows)[0], shares.class_prior_)

    def test_families_name_the_column(self):
        schema, _ = read({"e": VECTORS, "x": X[:, 0]}, {"e": "ignored"})
        assert [column.kind for column in schema.columns] == ["ignored"] * 12 + ["gaussian"]
        with pytest.raises(ValueError, match="column 'e' holds lists of numbers"):
            read({"e": VECTORS}, {"e": "text"})

    def test_lists_of_different_lengths(self):
        with pytest.raises(ValueError, match=r"2 numbers in row 0, 1 in row 2"):
            read({"e": [[1.0, 2.0], None, [1.0]]})

    def test_of_lists_of_words_nothing_is_made(self):
        with pytest.raises(ValueError, match="column 'e' holds list"):
            read({"e": [["a"], ["b"]]})


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (pl.DataFrame({"a": [1.0, 2.0]}).lazy(), "X is a lazy frame.*pass X.collect()"),
        ({"a": [1, 2], "b": [1]}, "column 'b' has 1 values, but column 'a' has 2"),
        ({"a": "word"}, "column 'a' is one str, not a list of values"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "column '1' occurs twice"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column 'a' occurs twice"),
        (pd.Series([1.0, 2.0]), "Expected 2D array, got 1D array instead: X is a table"),
        ([], "Expected 2D array"),
        ("so it goes", r"got scalar array \(str\) instead: .* a list of rows or a list of texts"),
        ((row for row in X), r"got scalar array \(generator\) instead"),
    ],
)
def test_one_sentence(rows, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        NoisyLabelNB().fit(rows, ["a", "b"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("labels", [True, "word", dict(enumerate(Y)), {*Y}])
def test_what_is_no_list_of_labels(labels):
    with pytest.raises(TypeError, match=r"the labels are a .*: pass a list with one for each row"):
        NoisyLabelNB().fit(X, labels)


def test_a_file_that_is_not_there_is_what_is_wrong(tmp_path):
    for labels in (Y, "y"):
        with pytest.raises(FileNotFoundError, match=r"there is no file '.*none.csv'"):
            audit(tmp_path / "none.csv", labels)


def test_the_label_of_a_file_without_a_header_may_be_meant_by_its_number(tmp_path):
    pd.DataFrame(X).assign(y=Y).to_csv(tmp_path / "t.csv", index=False, header=False)
    with pytest.raises(ValueError, match="no column '5'; did you mean 'column 5'"):
        audit(tmp_path / "t.csv", "5", reading={"header": False})


def test_arrays_are_not_touched():
    for rows in (X, sparse.csr_array(X), pa.table({"a": [1]}), X.tolist(), pl.DataFrame(X)):
        assert as_table(rows) is rows


def test_cells_of_two_dimensions_are_laid_out_in_a_row():
    cells = [np.arange(4.0).reshape(2, 2) + i for i in range(5)]
    schema, _ = read(pd.DataFrame({"scan": [*cells, None], "age": range(6)}))
    assert [column.name for column in schema.columns][:4] == [f"scan[{j}]" for j in range(4)]
