"""Whole numbers become codes by counting or by a table: the same codes as by a search."""

import numpy as np
import pytest

from misnomer.kernels.blocks import Codes, Reals, is_empty
from misnomer.rows.arrays import dense_block
from misnomer.rows.frames import arrow_columns
from misnomer.table import Column, Schema


def searched(values, categories):
    known = list(categories)
    return [known.index(v) if v in known else len(known) for v in values.tolist()]


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint16, np.uint64, np.float64])
@pytest.mark.parametrize("sets", [[(0, 1, 2), (0, 1)], [(-3, 1, 90), (5, 7)], [(0, 1, 2), (4, 5)]])
def test_codes_are_those_of_a_search(kind, sets):
    low = 0 if np.dtype(kind).kind == "u" else -4
    sets = [tuple(max(value, low) for value in one) for one in sets]
    rng = np.random.default_rng(0)
    X = rng.choice([*range(low, 9), 90, 127], size=(300, 2)).astype(kind)
    schema = Schema(tuple(Column(f"c{j}", "categorical", s) for j, s in enumerate(sets)))
    block = dense_block(X, schema, schema.groups[0])
    for j, categories in enumerate(sets):
        assert block.codes[:, j].tolist() == searched(X[:, j], categories)


def test_rows_are_empty_if_every_column_is():
    codes = np.array([[2, 3], [0, 3], [2, 0], [2, 3], [1, 1]], np.uint8)
    assert is_empty(Codes(codes, (2, 3))).tolist() == [True, False, False, True, False]
    nan = np.nan
    reals = Reals(np.array([[nan, nan], [nan, 1.0], [1.0, nan]]), np.zeros(2))
    assert is_empty(reals).tolist() == [True, False, False]
    assert is_empty(Reals(np.zeros((2, 0)), np.zeros(0))).tolist() == [True, True]


def test_columns_of_an_array_are_copied_whatever_its_length():
    X = np.arange(3 * 5000).reshape(5000, 3)
    names, columns = arrow_columns(X)
    assert names == ["x0", "x1", "x2"]
    for j, column in enumerate(columns):
        np.testing.assert_array_equal(column.to_numpy(), X[:, j])


def test_masked_cells_stay_missing():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    assert arrow_columns(X)[1][1].to_pylist() == [None, 4.0]
