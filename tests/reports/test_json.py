"""The audit as plain values."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from misnomer.posterior import NoiseMatrix
from misnomer.reports.json import to_json
from tests.reports.audits import hostile_audit, large_audit, small_audit

KEYS = {
    "schema_version", "misnomer_version", "label", "labels", "classes", "verdict", "error_rate",
    "error_count", "rows", "noise_matrix", "true_given", "class_prior", "confusions",
    "error_probability", "calibration", "concentration", "issues", "fitted", "parameters",
    "warnings",
}  # fmt: skip


def test_keys_are_stable():
    found = to_json(small_audit())
    assert set(found) == KEYS
    assert found["schema_version"] == 1
    assert set(found["issues"][0]) == {
        "position", "row", "line", "given_label", "suggested_label", "error_probability",
        "evidence", "log_odds",
    }  # fmt: skip


@pytest.mark.parametrize("make", [small_audit, hostile_audit])
def test_it_survives_strict_json(make):
    found = to_json(make())
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_numbers_are_those_of_the_audit():
    audit = small_audit()
    found = to_json(audit)
    assert found["error_rate"]["value"] == audit.error_rate.value
    assert found["error_count"]["low"] == audit.error_count.low
    assert found["noise_matrix"]["value"] == audit.matrix.tolist()
    assert found["class_prior"]["high"] == audit.prior_high.tolist()
    assert [one["position"] for one in found["issues"]] == audit.ranking.tolist()
    assert sum(found["error_probability"]["rows"]) == audit.fitted.labeled
    assert sum(found["error_probability"]["flagged"]) == len(audit.ranking)
    np.testing.assert_allclose(np.sum(found["true_given"], axis=1), 1)


def test_confusions_and_labels_add_up_to_the_expected_errors():
    audit = small_audit()
    found = to_json(audit)
    expected = audit.error_count.value
    assert math.isclose(sum(one["rows"] for one in found["confusions"]), expected)
    assert math.isclose(sum(one["errors"] for one in found["concentration"]["labels"]), expected)


def test_evidence_adds_up_to_the_log_odds():
    for audit in (small_audit(), large_audit(classes=5, columns=30, rows=200)):
        for one in to_json(audit)["issues"]:
            total = sum(term["weight"] for term in one["evidence"])
            assert math.isclose(total, one["log_odds"], rel_tol=1e-9)


def test_what_cannot_be_said_is_null():
    assert to_json(hostile_audit())["verdict"]["tests"]["bad"] is None
    eye = np.eye(2)
    sure = replace(small_audit(), noise=NoiseMatrix.of(eye, eye, eye))
    assert to_json(sure)["calibration"] is None
