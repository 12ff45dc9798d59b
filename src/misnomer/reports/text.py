"""The audit in a terminal: the verdict first, then the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from misnomer.reports import wording
from misnomer.reports.tables import (
    Confusion,
    Suspect,
    checks_line,
    confusions,
    same_name,
    source_lines,
    suspects,
    true_given,
)

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]

_SUSPECTS, _CONFUSIONS, _NAME = 10, 10, 14
_TERMS, _FAINT = 3, 0.1  # columns per suspect; nats too few to mention
_SIGNS = {"checked": "✓", "assumed": "≈", "cannot tell": "?"}
_STYLES = {"checked": "bold green", "assumed": "bold yellow", "cannot tell": "bold red"}
# What a terminal without Unicode shows instead.
_PLAIN = str.maketrans(
    {"✓": "+", "≈": "~", "→": "->", "\u2212": "-", "…": "...", "⏎": "|", "“": '"', "”": '"'}
)


def render(audit: Audit, console: Console | None = None) -> None:
    """Print an audit: verdict, rate, confusions, suspects.

    Parameters
    ----------
    audit : Audit
        The audit.
    console : rich.console.Console, optional
        Where to print; its width, colors and encoding are respected.
    """
    console = console or Console()
    page = _Page(console)
    noise, tables = _noise(audit, page), source_lines(audit, page)
    for part in (_verdict(audit, page), _rate(audit, page), noise, *tables, _rows(audit, page)):
        console.print(part)
        console.print()


class _Page:
    """How wide the terminal is and which characters it knows."""

    def __init__(self, console: Console) -> None:
        self.width = console.width
        self.encoding = console.encoding or "ascii"
        self.narrow = console.width < 64

    def say(self, words: str, style: str = "") -> Text:
        """Write words that the terminal can show; nothing in them is read as markup."""
        try:
            words.encode(self.encoding)
        except UnicodeEncodeError:
            words = words.translate(_PLAIN)
            words = words.encode(self.encoding, "backslashreplace").decode(self.encoding)
        return Text(words, style=style)

    def table(self, **options: Any) -> Table:
        """Lay a table out without lines, which need no special characters."""
        return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), **options)


def _verdict(audit: Audit, page: _Page) -> RenderableType:
    level = audit.verdict.level
    lines = [
        page.say(wording.headline(audit), "bold"),
        page.say(f"{_SIGNS[level]} Verdict: {wording.MEANINGS[level]}.", _STYLES[level]),
        *(page.say(wording.shown(one, 1000)) for one in audit.verdict.sentences),
        *(page.say(f"Note: {wording.shown(one, 1000)}", "yellow") for one in audit.warnings),
    ]
    return Group(*lines)


def _rate(audit: Audit, page: _Page) -> RenderableType:
    table = page.table(show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    fitted, rate, count = audit.fitted, audit.error_rate, audit.error_count
    trusted = f", {fitted.trusted:,} trusted" if fitted.trusted else ""
    checked = checks_line(audit)
    for name, value in (
        *([] if checked is None else [checked]),
        ("Wrong labels", f"{wording.percent(rate.value)} ({wording.span(rate)})"),
        ("In rows", f"{wording.number(count.value)} ({wording.span(count, wording.number)})"),
        ("Flagged", wording.counted(audit.flagged, "row")),
        ("Labeled", f"{fitted.labeled:,} of {wording.counted(fitted.rows, 'row')}{trusted}"),
    ):
        table.add_row(page.say(name), page.say(value))
    return table


def _noise(audit: Audit, page: _Page) -> RenderableType:
    """Show the matrix where it fits, else the largest confusions."""
    names = [wording.shown(name, _NAME) for name in audit.classes]
    room = _NAME + 2 + sum(max(cell_len(name), 6) + 2 for name in names)
    if len(names) <= 10 and room <= page.width:
        forth = "P(given label | true class): each column sums to 100%"
        back = "P(true class | given label): each row sums to 100%"
        return Group(
            _grid(audit, audit.matrix, page.say(forth, "bold"), page),
            Text(),
            _grid(audit, true_given(audit.matrix, audit.prior), page.say(back, "bold"), page),
        )
    return _list(confusions(audit, _CONFUSIONS), page)


def _grid(audit: Audit, matrix: Array, head: Text, page: _Page) -> RenderableType:
    table = page.table()
    table.add_column(page.say("given \\ true", "dim"), no_wrap=True)
    for name in audit.classes:
        table.add_column(page.say(wording.shown(name, _NAME)), justify="right", no_wrap=True)
    right = same_name(audit)
    for y, label in enumerate(audit.labels):
        cells = [
            page.say(wording.percent(float(share)), _shade(float(share), bool(right[y, z])))
            for z, share in enumerate(matrix[y])
        ]
        table.add_row(page.say(wording.shown(label, _NAME)), *cells)
    return Group(head, Padding(table, (0, 0, 0, 2), expand=False))


def _shade(share: float, right: bool) -> str:
    """Choose a style that also differs without colors: right labels are bold."""
    if right:
        return "bold blue"
    return "bright_red" if share >= 0.1 else "yellow" if share >= 0.02 else "dim"


def _list(worst: list[Confusion], page: _Page) -> RenderableType:
    if not worst:
        return page.say("No class is given another's name.")
    table = page.table()
    for name, justify in (("truly", "left"), ("labeled", "left"), ("rows", "right")):
        table.add_column(page.say(name, "dim"), justify=justify)  # type: ignore[arg-type]
    if not page.narrow:
        table.add_column(page.say("of the true class", "dim"), justify="right")
        table.add_column(page.say("of the label", "dim"), justify="right")
    for one in worst:
        cells = [
            wording.shown(one.true, 30),
            wording.shown(one.given, 30),
            wording.number(one.rows),
        ]
        if not page.narrow:
            cells += [wording.percent(one.given_of_true), wording.percent(one.true_of_given)]
        table.add_row(*map(page.say, cells))
    return Group(page.say("Largest confusions", "bold"), Padding(table, (0, 0, 0, 2), expand=False))


def _rows(audit: Audit, page: _Page) -> RenderableType:
    worst = suspects(audit, _SUSPECTS)
    if not worst:
        return page.say("No row is flagged.")
    lines: list[RenderableType] = [
        page.say(
            f"Most suspect rows{wording.sampled(audit)} ({len(worst)} of {len(audit.ranking):,} "
            "flagged)",
            "bold",
        ),
        page.say("In brackets: what speaks for the other class; +0.7 doubles the odds.", "dim"),
    ]
    for one in worst:
        lines += _suspect(one, page)
    return Group(*lines)


def _suspect(one: Suspect, page: _Page) -> list[RenderableType]:
    """Write what the row is, and below it the columns that speak against its label."""
    given, suggested = wording.shown(one.given, 30), wording.shown(one.suggested, 30)
    head = Text.assemble(
        page.say(f"{one.title}: "),
        page.say(given, "yellow"),
        page.say(" → "),
        page.say(suggested, "bold blue"),
        page.say(f", {wording.chance(one.error_probability)} likely wrong"),
    )
    line = Padding(head, (0, 0, 0, 2), expand=False)
    why = zip(one.why.names, one.why.values, one.why.weights.tolist(), strict=True)
    loud = [term for term in why if term[2] >= _FAINT][:_TERMS]
    against = ", ".join(
        wording.shown(name, 30)
        + ("" if value is None else f" = {wording.shown(value, 24)}")
        + f" ({wording.weight(weight)})"
        for name, value, weight in loud
    )
    words = page.say(against or "no single column, but the share of the classes", "dim")
    return [line, Padding(words, (0, 0, 0, 6), expand=False)]
