"""A real cluster of processes: the same answer, whoever computes it, dies or dawdles."""

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd

from misnomer import NoisyLabelNB
from misnomer.audit import audit
from misnomer.audit.inputs import labels_of
from misnomer.classifiers.terms import fit_rows, understand
from misnomer.engines.dask import Kept
from misnomer.head import large
from misnomer.rows.scan import read_table, scan
from misnomer.table import Batch
from tests.audit.rows import audit_stream, save_stream, table

FIXED = {"solver": "em", "max_iter": 6, "tol": 0, "random_state": 0}
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def folder(tmp_path):
    """Seven files, one of a single row and one of none."""
    rows = table(700)
    cuts = [0, 1, 150, 150, 300, 420, 600, 700]
    for i, (a, b) in enumerate(pairwise(cuts)):
        pq.write_table(rows.slice(a, b - a), tmp_path / f"{i}.parquet")
    return tmp_path


def in_memory():
    rows = table(700)
    return NoisyLabelNB(**FIXED).fit(rows.drop_columns(["label"]), labels_of(rows, "label"))


def fitted(cluster, folder, fold=None):
    found = scan(folder, mapped=cluster.map)
    classifier = NoisyLabelNB(**FIXED)
    terms = understand(found, "label", classifier, mapped=cluster.map)
    kept = cluster.keep(terms.batches, found.parts)
    assert kept.rows == terms.rows
    return fit_rows(classifier, terms, kept, fold or cluster.fold)


def same(one, two, exact=False):
    close = {"rtol": 0 if exact else 1e-12, "atol": 0 if exact else 1e-12}
    np.testing.assert_allclose(one.model_.weights, two.model_.weights, **close)
    np.testing.assert_allclose(one.history_, two.history_, rtol=close["rtol"])


def test_parts_give_the_model_of_the_whole(cluster, folder):
    got = fitted(cluster, folder)
    assert got.model_.schema == in_memory().model_.schema
    same(got, in_memory())
    same(fitted(cluster, folder), got, exact=True)


def test_a_killed_worker_changes_nothing(cluster, folder):
    want = fitted(cluster, folder)
    asked = 0

    def fold(step, batches):
        nonlocal asked
        asked += 1
        if asked != 4:
            return cluster.fold(step, batches)
        victim = next(iter(cluster.client.run(os.getpid).values()))
        threading.Timer(0.15, os.kill, (victim, signal.SIGKILL)).start()

        def slow(batch):
            time.sleep(0.1)
            return step(batch)

        return cluster.fold(slow, batches)

    same(fitted(cluster, folder, fold), want, exact=True)
    assert asked > 4


def test_a_slow_worker_changes_nothing(cluster, folder):
    want = fitted(cluster, folder)
    slow = min(cluster.client.run(os.getpid).values())

    def fold(step, batches):
        def dawdling(batch):
            time.sleep(0.1 if os.getpid() == slow else 0.0)
            return step(batch)

        return cluster.fold(dawdling, batches)

    same(fitted(cluster, folder, fold), want, exact=True)


def test_a_part_that_is_away_for_a_while_is_waited_for(cluster, folder):
    want = fitted(cluster, folder)
    found = scan(folder, mapped=cluster.map)
    classifier = NoisyLabelNB(**FIXED)
    terms = understand(found, "label", classifier, mapped=cluster.map)
    there, away = folder / "3.parquet", folder / "3.away"
    there.rename(away)
    threading.Timer(0.8, away.rename, (there,)).start()
    kept = cluster.keep(terms.batches, found.parts)
    same(fit_rows(classifier, terms, kept, cluster.fold), want, exact=True)


def test_lazy_frames_bags_and_arrays(cluster):
    rows = table(600)
    want = audit(rows, "label", classifier=NoisyLabelNB(**FIXED))
    frame = rows.to_pandas().set_index(np.arange(600) * 2)
    lazy = dd.from_pandas(frame, npartitions=5)
    got = audit(lazy, "label", cluster=cluster, classifier=NoisyLabelNB(**FIXED))
    assert got.error_rate.value == pytest.approx(want.error_rate.value, rel=1e-12)
    every = got.rows
    assert isinstance(every, dd.DataFrame)
    every = every.compute()
    assert every.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(
        every["error_probability"].to_numpy(float), want.error_probability, rtol=1e-9, atol=1e-12
    )
    tables = [dask.delayed([rows.slice(a, 250)]) for a in range(0, 600, 250)]
    bag = audit(db.from_delayed(tables), "label", cluster=cluster, classifier=NoisyLabelNB(**FIXED))
    assert bag.error_rate.value == pytest.approx(want.error_rate.value, rel=1e-12)
    assert bag.issues["row"].tolist() == want.ranking.tolist()
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) % 2
    X[y > 0] += 2
    whole = audit(X, y, classifier=NoisyLabelNB(**FIXED))
    split = da.from_array(X, chunks=(70, 2)), da.from_array(y, chunks=100)
    array = audit(*split, cluster=cluster, classifier=NoisyLabelNB(**FIXED))
    assert array.error_rate.value == pytest.approx(whole.error_rate.value, rel=1e-9)


def test_the_default_audit_on_a_cluster(cluster, folder):
    want = audit_stream(folder, "label")
    got = audit_stream(folder, "label", cluster=cluster)
    np.testing.assert_array_equal(got.posterior, want.posterior)
    assert got.error_rate == want.error_rate
    assert got.data.equals(want.data)


def test_rows_that_workers_judge_are_written_in_order(cluster, folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    for where, who in (("here", None), ("there", cluster)):
        save_stream(folder, "label", out / where, cluster=who)
    here, there = (read_table(out / one / "rows.parquet") for one in ("here", "there"))
    assert there["number"].to_pylist() == list(range(700))
    assert there.equals(here)
    got = []
    audit_stream(folder, "label", cluster=cluster, rows_to=got.extend)
    assert [row for one in got for row in one["row"].to_pylist()] == list(range(700))


def test_the_default_of_many_rows_sends_sums_alone(cluster, tmp_path, monkeypatch):
    """Every pass over all rows is a fold: no row but those drawn reaches the driver."""
    monkeypatch.setattr(large, "MOST_ROWS", 1000)
    monkeypatch.setattr(large, "SAMPLE_ROWS", 600)
    rows = table(2400)
    want = audit(rows, "label")
    for i, a in enumerate(range(0, 2400, 700)):
        pq.write_table(rows.slice(a, 700), tmp_path / f"{i}.parquet", row_group_size=300)

    def refused(_):
        raise AssertionError("rows were fetched")

    monkeypatch.setattr(Kept, "__iter__", refused)
    monkeypatch.setattr(Kept, "__getitem__", refused)
    got = audit_stream(tmp_path, "label", cluster=cluster)
    assert got.classifier.fit_.details.posterior is None
    assert got.error_count.value == pytest.approx(want.error_count.value, rel=1e-9)
    np.testing.assert_allclose(got.matrix, want.matrix, atol=1e-9)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)
    lazy = dd.from_pandas(rows.to_pandas(), npartitions=3)
    found = audit(lazy, "label", cluster=cluster)
    wrong = found.rows["error_probability"].compute().to_numpy(float)
    np.testing.assert_allclose(wrong, want.error_probability, atol=1e-9)
    assert np.nansum(wrong) == pytest.approx(found.error_count.value, rel=1e-9)


def test_partitions_that_disagree_are_named(cluster):
    parts = [pd.DataFrame({"x": [1, 2], "label": ["a", "b"]}), pd.DataFrame({"x": ["u"]})]
    bag = db.from_delayed([dask.delayed([pa.Table.from_pandas(p)]) for p in parts])
    with pytest.raises(ValueError, match=r"partition 1: column 'x' holds .*string"):
        audit(bag, "label", cluster=cluster)


def test_many_parts_are_added_in_one_order(cluster):
    kept = cluster.keep(lambda i: [Batch((), np.full(i % 3, i, np.int32))] * (i % 2), range(120))
    got = cluster.fold(lambda batch: batch.given.tolist(), kept)
    assert got == [i for i in range(120) for _ in range(i % 3 * (i % 2))]
    assert len(kept) == 60
    assert kept[1].given.tolist() == []
    assert kept.take(np.array([0, 2, 5])).given.tolist() == [got[0], got[2], got[5]]
    assert sum(len(batch) for batch in kept) == kept.rows == len(got)
