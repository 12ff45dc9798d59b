"""Nobody gets in, and what gets in is checked."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("starlette", reason="misnomer[review] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from starlette.testclient import TestClient

from misnomer.review.server import application
from misnomer.review.server.serve import bind

TOKEN = "t" * 32
BASE = "http://127.0.0.1:8737"


@pytest.fixture
def app(review):
    return application(review, host="127.0.0.1", port=8737, token=TOKEN, name="votes")


@pytest.fixture
def client(app):
    with TestClient(app, base_url=BASE) as one:
        assert one.get(f"/?token={TOKEN}").status_code == 200
        yield one


def post(client, path, said, **headers):
    return client.post(path, json=said, headers={"origin": BASE, **headers})


def decision(client, **more):
    row = client.get("/api/next").json()["row"]
    said = {"key": "key-number-1", "row": row["row"], "action": "accept", "seen": 0}
    return {**said, "label": row["suggested"], "shown": row["probability"], **more}


def test_without_the_token_nothing_is_told(app):
    stranger = TestClient(app, base_url=BASE)
    for path in ("/", "/?token=wrong", "/page.js", "/api/about", "/api/row?row=0", "/nowhere"):
        answer = stranger.get(path)
        assert answer.status_code == 403 and "votes" not in answer.text and not answer.cookies


def test_a_forged_or_broken_cookie_is_refused(app):
    for cookie in ("misnomer_8737=guess", "misnomer_8737", "\x01=;;=", "misnomer_8737=ä"):
        stranger = TestClient(app, base_url=BASE)
        answer = stranger.get("/api/about", headers={"cookie": cookie.encode("latin-1")})
        assert answer.status_code == 403


def test_the_token_becomes_a_strict_cookie(app):
    answer = TestClient(app, base_url=BASE).get(f"/?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host", ["evil.example:8737", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:8737", ""]
)
def test_another_host_is_refused(client, host):
    assert client.get("/api/about", headers={"host": host}).status_code == 421
    assert client.get(f"/?token={TOKEN}", headers={"host": host}).status_code == 421


def test_another_origin_is_refused(client):
    said = decision(client)
    for origin in ("http://evil.example", "null", "https://127.0.0.1:8737", BASE + "0"):
        assert post(client, "/api/decide", said, origin=origin).status_code == 403
    assert client.post("/api/decide", json=said).status_code == 403  # no origin at all
    cross = {"sec-fetch-site": "cross-site"}
    assert client.get("/api/about", headers=cross).status_code == 403
    assert client.get("/api/progress").json()["decided"] == 0


def test_only_json_of_a_sensible_size_is_read(client):
    said = decision(client)
    plain = {"origin": BASE, "content-type": "text/plain"}
    assert client.post("/api/decide", content=json.dumps(said), headers=plain).status_code == 415
    assert post(client, "/api/decide", {**said, "x": "x" * 100_000}).status_code == 413
    as_json = {"origin": BASE, "content-type": "application/json"}
    for body in (b"", b"[1]", b"{", b"[" * 50_000, b"\xff"):
        assert client.post("/api/decide", content=body, headers=as_json).status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"row": -1},
        {"row": 10**9},
        {"row": "0"},
        {"row": True},
        {"label": 99},
        {"label": -1},
        {"label": "democrat"},
        {"action": "burn"},
        {"key": "short"},
        {"key": 12345678},
        {"seen": None},
        {"shown": "much"},
    ],
)
def test_a_senseless_decision_is_refused_in_a_sentence(client, wrong):
    answer = post(client, "/api/decide", decision(client, **wrong))
    assert answer.status_code in (400, 422) and answer.json()["trouble"]
    assert client.get("/api/progress").json()["decided"] == 0


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/page/index.html",
        "/%2e%2e/decisions.py",
        "/review.sqlite",
        "/static/page.js",
        "/api/rows?given=99",
        "/api/rows?order=age",
        "/api/row?row=x",
        "/api/row",
        "/api/row?row=-1",
        "/api/find?text=nobody",
        "/api/next?skip=x",
    ],
)
def test_what_is_not_there_is_not_served(client, path):
    assert client.get(path).status_code in (400, 404, 422)


def test_deciding_twice_with_one_key_is_deciding_once(client):
    said = decision(client)
    first, second = (post(client, "/api/decide", said).json() for _ in range(2))
    assert first == second and first["decision"]["error"]
    assert client.get("/api/progress").json()["decided"] == 1


def test_a_second_tab_is_told_of_the_first(client):
    said = decision(client)
    assert post(client, "/api/decide", said).status_code == 200
    late = post(client, "/api/decide", {**said, "key": "key-number-2", "action": "keep"})
    assert late.status_code == 409 and "another tab" in late.json()["trouble"]


def test_undo_shows_the_row_again(client):
    said = decision(client)
    done = post(client, "/api/decide", said).json()["decision"]
    back = post(client, "/api/undo", {"key": "undo-number-1", "decision": done["id"]}).json()
    assert back["row"]["row"] == said["row"] and back["row"]["decision"] is None
    assert client.get("/api/progress").json()["decided"] == 0


def test_a_full_disk_reaches_the_page(client, review):
    review.decisions._connection.execute("PRAGMA max_page_count = 1")
    for i in range(200):
        answer = post(client, "/api/decide", decision(client, key=f"key-number-{i}"))
        if answer.status_code != 200:
            break
    assert answer.status_code == 507 and "disk is full" in answer.json()["trouble"]
    assert client.get("/api/progress").json()["decided"] == i


def test_evidence_adds_up_and_lists_come_in_pages(client, review):
    row = client.get("/api/next").json()["row"]
    total = sum(term["weight"] for term in row["why"]["terms"])
    assert total == pytest.approx(row["why"]["log_odds"])
    page = client.get("/api/rows?offset=3&limit=5").json()
    order = review.ranking.orders["probability"]
    assert [one["row"] for one in page["rows"]] == order[3:8].tolist()
    assert page["total"] == len(order)
    assert len(client.get("/api/rows?limit=100000").json()["rows"]) == 200
    row = client.get("/api/find?text=17").json()  # a line of the file: the first row is on line 2
    assert (row["row"], row["title"]) == (15, "line 17")
    answer = client.get("/api/find?text=1")  # the header
    assert answer.status_code == 422 and "no row begins on line 1" in answer.json()["trouble"]
    assert client.get("/api/about").json()["jump"] == "a line of the file, from 2 to 436"


def test_a_port_in_use_gives_another():
    first, wished = bind("127.0.0.1", 0)
    port = first.getsockname()[1]
    second, again = bind("127.0.0.1", port)
    assert wished and not again and second.getsockname()[1] != port
    first.close()
    second.close()


def test_a_missing_extra_says_what_to_install(folder):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from misnomer.cli import app; app(['review', sys.argv[1]])"
    )
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "pip install 'misnomer[review]'" in done.stderr


def test_an_address_of_another_machine_is_named():
    with pytest.raises(OSError, match=r"no page can be served at '203\.0\.113\.7'"):
        bind("203.0.113.7", 0)
