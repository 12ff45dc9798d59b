"""``misnomer check``: draw rows, have them answered, say what they say."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from misnomer.cli.options import complain, failing_well

_CELL, _KEYS = 400, "123456789abcdefghijklmnop"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an audit.")],
    rows: Annotated[
        int | None,
        typer.Option("--rows", "-n", min=1, help="Draw so many more rows to check."),
    ] = None,
    page: Annotated[bool, typer.Option("--page", help="Answer on a page in the browser.")] = False,
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--sheet", metavar="FILE", help="Write the open rows to fill in: .csv or .xlsx."
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="FILE", help="Take the answers of a filled sheet in."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="The seed of the draw.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Of the page; 0: any.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address of the page.")
    ] = False,
) -> None:
    """Draw rows by chance, check them blind, and learn how many labels are wrong.

    In a terminal the rows are asked one after the other; --page asks in the browser, --sheet
    writes them for a spreadsheet and --answers takes that back. Any number of answers will do.
    """
    with failing_well():
        from misnomer.audit.files.checks import CheckFolder, read_checked

        room = CheckFolder(folder)
        if sheet is not None and sheet.suffix.lower() not in (".csv", ".xlsx"):
            raise ValueError(
                f"the sheet is written as CSV or for Excel: name it {sheet.with_suffix('.csv')} or "
                f"{sheet.with_suffix('.xlsx')}, not {sheet}"
            )
        if answers is not None:
            count = room.take(read_checked(answers))
            print(f"{count:,} answers of {answers} were taken in")
        if rows is not None:
            room.draw(rows, seed)
            print(f"{rows:,} rows were drawn: {room.room / 'draws.parquet'}")
        if not room.drawn:
            raise ValueError(
                f"no rows were drawn yet: misnomer check {quote(str(folder))} --rows 50"
            )
        if sheet is not None:
            _write_sheet(room, sheet)
        elif page:
            _page(room, port, browser=not no_browser)
        elif answers is None and room.open_rows():
            if sys.stdin.isatty():
                _ask(room)
            else:
                _write_sheet(room, room.room / "sheet.csv")
        conclude(room)


def _write_sheet(room: Any, path: Path) -> None:
    count = room.write_sheet(path)
    print(
        f"{count:,} rows are in {path}: write the true class into the column true_label "
        f"(cannot say is an answer), then misnomer check {quote(str(room.folder))} "
        f"--answers {quote(str(path))}"
    )


def _page(room: Any, port: int | None, *, browser: bool) -> None:
    from misnomer.cli.review import _need_extra

    _need_extra()
    from misnomer.review.server.checks import check_application
    from misnomer.review.server.serve import serve
    from misnomer.store.writing import held

    with held(room.folder):
        serve(partial(check_application, room), port=port, browser=browser, warn=complain)


def _ask(room: Any) -> None:
    """Ask one row after the other, by keys and Enter; stop whenever the user likes."""
    from misnomer.audit.files.checks import cell_text

    console = Console()
    names = {str(name): name for name in room.classes}
    keys = _keys(names)
    done: list[int] = []
    rows = room.open_rows()
    cells, titles = room.cells(rows).to_pylist(), room.titles(rows)
    at = 0
    while at < len(rows):
        console.print(Text(f"\n{titles[at]}: {at + 1} of {len(rows)}", style="bold"))
        for name, cell in cells[at].items():
            console.print(Text(f"  {name}: {cell_text(cell)[:_CELL]}"))
        console.print(Text(f"{_listed(names, keys)}\n? cannot say   u undo   q stop", style="dim"))
        said = _typed(console)
        if said in names or said in keys:
            at = _keep(room, rows, at, names.get(said, keys.get(said)), done)
        elif said == "q":
            break
        elif said == "u":
            at -= len(done[-1:])
            if done:
                room.answer(done.pop(), None)
        elif said == "?":
            at = _keep(room, rows, at, "cannot say", done)
        elif said and typer.confirm(f"{said!r} is no class yet: is it a new one?", default=False):
            at = _keep(room, rows, at, said, done)


def _typed(console: Console) -> str:
    """Read an answer; the end of the input (Ctrl+D) is a stop."""
    try:
        return console.input("true class: ").strip()
    except EOFError:
        return "q"


def _keys(names: dict[str, Any]) -> dict[str, Any]:
    """Give each class a key; none where a class is called like a key, for 1 must not mean 0."""
    return {} if {*names} & {*_KEYS} else dict(zip(_KEYS, names.values(), strict=False))


def _listed(names: dict[str, Any], keys: dict[str, Any]) -> str:
    """List the classes with their keys; more than there are keys for go by their names."""
    shown = [f"{key} {name}" for key, name in keys.items()] or [*names][: len(_KEYS)]
    more = len(names) - len(shown)
    return "  ".join(shown) + (f"  and {more:,} more classes, by their names" if more else "")


def _keep(room: Any, rows: list[int], at: int, answer: Any, done: list[int]) -> int:
    room.answer(rows[at], answer)
    done.append(rows[at])
    return at + 1


def conclude(room: Any) -> None:
    """Say what the answers say so far, and take them into the audit of the folder."""
    if not room.answers():
        return
    from misnomer.audit.checked import summary

    checks = room.checks()
    for note in checks.answers.notes:
        print(f"note: {note}")
    if checks.sample is None:
        print(checks.why_nothing)
        return
    brief = summary(checks, checks.error_rate)
    for line in _said(checks, brief):
        print(line)
    _renew(room)


def _said(checks: Any, brief: Any) -> list[str]:
    """Say the share of wrong labels, what "cannot say" costs, and how many rows more would tell."""
    rate = brief.rate
    kind = "for a sheet answered as drawn" if brief.kind == "sheet" else "holds whenever you stop"
    out = [
        f"{brief.wrong:,} of {brief.rows:,} checked rows are wrong: {rate:.1%} of all labels; "
        f"whatever the noise; {kind}"
        if brief.is_useful
        else brief.too_few
    ]
    if brief.cannot_say:
        without = checks.cost_of_unsure
        out.append(
            f"{brief.cannot_say:,} rows that nobody could say widen it: without them it would be "
            f"{without.low:.1%} to {without.high:.1%}"
        )
    needed = brief.rows_for_five - brief.rows
    if brief.is_useful and rate.high - rate.low > 0.1 and needed > 0:
        out.append(f"about {needed:,} more rows would tell it to within 5 points")
    return out


def _renew(room: Any) -> None:
    """Write the audit anew, with what the checks say; one of many rows has to read them again."""
    import warnings

    from misnomer.audit import load_audit
    from misnomer.audit.checked import finished

    try:
        audit = load_audit(room.folder)
    except (ValueError, OSError, KeyError):
        folder = quote(str(room.folder))
        print(f"misnomer audit ... -o {folder} --force takes the answers into the report")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finished(audit, room.columns(), room.doubt).save(room.folder, force=True)
    print(f"wrote {room.folder / 'report.html'}")
