"""Batches that stay on the workers of a Dask cluster: functions travel there, sums travel back.

Each worker keeps the compact form of its parts in memory. A fold is one task per part and a tree
of additions whose shape depends on the number of parts alone: whoever computes what, in whatever
order, the same numbers are added to the same numbers, and a lost worker's part is read again.
"""

# mypy: disable-error-code="attr-defined, import-untyped, no-untyped-call, type-arg, unused-ignore"

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import cloudpickle
import dask
import numpy as np
from dask.delayed import Delayed
from distributed import Client, Future, LocalCluster, get_client
from numpy.typing import NDArray

from misnomer import engines
from misnomer.engines import Batches, Stream, joined
from misnomer.table import Batch, numbered


def pieces(data: Any, y: Any = None) -> list[Delayed]:
    """Split a data frame, a bag of Arrow tables or an array into its partitions.

    An array's rows may be split, its columns are joined; its labels ``y`` go with its rows.
    """
    if not hasattr(data, "rechunk"):
        found: list[Delayed] = data.to_delayed()
        return found
    if data.ndim != 2 or y is None:
        raise ValueError("a Dask array needs two dimensions, and its labels in a second array")
    data = data.rechunk({1: -1})
    blocks, labels = data.to_delayed().ravel(), y.rechunk((data.chunks[0],)).to_delayed().ravel()
    return [then(_paired, block, label) for block, label in zip(blocks, labels, strict=True)]


def then(function: Callable[..., Any], *items: Any) -> Delayed:
    """Plan a call; a planned argument is there when the call is made."""
    planned: Delayed = dask.delayed(function, pure=False)(*items)
    return planned


def _paired(block: Any, label: Any) -> tuple[Any, Any]:
    return block, label


def lazily(frame: Any, function: Callable[[Any, int], Any], meta: Any) -> Any:
    """Apply a function to every partition of a data frame and the number of its first row.

    Nothing is computed before somebody asks; each partition then counts those before it.
    """
    sizes = [dask.delayed(len)(part) for part in frame.to_delayed()]
    starts = [dask.delayed(sum)(sizes[:place]) for place in range(len(sizes))]
    return lazily_beside(frame, function, starts, meta)


def lazily_beside(
    frame: Any, function: Callable[[Any, Any], Any], beside: Sequence[Any], meta: Any
) -> Any:
    """Apply a function to every partition of a data frame and to what belongs to it."""
    import dask.dataframe as dd

    pairs = zip(frame.to_delayed(), beside, strict=True)
    planned = [dask.delayed(function)(*pair) for pair in pairs]
    return dd.from_delayed(planned, meta=meta, divisions=frame.divisions)


Step = Callable[..., Any]
Arrays = tuple[NDArray[Any], ...]

_SUMS_PER_TASK = 8  # sums that one task adds
_MAX_SINGLE_TASKS = 50  # parts that each have a task of their own; more are joined, up to eight
# A part that cannot be read is tried again, each time after twice as long.
_MAX_TRIES, _PAUSE_SECONDS = 6, 0.25


#: Arrays may travel inside of tasks, not as data sent out: so they survive a lost worker.
LARGE = {"distributed.admin.large-graph-warning-threshold": "1TB"}


class Cluster:
    """Who computes: an existing cluster, or one of processes on this machine.

    Parameters
    ----------
    client : Client, str or None
        A client, the address of a scheduler (``tcp://...``), "current" for the client in use, or
        None or "local" for a local cluster.
    workers : int, optional
        Processes of a local cluster.
    memory : str or int
        What each of them may use; "auto" shares the machine.
    """

    def __init__(
        self, client: Any = None, *, workers: int | None = None, memory: Any = "auto"
    ) -> None:
        self._own: list[Any] = []
        if client == "current":
            client = _current()
        if client is None or client == "local":
            local = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=memory,
                dashboard_address="127.0.0.1:0",  # any free port: two audits at once do not clash
            )
            client = Client(local)
            self._own = [client, local]
        elif isinstance(client, str):
            client = Client(client, timeout="30s")
            self._own = [client]
        self.client: Client = client

    def close(self) -> None:
        """Leave the cluster; stop it where it was started here."""
        for one in self._own:
            one.close()
        self._own = []

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Elsewhere, ()  # a function may close over a task: its cluster stays here

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Compute ``[function(item) for item in items]`` on the workers."""
        found: list[Any] = self.client.gather(self._each(function, items))
        return found

    def in_turn(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """Compute the same, a few items ahead, and fetch the results one by one in their order."""
        ahead = 2 * max(len(self.client.scheduler_info()["workers"]), 1)
        sent, waiting = self._sent(function), list[Future]()
        for start in range(0, len(items), ahead):
            waiting += self._apply(sent, items[start : start + ahead])
            while len(waiting) > ahead:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()

    def keep(
        self,
        load: Callable[[Any], Iterable[Batch]],
        items: Sequence[Any],
        with_answers: Callable[[Batch], Batch] | None = None,
    ) -> Kept:
        """Let the workers load the batches of every item, and keep them.

        ``with_answers`` adds what is known of rows by their numbers.
        """
        loaded = self._each(_Loaded(load), items)
        rows: list[int] = self.client.gather(self._each(_rows, loaded))
        # of many parts, several to a task
        size = min(max(len(loaded) // _MAX_SINGLE_TASKS, 1), _SUMS_PER_TASK)
        if size > 1:
            groups = [loaded[i : i + size] for i in range(0, len(loaded), size)]
            loaded = self.client.map(_added, groups, pure=False)
        return Kept(self, loaded, rows, with_answers)

    def fold(self, step: Step, batches: Sequence[Batch], *aligned: NDArray[Any]) -> Any:
        """Compute ``step(b1) + step(b2) + ...`` where the batches are.

        Each part is sent its rows of the arrays; the sums are added in a tree whose shape depends
        on the number of parts alone.
        """
        if not isinstance(batches, Kept):
            return engines.fold(step, batches, *aligned)
        return self._added(self._parts(_total, step, batches, aligned))

    def each(self, step: Step, batches: Kept, *aligned: NDArray[Any]) -> Iterator[Any]:
        """Yield ``step(batch, *the batch's rows of the arrays)``, in the batches' order."""
        for future in self._parts(_steps, step, batches, aligned):
            yield from future.result()

    def _parts(self, function: Step, step: Step, batches: Kept, aligned: Arrays) -> list[Future]:
        spans = batches.spans
        pieces = [tuple(array[first:last] for array in aligned) for first, last in spans]
        firsts = [first for first, _ in spans]
        sent = self._sent(step)
        with dask.config.set(LARGE):
            return list(
                self.client.map(function, batches.futures, firsts, pieces, step=sent, pure=False)
            )

    def _added(self, sums: list[Future]) -> Any:
        """Add up what the parts found, in a tree."""
        while len(sums) > 1:
            groups = [sums[i : i + _SUMS_PER_TASK] for i in range(0, len(sums), _SUMS_PER_TASK)]
            sums = self.client.map(_added, groups, pure=False)
        total = sums[0].result()
        if isinstance(total, _Nothing):
            raise ValueError("the table has no rows")
        return total

    def _each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Future]:
        return self._apply(self._sent(function), items)

    def _sent(self, function: Callable[[Any], Any]) -> Future:
        # The function is the result of a task, not data sent out: it survives a lost worker.
        return self.client.submit(cloudpickle.loads, cloudpickle.dumps(function), pure=False)

    def _apply(self, sent: Future, items: Sequence[Any]) -> list[Future]:
        with dask.config.set(LARGE):
            if any(map(_is_lazy, items)):
                graph = [dask.delayed(_applied, pure=False)(item, sent) for item in items]
                found: list[Future] = self.client.compute(graph)
                return found
            return list(self.client.map(_applied, list(items), function=sent, pure=False))


def _current() -> Client | None:
    try:
        found: Client = get_client()
    except ValueError:
        return None
    return found


class Kept(Batches):
    """Batches on the workers, part by part; one that is asked for is fetched."""

    def __init__(
        self,
        cluster: Cluster,
        futures: list[Future],
        rows_of_parts: list[int],
        with_answers: Callable[[Batch], Batch] | None = None,
    ) -> None:
        self.cluster, self.rows_of_parts = cluster, rows_of_parts
        sizes = cluster._each(_sizes, futures)
        self._sizes: list[list[int]] = cluster.client.gather(sizes)
        first = np.cumsum([0, *map(sum, self._sizes)])[:-1].tolist()
        sent = cluster._sent(with_answers or _as_it_is)
        self.futures = list(
            cluster.client.map(_numbered, futures, first, with_answers=sent, pure=False)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _Elsewhere, ()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(self.rows_of_parts)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The first row of each part, and the first one behind it."""
        ends = np.cumsum([0, *map(sum, self._sizes)]).tolist()
        return list(pairwise(ends))

    def __len__(self) -> int:
        return sum(map(len, self._sizes))

    def _at(self, place: int) -> Batch:
        for future, sizes in zip(self.futures, self._sizes, strict=True):
            if place < len(sizes):
                chosen = self.cluster.client.submit(_chosen, future, place, pure=False)
                batch: Batch = chosen.result()
                return batch
            place -= len(sizes)
        raise IndexError(place)

    def take(self, rows: NDArray[np.integer[Any]]) -> Batch:
        """Fetch rows by their positions in all of the batches, in rising order."""
        chosen, start = [], 0
        for future, sizes in zip(self.futures, self._sizes, strict=True):
            first, last = np.searchsorted(rows, (start, start + sum(sizes)))
            if first < last:
                own = rows[first:last] - start
                chosen.append(self.cluster.client.submit(_took, future, own, pure=False))
            start += sum(sizes)
        return joined(self.cluster.client.gather(chosen))

    def __iter__(self) -> Iterator[Batch]:
        for future in self.futures:
            yield from future.result()


class _Loaded:
    """Reads all batches of a part."""

    def __init__(self, load: Callable[[Any], Iterable[Batch]]) -> None:
        self.load = load

    def __call__(self, item: Any) -> list[Batch]:
        return list(self.load(item))


def patiently(function: Callable[[Any], Any], item: Any) -> Any:
    """Call again what the system refused, after a while, a few times.

    A file that is damaged stays damaged: only errors with a number of the system's are waited for.

    Examples
    --------
    >>> patiently(abs, -3)
    3
    """
    for again in range(_MAX_TRIES):
        try:
            return function(item)
        except (OSError, ValueError) as error:
            cause = error if isinstance(error, OSError) else error.__context__
            if getattr(cause, "errno", None) is None or again == _MAX_TRIES - 1:
                raise
            time.sleep(_PAUSE_SECONDS * 2**again)
    return None


class _Nothing:
    """The sum of no batch at all: an empty part adds nothing."""


def _steps(batches: list[Batch], first: int, aligned: Arrays, step: Step) -> list[Any]:
    return [engines.call_step(step, batch, first, aligned) for batch in batches]


def _total(batches: list[Batch], first: int, aligned: Arrays, step: Step) -> Any:
    return reduce(add, _steps(batches, first, aligned, step)) if batches else _Nothing()


def _added(sums: list[Any]) -> Any:
    some = [one for one in sums if not isinstance(one, _Nothing)]
    return reduce(add, some) if some else sums[0]


def _applied(item: Any, function: Callable[[Any], Any]) -> Any:
    return patiently(function, item)


def _chosen(batches: list[Batch], place: int) -> Batch:
    return batches[place]


def _took(batches: list[Batch], rows: NDArray[np.integer[Any]]) -> Batch:
    return Stream(batches).take(rows)


def _rows(batches: list[Batch]) -> int:
    return sum(map(len, batches))


def _numbered(
    batches: list[Batch], start: int, with_answers: Callable[[Batch], Batch]
) -> list[Batch]:
    return [with_answers(batch) for batch in numbered(batches, start)]


def _as_it_is(batch: Batch) -> Batch:
    return batch


def _sizes(batches: list[Batch]) -> list[int]:
    return [len(batch) for batch in batches]


def _is_lazy(item: Any) -> bool:
    return isinstance(item, Delayed) or (isinstance(item, tuple) and any(map(_is_lazy, item)))


class _Elsewhere:
    """What stands for a cluster, and for what it keeps, in a function that has traveled to it."""
