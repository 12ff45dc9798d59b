"""The rows most likely to be mislabeled, each with what speaks against its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from misnomer.reports.wording import row_name, row_title, shown

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.evidence import Explanation

_MOST_CELLS = 12


@dataclass(frozen=True, eq=False)
class Suspect:
    """One flagged row.

    Attributes
    ----------
    position : int
        Where it stands in the input.
    name, title : str
        How the user knows it; with its noun.
    line : int or None
        Its line in the file, where that is known.
    given, suggested : label
        The label it has, and the one it should have.
    error_probability : float
        P(the given label is wrong).
    why : Explanation
        The weights of evidence.
    cells : tuple of (column, text)
        The first cells of the row itself.
    """

    position: int
    name: str
    title: str
    line: int | None
    given: Any
    suggested: Any
    error_probability: float
    why: Explanation
    cells: tuple[tuple[str, str], ...]


def suspects(audit: Audit, most: int = 25) -> list[Suspect]:
    """List the worst flagged rows, in the order of ``audit.issues``."""
    found, lines = [], audit.shape.lines
    for position in audit.ranking[:most].tolist():
        why = audit.explain_at(position)
        found.append(
            Suspect(
                position=position,
                name=row_name(audit, position),
                title=row_title(audit, position),
                line=None if lines is None else int(lines[position]),
                given=audit.given_label(position),
                suggested=audit.classes[audit.suggested[position]],
                error_probability=float(audit.error_probability[position]),
                why=why,
                cells=_cells(audit, position),
            )
        )
    return found


def _cells(audit: Audit, position: int) -> tuple[tuple[str, str], ...]:
    """Read the row back, without its label; the longest texts are cut."""
    data = audit.data
    names = data.column_names  # slow to ask for again and again
    places = [i for i, name in enumerate(names) if name != audit.label][:_MOST_CELLS]
    return tuple(
        (shown(names[i]), shown(data.column(i)[position].as_py(), longest=400)) for i in places
    )
