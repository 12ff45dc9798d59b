"""The columns of a schema <-> JSON."""

from __future__ import annotations

from typing import Any

from misnomer.rows.columns.encode import LARGEST
from misnomer.rows.columns.notation import FORMS
from misnomer.rows.read import SIGNED
from misnomer.store import checks
from misnomer.table import DATE_FORMS, KINDS, Column


def described(column: Column) -> dict[str, Any]:
    """Describe a column in words and numbers; its categories keep their types.

    Examples
    --------
    >>> described(Column("sex", "categorical", ("f", "m")))["categories"]
    ['f', 'm']
    """
    return {
        "name": column.name,
        "kind": column.kind,
        "categories": list(column.categories),
        "center": float(column.center),
        "width": int(column.width),
        "words": list(column.words),
        "form": column.form,
    }


def columns_of(said: Any) -> tuple[Column, ...]:
    """Read the descriptions back."""
    if not isinstance(said, list):
        raise checks.ContradictionError("its columns are no list")
    return tuple(map(_column, said))


def _column(said: dict[str, Any]) -> Column:
    name, kind = said["name"], said["kind"]
    if not isinstance(name, str) or kind not in KINDS:
        raise checks.ContradictionError("a column has no name or no known family")
    categories = tuple(checks.scalars(said["categories"]))
    if kind == "bernoulli" and len(categories) != 2:
        raise checks.ContradictionError(f"column {name!r} should have two categories")
    if kind == "categorical" and len({(type(one), one) for one in categories}) < len(categories):
        raise checks.ContradictionError(f"column {name!r} has a category twice")
    if len({*map(type, categories)}) > 1:
        raise checks.ContradictionError(f"column {name!r} has categories of several types")
    center = checks.real(said["center"])
    if abs(center) > LARGEST:
        raise checks.ContradictionError(f"column {name!r} has a center beyond {LARGEST:.0e}")
    width, words = checks.number(said["width"]), checks.strings(said["words"])
    if kind not in ("count", "text") and width != 1:
        raise checks.ContradictionError(f"column {name!r} is wider than one column")
    if words and len(words) != width:
        raise checks.ContradictionError(f"column {name!r} has not one word per statistic")
    form = said.get("form", "")
    if form not in ("", SIGNED, *FORMS, *DATE_FORMS) or (form == SIGNED and width % 2):
        raise checks.ContradictionError(f"column {name!r} is written in no known form")
    return Column(name, kind, categories, center, width, tuple(words), form)
