"""The rows most likely to be mislabeled, each with what speaks against it; labels confused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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


Array = NDArray[np.float64]

_FEWEST = 0.05  # expected rows that are worth a line


@dataclass(frozen=True)
class Confusion:
    """One true class under another name."""

    # the true class and the label that it was given
    true: Any
    given: Any
    rows: float  # the expected number of such rows
    # P(given | true) and its interval
    given_of_true: float
    low: float
    high: float
    true_of_given: float  # P(true | given)


def expected_rows(posterior: Array, given: NDArray[np.int64], labels: int) -> Array:
    """Add the posterior up by given label: ``sum_{i: y_i = y} P(z | x_i, y_i)``, (L, K).

    Its cells off the diagonal add up to the expected number of wrong labels.

    Examples
    --------
    >>> expected_rows(np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([0, 0]), 2).tolist()
    [[1.25, 0.75], [0.0, 0.0]]
    """
    known = np.flatnonzero(given >= 0)
    belongs = sparse.csr_array(
        (np.ones(len(known)), (given[known], known)), shape=(labels, len(given))
    )
    rows: Array = belongs @ posterior
    return rows


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
    where = {name: k for k, name in enumerate(audit.classes)}
    home = np.array([where.get(name, -1) for name in audit.labels])
    right: NDArray[np.bool_] = home[:, None] == np.arange(len(audit.classes))
    return right


def confusions(audit: Audit, most: int = 20) -> list[Confusion]:
    """List the confusions that spoil most rows, the worst first."""
    rows = expected_rows(audit.posterior, audit.given, len(audit.labels))
    back = true_given(audit.matrix, audit.prior)
    wrong = np.where(same_name(audit), 0.0, rows)
    worst = np.argsort(-wrong, axis=None, kind="stable")[:most]
    found = []
    for y, z in zip(*np.unravel_index(worst, wrong.shape), strict=True):
        if wrong[y, z] >= _FEWEST:
            numbers = (wrong, audit.matrix, audit.matrix_low, audit.matrix_high, back)
            found.append(
                Confusion(audit.classes[z], audit.labels[y], *(float(m[y, z]) for m in numbers))
            )
    return found
