"""Denis, Magnan and Ralaivola: the sections of the page."""

from __future__ import annotations

from papers.denis import artificial, less_noise, regret, uci, unlabeled
from papers.section import Section

SECTIONS = (
    Section("table 1", artificial.table_1, artificial.show_table_1),
    Section("figures", artificial.figures, artificial.show_figures),
    Section("regret", regret.regret, regret.show_regret),
    Section("starts", unlabeled.starts, unlabeled.show_starts),
    Section("positive", unlabeled.positive, unlabeled.show_positive),
    Section("table 2", uci.table_2, uci.show_table_2),
    Section("table 3", uci.table_3, uci.show_table_3),
    Section("less noise", less_noise.less_noise, less_noise.show_less_noise),
)
