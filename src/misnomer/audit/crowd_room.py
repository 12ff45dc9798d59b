"""What a crowd's answers and its rows' classes take of the memory."""

from __future__ import annotations

import os

from misnomer.answers import Answers
from misnomer.audit.streaming import bytes_of

# Bytes at most, measured: for a row and a class while the search runs (a dozen numbers), for an
# answer while classes and characters are drawn, for a cell of somebody's channel.
_CELL, _ANSWER, _CHANNEL = 100, 100, 64


def room_of(answers: Answers) -> int:
    """Estimate how many bytes learning from the answers takes, the columns apart."""
    n, K = answers.n_rows, answers.n_labels
    return _CELL * n * K + _ANSWER * len(answers) + _CHANNEL * answers.n_annotators * K * K


def check_room(answers: Answers, memory: str | int | None, used: int = 0) -> int:
    """Refuse answers that do not fit; return how many bytes they take.

    The cap is what the user said, ``used`` of it before; else what the machine has left.
    """
    needed = room_of(answers)
    most = _free() + used if memory is None else bytes_of(memory)
    if needed + used > most:
        raise ValueError(
            f"{len(answers):,} answers about {answers.n_rows:,} rows of {answers.n_labels} classes "
            f"take about {_written(needed + used)}, which is more than {_written(most)}: allow "
            "more with memory=, or take a sample of whole rows"
        )
    return needed


def _free() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


def _written(size: int) -> str:
    """Write an amount of memory.

    Examples
    --------
    >>> _written(1_500_000_000), _written(20_000_000)
    ('1.5GB', '20MB')
    """
    return f"{size / 1e9:.1f}GB" if size >= 10**9 else f"{size / 1e6:.0f}MB"
