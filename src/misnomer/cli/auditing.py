"""``misnomer audit``: read, fit, show, write."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from misnomer.audit import Audit, audit
from misnomer.audit.known import refuse_large
from misnomer.audit.own import refuse_batches
from misnomer.cli.large import Large
from misnomer.cli.large import found as streamed
from misnomer.store.folders import check_vacant


@dataclass(frozen=True)
class Wanted:
    """What the user said about the table."""

    label: str  # empty where annotators give the labels
    text: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    id: str | None = None
    trusted: str | None = None
    seed: int = 0
    sources: dict[str, Any] = field(default_factory=dict)  # annotators, groups, knowledge
    ignore_case: bool = False
    reading: dict[str, Any] = field(default_factory=dict)  # encoding, separator, sheet...
    checked: Path | None = None
    pred_probs: Path | None = None  # of a model of the user's


def run(
    file: str,
    wanted: Wanted,
    out: Path | None,
    *,
    quiet: bool,
    as_json: bool,
    force: bool,
    large: Large | None = None,
) -> None:
    """Audit a file; print the answer and, if there is a folder for it, write it down."""
    if out is not None:
        check_vacant(out, force=force)
    with _progress(quiet) as say:
        say(f"reading {file}")
        written: dict[str, Path] = {}
        found: Audit
        if {"noise_groups", "knowledge"} <= {*wanted.sources} and large is not None:
            refuse_large(None, large.memory, large.cluster, large.checkpoint, large.skip_bad)
            large = None
        if large is not None and large.wanted(file):
            refuse_batches([] if wanted.pred_probs is None else ["pred_probs"])
            found, written = streamed(file, wanted, large, out, force, say)
        else:
            found = _found(file, _with_own_checks(wanted, out), say)
            if out is not None:
                say(f"writing {out}")
                written = found.save(out, force=force)
    if quiet:
        return
    if as_json:
        from misnomer.reports.json import to_json

        print(json.dumps(to_json(found), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from misnomer.reports.text import render

        if out is not None:
            found = replace(found, verdict=found.verdict.in_folder(str(out)))
        render(found, Console())
    _list(written, Console(stderr=as_json, soft_wrap=True))


def _found(file: str, wanted: Wanted, say: Callable[[str], None]) -> Audit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit remembers them: they are part of the answer
        return audit(
            file if file == "-" else Path(file),
            label=wanted.label or None,
            text=wanted.text,
            families=families_of(wanted.families) or "auto",
            ignore=wanted.ignore,
            id=wanted.id,
            trusted=wanted.trusted,
            random_state=wanted.seed,
            progress=lambda step, _: say(f"fitting: pass {step}"),
            ignore_case=wanted.ignore_case,
            reading=wanted.reading or None,
            checked=wanted.checked,
            pred_probs=wanted.pred_probs,
            **wanted.sources,
        )


def _with_own_checks(wanted: Wanted, out: Path | None) -> Wanted:
    """Take the checks that the folder holds already, where none are named."""
    if wanted.checked is not None or out is None:
        return wanted
    from misnomer.audit.check_files import CheckFolder

    if not (out / "checks" / "answers.jsonl").exists():
        return wanted
    return replace(wanted, checked=out) if CheckFolder(out).answers() else wanted


def families_of(said: tuple[str, ...]) -> dict[str, str]:
    """Read COL=KIND; the last equals sign separates, so that names may hold one.

    Examples
    --------
    >>> families_of(("age=gaussian", "a=b=text"))
    {'age': 'gaussian', 'a=b': 'text'}
    """
    families = {}
    for one in said:
        name, sign, kind = one.rpartition("=")
        if not sign or not name:
            raise ValueError(f"--family takes COL=KIND, such as age=gaussian, not {one!r}")
        families[name] = kind
    return families


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
