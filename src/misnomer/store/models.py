"""A fitted classifier <-> model.safetensors, that of thousands of labels included."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.channel import Channel
from misnomer.classifiers.base import NoisyLabelEstimator, NoisyLabelNB
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.classifiers.wide import WideModel
from misnomer.model import Model
from misnomer.solvers.conditional.network import Network
from misnomer.solvers.sparse.rows import PARTS, Background, Sums
from misnomer.solvers.task import Details, Fit
from misnomer.store import checks, heads
from misnomer.store.checks import columns_of, described
from misnomer.store.container import DamagedError, pack, read_bytes, unpack
from misnomer.store.writing import write_bytes
from misnomer.table import Schema


def save_model(classifier: NoisyLabelEstimator, path: str | Path) -> Path:
    """Write a fitted classifier to a file, all of it or nothing.

    Examples
    --------
    >>> import tempfile
    >>> clf = NoisyLabelNB().fit([["a"], ["b"], ["b"]], [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     same = load_model(save_model(clf, folder + "/model.safetensors"))
    >>> same.predict([["b"]]).tolist()
    [1]
    """
    return write_bytes(path, model_bytes(classifier))


def load_model(path: str | Path) -> NoisyLabelEstimator:
    """Read a classifier; refuse a file that is damaged, foreign or newer, in one sentence."""
    return model_from(read_bytes(path), str(path))


def model_bytes(classifier: NoisyLabelEstimator, *, whole: bool = True) -> bytes:
    """Turn a fitted classifier into bytes; ``whole`` refuses one with a learner of the user's."""
    from misnomer.version import __version__

    model = classifier.model_
    if isinstance(model, Network):
        raise ValueError("a network with hidden layers cannot be kept in a file")
    channel = model.channel
    arrays: dict[str, NDArray[Any]] = {
        "prior": model.prior,
        "weights": model.weights,
        "channel.matrix": channel.matrix,
        "channel.free": channel.free.astype(np.uint8),
        "channel.counts": np.array(channel.counts, np.float64),
        "history": np.asarray(classifier.history_, np.float64),
    }
    if model.bias is not None:
        arrays["bias"] = model.bias
    matrix = np.asarray(classifier.noise_matrix_, np.float64)
    if not np.array_equal(matrix, channel.matrix):
        arrays["noise_matrix"] = matrix
    arrays |= heads.arrays_of(model, whole=whole)
    about = {
        "misnomer": __version__,
        "columns": [described(column) for column in model.schema.columns],
        "classes": _names(classifier.classes_),
        "labels": _names(classifier.labels_),
        "tied": channel.tied,
        "channel_classes": None if channel.classes is None else _names(np.array(channel.classes)),
        "channel_labels": None if channel.labels is None else _names(np.array(channel.labels)),
        "features": int(classifier.n_features_in_),
        "feature_names": list(getattr(classifier, "feature_names_in_", [])),
        "passes": int(classifier.n_iter_),
        "objective": repr(float(classifier.lower_bound_)),
        "converged": bool(classifier.converged_),
        "of_learners": isinstance(classifier, NoisyLabelClassifier),
        **heads.about(model),
    }
    return pack("model", arrays, about)


def _names(values: NDArray[Any]) -> dict[str, Any]:
    kind = "str" if values.dtype.kind in "US" else values.dtype.name
    return {"type": kind, "values": values.tolist()}


def model_from(data: bytes, name: str) -> NoisyLabelEstimator:
    """Turn bytes into a fitted classifier; everything is checked before it is believed."""
    return _unpacked("model", data, name, _classifier)


def _unpacked(kind: str, data: bytes, name: str, make: Callable[..., Any]) -> Any:
    """Make a model of what bytes hold; one sentence where that cannot be."""
    arrays, about = unpack(kind, data, name)
    try:
        return make(arrays, about)
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError, MemoryError) as error:
        why = f" ({error})" if isinstance(error, checks.ContradictionError) else ""
        raise DamagedError(f"{name}: the model contradicts itself{why}") from None


def _classifier(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> NoisyLabelEstimator:
    classes, labels = checks.names(about["classes"]), checks.names(about["labels"])
    columns = columns_of(about["columns"])
    K, L = len(classes), len(labels)
    statistics = sum(checks.statistics(column) for column in columns)
    prior = checks.array(arrays, "prior", (K,))
    weights = checks.array(arrays, "weights", (K, statistics))
    channel = _channel(arrays, about, L, K)
    checks.shares(prior, "prior")
    checks.bounded(weights, "weights")
    bias = checks.array(arrays, "bias", (K,)) if "bias" in arrays else None
    if bias is not None:
        checks.bounded(bias, "bias")
    model = Model(prior, channel, weights, Schema(columns), bias)
    model = heads.with_head(model, arrays, about)
    classifier = NoisyLabelClassifier() if about.get("of_learners") else NoisyLabelNB()
    history = checks.array(arrays, "history", (len(arrays["history"]),), finite=False)
    details = Details()
    if "noise_matrix" in arrays:
        details = Details(noise_matrix=checks.array(arrays, "noise_matrix", (L, K)))
        for column in arrays["noise_matrix"].T:
            checks.shares(column, "noise matrix")
    fit = Fit(
        model,
        float(about["objective"]),
        tuple(history.tolist()),
        checks.flag(about["converged"]),
        details,
    )
    classifier._keep(fit, Naming(labels, classes, channel))
    classifier.n_iter_ = checks.number(about["passes"])
    classifier.n_features_in_ = checks.number(about["features"])
    names = checks.strings(about["feature_names"])
    if names:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    return classifier


def _channel(arrays: dict[str, NDArray[Any]], about: dict[str, Any], L: int, K: int) -> Channel:
    matrix = checks.array(arrays, "channel.matrix", (L, K))
    free = checks.array(arrays, "channel.free", (L, K), np.uint8)
    counts = checks.array(arrays, "channel.counts", (L, K))
    if L:
        for column in matrix.T:
            checks.shares(column, "channel")
    if about["tied"] not in ("cells", "classes", "one"):
        raise checks.ContradictionError("its channel is tied in no known way")
    said = [about["channel_classes"], about["channel_labels"]]
    classes, labels = (None if one is None else tuple(checks.names(one).tolist()) for one in said)
    return Channel(matrix, free.astype(bool), counts, about["tied"], classes, labels)


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
    return _unpacked(KIND, data, name, _model)


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
    values = checks.array(arrays, name, shape)
    if (values < 0).any():
        raise checks.ContradictionError(f"{name!r} holds negative numbers")
    return values


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
