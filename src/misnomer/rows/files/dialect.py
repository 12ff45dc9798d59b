"""How a file is to be read: what the user says of it, and what it shows by itself.

A file says its separator in its header, or in a first line ``sep=;`` (Excel's own); lines that
begin with # and look unlike the header are comments. What is not UTF-8 is taken for Windows-1252,
and that is said.
"""

from __future__ import annotations

import codecs
import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from misnomer.rows.files.paths import LONGEST, Open, Raw

_SEPARATORS = (",", ";", "\t", "|")
_OPTIONS = ("encoding", "sep", "header", "missing", "sheet")
_BLOCK = 1 << 20
_MOST_TITLES = 20  # lines that are looked through for the header


@dataclass(frozen=True)
class Dialect:
    """What is known of a file beside its bytes."""

    # of its text; None is UTF-8, UTF-16 where it says so, else Windows-1252
    encoding: str | None = None
    separator: str | None = None  # between cells; None follows the header
    header: bool = True  # whether the first line holds the names of the columns
    missing: tuple[str, ...] = ()  # words that mean an empty cell, in every column
    sheet: str | None = None  # of a workbook: its name or its number, from 1
    skip: int = 0  # lines before the header
    old_mac: bool = False  # whether lines end in a carriage return alone


def dialect_of(said: Mapping[str, Any] | Dialect | None) -> Dialect:
    r"""Read what the user says: encoding, sep, header, missing, sheet.

    Examples
    --------
    >>> dialect_of({"sep": "tab", "missing": "NA"}).separator
    '\t'
    """
    if said is None or isinstance(said, Dialect):
        return said or Dialect()
    unknown = [name for name in said if name not in _OPTIONS]
    if unknown:
        known = ", ".join(_OPTIONS)
        raise ValueError(f"of a file {known} can be said, not {unknown[0]!r}")
    missing = said.get("missing") or ()
    sheet = said.get("sheet")
    return Dialect(
        _known_encoding(said.get("encoding")),
        _one_character(said.get("sep")),
        bool(said.get("header", True)),
        (missing,) if isinstance(missing, str) else tuple(missing),
        None if sheet is None else str(sheet),
    )


_TOLD = {  # by whom each is heard, and how it is said
    "encoding": (("text",), "encoding (--encoding)"),
    "separator": (("text",), "sep (--sep)"),
    "header": (("text", "workbook"), "header (--no-header)"),
    "missing": (("text", "workbook"), "missing (--missing)"),
    "sheet": (("workbook",), "sheet (--sheet)"),
}


def check_dialect(dialect: Dialect, kind: str, path: str) -> None:
    """Refuse what is said of a file that does not hear it.

    Examples
    --------
    >>> check_dialect(Dialect(sheet="2"), "workbook", "a.xlsx")
    >>> check_dialect(Dialect(sheet="2"), "text", "a.csv")
    Traceback (most recent call last):
    ValueError: a.csv: sheet (--sheet) is for files of another kind: leave it out
    """
    for name, (kinds, said) in _TOLD.items():
        if getattr(dialect, name) != getattr(Dialect(), name) and kind not in kinds:
            raise ValueError(f"{path}: {said} is for files of another kind: leave it out")


class DescribedPath(str):
    """A path that knows how its file is to be read.

    Examples
    --------
    >>> path = DescribedPath("old.csv", Dialect("cp1252"))
    >>> path, path.dialect.encoding
    ('old.csv', 'cp1252')
    """

    dialect: Dialect

    def __new__(cls, path: Any, dialect: Dialect) -> DescribedPath:
        """Take down what is known of the file."""
        made = super().__new__(cls, path)
        made.dialect = dialect
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return DescribedPath, (str(self), self.dialect)


def known_of(path: Any) -> Dialect:
    """Say what is known of the file that a path names."""
    found: Dialect = getattr(path, "dialect", Dialect())
    return found


def by_name(dialect: Dialect, name: str) -> Dialect:
    """Take the ending of a file for a word about its separator."""
    tab = name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    return replace(dialect, separator="\t") if tab and dialect.separator is None else dialect


def _known_encoding(name: Any) -> str | None:
    if name is None:
        return None
    try:
        b"a".decode(name, "replace")  # of texts, that is: there are others, which unpack
        return codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"there is no encoding {name!r}; most files are utf-8, cp1252 or utf-16"
        ) from None


def _one_character(said: Any) -> str | None:
    if said is None:
        return None
    mark = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}.get(said, said)
    if not isinstance(mark, str) or len(mark) != 1 or mark in '"\n\r' or not mark.isascii():
        raise ValueError(f"a separator is one character, or tab, not {said!r}")
    return mark


def looked_at(dialect: Dialect, head: bytes, name: str) -> Dialect:
    """Complete a dialect by the first bytes of a file, in UTF-8."""
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.splitlines()
    skip = _filled(lines, 0, comments=True)
    if skip < len(lines) and len(lines[skip]) == 5 and lines[skip].lower().startswith("sep="):
        mark = dialect.separator or lines[skip][4]
        return replace(dialect, separator=mark, skip=_filled(lines, skip + 1))
    above = _titles(lines[skip : skip + _MOST_TITLES], dialect) if dialect.header else 0
    if above:
        mark = dialect.separator or _separator(lines[skip + above])
        say_titles(name, [one for one in lines[skip : skip + above] if one.strip(mark + " \t")])
        return replace(dialect, separator=mark, skip=skip + above)
    header = lines[skip] if skip < len(lines) else ""
    mark = dialect.separator or _separator(header)
    # A header may begin with #, too: then it has as many cells as what follows.
    while skip and lines[skip - 1].strip().count(mark) == header.count(mark) > 0:
        skip -= 1
    if skip == len(lines):
        skip = _filled(lines, 0)
    return replace(dialect, separator=mark, skip=skip)


def _titles(lines: list[str], dialect: Dialect) -> int:
    r"""Count the lines above the header that hold a title: one cell, where the table has more.

    What follows them must look like a table: three lines of as many cells, which are three or more.

    Examples
    --------
    >>> _titles(["Ward 7;;", "", "age;sex;ill", "40;f;no", "50;m;no"], Dialect())
    2
    >>> _titles(["a text", "now, then", "and so, on"], Dialect())
    0
    """
    count = next((i for i, line in enumerate(lines) if _cells(line, dialect) > 1), 0)
    table = lines[count : count + 3]
    mark = dialect.separator or _separator(table[0] if table else "")
    widths = {line.count(mark) for line in table}
    sound = {line.count(mark) for line in lines[:count]} <= {0, *widths}
    return count if sound and len(table) == 3 and len(widths) == 1 and min(widths) > 1 else 0


def _cells(line: str, dialect: Dialect) -> int:
    """Count the cells of a line that hold something."""
    cells = line.split(dialect.separator or _separator(line))
    return sum(bool(cell.strip(' \t"')) for cell in cells)


def say_titles(where: str, titles: list[str]) -> None:
    """Say that lines above the header were passed over."""
    first = titles[0].strip(' ,;|\t"')[:60]
    above = f"{first!r}" if len(titles) == 1 else f"{len(titles)} lines such as {first!r}"
    warnings.warn(f"{where}: {above} above the header: taken for a title", stacklevel=2)


def _filled(lines: list[str], start: int, *, comments: bool = False) -> int:
    """Find the first line from some place on that holds something, or something but a comment."""
    while start < len(lines) and (
        not lines[start].strip(" \t\ufeff") or (comments and lines[start].startswith("#"))
    ):
        start += 1
    return start


def _separator(line: str) -> str:
    """Choose the separator that a line uses most."""
    return max(_SEPARATORS, key=line.count)


def in_utf8(opened: Open, dialect: Dialect) -> Open:
    """Recode a file on the way, where it is not UTF-8 with lines that end in a line feed."""
    encoding = dialect.encoding or "utf-8"
    if encoding in ("utf-8", "ascii") and not dialect.old_mac:
        return opened
    return partial(_recoded, opened, encoding, dialect.old_mac)


def _recoded(opened: Open, encoding: str, old_mac: bool) -> BinaryIO:
    return io.BufferedReader(_Recoded(opened(), encoding, old_mac), _BLOCK)


class _Changed(Raw):
    """A file that is changed block by block on the way."""

    def __init__(self, source: BinaryIO) -> None:
        super().__init__(source)
        self._ready = b""

    def _change(self, block: bytes) -> bytes:
        """Change a block, of which nothing is left at the end."""
        raise NotImplementedError

    def take(self, most: int) -> bytes:
        """Read some bytes of what a block was changed into."""
        while not self._ready:
            block = self.source.read(_BLOCK)
            self._ready = self._change(block)
            if not block:
                break
        part, self._ready = self._ready[:most], self._ready[most:]
        return part


class _Recoded(_Changed):
    """Bytes of one encoding, read as UTF-8; carriage returns as line feeds, if they end lines."""

    def __init__(self, source: BinaryIO, encoding: str, old_mac: bool) -> None:
        super().__init__(source)
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._old_mac = old_mac

    def _change(self, block: bytes) -> bytes:
        text = self._decoder.decode(block, final=not block).encode()
        return text.replace(b"\r", b"\n") if self._old_mac else text


class Utf8Lines(_Changed):
    """A file without the lines that are not UTF-8; ``odd[0]`` counts them."""

    def __init__(self, source: BinaryIO, odd: list[int]) -> None:
        super().__init__(source)
        self._odd, self._rest = odd, b""

    def _change(self, block: bytes) -> bytes:
        """Take whole lines of what was read so far, the sound ones; all of it at the end."""
        text = self._rest + block
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        end = end if block and len(text) < LONGEST else len(text)
        lines, self._rest = text[:end], text[end:]
        try:
            lines.decode()
        except UnicodeDecodeError:
            lines, odd = utf8_lines(lines)
            self._odd[0] += odd
        return lines


def utf8_lines(block: bytes) -> tuple[bytes, int]:
    r"""Keep the lines that are UTF-8, and count the others.

    A line with a quotation mark too many begins or ends a cell of several lines, and without it the
    lines after it would be read as something else: it stays, its odd bytes replaced.

    Examples
    --------
    >>> utf8_lines(b"a,1\nb\xff,2\nc,3\n")
    (b'a,1\nc,3\n', 1)
    """
    kept, odd = [], 0
    for line in block.splitlines(keepends=True):
        try:
            line.decode()
        except UnicodeDecodeError:
            odd += 1
            line = line.decode(errors="replace").encode() if line.count(b'"') % 2 else b""
        kept.append(line)
    return b"".join(kept), odd
