"""Go over batches in this process, in their order: rows in memory, or partly on disk.

A `Stream` is a sequence of batches like any other, so every solver runs on it as it is. The
compact form of a table is 10 to 50 times smaller than its text; what exceeds the memory that it
was given goes to a temporary file and is read back, ahead of the kernels, at every pass.

A `Journal` keeps the sums of any fold. A solver is a deterministic function of the sums that it
asks for: the next run of the same fit reads them in the same order, arrives in the same state, to
the last bit, and only then goes on to the rows. No solver knows of it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import IO, Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Block, Codes, Reals, Words
from misnomer.stats import Stats
from misnomer.table import Batch, Fold, joined_checks, joined_groups, numbered


def fold(step: Callable[..., Any], batches: Iterable[Batch], *aligned: NDArray[Any]) -> Any:
    """Compute ``step(b1) + step(b2) + ...``, from the left.

    Examples
    --------
    >>> import numpy as np
    >>> from misnomer.table import numbered
    >>> two = list(numbered([Batch((), np.zeros(2, np.int32)), Batch((), np.zeros(1, np.int32))]))
    >>> fold(len, two)
    3
    >>> int(fold(lambda batch, own: own.sum(), two, np.array([5, 6, 7])))
    18
    """
    return reduce(add, each(step, batches, *aligned))


def each(
    step: Callable[..., Any], batches: Iterable[Batch], *aligned: NDArray[Any]
) -> Iterator[Any]:
    """Yield ``step(batch, *the batch's rows of the arrays)``.

    Examples
    --------
    >>> import numpy as np
    >>> from misnomer.table import numbered
    >>> two = list(numbered([Batch((), np.zeros(2, np.int32)), Batch((), np.zeros(1, np.int32))]))
    >>> [own.tolist() for own in each(lambda batch, own: own, two, np.array([5, 6, 7]))]
    [[5, 6], [7]]
    """
    if not aligned:
        return map(step, batches)
    return (call_step(step, batch, 0, aligned) for batch in batches)


def call_step(
    step: Callable[..., Any], batch: Batch, first: int, aligned: tuple[NDArray[Any], ...]
) -> Any:
    """Take a step with a batch and its rows of the arrays, which begin at row ``first`` of all."""
    rows = slice(batch.start - first, batch.start - first + len(batch))
    return step(batch, *(array[rows] for array in aligned))


_BATCHES_AHEAD = 2  # batches read before they are needed


@dataclass(frozen=True)
class _Spilled:
    """A batch whose arrays lie in the file, one behind the other."""

    pickled: bytes  # the batch without its arrays
    offset: int
    sizes: tuple[int, ...]  # bytes of each array


class Batches(Sequence[Batch]):
    """Batches that are not all here: one that is asked for is fetched."""

    def _at(self, place: int) -> Batch:
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> Batch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Batch]: ...
    def __getitem__(self, place: int | slice) -> Batch | Sequence[Batch]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        return self._at(range(len(self))[place])


class Stream(Batches):
    """Batches, in the order in which they were put in.

    Parameters
    ----------
    batches : iterable of Batch
        Taken one by one; never all in memory at once.
    memory : int
        Bytes that may stay in memory; the rest goes to a temporary file.

    Examples
    --------
    >>> rows = Batch((Codes(np.zeros((3, 1), np.uint8), (2,)),), np.zeros(3, np.int32))
    >>> stream = Stream([rows, rows], memory=0)
    >>> len(stream), stream.rows, [len(batch) for batch in stream]
    (2, 6, [3, 3])
    """

    def __init__(self, batches: Iterable[Batch], *, memory: int = 1 << 30) -> None:
        self._kept: list[Batch] = []
        self._spilled: list[_Spilled] = []
        self._file: IO[bytes] | None = None
        self.rows = 0
        left = memory
        for batch in numbered(batches):
            self.rows += len(batch)
            left -= size(batch)
            if left >= 0 and not self._spilled:
                self._kept.append(batch)
            else:
                self._spilled.append(self._spill(batch))

    def __len__(self) -> int:
        return len(self._kept) + len(self._spilled)

    def _at(self, place: int) -> Batch:
        if place < len(self._kept):
            return self._kept[place]
        return self._read(self._spilled[place - len(self._kept)])

    def __iter__(self) -> Iterator[Batch]:
        yield from self._kept
        if not self._spilled:
            return
        with ThreadPoolExecutor(1) as pool:
            waiting: list[Future[Batch]] = []
            for place in self._spilled:
                waiting.append(pool.submit(self._read, place))
                if len(waiting) > _BATCHES_AHEAD:
                    yield waiting.pop(0).result()
            for future in waiting:
                yield future.result()

    def take(self, rows: NDArray[np.integer[Any]]) -> Batch:
        """Select rows by their positions in all of the batches, in rising order."""
        found, start = [], 0
        for batch in self:
            first, last = np.searchsorted(rows, (start, start + len(batch)))
            if first < last or not start:
                found.append(batch.take(rows[first:last] - start))
            start += len(batch)
        return joined(found)

    @property
    def spilled(self) -> int:
        """Bytes on disk."""
        return self._file.seek(0, io.SEEK_END) if self._file is not None else 0

    def _spill(self, batch: Batch) -> _Spilled:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="misnomer-", buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        pickled, arrays = _arrays_apart(batch)
        offset = self._file.seek(0, io.SEEK_END)
        for array in arrays:
            view = array
            while len(view):
                view = view[self._file.write(view) :]
        return _Spilled(pickled, offset, tuple(array.nbytes for array in arrays))

    def _read(self, place: _Spilled) -> Batch:
        assert self._file is not None
        arrays, offset = [], place.offset
        for length in place.sizes:
            arrays.append(np.empty(length, np.uint8))
            view, done = arrays[-1].data, 0
            while done < length:  # a position of its own: several readers do not disturb
                part = os.preadv(self._file.fileno(), [view[done:]], offset + done)
                if part <= 0:
                    raise OSError("the temporary file of compact rows was cut short")
                done += part
            offset += length
        batch: Batch = pickle.loads(place.pickled, buffers=arrays)
        return batch


def _arrays_apart(batch: Batch) -> tuple[bytes, list[memoryview]]:
    """Pickle a batch for this process alone, its arrays apart and without a copy of them."""
    arrays: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(batch, protocol=5, buffer_callback=arrays.append)
    return pickled, [array.raw() for array in arrays]


def size(batch: Batch) -> int:
    """Bytes of a batch in its compact form."""
    return sum(array.nbytes for array in _arrays_apart(batch)[1])


def joined(batches: Sequence[Batch]) -> Batch:
    """Put batches of one table one under another, in memory.

    Examples
    --------
    >>> rows = Batch((Codes(np.zeros((3, 1), np.uint8), (2,)),), np.zeros(3, np.int32))
    >>> len(joined([rows, rows]))
    6
    """
    if len(batches) == 1:
        return batches[0]
    blocks = tuple(_stacked(same) for same in zip(*(b.blocks for b in batches), strict=True))
    given = np.concatenate([batch.given for batch in batches])
    weight = None
    if any(batch.weight is not None for batch in batches):
        weights = [np.ones(len(b)) if b.weight is None else b.weight for b in batches]
        weight = np.concatenate(weights)
    beside = {"group": joined_groups(batches), **joined_checks(batches)}
    return Batch(blocks, given, weight, **beside)


def _stacked(blocks: Sequence[Any]) -> Block:
    first = blocks[0]
    if isinstance(first, Codes):
        return replace(first, codes=np.concatenate([block.codes for block in blocks]))
    if isinstance(first, Reals):
        return replace(first, values=np.concatenate([block.values for block in blocks]))
    if isinstance(first, Words):
        return Words(sparse.csr_array(sparse.vstack([block.matrix for block in blocks], "csr")))
    bits = np.concatenate([block.bits for block in blocks])
    if all(block.observed is None for block in blocks):
        return replace(first, bits=bits)
    full = [np.full_like(b.bits, 255) if b.observed is None else b.observed for b in blocks]
    return replace(first, bits=bits, observed=np.concatenate(full))


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
