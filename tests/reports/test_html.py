"""The page: as text, and in a real browser where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from misnomer import audit, reports
from misnomer.reports import figures
from misnomer.reports.html import to_html
from misnomer.review import server
from misnomer.verdict import Verdict
from tests.reports.audits import HOSTILE, hostile_audit, large_audit, small_audit

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
TEMPLATES = Path(reports.__file__).parent / "templates"
PAGE = Path(server.__file__).parent / "page"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


class Outline(HTMLParser):
    """Collect what the page is made of."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    def all(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]


@pytest.fixture(scope="module")
def hostile():
    return to_html(hostile_audit())


def test_it_needs_no_network_and_no_script(hostile):
    for page in (hostile, to_html(small_audit())):
        outline = Outline(page)
        assert not outline.all("script") and not outline.all("img") and not outline.all("iframe")
        for _, attrs in outline.tags:
            for name in ("href", "src", "xlink:href", "action"):
                assert (attrs.get(name) or "#").startswith(("#", "data:"))
            assert not any(name.startswith("on") for name in attrs)
        assert not re.search(r"https?://|@import|url\((?!#)", page)


def test_every_name_is_shown_as_text(hostile):
    words = "".join(Outline(hostile).text)
    assert HOSTILE[0] in words and HOSTILE[1] in words and "{{ 7 * 7 }}" in words
    assert "two⏎lines" in words and "🦊 fox" in words
    assert "<i>mind</i> this" in words and "<u>Only</u>" in words and "<b>bold</b>" in words
    assert "\x1b" not in hostile and "\u202e" not in hostile


def test_it_can_be_read_without_seeing_it(hostile):
    outline = Outline(hostile)
    assert outline.all("html")[0]["lang"] == "en"
    assert len(outline.all("h1")) == 1
    assert len(outline.all("caption")) == len(outline.all("table"))
    for svg in outline.all("svg"):
        assert svg.get("aria-label") or svg.get("aria-hidden") == "true"
    ids = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for link in outline.all("a"):
        assert link["href"].removeprefix("#") in ids
    assert all("scope" in attrs for attrs in outline.all("th"))


def test_it_says_what_the_audit_says():
    words = "".join(Outline(to_html(small_audit())).text)
    for part in (
        "About 20.7%",
        "90% interval 15.7% to 25.7%",
        "P(given | true)",
        "18.2%",
        "checked, holds whatever the noise",
        "Two starts agreed.",
        "random_state=0",
        "misnomer audit DATA --label diagnosis",
        "fever = yes",
        "(given label) = cold",
    ):
        assert part in words


def test_many_classes_stay_small():
    page = to_html(large_audit())
    assert len(page.encode()) < 1_000_000
    assert "Largest confusions" in page and "The matrix from afar" in page


def browse(page, tmp_path, *flags):
    """Open a page in a fresh headless browser; return its DOM and what it wrote to its log."""
    file, log = tmp_path / "page.html", tmp_path / "net.json"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", f"--log-net-log={log}",
         "--enable-logging=stderr", "--virtual-time-budget=2000", *flags, "--dump-dom",
         file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr, log


def requested(log):
    """List the addresses that pages asked the network for (not the browser on its own account)."""
    raw = log.read_text()
    try:
        events = json.loads(raw)["events"]
    except json.JSONDecodeError:  # the browser was closed in mid-sentence
        events = json.loads(raw.rstrip().rstrip(",") + "]}")["events"]
    asked = [event.get("params", {}) for event in events]
    return [
        one["url"]
        for one in asked
        if str(one.get("url", "")).startswith("http") and "file" in str(one.get("initiator", ""))
    ]


@needs_chromium
def test_a_browser_has_nothing_to_complain_about(hostile, tmp_path):
    dom, log, net = browse(hostile, tmp_path)
    assert "CONSOLE" not in log
    assert requested(net) == []
    assert "<script" not in dom and "onerror" not in re.sub(r"&lt;.*?&gt;", "", dom)
    assert "Label audit of &lt;/title&gt;" in dom


@needs_chromium
def test_a_phone_need_not_scroll_sideways(hostile, tmp_path):
    (tmp_path / "report.html").write_text(hostile, encoding="utf-8")
    frame = """<!doctype html><iframe src="report.html" style="width:360px;height:800px;border:0"
        onload="const page = this.contentDocument.documentElement;
                document.title = [page.clientWidth, page.scrollWidth]"></iframe>"""
    dom, _, _ = browse(frame, tmp_path, "--allow-file-access-from-files")
    room, needed = map(int, re.search(r"<title>(\d+),(\d+)</title>", dom).groups())
    assert 300 < needed <= room <= 360


@pytest.fixture
def opened(chromium, tmp_path):
    """Open a page in the browser, as wide as a phone or as a desk."""

    def at(content, width):
        (tmp_path / "report.html").write_text(content, encoding="utf-8")
        page = chromium.new_page(viewport={"width": width, "height": 900})
        page.goto((tmp_path / "report.html").as_uri())
        return page

    return at


def test_no_line_ends_between_the_hyphens_of_an_option(opened):
    """Read "-- rows 50" where the path before it filled the line, who typed it got an error."""
    said = "Next: check 50 rows: misnomer check audits/of/may --rows 50, or draw_checks(50)."
    content = to_html(small_audit(verdict=Verdict("assumed", (said,), {})))
    for width in (320, 340, 360, 380, 400, 1180):
        option = opened(content, width).locator(".verdict code span")
        assert option.inner_text() == "--rows 50"
        assert option.evaluate("e => e.getClientRects().length") == 1
    assert said in "".join(Outline(content).text)


def test_nor_in_a_note(opened):
    note = "t.csv was read as Windows-1252: say the encoding if that is <b>wrong</b> (--encoding)"
    content = to_html(replace(small_audit(), warnings=(note,)))
    for width in (320, 340, 360, 380, 400, 1180):
        option = opened(content, width).locator(".notes span")
        assert option.evaluate("e => e.getClientRects().length") == 1
    assert note in "".join(Outline(content).text)


def test_assumptions_are_read_on_a_phone_without_scrolling_sideways(opened):
    tests = {"rows_of_the_smallest_class": 4, "rates_about_as_good": (0.04, 0.31)}
    page = opened(to_html(small_audit(verdict=Verdict("assumed", (), tests))), 360)
    inside = "e => e.scrollWidth <= e.clientWidth"
    assert page.get_by_role("region", name="Assumptions", exact=True).evaluate(inside)
    assert page.locator(".assumed").get_by_role("row").count() == 3  # still a table, read aloud


@pytest.mark.parametrize("classes", [2, 10])
def test_the_two_matrices_stand_side_by_side(opened, classes):
    audited = small_audit() if classes == 2 else large_audit(classes=classes, columns=5, rows=400)
    rows = opened(to_html(audited), 1180).locator(".heat tbody tr:first-child")
    assert rows.count() == 2
    one, two = (rows.nth(i).bounding_box() for i in range(2))
    assert abs(one["y"] - two["y"]) < 2 and one["x"] < two["x"]


def test_the_head_tells_one_report_from_another(tmp_path):
    from misnomer import audit

    table = tmp_path / "visits <1>.csv"
    rows = "yes,no,flu\nno,yes,cold\nno,yes,flu\nyes,no,cold\n" * 20
    table.write_text("fever,cough,diagnosis\n" + rows)
    found = audit(table, label="diagnosis")
    page = to_html(found)
    head = page[page.index("<header>") : page.index("<h1>")]
    assert "visits &lt;1&gt;.csv" in head and str(tmp_path) not in head
    assert f"{table.stat().st_size / 1000:.1f} kB" in head or "byte" in head
    assert found.origin.digest[:16] in head and found.origin.digest in page
    assert re.search(r"audited \d{4}-\d\d-\d\d \d\d:\d\d UTC", head)
    assert "a table in memory, 9 rows" in to_html(small_audit())


@pytest.mark.parametrize("classes", [10, 20])
def test_a_heat_map_has_every_cell(classes):
    page = to_html(large_audit(classes=classes, columns=5, rows=400))
    cells = re.findall(r'<td class="(?:right|wrong)"', page)
    assert len(cells) == 2 * classes**2
    assert page.count('class="heat dense"') == 2


def _colors(css, dark):
    """Read the variables of a style sheet, on light or on dark paper."""
    part = css[css.index("prefers-color-scheme: dark") :] if dark else css
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part[: part.index("}")]))


def _luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    """Compare two colors by their luminance, as WCAG does."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _rgb(text):
    return [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]


@pytest.mark.parametrize("dark", [False, True])
def test_every_cell_of_the_matrix_can_be_read(dark):
    css = (TEMPLATES / "report.css").read_text()
    colors = {name: _rgb(text) for name, text in _colors(css, dark).items()}
    most = int(re.search(r"--right-fill\) calc\(var\(--depth\) \* (\d+)%\)", css)[1]) / 100
    for fill in ("right-fill", "wrong-fill"):
        for depth in (0.0, 0.25, 0.5, 0.75, 1.0):
            share = depth * most
            behind = [share * a + (1 - share) * b for a, b in
                      zip(colors[fill], colors["paper"], strict=True)]  # fmt: skip
            assert contrast(colors["ink"], behind) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_the_report_has_the_colors_of_the_page(dark):
    report = _colors((TEMPLATES / "report.css").read_text(), dark)
    page = _colors((PAGE / "page.css").read_text(), dark)
    assert report and {name: page[name] for name in report} == report


def test_the_command_names_the_file_and_all_that_was_said(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"p{i};{i % 2 * 3 + rng.normal():.2f};{'ab'[i % 2]}" for i in range(60)]
    path = tmp_path / "my visits.txt"
    path.write_text("who;x;label\n" + "\n".join(lines))
    page = to_html(audit(path, label="label", id="who", reading={"sep": ";"}))
    assert "misnomer audit &#39;my visits.txt&#39; --label label" in page
    assert "--id who" in page and "--sep" in page and "DATA" not in page
    python = next(line for line in "".join(Outline(page).text).split("\n") if "audit('" in line)
    said = "label='label', id='who', reading={'sep': ';'}, random_state=0"
    assert python == f"audit('my visits.txt', {said})"


def test_one_row_is_no_rows():
    counts = {"rows": [1, 2000], "flagged": [0, 2000], "edges": [0.0, 0.5, 1.0]}
    titles = [mark.title for mark in figures.histogram(counts).marks]
    assert titles == ["0% to 50.0%: 1 row", *["50.0% to 100%: 2,000 rows"] * 2]


def test_the_report_in_a_folder_names_it(tmp_path):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 200)
    found = audit(rng.normal(2 * z[:, None], size=(200, 3)), z ^ (rng.random(200) < 0.1))
    found.save(tmp_path / "my audit")
    page = (tmp_path / "my audit" / "report.html").read_text(encoding="utf-8")
    assert "misnomer check FOLDER" in "".join(Outline(found.to_html()).text)
    assert f"misnomer check '{tmp_path / 'my audit'}'" in "".join(Outline(page).text)
