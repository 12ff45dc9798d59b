"""Which files a path, a folder, a pattern or an address stands for, and how to open one."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import pyarrow as pa

_KINDS = (".parquet", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".jsonl", ".ndjson", ".gz")
_MARKS = "*?["
_SAFE = (2026, 9)  # versions of fsspec before it run commands that an address may hold


def files_of(path: str | Path) -> tuple[tuple[str, ...], str | None]:
    """List the files that a path stands for, sorted; and the folder, where it is one.

    An address such as ``s3://bucket/part-*.parquet`` is listed by fsspec.
    """
    text = str(path)
    if is_address(text):
        return _remote(text)
    folder = Path(text)
    if folder.is_dir():
        found = sorted(
            str(file)
            for file in folder.rglob("*")
            if file.is_file() and is_data(str(file.relative_to(folder)))
        )
        if not found:
            raise ValueError(f"{text}: the folder holds no Parquet, Arrow, CSV or JSON lines file")
        return tuple(found), text
    if any(mark in text for mark in _MARKS) and not folder.exists():
        found = sorted(file for file in glob.glob(text, recursive=True) if Path(file).is_file())
        if not found:
            raise ValueError(f"{text}: no file is called like that")
        return tuple(found), None
    if not folder.exists():
        raise FileNotFoundError(f"there is no file {text!r}")
    return (text,), None


def _remote(address: str) -> tuple[tuple[str, ...], str | None]:
    files, stem = _fsspec().core.url_to_fs(address)
    base = None
    if any(mark in stem for mark in _MARKS):
        found = files.glob(stem)
    elif files.isdir(stem):
        base = str(files.unstrip_protocol(stem))
        found = [file for file in files.find(stem) if is_data(file[len(stem) :].lstrip("/"))]
    else:
        found = [stem]
    if not found:
        raise ValueError(f"{address}: no file is called like that")
    return tuple(sorted(str(files.unstrip_protocol(file)) for file in found)), base


def is_data(name: str) -> bool:
    """Tell a file of a folder that holds rows from hidden and foreign ones.

    Examples
    --------
    >>> is_data("year=2024/part-0.parquet"), is_data("_SUCCESS"), is_data(".tmp/a.csv")
    (True, False, False)
    """
    hidden = any(part.startswith((".", "_")) for part in name.split("/"))
    return not hidden and name.lower().endswith(_KINDS)


def is_address(path: str) -> bool:
    """Tell an address from a path; refuse a chain of them, which may name code to be run.

    Examples
    --------
    >>> is_address("s3://bucket/a.csv"), is_address("data/a.csv")
    (True, False)
    """
    if "::" in path and not Path(path).exists():
        raise ValueError(f"{path}: addresses may not be chained (::): name the file itself")
    return "://" in path


def opened(path: str) -> Any:
    """Open a file, near or far, for reading bytes at random."""
    if is_address(path):
        return pa.PythonFile(_fsspec().open(path, "rb").open(), mode="r")
    return pa.OSFile(path, "rb")


def size_of(path: str) -> int:
    """Bytes of a file."""
    if is_address(path):
        files, stem = _fsspec().core.url_to_fs(path)
        return int(files.size(stem) or 0)
    return Path(path).stat().st_size


def partition_keys(path: str, base: str | None) -> dict[str, str]:
    """Read the columns that hive folders stand for.

    Examples
    --------
    >>> partition_keys("t/year=2024/site=A%2FB/0.parquet", "t")
    {'year': '2024', 'site': 'A/B'}
    """
    from urllib.parse import unquote

    if base is None:
        return {}
    folders = path[len(base) :].strip("/").split("/")[:-1]
    pairs = [folder.partition("=") for folder in folders]
    return {name: unquote(value) for name, sign, value in pairs if sign}


def _fsspec() -> Any:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise ValueError("an address needs fsspec: pip install 'misnomer[dask]'") from None
    found = tuple(int(part) for part in fsspec.__version__.split(".")[:2] if part.isdigit())
    if found < _SAFE:
        raise ValueError(
            f"fsspec {fsspec.__version__} is too old to open addresses safely: "
            f"pip install 'fsspec>={_SAFE[0]}.{_SAFE[1]}'"
        )
    return fsspec
