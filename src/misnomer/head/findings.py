"""What a fit has found: known at once, or worked out when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Findings(Mapping[str, Any]):
    """A mapping some of whose values are computed at their first use, and then kept.

    Copied or stored, it is a plain dict with all values in it: the rows behind them stay out.

    Examples
    --------
    >>> found = Findings({"a": 1}, {"b": lambda: 2})
    >>> found["b"], sorted(found)
    (2, ['a', 'b'])
    """

    def __init__(self, known: dict[str, Any], later: dict[str, Callable[[], Any]]) -> None:
        self._known, self._later = dict(known), dict(later)

    def __getitem__(self, name: str) -> Any:
        if name not in self._known and name in self._later:
            self._known[name] = self._later[name]()
            del self._later[name]
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        yield from [*self._known, *self._later]

    def __len__(self) -> int:
        return len(self._known) + len(self._later)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)
