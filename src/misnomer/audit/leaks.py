"""Columns that give the label away or follow it closely, and the rate without them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from misnomer.kernels.blocks import Block, Codes, Flags, Reals
from misnomer.rows.frames import is_frame
from misnomer.table import Batch, Schema

if TYPE_CHECKING:
    from misnomer.audit.inputs import Inputs
    from misnomer.audit.result import Audit


_PURE = 0.995  # so much of each value's rows has one label, and of each label's rows one value
_FOLLOWING, _ABOVE_CHANCE = 0.85, 0.6  # shares from which a column is said to follow
_ROWS = 20
_LOOK = 20_000  # rows that are looked at first


def leaks(schema: Schema, batch: Batch, label: str, n_labels: int) -> list[str]:
    """Name the columns that match the label one to one, or almost.

    Real evidence is never that clean beside labels that are in doubt: such a column was made from
    the label, so that a wrong label cannot be told from a right one by it.
    """
    if int((batch.given < n_labels).sum()) < _ROWS:
        return []
    some = batch.take(slice(None, None, -(-len(batch) // _LOOK)))
    found = []
    for place, group in enumerate(schema.groups):
        for j, member in enumerate(group.members):
            if all(_tells(one, place, j, n_labels) for one in (some, batch)):
                found.append(schema.columns[member].name)
    return [
        f"column {name!r} gives the label {label!r} away almost one to one: if it was made from "
        "the label, ignore it, for it hides the errors"
        for name in found
    ]


def followers(schema: Schema, batch: Batch, n_labels: int) -> list[tuple[str, float]]:
    """Name the columns that follow the label closely, and in which share of the rows, most first.

    A value stands for its most usual label, and the share counts more than chance: three fifths of
    the way from always guessing the most frequent label to never being wrong. Perhaps such a column
    is good evidence; perhaps it was made from the label, and then it hides every error.
    """
    known = batch.given < n_labels
    if int(known.sum()) < _ROWS:
        return []
    some = batch.take(slice(None, None, -(-len(batch) // _LOOK)))
    known = some.given < n_labels
    usual = float(np.bincount(some.given[known], minlength=n_labels).max() / known.sum())
    found = []
    for place, group in enumerate(schema.groups):
        for j, member in enumerate(group.members):
            values = _values(some.blocks[place], j, 2 * n_labels)
            if values is not None:
                share = _agreement(values[known], some.given[known], n_labels)
                if share >= _FOLLOWING and share - usual >= _ABOVE_CHANCE * (1.0 - usual):
                    found.append((schema.columns[member].name, share))
    return sorted(found, key=lambda one: -one[1])


def _tells(batch: Batch, place: int, j: int, n_labels: int) -> bool:
    known = batch.given < n_labels
    values = _values(batch.blocks[place], j, 2 * n_labels)
    if values is None or not known.any():
        return False
    return _one_to_one(values[known], batch.given[known], n_labels)


def _values(block: Block, j: int, most: int) -> NDArray[np.intp] | None:
    """Number the values of a column that has few of them."""
    if isinstance(block, Codes):
        return block.codes[:, j].astype(np.intp) if block.sizes[j] <= most else None
    if isinstance(block, Flags):
        return ((block.bits[:, j // 8] >> (j % 8)) & 1).astype(np.intp)
    if not isinstance(block, Reals):
        return None
    values = block.values[:, j]
    if len(np.unique(values[:1000])) > most:
        return None
    distinct, place = np.unique(values, return_inverse=True)
    return place if len(distinct) <= most else None


def _one_to_one(values: NDArray[np.intp], given: NDArray[np.int32], n_labels: int) -> bool:
    return _agreement(values, given, n_labels) >= _PURE


def _agreement(values: NDArray[np.intp], given: NDArray[np.int32], n_labels: int) -> float:
    """The share of rows in which value and label are each other's most usual partner."""
    pairs, count = np.unique(values * n_labels + given, return_counts=True)
    value, label = np.divmod(pairs, n_labels)
    by_value, by_label = np.zeros(int(values.max()) + 1, int), np.zeros(n_labels, int)
    np.maximum.at(by_value, value, count)
    np.maximum.at(by_label, label, count)
    return float(min(by_value.sum(), by_label.sum()) / max(len(values), 1))


MAX_ROWS = 20_000  # beyond, another fit is left to the user
MAX_COLUMNS = 2  # of which the rate without is told


def with_sensitivity(audit: Audit, inputs: Inputs) -> Audit:
    """Name columns that nearly copy the label, and fit once more without each of the first two."""
    schema, labels = audit.classifier.model_.schema, len(audit.labels)
    close = followers(schema, audit.batch, labels)
    if not close:
        return audit
    rates = {}
    if is_frame(inputs.features) and len(inputs.y) <= MAX_ROWS:
        for name, _ in close[:MAX_COLUMNS]:
            rate = rate_without(inputs, audit.classifier, [name])
            if rate is not None:
                rates[f"the column {name!r}"] = rate
    tests = {**audit.verdict.tests, "near_copies": [[name, round(s, 3)] for name, s in close]}
    if rates:
        tests["rate_without"] = rates
    return replace(audit, verdict=replace(audit.verdict, tests=tests))


def rate_without(inputs: Inputs, classifier: Any, columns: list[str]) -> float | None:
    """The share of wrong labels when some columns are left out; None where none would be left."""
    from misnomer.audit import learn

    frame = nw.from_native(inputs.features, eager_only=True)
    kept = [name for name in frame.columns if str(name) not in columns]
    if not kept or len(kept) == len(frame.columns):
        return None
    less = replace(inputs, features=frame.select(kept).to_native(), checked=None)
    fresh = clone(classifier)
    families = fresh.get_params().get("families")
    if isinstance(families, dict):
        fresh.set_params(families={k: v for k, v in families.items() if str(k) not in columns})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = learn.learned(less, fresh, perf_counter(), sensitive=False)
    return float(np.round(found.error_rate.value, 6))
