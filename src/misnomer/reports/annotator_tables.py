"""Whose labels are wrong: annotators ranked, groups compared, in every rendering."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding

from misnomer.reports import wording

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

_ROWS, _LINES = 100, 20  # of a page, of a terminal; the best and the worst of more


def table_rows(audit: Audit) -> list[dict[str, Any]]:
    """List the annotators or the groups as plain values, in their order."""
    table: Any = audit.annotators if audit.groups is None else audit.groups
    if table is None:
        return []
    columns = {name: column.tolist() for name, column in table.columns().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def sources_json(audit: Audit) -> dict[str, Any]:
    """Write the annotators or the groups for other programs; nothing where there are none."""
    if audit.annotators is not None:
        return {"annotators": table_rows(audit)}
    if audit.groups is not None:
        return {"groups": {"rows": table_rows(audit), "test": asdict(audit.groups.test)}}
    return {}


def source_rows(audit: Audit) -> dict[str, Any]:
    """Choose what a page shows: all, or the first and the last ones where there are many."""
    rows, more = _ends(table_rows(audit), _ROWS)
    return {"rows": rows, "more": more} if rows else {}


def _ends(rows: list[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    if len(rows) <= most:
        return rows, 0
    return rows[: most // 2] + rows[-(most // 2) :], len(rows) - 2 * (most // 2)


def tables(audit: Audit, page: Any) -> list[RenderableType]:
    """Lay the annotators or the groups out for a terminal; nothing where there are none."""
    if audit.sources is None:
        return []
    rows, more = _ends(table_rows(audit), _LINES)
    table = page.table()
    grouped = audit.groups is not None
    heads = ("group", "rows", "wrong") if grouped else ("annotator", "answers", "accuracy")
    wide = [] if page.narrow else ["90% interval"]
    wide += [] if page.narrow or grouped else ["bits", "typical confusion"]
    for name in (*heads, *wide):
        left = name in (heads[0], "typical confusion")
        table.add_column(page.say(name, "dim"), justify="left" if left else "right")
    for one in rows:
        cells = _cells(one, grouped, page.narrow)
        table.add_row(*map(page.say, cells))
    head = "By group" if grouped else "Annotators, the most informative first"
    lines: list[RenderableType] = [
        page.say(head, "bold"),
        Padding(table, (0, 0, 0, 2), expand=False),
    ]
    if more:
        lines.append(page.say(f"  and {more:,} between the first and the last {_LINES // 2}"))
    if audit.groups is not None:
        lines.append(page.say(f"  {audit.groups.test}"))
    return [Group(*lines)]


def _cells(one: dict[str, Any], grouped: bool, narrow: bool) -> list[str]:
    count, share = ("rows", "error_rate") if grouped else ("answers", "accuracy")
    cells = [wording.shown(one["name"], 30), f"{one[count]:,}", wording.percent(one[share])]
    if not narrow:
        cells.append(f"{wording.percent(one['low'])} to {wording.percent(one['high'])}")
    if not narrow and not grouped:
        cells += [f"{one['bits']:.2f}", wording.shown(one["confusion"], 60)]
    return cells


def python_words(audit: Audit) -> str:
    """Write the arguments of `audit` that say where the labels are.

    A vote has no column of its own: the annotators' columns are named instead.
    """
    asked = {"label": audit.label} if audit.sources is None else dict(audit.sources.asked)
    words = [f"{name}={value!r}" for name, value in asked.items()]
    if audit.batch.brought is not None:
        words.append("pred_probs=P")
    return ", ".join(words)


def shell_words(audit: Audit) -> str:
    """Write the options of the command line that say the same, quoted."""
    asked = {"label": audit.label} if audit.sources is None else dict(audit.sources.asked)
    words: list[str] = []
    for name, value in asked.items():
        if name == "annotators":
            words += [w for column in value for w in ("--annotator-columns", column)]
        elif name == "long":
            words += ["--long", ",".join(value)]
        else:
            words += ["--noise-group" if name == "noise_groups" else "--label", value]
    if audit.batch.brought is not None:
        words += ["--pred-probs", "FILE"]
    return " ".join(w if w.startswith("--") else shlex.quote(wording.shown(w)) for w in words)
