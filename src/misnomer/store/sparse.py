"""The model of thousands of labels <-> arrays: what was counted, and the confusions seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.posterior import NoiseMatrix
from misnomer.solvers.sparse.model import SparseModel
from misnomer.solvers.sparse.rows import PARTS, Background, Sums
from misnomer.store import checks
from misnomer.table import Column, Schema

Arrays = dict[str, NDArray[Any]]


def arrays_of(model: SparseModel) -> Arrays:
    """Lay the counts, the virtual examples and the channel out."""
    counts, noise = model.sums.counts, model.noise
    return {
        "counts.data": counts.data.astype(np.float64),
        "counts.indices": counts.indices.astype(np.int32),
        "counts.indptr": counts.indptr.astype(np.int64),
        "observed": model.sums.observed,
        "rows": model.sums.rows,
        "share": model.behind.share,
        "m": model.behind.m,
        "owner": model.behind.owner.astype(np.int64),
        "prior": model.prior,
        "cuts": model.cuts,
        **noise_arrays(noise),
    }


def noise_arrays(noise: NoiseMatrix) -> Arrays:
    """Take a matrix down; one that is not whole with its cells."""
    form = noise.shape if noise.is_whole else (-1,)
    out: Arrays = {"matrix": noise.value.reshape(form)}
    out |= {"matrix_low": noise.low.reshape(form), "matrix_high": noise.high.reshape(form)}
    if not noise.is_whole:
        out["matrix.cells"] = np.stack([noise.given, noise.true]).astype(np.int32)
    if noise.rest is not None:
        out["matrix.rest"] = noise.rest
    return out


def noise_of(arrays: Arrays, L: int, K: int) -> NoiseMatrix:
    """Make the matrix and its interval again."""
    names = ("matrix", "matrix_low", "matrix_high")
    if "matrix.cells" not in arrays:
        return NoiseMatrix.of(*(checks.array(arrays, name, (L, K)) for name in names))
    P = arrays["matrix.cells"].shape[-1]
    given, true = checks.array(arrays, "matrix.cells", (2, P), np.int32).astype(np.int64)
    inside = (given >= 0) & (given < L) & (true >= 0) & (true < K)
    if not P or not inside.all() or (np.diff(given * K + true) <= 0).any():
        raise checks.ContradictionError("the cells of its matrix are not in order")
    value, low, high = (checks.array(arrays, name, (P,)) for name in names)
    rest = checks.array(arrays, "matrix.rest", (K,)) if "matrix.rest" in arrays else None
    return NoiseMatrix(given, true, value, low, high, (L, K), rest)


def model_of(arrays: Arrays, about: dict[str, Any], columns: tuple[Column, ...], K: int) -> Any:
    """Make the model again; everything is checked."""
    S = len(arrays["owner"])
    owner = checks.array(arrays, "owner", (S,), np.int64)
    G = int(owner.max(initial=0)) + 1
    if sum(map(_tokens, columns)) != S or G > S + 1 or (owner < 0).any():
        raise checks.ContradictionError("its counts are not those of its columns")
    prior = checks.array(arrays, "prior", (K,))
    checks.shares(prior, "prior")
    if (prior <= 0).any():
        raise checks.ContradictionError("a class has no chance")
    sums = Sums(
        _counts(arrays, K, S),
        _positive(arrays, "observed", (K, G)),
        _positive(arrays, "rows", (K,)),
    )
    m = _positive(arrays, "m", (G,))
    if (m <= 0).any():
        raise checks.ContradictionError("there are no virtual examples")
    behind = Background(_positive(arrays, "share", (S,)), m, owner.astype(np.intp))
    scale, rate = checks.real(about["scale"]), checks.real(about["rate"])
    cuts, noise = _cuts(arrays, columns), noise_of(arrays, K, K)
    return SparseModel(Schema(columns), cuts, sums, behind, prior, scale, noise, rate)


def _cuts(arrays: Arrays, columns: tuple[Column, ...]) -> NDArray[np.float64]:
    reals = sum(column.kind == "gaussian" for column in columns)
    cuts = checks.array(arrays, "cuts", (reals, PARTS - 1), finite=False)
    if np.isnan(cuts).any() or (cuts[:, 1:] < cuts[:, :-1]).any():
        raise checks.ContradictionError("the tenths of a column are not in order")
    return cuts


def _tokens(column: Column) -> int:
    """Count what may occur in a column: a flag has two values, a real number ten."""
    return {"gaussian": PARTS, "bernoulli": 2}.get(column.kind, checks.statistics(column))


def _positive(arrays: Arrays, name: str, shape: tuple[int, ...]) -> Any:
    values = checks.array(arrays, name, shape)
    if (values < 0).any():
        raise checks.ContradictionError(f"{name!r} holds negative numbers")
    return values


def _counts(arrays: Arrays, K: int, S: int) -> sparse.csr_array:
    size = len(arrays["counts.data"])
    parts = (
        _positive(arrays, "counts.data", (size,)),
        checks.array(arrays, "counts.indices", (size,), np.int32),
        checks.array(arrays, "counts.indptr", (K + 1,), np.int64),
    )
    counts = sparse.csr_array(parts, shape=(K, S))
    counts.check_format(full_check=True)
    if not counts.has_canonical_format:
        raise checks.ContradictionError("the counts of a class are not in order")
    return counts
