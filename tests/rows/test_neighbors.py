"""Near duplicates and outliers: planted ones are found, and little else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from misnomer import audit, load_audit
from misnomer.rows import neighbors, read
from misnomer.rows.neighbors import unusual


def mixed(n: int = 200, seed: int = 0) -> pd.DataFrame:
    """Numbers, categories, flags and texts; row 7 nearly equals row 3, row 9 is off the scale."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(200)])
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "sugar": rng.normal(5, 1, n),
            "ward": rng.choice(["A", "B", "C"], n),
            "smokes": rng.random(n) < 0.3,
            "note": [" ".join(rng.choice(words, 20)) for _ in range(n)],
        }
    )
    frame.loc[7] = frame.loc[3]
    frame.loc[7, "age"] += 0.05
    frame.loc[7, "note"] = frame.loc[3, "note"] + " w0"
    frame.loc[9, ["age", "sugar"]] = [5000.0, 900.0]
    return frame


def test_planted_rows_are_found_and_no_others() -> None:
    found = unusual(read(mixed())[1])
    assert found is not None
    pairs = {row: twin for row, twin in enumerate(found.near_duplicate.tolist()) if twin >= 0}
    assert pairs == {3: 7, 7: 3}
    assert np.flatnonzero(found.outlier).tolist() == [9]


def test_a_slip_in_one_cell_makes_no_rows_equal() -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    want = unusual(read(x)[1])
    x[11] = 1e4
    found = unusual(read(x)[1])
    assert want is not None and found is not None
    near = (found.near_duplicate >= 0).sum()
    assert near <= 1.2 * (want.near_duplicate >= 0).sum() < 200


@pytest.mark.parametrize("column", ["ward", "smokes"])
def test_another_category_is_no_near_duplicate(column: str) -> None:
    frame = mixed()
    frame.loc[7, column] = {"A": "B", "B": "C", "C": "A"}.get(
        frame.loc[3, column], not frame.loc[3, column]
    )
    found = unusual(read(frame)[1])
    assert found is not None and (found.near_duplicate < 0).all()


def test_missing_cells_are_equal_to_missing_cells_only() -> None:
    frame = mixed()
    frame.loc[[3, 7], "sugar"] = np.nan
    found = unusual(read(frame)[1])
    assert found is not None and found.near_duplicate[3] == 7
    frame.loc[7, "sugar"] = 5.0
    found = unusual(read(frame)[1])
    assert found is not None and found.near_duplicate[3] == -1


def test_clean_normal_rows_have_hardly_an_outlier() -> None:
    counts = [
        unusual(read(np.random.default_rng(s).normal(size=(500, 6)))[1]).outlier.sum()  # type: ignore[union-attr]
        for s in range(5)
    ]
    assert sum(counts) <= 5  # of 2,500


def test_too_many_rows_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "MOST_ROWS", 100)
    assert unusual(read(mixed())[1]) is None
    assert unusual([]) is None


@pytest.fixture(scope="module")
def labeled() -> pd.DataFrame:
    frame = mixed()
    frame["label"] = np.where(frame["age"] + 5 * frame["sugar"] > 75, "ill", "well")
    frame.loc[7, "label"] = "ill" if frame.loc[3, "label"] == "well" else "well"
    return frame


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_rows_and_issues_have_one_shape(labeled: pd.DataFrame, form: object) -> None:
    found = audit(form(labeled), label="label")  # type: ignore[operator]
    names = list(getattr(found.rows, "column_names", None) or found.rows.columns)
    assert names[-2:] == ["near_duplicate", "is_outlier"]
    issues = getattr(found.issues, "column_names", None) or found.issues.columns
    assert list(issues) == ["row", *names]
    assert np.asarray(found.issues["row"]).tolist() == found.ranking.tolist()


def test_the_report_has_a_section_of_each(labeled: pd.DataFrame, tmp_path: object) -> None:
    found = audit(labeled, label="label")
    page = found.to_html()
    assert "2 rows nearly equal another one" in page
    one, two = labeled.loc[3, "label"], labeled.loc[7, "label"]
    assert f"1 pair is labeled apart: row 3 ({one}) and row 7 ({two})." in page
    assert "1 row is much farther from its neighbors" in page
    found.save(f"{tmp_path}/audit")
    again = load_audit(f"{tmp_path}/audit")
    assert again.rows["near_duplicate"].tolist() == found.rows["near_duplicate"].tolist()
    assert again.data.column_names == found.data.column_names
    assert "2 rows nearly equal another one" in again.to_html()
