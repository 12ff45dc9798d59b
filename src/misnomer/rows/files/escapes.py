"""Cells that a spreadsheet would run as formulas: an apostrophe before them, and away again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_OURS = {"row", "given_label", "suggested_label", "error_probability"}  # of an issues.csv


def harmless(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-5.2"), harmless("- see note"), harmless("fine")
    ("'=1+1", '-5.2', "'- see note", 'fine')
    """
    return "'" + cell if isinstance(cell, str) and _is_formula(cell) else cell


def restored(cell: Any) -> Any:
    """Take the apostrophe of `harmless` away.

    Examples
    --------
    >>> [restored(harmless(cell)) for cell in ("=1", "'=1", "'fine'", "-5")]
    ['=1', "'=1", "'fine'", '-5']
    """
    escaped = isinstance(cell, str) and cell.startswith("'") and _is_formula(cell)
    return cell[1:] if escaped else cell


def _is_formula(cell: str) -> bool:
    """Tell a formula, behind apostrophes or not: those of the cell itself must come back, too."""
    core = cell.lstrip("'")
    return core.startswith(_FORMULA) and not _NEGATIVE.fullmatch(core)


def is_ours(names: Sequence[str]) -> bool:
    """Tell by the header a file that was written for a spreadsheet, whose escapes are read back."""
    return {*names} >= _OURS


def restored_cells(values: Any) -> Any:
    """Read the escapes of a column back; one without any is handed back as it is."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not pa.types.is_string(kind):
        return values
    plain = values.cast(pa.string())
    if not pc.any(pc.starts_with(plain, "'")).as_py():
        return values
    cells = pa.array([restored(cell) for cell in plain.to_pylist()], pa.string())
    return cells.cast(values.type) if pa.types.is_dictionary(values.type) else cells
