"""The border: X, y, weights and trusted rows as users give them -> a Schema and a Batch."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from misnomer import channel as channels
from misnomer.channel import Channel
from misnomer.classifiers import labels
from misnomer.classifiers.labels import align_columns, read_probabilities, warning_of_seen_rows
from misnomer.rows import read
from misnomer.rows.frames import as_table, check_rows, is_frame
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]


MAX_WEIGHT = 1e15  # a weight: one beside it still counts, and sums of weighted squares are numbers


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape of X and remember (or compare) its columns, without copying it."""
    if X is None:
        if reset:
            estimator.n_features_in_ = 0
        return None
    came, X = X, as_table(X)
    if is_frame(X) and not isinstance(X, np.ndarray) and not sparse.issparse(X):
        if not _num_samples(X):
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}): X has no rows")
        if reset:
            whole = came if getattr(came, "ndim", 0) == 2 and not _names_are_mixed(came) else X
            validate_data(estimator, whole, reset=True, skip_check_array=True)
        return X
    if isinstance(X, list | tuple):
        plain = np.asarray(X)
        X = np.asarray(X, dtype=object) if plain.dtype.kind in "US" else plain
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan) if X.dtype.kind in "fiu" else X
    if not sparse.issparse(X) and (isinstance(X, np.ndarray) or not hasattr(X, "__array__")):
        check_rows(X)
    return validate_data(
        estimator, X, reset=reset, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False
    )


def _names_are_mixed(X: Any) -> bool:
    """Tell a frame with names of several types, which scikit-learn refuses: they become texts."""
    return len({isinstance(name, str) for name in getattr(X, "columns", ())}) > 1


def as_given(X: Any) -> Any:
    """Hand rows to somebody's own classifier: as they came; Arrow tables as frames of pandas."""
    if isinstance(X, pa.Table) and find_spec("pandas"):
        return X.to_pandas()
    return X


def row_count(X: Any, y: Any) -> int:
    """Count the rows of a table; without one, the labels."""
    if X is None:
        return 0 if y is None else len(labels.column(y))
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def read_rows(X: Any, families: Any, min_categories: Any = None) -> tuple[Schema, tuple[Any, ...]]:
    """Read the rows into compact form; no table has no columns."""
    if X is None:
        return Schema(()), ()
    return read(X, families, min_categories=min_categories)


def checked_weights(sample_weight: Any, X: Any) -> Array | None:
    """Check the weights: one per row, not negative, not all zero."""
    if sample_weight is None:
        return None
    if not np.any(np.asarray(sample_weight)):
        raise ValueError("every sample weight is zero: no row is left to learn from")
    rows = np.zeros((len(sample_weight), 0)) if X is None else X
    weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    if weight.max() > MAX_WEIGHT:
        row = int(np.argmax(weight))
        raise ValueError(
            f"the sample weight of row {row} is {weight[row]:g}, beyond {MAX_WEIGHT:g}: divide all "
            "weights by their mean"
        )
    return np.ascontiguousarray(weight, np.float64)


@dataclass(frozen=True, eq=False)
class SideInputs:
    """What is known of rows beside their label: the true class, the group, probabilities."""

    checked: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    brought: Any = None
    design: Array | None = None

    def take(self, rows: NDArray[np.intp]) -> SideInputs:
        """Keep some rows."""
        some = [None if one is None else one[rows] for one in (self.checked, self.groups)]
        brought = None if self.brought is None else _safe_indexing(self.brought, rows)
        design = None if self.design is None else self.design[rows]
        return SideInputs(some[0], some[1], brought, design)


def side_inputs(
    checked: Any, noise_groups: Any, n: int, pred_probs: Any = None, design_weight: Any = None
) -> SideInputs | None:
    """Check what is known beside the labels: an entry for each row."""
    entries: list[NDArray[Any] | None] = []
    for name, given in (("checked", checked), ("noise_groups", noise_groups)):
        values = None if given is None else labels.column(given)
        if values is not None and len(values) != n:
            raise ValueError(f"{name} must have one entry per row ({n}), not {len(values)}")
        entries.append(values)
    brought = None if pred_probs is None else read_probabilities(pred_probs, n)
    if brought is None and all(one is None for one in entries):
        return None
    return SideInputs(entries[0], entries[1], brought, _design(design_weight, n))


def _design(design_weight: Any, n: int) -> Array | None:
    """Check the design weights: a number of zero or more for each row."""
    if design_weight is None:
        return None
    weights = np.asarray(design_weight, np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"design_weight must have one number per row ({n}): one over the chance by which a "
            "checked row was drawn, zero for all others"
        )
    return weights


def with_side_inputs(batch: Batch, known: SideInputs, naming: Naming) -> Batch:
    """Put what is known beside the labels into the rows."""
    L = len(naming.labels)
    if known.checked is not None:
        place = {name: k for k, name in enumerate(naming.classes.tolist())}
        codes = [-1 if one is None else place.get(one, -1) for one in known.checked.tolist()]
        true = np.array(codes, np.int32)
        label, _ = batch.labels(L)
        given = np.where(true >= 0, L + 1 + true, batch.given).astype(np.int32)
        batch = replace(batch, given=given, said=label.astype(np.int32), design=known.design)
    if known.brought is not None:
        share = align_columns(known.brought, naming.classes)
        batch = replace(batch, brought=share)
        note = warning_of_seen_rows(share, batch.labels(L)[0])
        if note is not None:
            warnings.warn(note, stacklevel=2)
    if known.groups is not None:
        gaps = labels.missing(known.groups)
        names = labels.distinct(known.groups, gaps)
        group = labels.encode(known.groups, names, gaps).astype(np.int32)
        group[gaps] = -1
        batch = replace(batch, group=group)
    return batch


def drop_weightless(
    weight: Array | None, X: Any, y: Any, trusted: Any, known: SideInputs | None = None
) -> tuple[Any, ...]:
    """Leave out rows of weight zero: they must not even contribute a category."""
    if weight is None or (weight > 0).all():
        return weight, X, y, trusted, known
    kept = np.flatnonzero(weight > 0)
    y = None if y is None else y[kept]
    trusted = None if trusted is None else trusted[kept]
    known = None if known is None else known.take(kept)
    return weight[kept], None if X is None else _safe_indexing(X, kept), y, trusted, known


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
    """The names of given labels and true classes, and the channel that is asked for."""

    labels: NDArray[Any]
    classes: NDArray[Any]
    asked: str | Channel | Any

    @cached_property
    def channel(self) -> Channel:
        """The channel between them; of thousands of labels it is better not asked for."""
        if isinstance(self.asked, Channel):
            return self.asked
        return _built(self.asked, len(self.labels))

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


def naming_of(y: Any, channel: str | Channel | Any, n: int) -> Naming:
    """Collect the labels of y and build the channel that the user asked for."""
    known = channel.labels if isinstance(channel, Channel) else None
    if y is None:
        names: NDArray[Any] = np.array(known if known is not None else [])
    else:
        y = labels.column(y)
        names = np.array(known) if known is not None else _names_of(y, channel)
    if isinstance(channel, Channel):
        _check_labels(names, channel)
        return Naming(names, _classes(names, channel), channel)
    if len(names) == 1 and not (isinstance(channel, str) and channel == "identity"):
        raise ValueError(
            f"y holds one class only ({names.tolist()[0]!r}): "
            "a classifier needs at least two classes"
        )
    if len(names) > n:
        raise ValueError(f"y holds {len(names)} classes but X has {n} rows")
    return Naming(names, names, channel)


def _names_of(y: NDArray[Any], channel: Any) -> NDArray[Any]:
    gaps = labels.missing(y)
    if isinstance(channel, Channel) and not channel.n_labels:
        return np.array([], dtype=y.dtype)
    return labels.distinct(y, gaps)


def _check_labels(names: NDArray[Any], channel: Channel) -> None:
    if len(names) != channel.n_labels:
        raise ValueError(
            f"the channel has {channel.n_labels} given labels (rows) but y holds {len(names)}; "
            "name them with Channel(..., labels=...) if some do not occur"
        )


def _classes(names: NDArray[Any], channel: Channel) -> NDArray[Any]:
    if channel.classes is not None:
        return np.array(channel.classes)
    return names if len(names) == channel.n_classes else np.arange(channel.n_classes)


def _built(channel: Any, K: int) -> Channel:
    """Build a channel from its name or its matrix."""
    if isinstance(channel, str):
        builders = {
            "auto": lambda: channels.auto(K),
            "identity": lambda: channels.identity(K),
            "uniform": lambda: channels.uniform(K),
            "flips": lambda: channels.flips([0.2] * K),
            "free": lambda: channels.free(K),
        }
        if channel in builders:
            return builders[channel]()
        known = ", ".join(f'"{name}"' for name in builders)
        raise ValueError(f"channel must be {known}, a Channel or a matrix, not {channel!r}")
    built = channels.fixed(channel)
    if built.n_labels != K:
        raise ValueError(f"the channel has {built.n_labels} rows but y holds {K} given labels")
    return replace(built)


def check_size(classes: int, statistics: int) -> None:
    """Refuse a model that this machine cannot hold: its weights and sums are dense.

    Examples
    --------
    >>> check_size(5, 1_000)
    >>> check_size(5_000, 100_000_000)
    Traceback (most recent call last):
    ...
    ValueError: 5,000 classes times 100,000,000 values and words make a model of 4,000 GB ...
    """
    try:
        room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return
    need = 8 * classes * statistics
    if 4 * need > room:  # weights, sums, virtual examples, and what is in between
        raise ValueError(
            f"{classes:,} classes times {statistics:,} values and words make a model of "
            f"{need / 1e9:,.0f} GB (four times that while it is fitted), which does not fit: call "
            "audit(), which keeps such a model sparse, leave out columns with many values, or "
            "join rare classes"
        )


def check_search(max_iter: Any, tol: Any, n_init: Any = 1) -> None:
    """Refuse a search that cannot be.

    Examples
    --------
    >>> check_search(0, 1e-6)
    Traceback (most recent call last):
    ...
    ValueError: max_iter must be a whole number of 1 or more, not 0
    """
    for name, value in (("max_iter", max_iter), ("n_init", n_init)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number of 1 or more, not {value!r}")
    if not isinstance(tol, int | float | np.number) or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a number of 0 or more, not {tol!r}")
