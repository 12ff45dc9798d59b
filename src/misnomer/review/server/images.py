"""Cells that name an image: shown from this machine's disk, and from allowed folders only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from misnomer.review.log.ledger import ReviewError

#: The kinds that a browser shows and that hold no script.
KINDS = {
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
LARGEST = 32 << 20  # bytes
_LONGEST = 1024  # characters of a path


def image_of(text: str, roots: Sequence[Path]) -> Path | None:
    """Find the image that a cell names, below one of the folders; None where there is none.

    A path may be absolute or begin in one of the folders. Wherever links lead to counts, so that
    neither ``..`` nor a link leads out of them.

    Examples
    --------
    >>> image_of("scan.txt", [Path(".")]) is None
    True
    """
    if not text or len(text) > _LONGEST or "\0" in text:
        return None
    if Path(text).suffix.lower() not in KINDS:
        return None
    for root in roots:
        try:
            found = (root / text).resolve(strict=True)
            if found.is_relative_to(root.resolve(strict=True)) and found.is_file():
                return found
        except (OSError, RuntimeError, ValueError):
            continue
    return None


def read_image(text: str, roots: Sequence[Path]) -> tuple[bytes, str]:
    """Read the image that a cell names, and say of what kind it is."""
    path = image_of(text, roots)
    if path is None:
        raise ReviewError("this cell names no image in a folder that was allowed")
    if path.stat().st_size > LARGEST:
        raise ReviewError(f"{path.name} is larger than {LARGEST >> 20} MiB, which is not shown")
    return path.read_bytes(), KINDS[Path(text).suffix.lower()]


def link_of(text: str) -> str | None:
    """Take a cell for a link where it is a plain address and nothing else.

    Examples
    --------
    >>> (
    ...     link_of("https://example.org/a.png"),
    ...     link_of("javascript:alert(1)"),
    ...     link_of("see http://a.b"),
    ... )
    ('https://example.org/a.png', None, None)
    """
    plain = text.strip()
    fine = plain.startswith(("https://", "http://")) and not any(c.isspace() for c in plain)
    return plain if fine and len(plain) <= _LONGEST else None
