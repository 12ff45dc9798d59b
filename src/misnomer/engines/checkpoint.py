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
from collections.abc import Callable, Iterable
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
    """

    def __init__(self, folder: str | Path, about: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        said = json.dumps(about, sort_keys=True, default=str)
        self._check(hashlib.sha256(said.encode()).hexdigest(), said)
        self.read = 0  # sums that came from the journal
        self._asked = 0

    def _check(self, mark: str, said: str) -> None:
        file = self.folder / _ABOUT
        if file.exists():
            if json.loads(file.read_text()).get("mark") != mark:
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
            known = _load(file)
            if known is not None:
                self.read += 1
                return known
            total = fold(step, batches)
            if isinstance(total, Stats):  # other sums are rare, and found again
                _write(file, lambda place: _save(place, total))
            return total

        return journaled


def _save(place: Path, stats: Stats) -> None:
    with place.open("wb") as stream:
        np.savez(stream, joint=stats.joint, sums=stats.sums, loglik=np.float64(stats.loglik))
        stream.flush()
        os.fsync(stream.fileno())


def _load(file: Path) -> Stats | None:
    """Read a sum; None where there is none, or the disk has damaged it."""
    try:
        with np.load(file, allow_pickle=False) as found:
            return Stats(found["joint"], found["sums"], float(found["loglik"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(file: Path, write: Callable[[Path], Any]) -> None:
    """Write beside, then rename: a reader sees all of it or nothing."""
    beside = file.with_suffix(f".{os.getpid()}.part")
    write(beside)
    os.replace(beside, file)
