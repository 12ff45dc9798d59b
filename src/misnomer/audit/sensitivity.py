"""What the rate rests on: columns that follow the label closely, and the rate without them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from sklearn.base import clone

from misnomer.audit.leaks import followers
from misnomer.rows.frames import is_frame

if TYPE_CHECKING:
    from misnomer.audit.inputs import Inputs
    from misnomer.audit.result import Audit

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
