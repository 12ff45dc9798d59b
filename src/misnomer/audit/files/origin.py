"""Which file was audited, and whether it still is that file: size, time, then a digest."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from misnomer.store.container import blocks

_MAX_WHOLE_BYTES = 1 << 30  # bytes in all up to which every byte is digested

WHOLE, SAMPLED, SIZE = "sha256", "sha256 of the size and 64 blocks of 1 MiB of each file", "size"


@dataclass(frozen=True)
class Origin:
    """The file, the folder or the pattern that was audited, as it was then."""

    path: str  # where it was: absolute, or an address
    # how many files it stood for, and their bytes
    files: int
    size: int
    modified: str  # when the newest of them was last written (UTC); empty where that is not told
    stamp: str  # a digest of the files' names, sizes and times: what is compared first
    digest: str  # a digest of what they hold; empty where only the size is known
    # what the digest is of: every byte; of more than 1 GiB, blocks; of an address, nothing
    method: str
    # what `audit` must be told to do the same, by the names of its arguments
    asked: Mapping[str, Any] = field(default_factory=dict)
    audited: str = ""  # when that was (UTC); empty where an older misnomer wrote it down

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of the command line, as far as it has them."""
        return command_words(self.asked)

    def command(self, out: str | Path, file: str | Path | None = None) -> str:
        """Write the command that audits the file, or another one, in the same way.

        Examples
        --------
        >>> Origin("/data/a b.csv", 1, 9, "", "", "", "size", {"label": "y"}).command("new")
        "misnomer audit '/data/a b.csv' --label y --out new"
        """
        where = nearest(self.path) if file is None else str(file)
        return shlex.join(["misnomer", "audit", where, *self.options, "--out", str(out)])


def nearest(path: str) -> str:
    """Write a path from here where it is below, else in full."""
    below = str(Path.cwd()) + os.sep
    return path.removeprefix(below) if path.startswith(below) else path


def origin_of(path: str | Path, asked: Mapping[str, Any] | None = None) -> Origin:
    """Take down which files a path stands for, and what they hold, before they are read."""
    text = str(path) if "://" in str(path) else os.path.abspath(path)
    files = files_of(text)
    size = sum(map(size_of, files))
    stamp, newest = _stamp(text, files)
    method = SIZE if "://" in text else WHOLE if size <= _MAX_WHOLE_BYTES else SAMPLED
    return Origin(
        path=text,
        files=len(files),
        size=size,
        modified=newest,
        stamp=stamp,
        digest="" if method == SIZE else digest(text, files, method),
        method=method,
        asked=dict(asked or {}),
        audited=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def files_of(path: str) -> tuple[str, ...]:
    """List the files that a path stands for; what reads them is imported when it is needed."""
    from misnomer.rows.files import paths

    return paths.files_of(path)[0]


def size_of(file: str) -> int:
    """Bytes of a file."""
    from misnomer.rows.files import paths

    return paths.size_of(file)


def _stamp(path: str, files: tuple[str, ...]) -> tuple[str, str]:
    total, newest = hashlib.sha256(), 0
    for file in files:
        there = None if "://" in file else Path(file).stat().st_mtime_ns
        newest = max(newest, there or 0)
        total.update(repr((_name(path, file), size_of(file), there)).encode())
    when = datetime.fromtimestamp(newest / 1e9, UTC).isoformat(timespec="seconds")
    return total.hexdigest(), when if newest else ""


def _name(path: str, file: str) -> str:
    """Name a part without its folder, so that a folder may move; a single file has none."""
    return "" if file == path else os.path.relpath(file, path) if "://" not in file else file


def digest(path: str, files: tuple[str, ...], method: str) -> str:
    """Digest what files hold, with the names of the parts where there are several."""
    total = hashlib.sha256()
    for file in files:
        if len(files) > 1:
            total.update(repr((_name(path, file), size_of(file))).encode())
        elif method == SAMPLED:
            total.update(str(size_of(file)).encode())
        for block in blocks(file, size_of(file), every=method == WHOLE):
            total.update(block)
    return total.hexdigest()


def is_near(path: str, places: Iterable[Path]) -> bool:
    """Tell whether a path that a file names is a local one below one of these places.

    Only such a path is opened without being asked to: an address, a device or a file elsewhere may
    be a trap in somebody else's folder. The root of a disk is no such place.
    """
    if "://" in path or "::" in path or not os.path.isabs(path):
        return False
    stem = path.split("*")[0].split("?")[0].split("[")[0]
    for place in map(os.path.abspath, places):
        if place != os.path.dirname(place) and all(
            os.path.commonpath([way(stem), way(place)]) == way(place)
            for way in (os.path.abspath, os.path.realpath)
        ):
            return not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path)
    return False


def state(then: Origin, path: str | Path | None = None) -> str:
    """Compare: "same", "changed", "missing" (moved or deleted), or "unreadable".

    Size and time decide where they are as they were; the digest only where they differ.
    """
    text = then.path if path is None else str(path)
    try:
        files = files_of(text)
        if _stamp(text, files)[0] == then.stamp:
            return "same"
        if sum(map(size_of, files)) != then.size or len(files) != then.files:
            return "changed"
        if then.method == SIZE:
            return "same"
        return "same" if digest(text, files, then.method) == then.digest else "changed"
    except FileNotFoundError:
        return "missing"
    except ValueError:  # a folder or a pattern without files, an address without fsspec
        return "unreadable" if "://" in text else "missing"
    except OSError:
        return "unreadable"


_LISTS = {"text": "--text", "ignore": "--ignore", "annotators": "--annotator-columns"}
_FLAGS = {"skip_bad": "--skip-bad", "ignore_case": "--ignore-case"}
_WORDS = {
    "label": "--label",
    "id": "--id",
    "trusted": "--trusted",
    "noise_groups": "--noise-group",
    "memory": "--memory",
    "cluster": "--cluster",
    "pred_probs": "--pred-probs",
}


def command_words(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Write what was asked for as the words of a command that a person may type; nobody reads them.

    Examples
    --------
    >>> command_words({"label": "y", "ignore": ["a b"], "random_state": 3, "long": None})
    ('--label', 'y', '--ignore', 'a b', '--seed', '3')
    """
    words: list[str] = []
    for name, value in asked.items():
        if (
            name in _WORDS
            and isinstance(value, str | int | Path)
            and value not in ("", True, False)
        ):
            words += [_WORDS[name], str(value)]
        elif name in _LISTS and value is not None:
            some = [value] if isinstance(value, str) else list(map(str, value))
            if name == "annotators" and not any("," in one for one in some):
                some = [",".join(some)]
            words += [word for one in some for word in (_LISTS[name], one)]
        elif name == "families" and isinstance(value, Mapping):
            words += [word for pair in value.items() for word in ("--family", "=".join(pair))]
        elif name == "random_state" and isinstance(value, int) and value:
            words += ["--seed", str(value)]
        elif name in _FLAGS and value:
            words.append(_FLAGS[name])
        elif name == "reading" and value is not None:
            words += _reading(value)
        elif name == "long" and value is not None:
            words += ["--long", value if isinstance(value, str) else ",".join(value)]
        elif name == "knowledge" and isinstance(value, Mapping):
            words += _knowledge(value)
    return tuple(words)


def _reading(said: Mapping[str, Any]) -> list[str]:
    """Write how a file is to be read as options."""
    words: list[str] = []
    for name in ("encoding", "sep", "sheet"):
        if said.get(name) is not None:
            words += [f"--{name}", str(said[name])]
    missing = said.get("missing") or ()
    for word in [missing] if isinstance(missing, str) else missing:
        words += ["--missing", word]
    return [*words, *(["--no-header"] if said.get("header") is False else [])]


def _knowledge(said: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, rate in said.get("rates", {}).items():
        words += ["--known", f"{name}={rate}"]
    if isinstance(said.get("most"), float):
        words += ["--at-most", str(said["most"])]
    for given, true in said.get("never", ()):
        words += ["--never", f"{given}:{true}"]
    return words
