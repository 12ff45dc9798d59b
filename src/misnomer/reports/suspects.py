"""The rows most likely to be mislabeled, each with what speaks against it; labels confused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.reports.wording import row_name, shown

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.evidence import Explanation


_MOST_CELLS = 12
# What a table of issues says of a row before the row's own columns.
_OWN = ("row", "line", "given_label", "suggested_label", "error_probability", "label_quality")


@dataclass(frozen=True, eq=False)
class Suspect:
    """One flagged row."""

    position: int  # where it stands in the input
    # how the user knows it; with its noun
    name: str
    title: str
    line: int | None  # its line in the file, where that is known
    # the label it has, and the one it should have
    given: Any
    suggested: Any
    error_probability: float  # P(the given label is wrong)
    why: Explanation | None  # the weights of evidence; of thousands of labels there are none
    cells: tuple[tuple[str, str], ...]  # the first cells of the row itself


def suspects(audit: Any, most: int = 25, issues: pa.Table | None = None) -> list[Suspect]:
    """List the worst flagged rows, in the order of ``audit.issues``.

    ``issues`` is the table of them, where the rows themselves are not in memory.
    """
    listed, lines = [], audit.shape.lines
    for nth, position in enumerate(audit.ranking[:most].tolist()):
        name = _name(audit, position, issues, nth)
        listed.append(
            Suspect(
                position=position,
                name=name,
                title=f"{audit.shape.noun} {name}",
                line=None if lines is None else int(lines[position]),
                given=audit.labels[audit.given[position]],
                suggested=audit.classes[audit.suggested[position]],
                error_probability=float(audit.error_probability[position]),
                why=None if is_wide(audit) else audit.explain_at(position),
                cells=_cells(audit.data, position, {audit.label})
                if issues is None
                else _cells(issues, nth, {*_OWN, audit.label}),
            )
        )
    return listed


def _name(audit: Any, position: int, issues: pa.Table | None, nth: int) -> str:
    """Name a row as the user finds it, by what ``issues`` says where there is no other place."""
    id = audit.shape.id
    if issues is None or id not in issues.column_names:
        return row_name(audit, position)
    return shown(issues.column(id)[nth].as_py())


def is_wide(audit: Any) -> bool:
    """Tell an audit of thousands of labels, which has no matrix and explains no single rows."""
    return not hasattr(audit, "shares")


def _cells(data: pa.Table, position: int, left_out: set[str]) -> tuple[tuple[str, str], ...]:
    """Read the row back, without its label; the longest texts are cut."""
    names = data.column_names  # slow to ask for again and again
    places = [i for i, name in enumerate(names) if name not in left_out][:_MOST_CELLS]
    return tuple(
        (shown(names[i]), shown(data.column(i)[position].as_py(), longest=400)) for i in places
    )


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Confusion:
    """One true class under another name."""

    # the true class and the label that it was given
    true: Any
    given: Any
    rows: float  # the expected number of such rows
    given_of_true: float  # P(given | true)
    # its interval, and P(true | given); of thousands of labels they are not known
    low: float | None = None
    high: float | None = None
    true_of_given: float | None = None


def true_given(matrix: Array, prior: Array) -> Array:
    """Turn the noise matrix round: ``P(z | y) = P(y | z) P(z) / P(y)``, (L, K), rows sum to one.

    Examples
    --------
    >>> true_given(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    joint = matrix * prior
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), prior)


def same_name(audit: Audit) -> NDArray[np.bool_]:
    """Tell which cells of the matrix are right labels, (L, K)."""
    right: NDArray[np.bool_] = audit.class_of_label[:, None] == np.arange(len(audit.classes))
    return right


def confusions(audit: Any, most: int = 20) -> list[Confusion]:
    """List the confusions that spoil most rows, the worst first."""
    return [Confusion(**one) for one in audit.confusions.slice(0, most).to_pylist()]
