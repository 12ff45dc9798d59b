"""The definition of every kernel, in NumPy: slow where the compiled one is fast, never different.

A table of rows is a tuple of blocks. With t(x) the statistics of all blocks side by side,

    scores      t(x) . weights[k]                                       for each row and class
    accumulate  sum over rows of share[i, k] t(x_i)                     for each class
    tally       sum over rows with code c of weight_i t(x_i)            for each code
    expect      scores + table[code], softmax, accumulate, in one pass  (the E-step of EM)
    log_shares  log of counts over their sum                            (weights of words)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Array, Block, Codes, Flags, Reals

Labels = NDArray[np.int32]

#: Stands for log 0: its exponential is exactly zero, yet sums and products of it stay finite.
LOG_ZERO = -1e6
LEAST_CHANCE, LEAST_MEAN = 1e-300, 1e-9  # of what is said of a row; of a class over all rows

CHUNK_ROWS = 1 << 14  # rows whose statistics are spelled out at a time


def statistic(block: Block) -> Array | sparse.csr_array:
    """Spell out t(x) of every row of a block, (n, s).

    Examples
    --------
    >>> codes = Codes(np.array([[0, 1], [2, 9]], np.uint8), sizes=(3, 2))
    >>> statistic(codes).toarray().astype(int).tolist()
    [[1, 0, 0, 0, 1], [0, 0, 1, 0, 0]]
    """
    if isinstance(block, Codes):
        return _indicator(block)
    if isinstance(block, Flags):
        return _observed_flags(block)
    if isinstance(block, Reals):
        return _powers(block)
    return block.matrix


def _indicator(block: Codes) -> sparse.csr_array:
    sizes = np.array(block.sizes, np.int64)
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(sizes) else sizes
    seen = block.codes < sizes
    columns = (block.codes.astype(np.int64) + offset)[seen]
    starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    return sparse.csr_array(
        (np.ones(len(columns)), columns, starts), shape=(block.rows, block.width)
    )


def _observed_flags(block: Flags) -> Array:
    shape = {"axis": 1, "count": block.columns, "bitorder": "little"}
    on = np.unpackbits(block.bits, **shape)  # type: ignore[call-overload]
    bits = np.full_like(block.bits, 255) if block.observed is None else block.observed
    seen = np.unpackbits(bits, **shape)  # type: ignore[call-overload]
    both: Array = np.concatenate([seen, on & seen], axis=1).astype(np.float64)
    return both


def _powers(block: Reals) -> Array:
    n, d = block.values.shape
    out = np.empty((n, 3 * d))
    seen, shifted, square = out[:, :d], out[:, d : 2 * d], out[:, 2 * d :]
    np.subtract(block.values, block.center, out=shifted)
    gaps = np.isnan(shifted)
    np.logical_not(gaps, out=seen)
    shifted[gaps] = 0.0
    np.square(shifted, out=square)
    return out


def _pieces(blocks: Sequence[Block], n: int) -> list[slice]:
    return [slice(a, min(a + CHUNK_ROWS, n)) for a in range(0, n, CHUNK_ROWS)]


def _spans(blocks: Sequence[Block]) -> list[slice]:
    edges = np.concatenate([[0], np.cumsum([block.width for block in blocks])]).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def scores(blocks: Sequence[Block], weights: Array, n: int) -> Array:
    """Weigh the evidence: ``t(x_i) . weights[k]``, (n, K)."""
    out = np.zeros((n, weights.shape[0]))
    for piece in _pieces(blocks, n):
        for block, span in zip(blocks, _spans(blocks), strict=True):
            out[piece] += statistic(block.take(piece)) @ weights[:, span].T
    return out


def accumulate(blocks: Sequence[Block], share: Array) -> Array:
    """Share the rows out over the classes: ``sum_i share[i, k] t(x_i)``, (K, S)."""
    n, classes = share.shape
    out = np.zeros((classes, sum(block.width for block in blocks)))
    for piece in _pieces(blocks, n):
        for block, span in zip(blocks, _spans(blocks), strict=True):
            out[:, span] += (statistic(block.take(piece)).T @ share[piece]).T
    return out


def tally(blocks: Sequence[Block], codes: Labels, size: int, weight: Array | None) -> Array:
    """Sum the statistics of the rows of each code: ``sum_{i: code_i = c} weight_i t(x_i)``.

    A negative code leaves the row out. Returns (size, S).
    """
    kept = np.flatnonzero(codes >= 0)
    value = np.ones(len(codes)) if weight is None else weight
    share = sparse.csr_array((value[kept], (kept, codes[kept])), shape=(len(codes), size))
    out = np.zeros((size, sum(block.width for block in blocks)))
    for block, span in zip(blocks, _spans(blocks), strict=True):
        for piece in _pieces(blocks, len(codes)):
            product = share[piece].T @ statistic(block.take(piece))
            out[:, span] += product.toarray() if sparse.issparse(product) else product
    return out


def expect(
    blocks: Sequence[Block], weights: Array, table: Array, codes: Labels, weight: Array | None
) -> tuple[Array, Array, float]:
    """Share each row out by its posterior and add up: the E-step and the sums of the M-step.

    ``posterior[i] = softmax(t(x_i) . weights + table[code_i])``; returns the weight by code and
    class (R, K), the sums by class (K, S), and ``sum_i weight_i log sum_k exp(...)``.
    """
    n = len(codes)
    value = np.ones(n) if weight is None else weight
    share, height = softmax(scores(blocks, weights, n) + table[codes])
    share *= value[:, None]
    joint = np.zeros_like(table)
    np.add.at(joint, codes, share)
    return joint, accumulate(blocks, share), float(value @ height)


def presence(codes: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.bool_]:
    """Find which values occur in each column of uint8 (or uint16) codes: (d, 256) or (d, 65536).

    Examples
    --------
    >>> seen = presence(np.array([[0, 7], [2, 7]], np.uint8))
    >>> [np.flatnonzero(column).tolist() for column in seen]
    [[0, 2], [7]]
    """
    seen = np.zeros((codes.shape[1], 1 << (8 * codes.itemsize)), np.bool_)
    for column, values in zip(seen, codes.T, strict=True):
        column[values] = True
    return seen


def softmax(scores: Array) -> tuple[Array, Array]:
    """Turn log weights into shares: ``exp(a - height)`` and ``height = log sum exp(a)``.

    Examples
    --------
    >>> share, height = softmax(np.log([[1.0, 3.0]]))
    >>> share.round(2).tolist(), np.exp(height).round(2).tolist()
    ([[0.25, 0.75]], [4.0])
    """
    top = scores.max(axis=1, keepdims=True)
    share = np.exp(scores - top)
    total = share.sum(axis=1, keepdims=True)
    return share / total, (top + np.log(total))[:, 0]


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
    share = softmax(logits)[0]
    joint = share * table[codes] if besides is None else share * table[codes] * besides
    chance = np.maximum(joint.sum(axis=1), LEAST_CHANCE)
    joint = weight[:, None] * joint / chance[:, None]
    slope, cost = weight[:, None] * share - joint, -float(weight @ np.log(chance))
    if anchor is not None:
        holds = weight if holds is None else holds
        total = max(float(holds.sum()), LEAST_MEAN)
        mean = np.maximum(holds @ share / total, LEAST_MEAN)
        pull = -anchor / mean / total
        slope = slope + holds[:, None] * share * (pull - (share @ pull)[:, None])
        cost -= float(anchor @ np.log(mean))
    by_code = [np.bincount(codes, column, minlength=len(table)) for column in joint.T]
    return cost, slope, np.stack(by_code, axis=1)


def log_shares(sums: Array, virtual: Array) -> Array:
    """Take ``log c - log sum_s c`` with ``c = sums + virtual``, (K, S).

    A share of zero has the logarithm ``LOG_ZERO``; a class without counts has even shares.

    Examples
    --------
    >>> np.exp(log_shares(np.array([[2.0, 1.0, 0.0]]), np.ones((1, 3)))).round(3).tolist()
    [[0.5, 0.333, 0.167]]
    """
    counts = sums + virtual
    mass = counts.sum(axis=1, keepdims=True)
    none = mass <= 0
    shares = np.where(none, 1.0 / max(sums.shape[1], 1), counts / np.where(none, 1.0, mass))
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(shares), LOG_ZERO))
