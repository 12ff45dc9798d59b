"""A column that nearly copies the label is named, with the rate without it."""

from __future__ import annotations

import numpy as np

from misnomer import audit
from tests.audited import pets


def test_a_column_that_follows_the_label_in_nine_of_ten_rows_is_named():
    frame, rng = pets(400, wrong=60), np.random.default_rng(0)
    other = {"cat": "dog", "dog": "cat"}
    follows = rng.random(400) < 0.9
    frame["filed"] = [
        one if same else other[one] for one, same in zip(frame["pet"], follows, strict=True)
    ]
    frame = frame.drop(columns=["sound"])
    found = audit(frame, label="pet")
    names = [name for name, _ in found.verdict.tests["near_copies"]]
    assert names == ["filed"]
    assert "The column 'filed' follows the label in" in str(found.verdict)
    without = found.verdict.tests["rate_without"]["the column 'filed'"]
    assert abs(without - audit(frame, label="pet", ignore="filed").error_rate.value) < 1e-6


def test_columns_that_do_not_are_not():
    found = audit(pets().drop(columns=["sound"]), label="pet")
    assert "near_copies" not in found.verdict.tests
