"""What was written comes back: equal models are equal bytes, our own files read as they were."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from misnomer import NoisyLabelNB, audit
from misnomer.cli import app
from misnomer.rows.files.cells import harmless, restored
from misnomer.rows.scan import read_table, scan
from misnomer.store import container, model_bytes
from misnomer.store.writing import write_csv


def test_equal_models_are_equal_bytes():
    X, y = [["a"], ["b"], ["b"], ["a"]], [0, 1, 1, 0]
    found = {model_bytes(NoisyLabelNB(channel="identity").fit(X, y)) for _ in range(12)}
    assert len(found) == 1
    assert container.unpack("model", found.pop(), "model")[1]["format"] == "misnomer model"


@given(st.text(alphabet="'=+-@\t\n1e.ax", max_size=5))
def test_escapes_come_back(cell):
    assert restored(harmless(cell)) == cell
    assert not harmless(cell).startswith(("=", "+", "@", "\t", "\n"))


@pytest.fixture(scope="module")
def signs(tmp_path_factory):
    """A table whose classes and cells look like formulas."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {
            "sign": np.where(rng.random(300) < 0.85, np.where(z, "+a", "-b"), "@c"),
            "note": np.where(z ^ (rng.random(300) < 0.2), "=1+1", "'=1+1"),
            "real": rng.normal(z).round(3),
            "y": np.where(z ^ (rng.random(300) < 0.1), "+", "-"),
        }
    )
    place = tmp_path_factory.mktemp("signs")
    frame.to_csv(place / "signs.csv", index=False)
    audit(place / "signs.csv", label="y").save(place / "audit")
    return place


def predicted(place, file, out):
    words = ["predict", str(place / "audit"), str(file), "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    with out.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_predictions_of_predictions_are_the_same(signs, tmp_path):
    once = predicted(signs, signs / "signs.csv", tmp_path / "one.csv")
    twice = predicted(signs, tmp_path / "one.csv", tmp_path / "two.csv")
    assert {line["predicted_class"] for line in once} == {"+", "-"}
    assert {line["sign"] for line in once} == {"+a", "-b", "@c"}
    again = [line["predicted_class (misnomer)"] for line in twice]
    assert again == [line["predicted_class"] for line in once]


def test_our_own_escapes_are_read_back(signs, tmp_path):
    issues = signs / "audit" / "issues.csv"
    assert "'+" in issues.read_text()
    for rows in (
        read_table(issues).to_pylist(),
        [row for b in scan(issues).batches(scan(issues).names) for row in b.to_pylist()],
    ):
        assert {row["given_label"] for row in rows} <= {"+", "-"}
        assert {row["note"] for row in rows} <= {"=1+1", "'=1+1"}
    write_csv(pa.table({"note": ["=1+1"]}), tmp_path / "theirs.csv")
    assert read_table(tmp_path / "theirs.csv").to_pylist() == [{"note": "'=1+1"}]  # not ours
