"""What the columns of a scan are: summaries of its parts, added up in one first pass.

A second pass reads the columns that turned out to be texts, to count their words: whether a column
is a text shows only when all of it has been seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.decide import FEW, Summary, decide, sum_of, summarize
from misnomer.rows.encode import check_whole, looks_like_text, words_of
from misnomer.rows.notation import plain, temporal, unchunked
from misnomer.rows.parts import Mapped, Part
from misnomer.table import Column

_MAX_DISTINCT_BYTES = 1 << 25  # of different values that are remembered

Extra = Callable[[pa.RecordBatch], Any]


@dataclass(frozen=True)
class Run:
    """Whether whole numbers count the rows: each is one more than the one before.

    Examples
    --------
    >>> (Run(2, 0, 1) + Run(3, 2, 4)).counts, (Run(2, 0, 1) + Run(1, 7, 7)).counts
    (True, False)
    """

    rows: int
    first: int = 0
    last: int = 0
    counts: bool = True

    def __add__(self, other: Run) -> Run:
        if not self.rows or not other.rows:
            return self if self.rows else other
        on = self.counts and other.counts and other.first == self.last + 1
        return Run(self.rows + other.rows, self.first, other.last, on)


@dataclass(frozen=True, eq=False)
class Discovery:
    """What some consecutive rows look like, column by column; it adds.

    ``extra`` is what else somebody has asked of the rows, which adds as well.
    """

    rows: int
    summaries: dict[str, Summary]
    runs: dict[str, Run]
    left_out: tuple[str, ...] = ()
    extra: Any = None

    def __add__(self, other: Discovery) -> Discovery:
        if not self.rows or not other.rows:
            kept = self if self.rows else other
            return replace(kept, left_out=(*self.left_out, *other.left_out))
        return Discovery(
            self.rows + other.rows,
            {name: one + other.summaries[name] for name, one in self.summaries.items()},
            {name: one + other.runs[name] for name, one in self.runs.items()},
            (*self.left_out, *other.left_out),
            None if self.extra is None else self.extra + other.extra,
        )

    def numbering(self, name: str) -> bool:
        """Tell a column that counts the rows, or is called an id and never repeats."""
        summary, run = self.summaries[name], self.runs[name]
        if not pa.types.is_integer(summary.type) or summary.seen < self.rows or self.rows < 3:
            return False
        return run.counts or (is_called_id(name) and summary.all_different)


def is_called_id(name: str) -> bool:
    """Tell a name that says that a column names the rows."""
    return name.lower() in ("id", "index", "uuid") or name.lower().endswith(("_id", " id", "-id"))


def summarize_part(
    part: Part, kinds: Mapping[str, str], *, skip_bad: bool = False, extra: Extra | None = None
) -> Discovery:
    """Summarize the columns of a part; ``kinds`` names them, with the family of each or "auto"."""
    bad: list[str] | None = [] if skip_bad else None
    total = Discovery(0, {}, {})
    for batch in part.batches(list(kinds), bad):
        if batch.num_rows:
            found = _summarize_batch(batch, kinds, total)
            found = found if extra is None else replace(found, extra=extra(batch))
            total = _forget_large(total + found)
    return replace(total, left_out=tuple(bad or ()))


def _forget_large(discovery: Discovery) -> Discovery:
    """Forget the values of columns that are no categories anyway: texts, measurements."""
    large = {
        name: replace(summary, distinct=None)
        for name, summary in discovery.summaries.items()
        if summary.distinct is not None and summary.distinct.nbytes > _MAX_DISTINCT_BYTES
    }
    return replace(discovery, summaries={**discovery.summaries, **large}) if large else discovery


def _summarize_batch(
    batch: pa.RecordBatch, kinds: Mapping[str, str], before: Discovery
) -> Discovery:
    summaries, runs = {}, {}
    for (name, kind), values in zip(kinds.items(), batch.columns, strict=True):
        summaries[name] = _summary(name, values, kind, before.summaries.get(name))
        runs[name] = run_of(values, before.runs.get(name))
    return Discovery(batch.num_rows, summaries, runs)


def _summary(name: str, values: pa.Array, kind: str, before: Summary | None) -> Summary:
    when = temporal(values.type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = values.dictionary_encode()
    if pa.types.is_dictionary(values.type) and kind != "text":
        return _of_dictionary(values)
    check_whole(name, values)
    values = plain(values)
    if kind == "text" and not pa.types.is_string(values.type):
        values = values.cast(pa.string())
    number = pa.types.is_floating(values.type) or pa.types.is_integer(values.type)
    many = before is not None and before.categories > FEW
    named = before is not None and before.all_different and is_called_id(name)
    if number and many and not named and kind in ("auto", "gaussian", "count"):
        return Summary(
            type=values.type,
            rows=len(values),
            seen=len(values) - values.null_count,
            distinct=None,  # more than make categories: nothing hangs on them
            all_different=False,
            whole=False,
            temporal=when,
            total=sum_of(values),
            gaps=0,
        )
    return summarize(values, temporal=when)


def _of_dictionary(values: pa.DictionaryArray) -> Summary:
    """Summarize a dictionary's values once, and count how often each occurs."""
    place = pc.drop_null(values.indices) if values.indices.null_count else values.indices
    place, known = place.to_numpy(zero_copy_only=False), plain(values.dictionary)
    often = np.bincount(place, minlength=len(known)) * np.asarray(pc.is_valid(known))
    used = known.filter(pa.array(often > 0))
    if not len(used):
        return summarize(pa.nulls(len(values), known.type))
    if not pa.types.is_string(known.type):
        return summarize(plain(values))
    one = summarize(used, gaps=0)
    gaps = pc.count_substring_regex(used, r"\s+").to_numpy(zero_copy_only=False)
    seen = int(often.sum())
    return replace(
        one,
        rows=len(values),
        seen=seen,
        all_different=one.categories == seen,
        gaps=int(gaps @ often[often > 0]),
    )


def run_of(values: pa.Array, before: Run | None = None) -> Run:
    """Tell whether whole numbers count on, from those before or by themselves."""
    n = len(values)
    if (before is not None and not before.counts) or not pa.types.is_integer(values.type):
        return Run(n, counts=False)
    if values.null_count:
        return Run(n, counts=False)
    first, last = values[0].as_py(), values[n - 1].as_py()
    on = last - first == n - 1 and pc.all(pc.equal(pc.pairwise_diff(values), 1)).as_py()
    return Run(n, first, last, on is not False)


def count_words(part: Part, names: Sequence[str], *, skip_bad: bool = False) -> list[Counter[str]]:
    """Count in how many cells of a part each word occurs, for each of these columns."""
    found: list[Counter[str]] = [Counter() for _ in names]
    for batch in part.batches(list(names), [] if skip_bad else None):
        for place, values in enumerate(batch.columns):
            values = plain(values)
            found[place] += words_of(values.cast(pa.string()))
    return found


def discover(
    parts: Sequence[Part],
    kinds: Mapping[str, str],
    *,
    skip_bad: bool = False,
    mapped: Mapped = map,
    extra: Extra | None = None,
) -> Discovery:
    """Look at all parts once, and at the texts among their columns once more.

    ``extra`` is asked of every batch in passing, and what it finds is added.
    """
    asked = dict(kinds)
    total: Discovery = reduce(
        add, mapped(lambda part: summarize_part(part, asked, skip_bad=skip_bad, extra=extra), parts)
    )
    known = total.summaries
    texts = [name for name, kind in kinds.items() if total.rows and _is_text(known[name], kind)]
    if texts:
        each = list(mapped(lambda part: count_words(part, texts, skip_bad=skip_bad), parts))
        summaries = dict(total.summaries)
        for place, name in enumerate(texts):
            often: Counter[str] = sum((words[place] for words in each), Counter())
            summaries[name] = replace(summaries[name], words=often)
        total = replace(total, summaries=summaries)
    return total


def _is_text(summary: Summary, kind: str) -> bool:
    if kind != "auto":
        return kind == "text"
    text = bool(pa.types.is_string(summary.type)) and summary.seen > 0
    return text and looks_like_text(summary.seen, summary.categories, summary.gaps)


def column(discovery: Discovery, name: str, kind: str) -> Column:
    """Decide what a column is, as if it had been read at once."""
    return decide(name, discovery.summaries[name], kind)


def infer(name: str, values: Any, kind: str = "auto") -> Column:
    """Decide what a column in memory is, and learn its categories, its center or its words.

    Examples
    --------
    >>> infer("sex", pa.array(["f", "m", "f", None]))
    Column(name='sex', kind='categorical', categories=('f', 'm'), center=0.0, ...)
    """
    values = unchunked(values)
    summary = _summary(name, values, kind, None)
    if _is_text(summary, kind):
        summary = replace(summary, words=words_of(plain(values).cast(pa.string())))
    return decide(name, summary, kind)
