"""The assumptions in words: what was tested, whether it held, what it means."""

from __future__ import annotations

import re

import numpy as np

from misnomer.reports.html import to_html
from misnomer.reports.wording import assumptions
from misnomer.verdict import Verdict
from tests.reports.audits import small_audit

TESTS = {
    "labels": 1500.0,
    "nats_explained": 547.4,
    "informative_columns": 1,
    "rates_about_as_good": (0.04, 0.31),
    "rows_of_the_smallest_class": np.float64(210.1),
    "diagonal_is_largest": True,
}


def said(tests, *sentences, level="assumed"):
    return assumptions(Verdict(level, sentences, tests))


JARGON = re.compile(r"\b(twin|nats?|dispersion|temper\w*|z|log-odds|admissible)\b", re.IGNORECASE)


def test_what_failed_comes_first_and_says_what_it_means():
    found = said(TESTS)
    assert [one.held for one in found] == [False, False, None, None, True, True, True]
    failed = {one.claim: one for one in found if one.held is False}
    assert "More than one column says something about the label." in failed
    rates = failed["One error rate explains the labels best."]
    assert "4.0% to 31.0%" in rates.result and "open" in rates.meaning
    assert all(one.result and one.meaning for one in found)


def test_words_of_a_text_are_not_called_columns():
    tests = {"informative_columns": 11}
    results = [assumptions(Verdict("assumed", (), tests), texts=one)[0].result for one in (0, 1)]
    assert results == ["11 columns do.", "11 columns and words do."]


def test_what_the_verdict_rests_on_is_among_them():
    """It was not, and "6 of 6 passed" stood above a rate that is only assumed."""
    claim, other = (
        "Errors strike the rows of a class alike.",
        "Rows that look much alike are truly of",
    )
    assert next(one for one in said(TESTS) if one.claim == claim).held is None
    assert next(one for one in said(TESTS) if one.claim.startswith(other)).held is None
    uneven = "Errors differ by 'ward': from 5% to 39% of the labels, most where it is 'north'."
    assert next(one for one in said(TESTS, uneven) if one.claim == claim).result == uneven
    assert not any(one.claim.startswith((claim, other)) for one in said(TESTS, level="checked"))
    page = to_html(small_audit(verdict=Verdict("assumed", (), TESTS)))
    assert "3 of 7 assumptions passed, two cannot be tested." in page and "? open" in page


def test_an_unknown_result_is_not_shown_but_kept():
    assert said({"something_new": 3.0, "another": [1, 2]}) == []


def test_the_report_uses_no_jargon():
    page = to_html(small_audit(verdict=Verdict("assumed", ("Check some rows.",), TESTS)))
    words = re.sub(r"<style>.*?</style>|<details class=\"more\"><summary>Notes.*?</details>", "",
                   page, flags=re.DOTALL)  # fmt: skip
    words = re.sub(r"<[^>]+>", " ", words)
    assert not JARGON.search(words), JARGON.search(words)
    assert "✗ failed" in words and "✓ passed" in words


def test_annotators_have_assumptions_of_their_own():
    found = said({"answers_per_row": 1.4, "agree_too_often": ["ann and bob agree on 99%"]})
    assert [one.held for one in found] == [False, False]
    assert "ann and bob" in found[1].result
