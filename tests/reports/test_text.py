"""The audit in a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from misnomer.reports.text import render
from misnomer.verdict import Verdict
from tests.reports.audits import hostile_audit, large_audit, small_audit

GOLDEN = """\
About 20.7% of the labels in “diagnosis” are wrong
✓ Verdict: checked, holds whatever the noise.
The columns tell the classes apart.

Wrong labels  20.7% (90% interval 15.7% to 25.7%)
In rows       1.7 (90% interval 1.3 to 2.1)
Flagged       2 rows
Labeled       8 of 9 rows

P(given label | true class): each column sums to 100%
  given \\ true   cold    flu
  cold          90.0%  20.0%
  flu           10.0%  80.0%

P(true class | given label): each row sums to 100%
  given \\ true   cold    flu
  cold          81.8%  18.2%
  flu           11.1%  88.9%

Most suspect rows (2 of 2 flagged)
In brackets: what speaks for the other class; +0.7 doubles the odds.
  row 6: cold → flu, 80.0% likely wrong
      fever = yes (+2.20), cough = yes (+0.69)
  row 8: flu → cold, 77.1% likely wrong
      fever = no (+2.20), cough = no (+1.10)

"""


def printed(audit, *, width=80, encoding="utf-8", **options):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    render(audit, Console(file=file, width=width, **options))
    file.flush()
    return raw.getvalue().decode(encoding)


def test_golden():
    lines = printed(small_audit()).split("\n")
    assert "\n".join(line.rstrip() for line in lines) == GOLDEN


def test_without_unicode_nothing_is_lost():
    text = printed(small_audit(classes=("Erkältung", "grippe")), encoding="ascii")
    assert "Erk\\xe4ltung -> grippe, 80.0% likely wrong" in text
    assert text.isascii()


def test_colors_only_where_wanted():
    assert "\x1b" not in printed(small_audit())
    assert "\x1b[" in printed(small_audit(), force_terminal=True, color_system="standard")
    assert "\x1b[3" not in printed(small_audit(), force_terminal=True, no_color=True)


def test_narrow_terminals_hold_every_line():
    for audit in (small_audit(), hostile_audit()):
        text = printed(audit, width=30)
        assert max(len(line) for line in text.splitlines()) <= 30


def test_names_cannot_steer_the_terminal():
    text = printed(hostile_audit(), force_terminal=True, no_color=True)
    assert "\x1b[31m" not in text and "\u202e" not in text
    assert "<script>" in text and "[31m {{ 7 * 7 }}" in text


def test_many_classes_show_the_largest_confusions_only():
    text = printed(large_audit(classes=30, columns=5, rows=300))
    assert "Largest confusions" in text and "each column sums" not in text
    assert len(text.splitlines()) < 80


def test_the_headline_is_no_surer_than_the_verdict():
    unsure = Verdict("cannot tell", ("Two stories fit.",))
    text = printed(small_audit(verdict=unsure))
    assert text.startswith("This data cannot tell how many labels in “diagnosis” are wrong")
    assert "? Verdict: labels and columns alone cannot tell how many." in text
    assert printed(small_audit(verdict=Verdict("assumed"))).startswith("Perhaps 20.7%")
