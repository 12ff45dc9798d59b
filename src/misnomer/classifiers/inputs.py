"""The border: X, y, weights and trusted rows as users give them -> a Schema and a Batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from misnomer import channel as channels
from misnomer.channel import Channel
from misnomer.classifiers import labels
from misnomer.readers.frames import is_frame

Array = NDArray[np.float64]


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape of X and remember (or compare) its columns, without copying it."""
    if is_frame(X) and not isinstance(X, np.ndarray) and not sparse.issparse(X):
        if not _num_samples(X):
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): X has no rows")
        if reset:
            validate_data(estimator, X, reset=True, skip_check_array=True)
        return X
    if isinstance(X, list | tuple):
        plain = np.asarray(X)
        X = np.asarray(X, dtype=object) if plain.dtype.kind in "US" else plain
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan) if X.dtype.kind in "fiu" else X
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=["csr", "csc"],
        dtype=None,
        ensure_all_finite=False,
    )


def checked_weights(sample_weight: Any, X: Any) -> Array | None:
    """Check the weights: one per row, not negative, not all zero."""
    if sample_weight is None:
        return None
    if not np.any(np.asarray(sample_weight)):
        raise ValueError("every sample weight is zero: no row is left to learn from")
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(weight, np.float64)


def kept_rows(weight: Array | None, X: Any, y: Any, trusted: Any) -> tuple[Any, ...]:
    """Drop the rows of weight zero: they are absent."""
    if weight is None or (weight > 0).all():
        return weight, X, y, trusted
    kept = np.flatnonzero(weight > 0)
    y = None if y is None else y[kept]
    trusted = None if trusted is None else trusted[kept]
    return weight[kept], _safe_indexing(X, kept), y, trusted


def checked_trusted(trusted: Any, n: int) -> NDArray[np.bool_] | None:
    """Check the mask (or the positions) of the rows whose label is known to be right."""
    if trusted is None:
        return None
    mask = np.asarray(trusted)
    if mask.dtype != bool and mask.ndim == 1 and len(mask) != n:
        if len(mask) and not (mask.min() >= 0 and mask.max() < n):
            raise ValueError(f"trusted names row {mask.max()}, but X has {n} rows")
        positions, mask = mask.astype(np.intp), np.zeros(n, bool)
        mask[positions] = True
    if mask.shape != (n,):
        raise ValueError(f"trusted must have one entry per row ({n}), not shape {mask.shape}")
    return mask.astype(bool)


@dataclass(frozen=True, eq=False)
class Naming:
    """The names of given labels and true classes, and the channel between them."""

    labels: NDArray[Any]
    classes: NDArray[Any]
    channel: Channel

    def codes(self, y: Any, trusted: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """Turn labels into evidence codes; a trusted row's label is taken as its class."""
        y = labels.column(y)
        gaps = labels.missing(y)
        given = labels.encode(y, self.labels, gaps)
        if trusted is None:
            return given
        sure = trusted & ~gaps
        true = labels.encode(y[sure], self.classes, gaps[sure])
        given[sure] = len(self.labels) + 1 + true
        return given


def named(y: Any, channel: str | Channel | Any, n: int) -> Naming:
    """Collect the labels of y and build the channel that the user asked for."""
    known = channel.labels if isinstance(channel, Channel) else None
    if y is None:
        found: NDArray[Any] = np.array(known if known is not None else [])
    else:
        y = labels.column(y)
        found = np.array(known) if known is not None else _found(y, channel)
    if isinstance(channel, Channel):
        _check_labels(found, channel)
        return Naming(found, _classes(found, channel), channel)
    if len(found) == 1:
        raise ValueError(
            f"y holds one class only ({found.tolist()[0]!r}): "
            "a classifier needs at least two classes"
        )
    if len(found) > n:
        raise ValueError(f"y holds {len(found)} classes but X has {n} rows")
    return Naming(found, found, _built(channel, len(found)))


def _found(y: NDArray[Any], channel: Any) -> NDArray[Any]:
    gaps = labels.missing(y)
    if isinstance(channel, Channel) and not channel.n_labels:
        return np.array([], dtype=y.dtype)
    return labels.distinct(y, gaps)


def _check_labels(found: NDArray[Any], channel: Channel) -> None:
    if len(found) != channel.n_labels:
        raise ValueError(
            f"the channel has {channel.n_labels} given labels (rows) but y holds {len(found)}; "
            "name them with Channel(..., labels=...) if some do not occur"
        )


def _classes(found: NDArray[Any], channel: Channel) -> NDArray[Any]:
    if channel.classes is not None:
        return np.array(channel.classes)
    return found if len(found) == channel.n_classes else np.arange(channel.n_classes)


def _built(channel: Any, K: int) -> Channel:
    """Build a channel from its name or its matrix."""
    if isinstance(channel, str):
        named = {
            "auto": lambda: channels.auto(K),
            "identity": lambda: channels.identity(K),
            "uniform": lambda: channels.uniform(K),
            "flips": lambda: channels.flips([0.2] * K),
            "free": lambda: channels.free(K),
        }
        if channel in named:
            return named[channel]()
        known = ", ".join(f'"{name}"' for name in named)
        raise ValueError(f"channel must be {known}, a Channel or a matrix, not {channel!r}")
    built = channels.fixed(channel)
    if built.n_labels != K:
        raise ValueError(f"the channel has {built.n_labels} rows but y holds {K} given labels")
    return replace(built)
