"""Refusing a model that this machine cannot hold."""

from __future__ import annotations

import os


def check_size(classes: int, statistics: int) -> None:
    """Refuse a model that this machine cannot hold: its weights and sums are dense.

    Examples
    --------
    >>> check_size(5, 1_000)
    >>> check_size(5_000, 100_000_000)
    Traceback (most recent call last):
    ...
    ValueError: 5,000 classes times 100,000,000 values and words make a model of 4,000 GB ...
    """
    try:
        room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return
    need = 8 * classes * statistics
    if 4 * need > room:  # weights, sums, virtual examples, and what is in between
        raise ValueError(
            f"{classes:,} classes times {statistics:,} values and words make a model of "
            f"{need / 1e9:,.0f} GB (four times that while it is fitted), which does not fit: call "
            "audit(), which keeps such a model sparse, leave out columns with many values, or "
            "join rare classes"
        )
