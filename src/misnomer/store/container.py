"""One file of named arrays and a JSON description, with a version and a checksum.

The file is a safetensors file like any other. Its description lies in the metadata under
"misnomer", the SHA-256 of the description and of all arrays under "sha256": a bit that turned over
is noticed. Nothing in it is ever run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

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
