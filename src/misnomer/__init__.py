"""Naive Bayes for mislabeled data: how many labels are wrong, which ones, and what then."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from misnomer.channel import Channel
    from misnomer.classifiers.base import NoisyLabelNB
    from misnomer.smoothing import Smoothing, m_estimate

__version__ = "0.1.0"

# Each public name and the module it lives in; loaded when first asked for.
_HOMES = {
    "Channel": "channel",
    "NoisyLabelNB": "classifiers.base",
    "Smoothing": "smoothing",
    "m_estimate": "smoothing",
}

__all__ = [
    "Channel",
    "NoisyLabelNB",
    "Smoothing",
    "m_estimate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'misnomer' has no attribute {name!r}")
    value = getattr(import_module(f"misnomer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
