"""Naive Bayes for mislabeled data: how many labels are wrong, which ones, and what then."""

from misnomer.channel import Channel
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.smoothing import Smoothing, m_estimate

__all__ = ["Channel", "NoisyLabelNB", "Smoothing", "m_estimate"]

__version__ = "0.1.0"
