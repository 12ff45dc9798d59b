"""Anything with rows and columns -> a Schema and compact blocks.

X is read once to learn its columns, and again in the same terms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Block, Codes, Reals, Words
from misnomer.rows import arrays, encode
from misnomer.rows.discover import infer
from misnomer.rows.encode import dimensions, is_embedding, words
from misnomer.rows.frames import arrow_columns, as_table, is_frame
from misnomer.rows.notation import plain
from misnomer.table import KINDS, Column, Group, Schema

Families = str | Mapping[Any, str]

_SHOWN = 5  # columns named in a sentence, at most
SIGNED = "signed"  # the form of counts whose negative ones are counted apart


def read(
    X: Any, families: Families = "auto", *, min_categories: Any = None
) -> tuple[Schema, tuple[Block, ...]]:
    """Learn what the columns of X are, and put its rows into compact form.

    Examples
    --------
    >>> schema, blocks = read(np.array([[1.5, 2.0], [0.5, np.nan]]))
    >>> [column.kind for column in schema.columns], blocks[0].rows
    (['gaussian', 'gaussian'], 2)
    """
    X = as_table(X)
    if sparse.issparse(X):
        kind = _sparse_kind(families)
        if kind == "count":
            return _read_sparse(X, may_be_signed=families == "auto")
        X = X.toarray()
    if _is_numeric(X):
        names = [f"x{j}" for j in range(X.shape[1])]
        kinds = _kinds(families, names)
        X = _filled(X)
        arrays.check_dense(X, names)
        schema = _at_least(arrays.infer_dense(X, names, kinds), min_categories)
        return schema, tuple(arrays.dense_block(X, schema, group) for group in schema.groups)
    names, data = arrow_columns(X)
    asked = dict(zip(names, _kinds(families, names), strict=True))
    found = _with_dimensions(names, data)
    columns = [
        infer(name, values, _kind_of(name, parent, asked[parent]))
        for parent, part in found.items()
        for name, values in part.items()
    ]
    schema = _at_least(Schema(tuple(columns)), min_categories)
    return schema, _encode({k: v for part in found.values() for k, v in part.items()}, schema)


def read_like(X: Any, schema: Schema) -> tuple[Block, ...]:
    """Put the rows of X into compact form, in the terms of a schema that was learned before."""
    X = as_table(X)
    if sparse.issparse(X):
        if [column.kind for column in schema.columns] == ["count"]:
            signed = schema.columns[0].form == SIGNED
            _check_width(X.shape[1] * (1 + signed), schema)
            return (arrays.sparse_words(arrays.by_sign(X) if signed else X),)
        X = X.toarray()
    numbered = all(column.name == f"x{j}" for j, column in enumerate(schema.columns))
    wide = [column.kind for column in schema.columns if column.width > 1] == ["count"]
    wide = wide and len(schema.columns) == 1
    if wide and isinstance(X, np.ndarray):
        _check_width(X.shape[1], schema)
        return (arrays.sparse_words(X),)
    if _is_numeric(X) and (numbered or not is_frame(X)):
        _check_width(X.shape[1], schema)
        X = _filled(X)
        arrays.check_dense(X, [column.name for column in schema.columns])
        if all(_numeric(column) for column in schema.columns):
            return tuple(arrays.dense_block(X, schema, group) for group in schema.groups)
    found = _with_dimensions(*arrow_columns(X))
    names = [name for part in found.values() for name in part]
    data = [values for part in found.values() for values in part.values()]
    return _encode(_match(names, data, schema, by_name=is_frame(X)), schema)


def grown(X: Any, schema: Schema, *, may_be_signed: bool = False) -> Schema:
    """Add the categories that more rows hold to those of a schema; nothing else of it changes.

    Hashed words may have been positive so far: those below zero are counted from here on.

    Examples
    --------
    >>> schema, _ = read(pa.table({"sex": ["f", "m"], "age": [1.5, 2.5]}))
    >>> grown(pa.table({"age": [7], "sex": ["x"]}), schema).columns[0].categories
    ('f', 'm', 'x')
    """
    X = as_table(X)
    if sparse.issparse(X) and [column.kind for column in schema.columns] == ["count"]:
        one = schema.columns[0]
        if may_be_signed and one.form != SIGNED and arrays.has_negative(X):
            one = replace(one, width=2 * one.width, form=SIGNED)
        return Schema((one,))
    if all(column.kind != "categorical" for column in schema.columns):
        return schema
    found = _with_dimensions(*arrow_columns(X.toarray() if sparse.issparse(X) else X))
    names = [name for part in found.values() for name in part]
    data = [values for part in found.values() for values in part.values()]
    rows = _match(names, data, schema, by_name=is_frame(X))
    return Schema(tuple(_grown(column, rows[column.name]) for column in schema.columns))


def _grown(column: Column, values: Any) -> Column:
    if column.kind != "categorical":
        return column
    more = pc.drop_null(pc.unique(plain(values))).to_pylist()
    try:
        return replace(column, categories=tuple(sorted({*column.categories, *more})))
    except TypeError:
        new, known = more[0], column.categories[0]
        raise ValueError(
            f"column {column.name!r} holds {new!r} ({type(new).__name__}), where the rows before "
            f"hold {known!r} ({type(known).__name__}): make them of one type"
        ) from None


def _with_dimensions(names: list[str], data: list[Any]) -> dict[str, dict[str, Any]]:
    """Split the embeddings among the columns into their dimensions; others stay what they are."""
    return {
        name: dimensions(name, values) if is_embedding(values.type) else {name: values}
        for name, values in zip(names, data, strict=True)
    }


def _kind_of(name: str, parent: str, kind: str) -> str:
    """Tell the family of a column, or of a dimension of the embedding that it belongs to."""
    if name == parent:
        return kind
    if kind not in ("auto", "embedding", "gaussian", "ignored"):
        raise ValueError(f'column {parent!r} holds lists of numbers, which are no "{kind}"')
    return "ignored" if kind == "ignored" else "gaussian"


def _read_sparse(X: Any, *, may_be_signed: bool) -> tuple[Schema, tuple[Block, ...]]:
    """Read counts; where some are negative, as hashed words are, either sign is a count."""
    signed = may_be_signed and arrays.has_negative(X)
    block = arrays.sparse_words(arrays.by_sign(X) if signed else X)
    form = SIGNED if signed else ""
    return Schema((Column("x", "count", width=block.width, form=form),)), (block,)


def _at_least(schema: Schema, wanted: Any) -> Schema:
    """Add the whole numbers 0, 1, ... that the user calls categories, whether they occur or not."""
    if wanted is None:
        return schema
    sizes = np.asarray(wanted)
    d = len(schema.columns)
    if sizes.dtype.kind not in "iu" or sizes.shape not in ((), (d,)):
        raise ValueError(
            f"'min_categories' should have shape ({d},) and hold whole numbers, not {wanted!r}"
        )
    pairs = zip(schema.columns, np.broadcast_to(sizes, d).tolist(), strict=True)
    return Schema(tuple(_with_categories(column, size) for column, size in pairs))


def _with_categories(column: Column, size: int) -> Column:
    whole = all(isinstance(value, int) for value in column.categories)
    if column.kind != "categorical" or not whole:
        return column
    return replace(column, categories=tuple(sorted({*column.categories, *range(size)})))


def _numeric(column: Column) -> bool:
    return column.kind != "text" and not isinstance((*column.categories, 0)[0], str)


def _is_numeric(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"


def _filled(X: NDArray[Any]) -> NDArray[Any]:
    """Turn the masked cells of a masked array into NaN."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan) if np.ma.is_masked(X) else X.data
    return X


def _sparse_kind(families: Families) -> str:
    kind = "count" if families == "auto" else families
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"a sparse matrix is of one family: say families='count' (or another name), "
            f"not {families!r}"
        )
    return kind


def _kinds(families: Families, names: list[str]) -> list[str]:
    """Tell the family of each column: one name for all, or a mapping by column name."""
    if isinstance(families, str):
        families = dict.fromkeys(names, families)
    elif all(isinstance(key, int) for key in families):
        families = {names[key]: kind for key, kind in families.items() if key < len(names)}
    unknown = sorted(map(str, set(families) - set(names)))
    if unknown:
        raise ValueError(f"families names a column that is not there: {', '.join(unknown)}")
    for name, kind in families.items():
        if kind not in (*KINDS, "auto", "embedding"):
            known = ", ".join(f'"{k}"' for k in KINDS)
            raise ValueError(f'column {name!r}: "{kind}" is no family; choose one of {known}')
    return [families.get(name, "auto") for name in names]


def _check_width(width: int, schema: Schema) -> None:
    if width != schema.width:
        raise ValueError(f"X has {width} features, but the model expects {schema.width} features")


def _match(names: list[str], data: list[Any], schema: Schema, *, by_name: bool) -> dict[str, Any]:
    """Line the columns up with the schema's: by name where they have names, else by place."""
    wanted = [column.name for column in schema.columns]
    found = dict(zip(names, data, strict=True))
    if by_name and (set(names) & set(wanted) or (_were_named(names) and _were_named(wanted))):
        missing = [name for name in wanted if name not in found]
        if len(missing) == len(wanted):
            raise ValueError(
                f"X has none of the columns of the training data ({_some(wanted)}): "
                f"it has {_some(names)}"
            )
        if missing:
            raise ValueError(f"column {missing[0]!r} of the training data is missing in X")
        return {name: found[name] for name in wanted}
    _check_width(len(names), schema)
    return dict(zip(wanted, data, strict=True))


def _were_named(names: list[str]) -> bool:
    """Tell whether somebody named these columns: numbers are places, and so is a single column."""
    return len(names) > 1 and not all(re.fullmatch(r"x?\d+", name) for name in names)


def _some(names: list[str]) -> str:
    """List some names, and say how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def _encode(data: dict[str, Any], schema: Schema) -> tuple[Block, ...]:
    return tuple(_block(data, schema, group) for group in schema.groups)


def _block(data: dict[str, Any], schema: Schema, group: Group) -> Block:
    members = [schema.columns[i] for i in group.members]
    if group.kind == "categorical":
        coded = [encode.codes(column, data[column.name]) for column in members]
        return Codes(np.stack(coded, axis=1), tuple(len(c.categories) for c in members))
    if group.kind == "bernoulli":
        pairs = [encode.flags(column, data[column.name]) for column in members]
        on, seen = (np.stack(part, axis=1) for part in zip(*pairs, strict=True))
        return arrays.pack(on, seen)
    if group.kind == "gaussian":
        numbers = [encode.reals(column.name, data[column.name], column.form) for column in members]
        return Reals(np.stack(numbers, axis=1), np.array([c.center for c in members]))
    if group.kind == "text":
        texts = plain(data[members[0].name]).cast(pa.string()).to_pylist()
        return Words(words(texts, members[0].words))
    counted = [encode.counts(column.name, data[column.name], column.form) for column in members]
    return Words(sparse.csr_array(np.stack(counted, axis=1)))
