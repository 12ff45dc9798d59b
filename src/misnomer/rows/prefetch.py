"""Reading ahead: a thread fetches the next items while the current one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
_END = object()


def prefetch(items: Iterable[Item], depth: int = 1) -> Iterator[Item]:
    """Yield the same items in the same order, up to ``depth`` of them fetched beforehand.

    An error is raised where it would have been; whoever stops early stops the thread.

    Examples
    --------
    >>> list(prefetch(range(5)))
    [0, 1, 2, 3, 4]
    """
    ready: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()

    def put(what: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put(what, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
            put((_END, None))
        except BaseException as error:
            put((_END, error))

    thread = threading.Thread(target=fetch, daemon=True, name="misnomer-prefetch")
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        thread.join()
