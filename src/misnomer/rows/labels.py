"""Labels as they are meant: blanks at the ends say nothing, and some words say "no label".

What looks the same is the same: accents that stand apart, as a Mac writes them, are joined.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.notation import MISSING, as_it_looks, unchunked
from misnomer.rows.parts import Mapped, Part, PartView
from misnomer.rows.scan import Scan

#: Words that are no class; "none" may well be one (of side effects, of symptoms).
NO_LABEL = frozenset(MISSING) - {"None", "none"}

_OPPOSITE = {
    "-": "+",
    "\u2013": "+",
    "\u2014": "+",
    "?": "!",
    ".": "!",
}  # beside its opposite, a sign is a class like it


def no_label(words: Iterable[Any]) -> frozenset[str]:
    """Tell the words that are no class among these labels.

    Examples
    --------
    >>> "-" in no_label(["yes", "-"]), "-" in no_label(["+", "-"])
    (True, False)
    """
    signs = {as_it_looks(word) for word in words if isinstance(word, str)} & {*_OPPOSITE.values()}
    return NO_LABEL - {sign for sign, other in _OPPOSITE.items() if other in signs}


def clean_label(word: Any, ignore_case: bool = False, no_label: frozenset[str] = NO_LABEL) -> Any:
    """Write a label as it looks; None where it says that there is none.

    Examples
    --------
    >>> clean_label(" yes "), clean_label("?"), clean_label(3), clean_label("Yes", True)
    ('yes', None, 3, 'yes')
    """
    if not isinstance(word, str):
        return word
    word = as_it_looks(word)
    if not word or word in no_label:
        return None
    return word.casefold() if ignore_case else word


def clean_labels(words: Sequence[Any], ignore_case: bool = False) -> tuple[list[Any], list[str]]:
    """Strip labels, and say which words were taken for "no label".

    Examples
    --------
    >>> clean_labels(["a ", "NA", None])[0]
    ['a', None, None]
    >>> clean_labels(["+", "-", "?"])[0]
    ['+', '-', None]
    """
    texts = Counter(word for word in words if isinstance(word, str))
    marks = no_label(texts)
    known = {word: clean_label(word, ignore_case, marks) for word in texts}
    cleaned = [known[word] if isinstance(word, str) else word for word in words]
    return cleaned, notes_on_missing(texts, marks)


def notes_on_missing(often: Mapping[str, int], marks: Collection[str]) -> list[str]:
    """Say which of these words were taken for "no label", and how many of each.

    Examples
    --------
    >>> [note[:21] for note in notes_on_missing({"NA": 1, "NA ": 1, "yes": 7}, NO_LABEL)]
    ["2 labels are 'NA': th"]
    """
    stripped: Counter[str] = Counter()
    for word, times in often.items():
        stripped[as_it_looks(word)] += times
    return [_gone(word, stripped[word]) for word in sorted(stripped) if word in marks]


def _gone(word: str, often: int) -> str:
    said = "1 label is" if often == 1 else f"{often:,} labels are"
    taken = "it is taken for a missing label" if often == 1 else "they are taken for missing labels"
    return f"{said} {word!r}: {taken} (if it is a class, give it another name)"


def clean_column(
    values: Any, ignore_case: bool = False, no_label: frozenset[str] = NO_LABEL
) -> Any:
    """Strip the labels of an Arrow column; each different one is looked at once."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = unchunked(values), kind.value_type
    if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
        return values
    coded = values if pa.types.is_dictionary(values.type) else unchunked(values).dictionary_encode()
    words = [clean_label(word, ignore_case, no_label) for word in coded.dictionary.to_pylist()]
    return pa.array(words, pa.string()).take(coded.indices)


@dataclass(frozen=True, eq=False)
class CleanPart(PartView):
    """A part whose labels are stripped on the way."""

    labels: tuple[str, ...]
    ignore_case: bool
    no_label: frozenset[str]

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        for batch in self.part.batches(columns, bad):
            cells = [
                clean_column(values, self.ignore_case, self.no_label)
                if name in self.labels
                else values
                for name, values in zip(columns, batch.columns, strict=True)
            ]
            yield pa.record_batch(cells, names=list(columns))


def clean_parts(
    parts: Sequence[Part],
    labels: Sequence[str],
    ignore_case: bool = False,
    *,
    skip_bad: bool = False,
    mapped: Mapped = map,
) -> tuple[Part, ...]:
    """Strip the labels in these columns, and say which words were taken for "no label".

    Which signs are classes, all parts are asked first.
    """
    if not labels:
        return tuple(parts)
    read = partial(_signs, labels=labels, skip_bad=skip_bad)
    signs: Counter[str] = sum(mapped(read, parts), Counter())
    marks = no_label(signs)
    for note in notes_on_missing(signs, marks):
        warnings.warn(note, stacklevel=2)
    return tuple(CleanPart(part, tuple(labels), ignore_case, marks) for part in parts)


def _signs(part: Part, labels: Sequence[str], skip_bad: bool) -> Counter[str]:
    """Count the labels of a part that may be none, or that make another sign a class."""
    wanted = pa.array(sorted(NO_LABEL | {*_OPPOSITE.values()}))
    signs: Counter[str] = Counter()
    for batch in part.batches(labels, [] if skip_bad else None):
        for cells in batch.columns:
            kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
            if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
                continue
            for word, times in _count_words(unchunked(cells), wanted):
                signs[word] += times
    return signs


def _count_words(cells: Any, wanted: pa.Array) -> list[tuple[str, int]]:
    """Count some words in a column, blanks at their ends aside."""
    coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    words = pc.utf8_trim_whitespace(coded.dictionary.cast(pa.string()))
    place = np.flatnonzero(np.asarray(pc.is_in(words, value_set=wanted)))
    if not len(place):
        return []
    codes = np.asarray(pc.drop_null(coded.indices), np.int64)
    often = np.bincount(codes, minlength=len(words))[place].tolist()
    return list(zip(words.take(pa.array(place)).to_pylist(), often, strict=True))


def with_clean_labels(
    scan: Scan,
    labels: Sequence[str],
    ignore_case: bool = False,
    *,
    skip_bad: bool = False,
    mapped: Mapped = map,
) -> Scan:
    """Strip the labels of a scan; numbers and dates are labels as they are."""
    names = [field.name for field in scan.schema if pa.types.is_string(field.type)]
    words = [label for label in labels if label in names]
    parts = clean_parts(scan.parts, words, ignore_case, skip_bad=skip_bad, mapped=mapped)
    return replace(scan, parts=parts)
