"""Naive Bayes for mislabeled data: how many labels are wrong, which ones, and what then."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from misnomer.channel import Channel
    from misnomer.classifiers.base import NoisyLabelNB
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
        GaussianMixtureNB,
        accuracy_against_m,
        text_classifier,
    )
    from misnomer.smoothing import Smoothing, m_estimate
    from misnomer.solvers.cestnik import m_estimate_probability

__version__ = "0.1.0"

# Each public name and the module it lives in; loaded when first asked for.
_HOMES = {
    "Bayes1": "classifiers.papers",
    "Bayes2": "classifiers.papers",
    "Bayes3": "classifiers.papers",
    "Channel": "channel",
    "GaussianMixtureNB": "classifiers.papers",
    "INB": "classifiers.papers",
    "NBCCCN": "classifiers.papers",
    "NBCCCNEM": "classifiers.papers",
    "NBUNL": "classifiers.papers",
    "NoisyLabelNB": "classifiers.base",
    "PUNB": "classifiers.papers",
    "Smoothing": "smoothing",
    "VBNB": "classifiers.papers",
    "accuracy_against_m": "classifiers.papers",
    "m_estimate": "smoothing",
    "m_estimate_probability": "solvers.cestnik",
    "text_classifier": "classifiers.papers",
}

__all__ = [  # noqa: RUF022 (sorted as Python sorts)
    "Bayes1",
    "Bayes2",
    "Bayes3",
    "Channel",
    "GaussianMixtureNB",
    "INB",
    "NBCCCN",
    "NBCCCNEM",
    "NBUNL",
    "NoisyLabelNB",
    "PUNB",
    "Smoothing",
    "VBNB",
    "accuracy_against_m",
    "m_estimate",
    "m_estimate_probability",
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
