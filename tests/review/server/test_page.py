"""The page in a real browser: by keyboard, through reloads, kills, tabs and hostile cells."""

from __future__ import annotations

import re
import shutil
import signal

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("starlette", reason="misnomer[review] is not installed")
pytest.importorskip("uvicorn", reason="misnomer[review] is not installed")

from misnomer.audit import audit
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.cli.review import _summary, export
from misnomer.review import FILE, load_for_review
from misnomer.review.decisions import Decisions
from misnomer.review.rows import fingerprint
from misnomer.rows.scan import read_table
from tests.review.answers import RATES, write_scans
from tests.review.conftest import PIXEL, serving

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
LINK = "javascript:document.title='owned'"


def opened(browser, address, **options):
    page = browser.new_context(**options).new_page()
    page.trouble = []
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    return page


def press(page, key, saved):
    """Press a key and wait until the page says that it is on disk."""
    page.keyboard.press(key)
    page.wait_for_selector(f'body[data-saved="{saved}"]')


def row_shown(page):
    """Read which row is shown: the page says the line of the file, the first row is on line 2."""
    return int(page.inner_text("#place").removeprefix("Line ")) - 2


def stored(folder):
    decisions = Decisions(folder / FILE, fingerprint(load_for_review(folder)))
    found = decisions.standing()
    decisions.close()
    return found


def test_a_review_from_the_first_key_to_the_clean_file(chromium, folder, audited, tmp_path):
    with serving(folder, "--port", "0") as (process, address):
        page = opened(chromium, address)
        assert "token" not in page.url
        rows = [row_shown(page)]
        for saved, key in enumerate("akat", start=1):
            press(page, key, saved)
            rows.append(row_shown(page))
        assert len(set(rows)) == 5
        page.keyboard.press("u")  # takes back "cannot tell"
        page.wait_for_selector(f"#place:text-is('Line {rows[3] + 2}')")
        page.keyboard.press("c")
        page.keyboard.type("repub")
        assert page.locator("#options li").all_inner_texts()[0].startswith("republican")
        press(page, "Enter", 5)
        page.keyboard.press("p")
        page.wait_for_selector(f"#place:text-is('Line {rows[3] + 2}')")
        assert "republican" in page.inner_text("#standing")
        page.reload()
        page.wait_for_selector("body[data-ready]")
        assert row_shown(page) not in rows[:4]
        page.wait_for_selector("#count:has-text('4 decided')")
        before = stored(folder)
        assert [one.row for one in before] == rows[:4]
        process.send_signal(signal.SIGKILL)
        process.wait()
        page.keyboard.press("a")
        page.wait_for_selector("#trouble:has-text('Not saved')")
        assert page.trouble == []
    assert stored(folder) == before
    with serving(folder, "--port", "0") as (_, address):
        page = opened(chromium, address)
        page.wait_for_selector("#count:has-text('4 decided')")
        for saved in range(1, 4):
            press(page, "a", saved)
        page.wait_for_selector("#count:has-text('7 decided')")
    decided = {one.row: one for one in stored(folder)}
    export(folder, tmp_path / "clean.csv")
    clean, given = read_table(tmp_path / "clean.csv"), audited[1].column("party").to_pylist()
    expected = [decided[i].label if i in decided else label for i, label in enumerate(given)]
    assert clean.column("party").to_pylist() == expected


def test_a_decision_right_after_an_undo_is_kept(chromium, folder):
    with serving(folder, "--port", "0") as (_, address):
        page = opened(chromium, address)
        row = row_shown(page)
        press(page, "a", 1)
        page.route("**/api/progress*", lambda route: None)  # the queue is slow: it never comes
        page.keyboard.press("u")
        page.wait_for_selector(f"#place:text-is('Line {row + 2}')")
        press(page, "k", 2)
    assert [(one.row, one.action) for one in stored(folder)] == [(row, "keep")]


@pytest.fixture(scope="module")
def shared(audited, tmp_path_factory):
    """One server for the tests that may see each other's decisions."""
    folder = tmp_path_factory.mktemp("shared") / "votes"
    shutil.copytree(audited[0], folder)
    with serving(folder, "--port", "0") as (_, address):
        yield folder, address


def test_a_refit_does_not_move_the_row_in_view(chromium, shared):
    page = opened(chromium, shared[1])
    for saved in range(1, 6):
        press(page, "a", saved)
    row, words = row_shown(page), page.inner_text("#wrong")
    page.wait_for_selector("#fit", state="hidden")
    page.wait_for_timeout(300)
    assert (row_shown(page), page.inner_text("#wrong")) == (row, words)


def test_two_tabs_decide_a_row_once(chromium, shared):
    folder, address = shared
    first, second = opened(chromium, address), opened(chromium, address)
    row = row_shown(first)
    assert row_shown(second) == row
    press(first, "a", 1)
    second.keyboard.press("k")
    second.wait_for_selector("#trouble:has-text('another tab')")
    assert "changed to" in second.inner_text("#standing")
    assert [one.action for one in stored(folder) if one.row == row] == ["accept"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """An audit of hostile cells with 500 classes."""
    rng = np.random.default_rng(0)
    names = [f"class {k:03d}" for k in range(499)] + ["<b>bold</b>"]
    true = np.repeat(np.arange(500), 4)
    given = true.copy()
    given[[0, 1999]] = [7, 3]
    table = pa.table(
        {
            "<i>place</i>": (true + rng.normal(scale=0.01, size=2000)).tolist(),
            "twin": (true * 3.0 + rng.normal(scale=0.01, size=2000)).tolist(),
            "note": [HOSTILE if i % 2 else LINK for i in range(2000)],
            "story": [f"{i} once upon a time, " * 300 + "the needle" for i in range(2000)],
            "name": [names[k] for k in given],
        }
    )
    folder = tmp_path_factory.mktemp("hostile") / "audit"
    kinds = {"note": "ignored", "story": "ignored"}
    counted = NoisyLabelNB(channel="identity", families=kinds)  # 500 classes, and no time to fit
    audit(table, label="name", classifier=counted).save(folder)
    return folder


def test_hostile_cells_are_text_and_many_classes_are_found(chromium, hostile):
    with serving(hostile, "--port", "0") as (_, address):
        page = opened(chromium, address)
        for row in ("0", "1", "1999"):
            page.keyboard.press("g")
            page.fill("#target", row)
            page.keyboard.press("Enter")
            page.wait_for_selector(f"#place:text-is('Row {row}')")
            assert (HOSTILE if int(row) % 2 else LINK) in page.inner_text("#cells")
        assert (
            page.locator("#row script, #row img, #row a, #row i:not(.for, .against)").count() == 0
        )
        assert "owned" not in page.title() and page.trouble == []
        page.keyboard.press("/")
        page.keyboard.type("needle")
        assert page.inner_text("#hits") == "1 found" and page.inner_text("mark") == "needle"
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.wait_for_function("document.querySelectorAll('#options li').length === 50")
        page.keyboard.type("bold")
        press(page, "Enter", 1)
        (found,) = stored(hostile)
        assert (found.row, found.label) == (1999, "<b>bold</b>")


@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 320), ("dark", 3840)])
def test_the_page_fits_any_screen(chromium, shared, scheme, width):
    viewport = {"width": width, "height": 800}
    page = opened(chromium, shared[1], color_scheme=scheme, viewport=viewport)
    page.wait_for_selector("#queue li")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    assert dark == (scheme == "dark")


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """An audit of five annotators, whose file has changed since."""
    place = tmp_path_factory.mktemp("scans")
    write_scans(place / "scans.csv")
    audit(place / "scans.csv", annotators=list(RATES), id="patient").save(place / "audit")
    with (place / "scans.csv").open("a") as stream:
        stream.write("P999;1.0;rough;;benign;;;;benign\n")
    return place / "audit"


def test_annotators_from_the_first_key_to_the_clean_file(chromium, scans, tmp_path):
    with serving(scans, "--port", "0", "--anyway") as (_, address):
        page = opened(chromium, address)
        words = page.inner_text("#notice")
        assert "has changed since the audit" in words and "240 rows and has 241" in words
        assert "misnomer audit" in words and "until then" in words
        said = page.locator("#said tr").all_inner_texts()
        bars = page.locator("#terms tr.answer").all_inner_texts()
        assert len(said) == len(bars) >= 2 and all("%" in line for line in said)
        assert {line.split()[0] for line in said} <= {*RATES}
        name, weight = said[0].split()[0], said[0].split()[-1]
        assert any(bar.startswith(f"{name} = ") and bar.endswith(weight) for bar in bars)
        first = page.inner_text("#place")
        for saved in range(1, 6):
            press(page, "a", saved)
        page.wait_for_selector("#fit", state="hidden")
        page.keyboard.press("g")
        page.fill("#target", first.removeprefix("Row "))
        page.keyboard.press("Enter")
        page.wait_for_selector("#said tr.yours")
        assert page.inner_text("#said tr.yours").startswith("reviewer")
        assert page.trouble == []
    export(scans, tmp_path / "clean.csv", anyway=True)
    clean = read_table(tmp_path / "clean.csv")
    decided = {one.row: one.label for one in stored(scans)}
    assert len(decided) == 5
    assert {row: clean.column("consensus")[row].as_py() for row in decided} == decided


def test_the_answers_fit_any_screen(chromium, scans):
    right = "getBoundingClientRect().right"
    inside = f"(table) => table.{right} <= table.closest('.card').{right}"
    with serving(scans, "--port", "0", "--anyway") as (_, address):
        for scheme, width in (("light", 320), ("dark", 320), ("light", 1280)):
            viewport = {"width": width, "height": 800}
            page = opened(chromium, address, color_scheme=scheme, viewport=viewport)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator(".said").evaluate(inside)


def test_whoever_filters_sees_the_first_row_of_what_was_asked_for(chromium, shared):
    page = opened(chromium, shared[1])
    page.select_option("[name=column]", label="mx_missile")
    page.wait_for_selector("#values option", state="attached")
    # no value is no filter: the queue that is read again has as many rows
    page.wait_for_function("document.querySelectorAll('#queue li').length === 50")
    assert page.is_hidden("#bulk")
    before = row_shown(page)
    page.fill("[name=value]", "(none)")
    page.keyboard.press("Tab")
    page.wait_for_selector("#cells dt:has-text('mx_missile') + dd.none")
    first = page.locator("#queue button").first
    assert first.get_attribute("data-row") == str(row_shown(page)) != str(before)
    assert page.is_visible("#bulk")
    page.fill("[name=words]", "no such words")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found:has-text('no row passes')")
    assert page.is_visible("#ask")  # what was shown stays
    page.keyboard.press("w")  # the search is over: a key is about the row again
    page.wait_for_selector("body[data-wide='1']")
    page.focus("[name=words]")
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    page.wait_for_selector("body:not([data-wide='1'])")
    assert not page.input_value("[name=words]").endswith("w")
    assert page.trouble == []


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """An audit of texts, some of them long, with a picture of some; one label is wrong."""
    rng = np.random.default_rng(0)
    words = np.array(["prize cash winner claim", "lunch train meeting home"])
    folder = tmp_path_factory.mktemp("letters")
    (folder / "scans").mkdir()
    for name in ("0.png", "1.png"):
        (folder / "scans" / name).write_bytes(PIXEL)
    texts = [
        " ".join(rng.choice((words[i % 2] + " to the and of").split(), 120 if i < 2 else 12))
        for i in range(200)
    ]
    table = pa.table(
        {
            "text": texts,
            "scan": [f"{i}.png" if i < 3 else None for i in range(200)],
            "kind": [["spam", "ham"][i % 2] for i in range(199)] + ["spam"],
        }
    )
    audit(table, label="kind", families={"scan": "ignored"}).save(folder / "audit")
    return folder


def go_to(page, row):
    page.keyboard.press("g")
    page.fill("#target", str(row))
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#place:text-is('Row {row}')")


def test_words_that_weigh_are_colored_and_long_texts_are_wide(chromium, letters):
    with serving(letters / "audit", "--port", "0") as (_, address):
        page = opened(chromium, address, viewport={"width": 1440, "height": 900})
        go_to(page, 199)
        assert page.inner_text("#given") == "spam" and page.inner_text("#suggested") == "ham"
        colored = page.locator("#cells .word")
        found = {one.inner_text() for one in colored.all()}
        assert found & {"lunch", "train", "meeting", "home"} and not found & {"prize", "cash"}
        assert "toward" in page.locator("#cells .word:text-is('train')").first.get_attribute(
            "class"
        )
        short = page.locator("#content").bounding_box()["width"]
        go_to(page, 0)
        assert page.locator("#content").bounding_box()["width"] > 1.8 * short  # of both cards
        page.keyboard.press("w")
        assert page.locator("#content").bounding_box()["width"] > 1300  # the whole window
        assert page.trouble == []


def test_images_are_shown_or_it_is_said_how(chromium, letters):
    seen = "#cells img"
    with serving(letters / "audit", "--port", "0") as (_, address):
        page = opened(chromium, address)
        go_to(page, 1)
        assert page.locator(seen).count() == 0
        assert "with --files and" in page.inner_text("#cells .hint")
        assert (
            page.locator("#cells .hint code").evaluate("e => getComputedStyle(e).textWrap")
            == "nowrap"
        )
    with serving(letters / "audit", "--port", "0", "--files", str(letters / "scans")) as (_, at):
        page = opened(chromium, at)
        go_to(page, 1)
        shown = page.locator(seen).evaluate("e => e.decode().then(() => e.naturalWidth)")
        assert shown == 1
        assert page.locator("#cells .hint").count() == 0
        go_to(page, 2)  # named, and not there
        assert page.locator(seen).count() == 0 and page.trouble == []


def test_the_way_made_is_no_glaring_bar_in_the_dark(chromium, shared):
    page = opened(chromium, shared[1], color_scheme="dark")
    color = "e => getComputedStyle(e).backgroundColor"
    assert page.locator("#bar").evaluate(color) == "rgb(52, 57, 67)"
    assert page.locator("#bar").evaluate("e => getComputedStyle(e).appearance") == "none"


def test_every_control_has_a_name_and_decisions_are_announced(chromium, shared):
    page = opened(chromium, shared[1])
    for control in page.locator("button:visible, input:visible, select:visible").all():
        name = control.evaluate("e => e.ariaLabel || e.labels?.[0]?.innerText || e.innerText || ''")
        assert re.search(r"\w", name)
    press(page, "k", 1)
    assert page.locator("#live[aria-live=polite]").inner_text().startswith("Kept")


def test_agreement_is_said_in_words_and_of_few_rows_not_measured(chromium, shared):
    page = opened(chromium, shared[1])
    for rows, beyond, words in (
        (1, None, "agree on 1 of 1 row"),
        (9, 0.5, "agree on 1 of 9 rows"),
        (20, -0.33, "agree on 1 of 20 rows, no more than by chance"),
        (20, 0.62, "agree on 1 of 20 rows: 62% of the way from chance to full agreement"),
    ):
        one = {"pair": ["ann", "bob"], "same": 1, "rows": rows, "beyond_chance": beyond}
        said = page.evaluate("async (one) => (await import('/made.js')).agreement(one)", one)
        assert said == f"ann and bob {words}"


def test_one_decision_is_one(review, folder):
    review.decide(key="test-key-0", row=0, action="unsure")
    assert _summary(review, folder).startswith("1 decision is in")


def test_a_second_server_says_so(folder):
    with serving(folder, "--port", "0") as (_, address):
        port = re.search(r":(\d+)/", address)[1]
        with serving(folder, "--port", port) as (process, other):
            assert f":{port}/" not in other
            process.send_signal(signal.SIGINT)
            words = process.communicate(timeout=180)[1]
    assert "another server shows this review already" in words
    assert f"port {port} is in use" in words and "Traceback" not in words
    assert "0 decisions are in" in words and "interrupted" not in words
