"""An audit of thousands of labels in a terminal: the numbers, the confusions, the suspects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding

from misnomer.reports import wording

if TYPE_CHECKING:
    from misnomer.audit.many_result import WideAudit
    from misnomer.reports.text import _Page

_MOST = 10  # confusions, and suspects


def confusions(audit: WideAudit, page: _Page) -> RenderableType:
    """List the largest confusions."""
    found = audit.confusions.slice(0, _MOST).to_pylist()
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
    order = audit.ranking[:_MOST].tolist()
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
