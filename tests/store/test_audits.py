"""An audit on disk: all of it or nothing, the same when it comes back, harmless to open."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from misnomer.audit import audit, load_audit, save_audit
from misnomer.rows.files.cells import harmless
from misnomer.store.container import filling
from misnomer.store.writing import replacing
from tests.store.test_store import LABELS, mixed


@pytest.fixture(scope="module")
def spoiled():
    X, z = mixed(120)
    y = LABELS["str"][z].astype(object)
    y[:8] = LABELS["str"][1 - z[:8]]
    y[-5:] = None
    return X.assign(given_label="mine", verdict=y, formula="=cmd()")


def test_an_audit_round_trip(tmp_path, spoiled):
    one = audit(spoiled, label="verdict", ignore=["given_label", "formula"])
    written = save_audit(one, tmp_path / "a" / "b")
    assert all(path.is_file() for path in written.values())
    two = load_audit(tmp_path / "a" / "b")
    assert two.error_rate == one.error_rate and two.error_count == one.error_count
    assert (two.verdict.level, two.verdict.sentences) == (one.verdict.level, one.verdict.sentences)
    assert two.fitted == one.fitted and two.warnings == one.warnings
    pd.testing.assert_frame_equal(two.rows, one.rows)
    pd.testing.assert_frame_equal(two.noise_matrix_low, one.noise_matrix_low)
    assert two.data.column_names == one.data.column_names
    for row in (0, 50, 119):
        np.testing.assert_array_equal(two.explain(row).weights, one.explain(row).weights)
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(written)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([f"case {i}" for i in range(120)], name="case"),
        pd.Index(np.arange(120)[::-1] * 3, name="number"),
        pd.RangeIndex(120, name="place"),
    ],
)
def test_the_index_and_the_seed_come_back(tmp_path, spoiled, index):
    frame = spoiled.set_axis(index, axis=0)
    one = audit(frame, label="verdict", ignore=["given_label", "formula"], random_state=7)
    save_audit(one, tmp_path)
    two = load_audit(tmp_path)
    pd.testing.assert_frame_equal(two.rows, one.rows, check_index_type=False)
    pd.testing.assert_frame_equal(two.issues, one.issues, check_index_type=False)
    assert two.rows.index.name == index.name
    assert two.explain(index[4]).log_odds == one.explain(index[4]).log_odds
    assert two.classifier.random_state == 7


@pytest.mark.parametrize(
    "index", [pd.date_range("2020-01-01", periods=120), pd.RangeIndex(120), pd.Index([0.5] * 120)]
)
def test_other_indexes_come_back_as_positions(tmp_path, spoiled, index):
    frame = spoiled.set_axis(index, axis=0)
    one = audit(frame, label="verdict", ignore=["given_label", "formula"])
    save_audit(one, tmp_path)
    assert load_audit(tmp_path).rows.index.tolist() == list(range(120))


def test_rows_and_issues_on_disk(tmp_path, spoiled):
    one = audit(spoiled, "verdict", ignore=["given_label", "formula"], learners=["logistic"])
    assert len(one.issues)
    save_audit(one, tmp_path)
    rows = pq.read_table(tmp_path / "rows.parquet")
    assert rows.column_names[:7] == list(one.rows.columns)
    assert rows.column_names[7:] == [
        *spoiled.columns[:6],
        "given_label (input)",
        "verdict",
        "formula",
    ]
    assert rows.column("real").to_pylist() == spoiled["real"].tolist()
    total = sum(p for p in rows.column("error_probability").to_pylist() if p is not None)
    assert total == pytest.approx(one.error_count.value, rel=1e-12)
    assert (tmp_path / "issues.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # for Excel
    with (tmp_path / "issues.csv").open(encoding="utf-8-sig", newline="") as stream:
        issues = list(csv.DictReader(stream))
    assert [int(line["row"]) for line in issues] == one.ranking.tolist()
    assert {line["formula"] for line in issues} == {"'=cmd()"}
    said = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert said["error_count"]["value"] == one.error_count.value
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_sparse_audit_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 80)
    one = audit(sparse.csr_array(rng.poisson(0.5 + z, (6, 80)).T), z)
    save_audit(one, tmp_path)
    two = load_audit(tmp_path)
    np.testing.assert_array_equal(one.posterior, two.posterior)
    np.testing.assert_array_equal(one.explain(4).weights, two.explain(4).weights)


def test_an_audit_that_does_not_fit_its_rows(tmp_path, spoiled):
    save_audit(audit(spoiled, label="verdict", ignore=["given_label", "formula"]), tmp_path / "a")
    with filling(tmp_path / "b") as inside:  # listed anew: the list alone must not be believed
        shutil.copytree(tmp_path / "a", inside, dirs_exist_ok=True)
        rows = pq.read_table(inside / "rows.parquet")
        pq.write_table(rows.slice(1), inside / "rows.parquet")
    with pytest.raises(ValueError, match="does not fit its rows"):
        load_audit(tmp_path / "b")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        load_audit(tmp_path / "nowhere")


def test_all_of_a_file_or_nothing(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["x"]
    with pytest.raises(OSError), filling(tmp_path / "deep" / "folder") as inside:
        (inside / "y").write_text("half")
        raise OSError(28, "No space left on device")
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def test_force_keeps_what_is_not_ours(tmp_path):
    (tmp_path / "decisions.db").write_text("mine")
    (tmp_path / "y").write_text("old")
    with pytest.raises(FileExistsError, match="is not empty"), filling(tmp_path):
        pass
    with filling(tmp_path, force=True) as inside:
        (inside / "y").write_text("new")
    assert (tmp_path / "y").read_text() == "new"
    assert (tmp_path / "decisions.db").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "decisions.db",
        "manifest.json",
        "y",
    ]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("@sum", "'@sum"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("-cmd|x", "'-cmd|x"),
        ("-5", "-5"),
        ("-5.5e-3", "-5.5e-3"),
        ("-5+cmd()", "'-5+cmd()"),
        ("a=b", "a=b"),
        (-5, -5),
        (None, None),
    ],
)
def test_spreadsheets_run_nothing(cell, expected):
    assert harmless(cell) == expected
