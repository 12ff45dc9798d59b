"""``misnomer check``: a sheet, the terminal, the page, and the audit that knows them."""

from __future__ import annotations

import csv
import json
import warnings

import openpyxl
import pyarrow as pa
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from misnomer import load_audit
from misnomer.audit import collector
from misnomer.audit.files.checks import CheckFolder
from misnomer.cli import app
from misnomer.cli import review as check_module
from misnomer.review.server import check_application
from tests.audited import pets


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Audit 240 pets of which the first 20 are mislabeled, once."""
    folder = tmp_path_factory.mktemp("checks")
    frame = pets()
    frame.to_csv(folder / "pets.csv", index=False)
    done = run("audit", folder / "pets.csv", "--label", "pet", "--out", folder / "audit", "-q")
    assert done.exit_code == 0, done.output
    given = frame["pet"].tolist()
    other = {"cat": "dog", "dog": "cat"}
    return folder, [other[one] if i < 20 else one for i, one in enumerate(given)]


@pytest.fixture
def place(audited, tmp_path):
    import shutil

    folder, true = audited
    shutil.copytree(folder / "audit", tmp_path / "audit")
    return tmp_path / "audit", folder / "pets.csv", true


def filled(path, true, answered=10**6):
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # by which spreadsheets know UTF-8
    with path.open(encoding="utf-8-sig") as stream:
        lines = list(csv.DictReader(stream))
    for at, line in enumerate(lines):
        if at < answered:
            line["true_label"] = true[int(line["row"])]
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return lines


def test_a_sheet_goes_out_and_comes_back(place, tmp_path):
    folder, data, true = place
    sheet = tmp_path / "sheet.csv"
    done = run("check", folder, "--rows", 40, "--seed", 1, "--sheet", sheet)
    assert done.exit_code == 0 and "40 rows are in" in done.output
    lines = filled(sheet, true)
    assert "pet" not in lines[0] and not any(
        "label" in name for name in lines[0] if name != "true_label"
    )
    done = run("check", folder, "--answers", sheet)
    assert done.exit_code == 0 and "of 40 checked rows are wrong" in done.output
    assert "answered as drawn" in done.output
    found = load_audit(folder)
    assert found.verdict.level == "checked" and 20 / 240 in found.error_rate
    page = (folder / "report.html").read_text("utf-8")
    assert "Share of wrong labels, checked" in page and "What the checked rows say" in page
    told = json.loads((folder / "audit.json").read_text("utf-8"))
    assert told["checks"]["counts"]["counted"] == 40 and told["verdict"]["level"] == "checked"
    again = run("audit", data, "--label", "pet", "--out", folder, "--force")
    assert again.exit_code == 0 and "holds whatever the noise" in again.output
    assert "of 40 wrong" in again.output


def test_rows_read_by_batches_find_the_checks_of_their_folder(place, tmp_path, monkeypatch):
    _, data, true = place
    chosen = collector._choose_rows
    monkeypatch.setattr(collector, "_choose_rows", lambda n, most, seed: chosen(n, 100, seed))
    folder, sheet = tmp_path / "many", tmp_path / "sheet.csv"
    words = ("audit", data, "--label", "pet", "--memory", "8GB", "--out", folder)
    assert run(*words).exit_code == 0
    assert (folder / "sample").exists()
    run("check", folder, "--rows", 40, "--seed", 1, "--sheet", sheet)
    filled(sheet, true)
    done = run("check", folder, "--answers", sheet)
    assert "of 40 checked rows are wrong" in done.output and "--force takes" in done.output
    again = run(*words, "--force")
    assert again.exit_code == 0 and "of 40 wrong" in again.output
    told = json.loads((folder / "audit.json").read_text("utf-8"))
    assert told["verdict"]["level"] == "checked"
    assert load_audit(folder / "sample").verdict.level == "checked"


def test_the_report_says_assumed_before_anybody_checked(place):
    folder, _, _ = place
    page = (folder / "report.html").read_text("utf-8")
    assert "Share of wrong labels, assumed" in page and "✓ Verdict" not in page
    assert "cannot be seen" in page.replace("\n", " ")


def test_a_sheet_that_would_not_be_what_its_name_says_is_refused(place, tmp_path):
    folder, _, _ = place
    done = run("check", folder, "--rows", 10, "--sheet", tmp_path / "sheet.ods")
    assert done.exit_code != 0 and "name it" in done.output and "sheet.csv" in done.output
    assert not (tmp_path / "sheet.ods").exists() and not (folder / "checks").exists()


def test_a_command_to_copy_names_folders_with_blanks(place, tmp_path):
    room = place[0].rename(tmp_path / "my audit")
    done = run("check", room, "--rows", 4, "--sheet", tmp_path / "my sheet.csv")
    told = f"misnomer check '{room}' --answers '{tmp_path / 'my sheet.csv'}'"
    assert told in done.output and (tmp_path / "my sheet.csv").exists()


def test_a_workbook_goes_out_and_comes_back(place, tmp_path):
    folder, _, true = place
    sheet = tmp_path / "sheet.xlsx"
    done = run("check", folder, "--rows", 40, "--seed", 1, "--sheet", sheet)
    assert done.exit_code == 0 and "40 rows are in" in done.output
    book = openpyxl.load_workbook(sheet)
    header, *lines = list(book.active.iter_rows())
    assert [cell.value for cell in header[:3]] == ["row", "line", "true_label"]
    for row, line, answer, *_ in lines:
        assert line.value == row.value + 2  # as Excel counts: the header is line 1
        answer.value = true[row.value]
    book.save(sheet)
    done = run("check", folder, "--answers", sheet)
    assert done.exit_code == 0 and "of 40 checked rows are wrong" in done.output


def test_a_sheet_as_old_excel_saves_it_is_noted_in_a_line(place, tmp_path):
    folder, _, true = place
    CheckFolder(folder).draw(4, 1)
    sheet = tmp_path / "sheet.csv"
    rows = CheckFolder(folder).open_rows()
    lines = "".join(f"{row};{true[row]};schön\n" for row in rows)
    sheet.write_bytes(f"row;true_label;note\n{lines}".encode("cp1252"))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = run("check", folder, "--answers", sheet)
    assert done.exit_code == 0 and "4 answers of" in done.output
    (note,) = [line for line in done.stderr.splitlines() if "Windows-1252" in line]
    assert note.startswith("misnomer: note: ") and "warn" not in done.stderr.lower()


def test_part_of_a_sheet_runs_and_more_can_be_drawn(place, tmp_path):
    folder, _, true = place
    sheet = tmp_path / "sheet.csv"
    run("check", folder, "--rows", 30, "--seed", 1, "--sheet", sheet)
    filled(sheet, true, answered=12)
    done = run("check", folder, "--answers", sheet)
    assert "of 12 checked rows" in done.output and "holds whenever you stop" in done.output
    run("check", folder, "--rows", 10, "--seed", 2, "--sheet", sheet)
    assert len(filled(sheet, true)) == 28
    done = run("check", folder, "--answers", sheet)
    assert "of 40 checked rows" in done.output and "holds whenever you stop" in done.output


def test_what_cannot_be_said_costs_and_the_cost_is_said(place, tmp_path):
    folder, _, true = place
    sheet = tmp_path / "sheet.csv"
    run("check", folder, "--rows", 30, "--seed", 1, "--sheet", sheet)
    blank = ["cannot say" if i % 2 else one for i, one in enumerate(true)]
    filled(sheet, blank)
    done = run("check", folder, "--answers", sheet)
    assert "nobody could say widen it: without them it would be" in done.output


def test_too_many_that_nobody_can_say_ask_for_somebody_who_can(place, tmp_path):
    """More rows would not help: half of them would be unsaid again."""
    folder, _, true = place
    sheet = tmp_path / "sheet.csv"
    run("check", folder, "--rows", 30, "--seed", 1, "--sheet", sheet)
    filled(sheet, ["cannot say" if i % 3 else one for i, one in enumerate(true)])
    done = run("check", folder, "--answers", sheet)
    assert "nobody could say, too many for a useful interval" in done.output
    assert "checked rows are wrong" not in done.output and "more answer" not in done.output
    sentences = load_audit(folder).verdict.sentences
    assert any("looked at by somebody else" in one for one in sentences)
    filled(sheet, true)
    done = run("check", folder, "--answers", sheet)
    assert "of 30 checked rows are wrong" in done.output
    sentences = load_audit(folder).verdict.sentences
    assert not any("nobody could say" in one or "somebody" in one for one in sentences)


def test_nothing_but_cannot_say_is_said_as_it_is(place, tmp_path):
    folder, _, true = place
    sheet = tmp_path / "sheet.csv"
    run("check", folder, "--rows", 10, "--seed", 1, "--sheet", sheet)
    filled(sheet, ["cannot say"] * len(true))
    done = run("check", folder, "--answers", sheet)
    assert "nobody could say the class of any of the 10 answered rows" in done.output


def test_three_answers_of_fifty_name_no_share(place, tmp_path):
    folder, _, true = place
    sheet = tmp_path / "sheet.csv"
    run("check", folder, "--rows", 50, "--seed", 1, "--sheet", sheet)
    filled(sheet, true, answered=3)
    done = run("check", folder, "--answers", sheet)
    assert "Too few rows were checked" in done.output and "of all labels" not in done.output


def typed(monkeypatch, room, *words):
    """Answer in the terminal; after these words the input ends."""
    waiting = iter(words)

    def read(*_):
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    check_module._ask(room)
    return [room.answers().get(row) for row in room.columns()["row"]]


def test_the_terminal_takes_keys_names_and_takes_answers_back(place, monkeypatch):
    folder, _, _ = place
    room = CheckFolder(folder)
    room.draw(5, 0)
    said = typed(monkeypatch, room, "u", "1", "2", "u", "u", "dog", "?", "1", "q")
    assert said == ["dog", "cannot say", "cat", None, None]
    assert typed(monkeypatch, room, "2", "2")[3:] == ["dog", "dog"]


def test_rows_are_asked_for_by_their_lines_and_empty_cells_are_said(place, monkeypatch, capsys):
    folder, _, _ = place
    room = CheckFolder(folder)
    first = room.draw(3, 1)["row"][0]
    gaps = pa.table({"note": pa.array([None] * 3, pa.string())})
    monkeypatch.setattr(CheckFolder, "cells", lambda self, rows: gaps)
    typed(monkeypatch, room, "q")
    said = capsys.readouterr().out
    assert f"line {first + 2}: 1 of 3" in said and "note: (none)" in said


def test_a_class_called_like_a_key_is_what_is_typed(place, monkeypatch):
    """Of classes 0, 1, 2 the first has no key 1: who types 1 means the class."""
    folder, _, _ = place
    room = CheckFolder(folder)
    room.draw(3, 0)
    monkeypatch.setattr(CheckFolder, "classes", [0, 1, 2])
    assert typed(monkeypatch, room, "1", "0", "2") == [1, 0, 2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rows", 500], "500 rows are wanted, but only 240 labeled rows are left"),
        ([], "no rows were drawn yet"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(place, words, sentence):
    folder, _, _ = place
    done = run("check", folder, *words)
    assert done.exit_code != 0 and sentence in done.output + str(done.stderr)


def test_an_answer_is_there_after_a_crash(place):
    folder, _, _ = place
    room = CheckFolder(folder)
    room.draw(5, 0)
    first = room.open_rows()[0]
    room.answer(first, "cat")
    with (room.room / "answers.jsonl").open("a") as stream:
        stream.write('{"row": 3, "true_l')  # killed while it wrote
    assert CheckFolder(folder).answers() == {first: "cat"}
    room.answer(first, None)
    assert first in room.open_rows()


def test_the_page_asks_blind_and_writes_every_answer_down(place):
    folder, _, true = place
    room = CheckFolder(folder)
    room.draw(6, 0)
    app_ = check_application(room, host="127.0.0.1", port=80, token="key")
    client = TestClient(app_, base_url="http://127.0.0.1:80", headers={"host": "127.0.0.1:80"})
    assert client.get("/api/next").status_code == 403
    assert client.get("/?token=key").status_code == 200
    shown = client.get("/api/next").json()
    assert shown["total"] == 6 and shown["classes"] == ["cat", "dog"]
    assert "pet" not in dict(shown["cells"]) and "error_probability" not in str(shown)
    origin = {"origin": "http://127.0.0.1:80"}
    for _ in range(5):
        place_ = ["cat", "dog"].index(true[shown["row"]])
        said = {"row": shown["row"], "class": place_}
        shown = client.post("/api/answer", json=said, headers=origin).json()
    undone = client.post("/api/undo", json={}, headers=origin).json()
    assert undone["done"] == 4
    said = {"row": undone["row"], "unsure": True}
    shown = client.post("/api/answer", json=said, headers=origin).json()
    said = {"row": shown["row"], "new": "fox"}
    last = client.post("/api/answer", json=said, headers=origin).json()
    assert last["row"] is None and "fox" in last["classes"]
    assert {*room.answers().values()} >= {"cannot say", "fox"}
    words = client.get("/api/result").json()["words"]
    assert words.startswith("Too few rows were checked") and "of 6 are wrong" in words
    wrong = client.post("/api/answer", json={"row": 10**6, "class": 0}, headers=origin)
    assert wrong.status_code == 422 and "was not drawn" in wrong.json()["trouble"]
