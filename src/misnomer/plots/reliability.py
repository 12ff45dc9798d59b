"""Whether the probabilities keep their word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.metrics.calibration import (
    Reliability,
    forecast_reliability,
    forget_labels,
    reliability,
)
from misnomer.plots.style import FOR, QUIET, Display, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from misnomer.audit.result import Audit


class ReliabilityDisplay(Display):
    """Promised probabilities beside the shares that came true, with their intervals.

    Parameters
    ----------
    curve : Reliability
        The bins.
    event : str
        What the probabilities are of.

    Attributes
    ----------
    line_ : ErrorbarContainer
        The points and their intervals.

    Examples
    --------
    >>> display = ReliabilityDisplay.from_arrays([0.1, 0.9], [False, True])
    >>> display.curve.observed.tolist()
    [0.0, 1.0]
    """

    line_: Any

    def __init__(self, *, curve: Reliability, event: str = "the given label is wrong") -> None:
        self.curve = curve
        self.event = event

    @classmethod
    def from_audit(cls, audit: Audit, truth: ArrayLike | None = None, *, bins: int = 10) -> Self:
        """Check an audit's P(wrong) against the true labels, or its forecasts of the given ones.

        Parameters
        ----------
        audit : Audit
            The audit.
        truth : sequence of n labels, optional
            The true class of each row, None where it is unknown. Without it the audit is held to
            what it can be held to: how well it foretells the given labels.
        bins : int, default 10
            How many bins between 0 and 1.
        """
        if truth is None and not audit.noise.is_positive:
            raise ValueError(
                "A noise matrix with zeros leaves no forecast of the given labels to check: "
                "give the true labels as truth."
            )
        if truth is None:
            share = forget_labels(audit.posterior, audit.given, audit.matrix)
            curve = forecast_reliability(share, audit.given, audit.matrix, bins=bins)
            return cls(curve=curve, event="the likeliest label is the given one")
        known, wrong = _against(audit, list(truth))  # type: ignore[arg-type]
        return cls(curve=reliability(audit.error_probability[known], wrong, bins=bins))

    @classmethod
    def from_arrays(
        cls,
        probability: ArrayLike,
        happened: ArrayLike,
        *,
        event: str = "the given label is wrong",
        bins: int = 10,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Compare P(event) of each row with whether it happened."""
        curve = reliability(probability, happened, bins=bins, sample_weight=sample_weight)
        return cls(curve=curve, event=event)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the points, their intervals, and the line on which promises are kept."""
        ax = self._axes(ax)
        curve = self.curve
        ax.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1.2, label="kept promises")
        # an interval need not hold a share that is exactly 0 or 1 to the last bit
        spread = np.clip([curve.observed - curve.low, curve.high - curve.observed], 0, None)
        self.line_ = ax.errorbar(
            curve.predicted, curve.observed, yerr=spread, fmt="o-", color=FOR, markersize=5,
            linewidth=1.4, elinewidth=1.2, capsize=3,
            label=f"observed, {100 * curve.confidence:g}% interval",
        )  # fmt: skip
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set(xlabel=f"Promised P({self.event})", ylabel="Share for which it held")
        ax.legend(frameon=False, loc="upper left")
        tidy(ax, grid="both")
        return self


def _against(audit: Audit, truth: list[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find the labeled rows whose truth is known, and which of them are wrong."""
    if len(truth) != len(audit.given):
        raise ValueError(
            f"There are {len(truth)} true labels for {len(audit.given)} rows: give one per row, "
            "None where it is unknown."
        )
    told = np.array([label is not None and label == label for label in truth], bool)
    known = np.flatnonzero(told & (audit.given >= 0))
    if not len(known):
        raise ValueError("No labeled row has a known true label: give at least one.")
    return known, np.array(
        [audit.given_label(row) != truth[row] for row in known.tolist()], np.bool_
    )
