"""A model of many classes <-> model.safetensors; and which of the two models a file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.wide import WideModel
from misnomer.solvers.sparse.rows import PARTS
from misnomer.solvers.sparse.weights import Background, Sums
from misnomer.store import checks
from misnomer.store.checks import columns_of, described
from misnomer.store.container import DamagedError, pack, read_bytes, unpack
from misnomer.store.models import _names, model_from
from misnomer.table import Schema

KIND = "wide model"


def load_predictor(path: str | Path) -> NoisyLabelNB | WideModel:
    """Read a classifier, or a model of many classes; refuse anything else in one sentence."""
    data, name = read_bytes(path), str(path)
    return wide_from(data, name) if _is_wide(data) else model_from(data, name)


def wide_bytes(model: WideModel) -> bytes:
    """Turn a model of many classes into bytes."""
    from misnomer.version import __version__

    counts = model.sums.counts
    arrays: dict[str, NDArray[Any]] = {
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
    }
    about = {
        "misnomer": __version__,
        "columns": [described(column) for column in model.schema.columns],
        "classes": _names(model.classes_),
        "scale": float(model.scale),
    }
    return pack(KIND, arrays, about)


def wide_from(data: bytes, name: str) -> WideModel:
    """Turn bytes into a model; everything is checked before it is believed."""
    arrays, about = unpack(KIND, data, name)
    try:
        return _model(arrays, about)
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError, MemoryError) as error:
        why = f" ({error})" if isinstance(error, checks.ContradictionError) else ""
        raise DamagedError(f"{name}: the model contradicts itself{why}") from None


def _is_wide(data: bytes) -> bool:
    """Tell what a file says that it is; a damaged one is left to whoever reads all of it."""
    try:
        size = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["misnomer"])
        return bool(about["format"] == f"misnomer {KIND}")
    except (ValueError, KeyError, TypeError, RecursionError, MemoryError):
        return False


def _model(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> WideModel:
    classes, columns = checks.names(about["classes"]), columns_of(about["columns"])
    K, S = len(classes), len(arrays["owner"])
    owner = checks.array(arrays, "owner", (S,), np.int64)
    G = int(owner.max(initial=0)) + 1
    if sum(map(_tokens, columns)) != S or G > S + 1 or (owner < 0).any():
        raise checks.ContradictionError("its counts are not those of its columns")
    reals = sum(column.kind == "gaussian" for column in columns)
    cuts = checks.array(arrays, "cuts", (reals, PARTS - 1), finite=False)
    if np.isnan(cuts).any() or (cuts[:, 1:] < cuts[:, :-1]).any():
        raise checks.ContradictionError("the tenths of a column are not in order")
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
    scale = checks.real(about["scale"])
    return WideModel(Schema(columns), classes, cuts, sums, behind, prior, scale)


def _tokens(column: Any) -> int:
    """Count what may occur in a column: a flag has two values, a real number ten."""
    return {"gaussian": PARTS, "bernoulli": 2}.get(column.kind, checks.statistics(column))


def _positive(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> Any:
    found = checks.array(arrays, name, shape)
    if (found < 0).any():
        raise checks.ContradictionError(f"{name!r} holds negative numbers")
    return found


def _counts(arrays: dict[str, NDArray[Any]], K: int, S: int) -> sparse.csr_array:
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
