"""What is attacked: each takes a generator of chances, and makes and tries one damaged input."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from misnomer import NoisyLabelNB, audit, load_audit
from misnomer.audit.request import bytes_of
from misnomer.engines import Journal
from misnomer.rows.scan import read_table, scan
from misnomer.store import container, model_bytes, model_from
from misnomer.store.container import check_whole, filling
from tests.fuzz.mutate import bent, cells, damaged, spoiled

Try = Callable[[random.Random], None]
SHM = Path("/dev/shm")


class SilentNaNError(AssertionError):
    """An answer that is not a number."""


@cache
def room() -> Path:
    """A folder in memory, if there is one; removed when the process ends."""
    import atexit

    place = Path(tempfile.mkdtemp(prefix="misnomer-fuzz-", dir=SHM if SHM.is_dir() else None))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def must_be_finite(share: Any) -> None:
    """Refuse an answer that is not one."""
    share = np.asarray(share, float)
    if not np.isfinite(share).all() or abs(share.sum(axis=1) - 1).max(initial=0) > 1e-6:
        raise SilentNaNError("an answer is not finite, or does not sum to one")


@cache
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 24)
    words = [f"so it goes {i % 5}" for i in range(24)]
    return pd.DataFrame(
        {
            "sex": np.where(z, "f", "m"),
            "age": rng.normal(40 + z, 9).round(1),
            "n": rng.integers(0, 4, 24),
            "when": [f"2024-0{1 + i % 9}-11" for i in range(24)],
            "said": words,
            "y": np.where(z, "yes", "no"),
        }
    )


@cache
def seeds() -> dict[str, bytes]:
    """One small, sound file of every kind."""
    table = pa.Table.from_pandas(frame()).replace_schema_metadata()
    coded = table.set_column(0, "sex", table.column("sex").dictionary_encode())
    out: dict[str, bytes] = {"csv": frame().to_csv(index=False).encode()}
    out["tsv"] = frame().to_csv(index=False, sep="\t").encode()
    out["jsonl"] = frame().to_json(orient="records", lines=True).encode()
    out["gz"] = gzip.compress(out["csv"], mtime=0)
    for name, maker in (("arrow", pa.ipc.new_file), ("feather", pa.ipc.new_stream)):
        sink = io.BytesIO()
        with maker(sink, coded.schema) as stream:
            stream.write_table(coded, max_chunksize=10)
        out[name] = sink.getvalue()
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=12)
    out["parquet"] = sink.getvalue()
    return out


def file_of(kind: str) -> Try:
    """Read a damaged file at once, or by batches, leaving bad parts out or not."""

    def attack(drawn: random.Random) -> None:
        path = room() / f"a.{'csv.gz' if kind == 'gz' else kind}"
        path.write_bytes(damaged(seeds()[kind], drawn))
        if drawn.random() < 0.7:
            read_table(path).to_pydict()
            return
        found = scan(path, skip_bad=drawn.random() < 0.5)
        for batch in found.batches(found.names):
            batch.to_pydict()

    return attack


@cache
def model() -> tuple[bytes, NoisyLabelNB]:
    X = frame().drop(columns="y")
    fitted = NoisyLabelNB(channel="flips", solver="em", families={"said": "text"})
    fitted.fit(X, frame()["y"])
    return model_bytes(fitted), fitted


@cache
def learners() -> bytes:
    """The model of an audit: learners, a head and a channel."""
    return (audited() / "model.safetensors").read_bytes()


def model_file(drawn: random.Random) -> None:
    """Load a damaged model of naive Bayes."""
    _load_model(model()[0], drawn)


def learners_file(drawn: random.Random) -> None:
    """Load a damaged model of learners and a head."""
    _load_model(learners(), drawn)


def _load_model(data: bytes, drawn: random.Random) -> None:
    """Load damaged bytes, or a model that contradicts itself under a checksum that is right."""
    if drawn.random() < 0.5:
        model_from(damaged(data, drawn), "model")
        return
    arrays, about = container.unpack("model", data, "model")
    about.pop("format")
    if drawn.random() < 0.6:
        about = bent(about, drawn)
    else:
        name = drawn.choice(sorted(arrays))
        arrays[name] = spoiled(arrays[name], drawn)
    signed = _signed("model", arrays, about)
    if signed is not None:
        must_be_finite(model_from(signed, "model").predict_proba(frame().drop(columns="y")))


def _signed(kind: str, arrays: Any, about: Any) -> bytes | None:
    try:
        return container.pack(kind, arrays, about)
    except (TypeError, ValueError, KeyError, UnicodeError):
        return None  # what cannot be written cannot be read


@cache
def audited() -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(frame(), label="y", text=["said"])
    found.save(room() / "audit")
    return room() / "audit"


def audit_folder(drawn: random.Random) -> None:
    """Load an audit, one of its files damaged or replaced; half of them sealed anew."""
    where, name = room() / "damaged", drawn.choice(("audit.safetensors", "rows.parquet"))
    shutil.rmtree(where, ignore_errors=True)
    data = (audited() / name).read_bytes()
    if name.startswith("audit") and drawn.random() < 0.8:
        arrays, about = container.unpack("audit", data, name)
        about.pop("format")
        if drawn.random() < 0.6:
            about = bent(about, drawn)
        else:
            part = drawn.choice(sorted(arrays))
            arrays[part] = spoiled(arrays[part], drawn)
        data = _signed("audit", arrays, about) or data
    else:
        data = damaged(data, drawn)
    with filling(where) as inside:
        shutil.copytree(audited(), inside, dirs_exist_ok=True)
        (inside / name).write_bytes(data)
    found = load_audit(where)
    must_be_finite(found.posterior)
    found.rows, found.issues, found.noise_matrix  # noqa: B018


def manifest(drawn: random.Random) -> None:
    """Check a folder whose manifest is damaged."""
    file = audited() / "manifest.json"
    whole = room() / "whole.json"
    if not whole.exists():
        shutil.copy(file, whole)
    if drawn.random() < 0.5:
        file.write_bytes(damaged(whole.read_bytes(), drawn))
    else:
        file.write_text(json.dumps(bent(json.loads(whole.read_bytes()), drawn)))
    try:
        check_whole(audited(), ["model.safetensors", "rows.parquet"])
    finally:
        shutil.copy(whole, file)


def journal(drawn: random.Random) -> None:
    """Go on with a damaged checkpoint."""
    place = room() / "journal"
    shutil.rmtree(place, ignore_errors=True)
    Journal(place, {"a": 1})
    file = place / "journal.json"
    said = file.read_bytes()
    tree = json.dumps(bent(json.loads(said), drawn)).encode()
    file.write_bytes(damaged(said, drawn) if drawn.random() < 0.5 else tree)
    Journal(place, {"a": 1})


def predict(drawn: random.Random) -> None:
    """Classify rows with odd cells, as a frame, lists, dicts or an array."""
    X = frame().drop(columns="y").head(6)
    columns = {name: X[name].tolist() for name in X}
    for _ in range(drawn.randint(1, 3)):
        columns[drawn.choice(sorted(columns))][drawn.randrange(6)] = cells(drawn)
    chance = drawn.random()
    if chance < 0.1:
        columns.pop(drawn.choice(sorted(columns)))
    table: Any = columns
    if chance > 0.6:
        table = pd.DataFrame(
            {name: pd.Series(part, dtype=object) for name, part in columns.items()}
        )
    elif chance > 0.4:
        table = [list(row) for row in zip(*columns.values(), strict=True)]
    must_be_finite(model()[1].predict_proba(table))


def fit(drawn: random.Random) -> None:
    """Fit arrays with odd cells, sparse matrices in pieces, odd labels, odd weights."""
    rng = np.random.default_rng(drawn.randrange(1 << 30))
    X: Any = rng.normal(size=(12, 2))
    y: Any = [drawn.choice(("a", "b")) for _ in range(12)]
    X.reshape(-1)[drawn.randrange(24)] = drawn.choice((np.nan, np.inf, 1e99, 1e200, -1e308, 1e-320))
    chance = drawn.random()
    if chance < 0.3:
        X = sparse.csr_array(np.abs(np.nan_to_num(X, posinf=1.0)).round())
        part = drawn.choice(("data", "indices", "indptr"))
        setattr(X, part, spoiled(getattr(X, part), drawn))
    elif chance < 0.5:
        X = spoiled(X, drawn)
    elif chance < 0.7:
        X = X.astype(object)
        X.reshape(-1)[drawn.randrange(24)] = cells(drawn)
    if drawn.random() < 0.4:
        y[drawn.randrange(12)] = cells(drawn)
    weight = spoiled(np.ones(12), drawn) if drawn.random() < 0.2 else None
    channel = drawn.choice(("identity", "identity", "identity", "flips"))
    solver = "em" if channel == "flips" else "auto"
    fitted = NoisyLabelNB(channel=channel, solver=solver, max_iter=5).fit(
        X, y, sample_weight=weight
    )
    must_be_finite(fitted.predict_proba(X))


def options(drawn: random.Random) -> None:
    """Read what the command line is told."""
    from misnomer.cli.options import families_of, sources_of

    word = damaged(drawn.choice((b"4GB", b"age=gaussian", b"a,b,c", b"x=0.5", b"a:b")), drawn)
    text = word.decode("utf-8", "replace")
    for read in (
        bytes_of,
        lambda t: families_of((t,)),
        lambda t: sources_of([t], t, t, [t], None, [t]),
    ):
        try:
            read(text)
        except ValueError:
            continue


@cache
def server() -> tuple[Any, Any]:
    from misnomer.review import Review, load_for_review
    from misnomer.review.server import application

    shutil.copytree(audited(), room() / "served", dirs_exist_ok=True)
    review = Review(load_for_review(room() / "served"), room() / "served" / "r.sqlite", refit=False)
    app = application(review, host="127.0.0.1", port=1, token="t" * 32, name="a")
    # A thread of its own: browsers' tests keep a loop running in the main one.
    return app, (asyncio.new_event_loop(), ThreadPoolExecutor(1))


_PATHS = (
    *("about", "row", "next", "rows", "find", "progress", "decisions", "values", "image"),
    *("decide", "bulk", "note", "undo", "x"),
)
_QUERY = (
    b"row=1&order=probability&skip=1,2&offset=0&limit=5&text=a&given=0"
    b"&column=1&value=x&words=so&state=open&who=ann"
)
_BODY = {
    "key": "k" * 20, "row": 1, "action": "keep", "seen": 0, "label": None, "shown": 0.5,
    "expected": 3, "text": "ask", "who": "ann", "column": 1, "value": "f", "state": "open",
}  # fmt: skip


def request(drawn: random.Random) -> None:
    """Ask the server something odd; it answers with a sentence, never with an error of its own."""
    app, (loop, thread) = server()
    method = drawn.choice(("GET", "POST"))
    query = damaged(_QUERY, drawn)
    body = json.dumps(bent(dict(_BODY), drawn)).encode()
    body = damaged(body, drawn) if drawn.random() < 0.3 else body
    headers = [
        (b"host", b"127.0.0.1:1"),
        (b"origin", b"http://127.0.0.1:1"),
        (b"content-type", b"application/json"),
        (b"cookie", f"{app.cookie}={app.session}".encode()),
    ]
    if drawn.random() < 0.2:
        at = drawn.randrange(len(headers))
        headers[at] = (headers[at][0], damaged(headers[at][1], drawn))
    scope = {
        "type": "http", "method": method, "path": f"/api/{drawn.choice(_PATHS)}",
        "raw_path": b"/", "query_string": query, "headers": headers, "http_version": "1.1",
        "scheme": "http", "root_path": "", "client": ("127.0.0.1", 2), "server": ("127.0.0.1", 1),
    }  # fmt: skip
    status: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    thread.submit(loop.run_until_complete, app(scope, receive, send)).result()
    if not status or (status[0] >= 500 and status[0] != 507):
        raise AssertionError(f"the server answered {status} to {scope['path']} {query!r} {body!r}")


def answers(drawn: random.Random) -> None:
    """Take over answers of another tool."""
    from misnomer.review.export import read_answers

    task = {"data": {"misnomer_row": 1, "a": 2}, "annotations": [
        {"result": [{"value": {"choices": ["yes"]}}], "completed_by": {"email": "a"}}]}  # fmt: skip
    record = {"fields": {"a": "b"}, "metadata": {"misnomer_row": 2},
              "responses": {"label": [{"value": "no", "user_id": 1}]}}  # fmt: skip
    text = json.dumps(bent([task, record], drawn)).encode()
    file = room() / "answers.json"
    file.write_bytes(damaged(text, drawn) if drawn.random() < 0.3 else text)
    read_answers(file, 24)


#: Each target, and how many of a million inputs it gets.
TARGETS: dict[str, tuple[Try, int]] = {
    "csv": (file_of("csv"), 160_000),
    "tsv": (file_of("tsv"), 40_000),
    "gz": (file_of("gz"), 40_000),
    "jsonl": (file_of("jsonl"), 100_000),
    "arrow": (file_of("arrow"), 90_000),
    "feather": (file_of("feather"), 90_000),
    "parquet": (file_of("parquet"), 90_000),
    "model": (model_file, 120_000),
    "learners": (learners_file, 40_000),
    "manifest": (manifest, 60_000),
    "journal": (journal, 20_000),
    "answers": (answers, 40_000),
    "options": (options, 50_000),
    "request": (request, 30_000),
    "predict": (predict, 20_000),
    "fit": (fit, 6_000),
    "audit": (audit_folder, 4_000),
}
