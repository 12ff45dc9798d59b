"""``misnomer audit``: read, fit, show, write."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from misnomer.audit.files.folder import save_run
from misnomer.audit.request import Request, bytes_of
from misnomer.audit.request import run as audited
from misnomer.store.container import check_vacant


def run(request: Request, out: Path | None, *, quiet: bool, as_json: bool, force: bool) -> None:
    """Audit a file; print the answer and, if there is a folder for it, write it down."""
    if out is not None:
        check_vacant(out, force=force)
    _refuse_little(request)
    with _progress(quiet) as say, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit remembers them: they are part of the answer
        say(f"reading {request.data}")
        request = replace(
            _with_own_checks(request, out), progress=lambda step, _: say(f"fitting: pass {step}")
        )
        written: dict[str, Path] = {}
        if out is None:
            audit = audited(request)
        else:
            audit, written = save_run(request, out, force=force)
    if quiet:
        return
    if as_json:
        from misnomer.reports.json import to_json

        print(json.dumps(to_json(audit), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from misnomer.reports.text import render

        said = audit.verdict
        said = said.without_folder() if out is None else said.in_folder(str(out))
        audit = replace(audit, verdict=said)
        render(audit, Console())
    _list(written, Console(stderr=as_json, soft_wrap=True))


def _with_own_checks(request: Request, out: Path | None) -> Request:
    """Take the checks that the folder holds already, where none are named."""
    if request.checked is not None or out is None:
        return request
    from misnomer.audit.files.checks import CheckFolder

    if not (out / "checks" / "answers.jsonl").exists():
        return request
    return replace(request, checked=out) if CheckFolder(out).answers() else request


def _refuse_little(request: Request) -> None:
    """Refuse a cap that this process exceeds by more than a fifth before a row is kept."""
    if request.memory is None or request.cluster is not None:
        return
    from misnomer.audit.stream import WORKING, resident

    least = int((resident() + WORKING) / 1.2 / 1e6) + 1
    if bytes_of(request.memory) < least * 10**6:
        raise ValueError(
            f"--memory {request.memory} is too little: Python, its libraries and the rows being "
            f"read take more; the least that works is {least}MB"
        )


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is going on; elsewhere stay silent."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("misnomer") as status:
        yield lambda words: status.update(escape(words))


def _list(written: dict[str, Path], console: Any) -> None:
    """Say where each file is."""
    if not written:
        return
    console.print()
    for path in written.values():
        console.print(f"wrote {path}", markup=False, highlight=False)
