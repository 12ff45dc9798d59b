"""What lies on disk is whole: a file of arrays with a checksum, a folder of files with a manifest.

A file of named arrays and a JSON description is a safetensors file like any other. Its description
lies in the metadata under "misnomer", the SHA-256 of the description and of all arrays under
"sha256": a bit that turned over is noticed. Nothing in it is ever run.

A folder is the old one or the new one, never a mixture, whenever the power goes. The new files are
written into a hidden folder and, with the digest of each in a manifest, brought to the disk. One
rename then decides: from there on the new files count, and whoever opens the folder next finishes
moving them to their places. Every reader compares what it reads with the manifest, so that files
put together in another way (half a copy) are refused as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from misnomer.store.writing import clear, held, marked, sync

VERSION = 1
_TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "I32": np.int32, "U8": np.uint8}

Arrays = Mapping[str, NDArray[Any]]


class DamagedError(ValueError):
    """A file that is not what it should be."""


def pack(kind: str, arrays: Arrays, about: Mapping[str, Any]) -> bytes:
    """Put arrays and their description into one file of bytes."""
    ready = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    head = {"format": f"misnomer {kind}", "version": VERSION, **about}
    text = json.dumps(head, allow_nan=False, sort_keys=True)
    return _in_order(save(ready, metadata={"misnomer": text, "sha256": _digest(text, ready)}))


def _in_order(data: bytes) -> bytes:
    """Sort the header of a safetensors file, whose order is chance: equal models, equal bytes."""
    size = int.from_bytes(data[:8], "little")
    head = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True, separators=(",", ":"))
    words = head.encode()
    words += b" " * (-len(words) % 8)
    return len(words).to_bytes(8, "little") + words + data[8 + size :]


def unpack(kind: str, data: bytes, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Take such a file apart again; refuse one that is damaged, foreign or newer."""
    try:
        arrays = {key: _array(entry) for key, entry in _parts(data)}
        size = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + size])["__metadata__"]
        text = metadata["misnomer"]
        about = json.loads(text, parse_constant=_no_constant)
        digest = metadata["sha256"]
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, MemoryError):
        raise DamagedError(f"{name}: this is no misnomer {kind}, or it is damaged") from None
    if not isinstance(about, dict) or about.get("format") != f"misnomer {kind}":
        raise DamagedError(f"{name}: this is no misnomer {kind}")
    _check_version(about.get("version"), kind, name)
    if digest != _digest(text, arrays):
        raise DamagedError(f"{name}: the {kind} is damaged (its checksum does not match)")
    return arrays, about


def _check_version(version: Any, kind: str, name: str) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DamagedError(f"{name}: the {kind} does not say which version of the format it is")
    if version > VERSION:
        raise DamagedError(
            f"{name}: the {kind} was written by a newer misnomer (format {version}, this one reads "
            f"up to {VERSION}): upgrade misnomer"
        )


def _parts(data: bytes) -> Any:
    return deserialize(data)  # type: ignore[no-untyped-call]


def _array(entry: Mapping[str, Any]) -> NDArray[Any]:
    kind = _TYPES[entry["dtype"]]
    return (
        np.frombuffer(entry["data"], dtype=np.dtype(kind).newbyteorder("<"))
        .reshape(entry["shape"])
        .astype(kind)
    )


def _no_constant(word: str) -> Any:
    raise ValueError(word)


def _digest(text: str, arrays: Arrays) -> str:
    total = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        total.update(repr((name, array.dtype.name, array.shape)).encode())
        total.update(array.tobytes())
    return total.hexdigest()


def read_bytes(path: str | Path) -> bytes:
    """Read a whole file; say in one sentence why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: this is a folder, not a file") from None


MANIFEST = "manifest.json"
_SWAP, _OLD = ".misnomer.swap", ".old"
_FORMAT, _VERSION = "misnomer folder", 1
_BLOCK_BYTES, _N_BLOCKS = 1 << 20, 64


@contextmanager
def filling(folder: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Hand out an empty folder; when all went well, its files are those of ``folder``.

    A folder that holds something already is refused, unless ``force`` says that it may be replaced:
    what was written into it like this before goes, files of others stay.
    """
    folder = Path(folder)
    check_vacant(folder, force=force)
    beside = next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
    clear(beside, ".misnomer.*.part")
    place = Path(tempfile.mkdtemp(prefix=".misnomer.", suffix=".part", dir=beside))
    inside = place / "new"
    with marked(place):
        try:
            inside.mkdir()
            yield inside
            _seal(inside)
            _put(inside, folder, force=force)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def check_vacant(folder: str | Path, *, force: bool = False) -> None:
    """Refuse a folder that is a file, that is in use, or that already holds something."""
    folder = Path(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileExistsError(f"{str(folder)!r} is a file: name a folder to write into")
    with held(folder, alone=True):
        finish_swap(folder)
        _refuse_full(folder, force=force)


def _refuse_full(folder: Path, *, force: bool) -> None:
    if not force and any(map(_counts, folder.iterdir())):
        raise FileExistsError(f"{str(folder)!r} is not empty: use --force (force=True) to replace")


def _counts(place: Path) -> bool:
    """Tell what was put there from what a killed run has left."""
    return not (place.name.startswith(".misnomer.") and place.name.endswith(".part"))


@contextmanager
def reading(folder: str | Path) -> Iterator[None]:
    """Keep a folder as it is while it is read; finish first what a killed run has begun."""
    folder = Path(folder)
    if (folder / _SWAP).exists():
        with held(folder, alone=True):
            finish_swap(folder)
    with held(folder):
        yield


def check_whole(folder: str | Path, names: Sequence[str]) -> None:
    """Refuse a folder in which one of these files or folders is not what was written there."""
    folder = Path(folder)
    files = manifest(folder)
    for name in names:
        known = {one: said for one, said in files.items() if PurePosixPath(one).parts[0] == name}
        if not known:
            raise DamagedError(f"{folder / name}: it is not listed in {MANIFEST}: {_ANEW}")
        for one, said in known.items():
            if _described(folder / one) != said:
                raise DamagedError(
                    f"{folder / one}: this is not the file that was written with the others "
                    f"(damaged, or of another audit): {_ANEW}"
                )


_ANEW = "audit the data anew, or fetch the whole folder again"


def manifest(folder: Path) -> dict[str, Any]:
    """Read which files were written together, with their sizes and digests."""
    file = folder / MANIFEST
    try:
        said = json.loads(file.read_bytes())
        files = said["files"] if said["format"] == _FORMAT else None
        if not isinstance(files, dict) or not all(map(_is_plain, files)):
            raise ValueError
    except FileNotFoundError:
        raise DamagedError(f"{folder}: it lacks {MANIFEST}: {_ANEW}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedError(f"{file}: the list of files is damaged: {_ANEW}") from None
    return files


def _is_plain(name: str) -> bool:
    """Tell the name of a file within the folder from one that leads out of it."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _seal(inside: Path) -> None:
    """List the files with their digests, and bring everything to the disk."""
    (inside / MANIFEST).unlink(missing_ok=True)
    every = sorted(place for place in inside.rglob("*") if place.is_file())
    files = {place.relative_to(inside).as_posix(): _described(place) for place in every}
    said = {"format": _FORMAT, "version": _VERSION, "files": files}
    (inside / MANIFEST).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    for place in (*every, inside / MANIFEST):
        sync(place)
    for place in (*(place for place in inside.rglob("*") if place.is_dir()), inside):
        sync(place)


def _described(file: Path) -> dict[str, Any] | None:
    try:
        size = file.stat().st_size
        total = hashlib.sha256()
        for block in blocks(file, size):
            total.update(block)
    except OSError:
        return None
    return {"size": size, "sha256": total.hexdigest()}


def blocks(file: str | Path, size: int, *, every: bool = False) -> Iterator[bytes]:
    """Read a file block by block; of a large one 64 at equal distances, unless ``every`` counts."""
    count = -(-size // _BLOCK_BYTES)
    places: Sequence[int] = range(count)
    if count > _N_BLOCKS and not every:
        places = [place * (count - 1) // (_N_BLOCKS - 1) for place in range(_N_BLOCKS)]
    with open(file, "rb") as stream:
        for place in places:
            stream.seek(place * _BLOCK_BYTES)
            yield stream.read(_BLOCK_BYTES)


def _put(inside: Path, folder: Path, *, force: bool) -> None:
    """Make the sealed folder the one that counts: by one rename, in either case."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.rename(inside, folder)
        sync(folder.parent)
        return
    with held(folder, alone=True):
        finish_swap(folder)
        _refuse_full(folder, force=force)  # somebody else may have been faster
        os.rename(inside, folder / _SWAP)
        sync(folder)
        finish_swap(folder)


def finish_swap(folder: Path) -> None:
    """Finish moving new files to their places, where that was begun; the manifest comes last."""
    swap = folder / _SWAP
    if not swap.exists() and not swap.is_symlink():
        return
    if swap.is_symlink() or not swap.is_dir():
        raise DamagedError(f"{swap}: this is no folder of ours: remove it")
    try:
        if (swap / MANIFEST).exists():
            _move(swap, folder)
        shutil.rmtree(swap)
    except PermissionError:
        raise PermissionError(
            f"{str(folder)!r} was being replaced when that was interrupted, and may not be written "
            "here: open it once where it may be"
        ) from None


def _move(swap: Path, folder: Path) -> None:
    fresh = {place.name for place in swap.iterdir()} - {MANIFEST, _OLD}
    listed = {PurePosixPath(name).parts[0] for name in manifest(swap)}
    for name in _before(folder) - listed:
        _away(folder / name, swap)
    for name in sorted(fresh):
        if (folder / name).is_dir():
            _away(folder / name, swap)
        os.replace(swap / name, folder / name)
    os.replace(swap / MANIFEST, folder / MANIFEST)
    sync(folder)


def _before(folder: Path) -> set[str]:
    """Name what was written here before, at the top of the folder."""
    try:
        return {PurePosixPath(name).parts[0] for name in manifest(folder)} - {_SWAP}
    except DamagedError:
        return set()


def _away(place: Path, swap: Path) -> None:
    if place.exists() or place.is_symlink():
        (swap / _OLD).mkdir(exist_ok=True)
        os.rename(place, tempfile.mkdtemp(dir=swap / _OLD) + "/" + place.name)
