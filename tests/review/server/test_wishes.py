"""What labelers wished for: many at once, search, notes, names, images."""

from __future__ import annotations

import sqlite3

import pytest

pytest.importorskip("starlette", reason="misnomer[review] is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import pyarrow as pa
from starlette.testclient import TestClient

from misnomer.audit import audit
from misnomer.review import FILE, Review, load_for_review
from misnomer.review.decisions import Decisions
from misnomer.review.rows import fingerprint
from misnomer.review.server import application
from misnomer.review.server.content import image_of
from tests.review.conftest import PIXEL

TOKEN, BASE = "t" * 32, "http://127.0.0.1:8737"


def entered(review, roots=()):
    """Enter the page of a review."""
    app = application(review, host="127.0.0.1", port=8737, token=TOKEN, name="votes", roots=roots)
    client = TestClient(app, base_url=BASE)
    assert client.get(f"/?token={TOKEN}").status_code == 200
    return client


@pytest.fixture
def client(review):
    return entered(review)


def post(client, path, said):
    return client.post(path, json=said, headers={"origin": BASE})


def decide(client, row, action, who, label=None):
    seen = (client.get(f"/api/row?row={row}").json()["decision"] or {"id": 0})["id"]
    said = {"key": f"{who}-decides-{row}", "row": row, "action": action, "seen": seen, "who": who}
    return post(client, "/api/decide", {**said, "label": label}).json()["decision"]


def test_many_are_decided_at_once_and_taken_back_at_once(client, review):
    query = {"given": 0, "low": 0.9, "state": "open"}
    total = client.get("/api/rows", params=query).json()["total"]
    assert total > 2
    said = {"key": "bulk-key-1", "expected": total, "who": "ann", **query}
    assert post(client, "/api/bulk", {**said, "expected": total + 1}).status_code == 409
    assert review.decisions.standing() == []
    assert post(client, "/api/bulk", said).json() == {"decided": total}
    assert post(client, "/api/bulk", said).json() == {"decided": total}  # a retry is no second deed
    standing = review.decisions.standing()
    assert len(standing) == total and all(one.is_error and one.who == "ann" for one in standing)
    assert client.get("/api/rows", params=query).json()["total"] == 0
    before = review.first.wrong.copy()
    review.refit_now()
    assert (review.ranking.wrong == before).all()  # nothing was learned from the model's own words
    undone = post(client, "/api/undo", {"key": "undo-bulk-1", "bulk": "bulk-key-1"}).json()
    assert undone == {"undone": total} and review.decisions.standing() == []


def test_rows_are_found_by_words_and_by_value(client, review, audited):
    table = audited[1]
    names = client.get("/api/about").json()["columns"]
    place = names.index("mx_missile")
    assert set(client.get(f"/api/values?column={place}").json()["values"]) == {"y", "n", ""}
    column = table.column("mx_missile").to_pylist()
    for value, cell in (("y", "y"), ("", None)):
        query = {"column": place, "value": value, "state": "all"}
        assert client.get("/api/rows", params=query).json()["total"] == column.count(cell)
    party = table.column("party").to_pylist()
    found = client.get("/api/rows", params={"words": "REPUB", "state": "all"}).json()
    assert found["total"] == party.count("republican")
    assert client.get("/api/rows", params={"words": "[a-z"}).json()["total"] == 0  # no pattern
    assert client.get("/api/rows", params={"column": 99}).status_code == 422


def test_each_word_is_looked_for_by_itself(client, audited):
    table = audited[1]

    def found(words):
        return client.get("/api/rows", params={"words": words, "state": "all"}).json()["total"]

    republicans = table.column("party").to_pylist().count("republican")
    assert found("PUBLICAN rep") == republicans  # in any order
    assert found('"rep publican"') == 0  # together
    assert found('"publican"') == republicans
    assert found("republican democrat") == 0
    assert found('"') == 0


def test_a_column_without_a_value_asks_for_nothing(client):
    place = client.get("/api/about").json()["columns"].index("mx_missile")
    every = client.get("/api/rows", params={"state": "all"}).json()["total"]
    query = {"column": place, "state": "all"}
    assert client.get("/api/rows", params=query).json()["total"] == every


def test_the_classes_come_likeliest_first(client):
    row = client.get("/api/next").json()["row"]
    shares = [share for _, share, _ in row["chances"]]
    assert row["chances"][0][0] == row["suggested"]
    assert shares == sorted(shares, reverse=True) and abs(sum(shares) - 1) < 1e-9


def test_agreeing_is_not_changing(client, review):
    calm = int(review.ranking.orders["probability"][-1])
    row = client.get(f"/api/row?row={calm}").json()
    done = decide(client, calm, "accept", "ann", label=row["home"])
    assert row["suggested"] == row["home"] and done["error"] is False


def test_decisions_are_listed_with_notes_and_can_be_revised(client, review):
    first, second = (int(row) for row in review.ranking.orders["probability"][:2])
    decide(client, first, "keep", "ann")
    assert post(client, "/api/note", {"row": first, "text": "ask Dr. Lee", "who": "ann"}).json()
    post(client, "/api/note", {"row": second, "text": "later"})
    listed = client.get("/api/decisions").json()
    assert [(one["row"], one["note"]) for one in listed["rows"]] == [(first, "ask Dr. Lee")]
    assert [one["row"] for one in listed["notes"]] == [second]
    other = next(
        i for i, name in enumerate(review.audit.classes) if name != review.audit.given_label(first)
    )
    decide(client, first, "choose", "bob", label=other)
    (line,) = client.get("/api/decisions").json()["rows"]
    assert (line["error"], line["who"], line["disputed"]) == (True, "bob", True)
    post(client, "/api/note", {"row": second, "text": ""})
    assert client.get("/api/decisions").json()["notes"] == []
    assert post(client, "/api/note", {"row": 10**6, "text": "x"}).status_code == 422
    assert post(client, "/api/note", {"row": 1, "text": "x" * 3000}).status_code == 422


def test_reviewers_are_told_apart_and_compared(client, review):
    rows = [int(row) for row in review.ranking.orders["probability"][:4]]
    for row in rows:
        decide(client, row, "keep", "ann")
    second = {"state": "second", "who": "bob"}
    page = client.get("/api/rows", params=second).json()
    assert page["total"] == 4 and all(one["decision"] is None for one in page["rows"])
    assert client.get("/api/rows", params={**second, "who": "ann"}).json()["total"] == 0
    for row in rows[:3]:
        decide(client, row, "keep", "bob")
    classes = review.audit.classes
    other = next(i for i, name in enumerate(classes) if name != review.audit.given_label(rows[3]))
    decide(client, rows[3], "choose", "bob", label=other)
    (one,) = client.get("/api/decisions").json()["agreements"]
    assert (one["pair"], one["rows"], one["same"]) == (["ann", "bob"], 4, 3)
    last = client.get("/api/progress", params={"who": "ann"}).json()["last"]
    assert last["row"] == rows[3] and last["who"] == "ann"  # everybody undoes their own


def test_who_cannot_tell_does_not_disagree(client, review):
    rows = [int(row) for row in review.ranking.orders["probability"][:2]]
    for row, first in zip(rows, ("unsure", "accept"), strict=True):
        decide(client, row, first, "ann", label=int(review.judged.suggested[row]))
        decide(client, row, "keep", "bob")
    listed = {one["row"]: one["disputed"] for one in client.get("/api/decisions").json()["rows"]}
    assert listed == {rows[0]: False, rows[1]: True}


def test_a_review_of_the_older_format_is_taken_over(folder):
    mark = fingerprint(load_for_review(folder))
    old = Decisions(folder / FILE, mark)
    old.add(key="an-old-decision", row=3, action="keep", label="democrat", given="democrat")
    old.close()
    with sqlite3.connect(folder / FILE) as file:
        file.execute("ALTER TABLE decision DROP COLUMN bulk")
        file.execute("DROP TABLE note")
        file.execute("PRAGMA user_version = 1")
    file.close()
    new = Decisions(folder / FILE, mark)
    assert [one.row for one in new.standing()] == [3] and new.standing()[0].bulk is None
    new.close()


@pytest.fixture
def pictured(tmp_path):
    """An audit whose cells name images, addresses, and what must not be shown."""
    folder, elsewhere = tmp_path / "audit", tmp_path / "elsewhere"
    names = [
        "scan.png",
        "../secret.png",
        "link.png",
        "http://a.example/x.png",
        "notes.txt",
        "no.png",
    ]
    table = pa.table({
        "image": names * 10,
        "size": [float(i % 6) + i / 100 for i in range(60)],
        "kind": ["dog" if i % 6 > 2 else "cat" for i in range(60)],
    })  # fmt: skip
    audit(table, label="kind", families={"image": "ignored"}).save(folder)
    elsewhere.mkdir()
    for path in (folder / "scan.png", tmp_path / "secret.png", elsewhere / "no.png"):
        path.write_bytes(PIXEL)
    (folder / "notes.txt").write_text("no image")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    session = Review(load_for_review(folder), folder / FILE, refit=False)
    yield session, folder, elsewhere
    session.close()


def test_images_are_shown_from_allowed_folders_only(pictured):
    session, folder, elsewhere = pictured
    client = entered(session, [folder])

    def cell(row):
        return client.get(f"/api/row?row={row}").json()["cells"][0]

    assert cell(0)["image"] and not any(cell(row)["image"] for row in range(1, 6))
    answer = client.get("/api/image?row=0&column=0")
    assert answer.content == PIXEL and answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    for row in range(1, 6):
        refused = client.get(f"/api/image?row={row}&column=0")
        assert refused.status_code == 404 and str(folder) not in refused.text
    assert client.get("/api/image?row=0&column=7").status_code == 404
    assert client.get("/api/image?row=-1&column=0").status_code == 404
    assert cell(3)["link"] == "http://a.example/x.png" and cell(0)["link"] is None
    assert [cell(row)["elsewhere"] for row in range(6)] == [False, True, True, False, False, True]
    allowed = entered(session, [folder, elsewhere])
    assert allowed.get("/api/image?row=5&column=0").content == PIXEL


def test_odd_names_are_no_images(tmp_path):
    for text in ("", "a\0.png", "x" * 5000 + ".png", "/etc/passwd", "/dev/zero", "~/.png", "..png"):
        assert image_of(text, [tmp_path]) is None
