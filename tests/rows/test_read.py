"""Readers: every source gives the same blocks, and families follow from the types."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.kernels.reference import statistic
from misnomer.rows import read, read_like


def spelled_out(blocks):
    parts = [statistic(block) for block in blocks]
    return np.concatenate([p.toarray() if sparse.issparse(p) else p for p in parts], axis=1)


def kinds(schema):
    return [column.kind for column in schema.columns]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b", None, "a"], "categorical"),
        ([True, False, None, True], "categorical"),
        ([1.5, 2.5, None, 0.1], "gaussian"),
        ([1, 2, 3, 1], "categorical"),
        ([1, 2, None, 1], "categorical"),
        (pd.Categorical(["x", "y", "x", None]), "categorical"),
        (pd.to_datetime(["2020-01-01", "2021-01-01", None, "2022-05-05"]), "gaussian"),
        (["see you at noon", "call me this evening", "so it goes", "what a day this is"], "text"),
    ],
)
def test_families_follow_from_the_types(values, kind):
    schema, _ = read(pd.DataFrame({"x": values}))
    assert kinds(schema) == [kind]


def test_whole_numbers_with_many_values_are_gaussian():
    schema, _ = read(np.arange(60).reshape(30, 2))
    assert kinds(schema) == ["gaussian", "gaussian"]
    schema, _ = read(np.arange(60).reshape(30, 2) % 20)
    assert kinds(schema) == ["categorical", "categorical"]


def test_families_can_be_said():
    X = np.array([[0, 1, 2], [1, 0, 5]])
    assert kinds(read(X, "gaussian")[0]) == ["gaussian"] * 3
    frame = pd.DataFrame(X, columns=list("abc"))
    schema, blocks = read(frame, {"a": "bernoulli", "b": "count", "c": "count"})
    assert kinds(schema) == ["bernoulli", "count", "count"]
    assert [type(block) for block in blocks] == [Flags, Words]
    assert kinds(read(X, {0: "bernoulli"})[0])[0] == "bernoulli"


def test_every_source_gives_the_same_statistics():
    frame = pd.DataFrame(
        {"z": [0.5, np.nan, 2.0], "c": ["u", "v", None], "k": [3, 1, 3], "b": [True, False, True]}
    )
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    want = spelled_out(read(frame)[1])
    for form in (pl.from_arrow(arrow), arrow, frame.astype(object).to_numpy()):
        np.testing.assert_array_equal(spelled_out(read(form)[1]), want)


def test_small_integers_are_used_as_they_are():
    X = np.array([[0, 1], [1, 0], [2, 1]], np.uint8)
    schema, blocks = read(X)
    assert isinstance(blocks[0], Codes)
    assert np.shares_memory(blocks[0].codes, X)
    gaps = np.array([[5, 1], [9, 0]], np.uint8)
    schema, blocks = read(gaps)
    assert schema.columns[0].categories == (5, 9)
    np.testing.assert_array_equal(blocks[0].codes, [[0, 1], [1, 0]])


def test_reals_are_used_as_they_are():
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    _, blocks = read(X)
    assert isinstance(blocks[0], Reals)
    assert np.shares_memory(blocks[0].values, X)


def test_masked_cells_are_missing():
    X = np.ma.masked_greater(np.array([[1.0, 9.0], [2.0, 3.0]]), 5.0)
    _, blocks = read(X)
    assert np.isnan(blocks[0].values[0, 1])


def test_unseen_values_get_no_statistic():
    schema, _ = read(pd.DataFrame({"c": ["u", "v"], "k": [1, 2]}))
    blocks = read_like(pd.DataFrame({"c": ["w", "u"], "k": [7, 2]}), schema)
    np.testing.assert_array_equal(spelled_out(blocks), [[0, 0, 0, 0], [1, 0, 0, 1]])


def test_a_column_read_as_text_later_still_matches():
    schema, _ = read(pd.DataFrame({"k": [1, 2]}))
    blocks = read_like(pd.DataFrame({"k": ["2", "x"]}), schema)
    np.testing.assert_array_equal(spelled_out(blocks), [[0, 1], [0, 0]])


def test_a_text_becomes_words_that_count_once():
    texts = ["red fox and red hen", "a red hen ran home", "blue sky over the hill", None]
    schema, blocks = read(pd.DataFrame({"t": texts}), {"t": "text"})
    assert schema.columns[0].words == ("hen", "red")
    np.testing.assert_array_equal(spelled_out(blocks), [[1, 1], [1, 1], [0, 0], [0, 0]])
    again = read_like(pd.DataFrame({"t": ["Red! RED, red"]}), schema)
    np.testing.assert_array_equal(spelled_out(again), [[0, 1]])


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_counts(form):
    X = form(np.array([[0, 2.0], [1, 0]]))
    schema, blocks = read(X)
    assert kinds(schema) == ["count"]
    assert schema.width == 2
    np.testing.assert_array_equal(spelled_out(blocks), X.toarray())
    np.testing.assert_array_equal(spelled_out(read_like(X, schema)), X.toarray())
    np.testing.assert_array_equal(spelled_out(read_like(X.toarray(), schema)), X.toarray())


def test_duplicate_names_are_refused():
    frame = pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="'a'"):
        read(frame)


def test_a_date_is_the_same_number_in_every_unit():
    from datetime import date, datetime

    from misnomer.rows.encode import reals
    from misnomer.rows.notation import days

    when = [date(2024, 2, 29), None, date(1969, 12, 31), date(2250, 1, 1)]
    want = days(pa.array(when)).to_pylist()
    assert want == [None if d is None else (d - date(1970, 1, 1)).days for d in when]
    for kind in [pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))]:
        assert days(pa.array(when).cast(kind)).to_pylist() == want
    noon = pa.array([datetime(1970, 1, 2, 12), datetime(1969, 12, 31, 12)])
    assert reals("t", noon.cast(pa.timestamp("ns", "UTC"))).tolist() == [1.5, -0.5]
    assert days(pa.array([43_200_000], pa.time32("ms"))).to_pylist() == [0.5]
    assert days(pa.array([86_400], pa.duration("s"))).to_pylist() == [1.0]
