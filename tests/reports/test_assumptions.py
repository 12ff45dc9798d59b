"""The assumptions in words: what was tested, whether it held, what it means."""

from __future__ import annotations

import re

import numpy as np

from misnomer.reports.assumptions import assumptions
from misnomer.reports.html import to_html
from misnomer.verdict import Verdict
from tests.reports.audits import small_audit

TESTS = {
    "labels": 1500.0,
    "nats_explained": 547.4,
    "informative_columns": 1,
    "rates_about_as_good": (0.04, 0.31),
    "dispersion": 2.4,
    "dispersion_z": 38.3,
    "repeating_columns": [["gt", "lt", 0.97]],
    "errors_seen_by_columns_z": np.float64(0.93),
    "rows_of_the_smallest_class": 210.1,
    "twin": 0.48,
    "admissible": True,
    "difficulty": "no",
    "difficulty_nats": 2.3,
}
JARGON = re.compile(r"\b(twin|nats?|dispersion|temper\w*|z|log-odds|admissible)\b", re.IGNORECASE)


def test_what_failed_comes_first_and_says_what_it_means():
    found = assumptions(TESTS)
    assert [one.held for one in found] == sorted(one.held for one in found)
    failed = {one.claim: one for one in found if not one.held}
    assert "More than one column says something about the label." in failed
    assert "“gt” and “lt”" in failed["Within a class, columns do not repeat each other."].result
    rates = failed["One error rate explains the labels best."]
    assert "4.0% to 31.0%" in rates.result and "open" in rates.meaning
    assert all(one.result and one.meaning for one in found)


def test_an_unknown_result_is_not_shown_but_kept():
    assert assumptions({"something_new": 3.0, "another": [1, 2]}) == []


def test_the_report_uses_no_jargon():
    page = to_html(small_audit(verdict=Verdict("assumed", ("Check some rows.",), TESTS)))
    words = re.sub(r"<style>.*?</style>|<details class=\"more\"><summary>Notes.*?</details>", "",
                   page, flags=re.DOTALL)  # fmt: skip
    words = re.sub(r"<[^>]+>", " ", words)
    assert not JARGON.search(words), JARGON.search(words)
    assert "✗ failed" in words and "✓ passed" in words and "6 of 8 assumptions" not in words


def test_annotators_have_assumptions_of_their_own():
    found = assumptions({"answers_per_row": 1.4, "agree_too_often": ["ann and bob agree on 99%"]})
    assert [one.held for one in found] == [False, False]
    assert "ann and bob" in found[1].result
