"""The kernels in C++: the names, signatures and answers of ``reference``, faster.

Arrays are checked here and read in place: the compiled module copies none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import _compiled, reference
from misnomer.kernels.blocks import Array, Block, Codes, Flags, Reals, Words
from misnomer.kernels.reference import Labels
from misnomer.kernels.threads import threads

_CODES = (np.uint8, np.uint16, np.uint32)
_REALS = (np.float32, np.float64)


def scores(blocks: Sequence[Block], weights: Array, n: int) -> Array:
    """Weigh the evidence: ``t(x_i) . weights[k]``, (n, K).

    Examples
    --------
    >>> codes = Codes(np.array([[0], [1], [9]], np.uint8), sizes=(2,))
    >>> scores((codes,), np.array([[1.0, 2.0], [3.0, 4.0]]), 3).tolist()
    [[1.0, 3.0], [2.0, 4.0], [0.0, 0.0]]
    """
    table = _table(blocks, n)
    weights = _weights(weights, table)
    out = np.empty((n, len(weights)))
    _compiled.scores(table, weights, out, threads())
    return out


def accumulate(blocks: Sequence[Block], share: Array) -> Array:
    """Share the rows out over the classes: ``sum_i share[i, k] t(x_i)``, (K, S).

    Examples
    --------
    >>> codes = Codes(np.array([[0], [1]], np.uint8), sizes=(2,))
    >>> accumulate((codes,), np.array([[0.25, 0.75], [1.0, 0.0]])).tolist()
    [[0.25, 1.0], [0.75, 0.0]]
    """
    share = np.ascontiguousarray(share, np.float64)
    table = _table(blocks, share.shape[0])
    out = _sums(share.shape[1], table)
    _compiled.accumulate(table, share, out, threads())
    return out


def tally(blocks: Sequence[Block], codes: Labels, size: int, weight: Array | None) -> Array:
    """Sum the statistics of the rows of each code: ``sum_{i: code_i = c} weight_i t(x_i)``.

    A negative code leaves the row out. Returns (size, S).

    Examples
    --------
    >>> columns = Codes(np.array([[0], [1], [1]], np.uint8), sizes=(2,))
    >>> tally((columns,), np.array([0, 1, -1], np.int32), 2, None).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    codes = row_codes(codes, size)
    table = _table(blocks, len(codes))
    out = _sums(size, table) if table.only_words else np.zeros((size, table.width))
    _compiled.tally(table, codes, _row_weights(weight, len(codes)), out, threads())
    return out


def expect(
    blocks: Sequence[Block], weights: Array, table: Array, codes: Labels, weight: Array | None
) -> tuple[Array, Array, float]:
    """Share each row out by its posterior and add up: the E-step and the sums of the M-step.

    ``posterior[i] = softmax(t(x_i) . weights + table[code_i])``; returns the weight by code and
    class (R, K), the sums by class (K, S), and ``sum_i weight_i log sum_k exp(...)``.

    Examples
    --------
    >>> table = np.log([[0.2, 0.6]])
    >>> joint, sums, loglik = expect((), np.zeros((2, 0)), table, np.zeros(3, np.int32), None)
    >>> joint.round(2).tolist(), sums.shape, round(float(np.exp(loglik / 3)), 2)
    ([[0.75, 2.25]], (2, 0), 0.8)
    """
    rows = _table(blocks, len(codes))
    weights, table = _weights(weights, rows), np.asarray(table, np.float64)
    if table.ndim != 2 or table.shape[1] != len(weights):
        raise ValueError(f"table has shape {table.shape}; it needs {len(weights)} columns.")
    codes = row_codes(codes, len(table), least=0)
    joint, sums = np.zeros(table.shape), _sums(len(weights), rows)
    value = _row_weights(weight, len(codes))
    if rows.has_words or len(weights) < 2 or not (_finite(weights) and _finite(table)):
        loglik = _compiled.expect(rows, weights, table, codes, value, joint, sums, threads())
        return joint, sums, loglik
    # Only differences between classes matter to the shares: one class fewer has to be scored.
    # What the last class would have scored, over all rows, is a matter of the sums.
    above, by_code = weights[:-1] - weights[-1], table[:, :-1] - table[:, -1:]
    excess = _compiled.expect(rows, above, by_code, codes, value, joint, sums, threads())
    last = weights[-1] @ sums.sum(axis=0) + table[:, -1] @ joint.sum(axis=1)
    return joint, sums, float(excess + last)


def presence(codes: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.bool_]:
    """Find which values occur in each column of uint8 (or uint16) codes: (d, 256) or (d, 65536).

    Examples
    --------
    >>> seen = presence(np.array([[0, 7], [2, 7]], np.uint8))
    >>> [np.flatnonzero(column).tolist() for column in seen]
    [[0, 2], [7]]
    """
    codes = _rows("codes", codes, (np.uint8, np.uint16))
    seen = np.zeros((codes.shape[1], 1 << (8 * codes.itemsize)), np.uint8)
    _compiled.presence(codes, seen)
    return seen.view(np.bool_)


def softmax(scores: Array) -> tuple[Array, Array]:
    """Turn log weights into shares: ``exp(a - height)`` and ``height = log sum exp(a)``.

    Examples
    --------
    >>> share, height = softmax(np.log([[1.0, 3.0]]))
    >>> share.round(2).tolist(), np.exp(height).round(2).tolist()
    ([[0.25, 0.75]], [4.0])
    """
    share = np.array(scores, np.float64, order="C")
    height = np.empty(len(share))
    _compiled.softmax(share, height)
    return share, height


def label_slopes(
    logits: Array,
    table: Array,
    codes: Labels,
    weight: Array,
    *,
    besides: Array | None = None,
    anchor: Array | None = None,
    holds: Array | None = None,
    overwrite: bool = False,
) -> tuple[float, Array, Array]:
    """Say what labels cost that are seen through a channel, and how they pull the logits of rows.

    ``- sum_i weight_i log sum_k table[code_i, k] besides_ik share_ik - sum_k anchor_k log mean_k``
    with ``share = softmax(logits)`` and ``mean`` the share of each class over all rows, weighed by
    ``holds`` (else by ``weight``); its gradient by the logits, (n, K); and the weight of each line
    of the table and class a posteriori, (R, K). The gradient may ``overwrite`` the logits.

    Examples
    --------
    >>> channel = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> cost, slope, joint = label_slopes(
    ...     np.zeros((1, 2)), channel, np.zeros(1, np.int32), np.ones(1)
    ... )
    >>> round(float(np.exp(-cost)), 2), slope.round(2).tolist(), joint.round(2).tolist()
    (0.55, [[-0.32, 0.32]], [[0.82, 0.18], [0.0, 0.0]])
    """
    if not overwrite:
        logits = np.array(logits, np.float64)
    share = np.require(logits, np.float64, ["C", "W"])
    n, K = share.shape
    _compiled.softmax(share, np.empty(n))
    table = np.ascontiguousarray(table, np.float64)
    if table.ndim != 2 or table.shape[1] != K:
        raise ValueError(f"table has shape {table.shape}; it needs {K} columns.")
    if besides is not None:
        besides = np.ascontiguousarray(besides, np.float64)
        if besides.shape != share.shape:
            raise ValueError(f"besides has shape {besides.shape}, not {share.shape}.")
    if anchor is not None:
        anchor = np.ascontiguousarray(anchor, np.float64)
        if anchor.shape != (K,):
            raise ValueError(f"anchor has shape {anchor.shape}; it needs {K} numbers.")
    codes = row_codes(codes, len(table), least=0)
    if len(codes) != n:
        raise ValueError(f"there are {len(codes)} codes for {n} rows.")
    value = _some_weights(weight, n)
    held = value if holds is None else _some_weights(holds, n)
    chance, mean, joint = np.empty(n), np.zeros(K), np.zeros(table.shape)
    _compiled.label_slopes(share, table, codes, besides, value, held, anchor, chance, mean, joint)
    cost = -float(weight @ np.log(chance))
    if anchor is not None:
        cost -= float(anchor @ np.log(mean))
    return cost, share, joint


def log_shares(sums: Array, virtual: Array) -> Array:
    """Take ``log c - log sum_s c`` with ``c = sums + virtual``, (K, S).

    Counts that are not positive are left to the definition, which says what they mean.

    Examples
    --------
    >>> np.exp(log_shares(np.array([[2.0, 1.0, 0.0]]), np.ones((1, 3)))).round(3).tolist()
    [[0.5, 0.333, 0.167]]
    """
    sums = np.asarray(sums, np.float64)
    virtual = np.broadcast_to(np.asarray(virtual, np.float64), sums.shape)
    K, S = sums.shape
    out = np.empty((S, K)).T if sums.strides[0] < sums.strides[1] else np.empty((K, S))
    if not _compiled.log_shares(sums, virtual, out):
        return reference.log_shares(sums, virtual)
    return out


def backend() -> str:
    """Name the instruction set in use: "baseline", "avx2" or "avx512".

    ``MISNOMER_SIMD`` in the environment chooses another one.
    """
    return str(_compiled.variant())


def _table(blocks: Sequence[Block], n: int) -> _compiled.Blocks:
    table = _compiled.Blocks(n)
    for block in blocks:
        if isinstance(block, Codes):
            table.add_codes(_rows("codes", block.codes, _CODES), [int(s) for s in block.sizes])
        elif isinstance(block, Flags):
            seen = None if block.observed is None else _rows("flags", block.observed, (np.uint8,))
            table.add_flags(_rows("flags", block.bits, (np.uint8,)), seen, block.columns)
        elif isinstance(block, Reals):
            center = np.ascontiguousarray(block.center, np.float64)
            table.add_reals(_rows("reals", block.values, _REALS), center)
        else:
            _add_words(table, block)
    return table


def _add_words(table: _compiled.Blocks, block: Words) -> None:
    matrix = block.matrix
    data = np.ascontiguousarray(matrix.data)
    if data.dtype == np.bool_:
        data = data.view(np.uint8)
    narrow = matrix.indices.dtype == np.int32 and matrix.indptr.dtype == np.int32
    kind = np.int32 if narrow else np.int64
    indices = np.ascontiguousarray(matrix.indices, kind)
    starts = np.ascontiguousarray(matrix.indptr, kind)
    if matrix.shape[0] + 1 != len(starts) or len(data) < len(indices):
        raise ValueError("The parts of a matrix of words do not fit together: rebuild the matrix.")
    table.add_words(data[: len(indices)], indices, starts, matrix.shape[1])


def _sums(classes: int, table: _compiled.Blocks) -> Array:
    """Make room for sums, (K, S); those of words are best added up with the classes in a row."""
    if not table.has_words:
        return np.zeros((classes, table.width))
    return np.zeros((table.width, _compiled.padded(classes)))[:, :classes].T


def _rows(what: str, array: NDArray[Any], types: Sequence[type]) -> NDArray[Any]:
    if array.dtype.type not in types or array.ndim != 2:
        names = ", ".join(np.dtype(t).name for t in types)
        raise ValueError(f"{what} of {array.ndim}-D {array.dtype} cannot be read; use 2-D {names}.")
    return np.ascontiguousarray(array)


def _weights(weights: Array, table: _compiled.Blocks) -> Array:
    weights = np.asarray(weights, np.float64)
    if weights.ndim != 2 or weights.shape[1] != table.width or not len(weights):
        raise ValueError(
            f"weights have shape {weights.shape}; they need a row for each class "
            f"and {table.width} columns, one for each statistic."
        )
    return weights


def _finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


def row_codes(codes: Labels, size: int, *, least: int | None = None) -> Labels:
    """Check the codes of rows: below a number, and not below another."""
    codes = np.ascontiguousarray(codes, np.int32)
    if len(codes) and (codes.max() >= size or (least is not None and codes.min() < least)):
        bad = (codes >= size) | (codes < (-1 if least is None else least))
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"row {row} has the code {codes[row]}, which is not below {size}.")
    return codes


def _row_weights(weight: Array | None, n: int) -> Array | None:
    return None if weight is None else _some_weights(weight, n)


def _some_weights(weight: Array, n: int) -> Array:
    weight = np.ascontiguousarray(weight, np.float64)
    if weight.shape != (n,):
        raise ValueError(f"weight has shape {weight.shape} where {n} rows are expected.")
    return weight
