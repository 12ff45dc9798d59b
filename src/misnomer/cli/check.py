"""``misnomer check``: draw rows, have them answered, say what they say."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
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
        typer.Option("--sheet", metavar="FILE", help="Write the open rows as a CSV to fill in."),
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
        if sheet is not None and sheet.suffix.lower() != ".csv":
            raise ValueError(
                f"the sheet is written as CSV, which spreadsheets open: name it "
                f"{sheet.with_suffix('.csv')}, not {sheet}"
            )
        if answers is not None:
            count = room.take(read_checked(answers))
            print(f"{count:,} answers of {answers} were taken in")
        if rows is not None:
            room.draw(rows, seed)
            print(f"{rows:,} rows were drawn: {room.room / 'draws.parquet'}")
        if not room.drawn:
            raise ValueError(f"no rows were drawn yet: misnomer check {folder} --rows 50")
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
        f"(cannot say is an answer), then misnomer check {room.folder} --answers {path}"
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
    console, classes = Console(), room.classes
    keys = dict(zip(_KEYS, classes, strict=False))
    done: list[int] = []
    rows = room.open_rows()
    cells = room.cells(rows).to_pylist()
    at = 0
    while at < len(rows):
        console.print(Text(f"\nrow {rows[at]}: {at + 1} of {len(rows)}", style="bold"))
        for name, cell in cells[at].items():
            console.print(Text(f"  {name}: {str(cell)[:_CELL]}"))
        listed = "  ".join(f"{key} {name}" for key, name in keys.items())
        console.print(Text(f"{listed}\n? cannot say   u undo   q stop", style="dim"))
        said = console.input("true class: ").strip()
        if said == "q":
            break
        if said == "u" and done:
            at -= 1
            room.answer(done.pop(), None)
        elif said == "?":
            at = _keep(room, rows, at, "cannot say", done)
        elif said in keys or said in map(str, classes):
            named = {str(name): name for name in classes}
            at = _keep(room, rows, at, keys.get(said, named.get(said)), done)
        elif said and typer.confirm(f"{said!r} is no class yet: is it a new one?", default=False):
            at = _keep(room, rows, at, said, done)


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
        print("no answer counts yet: answer the rows from the top, in the order they were drawn")
        return
    counts, rate = checks.counts, checks.error_rate
    kind = "for a sheet answered as drawn" if checks.kind == "sheet" else "holds whenever you stop"
    print(
        f"{counts['wrong']:,} of {counts['counted']:,} checked rows are wrong: {rate:.1%} of all "
        f"labels; whatever the noise; {kind}"
    )
    if counts["cannot_say"]:
        without = checks.cost_of_unsure
        print(
            f"{counts['cannot_say']:,} rows that nobody could say widen it: without them it would "
            f"be {without.low:.1%} to {without.high:.1%}"
        )
    brief = summary(checks, rate)
    needed = brief.rows_for_five - counts["counted"]
    if not brief.is_useful:
        print(brief.too_few)
    elif rate.high - rate.low > 0.1 and needed > 0:
        print(f"about {needed:,} more rows would tell it to within 5 points")
    _renew(room)


def _renew(room: Any) -> None:
    """Write the audit anew, with what the checks say; one of many rows has to read them again."""
    import warnings

    from misnomer.audit import load_audit
    from misnomer.audit.checked import finished

    try:
        audit = load_audit(room.folder)
    except (ValueError, OSError, KeyError):
        print(f"misnomer audit ... -o {room.folder} --force takes the answers into the report")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finished(audit, room.columns(), room.doubt).save(room.folder, force=True)
    print(f"wrote {room.folder / 'report.html'}")
