"""Naive Bayes for mislabeled data: how many labels are wrong, which ones, and what then.

The papers' methods have their names in `misnomer.papers`; builders of noise channels are in
`misnomer.channel`, figures in `misnomer.plots`, more of measuring and drawing in
`misnomer.metrics` and `misnomer.simulate`.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from misnomer.audit import audit  # the function: the submodule of that name would hide it
from misnomer.version import __version__ as __version__

if TYPE_CHECKING:
    from misnomer import channel, metrics, papers, plots, simulate
    from misnomer.answers import Answers, from_long
    from misnomer.audit import Audit, load_audit
    from misnomer.channel import Channel
    from misnomer.classifiers.crowd import CrowdNB
    from misnomer.classifiers.naive_bayes import NoisyLabelNB
    from misnomer.classifiers.noisy import NoisyLabelClassifier, PUClassifier
    from misnomer.estimate import Estimate
    from misnomer.knowledge import Knowledge, rows_needed
    from misnomer.learners.kernel import Kernel
    from misnomer.learners.learner import Learner
    from misnomer.learners.logistic import Logistic
    from misnomer.learners.trees import Trees
    from misnomer.metrics import (
        corrected_accuracy,
        corrected_risk,
        mislabeling_impact,
        noise_corrected_accuracy,
    )
    from misnomer.simulate import make_noisy_labels
    from misnomer.smoothing import Smoothing, m_estimate
    from misnomer.store import load_model, save_model
    from misnomer.verdict import Verdict

#: The module of each public name; a module is loaded when it, or a name of it, is first asked for.
_HOMES = {
    "Answers": "answers",
    "Audit": "audit",
    "Channel": "channel",
    "CrowdNB": "classifiers.crowd",
    "Estimate": "estimate",
    "Kernel": "learners.kernel",
    "Knowledge": "knowledge",
    "Learner": "learners.learner",
    "Logistic": "learners.logistic",
    "NoisyLabelClassifier": "classifiers.noisy",
    "NoisyLabelNB": "classifiers.naive_bayes",
    "PUClassifier": "classifiers.noisy",
    "Smoothing": "smoothing",
    "Trees": "learners.trees",
    "Verdict": "verdict",
    "corrected_accuracy": "metrics",
    "corrected_risk": "metrics",
    "from_long": "answers",
    "load_audit": "audit",
    "load_model": "store",
    "m_estimate": "smoothing",
    "make_noisy_labels": "simulate",
    "mislabeling_impact": "metrics",
    "noise_corrected_accuracy": "metrics",
    "rows_needed": "knowledge",
    "save_model": "store",
}
_MODULES = ("channel", "metrics", "papers", "plots", "simulate")

__all__ = [
    "Answers",
    "Audit",
    "Channel",
    "CrowdNB",
    "Estimate",
    "Kernel",
    "Knowledge",
    "Learner",
    "Logistic",
    "NoisyLabelClassifier",
    "NoisyLabelNB",
    "PUClassifier",
    "Smoothing",
    "Trees",
    "Verdict",
    "__version__",
    "audit",
    "channel",
    "corrected_accuracy",
    "corrected_risk",
    "from_long",
    "load_audit",
    "load_model",
    "m_estimate",
    "make_noisy_labels",
    "metrics",
    "mislabeling_impact",
    "noise_corrected_accuracy",
    "papers",
    "plots",
    "rows_needed",
    "save_model",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _import_module(f"misnomer.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'misnomer' has no attribute {name!r}")
    value = getattr(_import_module(f"misnomer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
