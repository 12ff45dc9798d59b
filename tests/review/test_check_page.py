"""Check mode in a browser: fifty rows by keys, blind, then the interval."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np

from misnomer import load_audit
from misnomer.audit.files.checks import CheckFolder

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
            row = int(page.inner_text("#place").split()[1])
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
