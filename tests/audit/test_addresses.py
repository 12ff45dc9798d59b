"""Files that are elsewhere: in memory, behind HTTP, in an S3 store that is started here."""

import http.server
import socket
import threading
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from misnomer import NoisyLabelNB
from misnomer.audit import audit
from tests.audit.rows import audit_stream, table

fsspec = pytest.importorskip("fsspec")
FIXED = {"solver": "em", "max_iter": 4, "tol": 0, "random_state": 0}
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def parts(tmp_path):
    """A folder of Parquet files by site, and one CSV of the same rows."""
    rows = table(300)
    for site, cut in (("a", slice(0, 200)), ("b", slice(200, 300))):
        folder = tmp_path / "t" / f"site={site}"
        folder.mkdir(parents=True)
        pq.write_table(rows.slice(cut.start, cut.stop - cut.start), folder / "0.parquet")
    csv.write_csv(rows, tmp_path / "t.csv")
    return tmp_path


def same(address, path, **options):
    em = NoisyLabelNB(**FIXED)
    got = audit_stream(address, "label", classifier=em, **options)
    want = audit_stream(path, "label", classifier=NoisyLabelNB(**FIXED))
    assert got.fitted.rows == want.fitted.rows
    np.testing.assert_allclose(got.error_probability, want.error_probability, atol=1e-12)
    np.testing.assert_array_equal(got.ranking, want.ranking)


def test_memory(parts):
    files = fsspec.filesystem("memory")
    files.put(str(parts / "t"), "/misnomer/t", recursive=True)
    files.put(str(parts / "t.csv"), "/misnomer/t.csv")
    same("memory://misnomer/t", parts / "t")
    same("memory://misnomer/t/*/*.parquet", f"{parts}/t/*/*.parquet")
    same("memory://misnomer/t.csv", parts / "t.csv")
    files.rm("/misnomer", recursive=True)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


def test_http(parts):
    pytest.importorskip("aiohttp")
    serve = partial(_Quiet, directory=str(parts))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        same(f"{base}/t.csv", parts / "t.csv")
        same(f"{base}/t/site%3Da/0.parquet", parts / "t" / "site=a" / "0.parquet")
        with pytest.raises((FileNotFoundError, ValueError), match=r"no file|cannot be read"):
            audit_stream(f"{base}/u.csv", "label")
        server.shutdown()


@pytest.fixture
def bucket(parts, monkeypatch):
    """An S3 store on this machine, with the rows in a bucket."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    store = server(ip_address="127.0.0.1", port=port, verbose=False)
    store.start()
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    name = f"visits-{port}"  # the store forgets nothing from one test to the next
    files.mkdir(name)
    files.put(str(parts / "t"), f"{name}/t", recursive=True)
    files.put(str(parts / "t.csv"), f"{name}/t.csv")
    fsspec.filesystem("s3").clear_instance_cache()
    yield f"s3://{name}"
    fsspec.filesystem("s3").clear_instance_cache()
    store.stop()


def test_s3(parts, bucket):
    same(f"{bucket}/t", parts / "t")
    same(f"{bucket}/t.csv", parts / "t.csv")
    got = audit(f"{bucket}/t/site=*/*.parquet", "label", classifier=NoisyLabelNB(**FIXED))
    assert got.fitted.rows == 300
    with pytest.raises((FileNotFoundError, ValueError), match=r"no file|cannot be read"):
        audit_stream(f"{bucket}/gone.parquet", "label")


def test_s3_from_workers(parts, bucket):
    pytest.importorskip("distributed")
    from misnomer.engines.dask import Cluster

    with Cluster(workers=1, memory="700MB") as cluster:
        same(f"{bucket}/t", parts / "t", cluster=cluster)
