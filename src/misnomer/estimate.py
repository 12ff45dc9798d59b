"""A number together with the interval it comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Estimate", "normal_quantile"]


@dataclass(frozen=True)
class Estimate:
    """A value with an interval that covers the truth with the stated confidence.

    Parameters
    ----------
    value : float
        The estimate itself.
    low, high : float
        The ends of the interval, ``low <= value <= high``.
    confidence : float, default .90
        The share of such intervals that are meant to hold the truth.

    Examples
    --------
    >>> rate = Estimate(0.125, 0.1, 0.15)
    >>> print(rate)
    0.125 (90% interval 0.100 to 0.150)
    >>> f"{rate:.1%}"
    '12.5% (90% interval 10.0% to 15.0%)'
    >>> float(rate)
    0.125
    >>> 0.11 in rate
    True
    """

    value: float
    low: float
    high: float
    confidence: float = 0.90

    def __post_init__(self) -> None:
        """Refuse an interval that does not hold its own value."""
        if not 0 < self.confidence < 1:
            raise ValueError(
                f"confidence is {self.confidence}: give a number between 0 and 1, such as 0.9."
            )
        if math.isnan(self.value) or not self.low <= self.value <= self.high:
            raise ValueError(
                f"The interval {self.low} to {self.high} does not hold the value {self.value}: "
                "give low <= value <= high."
            )

    def __float__(self) -> float:
        """Return the value alone."""
        return float(self.value)

    def __contains__(self, other: float) -> bool:
        """Tell whether a number lies in the interval, its ends included."""
        return self.low <= other <= self.high

    def __format__(self, spec: str) -> str:
        """Format the value and both ends alike, with three decimals unless told otherwise."""
        value, low, high = (format(x, spec or ".3f") for x in (self.value, self.low, self.high))
        return f"{value} ({100 * self.confidence:g}% interval {low} to {high})"

    def __str__(self) -> str:
        """Return the value and its interval with three decimals."""
        return format(self, "")

    def complement(self) -> Estimate:
        """Return the estimate of one minus the quantity: of the risk, from that of the accuracy.

        Examples
        --------
        >>> print(Estimate(0.75, 0.5, 0.875).complement())
        0.250 (90% interval 0.125 to 0.500)
        """
        return Estimate(1 - self.value, 1 - self.high, 1 - self.low, self.confidence)


def normal_quantile(confidence: float) -> float:
    """Return z with P(-z < N(0, 1) < z) = confidence.

    Examples
    --------
    >>> round(normal_quantile(0.90), 4)
    1.6449
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: give a number between 0 and 1, such as 0.9.")
    return NormalDist().inv_cdf((1 + confidence) / 2)
