"""Models on disk: a fitted classifier <-> model.safetensors, that of thousands of labels included.

Numbers are safetensors, words are JSON; loading runs no code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.channel import Channel
from misnomer.classifiers import NoisyLabelEstimator
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.model import Model
from misnomer.posterior import NoiseMatrix
from misnomer.solvers.network import Network
from misnomer.solvers.sparse import SparseModel
from misnomer.solvers.sparse.rows import PARTS, Background, Sums
from misnomer.solvers.task import Details, Fit
from misnomer.store import heads, validate
from misnomer.store.container import DamagedError, pack, read_bytes, unpack
from misnomer.store.validate import columns_of, described
from misnomer.store.writing import write_bytes, write_text
from misnomer.table import Column, Schema

__all__ = ["load_model", "save_model", "write_bytes", "write_text"]


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

    model: Any = classifier.model_
    if isinstance(model, Network):
        raise ValueError("a network with hidden layers cannot be kept in a file")
    if isinstance(model, SparseModel):
        arrays = {**sparse_arrays(model), "class_shares": classifier.class_prior_}
        kind: dict[str, Any] = {"sparse": True, "scale": float(model.scale), "rate": model.rate}
    else:
        arrays = _arrays(classifier, model) | heads.arrays_of(model, whole=whole)
        kind = {**_described(model.channel), **heads.about(model)}
    arrays["history"] = np.asarray(classifier.history_, np.float64)
    about = {
        "misnomer": __version__,
        "columns": [described(column) for column in model.schema.columns],
        "classes": _names(classifier.classes_),
        "labels": _names(classifier.labels_),
        "features": int(classifier.n_features_in_),
        "feature_names": list(getattr(classifier, "feature_names_in_", [])),
        "passes": int(classifier.n_iter_),
        "objective": repr(float(classifier.lower_bound_)),
        "converged": bool(classifier.converged_),
        "of_learners": isinstance(classifier, NoisyLabelClassifier),
        **kind,
    }
    return pack("model", arrays, about)


def _arrays(classifier: NoisyLabelEstimator, model: Model) -> dict[str, NDArray[Any]]:
    """Lay out what any dense model is made of."""
    channel = model.channel
    arrays: dict[str, NDArray[Any]] = {
        "prior": model.prior,
        "weights": model.weights,
        "channel.matrix": channel.matrix,
        "channel.free": channel.free.astype(np.uint8),
        "channel.counts": np.array(channel.counts, np.float64),
    }
    if model.bias is not None:
        arrays["bias"] = model.bias
    matrix = np.asarray(classifier.noise_matrix_, np.float64)
    if not np.array_equal(matrix, channel.matrix):
        arrays["noise_matrix"] = matrix
    return arrays


def _described(channel: Channel) -> dict[str, Any]:
    """Say what a channel's cells are."""
    classes, labels = (
        None if one is None else _names(np.array(one)) for one in (channel.classes, channel.labels)
    )
    return {"tied": channel.tied, "channel_classes": classes, "channel_labels": labels}


def _names(values: NDArray[Any]) -> dict[str, Any]:
    kind = "str" if values.dtype.kind in "US" else values.dtype.name
    return {"type": kind, "values": values.tolist()}


def model_from(data: bytes, name: str) -> NoisyLabelEstimator:
    """Turn bytes into a fitted classifier; everything is checked before it is believed."""
    arrays, about = unpack("model", data, name)
    try:
        return _classifier(arrays, about)
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError, MemoryError) as error:
        why = f" ({error})" if isinstance(error, validate.ContradictionError) else ""
        raise DamagedError(f"{name}: the model contradicts itself{why}") from None


def _classifier(arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> NoisyLabelEstimator:
    classes, labels = validate.names(about["classes"]), validate.names(about["labels"])
    columns = columns_of(about["columns"])
    K, L = len(classes), len(labels)
    if about.get("sparse"):
        model = sparse_model(arrays, about, columns, K)
        shares = validate.array(arrays, "class_shares", (K,))
        details = Details(noise_matrix=model.noise, class_shares=shares)
    else:
        model = _model(arrays, about, columns, L, K)
        details = Details(noise_matrix=_noise_matrix(arrays, L, K))
    history = validate.array(arrays, "history", (len(arrays["history"]),), finite=False)
    fit = Fit(
        model,
        float(about["objective"]),
        tuple(history.tolist()),
        validate.flag(about["converged"]),
        details,
    )
    classifier = NoisyLabelClassifier() if about.get("of_learners") else NoisyLabelNB()
    classifier._keep(fit, Naming(labels, classes, model.channel))
    classifier.n_iter_ = validate.number(about["passes"])
    classifier.n_features_in_ = validate.number(about["features"])
    names = validate.strings(about["feature_names"])
    if names:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    return classifier


def _model(
    arrays: dict[str, NDArray[Any]], about: dict[str, Any], columns: Any, L: int, K: int
) -> Model:
    statistics = sum(validate.statistics(column) for column in columns)
    prior = validate.array(arrays, "prior", (K,))
    weights = validate.array(arrays, "weights", (K, statistics))
    channel = _channel(arrays, about, L, K)
    validate.shares(prior, "prior")
    validate.bounded(weights, "weights")
    bias = validate.array(arrays, "bias", (K,)) if "bias" in arrays else None
    if bias is not None:
        validate.bounded(bias, "bias")
    return heads.with_head(Model(prior, channel, weights, Schema(columns), bias), arrays, about)


def _noise_matrix(arrays: dict[str, NDArray[Any]], L: int, K: int) -> NDArray[np.float64] | None:
    if "noise_matrix" not in arrays:
        return None
    matrix = validate.array(arrays, "noise_matrix", (L, K))
    for column in matrix.T:
        validate.shares(column, "noise matrix")
    return matrix


def _channel(arrays: dict[str, NDArray[Any]], about: dict[str, Any], L: int, K: int) -> Channel:
    matrix = validate.array(arrays, "channel.matrix", (L, K))
    free = validate.array(arrays, "channel.free", (L, K), np.uint8)
    counts = validate.array(arrays, "channel.counts", (L, K))
    if L:
        for column in matrix.T:
            validate.shares(column, "channel")
    if about["tied"] not in ("cells", "classes", "one"):
        raise validate.ContradictionError("its channel is tied in no known way")
    said = [about["channel_classes"], about["channel_labels"]]
    classes, labels = (None if one is None else tuple(validate.names(one).tolist()) for one in said)
    return Channel(matrix, free.astype(bool), counts, about["tied"], classes, labels)


Arrays = dict[str, NDArray[Any]]


def sparse_arrays(model: SparseModel) -> Arrays:
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
        return NoiseMatrix.of(*(validate.array(arrays, name, (L, K)) for name in names))
    P = arrays["matrix.cells"].shape[-1]
    given, true = validate.array(arrays, "matrix.cells", (2, P), np.int32).astype(np.int64)
    inside = (given >= 0) & (given < L) & (true >= 0) & (true < K)
    if not P or not inside.all() or (np.diff(given * K + true) <= 0).any():
        raise validate.ContradictionError("the cells of its matrix are not in order")
    value, low, high = (validate.array(arrays, name, (P,)) for name in names)
    rest = validate.array(arrays, "matrix.rest", (K,)) if "matrix.rest" in arrays else None
    return NoiseMatrix(given, true, value, low, high, (L, K), rest)


def sparse_model(arrays: Arrays, about: dict[str, Any], columns: tuple[Column, ...], K: int) -> Any:
    """Make the model again; everything is checked."""
    S = len(arrays["owner"])
    owner = validate.array(arrays, "owner", (S,), np.int64)
    G = int(owner.max(initial=0)) + 1
    if sum(map(_tokens, columns)) != S or G > S + 1 or (owner < 0).any():
        raise validate.ContradictionError("its counts are not those of its columns")
    prior = validate.array(arrays, "prior", (K,))
    validate.shares(prior, "prior")
    if (prior <= 0).any():
        raise validate.ContradictionError("a class has no chance")
    sums = Sums(
        _counts(arrays, K, S),
        _positive(arrays, "observed", (K, G)),
        _positive(arrays, "rows", (K,)),
    )
    m = _positive(arrays, "m", (G,))
    if (m <= 0).any():
        raise validate.ContradictionError("there are no virtual examples")
    behind = Background(_positive(arrays, "share", (S,)), m, owner.astype(np.intp))
    scale, rate = validate.real(about["scale"]), validate.real(about["rate"])
    cuts, noise = _cuts(arrays, columns), noise_of(arrays, K, K)
    return SparseModel(Schema(columns), cuts, sums, behind, prior, scale, noise, rate)


def _cuts(arrays: Arrays, columns: tuple[Column, ...]) -> NDArray[np.float64]:
    reals = sum(column.kind == "gaussian" for column in columns)
    cuts = validate.array(arrays, "cuts", (reals, PARTS - 1), finite=False)
    if np.isnan(cuts).any() or (cuts[:, 1:] < cuts[:, :-1]).any():
        raise validate.ContradictionError("the tenths of a column are not in order")
    return cuts


def _tokens(column: Column) -> int:
    """Count what may occur in a column: a flag has two values, a real number ten."""
    return {"gaussian": PARTS, "bernoulli": 2}.get(column.kind, validate.statistics(column))


def _positive(arrays: Arrays, name: str, shape: tuple[int, ...]) -> Any:
    values = validate.array(arrays, name, shape)
    if (values < 0).any():
        raise validate.ContradictionError(f"{name!r} holds negative numbers")
    return values


def _counts(arrays: Arrays, K: int, S: int) -> sparse.csr_array:
    size = len(arrays["counts.data"])
    parts = (
        _positive(arrays, "counts.data", (size,)),
        validate.array(arrays, "counts.indices", (size,), np.int32),
        validate.array(arrays, "counts.indptr", (K + 1,), np.int64),
    )
    counts = sparse.csr_array(parts, shape=(K, S))
    counts.check_format(full_check=True)
    if not counts.has_canonical_format:
        raise validate.ContradictionError("the counts of a class are not in order")
    return counts
