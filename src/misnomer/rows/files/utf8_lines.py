"""Text of which some lines are not UTF-8 -> the other lines."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

from misnomer.rows.files.unpacked import LONGEST

_BLOCK = 1 << 20


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


class Utf8Lines(io.RawIOBase):
    """A file without the lines that are not UTF-8; ``odd[0]`` counts them."""

    def __init__(self, source: BinaryIO, odd: list[int]) -> None:
        self._source, self._odd = source, odd
        self._rest = self._ready = b""

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with sound lines."""
        while not self._ready:
            block = self._source.read(_BLOCK)
            self._ready = self._sound(block)
            if not block:
                break
        part = self._ready[: len(buffer)]
        self._ready = self._ready[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def _sound(self, block: bytes) -> bytes:
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

    def close(self) -> None:
        """Close what is read from."""
        self._source.close()
        super().close()
