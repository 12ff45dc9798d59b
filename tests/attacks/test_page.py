"""The page among other programs of the same machine, and folders that may only be read."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import threading
import webbrowser
from pathlib import Path

import pytest
import uvicorn
from typer.testing import CliRunner

from misnomer.audit import audit
from misnomer.cli import app
from misnomer.review import FILE, export, load_for_review
from misnomer.review.decisions import Decisions
from misnomer.review.rows import fingerprint
from misnomer.review.server.serve import Guard, ImpatientProtocol, announcing
from tests.audited import pets


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("page") / "audit"
    audit(pets(), label="pet").save(place)
    return place


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "audit")
    return tmp_path / "audit"


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


OTHERS = [
    "",
    'username-localhost-8888="2|1:0|10:1|23:username-localhost-8888|44:a=="; ',
    "a b=c; ",
    "misnomer_7=theirs; ",
    'x="unclosed; ',
    "{}=[]; =; ;; ",
]


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("behind", [False, True])
def test_cookies_of_other_programs_lock_nobody_out(others, behind):
    guard = Guard(hello, host="127.0.0.1", port=7, token="t")
    ours = f"misnomer_7={guard.session}"
    said = f"{ours}; {others}" if behind else others + ours
    assert status(guard, said) == 200
    assert status(guard, others) == 403


def status(guard, cookie):
    found = []

    async def send(message):
        found.append(message.get("status"))

    headers = [(b"host", b"127.0.0.1:7"), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": "GET", "path": "/api/about", "query_string": b""}
    with pytest.raises(StopIteration):  # nothing is waited for: no loop is needed
        guard({**scope, "headers": headers}, None, send).send(None)
    return found[0]


def test_the_token_is_in_no_list_of_programs(monkeypatch, capsys):
    opened, done = [], threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda page: (opened.append(page), done.set()))
    with announcing("http://127.0.0.1:7/?token=secret", browser=True) as announce:
        announce()
        assert done.wait(20)
        page = opened[0].removeprefix("file://")
        assert "secret" not in opened[0] and "secret" in Path(page).read_text()
        assert os.stat(page).st_mode & 0o077 == 0
    assert not os.path.exists(page) and "token=secret" in capsys.readouterr().out


@pytest.fixture
def port():
    """A server that waits a moment only."""
    place = socket.create_server(("127.0.0.1", 0))
    kind = type("Hasty", (ImpatientProtocol,), {"max_silence": 0.3})
    config = uvicorn.Config(hello, http=kind, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    yield place.getsockname()[1]
    server.should_exit = True
    thread.join(30)


@pytest.mark.parametrize(
    "said", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"]
)
def test_connections_that_say_nothing_are_closed(port, said):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(said)
        while line.recv(1000):
            pass  # closed, or the test would wait for ever
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"hello" in line.recv(1000) + line.recv(1000)


def task(row, label):
    said = [{"result": [{"value": {"choices": [label]}}]}]
    return {"data": {"misnomer_row": row}, "annotations": said}


def test_an_import_is_all_or_nothing(folder, tmp_path, monkeypatch):
    found = load_for_review(folder)
    names = list(map(str, found.audit.classes))
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([task(row, names[0]) for row in range(5)]))
    real, count = Decisions._insert, 0

    def full(self, **said):
        nonlocal count
        count += 1
        if count == 4:
            raise OSError(28, "No space left on device")
        real(self, **said)

    with monkeypatch.context() as patched:
        patched.setattr(Decisions, "_insert", full)
        with pytest.raises(OSError):
            export.take_over(found, folder, file)
    kept = Decisions(folder / FILE, fingerprint(found))
    assert kept.entries() == ()
    kept.close()
    assert export.take_over(found, folder, file).startswith("took over 5 of 5")
    assert export.take_over(found, folder, file).startswith("took over 0 of 5")


@pytest.mark.parametrize("decided", [False, True])
def test_an_audit_that_may_only_be_read_can_be_exported(folder, tmp_path, monkeypatch, decided):
    found = load_for_review(folder)
    if decided:
        file = tmp_path / "tasks.json"
        file.write_text(json.dumps([task(row, str(found.audit.classes[0])) for row in range(5)]))
        export.take_over(found, folder, file)
    before = sorted(path.name for path in folder.iterdir())
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda p, how: allowed(p, how) and not str(p).startswith(str(folder))
    )
    said = export.run(found, folder, tmp_path / "clean.csv")
    assert ("5 rows decided" in said) == decided
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("words", [("review",), ("check", "--rows", "5", "--page")])
def test_every_page_hides_its_token_and_closes_silent_connections(folder, monkeypatch, words):
    opened, done, configs = [], threading.Event(), []

    def run(server, sockets):
        server.announce()
        assert done.wait(20)
        configs.append(server.config)
        sockets[0].close()

    monkeypatch.setattr(webbrowser, "open", lambda page: (opened.append(page), done.set()))
    monkeypatch.setattr(uvicorn.Server, "run", run)
    command, *options = words
    result = CliRunner().invoke(app, [command, str(folder), *options, "--port", "0"])
    assert result.exit_code == 0, result.output
    token = re.search(r"token=(\S+)", result.stdout)[1]
    assert len(token) >= 32 and token not in opened[0]
    assert configs[0].http is ImpatientProtocol


def test_a_note_survives_a_decision_that_fails_beside_it(tmp_path):
    log = Decisions(tmp_path / FILE, "rows")
    writer = threading.Thread(target=log.write_note, args=(3, "ask Dr. Lee"))
    with contextlib.suppress(RuntimeError), log._writing():
        writer.start()
        writer.join(0.2)  # it must wait: what it wrote now would be rolled back
        raise RuntimeError
    writer.join(30)
    log.close()
    assert Decisions(tmp_path / FILE, "rows").notes()[3].text == "ask Dr. Lee"
