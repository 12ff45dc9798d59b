"""The same answer from a file by batches as from a table in memory, and after a crash."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from rich.console import Console

from misnomer import NoisyLabelNB
from misnomer.audit import audit, load_audit
from misnomer.audit.inputs import labels_of
from misnomer.audit.request import bytes_of
from misnomer.engines import Journal, fold
from misnomer.reports.text import render
from misnomer.rows.scan import read_table, scan
from misnomer.stats import Stats
from misnomer.store import load_model
from tests.audit.rows import (
    audit_stream,
    fit_stream,
    in_memory,
    planted,
    save_stream,
    table,
)

FIXED = {"solver": "em", "max_iter": 6, "tol": 0, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def same(one, two, exact=False):
    close = {"rtol": 0 if exact else 1e-12, "atol": 0 if exact else 1e-12}
    assert one.model_.schema == two.model_.schema
    np.testing.assert_allclose(one.model_.weights, two.model_.weights, **close)
    np.testing.assert_allclose(one.noise_matrix_, two.noise_matrix_, **close)
    np.testing.assert_allclose(one.history_, two.history_, rtol=close["rtol"])
    assert one.classes_.tolist() == two.classes_.tolist()


@pytest.mark.parametrize("rows", [1, 37, 10_000])
def test_em_is_the_same_by_batches(tmp_path, rows):
    path = tmp_path / "t.parquet"
    every = table(80 if rows == 1 else 900)
    pq.write_table(every, path, row_group_size=25 if rows == 1 else 250)
    X = every.drop_columns(["label"])
    want = NoisyLabelNB(**FIXED).fit(X, labels_of(every, "label"))
    found = scan(path, rows=rows)
    got = fit_stream(found, "label", classifier=NoisyLabelNB(**FIXED), memory=3000)
    same(got, want)
    again = fit_stream(found, "label", classifier=NoisyLabelNB(**FIXED), memory=1 << 30)
    same(got, again, exact=True)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_default_audit_is_the_same_by_batches(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    every = table(300)
    every = every.append_column("sure", pa.array((np.arange(300) % 9 == 0).tolist()))
    csv.write_csv(every, path) if suffix == "csv" else pq.write_table(every, path)
    with pytest.warns(UserWarning):
        want = audit(path, "label", trusted="sure")
    got = audit_stream(path, "label", trusted="sure")
    np.testing.assert_array_equal(got.error_probability, want.error_probability)
    np.testing.assert_array_equal(got.ranking, want.ranking)
    assert got.error_rate.low == pytest.approx(want.error_rate.low, rel=1e-12)
    assert got.warnings == want.warnings
    assert got.issues["row"].tolist() == want.ranking.tolist()
    assert got.verdict.level == want.verdict.level


def test_many_rows_are_sampled_but_all_are_judged(tmp_path, monkeypatch):
    from misnomer.audit.collector import Collector

    module = sys.modules[Collector.__module__]
    monkeypatch.setattr(module, "SAMPLE", 100)
    monkeypatch.setattr(module, "WORST", 10)
    path, out = tmp_path / "t.parquet", tmp_path / "out"
    every = table(700)
    pq.write_table(every, path, row_group_size=64)
    found, written = save_stream(path, "label", out)
    rows = read_table(out / "rows.parquet")
    assert rows["row"].to_pylist() == list(range(700))
    assert rows["number"].equals(every["number"])
    wrong = rows["error_probability"].to_numpy(zero_copy_only=False)
    assert np.nansum(wrong) == pytest.approx(found.error_count.value, rel=1e-12)
    assert sum(rows["is_label_issue"].to_pylist()) == found.flagged
    issues = read_table(out / "issues.csv")
    worst = np.argsort(-np.nan_to_num(wrong), kind="stable")[:5]
    assert issues["row"].to_pylist()[:5] == worst.tolist()
    assert len(found.given) == 100
    said = json.loads((out / "audit.json").read_text())
    assert said["rows"]["flagged"] == found.flagged
    page = (out / "report.html").read_text()
    assert f"<dd>{found.flagged:,}<small>another class" in page and "of the sample" in page
    terminal = Console(width=100, record=True, file=io.StringIO())
    render(found, terminal)
    assert f"{found.flagged:,} rows" in terminal.export_text()
    assert load_audit(out / "sample").error_rate == found.error_rate
    assert written["sample"].is_dir()
    other = audit_stream(scan(path, rows=10), "label")
    np.testing.assert_allclose(other.posterior, found.posterior, rtol=1e-12)


def test_what_is_left_out_is_said(tmp_path):
    for i in range(3):
        pq.write_table(table(200, seed=i), tmp_path / f"{i}.parquet")
    (tmp_path / "1.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match=r"1\.parquet"):
        audit_stream(tmp_path, "label")
    found = audit_stream(tmp_path, "label", skip_bad=True)
    assert found.fitted.rows == 400
    assert any("left out" in note and "1.parquet" in note for note in found.warnings)


def test_bad_input_is_one_sentence(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table(50), path)
    with pytest.raises(ValueError, match="did you mean 'label'"):
        audit_stream(path, "lable")
    with pytest.raises(ValueError, match="written like 4GB"):
        bytes_of("lots")
    with pytest.raises(ValueError, match="no rows"):
        fit_stream(in_memory(table(50).slice(0, 0)), "label")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        audit_stream(tmp_path / "u.parquet", "label")


def test_a_journal_gives_back_what_it_was_given(tmp_path):
    calls = []

    def step(batch):
        calls.append(batch)
        return Stats(np.full((2, 2), batch), np.ones((2, 3)) / 3, float(batch))

    first = Journal(tmp_path / "j", {"a": 1}).wrap(fold)
    want = [first(step, [1.0, 2.0]), first(step, [5.0])]
    again = Journal(tmp_path / "j", {"a": 1}).wrap(fold)
    got = [again(step, [1.0, 2.0]), again(step, [5.0]), again(step, [7.0])]
    assert calls == [1.0, 2.0, 5.0, 7.0]
    for one, two in zip(got[:2], want, strict=True):
        np.testing.assert_array_equal(one.joint, two.joint)
        assert one.loglik == two.loglik
    (tmp_path / "j" / "000001.npz").write_bytes(b"half a file")
    assert Journal(tmp_path / "j", {"a": 1}).wrap(fold)(step, [0.0]).loglik == 3.0
    with pytest.raises(ValueError, match="other data or other options"):
        Journal(tmp_path / "j", {"a": 2})


def repeating(n):
    """Columns that repeat each other: the conditional twin wins, which passes over all rows."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    x = z + rng.normal(0, 0.7, n)
    columns = {f"copy{j}": x + rng.normal(0, 0.05, n) for j in range(6)}
    columns["other"] = z + rng.normal(0, 1, n)
    label = np.where(rng.random(n) < 0.1, 1 - z, z)
    return pa.table({**columns, "label": np.array(["a", "b"])[label]})


def test_the_default_goes_on_too(tmp_path, monkeypatch):
    """The passes over all rows are read back; only the choice on the sample is made anew."""
    monkeypatch.setattr("misnomer.head.large.MOST_ROWS", 300)
    path = tmp_path / "t.parquet"
    pq.write_table(repeating(600), path, row_group_size=100)
    want = audit_stream(path, "label")
    asked = []

    def until(most):
        def counted(step, batches):
            asked.append(step)
            if len(asked) > most:
                raise KeyboardInterrupt
            return fold(step, batches)

        return counted

    monkeypatch.setattr("misnomer.engines.fold", until(4))
    with pytest.raises(KeyboardInterrupt):
        audit_stream(path, "label", checkpoint=tmp_path / "j")
    written = len(list((tmp_path / "j").glob("*.npz")))
    assert written == 4
    asked.clear()
    monkeypatch.setattr("misnomer.engines.fold", until(10_000))
    got = audit_stream(path, "label", checkpoint=tmp_path / "j")
    np.testing.assert_array_equal(got.posterior, want.posterior)
    every = len(list((tmp_path / "j").glob("*.npz")))
    assert len(asked) == every - written > 0


SLOW_FIT = """
    import sys, time
    from misnomer import NoisyLabelNB
    from tests.audit.rows import audit_stream
    from misnomer.store import save_model
    path, folder, out, pause = sys.argv[1:]
    em = NoisyLabelNB(solver="em", max_iter=12, tol=0, random_state=0,
                      progress=lambda *_: time.sleep(float(pause)))
    found = audit_stream(path, "label", classifier=em, checkpoint=folder)
    save_model(found.classifier, out)
"""


def test_a_killed_fit_goes_on_and_ends_in_the_same_model(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table(300), path)

    def start(folder, out, pause):
        script = ["-W", "ignore", "-c", dedent(SLOW_FIT)]
        args = [str(path), str(tmp_path / folder), str(tmp_path / out), str(pause)]
        return subprocess.Popen([sys.executable, *script, *args])

    first = start("j", "one", 60)
    while len(list((tmp_path / "j").glob("*.npz"))) < 2:
        assert first.poll() is None
        time.sleep(0.05)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert not (tmp_path / "one").exists()
    assert start("j", "one", 0).wait() == 0
    assert start("k", "two", 0).wait() == 0
    one, two = (load_model(tmp_path / name) for name in ("one", "two"))
    same(one, two, exact=True)
    assert len(one.history_) == 12


CAPPED = """
    import os, resource, sys
    from misnomer import NoisyLabelNB
    from misnomer.classifiers.terms import compact, fit_rows, understand
    from misnomer.engines import Stream
    from misnomer.rows.scan import scan
    import scipy.sparse, sklearn.feature_extraction.text, pyarrow.parquet, pyarrow as pa
    pa.set_cpu_count(1); pa.set_io_thread_count(1)
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    room = int(status["VmData"].split()[0]) * 1024 + int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_DATA, (room, room))
    if sys.argv[3] == "all":
        pyarrow.parquet.read_table(sys.argv[1]).to_pandas()
    clf = NoisyLabelNB(solver="em", max_iter=1, tol=0)
    found = scan(sys.argv[1], rows=8192)
    terms = understand(found, "label", clf)
    fit_rows(clf, terms, Stream(compact(found, terms), memory=10 << 20))
    print(clf.n_iter_)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_memory_stays_under_a_cap_that_the_table_exceeds(tmp_path):
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    columns = {f"g{j}": rng.normal(size=400_000) for j in range(40)}
    columns["label"] = rng.integers(0, 2, 400_000)
    pq.write_table(pa.table(columns), path, row_group_size=20_000, compression="none")
    room = str(190 << 20)  # beside the program itself; the table takes 128 MB, and as much again

    def run(how):
        script = [sys.executable, "-W", "ignore", "-c", dedent(CAPPED), str(path), room, how]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
        return subprocess.run(script, capture_output=True, text=True, env=env)

    done = run("batches")
    assert done.stdout.strip() == "1", done.stderr
    assert run("all").returncode != 0


def test_the_default_is_the_same_where_it_chooses_on_a_sample(tmp_path):
    """Over 20,000 rows the solver chooses on some of them and fits all: the same ones, any way."""
    path = tmp_path / "t.parquet"
    pq.write_table(table(20_500).drop_columns(["note", "number"]), path, row_group_size=7001)
    want = audit(path, "label")
    got = audit_stream(scan(path, rows=999), "label", memory=300 << 20)
    np.testing.assert_allclose(got.error_probability, want.error_probability, atol=1e-9)
    np.testing.assert_allclose(got.matrix, want.matrix, atol=1e-9)
    np.testing.assert_array_equal(got.ranking, want.ranking)
    assert got.error_rate.low == pytest.approx(want.error_rate.low, rel=1e-9)
    assert got.verdict.level == want.verdict.level


def test_a_column_that_tells_errors_is_taken_out_by_batches_too(tmp_path):
    frame, given, _, _ = planted(10_500)
    frame["label"] = given
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    want, got = audit(path, "label"), audit_stream(scan(path, rows=1999), "label")
    for one in (want, got):
        assert any("Errors differ by 'ward'" in note for note in one.fitted.notes)
    assert got.error_count.value == pytest.approx(want.error_count.value, rel=1e-9)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)
