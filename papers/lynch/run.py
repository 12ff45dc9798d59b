"""Lynch and Willett: the sections of the page."""

from __future__ import annotations

from papers.lynch import checks, curves
from papers.section import Section

SECTIONS = (
    Section("table", curves.table, curves.show_table),
    Section("beyond", curves.beyond, curves.show_beyond),
    Section("several", curves.several, curves.show_several),
    Section("checks", checks.checks, checks.show),
)
