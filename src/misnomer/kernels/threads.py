"""How many threads the compiled kernels use: one, unless told otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
