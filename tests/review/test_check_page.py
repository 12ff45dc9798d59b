"""Check mode in a browser: fifty rows by keys, blind, then the interval."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np

from misnomer import load_audit
from misnomer.audit.files.checks import CheckFolder
from tests.review.conftest import serving

ROWS = 50


def test_fifty_rows_are_answered_by_keys_and_the_interval_is_read(folder, audited, chromium):
    _, table, planted = audited
    other = {"democrat": "republican", "republican": "democrat"}
    given = table["party"].to_pylist()
    wrong = {*np.flatnonzero(planted).tolist()}
    true = [other[one] if at in wrong else one for at, one in enumerate(given)]
    command = [sys.executable, "-m", "misnomer", "check", str(folder), "--rows", str(ROWS)]
    process = subprocess.Popen(
        [*command, "--seed", "0", "--page", "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout.readline().startswith("50 rows were drawn")
        page = chromium.new_page()
        troubles = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(process.stdout.readline().strip())
        for turn in range(ROWS):
            page.wait_for_selector(f"text='{turn} of {ROWS} rows answered'")
            row = int(page.inner_text("#place").removeprefix("line ")) - 2  # the header is line 1
            assert "party" not in page.inner_text("#cells").split()
            page.keyboard.press("?" if turn == 7 else str(1 + (true[row] == "republican")))
        page.wait_for_selector("#end:not([hidden])")
        page.wait_for_selector("#words:not([hidden])")
        assert "of 50 checked rows are wrong" in page.inner_text("#words")
        assert not troubles
        page.close()
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=180)
    assert "of 50 checked rows are wrong" in said and "nobody could say" in said
    assert len(CheckFolder(folder).answers()) == ROWS
    found = load_audit(folder)
    assert found.verdict.level == "checked" and found.checks.counts["cannot_say"] == 1
    assert found.checks.counts["wrong"] == sum(
        row in wrong and answer != "cannot say"
        for row, answer in CheckFolder(folder).answers().items()
    )


def answered(chromium, folder, classes, steps):
    """Rows of such classes, answered on the page: what stands in the file."""
    about = json.loads((folder / "audit.json").read_text("utf-8"))
    (folder / "audit.json").write_text(json.dumps({**about, "classes": classes}), "utf-8")
    room = CheckFolder(folder)
    room.draw(len(steps), 0)
    with serving(folder, "--page", "--port", "0", verb="check") as (process, address):
        page = chromium.new_page()
        page.goto(address)
        for turn, step in enumerate(steps):
            page.wait_for_selector(f"text='{turn} of {len(steps)} rows answered'")
            step(page)
        page.wait_for_selector("#end:not([hidden])")
        page.close()
        process.kill()  # every answer was written down at once
    given = room.answers()
    return [given[row] for row in room.columns()["row"]]


def pressed(key):
    return lambda page: page.keyboard.press(key)


def typed(name):
    def work(page):
        page.fill("#name", name)
        page.press("#name", "Enter")

    return work


def test_a_class_called_like_a_key_has_that_key(folder, chromium):
    steps = [pressed("1"), pressed("0"), pressed("b"), pressed("2")]
    assert answered(chromium, folder, ["0", "1", "b", "a name"], steps) == ["1", "0", "b", "a name"]


def test_of_many_classes_the_name_is_typed(folder, chromium):
    classes = [f"class {k}" for k in range(100)]

    def look(page):
        assert page.locator("#classes button").count() == 0
        assert page.locator("#names option").count() == 100
        typed("class 42")(page)

    assert answered(chromium, folder, classes, [look, typed("new")]) == ["class 42", "new"]
