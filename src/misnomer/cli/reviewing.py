"""``misnomer review``, ``export`` and ``import``: the page, the clean file, other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from misnomer.cli.failures import complain, failing_well

_LOCAL = ("127.0.0.1", "localhost", "::1")

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
        from misnomer.review.rows.changed import noticed
        from misnomer.review.rows.origin import reviewed_audit

        audit = reviewed_audit(folder)
        notice = noticed(audit, folder, data, anyway=anyway)
        session = {"reviewer_error": reviewer_error}
        shown = {"notice": notice, "roots": _roots(folder, files)}
        _serve(audit, folder, host, port, browser=not no_browser, options=session, shown=shown)


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


def _serve(
    audit: Any,
    folder: Path,
    host: str,
    port: int | None,
    *,
    browser: bool,
    options: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    import uvicorn

    from misnomer.review.log.ledger import alone
    from misnomer.review.server.app import application, bound, new_token
    from misnomer.review.server.connections import Patient
    from misnomer.review.session import FILE, Review
    from misnomer.store.locks import held

    place, as_wished = bound(host, port)
    token, real = new_token(), place.getsockname()[1]
    if shown["notice"] is not None:
        complain(shown["notice"])
    with held(folder), alone(folder / (FILE + ".lock")) as only:
        if not only:
            complain("another server shows this review already: both write to the same decisions")
        if not as_wished:
            complain(f"port {port or 'of the page'} is in use: {real} serves instead")
        if host not in _LOCAL:
            complain(f"{host} can be reached by others: whoever has the address may decide")
        session = Review(audit, folder / FILE, **options)
        try:
            named = folder.resolve().name
            app = application(session, host=host, port=real, token=token, name=named, **shown)
            quiet: Any = {"log_level": "error", "access_log": False, "server_header": False}
            config = uvicorn.Config(app, http=Patient, lifespan="off", **quiet)
            address = f"http://{_shown(host)}:{real}/?token={token}"
            # Ctrl-C is the usual end of a review.
            with suppress(KeyboardInterrupt), _announced(address, browser):
                uvicorn.Server(config).run(sockets=[place])
        finally:
            session.close()
    print(_closing(session, folder), file=sys.stderr)


def _closing(session: Any, folder: Path) -> str:
    count = len(session.decisions.standing())
    return (
        f"{count} decisions are in {folder}; misnomer export {folder} --out clean.csv writes the "
        "corrected table"
    )


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextmanager
def _announced(address: str, browser: bool) -> Iterator[None]:
    """Print the address, and open it from a file that only its owner reads.

    A browser is told the name of that file: what a program is started with, everybody may list.
    """
    print(address, flush=True)
    print("Ctrl-C ends the review; every decision is on disk.", file=sys.stderr)
    if not browser:
        yield
        return
    import threading
    import webbrowser

    with TemporaryDirectory(prefix="misnomer-") as place:
        page = Path(place) / "review.html"
        page.touch(mode=0o600)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', "utf-8")
        opening = threading.Timer(0.5, webbrowser.open, [page.as_uri()])
        opening.daemon = True
        opening.start()
        yield


def export(
    folder: Folder,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new .csv, .parquet or (with --format) .json.")
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
        from misnomer.review.export import table as exporting
        from misnomer.review.rows.changed import noticed
        from misnomer.review.rows.origin import reviewed_audit

        audit = reviewed_audit(folder)
        notice = noticed(audit, folder, data, anyway=anyway)
        if notice is not None:
            complain(notice)
        done = exporting.run(audit, folder, out, probability=probability, log=log, kind=kind)
        print(done, file=sys.stderr)


def import_(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON of Label Studio or Argilla.")],
) -> None:
    """Take over decisions that were made in Label Studio or Argilla."""
    with failing_well():
        from misnomer.review.export.formats import run
        from misnomer.review.rows.origin import reviewed_audit

        print(run(reviewed_audit(folder), folder, file), file=sys.stderr)
