"""An audit of thousands of labels, in a terminal and as a page: the worst of everything."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Group, RenderableType
from rich.padding import Padding

from misnomer.reports import figures, wording
from misnomer.reports.assumptions import assumptions
from misnomer.reports.concentration import by_label
from misnomer.reports.html import _environment, source_of
from misnomer.reports.json import finite, histogram

if TYPE_CHECKING:
    from misnomer.audit.wide import WideAudit
    from misnomer.reports.text import _Page


# A page to be read, not a dump: all rows are in the files beside it.
_SUSPECTS, _LABELS, _CONFUSIONS, _COLUMNS, _CELLS = 100, 50, 100, 60, 12
_OWN = ("row", "given_label", "suggested_label", "error_probability", "label_quality")


def wide_page(audit: WideAudit, issues: pa.Table) -> str:
    """Render the report as one page that needs nothing else: no network, no script.

    Parameters
    ----------
    audit : WideAudit
        The audit.
    issues : Arrow table
        The flagged rows, the worst first: ``row``, what is known of it, then its own columns.

    Returns
    -------
    str
        The page. Every name and cell in it is escaped.
    """
    from misnomer.version import __version__

    any_audit: Any = audit
    counts, spots = histogram(any_audit), by_label(any_audit)
    kinds, families = Counter(audit.fitted.families.values()), audit.fitted.families
    return (
        _environment()
        .get_template("many_labels.html")
        .render(
            audit=audit,
            label=wording.shown(audit.label),
            headline=wording.headline(any_audit),
            meaning=wording.MEANINGS[audit.verdict.level],
            span=wording.span,
            number=wording.number,
            interval=figures.interval(audit.error_rate),
            confusions=audit.confusions.slice(0, _CONFUSIONS).to_pylist(),
            more_confusions=max(0, audit.confusions.num_rows - _CONFUSIONS),
            histogram=figures.histogram(counts),
            counts=finite(counts),
            labels=spots[:_LABELS],
            more_labels=max(0, len(spots) - _LABELS),
            suspects=[_suspect(audit, one) for one in issues.slice(0, _SUSPECTS).to_pylist()],
            assumptions=assumptions(audit.verdict),
            origin=source_of(audit),
            kinds=sorted(kinds.items()),
            families=list(families.items())[:_COLUMNS],
            more_families=max(0, len(families) - _COLUMNS),
            version=__version__,
        )
    )


def _suspect(audit: WideAudit, row: dict[Any, Any]) -> dict[str, Any]:
    """Take a flagged row apart: what is known of it, and its first cells."""
    cells = [
        (wording.shown(name), wording.shown(value, longest=400))
        for name, value in row.items()
        if name not in (*_OWN, "line", audit.label)
    ]
    id = audit.shape.id
    named = f"row {wording.shown(row[id])}" if id in row else wording.row_title(audit, row["row"])
    return {**{own: row[own] for own in _OWN}, "title": named, "cells": cells[:_CELLS]}


_LINES = 10  # confusions, and suspects


def confusions(audit: WideAudit, page: _Page) -> RenderableType:
    """List the largest confusions."""
    found = audit.confusions.slice(0, _LINES).to_pylist()
    if not found:
        return page.say("No class is given another's name.")
    table = page.table()
    for name, justify in (("truly", "left"), ("labeled", "left"), ("rows", "right")):
        table.add_column(page.say(name, "dim"), justify=justify)  # type: ignore[arg-type]
    for one in found:
        names = wording.shown(one["true"], 30), wording.shown(one["given"], 30)
        table.add_row(*map(page.say, (*names, wording.number(one["rows"]))))
    return Group(page.say("Largest confusions", "bold"), Padding(table, (0, 0, 0, 2), expand=False))


def suspects(audit: WideAudit, page: _Page) -> RenderableType:
    """List the most suspect rows."""
    order = audit.ranking[:_LINES].tolist()
    if not order:
        return page.say("No row is flagged.")
    head = f"Most suspect rows ({len(order)} of {len(audit.ranking):,} flagged)"
    lines: list[RenderableType] = [page.say(head, "bold")]
    for row in order:
        given = wording.shown(audit.labels[audit.given[row]], 30)
        suggested = wording.shown(audit.labels[audit.suggested[row]], 30)
        chance = wording.chance(float(audit.error_probability[row]))
        words = f"{wording.row_title(audit, row)}: {given} → {suggested}, {chance} likely wrong"
        lines.append(Padding(page.say(words), (0, 0, 0, 2), expand=False))
    return Group(*lines)
