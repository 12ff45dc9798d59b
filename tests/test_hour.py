"""A new user's hour, as docs/hour.md tells it: its commands, and its keys in a real browser.

With ``MISNOMER_PICTURES=docs/pictures`` the pictures of the documentation are taken on the way.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openpyxl", reason="misnomer[excel] is not installed")
pytest.importorskip("starlette", reason="misnomer[review] is not installed")
pytest.importorskip("uvicorn", reason="misnomer[review] is not installed")

from misnomer.rows.scan import read_table
from tests.review.conftest import serving

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = os.environ.get("MISNOMER_PICTURES")
NEW = """patient,age,temperature,cough,itching eyes,aching limbs,month
N1,34,39.2,yes,no,yes,1
N2,29,36.7,no,yes,no,5
"""


def commands() -> dict[str, list[str]]:
    """Read the commands of the page, by their first word."""
    page = (DOCS / "hour.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ misnomer (.+)$", page, re.MULTILINE)
    assert NEW in page
    return {words[0]: words for words in map(shlex.split, lines)}


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "misnomer", *words],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def picture(page, name: str, **options) -> None:
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", **options)


def press(page, key: str, saved: int) -> None:
    page.keyboard.press(key)
    page.wait_for_selector(f'body[data-saved="{saved}"]')


@pytest.fixture(scope="module")
def visits(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hour")
    shutil.copy(DOCS / "hour" / "visits.xlsx", folder)
    (folder / "new.csv").write_text(NEW)
    return folder


def test_the_hour(visits, chromium):
    said = commands()
    assert list(said) == ["audit", "check", "review", "export", "predict"]
    assert "labels in “diagnosis” are wrong" in run(said["audit"], visits)
    report = chromium.new_page(viewport={"width": 1180, "height": 1000})
    report.goto((visits / "audit" / "report.html").as_uri())
    assert "visits.xlsx" in report.inner_text("header")
    picture(report, "report")
    with serving(visits / "audit", *said["check"][2:], "--port", "0", verb="check") as (_, address):
        checked(chromium, address)
    with serving(visits / "audit", "--port", "0") as (_, address):
        reviewed(chromium, address)
    run(said["export"], visits)
    clean, given = read_table(visits / "clean.csv"), read_table(visits / "visits.xlsx")
    pairs = zip(*(t.column("diagnosis").to_pylist() for t in (clean, given)), strict=True)
    assert sum(a != b for a, b in pairs) > 10
    run(said["predict"], visits)
    found = read_table(visits / "predictions.csv")
    assert found.num_rows == 2
    assert [v for c in found.columns for v in c.to_pylist() if v in ("flu", "allergy")] != []


def checked(chromium, address: str) -> None:
    """Look at some rows blind, and say that they cannot be told."""
    page = chromium.new_page(viewport={"width": 1100, "height": 760})
    page.goto(address)
    page.wait_for_selector("#classes button")
    assert "diagnosis" not in page.inner_text("#cells")
    picture(page, "check")
    for done in range(1, 4):
        page.keyboard.press("?")
        page.wait_for_selector(f"#count:has-text('{done} of 50')")


def reviewed(chromium, address: str) -> None:
    """Do on the page what the page of the documentation tells."""
    page = chromium.new_page(viewport={"width": 1440, "height": 960})
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.fill("#who", "Ann")
    page.keyboard.press("Tab")
    page.locator("main").click(position={"x": 4, "y": 4})
    press(page, "a", 1)
    page.keyboard.press("m")
    page.keyboard.type("ask Dr. Lee")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-noted]")
    press(page, "k", 2)
    press(page, "t", 3)
    page.keyboard.press("u")
    page.wait_for_selector("#count:has-text('2 decided')")
    page.keyboard.press("c")
    assert page.locator("#options li").count() == 3  # the likeliest first
    press(page, "Enter", 4)
    page.wait_for_selector("#fit", state="hidden")
    picture(page, "review")
    many_at_once(page)
    page.keyboard.press("d")
    page.wait_for_selector("#made .note:has-text('ask Dr. Lee')")
    lines = page.locator("#made li").count()
    page.locator("#made li .quiet").first.click()  # take the latest back
    page.wait_for_selector(f"#made-count:has-text('{lines - 1} decision')")
    assert trouble == []


def many_at_once(page) -> None:
    """Accept all plain suspects, take them back, and accept them again."""
    page.fill("[name=low]", "0.9")
    page.keyboard.press("Tab")
    page.wait_for_selector("#bulk:has-text('Accept all')")
    page.click("#bulk")
    picture(page, "bulk")
    page.click("#bulk-yes")
    page.wait_for_selector("#bulk-done:has-text('decided at once')")
    page.click("#bulk-done button")
    page.wait_for_selector("#count:has-text('3 decided')")
    page.click("#bulk")
    page.click("#bulk-yes")
    page.wait_for_selector("#bulk-done:has-text('decided at once')")
    page.locator("main").click(position={"x": 4, "y": 4})
