"""Answers: every way in gives the same values, and bad ones are refused in a sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from misnomer.answers import absent, from_groups, from_long, from_table

TABLE = [["cat", None, "dog"], [None, None, None], ["cat", "cat", None]]


def same(one, two):
    for part in ("row", "annotator", "label"):
        np.testing.assert_array_equal(getattr(one, part), getattr(two, part))
    assert one.n_rows == two.n_rows
    assert one.labels.tolist() == two.labels.tolist()


def test_a_table_a_frame_and_a_list_say_the_same():
    plain = from_table(TABLE, annotators=["a", "b", "c"])
    names = {"a": 0, "b": 1, "c": 2}
    columns = {name: [row[j] for row in TABLE] for name, j in names.items()}
    shuffled = from_long([2, 0, 2, 0], ["b", "c", "a", "a"], ["cat", "dog", "cat", "cat"], n_rows=3)
    same(plain, from_table(pd.DataFrame(columns)))
    same(plain, from_table(pl.DataFrame(columns)))
    same(plain, shuffled)
    assert plain.asked.tolist() == [2, 0, 2]
    assert from_table(pl.DataFrame(columns)).annotators.tolist() == ["a", "b", "c"]


def test_numbers_with_gaps_stay_whole_numbers():
    said = from_table(np.array([[1.0, np.nan], [2.0, 1.0]]))
    assert said.labels.tolist() == [1, 2]
    assert said.labels.dtype.kind == "i"
    assert said.votes().tolist() == [[1, 0], [1, 1]]


def test_the_matrix_adds_over_the_answers_of_a_row():
    said = from_table(TABLE)
    table = np.arange(6.0)[:, None]  # one number per (annotator, label)
    np.testing.assert_array_equal(said.matrix @ table, [[0.0 + 5.0], [0.0], [0.0 + 2.0]])


def test_the_same_answer_twice_is_one_answer():
    assert len(from_long([0, 0, 1], ["a", "a", "a"], ["x", "x", "y"])) == 2


def test_a_group_is_an_annotator_of_its_rows():
    said = from_groups(["x", "y", None, "x"], ["s", "n", "n", "s"])
    assert said.annotators.tolist() == ["n", "s"]
    assert said.asked.tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_long([0, 0], ["a", "a"], ["x", "y"]), "annotator a says both x and y about"),
        (lambda: from_table([["x", "z"]], labels=["x", "y"]), "row 0 has the label z, which is"),
        (lambda: from_table(["x", "y"]), "column per annotator"),
        (lambda: from_table([["x"]], annotators=["a", "b"]), "2 annotators are named"),
        (lambda: from_long([3], ["a"], ["x"], n_rows=2), "about row 3, but there are 2 rows"),
        (lambda: from_long([0.5], ["a"], ["x"]), "numbered 0, 1"),
        (lambda: from_long([0], [None], ["x"]), "names no annotator"),
        (lambda: from_long([0, 1], ["a"], ["x"]), "needs one of each"),
        (lambda: from_table([["x", 1]]), "all of one type"),
        (lambda: from_groups(list("abab"), [1, 2, 3, 4]), "a group of its own"),
        (lambda: from_groups(["a"], [1, 2]), "1 labels but the groups have 2"),
    ],
)
def test_bad_answers_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_date_that_is_none_is_missing():
    days = np.array(["2026-01-01", "NaT"], "datetime64[D]")
    assert absent(days).tolist() == absent(days.astype(object)).tolist() == [False, True]
    assert absent(days - days[0]).tolist() == [False, True]
