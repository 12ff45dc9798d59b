"""``misnomer review``, ``export`` and ``import``: the page, the clean file, other tools."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from misnomer.cli.options import complain, failing_well

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an audit.")]
Data = Annotated[
    str | None,
    typer.Option("--data", help="The audited file, where it is elsewhere."),
]
Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Go on with the rows as they were, though the file has changed."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
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
        from misnomer.review.ledger import only_server
        from misnomer.review.rows.origin import load_for_review, noticed
        from misnomer.review.server.app import application
        from misnomer.review.server.serve import serve
        from misnomer.review.session import FILE, Review
        from misnomer.store.writing import held

        rows, roots = load_for_review(folder), _roots(folder, files)
        notice = noticed(rows, folder, data, anyway=anyway)
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
        from misnomer.review.export import run
        from misnomer.review.rows.origin import load_for_review, noticed

        audit = load_for_review(folder)
        notice = noticed(audit, folder, data, anyway=anyway)
        if notice is not None:
            complain(notice)
        done = run(audit, folder, out, probability=probability, log=log, kind=kind)
        print(done, file=sys.stderr)


def import_(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON of Label Studio or Argilla.")],
) -> None:
    """Take over decisions that were made in Label Studio or Argilla."""
    with failing_well():
        from misnomer.review.exchange import run
        from misnomer.review.rows.origin import load_for_review

        print(run(load_for_review(folder), folder, file), file=sys.stderr)
