"""The rows most likely to be mislabeled, each with what speaks against it; labels confused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.reports.wording import row_name, row_title, shown

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.evidence import Explanation


_MOST_CELLS = 12


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
    why: Explanation  # the weights of evidence
    cells: tuple[tuple[str, str], ...]  # the first cells of the row itself


def suspects(audit: Audit, most: int = 25) -> list[Suspect]:
    """List the worst flagged rows, in the order of ``audit.issues``."""
    lines = audit.shape.lines
    return [
        Suspect(
            position=position,
            name=row_name(audit, position),
            title=row_title(audit, position),
            line=None if lines is None else int(lines[position]),
            given=audit.labels[audit.given[position]],
            suggested=audit.classes[audit.suggested[position]],
            error_probability=float(audit.error_probability[position]),
            why=audit.explain_at(position),
            cells=_cells(audit.data, position, audit.label),
        )
        for position in audit.ranking[:most].tolist()
    ]


def _cells(data: pa.Table, position: int, label: str) -> tuple[tuple[str, str], ...]:
    """Read the row back, without its label; the longest texts are cut."""
    names = data.column_names  # slow to ask for again and again
    places = [i for i, name in enumerate(names) if name != label][:_MOST_CELLS]
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
    # its interval, and P(true | given)
    low: float
    high: float
    true_of_given: float


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


def confusions(audit: Audit, most: int = 20) -> list[Confusion]:
    """List the confusions that spoil most rows, the worst first."""
    return [Confusion(**one) for one in audit.confusions.slice(0, most).to_pylist()]
