"""Decisions in SQLite: an append-only log, each entry on disk before anybody is told so.

Beside them stand notes about rows, and how far reviewers agree about those that several decided.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

from misnomer.review import ledger
from misnomer.review.ledger import ReviewError

#: What may be decided about a row; "undo" takes an earlier entry back.
ACTIONS = ("accept", "keep", "choose", "unsure")

#: Who decides, where nobody says who they are.
PERSON = "person"

MAX_NOTE_LENGTH = 2_000  # characters


class ConflictError(ReviewError):
    """Somebody else decided first: another tab, or another server."""


@dataclass(frozen=True)
class Decision:
    """One entry of the log."""

    id: int  # its number: entries are never changed, so a larger number is a later decision
    key: str  # chosen by whoever decides: the same key twice is the same decision
    row: int  # the position of the row in the input
    action: str  # what was decided: accept, keep, choose, unsure or undo
    label: Any  # the label the row has from now on; None where that cannot be told
    # what the person saw
    given: Any
    suggested: Any
    probability: float | None  # P(the given label is wrong), as the person saw it
    check: bool  # whether the row came up as a random check, rather than as a suspect
    # who decided, and when (UTC)
    who: str
    at: str
    undoes: int | None = None  # the entry that this one takes back
    bulk: str | None = None  # the key of the many that were decided at once, without a look at each

    @property
    def is_error(self) -> bool:
        """Tell whether the given label was found to be wrong."""
        return self.action != "unsure" and self.label != self.given

    @property
    def is_opinion(self) -> bool:
        """Tell whether somebody looked at the row and could tell."""
        return self.action != "unsure" and self.bulk is None


@dataclass(frozen=True)
class Note:
    """The latest note about a row: what a reviewer wants to remember, or to ask somebody."""

    row: int
    text: str
    who: str
    at: str


class Decisions:
    """All decisions about one audit; several threads and several processes may use the file.

    Parameters
    ----------
    path : str or Path
        The SQLite file; it is made.
    fingerprint : str
        Which rows and labels the decisions are about: a file about others is refused.
    """

    def __init__(self, path: str | Path, fingerprint: str) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._seen = 0
        self._log: dict[int, Decision] = {}
        self._undone: set[int] = set()
        self._by_row: dict[int, list[int]] = {}
        self._connection = ledger.open_ledger(self.path, fingerprint)
        self.refresh()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def refresh(self) -> None:
        """Read what others have decided in the meantime."""
        with self._lock, ledger.plain_errors(self.path):
            self._read_on()

    def _read_on(self) -> None:
        cursor = self._connection.execute(
            f"SELECT {ledger.COLUMNS} FROM decision WHERE id > ? ORDER BY id", (self._seen,)
        )
        for cells in cursor.fetchall():
            self._take(_decision(cells))

    def _take(self, one: Decision) -> None:
        self._seen = one.id
        self._log[one.id] = one
        if one.undoes is None:
            self._by_row.setdefault(one.row, []).append(one.id)
        else:
            self._undone.add(one.undoes)

    @property
    def version(self) -> int:
        """The number of the last entry."""
        return self._seen

    def entries(self) -> tuple[Decision, ...]:
        """List the whole log, undone decisions and undoings included."""
        with self._lock:
            return tuple(self._log.values())

    def since(self, version: int) -> tuple[Decision, ...]:
        """List the entries after a version."""
        with self._lock:
            newer = takewhile(lambda number: number > version, reversed(self._log))
            return tuple(self._log[number] for number in reversed(list(newer)))

    def of(self, row: int) -> Decision | None:
        """Find the decision that stands for a row."""
        with self._lock:
            for number in reversed(self._by_row.get(row, [])):
                if number not in self._undone:
                    return self._log[number]
            return None

    def standing(self) -> list[Decision]:
        """List the decisions that stand, one per decided row, in the order they were made."""
        with self._lock:
            latest = (self.of(row) for row in self._by_row)
            return sorted((one for one in latest if one is not None), key=lambda one: one.id)

    def last(self, who: str | None = None) -> Decision | None:
        """Find the latest decision that has not been undone, of one reviewer if so asked."""
        with self._lock:
            for number in reversed(self._log):
                one = self._log[number]
                if one.undoes is None and number not in self._undone and who in (None, one.who):
                    return one
            return None

    def opinions(self) -> dict[int, dict[str, Decision]]:
        """Collect what each reviewer last said of a row, by row; undone decisions are none."""
        opinions: dict[int, dict[str, Decision]] = {}
        with self._lock:
            for number, one in self._log.items():
                if one.undoes is None and number not in self._undone:
                    opinions.setdefault(one.row, {})[one.who] = one
        return opinions

    def add(
        self, *, key: str, row: int, action: str, seen: int | None = None, **said: Any
    ) -> Decision:
        """Write a decision down; when this returns, it is on disk.

        Parameters
        ----------
        key : str
            The same key again returns the decision it made the first time.
        row, action, **said
            As in `Decision`.
        seen : int, optional
            The entry that stood for the row when the person looked (0: none). Where another one
            stands by now, `ConflictError` is raised.
        """
        if action not in ACTIONS:
            raise ReviewError(f"there is no action {action!r}; there are {', '.join(ACTIONS)}")
        with self._writing() as done:
            if done(key) is None:
                self._expect(row, seen)
                self._insert(key=key, row=row, action=action, **said)
        return self._by_key(key)

    def add_many(self, said: Iterable[dict[str, Any]]) -> int:
        """Write many decisions down at once, all or none, each with a key; count those made.

        A key that is known does nothing, and rows that are decided are left as they are. Those that
        share a ``bulk`` are taken back together by `undo_many`.
        """
        count = 0
        with self._writing() as done:
            for one in said:
                if self.of(one["row"]) is None and done(one["key"]) is None:
                    self._insert(**one)
                    count += 1
        return count

    def bulk_size(self, bulk: str) -> int:
        """Count what is left of many decisions that were made at once."""
        with self._lock:
            every = (one for number, one in self._log.items() if number not in self._undone)
            return sum(one.bulk == bulk and one.undoes is None for one in every)

    def undo_many(self, *, key: str, bulk: str, who: str = PERSON) -> int:
        """Take back what is left of many decisions that were made at once."""
        count = 0
        with self._writing() as done:
            for number, one in list(self._log.items()):
                mine = f"{key}:{number}"
                if one.bulk == bulk and number not in self._undone and done(mine) is None:
                    self._insert(key=mine, row=one.row, action="undo", who=who, undoes=number)
                    count += 1
        return count

    def undo(self, *, key: str, decision: int, who: str = PERSON) -> Decision:
        """Take a decision back; doing so twice is doing so once."""
        with self._writing() as done:
            target = self._log.get(decision)
            if target is None or target.undoes is not None:
                raise ReviewError(f"there is no decision {decision} to undo")
            if done(key) is None and decision not in self._undone:
                self._insert(key=key, row=target.row, action="undo", who=who, undoes=decision)
        return self._log[decision]

    def write_note(self, row: int, text: str, who: str = PERSON) -> None:
        """Write a note down; an empty one takes the earlier one away, of which a trace is kept.

        Examples
        --------
        >>> import tempfile
        >>> log = Decisions(Path(tempfile.mkdtemp()) / "review.sqlite", "rows")
        >>> log.write_note(3, "ask Dr. Lee", "ann")
        >>> log.notes()[3].text
        'ask Dr. Lee'
        >>> log.write_note(3, "")
        >>> log.notes()
        {}
        >>> log.close()
        """
        if len(text) > MAX_NOTE_LENGTH:
            raise ReviewError(
                f"a note has at most {MAX_NOTE_LENGTH:,} characters, this one has {len(text):,}"
            )
        with self._writing():
            self._connection.execute(
                "INSERT INTO note (row, text, who, at) VALUES (?, ?, ?, ?)",
                (row, text, who, _now()),
            )

    def notes(self) -> dict[int, Note]:
        """Read the latest note about every row that has one."""
        query = "SELECT row, text, who, at FROM note ORDER BY id"
        with self._lock, ledger.plain_errors(self.path):
            latest = {cells[0]: Note(*cells) for cells in self._connection.execute(query)}
        return {row: note for row, note in latest.items() if note.text}

    def note(self, row: int) -> Note | None:
        """Read the latest note about one row."""
        query = "SELECT row, text, who, at FROM note WHERE row = ? ORDER BY id DESC LIMIT 1"
        with self._lock, ledger.plain_errors(self.path):
            cells = self._connection.execute(query, (row,)).fetchone()
        return Note(*cells) if cells is not None and cells[1] else None

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """Hold the file for one write: nobody else writes between looking and writing."""
        with self._lock, ledger.plain_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._read_on()
                yield self._known
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._read_on()

    def _known(self, key: str) -> int | None:
        query = "SELECT id FROM decision WHERE key = ?"
        cells = self._connection.execute(query, (key,)).fetchone()
        return None if cells is None else int(cells[0])

    def _by_key(self, key: str) -> Decision:
        with self._lock:
            number = self._known(key)
            assert number is not None  # it was written just now
            return self._log[number]

    def _expect(self, row: int, seen: int | None) -> None:
        if seen is None:
            return
        now = self.of(row)
        if (0 if now is None else now.id) != seen:
            what = "taken back" if now is None else f"decided ({now.action})"
            raise ConflictError(f"row {row} was {what} in another tab: look again")

    def _insert(self, *, key: str, row: int, action: str, who: str = PERSON, **said: Any) -> None:
        cells = (
            key,
            row,
            action,
            *(json.dumps(said.get(name)) for name in ("label", "given", "suggested")),
            said.get("probability"),
            int(bool(said.get("check"))),
            who,
            said.get("at") or _now(),
            said.get("undoes"),
            said.get("bulk"),
        )
        marks = ", ".join("?" * len(cells))
        names = ledger.COLUMNS.removeprefix("id, ")
        self._connection.execute(f"INSERT INTO decision ({names}) VALUES ({marks})", cells)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _decision(cells: sqlite3.Row | tuple[Any, ...]) -> Decision:
    number, key, row, action, *texts, probability, check, who, at, undoes, bulk = cells
    label, given, suggested = (json.loads(text) for text in texts)
    saw, checked = (given, suggested, probability), bool(check)
    return Decision(number, key, row, action, label, *saw, checked, who, at, undoes, bulk)


@dataclass(frozen=True)
class Agreement:
    """Two reviewers, and the rows that both have decided."""

    pair: tuple[str, str]  # who
    # how many rows both decided, and of how many they said the same
    rows: int
    same: int
    # Cohen's kappa: 1 is full agreement, 0 what chance would give; None where it says nothing
    beyond_chance: float | None


def agreements(opinions: Mapping[int, Mapping[str, Decision]]) -> list[Agreement]:
    """Compare all reviewers, those with most rows in common first.

    What nobody could tell is no opinion; what was decided in bulk was not looked at.
    """
    said: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in opinions.values():
        sure = {who: str(one.label) for who, one in row.items() if one.is_opinion}
        for pair in combinations(sorted(sure), 2):
            said.setdefault(pair, []).append((sure[pair[0]], sure[pair[1]]))
    compared = [
        Agreement(pair, len(both), sum(a == b for a, b in both), kappa(both))
        for pair, both in said.items()
    ]
    return sorted(compared, key=lambda one: -one.rows)


def kappa(both: list[tuple[str, str]]) -> float | None:
    """Compute ``(same - chance) / (1 - chance)``, with chance from each one's own shares.

    Examples
    --------
    >>> kappa([("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")])
    0.5
    >>> kappa([("a", "a")]) is None
    True
    """
    n = len(both)
    first, second = Counter(a for a, _ in both), Counter(b for _, b in both)
    chance = sum(first[name] * second[name] for name in first) / n**2
    same = sum(a == b for a, b in both) / n
    return None if chance >= 1.0 else (same - chance) / (1.0 - chance)
