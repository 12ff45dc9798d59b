"""The page at a million rows: time per answer over loopback, and the first paint in Chromium."""

from __future__ import annotations

import http.client
import json
import secrets
import shutil
import socket
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import uvicorn

from misnomer.audit import audit
from misnomer.audit.shape import Shape
from misnomer.review import Review
from misnomer.review.server import application
from misnomer.review.server.serve import bind

ROWS, SMALL = 1_000_000, 2_000


def large_audit():
    """Audit a few rows and repeat them, each with a posterior of its own."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 4, SMALL)
    given = np.where(rng.random(SMALL) < 0.1, rng.integers(0, 4, SMALL), true)
    columns = {f"x{j}": rng.normal(size=SMALL) + true * (j % 3) for j in range(6)}
    table = pa.table({**columns, "label": [f"class {k}" for k in given]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = audit(table, label="label")
    rows = np.tile(np.arange(SMALL), ROWS // SMALL)
    posterior = small.posterior[rows] + rng.random((ROWS, 1)) * 1e-3
    posterior /= posterior.sum(axis=1, keepdims=True)
    note = pa.array([f"row {i}: a note of some length" for i in range(ROWS)])
    source = table.take(pa.array(rows)).append_column("note", note)
    return replace(
        small,
        given=small.given[rows],
        trusted=small.trusted[rows],
        posterior=posterior,
        batch=small.batch.take(rows),
        shape=Shape("pyarrow", None, source, None),
    )


class Visitor:
    """A browser that only counts milliseconds."""

    def __init__(self, port: int, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.origin = f"http://127.0.0.1:{port}"
        self.headers: dict[str, str] = {}
        answer = self.ask("GET", f"/?token={token}")[0]
        self.headers = {"cookie": answer.headers["set-cookie"].split(";")[0]}

    def ask(self, method: str, path: str, said=None):
        body = None if said is None else json.dumps(said)
        more = {"origin": self.origin, "content-type": "application/json"} if said else {}
        started = time.perf_counter()
        self.connection.request(method, path, body, {**self.headers, **more})
        answer = self.connection.getresponse()
        content = answer.read()
        spent = 1000 * (time.perf_counter() - started)
        assert answer.status == 200, content
        return answer, content, spent


def timed(visitor: Visitor, decisions: int = 60) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {"next": [], "decide": [], "progress": [], "list": []}
    for i in range(decisions):
        _, content, ms = visitor.ask("GET", "/api/next")
        spent["next"].append(ms)
        row = json.loads(content)["row"]
        said = {"key": f"speed-test-{i}", "row": row["row"], "action": "keep", "seen": 0}
        spent["decide"].append(visitor.ask("POST", "/api/decide", said)[2])
        spent["progress"].append(visitor.ask("GET", "/api/progress")[2])
        spent["list"].append(visitor.ask("GET", "/api/rows?offset=100000&given=1&low=0.01")[2])
    return spent


def first_paint(address: str) -> float | None:
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = page.evaluate("performance.now()")
        browser.close()
    print(f"first contentful paint {paint:.0f} ms, first row shown by {ready:.0f} ms")
    return float(paint)


@contextmanager
def served(review: Review):
    """Serve a review in a thread; hand out the port and the token."""
    place, _ = bind("127.0.0.1", 0)
    port, token = place.getsockname()[1], secrets.token_urlsafe(24)
    app = application(review, host="127.0.0.1", port=port, token=token, name="speed")
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    yield port, token
    server.should_exit = True
    thread.join()
    review.close()


def show(spent: dict[str, list[float]]) -> None:
    for name, times in spent.items():
        middle, most = np.median(times), np.quantile(times, 0.95)
        print(f"  {name:9s} median {middle:6.1f} ms, 95% under {most:6.1f} ms")


def while_fitting(found, folder: str) -> None:
    """Decide without pause while the model is fitted anew in the background."""
    review = Review(found, Path(folder) / "fitting.sqlite")
    with served(review) as (port, token):
        print("while the model is fitted:")
        started = time.perf_counter()
        spent = timed(Visitor(port, token), 200)
        show(spent)
        review.refitter.wait(600)
        seconds = time.perf_counter() - started
        print(f"{review.ranking.version} fits in {seconds:.0f} s")


def main() -> None:
    started = time.perf_counter()
    found = large_audit()
    print(f"made {ROWS:,} rows in {time.perf_counter() - started:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        review = Review(found, Path(folder) / "review.sqlite", refit=False)
        print(f"opened the review in {time.perf_counter() - started:.1f} s")
        with served(review) as (port, token):
            show(timed(Visitor(port, token)))
            first_paint(f"http://127.0.0.1:{port}/?token={token}")
        while_fitting(found, folder)


if __name__ == "__main__":
    main()
