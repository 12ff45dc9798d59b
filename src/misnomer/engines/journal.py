"""A journal of sums: whoever runs the same fit again goes on where the last one was stopped.

A solver is a deterministic function of the sums that it asks for. So it is enough to write each
sum down as it is found: the next run reads them in the same order, arrives in the same state, to
the last bit, and only then goes on to the rows. No solver knows of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from misnomer.stats import Stats
from misnomer.table import Batch, Fold

_ABOUT = "journal.json"


class Journal:
    """Sums in a folder, one small file each, written all or nothing.

    Parameters
    ----------
    folder : str or Path
        Where they are; it is made.
    about : mapping
        What the fit depends on: the files, the options. A journal of something else is refused.
    kinds : sequence of types
        The sums that are written down: numbers, and dataclasses of numbers, arrays and tuples of
        arrays. Others are found again.
    """

    def __init__(
        self, folder: str | Path, about: dict[str, Any], kinds: Sequence[type] = (Stats,)
    ) -> None:
        self.folder, self.kinds = Path(folder), {kind.__name__: kind for kind in (float, *kinds)}
        self.folder.mkdir(parents=True, exist_ok=True)
        said = json.dumps(about, sort_keys=True, default=str)
        self._check(hashlib.sha256(said.encode()).hexdigest(), said)
        self.read = 0  # sums that came from the journal
        self._asked = 0

    def _check(self, mark: str, said: str) -> None:
        file = self.folder / _ABOUT
        if file.exists():
            if _mark(file) != mark:
                raise ValueError(
                    f"{self.folder}: the checkpoint is of other data or other options: name "
                    "another folder, or remove it"
                )
            return
        if any(self.folder.iterdir()):
            raise ValueError(f"{self.folder}: the folder holds no checkpoint, but something else")
        content = json.dumps({"mark": mark, "about": json.loads(said)}, indent=1)
        _write(file, lambda place: place.write_text(content))

    def wrap(self, fold: Fold[Any]) -> Fold[Any]:
        """Read sums that are known, and write down those that are new."""

        def journaled(step: Callable[[Batch], Any], batches: Iterable[Batch]) -> Any:
            file = self.folder / f"{self._asked:06d}.npz"
            self._asked += 1
            known = _load(file, self.kinds)
            if known is not None:
                self.read += 1
                return known
            total = fold(step, batches)
            if type(total) in self.kinds.values():
                _write(file, lambda place: _save(place, total))
            return total

        return journaled


def _mark(file: Path) -> str | None:
    """Read what a journal is of; None where that cannot be told."""
    try:
        said = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(
            f"{file}: the checkpoint is damaged: name another folder, or remove it"
        ) from None
    return said.get("mark") if isinstance(said, dict) else None


def _save(place: Path, total: Any) -> None:
    with place.open("wb") as stream:
        np.savez(stream, **_taken_apart(total))
        stream.flush()
        os.fsync(stream.fileno())


def _taken_apart(total: Any) -> dict[str, Any]:
    """Name the arrays of a sum; the parts of a tuple are numbered behind a dot."""
    out: dict[str, Any] = {"": np.array(type(total).__name__)}
    if isinstance(total, float):
        return out | {"value": np.float64(total)}
    for one in fields(total):
        value = getattr(total, one.name)
        if isinstance(value, tuple):
            out |= {f"{one.name}.{i}": part for i, part in enumerate(value)}
        elif value is not None:
            out[one.name] = np.asarray(value)
    return out


def _load(file: Path, kinds: Mapping[str, type]) -> Any:
    """Read a sum; None where there is none, or the disk has damaged it."""
    try:
        with np.load(file, allow_pickle=False) as found:
            return _put_together({name: found[name] for name in found.files}, kinds)
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):
        return None


def _put_together(found: dict[str, Any], kinds: Mapping[str, type]) -> Any:
    kind = kinds[str(found.pop(""))]
    if kind is float:
        return float(found["value"])
    parts: dict[str, Any] = {}
    for name, value in found.items():
        stem, dot, _ = name.partition(".")
        if dot:
            parts[stem] = (*parts.get(stem, ()), value)
        else:
            parts[name] = value if value.ndim else float(value)
    return kind(**parts)


def _write(file: Path, write: Callable[[Path], Any]) -> None:
    """Write beside, then rename: a reader sees all of it or nothing."""
    beside = file.with_suffix(f".{os.getpid()}.part")
    write(beside)
    os.replace(beside, file)
