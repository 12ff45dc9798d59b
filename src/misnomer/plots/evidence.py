"""Why one label looks wrong, or right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from misnomer.plots.style import AGAINST, FOR, QUIET, axes_of, names_of, plain, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from misnomer.audit.result import Audit


class EvidenceDisplay:
    """The weights of evidence of one row, as bars that add up to the log-odds.

    Bars to the right speak for one class, bars to the left for the other; the given label's own
    weight and the share of the class are among them.

    Parameters
    ----------
    names : sequence of str
        What speaks.
    weights : sequence of float
        How much, in nats; positive for ``suggested``.
    suggested, against : label
        The two classes that are compared.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    bars_ : BarContainer
        The bars, the total last.

    Examples
    --------
    >>> display = EvidenceDisplay(
    ...     names=["fever = yes", "(given label)"], weights=[3, -2], suggested="flu", against="cold"
    ... )
    >>> display.log_odds
    1.0
    """

    ax_: Axes
    figure_: Figure
    bars_: Any

    def __init__(
        self,
        *,
        names: Sequence[str],
        weights: Sequence[float],
        suggested: Any = "suggested",
        against: Any = "given",
    ) -> None:
        self.weights = np.asarray(weights, float)
        self.names = names_of(list(names), len(self.weights), longest=40)
        self.suggested, self.against = suggested, against

    @property
    def log_odds(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    @classmethod
    def from_audit(cls, audit: Audit, row: Any, *, most: int = 10) -> Self:
        """Show one row of an audit, with all but the heaviest columns added up."""
        why = audit.explain(row)
        terms = why.heaviest(most)
        return cls(
            names=[name if value is None else f"{name} = {value}" for name, value, _ in terms],
            weights=[weight for _, _, weight in terms],
            suggested=why.suggested,
            against=why.against,
        )

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the bars from the top down, and their sum below a line."""
        ax = axes_of(ax)
        weights = np.append(self.weights, self.log_odds)
        places = np.append(np.arange(len(self.weights)), len(self.weights) + 0.4)
        colors = [FOR if weight > 0 else AGAINST for weight in weights]
        self.bars_ = ax.barh(places, weights, height=0.7, color=colors)
        # a structural zero weighs a million nats: the others must stay visible
        reach = max(1.0, min(float(np.abs(weights).max()), 60.0)) * 1.3
        ax.set_xlim(-reach, reach)
        for place, weight in zip(places, weights, strict=True):
            end = float(np.clip(weight, -reach * 0.82, reach * 0.82))
            side = "left" if weight >= 0 else "right"
            ax.annotate(
                f"{weight:+.2f}", (end, place), xytext=(4 if weight >= 0 else -4, 0),
                textcoords="offset points", va="center", ha=side, fontsize="small",
            )  # fmt: skip
        self._frame(ax, places)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _frame(self, ax: Axes, places: Any) -> None:
        ax.set_yticks(places, [plain(name) for name in self.names] + ["in all"])
        ax.invert_yaxis()
        ax.axvline(0, color=QUIET, linewidth=1)
        ax.axhline(len(self.weights) - 0.3, color=QUIET, linewidth=0.8)
        here, there = names_of([self.suggested, self.against], 2)
        ax.set_xlabel(plain(f"← speaks for {there}     speaks for {here} →"))
        ax.tick_params(axis="y", length=0)
        tidy(ax, grid="x")
        ax.spines["left"].set_visible(False)
