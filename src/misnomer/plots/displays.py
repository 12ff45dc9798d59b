"""Pictures of an audit: how doubtful rows are, why one is, which class is mistaken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.metrics.calibration import (
    Reliability,
    forecast_reliability,
    forget_labels,
    reliability,
)
from misnomer.plots.style import AGAINST, FOR, QUIET, Display, names_of, plain, square, tidy, tint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from misnomer.audit.result import Audit


class ErrorProbabilityDisplay(Display):
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
    bars_ : BarContainer
        The bars.

    Examples
    --------
    >>> display = ErrorProbabilityDisplay.from_arrays([0.01, 0.02, 0.97], bins=2)
    >>> display.counts.tolist()
    [2, 1]
    """

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
        ax = self._axes(ax)
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
        return self


class EvidenceDisplay(Display):
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
        ax = self._axes(ax)
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


# Beyond so many classes numbers and names no longer fit a cell.
MAX_CELLS_WRITTEN, MAX_NAMES_WRITTEN = 12, 40


class NoiseMatrixDisplay(Display):
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
        ax = self._axes(ax)
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
    has_truth = np.array([label is not None and label == label for label in truth], bool)
    known = np.flatnonzero(has_truth & (audit.given >= 0))
    if not len(known):
        raise ValueError("No labeled row has a known true label: give at least one.")
    return known, np.array(
        [audit.given_label(row) != truth[row] for row in known.tolist()], np.bool_
    )
