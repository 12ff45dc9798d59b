"""Notes about rows: what a reviewer wants to remember, or to ask somebody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from misnomer.review.log import ledger
from misnomer.review.log.ledger import ReviewError

if TYPE_CHECKING:
    from misnomer.review.log.decisions import Decisions

LONGEST = 2_000  # characters of a note


@dataclass(frozen=True)
class Note:
    """The latest note about a row."""

    row: int
    text: str
    who: str
    at: str


def write_note(decisions: Decisions, row: int, text: str, who: str = "person") -> None:
    """Write a note down; an empty one takes the earlier one away, of which the file keeps a trace.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from misnomer.review.log.decisions import Decisions
    >>> log = Decisions(pathlib.Path(tempfile.mkdtemp()) / "review.sqlite", "rows")
    >>> write_note(log, 3, "ask Dr. Lee", "ann")
    >>> notes(log)[3].text
    'ask Dr. Lee'
    >>> write_note(log, 3, "")
    >>> notes(log)
    {}
    >>> log.close()
    """
    if len(text) > LONGEST:
        raise ReviewError(f"a note has at most {LONGEST:,} characters, this one has {len(text):,}")
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with ledger.clearly(decisions.path):
        decisions.connection.execute(
            "INSERT INTO note (row, text, who, at) VALUES (?, ?, ?, ?)", (row, text, who, now)
        )


def notes(decisions: Decisions) -> dict[int, Note]:
    """Read the latest note about every row that has one."""
    query = "SELECT row, text, who, at FROM note ORDER BY id"
    with ledger.clearly(decisions.path):
        found = {cells[0]: Note(*cells) for cells in decisions.connection.execute(query)}
    return {row: note for row, note in found.items() if note.text}


def note_about(decisions: Decisions, row: int) -> Note | None:
    """Read the latest note about one row."""
    query = "SELECT row, text, who, at FROM note WHERE row = ? ORDER BY id DESC LIMIT 1"
    with ledger.clearly(decisions.path):
        found = decisions.connection.execute(query, (row,)).fetchone()
    return Note(*found) if found is not None and found[1] else None
