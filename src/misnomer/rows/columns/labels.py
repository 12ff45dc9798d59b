"""Labels as they are meant: blanks at the ends say nothing, and some words say "no label"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from misnomer.rows.columns.plain import MISSING, unchunked
from misnomer.rows.parts import Part
from misnomer.rows.scan import Scan

#: Words that are no class; "none" may well be one (of side effects, of symptoms).
NO_LABEL = frozenset(MISSING) - {"None", "none"}


def clean_label(word: Any, ignore_case: bool = False) -> Any:
    """Strip a label; None where it says that there is none.

    Examples
    --------
    >>> clean_label(" yes "), clean_label("?"), clean_label(3), clean_label("Yes", True)
    ('yes', None, 3, 'yes')
    """
    if not isinstance(word, str):
        return word
    word = word.strip()
    if not word or word in NO_LABEL:
        return None
    return word.casefold() if ignore_case else word


def clean_labels(words: Sequence[Any], ignore_case: bool = False) -> tuple[list[Any], list[str]]:
    """Strip labels, and say which words were taken for "no label".

    Examples
    --------
    >>> clean_labels(["a ", "NA", None])
    (['a', None, None], ["1 label is 'NA': it is taken for a missing label"])
    """
    texts = Counter(word for word in words if isinstance(word, str))
    known = {word: clean_label(word, ignore_case) for word in texts}
    gone: Counter[str] = Counter()
    for word, often in texts.items():
        if known[word] is None and word.strip():
            gone[word.strip()] += often
    cleaned = [known[word] if isinstance(word, str) else word for word in words]
    return cleaned, [_gone(word, often) for word, often in sorted(gone.items())]


def _gone(word: str, often: int) -> str:
    if often == 1:
        return f"1 label is {word!r}: it is taken for a missing label"
    return f"{often:,} labels are {word!r}: they are taken for missing labels"


def clean_column(values: Any, ignore_case: bool = False) -> Any:
    """Strip the labels of an Arrow column; each different one is looked at once."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = unchunked(values), kind.value_type
    if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
        return values
    coded = values if pa.types.is_dictionary(values.type) else unchunked(values).dictionary_encode()
    words = [clean_label(word, ignore_case) for word in coded.dictionary.to_pylist()]
    return pa.array(words, pa.string()).take(coded.indices)


@dataclass(frozen=True, eq=False)
class CleanPart:
    """A part whose labels are stripped on the way."""

    part: Part
    label: str
    ignore_case: bool

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.part.name

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        for batch in self.part.batches(columns, bad):
            if self.label not in columns:
                yield batch
                continue
            place = list(columns).index(self.label)
            cells = list(batch.columns)
            cells[place] = clean_column(cells[place], self.ignore_case)
            yield pa.record_batch(cells, names=list(columns))


def with_clean_labels(found: Scan, labels: Sequence[str], ignore_case: bool = False) -> Scan:
    """Strip the labels of a scan; numbers and dates are labels as they are."""
    parts = found.parts
    for label in labels:
        if label in found.names and pa.types.is_string(found.schema.field(label).type):
            parts = tuple(CleanPart(part, label, ignore_case) for part in parts)
    return replace(found, parts=parts)
