"""Measuring classifiers where labels are wrong."""

from __future__ import annotations

from misnomer.metrics.corrected import (
    corrected_accuracy,
    corrected_joint,
    corrected_risk,
    measure_mislabeling_impact,
    mislabeling_impact,
    noise_corrected_accuracy,
)

__all__ = [
    "corrected_accuracy",
    "corrected_joint",
    "corrected_risk",
    "measure_mislabeling_impact",
    "mislabeling_impact",
    "noise_corrected_accuracy",
]
