"""The SQLite file itself: how it is opened, what it holds, and what may be wrong with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSION = 2
COLUMNS = (
    "id, key, row, action, label, given, suggested, probability, checked, who, at, undoes, bulk"
)
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    row INTEGER NOT NULL,
    action TEXT NOT NULL,
    label TEXT NOT NULL,
    given TEXT NOT NULL,
    suggested TEXT NOT NULL,
    probability REAL,
    checked INTEGER NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    undoes INTEGER REFERENCES decision (id),
    bulk TEXT
);
CREATE TABLE IF NOT EXISTS note (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL,
    text TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);
"""
# What turns a file of an older format into one of the next.
_UPGRADES = {1: ("ALTER TABLE decision ADD COLUMN bulk TEXT",)}


class ReviewError(ValueError):
    """Something that the reviewer should know, in one sentence."""


class FullError(ReviewError):
    """No room to write a decision down."""


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Say in one sentence what SQLite could not do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        words = str(error)
        if "full" in words or "disk I/O" in words:
            raise FullError(f"{path}: the disk is full, nothing was written: make room") from None
        if "readonly" in words or "unable to open" in words:
            raise ReviewError(f"{path}: may not be written to: check its permissions") from None
        if "locked" in words or "busy" in words:
            raise ReviewError(f"{path}: another program holds it: try again") from None
        raise ReviewError(f"{path}: {_damaged(words)}") from None
    except sqlite3.DatabaseError as error:
        raise ReviewError(f"{path}: {_damaged(str(error))}") from None


def _damaged(words: str) -> str:
    return f"this is no review, or it is damaged ({words}): move it away to begin anew"


def open_ledger(path: Path, fingerprint: str) -> sqlite3.Connection:
    """Open or make the file; refuse one that is damaged, newer, or about other rows."""
    with plain_errors(path):
        connection = sqlite3.connect(
            path, timeout=10.0, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, path, fingerprint)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path, fingerprint: str) -> None:
    known = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if known and ("about",) not in known:
        raise ReviewError(f"{path}: this is another program's file, not a review")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if known and version not in (*_UPGRADES, VERSION):
        _refuse(version, path)
    sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if sound != "ok":
        raise ReviewError(f"{path}: {_damaged(str(sound))}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if not known:
        _make(connection, fingerprint)
    _check(connection, path, fingerprint)
    if known and version != VERSION:
        _upgrade(connection)


def _refuse(version: int, path: Path) -> None:
    if version > VERSION:
        raise ReviewError(
            f"{path}: a newer misnomer wrote this review (format {version}, this one reads "
            f"{VERSION}): upgrade misnomer"
        )
    raise ReviewError(f"{path}: an unfinished or too old review (format {version}): move it away")


def _make(connection: sqlite3.Connection, fingerprint: str) -> None:
    """Make the tables in one transaction: two servers may begin at the same time."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    said = ("fingerprint", fingerprint)
    connection.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", said)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring an older file up to date, in one transaction; nothing in it is lost."""
    connection.execute("BEGIN IMMEDIATE")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for step in range(version, VERSION):  # another server may have been faster
        for statement in (*_UPGRADES[step], *_TABLES.split(";")):
            if statement.strip():
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection, path: Path, fingerprint: str) -> None:
    query = "SELECT value FROM about WHERE name = 'fingerprint'"
    stored = connection.execute(query).fetchone()
    if stored is None or stored[0] != fingerprint:
        raise ReviewError(
            f"{path}: its decisions are about other rows or labels than this audit has now: the "
            "data has changed since; audit it into a new folder, or move the file away"
        )


@contextmanager
def only_server(path: Path) -> Iterator[bool]:
    """Tell whether no other server has this review open; where locks are unknown, assume so.

    The lock goes away with the process that holds it, however it ends.
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
