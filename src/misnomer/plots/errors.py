"""How many rows are how doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from misnomer.plots.style import AGAINST, FOR, axes_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from misnomer.audit.result import Audit


class ErrorProbabilityDisplay:
    """The distribution of P(the given label is wrong) over the rows.

    Parameters
    ----------
    counts : (B,) array
        Rows per bin.
    edges : (B + 1,) array
        The ends of the bins.
    flagged : (B,) array, optional
        How many of them are flagged as label issues.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    bars_ : BarContainer
        The bars.

    Examples
    --------
    >>> display = ErrorProbabilityDisplay.from_arrays([0.01, 0.02, 0.97], bins=2)
    >>> display.counts.tolist()
    [2, 1]
    """

    ax_: Axes
    figure_: Figure
    bars_: Any

    def __init__(
        self, *, counts: ArrayLike, edges: ArrayLike, flagged: ArrayLike | None = None
    ) -> None:
        self.counts = np.asarray(counts)
        self.edges = np.asarray(edges, float)
        self.flagged = None if flagged is None else np.asarray(flagged)

    @classmethod
    def from_audit(cls, audit: Audit, *, bins: int = 20) -> Self:
        """Count the labeled rows of an audit by their error probability."""
        return cls.from_arrays(audit.error_probability, audit.is_label_issue, bins)

    @classmethod
    def from_arrays(
        cls, error_probability: ArrayLike, is_label_issue: ArrayLike | None = None, bins: int = 20
    ) -> Self:
        """Count rows by their error probability; missing probabilities are left out."""
        p = np.asarray(error_probability, float)
        known = np.isfinite(p)
        counts, edges = np.histogram(p[known], bins=bins, range=(0.0, 1.0))
        flagged = None
        if is_label_issue is not None:
            issue = np.asarray(is_label_issue, bool)
            flagged = np.histogram(p[known & issue], bins=edges)[0]
        return cls(counts=counts, edges=edges, flagged=flagged)

    def plot(self, *, ax: Axes | None = None, log: bool | None = None) -> Self:
        """Draw the bars: flagged rows in orange with a pattern, the others in blue.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        log : bool, optional
            Whether the rows are counted on a logarithmic scale; by default where the largest bar
            would hide the small ones.
        """
        ax = axes_of(ax)
        width, left = np.diff(self.edges) * 0.92, self.edges[:-1]
        flagged = np.zeros_like(self.counts) if self.flagged is None else self.flagged
        self.bars_ = ax.bar(left, self.counts, width, align="edge", color=FOR, label="kept")
        if flagged.any():
            # hatched too: the two kinds differ without their color
            ax.bar(
                left, flagged, width, align="edge", color=AGAINST, hatch="///",
                edgecolor=(1, 1, 1, 0.45), linewidth=0, label="flagged",
            )  # fmt: skip
            ax.legend(frameon=False)
        filled = self.counts[self.counts > 0]
        if log if log is not None else filled.size and filled.max() > 50 * filled.min():
            ax.set_yscale("log")
            ax.set_ylim(bottom=0.7)
        ax.set(xlim=(0, 1), xlabel="P(the given label is wrong)", ylabel="Rows")
        tidy(ax, grid="y")
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self
