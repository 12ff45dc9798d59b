"""Colors that read on white and on black, and figures that borrow the page's ink."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

#: The right label, and the suggestion; the wrong one. Color-blind eyes tell them apart.
FOR, AGAINST, QUIET = "#2f7fd3", "#d9700f", "#8a8f98"

# Stands for "the color of the text around" until the SVG is written.
_INK = "#010203"


class Display:
    """A picture: made from an audit or from arrays, then drawn by ``plot``.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    """

    ax_: Axes
    figure_: Figure

    def plot(self, *, ax: Axes | None = None) -> Any:
        """Draw on the axes."""
        raise NotImplementedError

    def _axes(self, ax: Axes | None) -> Axes:
        """Take the axes to draw on, and remember them: those given, or those of a new figure.

        pyplot is imported here and not above, so that ``import misnomer`` stays light.
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return ax


def tidy(ax: Axes, *, grid: str | None = None) -> None:
    """Take away the box, and lay a faint grid behind the marks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.patch.set_alpha(0)
    if grid:
        ax.grid(axis=grid, color=QUIET, alpha=0.25, linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def tint(share: Array, right: NDArray[np.bool_]) -> Array:
    """Color shares as (L, K, 4): right labels blue, wrong ones orange, deeper for larger shares.

    An empty cell shows the page, whatever its color; the root makes small errors visible.
    """
    from matplotlib.colors import to_rgb

    hue = np.where(right[:, :, None], to_rgb(FOR), to_rgb(AGAINST))
    return np.concatenate([hue, np.where(right, share, np.sqrt(share))[:, :, None]], axis=2)


def names_of(names: ArrayLike | None, size: int, *, longest: int = 24) -> list[str]:
    r"""Write names on one line each, cut where too long; numbers where there are none.

    Examples
    --------
    >>> names_of(["a" * 30, "two\nlines"], 2)
    ['aaaaaaaaaaaaaaaaaaaaaaa…', 'two lines']
    """
    if names is None:
        return [str(i) for i in range(size)]
    written = [
        "".join(c if c.isprintable() else "\ufffd" for c in " ".join(str(name).split()))
        for name in np.asarray(names, object).tolist()
    ]
    if len(written) != size:
        raise ValueError(f"There are {len(written)} names for {size} classes: give one each.")
    return [name if len(name) <= longest else name[: longest - 1] + "…" for name in written]


def plain(text: str) -> str:
    r"""Keep matplotlib from reading mathematics into a name that holds dollar signs.

    Examples
    --------
    >>> plain("$5 or $6")
    '\\$5 or \\$6'
    """
    return text.replace("$", r"\$")


def square(matrix: ArrayLike) -> Array:
    """Check a noise matrix: two dimensions, finite, between 0 and 1."""
    cells = np.asarray(matrix, float)
    if cells.ndim != 2 or not cells.size or not np.all((cells >= 0) & (cells <= 1)):
        raise ValueError(
            f"The noise matrix has the shape {cells.shape}: give P(given | true) as an (L, K) "
            "array of numbers from 0 to 1."
        )
    return cells


def to_svg(display: Display, *, width: float = 6.0, height: float = 4.0) -> str:
    """Draw a display as one SVG element without background, in the ink of the page around it.

    Text and axes take ``currentColor``, so one drawing serves a light and a dark page.

    Examples
    --------
    >>> from misnomer.plots import ErrorProbabilityDisplay
    >>> drawing = to_svg(ErrorProbabilityDisplay.from_arrays([0.1, 0.2, 0.9]))
    >>> drawing[:4], "currentColor" in drawing, "<!DOCTYPE" in drawing
    ('<svg', True, False)
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = dict.fromkeys(ink, _INK)
    # letters stay letters, and the same display gives the same drawing
    with rc_context({**settings, "svg.fonttype": "none", "svg.hashsalt": "misnomer"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        display.plot(ax=figure.subplots())
        page = io.StringIO()
        with warnings.catch_warnings():
            # the page has more letters than matplotlib's font, and draws them itself
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure.savefig(
                page, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
            )
    drawn = page.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.S)
    return drawn.replace(_INK, "currentColor")
