"""The audit as plain values for other programs: stable keys, finite numbers or null."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.estimate import Estimate
from misnomer.metrics.calibration import Reliability, forecast_reliability, forget_labels
from misnomer.reports.concentration import by_label, by_value
from misnomer.reports.tables import (
    Suspect,
    checks_json,
    confusions,
    sources_json,
    suspects,
    true_given,
)

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

#: Raised when a key changes its meaning or goes away; new keys may come without it.
SCHEMA_VERSION = 1

_BINS = 20
_MAX_LISTED = 100  # suspects, confusions, column values


def to_json(audit: Audit) -> dict[str, Any]:
    """Write an audit as a dict of plain values, ready for ``json.dumps(..., allow_nan=False)``.

    Matrices are lists of rows: rows given, columns true; None where an audit keeps the pairs that
    occur, which are among the confusions. Numbers are finite or None.
    """
    from misnomer.version import __version__

    content = {
        "schema_version": SCHEMA_VERSION,
        "misnomer_version": __version__,
        "label": audit.label,
        "labels": list(audit.labels),
        "classes": list(audit.classes),
        "verdict": {
            "level": audit.verdict.level,
            "sentences": list(audit.verdict.sentences),
            "tests": dict(audit.verdict.tests),
        },
        "error_rate": _estimate(audit.error_rate),
        "error_count": _estimate(audit.error_count),
        "rows": {
            "total": audit.fitted.rows,
            "labeled": audit.fitted.labeled,
            "trusted": audit.fitted.trusted,
            "flagged": audit.flagged,
        },
        **_matrices(audit),
        **_details(audit),
        **sources_json(audit),
        **checks_json(audit),
        **_source(audit),
        "fitted": asdict(audit.fitted),
        "parameters": parameters(audit),
        "warnings": list(audit.warnings),
    }
    plain: dict[str, Any] = finite(content)
    return plain


def _source(audit: Audit) -> dict[str, Any]:
    """Tell which file was audited, and the words of the command that does it again."""
    if audit.origin is None:
        return {}
    return {"source": {**asdict(audit.origin), "options": list(audit.origin.options)}}


def _estimate(estimate: Estimate) -> dict[str, float]:
    return asdict(estimate)


def _matrices(audit: Audit) -> dict[str, Any]:
    whole = audit.noise.is_whole
    parts = ("value", "low", "high")
    return {
        "noise_matrix": {name: audit.noise.array(name) if whole else None for name in parts},
        "true_given": true_given(audit.matrix, audit.prior) if whole else None,
        "class_prior": {
            "given_share": audit.given_share,
            "value": audit.prior,
            "low": audit.prior_low,
            "high": audit.prior_high,
        },
    }


def _details(audit: Audit) -> dict[str, Any]:
    curve = calibration(audit)
    return {
        "confusions": [asdict(one) for one in confusions(audit, _MAX_LISTED)],
        "error_probability": histogram(audit),
        "calibration": None if curve is None else {**asdict(curve), "error": curve.error},
        "concentration": {
            "labels": [asdict(spot) for spot in by_label(audit)],
            "values": [asdict(spot) for spot in by_value(audit, _MAX_LISTED)],
        },
        "issues": [_suspect(one) for one in suspects(audit, _MAX_LISTED)],
    }


def _suspect(one: Suspect) -> dict[str, Any]:
    terms = one.why.heaviest(8)
    return {
        "position": one.position,
        "row": one.name,
        "line": one.line,
        "given_label": one.given,
        "suggested_label": one.suggested,
        "error_probability": one.error_probability,
        "evidence": [{"name": n, "value": v, "weight": w} for n, v, w in terms],
        "log_odds": one.why.log_odds,
    }


def histogram(audit: Audit) -> dict[str, Any]:
    """Count the labeled rows, and the flagged ones, by their error probability."""
    wrong = audit.error_probability
    known = np.isfinite(wrong)
    edges = np.arange(_BINS + 1) / _BINS
    rows = np.histogram(wrong[known], bins=edges)[0]
    flagged = np.histogram(wrong[known & audit.is_label_issue], bins=edges)[0]
    return {"edges": edges, "rows": rows, "flagged": flagged}


def calibration(audit: Audit) -> Reliability | None:
    """Check the forecasts of the given labels; None where labels leave nothing to forecast.

    A channel with a structural zero hides what the row alone says, so there is nothing to check;
    nor is there where the label is a vote, or has a channel for each group.
    """
    if audit.sources is not None or not audit.noise.is_positive or not (audit.given >= 0).any():
        return None
    share = forget_labels(audit.posterior, audit.given, audit.matrix)
    return forecast_reliability(share[~audit.trusted], audit.given[~audit.trusted], audit.matrix)


def parameters(audit: Audit) -> dict[str, Any]:
    """List the classifier's parameters, as numbers and words."""
    return {
        name: value if isinstance(value, str | int | float | None) else str(value)
        for name, value in audit.classifier.get_params().items()
        if name != "progress"
    }


def finite(value: Any) -> Any:
    """Turn NumPy values, tuples and odd objects into plain ones; NaN and infinity into None.

    Examples
    --------
    >>> finite({"a": np.array([1.0, np.nan]), 2: (True, np.int64(3), float("inf"))})
    {'a': [1.0, None], '2': [True, 3, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return finite(value.tolist())
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
