"""Equal rows, and equal rows that are labeled apart."""

from __future__ import annotations

import numpy as np

from misnomer.audit import audit
from misnomer.reports.concentration import duplicates
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


def test_rows_of_a_file_are_named_by_their_lines(tmp_path):
    """A list headed "Rows" held lines of the file: row 5 is another one."""
    rng = np.random.default_rng(0)
    values = [f"{x:.6f}" for x in rng.normal(size=80)]
    values[10], values[30] = values[20], "900"
    lines = [f"{x},{'ab'[i % 2 if i != 10 else 1]}" for i, x in enumerate(values)]
    (tmp_path / "visits.csv").write_text("x,kind\n" + "\n".join(lines))
    page = to_html(audit(tmp_path / "visits.csv", label="kind"))
    table = page[page.index('<section id="duplicates"') : page.index('<section id="outliers"')]
    assert '<th scope="col">Lines</th>' in table and "<td>12, 22</td>" in table
    assert "line 32 (a)" in page[page.index('id="outliers"') :]
