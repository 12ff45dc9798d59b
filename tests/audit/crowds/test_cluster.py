"""Several annotators on a real cluster: the answer of one process, whoever computes or dies."""

import os
import signal
import threading
import time
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

pytest.importorskip("distributed")

import dask.dataframe as dd

from misnomer import audit, engines
from misnomer.classifiers.crowd import CrowdNB
from misnomer.solvers.annotators import draws
from misnomer.table import Batch
from tests.audit.crowds.rows import LONG, WHO, lines, wide
from tests.audit.crowds.test_batches import same_answer
from tests.audit.rows import save_stream

FEW = {"classifier": CrowdNB(tol=1e-3)}  # passes over the rows: each asks the cluster twice
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(draws, "_MAX_ANSWERS_DRAWN", 1.0)
    monkeypatch.setattr(draws, "_MIN_SWEEPS", 15)


def files(rows, folder):
    """Five files, one of a single row and one of none."""
    folder.mkdir()
    cuts = [0, 1, 150, 150, 400, len(rows)]
    for i, (a, b) in enumerate(pairwise(cuts)):
        pq.write_table(rows.slice(a, b - a), folder / f"{i}.parquet")
    return folder


def test_a_cluster_answers_as_one_process(cluster, tmp_path):
    path = files(wide(), tmp_path / "wide")
    got = audit(path, annotators=WHO, cluster=cluster, **FEW)
    same_answer(got, audit(path, annotators=WHO, memory="64GB", **FEW))
    path = tmp_path / "lines.csv"
    pacsv.write_csv(lines(wide()), path)
    want = audit(path, long=LONG, **FEW)
    said = {"long": LONG, "cluster": cluster, **FEW}
    got, written = save_stream(path, None, tmp_path / "out", **said)
    same_answer(got, want)
    every = pq.read_table(written["rows.parquet"])
    assert every["item"].to_pylist() == want.data["item"].to_pylist()


def test_dask_frames_are_audited_where_they_are(cluster):
    frame = wide().to_pandas().set_index("number").iloc[::-1]
    want = audit(frame, annotators=WHO, **FEW)
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    got = audit(parts, annotators=WHO, cluster=cluster, **FEW)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)
    rows = got.rows.compute(scheduler="sync")
    assert rows.index.tolist() == frame.index.tolist()
    assert rows["suggested_label"].tolist() == want.rows["suggested_label"].tolist()
    frame = lines(wide()).to_pandas()
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    got, want = audit(parts, long=LONG, cluster=cluster, **FEW), audit(frame, long=LONG, **FEW)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)


def loaded(size):
    return [Batch((), np.arange(size, dtype=np.int32)), Batch((), np.ones(2, np.int32))]


def slowly(wait, batch, own):
    time.sleep(wait)
    return own.sum() + 10.0 * batch.given.sum()


def test_a_killed_worker_changes_nothing(cluster):
    sizes = [3, 1, 4, 2, 5]
    kept = cluster.keep(loaded, sizes)
    beside = np.random.default_rng(0).normal(size=kept.rows)
    want = engines.fold(partial(slowly, 0.0), list(kept), beside)
    victim = next(iter(cluster.client.run(os.getpid).values()))
    threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
    assert cluster.fold(partial(slowly, 0.2), kept, beside) == pytest.approx(want)
    parts = list(cluster.each(lambda batch, own: own, kept, beside))
    assert [len(one) for one in parts] == [n for size in sizes for n in (size, 2)]
    np.testing.assert_array_equal(np.concatenate(parts), beside)
