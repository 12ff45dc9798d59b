"""Zeng et al.: the sections of the page."""

from __future__ import annotations

from papers.section import Section
from papers.zeng import impact, networks, newsgroups, simulation

SECTIONS = (
    Section("table 1", simulation.table_1, simulation.show),
    Section("networks", networks.networks, networks.show),
    Section("impact", impact.impact, impact.show),
    Section("newsgroups", newsgroups.newsgroups, newsgroups.show),
)
