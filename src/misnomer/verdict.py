"""Can this data tell which labels are wrong? An answer in words, with the tests behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LEVELS = ("trust", "ranking", "cannot tell")


@dataclass(frozen=True)
class Verdict:
    """How far the numbers of an audit can be believed.

    Attributes
    ----------
    level : {"trust", "ranking", "cannot tell"}
        "trust": the numbers hold; "ranking": the order of the suspects holds, their number does
        not; "cannot tell": neither.
    sentences : tuple of str
        Why, in plain words, the most important first.
    tests : mapping
        The results behind the words, by name.

    Examples
    --------
    >>> print(Verdict("trust", ("The rate rests on 500 labels.",)))
    trust: The rate rests on 500 labels.
    """

    level: str
    sentences: tuple[str, ...] = ()
    tests: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a level that has no meaning."""
        if self.level not in LEVELS:
            known = ", ".join(f'"{level}"' for level in LEVELS)
            raise ValueError(f"the level of a verdict is one of {known}, not {self.level!r}")

    @property
    def ask(self) -> tuple[int, ...]:
        """Positions of the rows whose true class would settle most; none where nothing is open.

        Examples
        --------
        >>> Verdict("ranking", (), {"ask": [7, 3]}).ask
        (7, 3)
        """
        return tuple(int(row) for row in self.tests.get("ask", ()))

    def __str__(self) -> str:
        """Return the level and its reasons in one line."""
        return f"{self.level}: {' '.join(self.sentences)}"
