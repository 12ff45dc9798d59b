"""Naive Bayes for mislabeled data: how many labels are wrong, which ones, and what then."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from misnomer.audit import audit  # the function: the submodule of that name would hide it
from misnomer.version import __version__ as __version__

if TYPE_CHECKING:
    from misnomer.audit import Audit, load_audit
    from misnomer.channel import Channel
    from misnomer.classifiers.annotators.crowd import CrowdNB
    from misnomer.classifiers.base import NoisyLabelNB
    from misnomer.classifiers.noisy import NoisyLabelClassifier
    from misnomer.classifiers.papers import (
        INB,
        NBCCCN,
        NBCCCNEM,
        NBUNL,
        PUNB,
        VBNB,
        Bayes1,
        Bayes2,
        Bayes3,
        BayesANIL,
        GaussianMixtureNB,
        NoiseFilterNB,
        accuracy_against_m,
        text_classifier,
    )
    from misnomer.classifiers.papers.combined_bayes import BestQuantizer, CombinedBayesTest
    from misnomer.classifiers.papers.networks import NAL, NLNN
    from misnomer.classifiers.positive_unlabeled import PUClassifier
    from misnomer.estimate import Estimate
    from misnomer.knowledge import Knowledge, rows_needed
    from misnomer.metrics import (
        corrected_accuracy,
        corrected_risk,
        mislabeling_impact,
        noise_corrected_accuracy,
    )
    from misnomer.simulate import make_noisy_labels
    from misnomer.smoothing import Smoothing, m_estimate
    from misnomer.solvers.cestnik import m_estimate_probability
    from misnomer.solvers.exact.quantization import best_quantization
    from misnomer.verdict import Verdict

# Each public name and the module it lives in; loaded when first asked for.
_HOMES = {
    "Audit": "audit",
    "Bayes1": "classifiers.papers",
    "Bayes2": "classifiers.papers",
    "Bayes3": "classifiers.papers",
    "BayesANIL": "classifiers.papers",
    "BestQuantizer": "classifiers.papers.combined_bayes",
    "Channel": "channel",
    "CombinedBayesTest": "classifiers.papers.combined_bayes",
    "CrowdNB": "classifiers.annotators.crowd",
    "Estimate": "estimate",
    "GaussianMixtureNB": "classifiers.papers",
    "INB": "classifiers.papers",
    "Knowledge": "knowledge",
    "NAL": "classifiers.papers.networks",
    "NBCCCN": "classifiers.papers",
    "NBCCCNEM": "classifiers.papers",
    "NBUNL": "classifiers.papers",
    "NLNN": "classifiers.papers.networks",
    "NoiseFilterNB": "classifiers.papers",
    "NoisyLabelClassifier": "classifiers.noisy",
    "NoisyLabelNB": "classifiers.base",
    "PUClassifier": "classifiers.positive_unlabeled",
    "PUNB": "classifiers.papers",
    "Smoothing": "smoothing",
    "VBNB": "classifiers.papers",
    "Verdict": "verdict",
    "accuracy_against_m": "classifiers.papers",
    "best_quantization": "solvers.exact.quantization",
    "corrected_accuracy": "metrics",
    "corrected_risk": "metrics",
    "load_audit": "audit",
    "m_estimate": "smoothing",
    "m_estimate_probability": "solvers.cestnik",
    "make_noisy_labels": "simulate",
    "mislabeling_impact": "metrics",
    "noise_corrected_accuracy": "metrics",
    "rows_needed": "knowledge",
    "text_classifier": "classifiers.papers",
}

__all__ = [  # noqa: RUF022 (sorted as Python sorts)
    "Audit",
    "Bayes1",
    "Bayes2",
    "Bayes3",
    "BayesANIL",
    "BestQuantizer",
    "Channel",
    "CombinedBayesTest",
    "CrowdNB",
    "Estimate",
    "GaussianMixtureNB",
    "INB",
    "Knowledge",
    "NAL",
    "NBCCCN",
    "NBCCCNEM",
    "NBUNL",
    "NLNN",
    "NoiseFilterNB",
    "NoisyLabelClassifier",
    "NoisyLabelNB",
    "PUClassifier",
    "PUNB",
    "Smoothing",
    "VBNB",
    "Verdict",
    "accuracy_against_m",
    "audit",
    "best_quantization",
    "corrected_accuracy",
    "corrected_risk",
    "load_audit",
    "m_estimate",
    "m_estimate_probability",
    "make_noisy_labels",
    "mislabeling_impact",
    "noise_corrected_accuracy",
    "rows_needed",
    "text_classifier",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'misnomer' has no attribute {name!r}")
    value = getattr(import_module(f"misnomer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
