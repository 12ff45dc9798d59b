"""Equal rows, and equal rows that are labeled apart."""

from __future__ import annotations

from misnomer.reports.duplicates import duplicates
from misnomer.reports.html import to_html
from tests.reports.audits import small_audit


def test_rows_that_are_labeled_apart_are_counted():
    found = duplicates(small_audit())
    # no, no: two colds, a flu and one without a label; yes, yes: three flus and a cold
    assert (found.repeats, found.groups, found.rows, found.least) == (6, 2, 7, 2)
    assert found.shown[0].labels == (("flu", 3), ("cold", 1))
    assert found.shown[0].rows == ("3", "4", "5", "6")


def test_the_report_says_so():
    page = to_html(small_audit())
    assert "6 rows repeat an earlier one" in page and "at least 2 labels there are wrong" in page
    assert "flu (3), cold (1)" in page
