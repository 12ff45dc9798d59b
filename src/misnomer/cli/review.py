"""``misnomer review``, ``export``, ``import``, ``check``: what is done with an audit's folder."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from misnomer.cli.options import complain, failing_well

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an audit.")]
Data = Annotated[
    str | None, typer.Option("--data", help="The audited file, where it is elsewhere.")
]
Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Go on with the rows as they were, though the file has changed."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(check)
    app.command()(review)
    app.command()(export)
    app.command("import")(import_)


def review(
    folder: Folder,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Listen elsewhere: others may then reach the page.")
    ] = "127.0.0.1",
    data: Data = None,
    anyway: Anyway = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    reviewer_error: Annotated[
        float,
        typer.Option(
            "--reviewer-error",
            min=0.0,
            max=0.49,
            help="The share of decisions that are probably wrong; 0 takes each for the truth.",
        ),
    ] = 0.05,
    files: Annotated[
        list[Path] | None,
        typer.Option("--files", help="A folder whose images may be shown, besides the audit's."),
    ] = None,
) -> None:
    """Go through the suspects on a page in the browser.

    Where the audited file has changed since, this says so and stops; --anyway goes on.
    """
    with failing_well():
        _need_extra()
        from misnomer.audit.files.origin import notice_of_change
        from misnomer.review import FILE, Review, load_for_review
        from misnomer.review.ledger import only_server
        from misnomer.review.server import application
        from misnomer.review.server.serve import serve
        from misnomer.store.writing import held

        rows, roots = load_for_review(folder), _roots(folder, files)
        notice = notice_of_change(rows.audit, folder, data, anyway=anyway)
        if notice is not None:
            complain(notice)
        with (
            held(folder),
            only_server(folder / (FILE + ".lock")) as only,
            closing(Review(rows, folder / FILE, reviewer_error=reviewer_error)) as session,
        ):
            if not only:
                complain("another server shows this review already: both write the same decisions")
            name = folder.resolve().name
            make_app = partial(application, session, name=name, notice=notice, roots=roots)
            serve(make_app, host=host, port=port, browser=not no_browser, warn=complain)
        print(_summary(session, folder), file=sys.stderr)


def _roots(folder: Path, files: list[Path] | None) -> list[Path]:
    """Name the folders whose images may be shown."""
    for one in files or []:
        if not one.is_dir():
            raise FileNotFoundError(f"--files: there is no folder {str(one)!r}")
    return [folder, *(files or [])]


def _need_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ValueError(
            f"the page needs {error.name}: install it with pip install 'misnomer[review]'"
        ) from None


def _summary(session: Any, folder: Path) -> str:
    count = len(session.decisions.standing())
    made = "1 decision is" if count == 1 else f"{count:,} decisions are"
    if not count:
        return f"0 decisions are in {folder}: misnomer review {quote(str(folder))} goes on"
    export = f"misnomer export {quote(str(folder))} --out clean.csv"
    return f"{made} in {folder}; {export} writes the corrected table"


def export(
    folder: Folder,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="A new .csv, .xlsx, .parquet or (with --format) .json."),
    ],
    probability: Annotated[
        float | None,
        typer.Option(
            "--probability",
            "-p",
            min=0.0,
            max=1.0,
            help="Correct undecided labels, too, that are wrong with at least this probability; "
            "of a majority among annotators, only where it is.",
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Write every decision to a new .jsonl file.")
    ] = None,
    kind: Annotated[
        str, typer.Option("--format", help="table, label-studio or argilla.")
    ] = "table",
    data: Data = None,
    anyway: Anyway = False,
) -> None:
    """Write the table with its labels corrected; no file is ever replaced.

    Rows with several annotators get a column "consensus": what was decided, else the most probable
    class.
    """
    with failing_well():
        from misnomer.audit.files.origin import notice_of_change
        from misnomer.review import load_for_review
        from misnomer.review.export import run

        rows = load_for_review(folder)
        notice = notice_of_change(rows.audit, folder, data, anyway=anyway)
        if notice is not None:
            complain(notice)
        done = run(rows, folder, out, probability=probability, log=log, kind=kind)
        print(done, file=sys.stderr)


def import_(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON of Label Studio or Argilla.")],
) -> None:
    """Take over decisions that were made in Label Studio or Argilla."""
    with failing_well():
        from misnomer.review import load_for_review
        from misnomer.review.export import take_over

        print(take_over(load_for_review(folder), folder, file), file=sys.stderr)


_MAX_CELL_LENGTH, _KEYS = 400, "123456789abcdefghijklmnop"


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an audit.")],
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", min=1, help="Draw so many more rows to check.")
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
    _need_extra()
    from misnomer.review.server import check_application
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
            console.print(Text(f"  {name}: {cell_text(cell)[:_MAX_CELL_LENGTH]}"))
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
