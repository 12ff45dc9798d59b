"""Every section of the papers' pages, with few draws, agrees with the stored full run."""

from __future__ import annotations

import re

import pytest

from papers import data, measured
from papers.measured import Measured
from papers.section import NAMES, ROOT, run_quick, sections

ALL = [(paper, section) for paper in NAMES for section in sections(paper)]


@pytest.mark.parametrize(("paper", "section"), ALL, ids=[f"{p}-{s.name}" for p, s in ALL])
def test_a_quick_run_agrees_with_the_stored_one(paper, section, monkeypatch, capsys):
    monkeypatch.setattr(data, "FETCH", False)
    page = (ROOT / paper / "README.md").read_text(encoding="utf-8")
    assert run_quick(paper, section) == []
    if "the data are not at hand" in (said := capsys.readouterr().out):
        pytest.skip(said.strip())
    assert (ROOT / paper / "README.md").read_text(encoding="utf-8") == page  # nothing is rewritten


@pytest.mark.parametrize(("paper", "section"), ALL, ids=[f"{p}-{s.name}" for p, s in ALL])
def test_the_page_shows_what_is_stored(paper, section, tmp_path):
    page = (ROOT / paper / "README.md").read_text(encoding="utf-8")
    stored = measured.load(ROOT / paper)[section.name]
    assert section.show(stored, tmp_path).strip() in page


#: Printed numbers, table by table: 362 measured ones.
MEASURED = {
    ("aiolli", "tennis"): 3,  # two products and the answer
    ("cestnik", "table 1"): 12,
    ("denis", "table 1"): 8 + 4 * 8,  # the target's two at four sizes; four methods
    ("denis", "table 3"): 6 * (8 + 6 + 4),  # accuracies, log-likelihoods, flip rates
    ("lynch", "table"): 4,
    ("zeng", "table 1"): 15 * (2 + 5 + 5 + 1),
}
#: What the papers count or conclude: classes and best rules; messages and words.
COUNTED = {("cestnik", "table 1"): 4 + 4, ("zeng", "newsgroups"): 4}


def printed_rows(paper, section):
    """List the rows of a section's tables that have a printed number, as dictionaries."""
    text = (ROOT / paper / "README.md").read_text(encoding="utf-8")
    part = text.split(f"<!-- {section} -->")[1].split(f"<!-- /{section} -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines()]
    header, out = [], []
    for above, row in zip([[], *rows], rows, strict=False):
        header = above if row and set(row) == {"---"} else header if row else []
        if {"printed", "reproduced?"} <= set(header) and set(row) != {"---"}:
            out.append(dict(zip(header, row, strict=True)))
    return [cells for cells in out if cells["printed"] != "-"]


def numbers(cells):
    """Count what a row stands for: another reading of a number adds none."""
    if "literal" in cells.get("method", ""):
        return 0
    return 4 if cells.get("n") == "all four" else 1


@pytest.mark.parametrize(("paper", "section"), sorted({*MEASURED, *COUNTED}))
def test_every_printed_number_stands_beside_ours(paper, section):
    rows = printed_rows(paper, section)
    expected = MEASURED.get((paper, section), 0) + COUNTED.get((paper, section), 0)
    assert sum(map(numbers, rows)) == expected
    for cells in rows:
        assert cells["reproduced?"].startswith(("yes", "**no**")), cells
        assert cells["reproduced?"] == "yes" or cells.get("why not"), cells


def test_there_are_362_printed_numbers():
    assert sum(MEASURED.values()) == 362
    table_2 = (ROOT / "denis" / "README.md").read_text(encoding="utf-8")
    table_2 = table_2.split("<!-- table 2 -->")[1].split("<!-- /table 2 -->")[0]
    rows = [line for line in table_2.splitlines() if " / " in line and line.startswith("|")]
    assert sum(line.count(" / ") for line in rows) == 18  # six descriptions of data, beyond those
    assert all("**no**" not in line or line.split("|")[-2].strip() for line in rows)


#: What each page must show at work, in an example that runs.
SHOWN = {
    "aiolli": ["NoisyLabelNB", "text_classifier", "GaussianMixtureNB"],
    "cestnik": ["Bayes1", "Bayes2", "Bayes3", "m_estimate_probability", "accuracy_against_m"],
    "denis": ["NBCCCN", "NBCCCNEM", "NBUNL", "PUNB", "noise_corrected_accuracy"],
    "lynch": ["CombinedBayesTest", "BestQuantizer", "best_quantization", "probability_of_error"],
    "zeng": ["INB", "NLNN", "NAL", "BayesANIL", "NoiseFilterNB"],
}


@pytest.mark.parametrize("paper", NAMES)
def test_every_method_of_a_page_is_shown_at_work(paper):
    page = (ROOT / paper / "README.md").read_text(encoding="utf-8")
    code = [line for line in page.splitlines() if line.startswith((">>> ", "... "))]
    called = re.findall(r"(\w+)\(", "\n".join(code))
    assert set(SHOWN[paper]) <= set(called)


def test_a_number_that_moved_is_noticed():
    full = Measured(0.8, 0.01, 0.1, 100)  # standard deviation of one draw: 0.1
    assert Measured(0.9, 0.02, 0.1, 4).agrees(full)
    assert not Measured(1.1, 0.02, 0.1, 4).agrees(full)
    assert not Measured(0.81).agrees(Measured(0.8))


def test_no_warning_is_silenced():
    for path in ROOT.rglob("*.py"):
        assert not re.search(r"simplefilter|filterwarnings|PYTHONWARNINGS", path.read_text()), path
