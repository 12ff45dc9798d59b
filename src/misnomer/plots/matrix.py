"""Which class is mistaken for which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.plots.style import axes_of, names_of, plain, square, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from misnomer.audit.result import Audit

# Beyond so many classes numbers and names no longer fit a cell.
MAX_CELLS_WRITTEN, MAX_NAMES_WRITTEN = 12, 40


class NoiseMatrixDisplay:
    """The noise matrix P(given | true), or P(true | given), as a grid of tinted cells.

    Parameters
    ----------
    matrix : (L, K) array
        Rows are given labels, columns are true classes.
    labels, classes : sequences, optional
        Names of the rows and of the columns.
    direction : {"given", "true"}
        What each cell is a probability of: the given label (columns sum to one) or the true class
        (rows sum to one).

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it was drawn.
    im_ : AxesImage
        The tinted cells.
    text_ : (L, K) array of Text, or None
        The numbers, where they fit.

    Examples
    --------
    >>> display = NoiseMatrixDisplay.from_arrays([[0.9, 0.2], [0.1, 0.8]], classes=["no", "yes"])
    >>> display.labels
    ['no', 'yes']
    >>> NoiseMatrixDisplay.from_arrays(
    ...     [[0.9, 0.2], [0.1, 0.8]], class_prior=[0.5, 0.5], direction="true"
    ... ).matrix.sum(axis=1).tolist()
    [1.0, 1.0]
    """

    ax_: Axes
    figure_: Figure
    im_: Any
    text_: NDArray[Any] | None

    def __init__(
        self,
        *,
        matrix: ArrayLike,
        labels: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        direction: str = "given",
    ) -> None:
        self.matrix = square(matrix)
        L, K = self.matrix.shape
        self.classes = names_of(classes, K)
        self.labels = self.classes if labels is None and L == K else names_of(labels, L)
        self.direction = direction

    @classmethod
    def from_audit(cls, audit: Audit, *, direction: str = "given") -> Self:
        """Show the noise matrix of an audit, as P(given | true) or as P(true | given)."""
        return cls.from_arrays(
            audit.matrix,
            labels=audit.labels,
            classes=audit.classes,
            class_prior=audit.prior,
            direction=direction,
        )

    @classmethod
    def from_arrays(
        cls,
        noise_matrix: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        class_prior: ArrayLike | None = None,
        direction: str = "given",
    ) -> Self:
        """Show P(given | true), or turn it round with the class prior: P(true | given)."""
        cells = square(noise_matrix)
        if direction == "true":
            if class_prior is None:
                raise ValueError("P(true | given) depends on the class sizes: give class_prior.")
            joint = cells * np.asarray(class_prior, float)
            total = joint.sum(axis=1, keepdims=True)
            cells = joint / np.where(total > 0, total, 1.0)
        elif direction != "given":
            raise ValueError(f'direction is {direction!r}: give "given" or "true".')
        return cls(matrix=cells, labels=labels, classes=classes, direction=direction)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the grid; numbers where they fit, names where they can be read."""
        ax = axes_of(ax)
        right = np.array([[given == true for true in self.classes] for given in self.labels])
        cells = tint(self.matrix, right)
        self.im_ = ax.imshow(cells, aspect="auto", interpolation="nearest")
        few = max(self.matrix.shape) <= MAX_CELLS_WRITTEN
        self.text_ = self._numbers(ax, cells[:, :, 3]) if few else None
        self._name(ax)
        given = self.direction == "given"
        ax.set_title("P(given | true)" if given else "P(true | given)")
        ax.set(xlabel="True class", ylabel="Given label")
        ax.spines[:].set_visible(False)
        ax.patch.set_alpha(0)
        ax.tick_params(length=0)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _name(self, ax: Axes) -> None:
        L, K = self.matrix.shape
        if max(L, K) > MAX_NAMES_WRITTEN:
            return
        longest = max(map(len, self.classes))
        ax.set_xticks(range(K), [plain(name) for name in self.classes])
        if longest * K > 45:
            ax.tick_params(axis="x", rotation=45)
            for tick in ax.get_xticklabels():
                tick.set(horizontalalignment="right", rotation_mode="anchor")
        ax.set_yticks(range(L), [plain(name) for name in self.labels])

    def _numbers(self, ax: Axes, depth: NDArray[np.float64]) -> NDArray[Any]:
        """Write the shares in percent; white on deep cells, the page's ink on faint ones."""
        texts = np.empty(self.matrix.shape, object)
        for (row, column), share in np.ndenumerate(self.matrix):
            color: dict[str, Any] = {"color": "white"} if depth[row, column] > 0.55 else {}
            written = f"{share:.0%}" if share == 0 or share >= 0.01 else "<1%"
            texts[row, column] = ax.text(column, row, written, ha="center", va="center", **color)
        return texts
