"""Many labels: audit() keeps what occurs, by itself where dense weights would be too large."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from typer.testing import CliRunner

from misnomer import NoisyLabelNB
from misnomer.audit import audit, wide
from misnomer.audit.streaming import audit_stream
from misnomer.audit.wide_result import WideAudit
from misnomer.classifiers import sizes
from misnomer.cli import app
from misnomer.readers.files import read_table


@pytest.fixture
def always(monkeypatch):
    """Take everything for wide."""
    monkeypatch.setattr(wide, "_MANY", 2)
    monkeypatch.setattr(wide, "_CELLS", 0)


def rows(n=400, K=8, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, K, n)
    topic = rng.integers(0, 60, (K, 12))
    words = topic[z[:, None], rng.integers(0, 12, (n, 10))]
    y = np.where(rng.random(n) < 0.1, (z + 1) % K, z)
    return words, np.array([f"label {k}" for k in y], object), np.array([f"label {k}" for k in z])


def counted(words):
    n = len(words)
    place = np.repeat(np.arange(n), words.shape[1])
    return sparse.csr_array((np.ones(words.size), (place, words.ravel())), shape=(n, 60))


def test_a_sparse_matrix(always):
    words, y, z = rows()
    y[5] = None
    found = audit(counted(words), y)
    assert isinstance(found, WideAudit)
    wrong = np.array([a is not None and a != b for a, b in zip(y, z, strict=True)])
    flagged = found.is_label_issue
    assert (flagged & wrong).sum() > 0.9 * wrong.sum()
    assert (flagged & wrong).sum() > 0.9 * flagged.sum()
    assert np.nansum(found.error_probability) == pytest.approx(found.error_count.value)
    assert np.isnan(found.error_probability[5])
    assert found.rows["suggested_label"].tolist()[5] == z[5]
    assert found.issues["row"].tolist() == found.ranking.tolist()
    assert found.error_rate.low < found.error_rate.value < found.error_rate.high
    top = found.noise_pairs.iloc[0]
    assert int(top["given"][-1]) == (int(top["true"][-1]) + 1) % 8
    assert found.class_prior["true_share"].sum() == pytest.approx(1.0)
    assert "WideAudit(399 labels" in repr(found)


def test_small_tables_and_chosen_solvers_stay_as_they_were(monkeypatch):
    words, y, _ = rows()
    assert not isinstance(audit(counted(words), y), WideAudit)
    monkeypatch.setattr(wide, "_MANY", 2)
    monkeypatch.setattr(wide, "_CELLS", 0)
    chosen = audit(counted(words), y, classifier=NoisyLabelNB(solver="counts", channel="identity"))
    assert not isinstance(chosen, WideAudit)


def test_a_text_column_in_memory_by_batches_and_on_the_command_line(always, tmp_path):
    words, y, _ = rows()
    text = [" ".join(f"word{w}" for w in line) + f" own{i}" for i, line in enumerate(words)]
    table = pa.table({"note": text, "size": np.arange(400) % 7 * 0.5, "label": y.tolist()})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    whole = audit(path, "label")
    parts = audit_stream(path, "label", memory="1GB")
    assert isinstance(whole, WideAudit)
    assert isinstance(parts, WideAudit)
    np.testing.assert_allclose(parts.error_probability, whole.error_probability, atol=1e-12)
    for more in ([], ["--memory", "1GB"]):
        out = tmp_path / f"out{len(more)}"
        said = ["audit", str(path), "-l", "label", "-o", str(out), *more]
        result = CliRunner().invoke(app, said)
        assert result.exit_code == 0, result.output
        assert "Largest confusions" in result.output
        every, issues = read_table(out / "rows.parquet"), read_table(out / "issues.csv")
        assert every["note"].to_pylist() == text
        np.testing.assert_allclose(every["error_probability"], whole.error_probability, atol=1e-12)
        assert issues["row"].to_pylist() == whole.ranking.tolist()
        assert issues["note"].to_pylist() == [text[i] for i in whole.ranking]
        numbers = json.loads((out / "audit.json").read_text())
        assert numbers["rows"]["flagged"] == len(whole.ranking)
        assert len(read_table(out / "confusions.csv")) > 0
    plain = CliRunner().invoke(app, ["audit", str(path), "-l", "label", "--json"])
    assert json.loads(plain.output)["classes"] == 8


def test_trusted_rows_of_a_frame(always):
    words, y, z = rows()
    frame = pd.DataFrame(words[:, :4].astype(str), columns=list("abcd")).assign(label=y)
    sure = (y == z) & (np.arange(400) % 3 == 0)
    found = audit(frame, "label", trusted=sure)
    assert (found.error_probability[sure] == 0).all()
    with pytest.raises(ValueError, match="explains no single rows"):
        found.explain(0)


def test_the_classifier_says_what_to_do_instead(monkeypatch):
    words, y, _ = rows()
    monkeypatch.setattr(sizes.os, "sysconf", lambda _: 10)
    with pytest.raises(ValueError, match=r"8 classes times 60 .* call audit\(\)"):
        NoisyLabelNB().fit(counted(words), y)
