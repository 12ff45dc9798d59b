"""What a look at the difficulty of rows has found, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Levels = NDArray[np.intp]

CLEAR = 3.0  # nats beyond the price
_SURE = 2.0  # standard errors of the paired gain


@dataclass(frozen=True)
class Margin:
    """How well levels of one margin explain the labels.

    Attributes
    ----------
    name : str
        Whose margin: "pool" or "naive Bayes".
    gain : float
        Log likelihood of left-out labels, less that of one channel for all rows.
    price : float
        What the rates cost.
    z : float
        The gain in standard errors, rows paired.
    level : (n,) array of int
        The level of each row, 0 the hardest.
    """

    name: str
    gain: float
    price: float
    z: float
    level: Levels

    @property
    def net(self) -> float:
        """What the levels gain beyond their price."""
        return self.gain - self.price

    @property
    def clear(self) -> bool:
        """Whether levels are clearly the better explanation."""
        return self.net > CLEAR and self.z > _SURE


@dataclass(frozen=True, eq=False)
class DifficultyFit:
    """Whether errors depend on how hard a row is, and what follows.

    Attributes
    ----------
    reason : str
        "levels", "bias", "assumed", or "" where one channel for all rows stands.
    margin : Margin
        The margin that tells the errors best; its scores are those to predict with.
    scale : float
    shift : (K,) array
        Predict by ``softmax(scale * scores + shift)`` of the scores that ``margin`` names.
    share : (n, K) array
        That, for the rows at hand: the class probabilities to predict with.
    channel : (K, K) array
        P(given | true) over all rows.
    channels : (levels, K, K) array
        P(given | true, level).
    rates : (levels,) array
        Share of wrong labels at each level.
    channel_z : float
        By how many standard errors the channel explains the labels better than none.
    moved : float
        Share of the predictions that the channel's bias changes.
    """

    reason: str
    margin: Margin
    scale: float
    shift: Array
    share: Array
    channel: Array
    channels: Array
    rates: Array
    channel_z: float
    moved: float

    @property
    def found(self) -> bool:
        """Whether the shift of one channel for all rows must not be applied."""
        return bool(self.reason)

    @property
    def judges(self) -> bool:
        """Whether its error probabilities replace those of one channel.

        A bias that is not to be trusted says nothing about the errors themselves.
        """
        return self.reason in ("levels", "assumed")

    @property
    def plain(self) -> bool:
        """Whether to predict with naive Bayes of the given labels, not with the pool's scores."""
        return self.margin.name == "naive Bayes"

    def error_probability(self, label: Levels) -> Array:
        """Compute P(the label is wrong), ``1 - share[y]``, (n,); zero where there is none."""
        own = self.share[np.arange(len(label)), np.maximum(label, 0)]
        return np.where(label >= 0, 1.0 - own, 0.0)

    def sentence(self) -> str:
        """Say it for a verdict."""
        hard, easy = self.rates[0], self.rates[-1]
        if self.reason == "bias":
            return (
                "One matrix for all rows would explain the labels only with a shift that changes "
                f"{self.moved:.0%} of the predictions; errors near the boundary explain them as "
                "well, so the shift is not applied."
            )
        if not self.found:
            return (
                "Error rates that vary with how hard a row is do not predict left-out labels "
                f"better ({self.margin.gain:+.1f} nats for {self.margin.price:.0f} rates)."
            )
        told = f"{self.margin.gain:.1f} nats gained out of fold, z = {self.margin.z:.1f}"
        told = "as assumed" if self.reason == "assumed" else told
        return (
            f"Errors gather where rows are hard to tell: about {hard:.0%} of the labels of the "
            f"hardest third, {easy:.0%} of the easiest ({told}). One matrix for all rows would "
            "shift the boundary, so predictions keep that of the given labels."
        )
