"""Pictures of an audit, as scikit-learn style displays: ``from_audit``, then ``plot``."""

from misnomer.plots.displays import (
    ErrorProbabilityDisplay,
    EvidenceDisplay,
    NoiseMatrixDisplay,
    ReliabilityDisplay,
)
from misnomer.plots.style import to_svg

__all__ = [
    "ErrorProbabilityDisplay",
    "EvidenceDisplay",
    "NoiseMatrixDisplay",
    "ReliabilityDisplay",
    "to_svg",
]
