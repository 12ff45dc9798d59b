"""A small table with planted errors, and what must hold of every audit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from misnomer.audit import Audit


def pets(n=240, wrong=20, gaps=0):
    """Cats and dogs with a mixed table; the first labels are wrong, the last missing."""
    rng = np.random.default_rng(1)
    true = np.where(rng.random(n) < 0.5, "cat", "dog")
    dog = true == "dog"
    frame = pd.DataFrame(
        {
            "weight": rng.normal(4 + 12 * dog, 2),
            "sound": np.where(rng.random(n) < 0.95, np.where(dog, "bark", "meow"), "other"),
            "legs": rng.integers(3, 5, n),
            "ears": np.where(dog, rng.normal(9, 2, n), rng.normal(5, 2, n)),
        }
    )
    given = true.astype(object)
    given[:wrong] = np.where(dog[:wrong], "cat", "dog")
    given[n - gaps :] = None
    frame["pet"] = given
    return frame


def check_sums(found: Audit) -> None:
    frame = found.rows.to_pandas() if hasattr(found.rows, "to_pandas") else found.rows
    labeled = frame["given_label"].notna()
    assert frame["error_probability"].sum() == pytest.approx(found.error_count.value, rel=1e-12)
    assert found.error_rate.value * labeled.sum() == pytest.approx(found.error_count.value)
    assert frame["error_probability"].notna().equals(labeled)
    assert not frame.loc[~labeled, "is_label_issue"].any()
    assert found.label_accuracy.value == pytest.approx(1 - found.error_rate.value)
