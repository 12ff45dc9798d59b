"""A column -> codes, reals, words or an embedding, as its description says.

Texts are lowercased and split into runs of two or more letters, digits or underscores, of any
script (``CountVectorizer``'s pattern). A word counts once per document, and must occur in two
documents to enter the vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from misnomer.families import code_type
from misnomer.rows.notation import (
    PLAIN_NUMBER,
    Notation,
    find_notation,
    observed,
    plain,
    read_notation,
    type_in_words,
    unchunked,
)
from misnomer.table import Column

_WORDS = 3.0  # words per cell, in the mean, that make a column of strings a text
_OWN = 0.5  # share of cells with a value of their own


def spaces(values: pa.Array) -> int:
    """Count the runs of white space between words, over all cells.

    Examples
    --------
    >>> spaces(pa.array(["see you at noon", "red", None]))
    3
    """
    return int(pc.sum(pc.count_substring_regex(values, r"\s+")).as_py() or 0)


def looks_like_text(seen: int, distinct: int, gaps: int) -> bool:
    """Tell texts from categories: mostly different, and several words long.

    Examples
    --------
    >>> looks_like_text(seen=2, distinct=2, gaps=6), looks_like_text(seen=2, distinct=2, gaps=0)
    (True, False)
    """
    return distinct >= _OWN * seen and gaps + seen >= _WORDS * seen


def words_of(values: pa.Array) -> Counter[str]:
    """Count in how many texts each word occurs.

    Examples
    --------
    >>> sorted(words_of(pa.array(["so it goes, so", "it is"])).items())
    [('goes', 1), ('is', 1), ('it', 2), ('so', 1)]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    analyze = CountVectorizer().build_analyzer()
    often: Counter[str] = Counter()
    for text in values.to_pylist():
        if text is not None:
            often.update(sorted(set(analyze(text))))
    return often


def vocabulary(often: Counter[str]) -> tuple[str, ...]:
    """Keep the words that occur in two documents or more, sorted."""
    return tuple(sorted(word for word, count in often.items() if count > 1))


def words(documents: Sequence[str | None], known: tuple[str, ...]) -> sparse.csr_array:
    """Mark which known words each document holds, (n, V); unknown words are ignored.

    Examples
    --------
    >>> words(["so it goes, so", None], ("goes", "so")).toarray().tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if not known:
        return sparse.csr_array((len(documents), 0), dtype=np.float64)
    vectorizer: Any = CountVectorizer(vocabulary=list(known), binary=True, dtype=np.float64)
    return sparse.csr_array(vectorizer.transform([document or "" for document in documents]))


MIN_DIRECTION = 8  # numbers in a cell from which on the direction alone is kept

Array = NDArray[np.float64]


def is_embedding(kind: pa.DataType) -> bool:
    """Tell lists of numbers from everything else.

    Examples
    --------
    >>> is_embedding(pa.list_(pa.float32())), is_embedding(pa.list_(pa.string()))
    (True, False)
    """
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(kind) for test in lists):
        return False
    inner = kind.value_type
    return bool(pa.types.is_floating(inner) or pa.types.is_integer(inner))


def dimensions(name: str, values: Any) -> dict[str, pa.Array]:
    """Split an embedding into its dimensions, named ``name[0]``, ``name[1]``, ...

    A missing cell is missing in every dimension.

    Examples
    --------
    >>> {k: v.to_pylist() for k, v in dimensions("e", pa.array([[1.0, 2.0], None])).items()}
    {'e[0]': [1.0, None], 'e[1]': [2.0, None]}
    """
    matrix = _matrix(name, unchunked(values))
    if matrix.shape[1] >= MIN_DIRECTION:
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
        matrix = matrix / np.where(length > 0, length, 1.0)
    return {
        f"{name}[{j}]": pa.array(np.ascontiguousarray(matrix[:, j]), from_pandas=True)
        for j in range(matrix.shape[1])
    }


def _matrix(name: str, values: pa.Array) -> Array:
    """Lay the lists out, (n, d); a missing list is a row of NaN."""
    seen = np.flatnonzero(np.asarray(pc.is_valid(values)))
    there = values.take(pa.array(seen))
    sizes = np.asarray(pc.list_value_length(there))
    if not len(sizes):
        return np.zeros((len(values), 0))
    odd = np.flatnonzero(sizes != sizes[0])
    if len(odd):
        raise ValueError(
            f"column {name!r} holds lists of different lengths: {sizes[0]} numbers in row "
            f"{seen[0]}, {sizes[odd[0]]} in row {seen[odd[0]]}; an embedding has as many in each"
        )
    flat = pc.list_flatten(there).cast(pa.float64())
    numbers = np.asarray(pc.fill_null(flat, float("nan")))
    if np.isinf(numbers).any():
        row = seen[int(np.isinf(numbers).argmax()) // int(sizes[0])]
        raise ValueError(f"column {name!r} holds infinity in row {row}: replace it by a number")
    matrix = np.full((len(values), int(sizes[0])), np.nan)
    matrix[seen] = numbers.reshape(len(seen), -1)
    return matrix


LARGEST = 1e100  # a real number, so that sums of its cubes are numbers as well


def codes(column: Column, values: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Number the categories; a missing or unseen value gets the number after the last."""
    if pa.types.is_dictionary(values.type):
        return _by_dictionary(column, values)
    values = one_zero(plain(values))
    check_whole(column.name, values)
    known = one_zero(pa.array(column.categories))
    if values.type != known.type:
        values, known = _alike(values, known)
    found = pc.fill_null(pc.index_in(values, value_set=known, skip_nulls=True), len(known))
    return np.asarray(found.to_numpy(zero_copy_only=False), code_type(len(known)))


def unseen(column: Column, values: Any) -> list[Any]:
    """List the values of a column of categories that were not there in training, one per cell.

    Examples
    --------
    >>> unseen(Column("sex", "categorical", ("f", "m")), pa.array(["f", "x", None]))
    ['x']
    """
    values = plain(values)
    new = np.asarray(codes(column, values)) >= len(column.categories)
    return pc.drop_null(values.filter(pa.array(new))).to_pylist()


def one_zero(values: Any) -> Any:
    """Make zero of minus zero: they are equal, but not where values are looked up by their bits.

    Examples
    --------
    >>> one_zero(pa.array([-0.0, 1.5])).to_pylist()
    [0.0, 1.5]
    """
    if values.type not in (pa.float32(), pa.float64()):
        return values
    return pc.add(values, pa.scalar(0.0, values.type))


def _by_dictionary(column: Column, values: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Number the values of the dictionary once, and look the rows up."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray) or values.indices.null_count == len(values):
        return codes(column, plain(values))
    found = codes(column, values.dictionary)
    table: NDArray[np.unsignedinteger[Any]] = np.append(
        found, found.dtype.type(len(column.categories))
    )
    place = values.indices
    if place.null_count:
        place = pc.fill_null(place.cast(pa.int32()), len(found))
    return np.asarray(table.take(place.to_numpy(zero_copy_only=False)))


def _alike(values: pa.Array, known: pa.Array) -> tuple[pa.Array, pa.Array]:
    try:
        return values.cast(known.type), known
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values.cast(pa.string()), known.cast(pa.string())


def flags(column: Column, values: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which rows are on, and which were observed."""
    values = plain(values)
    if isinstance(column.categories[1], str):
        number = codes(column, values)
        return number == 1, number < 2
    value = reals(column.name, values)
    return value > 0, ~np.isnan(value)


def reals(name: str, values: Any, form: str = "") -> Array:
    """Read numbers, with NaN for what is missing; infinite values are refused."""
    if values.type == pa.float64():  # nothing to simplify
        plainly: Array = values.to_numpy(zero_copy_only=False)
        check_finite(name, plainly)
        return plainly
    values = plain(values)
    if pa.types.is_string(values.type):
        values = _numbers(name, values, form)
    try:
        numbers = values.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if not pa.types.is_integer(values.type):
            raise ValueError(no_numbers(name, values, form)) from None
        check_whole(name, values)
        numbers = values.cast(pa.float64(), safe=False)
        check_apart(name, *(pc.drop_null(part).to_numpy() for part in (values, numbers)))
    out: Array = pc.fill_null(numbers, float("nan")).to_numpy(zero_copy_only=False)
    check_finite(name, out)
    return out


def _numbers(name: str, texts: pa.Array, form: str) -> pa.Array:
    """Read texts in the form that the model knows; where it knows numbers, in any one form."""
    if form in ("", "date"):
        found = find_notation(pc.unique(texts))
        if found.unclear:
            raise ValueError(f"column {name!r}: {found.unclear}")
        form = found.form if found.is_date == (form == "date") else ""
    return read_notation(name, texts, form) if form else texts


def counts(name: str, values: Any, form: str = "") -> Array:
    """Read counts; nothing observed counts as zero, and a negative count is refused."""
    out = np.nan_to_num(reals(name, values, form))
    check_counts(name, out)
    return out


def check_finite(name: str, values: NDArray[np.floating[Any]]) -> None:
    """Refuse infinite values, and those too large to be squared, naming the first row of one."""
    bad = beyond(values)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(too_large(name, float(values[row]), row))


def beyond(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Tell which numbers are infinite, or too large to be squared."""
    most = float(np.finfo(values.dtype).max)
    return np.abs(values) > (LARGEST if most > LARGEST else most)


def too_large(name: str, value: float, row: int) -> str:
    """Say that a number cannot be reckoned with.

    Examples
    --------
    >>> too_large("age", 1e200, 3)
    "column 'age' holds 1e+200 in row 3: numbers beyond 1e+100 cannot be squared and added up; ..."
    """
    if np.isinf(value):
        return (
            f"column {name!r} holds an infinite value (infinity) in row {row}: replace it by a "
            f"number up to {LARGEST:.0e}, or by NaN if it is missing"
        )
    return (
        f"column {name!r} holds {value:g} in row {row}: numbers beyond {LARGEST:.0e} cannot be "
        "squared and added up; rescale the column, or replace it by NaN if it is missing"
    )


def check_whole(name: str, values: Any) -> None:
    """Refuse whole numbers beyond 2^63, which no other column of whole numbers can hold."""
    if values.type == pa.uint64() and (pc.max(values).as_py() or 0) >= 1 << 63:
        raise ValueError(whole_too_large(name))


def whole_too_large(name: str) -> str:
    """Say that whole numbers are too large."""
    return (
        f"column {name!r} holds whole numbers beyond 2^63: turn them into texts, or leave the "
        "column out if it only names the rows"
    )


def check_apart(name: str, whole: NDArray[np.integer[Any]], numbers: Array) -> None:
    """Refuse whole numbers beyond 2^53 that are the same as doubles."""
    if len(np.unique(whole)) > len(np.unique(numbers)):
        raise ValueError(
            f"column {name!r} holds whole numbers beyond 2^53 that a double cannot tell apart: "
            "subtract a constant, or leave the column out if it only names the rows"
        )


def check_counts(name: str, values: NDArray[Any]) -> None:
    """Refuse negative counts, naming the first row that has one."""
    bad = np.flatnonzero(values < 0)
    if len(bad):
        raise ValueError(
            f"Negative values in data: column {name!r} holds {values[bad[0]]} in row {bad[0]}, "
            "and a count cannot be negative"
        )


_MOST_WORDS = 1000  # that are looked at for the one that is no number


def _read_alone(cells: pa.Array) -> Iterator[tuple[str, Notation]]:
    """Read some cells, each by itself, but for those that are plainly numbers."""
    odd = cells.filter(pc.invert(pc.match_substring_regex(cells, PLAIN_NUMBER)))
    return (
        (word, find_notation(pa.array([word]))) for word in odd.slice(0, _MOST_WORDS).to_pylist()
    )


def no_numbers(name: str, values: pa.Array, form: str = "") -> str:
    """Say which cell keeps a column from being one of numbers, or of dates, and what to do.

    Examples
    --------
    >>> no_numbers("age", pa.array(["40", "old", "50"]))
    "column 'age' holds 'old', which is no number: leave it empty, or call it missing (--missing)"
    """
    if not pa.types.is_string(values.type):
        return f"column {name!r} holds {type_in_words(values.type)}, not numbers"
    cells = observed(pc.unique(values))
    kind = "date" if form == "date" else "number"
    seen = _read_alone(cells)
    odd = next((w for w, one in seen if not one.form or one.is_date != (kind == "date")), None)
    if odd is None:
        return f"column {name!r} holds {kind}s in several forms: write them in one"
    does = "leave it empty, or call it missing (--missing)"
    return f"column {name!r} holds {odd[:60]!r}, which is no {kind}: {does}"
