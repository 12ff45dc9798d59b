"""How many threads kernels and learners use: one, unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_threads: ContextVar[int] = ContextVar("threads", default=1)


def threads() -> int:
    """Tell how many threads a kernel called now would use."""
    return _threads.get()


@contextmanager
def using(*, threads: int) -> Iterator[None]:
    """Let the kernels called in a ``with`` block use several threads.

    The answers do not depend on it, to the last bit; NumPy kernels take no notice.

    Examples
    --------
    >>> from misnomer.kernels import threads
    >>> with using(threads=4):
    ...     threads.threads()
    4
    >>> threads.threads()
    1
    """
    if threads < 1:
        raise ValueError(f"threads is {threads}; it must be at least 1.")
    token = _threads.set(int(threads))
    try:
        yield
    finally:
        _threads.reset(token)


def each(step: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Take a step for each item, several at a time where there are threads; in their order.

    The steps must not lean on each other. Within each of them there is one thread.

    Examples
    --------
    >>> with using(threads=2):
    ...     each(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    every = list(items)
    count = min(threads(), len(every))
    if count < 2:
        return [step(item) for item in every]
    with ThreadPoolExecutor(count) as pool:  # a fresh thread knows of one thread: its own
        return list(pool.map(step, every))
