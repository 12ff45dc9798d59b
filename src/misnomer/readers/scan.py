"""Files that may be larger than memory -> Arrow record batches, as often as they are asked for."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

ROWS = 1 << 16  # rows of a batch


class Scan(Protocol):
    """A table that can be read again and again, some rows at a time."""

    @property
    def names(self) -> list[str]:
        """The columns, in the file's order."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the file's order, only these columns, of settled types."""


@dataclass(frozen=True, eq=False)
class ArrowScan:
    """Parquet, Arrow and Feather files: one, a folder, hive partitions, or a pattern."""

    files: tuple[str, ...]
    base: str | None
    format: str
    rows: int = ROWS

    @property
    def dataset(self) -> Any:
        """The files as one dataset; a column that changes its type is found while reading."""
        hive = ds.HivePartitioning.discover() if self.base else None
        return ds.dataset(
            list(self.files),
            format=self.format,
            partitioning=hive,
            partition_base_dir=self.base,
        )

    @property
    def names(self) -> list[str]:
        """The columns, in the file's order."""
        return list(self.dataset.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows file by file; read-ahead happens in Arrow's own threads."""
        for fragment in self.dataset.get_fragments():
            yield from self._fragment(fragment, list(columns))

    def _fragment(self, fragment: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
        schema = self.dataset.schema
        try:
            found = fragment.physical_schema
            for name in columns:
                if name in found.names and found.field(name).type != schema.field(name).type:
                    raise ValueError(
                        f"{fragment.path}: column {name!r} holds {found.field(name).type}, but "
                        f"{schema.field(name).type} in the first file: give it one type"
                    )
            scanner = fragment.scanner(
                schema=schema, columns=columns, batch_size=self.rows, batch_readahead=2
            )
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield batch
        except (pa.ArrowException, OSError) as error:
            why = str(error).splitlines()[0][:160]
            raise ValueError(f"{fragment.path}: the file cannot be read ({why})") from None


@dataclass(frozen=True, eq=False)
class TableScan:
    """A table in memory, served by the batch."""

    table: pa.Table
    rows: int = ROWS

    @property
    def names(self) -> list[str]:
        """The columns, in the table's order."""
        return list(self.table.column_names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=self.rows)


def files_of(path: str | Path) -> tuple[tuple[str, ...], str | None]:
    """List the files that a path, a folder or a pattern stands for, sorted; and the folder."""
    text = str(path)
    if Path(text).is_dir():
        found = sorted(str(file) for file in Path(text).rglob("*") if _is_data(file, Path(text)))
        if not found:
            raise ValueError(f"{text}: the folder holds no Parquet, Arrow or CSV file")
        return tuple(found), text
    if any(mark in text for mark in "*?[") and not Path(text).exists():
        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise ValueError(f"{text}: no file is called like that")
        return tuple(found), None
    return (text,), None


def _is_data(file: Path, base: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(base).parts)
    kinds = (".parquet", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".gz")
    return file.is_file() and not hidden and file.suffix.lower() in kinds
