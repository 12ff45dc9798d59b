"""Small damage, drawn: to bytes, to a tree of JSON values, to arrays."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

_TOKENS = [
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"'", b",", b";", b"\t", b"\r", b"\n",
    b"\r\n", b"1e400", b"-1e200", b"nan", b"inf", b"-0", b"NA", b"007", b"9" * 25, b"=1+1", b"{",
    b"}", b"[", b"]", b"null", b"true", b"\xc3", b"\xf0\x9f\x98\x80", b"2020-02-30", b"a" * 300,
]  # fmt: skip
_NUMBERS = [0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -1]
_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**63, 2**70, 0.5, -0.0, 1e200, 1e308, "", "a",
    "é\n", "\ud800", "=1", "../x", "x" * 300, [], {}, [[]], [None], {"a": None}, "nan",
]  # fmt: skip
_REALS = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-320, 1e99, 1e101, 1e200, -1e308, 2**53]


def damaged(data: bytes, drawn: random.Random) -> bytes:
    """Change some bytes, one to four times."""
    out = bytearray(data)
    for _ in range(drawn.randint(1, 4)):
        _KINDS[drawn.randrange(len(_KINDS))](out, drawn)
    return bytes(out)


def _flip(out: bytearray, drawn: random.Random) -> None:
    if out:
        out[drawn.randrange(len(out))] ^= 1 << drawn.randrange(8)


def _set(out: bytearray, drawn: random.Random) -> None:
    if out:
        out[drawn.randrange(len(out))] = drawn.choice((0, 1, 127, 128, 255, drawn.randrange(256)))


def _number(out: bytearray, drawn: random.Random) -> None:
    size = drawn.choice((2, 4, 8))
    if len(out) > size:
        at = drawn.randrange(len(out) - size)
        value = drawn.choice(_NUMBERS) % (1 << (8 * size))
        out[at : at + size] = value.to_bytes(size, "little")


def _cut(out: bytearray, drawn: random.Random) -> None:
    at, size = _span(out, drawn)
    del out[at : at + size]


def _end(out: bytearray, drawn: random.Random) -> None:
    del out[drawn.randrange(len(out) + 1) :]


def _repeat(out: bytearray, drawn: random.Random) -> None:
    at, size = _span(out, drawn)
    out[at:at] = out[at : at + size] * drawn.randint(1, 3)


def _token(out: bytearray, drawn: random.Random) -> None:
    at, size = _span(out, drawn)
    out[at : at + drawn.choice((0, size))] = drawn.choice(_TOKENS)


def _span(out: bytearray, drawn: random.Random) -> tuple[int, int]:
    return drawn.randrange(len(out) + 1), drawn.choice((1, 2, 4, 8, 30))


_KINDS = (_flip, _set, _number, _cut, _end, _repeat, _token, _token)


def bent(tree: Any, drawn: random.Random) -> Any:
    """Replace, drop or double one value somewhere in a tree of lists and dicts."""
    if isinstance(tree, dict) and tree and drawn.random() < 0.85:
        name = drawn.choice(sorted(tree))
        if drawn.random() < 0.1:
            return {key: value for key, value in tree.items() if key != name}
        return {**tree, name: bent(tree[name], drawn)}
    if isinstance(tree, list) and tree and drawn.random() < 0.8:
        at = drawn.randrange(len(tree))
        chance = drawn.random()
        if chance < 0.1:
            return tree[:at] + tree[at + 1 :]
        if chance < 0.2:
            return [*tree[:at], tree[at], *tree[at:]]
        return [*tree[:at], bent(tree[at], drawn), *tree[at + 1 :]]
    return drawn.choice(_VALUES)


def spoiled(array: np.ndarray, drawn: random.Random) -> np.ndarray:
    """Put an odd value into an array, or give it another shape or type."""
    out, chance = np.array(array), drawn.random()
    if chance < 0.15:
        return out.astype(drawn.choice((np.float32, np.int64, np.int32, np.uint8, np.float64)))
    if chance < 0.3:
        return out[: drawn.randrange(len(out) + 1)] if out.ndim else out.reshape(1)
    if chance < 0.4:
        return out.reshape(-1) if drawn.random() < 0.5 else out[..., None]
    if out.size:
        value = drawn.choice(_REALS) if out.dtype.kind == "f" else drawn.choice(_NUMBERS)
        with np.errstate(all="ignore"):
            out.reshape(-1)[drawn.randrange(out.size)] = np.array(value).astype(out.dtype)
    return out


def cells(drawn: random.Random) -> Any:
    """Draw a cell of a table, most of them odd."""
    return drawn.choice((*_VALUES, *_REALS, b"bytes", 1 + 2j, object, np.float32(3), (1, 2)))
