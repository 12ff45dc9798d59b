"""The checks of an audit's folder: what was drawn, what was answered, sheets to fill in.

checks/design.parquet    doubt and label of every row when the first were drawn: later draws
                         go by the same design, whatever the model has learned since
checks/draws.parquet     the drawn rows in the order of their turns
checks/answers.jsonl     a line per answer; the last one of a row counts
checks/sheet.csv         the drawn rows for a spreadsheet, blind, with an empty column
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from misnomer.audit.checked import drawn_columns
from misnomer.audit.shape import Shape
from misnomer.checks.result import Checks
from misnomer.checks.sheet import Table, joined, read_answers, read_sheet
from misnomer.reports.wording import shown
from misnomer.rows.files.excel import write_workbook
from misnomer.store.writing import replacing, write_csv

ROOM = "checks"
_OWN = (
    "given_label", "suggested_label", "error_probability", "label_quality", "is_label_issue",
    "near_duplicate", "is_outlier",
)  # fmt: skip


def read_checked(path: Path) -> dict[str, list[Any]]:
    """Read checked rows from a file of any kind."""
    from misnomer.rows.scan import read_table

    return dict(read_table(path).to_pydict())


def cell_text(cell: Any) -> str:
    """Show a cell to a person; an empty one says so.

    Examples
    --------
    >>> cell_text(39.5), cell_text(None)
    ('39.5', '(none)')
    """
    return "(none)" if cell is None or cell != cell else str(cell)


class CheckFolder:
    """The checks in the folder of an audit.

    Parameters
    ----------
    folder : Path
        The folder of the audit, or its room ``checks``.
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        if folder.name == ROOM and (folder / "draws.parquet").exists():
            folder = folder.parent
        if not (folder / "audit.json").exists():
            raise FileNotFoundError(
                f"{str(folder)!r} is no folder of an audit: it has no audit.json"
            )
        self.folder, self.room = folder, folder / ROOM
        self.about: dict[str, Any] = json.loads((folder / "audit.json").read_text("utf-8"))

    @property
    def drawn(self) -> bool:
        """Whether rows were drawn."""
        return (self.room / "draws.parquet").exists()

    @property
    def labels(self) -> list[Any]:
        """The given labels, as the audit lists them."""
        return list(self.about["labels"])

    @property
    def classes(self) -> list[Any]:
        """The classes, as the audit lists them."""
        return list(self.about["classes"])

    def draw(self, rows: int, seed: int | None = None) -> dict[str, list[Any]]:
        """Draw more rows by the design of the first draw, and write them down."""
        doubt, labels = self._design()
        before = self._draws() if self.drawn else None
        fresh = drawn_columns(self._table(labels), doubt, rows, before=before, random_state=seed)
        every = fresh if before is None else {k: [*before[k], *fresh[k]] for k in before}
        self.room.mkdir(exist_ok=True)
        design = pa.table({"given_label": pa.array(labels), "doubt": doubt})
        _write(design, self.room / "design.parquet")
        kept = {name: column for name, column in every.items() if name != "true_label"}
        _write(pa.table(kept), self.room / "draws.parquet")
        return fresh

    def _design(self) -> tuple[np.ndarray[Any, Any], list[Any]]:
        place = self.room / "design.parquet"
        if place.exists():
            table, name = pq.read_table(place), "doubt"
        else:
            rows, name = ds.dataset(self.folder / "rows.parquet"), "error_probability"
            table = rows.to_table(["given_label", name])
        doubt = table.column(name).to_numpy().astype(np.float64)
        return doubt, table.column("given_label").to_pylist()

    @property
    def doubt(self) -> np.ndarray[Any, Any]:
        """What the model thought of each row when the first were drawn."""
        return self._design()[0]

    def _table(self, labels: list[Any]) -> Table:
        names = self.labels
        place = {str(name): k for k, name in enumerate(names)}
        given = np.array([place.get(str(one), -1) if one is not None else -1 for one in labels])
        return Table(self.about["label"], tuple(names), tuple(self.classes), given)

    def _draws(self) -> dict[str, list[Any]]:
        return dict(pq.read_table(self.room / "draws.parquet").to_pydict())

    def answers(self) -> dict[int, Any]:
        """The answers so far, row -> class; the last one of a row counts, None takes it back."""
        out: dict[int, Any] = {}
        place = self.room / "answers.jsonl"
        if place.exists():
            for line in place.read_text("utf-8").splitlines():
                try:
                    said = json.loads(line)
                    out[int(said["row"])] = said["true_label"]
                except (ValueError, KeyError, TypeError):
                    continue  # the last line of a run that was killed while it wrote
        return {row: answer for row, answer in out.items() if answer is not None}

    def answer(self, row: int, true_label: Any) -> None:
        """Write one answer down, at once; None takes it back."""
        line = json.dumps({"row": int(row), "true_label": true_label}, ensure_ascii=False)
        with (self.room / "answers.jsonl").open("ab") as stream:
            # A line of its own, even after one that was cut off.
            stream.write(b"\n" + line.encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def take(self, said: Mapping[str, Any]) -> int:
        """Take the answers of a filled sheet; return how many there were."""
        answers = read_answers(said)
        if not answers:
            raise ValueError("no row is answered yet: fill in the column true_label")
        last = len(self._design()[1]) - 1
        for row in answers:
            if not 0 <= row <= last:
                raise ValueError(f"row {row} is answered, but the table has rows 0 to {last} only")
        for row, answer in answers.items():
            self.answer(row, answer)
        return len(answers)

    def columns(self) -> dict[str, list[Any]]:
        """Design and answers side by side, as `misnomer.audit` takes them in."""
        if not self.drawn:
            raise ValueError(
                f"no rows were drawn in {str(self.folder)!r} yet: misnomer check "
                f"{quote(str(self.folder))} "
                "--rows 50 draws some"
            )
        return joined(self._draws(), self.answers())

    def open_rows(self) -> list[int]:
        """The drawn rows without an answer, in the order of their turns."""
        done = self.answers()
        return [int(row) for row in self._draws()["row"] if int(row) not in done]

    def checks(self) -> Checks:
        """What the answers say so far."""
        table = self._table(self._design()[1])
        columns = self.columns()
        return Checks(read_sheet(columns, table), table, columns).assisted_by(self.doubt)

    def cells(self, rows: list[int]) -> pa.Table:
        """The input's own columns of some rows, without the label or what the model thinks."""
        source = ds.dataset(self.folder / "rows.parquet")
        hidden = {*_OWN, "row", self.about["label"]}
        names = [name for name in source.schema.names if name not in hidden]
        return source.take(pa.array(rows, pa.int64()), columns=names)

    def titles(self, rows: list[int]) -> list[str]:
        """Name rows as the report does: "row P020", "line 31"."""
        return [f"{self._shape.noun} {shown(self._shape.name(row))}" for row in rows]

    @cached_property
    def _shape(self) -> Shape:
        """What the rows of the audit are called; of a sample, their positions are all there is."""
        from misnomer.audit.files.folder import load_audit

        try:
            return load_audit(self.folder).shape
        except (ValueError, OSError, KeyError):
            return Shape("pyarrow")

    def write_sheet(self, path: Path) -> int:
        """Write the open rows for a spreadsheet: blind, with an empty column for the answer."""
        rows = self.open_rows()
        table = self.cells(rows)
        lines = self._shape.lines
        table = table.add_column(0, "true_label", pa.array([""] * len(rows)))
        if lines is not None and "line" not in table.column_names:
            table = table.add_column(0, "line", pa.array(lines[rows]))
        table = table.add_column(0, "row", pa.array(rows))
        if path.suffix.lower() == ".xlsx":
            with replacing(path) as part:
                write_workbook(table, part)
        else:
            write_csv(table, path, marked=True)
        return len(rows)


def _write(table: pa.Table, path: Path) -> None:
    with replacing(path) as part:
        pq.write_table(table, part, compression="zstd")
