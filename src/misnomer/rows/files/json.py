"""JSON: a line per object, by batches, or one array of objects, at once."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from misnomer.rows.files.paths import LONGEST, bounded_lines, open_text, read_whole
from misnomer.rows.frames import as_table
from misnomer.rows.parts import FAULTS, complaint, conform, validated

_BLOCK = 1 << 20  # bytes of text that are parsed at once
_NULL_LINE = re.compile(rb"(?:^|[\r\n])\s*null")


def parsed_lines(block: bytes) -> pa.Table:
    """Parse JSON lines; what Arrow lets through is checked before anybody follows it.

    A block that begins with null brings Arrow 26 down, and it cuts blocks where it likes.
    """
    from pyarrow.json import read_json

    if _NULL_LINE.search(block):
        raise pa.ArrowInvalid("a line holds null, and no JSON object")
    return validated(read_json(io.BytesIO(block)))


def sound_lines(block: bytes) -> tuple[bytes, int]:
    r"""Keep the lines that are JSON objects, and count the others.

    Examples
    --------
    >>> sound_lines(b'{"a": 1}\n{"a": \n{"a": 2}\n')
    (b'{"a": 1}\n{"a": 2}\n', 1)
    """
    kept, odd = [], 0
    for line in block.splitlines(keepends=True):
        try:
            sound = isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            sound = not line.strip()
        kept += [line] if sound else []
        odd += not sound
    return b"".join(kept), odd


@dataclass(frozen=True, eq=False)
class LinesPart:
    """One file of JSON lines; without a schema the types are those of each block."""

    name: str
    schema: pa.Schema | None = None
    kept: tuple[pa.Table, ...] = ()

    def lines(self, rows: int) -> list[int]:
        """List the lines that hold something."""
        with open_text(self.name) as stream:
            return [number for number, line in enumerate(stream, start=1) if line.strip()]

    def tables(self, bad: list[str] | None = None) -> Iterator[pa.Table]:
        """Parse block after block; lines that are no JSON objects can be left out."""
        try:
            for block in self._blocks():
                try:
                    yield parsed_lines(block)
                except FAULTS:
                    if bad is None:
                        raise
                    sound, odd = sound_lines(block)
                    bad.append(f"{self.name}: {odd:,} {'line' if odd == 1 else 'lines'} of no JSON")
                    if sound:
                        yield parsed_lines(sound)
        except FAULTS as error:
            if bad is None:
                raise ValueError(self._fault(error)) from None
            bad.append(complaint(self.name, error, "the rest of the file"))

    def _fault(self, error: BaseException) -> str:
        """Say which line is the first that is no JSON object, if one is."""
        try:
            with open_text(self.name) as stream:
                for number, line in enumerate(bounded_lines(stream, self.name), start=1):
                    if line.strip() and not sound_lines(line)[0]:
                        return (
                            f"{self.name}: line {number} is no JSON object: mend it, or leave it "
                            "out (--skip-bad)"
                        )
        except (*FAULTS, ValueError):
            pass
        return complaint(self.name, error)

    def _blocks(self) -> Iterator[bytes]:
        """Read blocks of bytes, each up to the end of a line."""
        rest = b""
        with open_text(self.name) as stream:
            while block := stream.read(_BLOCK):
                if len(rest) > LONGEST:
                    raise OSError(f"a line is longer than {LONGEST >> 20} MB")
                whole, cut, rest = (rest + block).rpartition(b"\n")
                if cut and whole.strip():
                    yield whole + cut
            if rest.strip():
                yield rest

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        assert self.schema is not None
        for table in self.kept or self.tables(bad):
            yield conform(table, self.schema, columns)


def read_array(path: str) -> pa.Table:
    """Read a JSON array of objects; a row may lack some of the names."""
    try:
        with open_text(path) as stream:
            data = read_whole(stream, path)
        rows = json.loads(data.decode("utf-8-sig"))
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path}: the gzip file is damaged or cut short") from None
    except (ValueError, RecursionError) as error:
        why = str(error).splitlines()[0][:120]
        raise ValueError(f"{path}: this is JSON that cannot be read ({why})") from None
    odd = next((i for i, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise ValueError(f"{path}: entry {odd + 1} of the array is no object with named cells")
    table: pa.Table = as_table(rows)
    return table if rows else pa.table({})
