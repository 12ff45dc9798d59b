"""Audit: the rate, the matrix, the ranked rows, the verdict, as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import Estimate
from misnomer.evidence import Explanation, explained, without_itself
from misnomer.posterior import NoiseMatrix, Posterior
from misnomer.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from misnomer.audit.crowds import Sources
    from misnomer.audit.files.origin import Origin
    from misnomer.audit.numbers import Fitted
    from misnomer.audit.shape import Shape
    from misnomer.checks.result import Checks
    from misnomer.classifiers import NoisyLabelEstimator
    from misnomer.classifiers.annotator_table import AnnotatorTable, GroupTable
    from misnomer.rows.neighbors import Unusual
    from misnomer.table import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AllRows:
    """What is known of all rows, where so many were judged that an audit keeps a sample of them."""

    flagged: int  # how many labels are called wrong
    worst: Any  # the worst flagged rows, the worst first, with all of their columns
    # reads and judges the rows again, table after table, with their own columns behind; None where
    # they are no file
    read: Callable[[], Iterator[pa.Table]] | None
    # (n,): the numbers of the rows that are kept, rising: a sample, and those that were checked
    places: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Audit:
    """What is wrong with the labels of some rows.

    Made by `audit`; rendered by ``misnomer.reports``. One answer per question: the sum of the rows'
    error probabilities is ``error_count.value``.

    The numbers are of all rows, however many. What is kept row by row (``given``, ``posterior``,
    ...) is of all of them, too, up to 50,000; of more it is a random sample, ``issues`` lists the
    10,000 worst of all, and ``rows`` and ``save`` read the file again.

    Attributes
    ----------
    error_rate, error_count : Estimate
        The share and the number of wrong labels among the labeled rows.
    verdict : Verdict
        Whether this data can tell.
    label : str
        The name of the label column.
    labels, classes : tuple
        The given labels (L) and the true classes (K).
    given : (n,) array of int
        The place of each row's given label in ``labels``; -1 where there is none.
    trusted : (n,) array of bool
        Rows whose label was known to be right.
    shares : Posterior
        P(true class | row, given label): of thousands of classes, of the best of each row.
    noise : NoiseMatrix
        P(given | true) and its interval: of thousands of classes, of the pairs that occur.
    prior, prior_low, prior_high : (K,) arrays
        P(true class) and its interval.
    fitted : Fitted
        What was fitted and why.
    warnings : tuple of str
        What the user should know about the input.
    classifier : NoisyLabelEstimator
        The fitted classifier of the true class.
    sources : Sources or None
        Who gave the labels, where that was said: annotators or groups.
    origin : Origin or None
        Which file the rows came from, and what it held; None where they came from memory.
    checks : Checks or None
        Rows that a person has checked, and what they say whatever the noise.
    left_out : tuple of str
        What could not be read.
    all_rows : AllRows or None
        What is known of all rows, where those above are a sample.
    lazy : Dask data frame or None
        One line per input row, computed when it is asked for.
    """

    error_rate: Estimate
    error_count: Estimate
    verdict: Verdict
    label: str
    labels: tuple[Any, ...]
    classes: tuple[Any, ...]
    given: NDArray[np.int64]
    trusted: NDArray[np.bool_]
    shares: Posterior
    noise: NoiseMatrix
    prior: Array
    prior_low: Array
    prior_high: Array
    fitted: Fitted
    warnings: tuple[str, ...]
    classifier: NoisyLabelEstimator
    batch: Batch
    shape: Shape
    sources: Sources | None = None
    origin: Origin | None = None
    checks: Checks | None = None
    left_out: tuple[str, ...] = ()
    all_rows: AllRows | None = None
    lazy: Any = None

    @property
    def is_whole(self) -> bool:
        """Whether all rows are kept, not a sample of them."""
        return self.all_rows is None

    @property
    def flagged(self) -> int:
        """How many labels are called wrong, among all rows."""
        return len(self.ranking) if self.all_rows is None else self.all_rows.flagged

    @property
    def annotators(self) -> AnnotatorTable | None:
        """The annotators, the most informative first; None where they were not told apart."""
        return None if self.sources is None else self.sources.annotators

    @property
    def groups(self) -> GroupTable | None:
        """The groups, the one with most errors first, and whether they differ; else None."""
        return None if self.sources is None else self.sources.groups

    @property
    def label_accuracy(self) -> Estimate:
        """The share of right labels: one minus the error rate."""
        return self.error_rate.complement()

    @cached_property
    def posterior(self) -> Array:
        """P(true class | row, given label), (n, K); where only the best are kept, others have 0."""
        return self.shares.array

    @cached_property
    def matrix(self) -> Array:
        """P(given | true), (L, K); columns sum to one, pairs that never occur share the rest."""
        return self.noise.array()

    @cached_property
    def matrix_low(self) -> Array:
        """The low ends of the intervals of ``matrix``; they do not sum to one."""
        return self.noise.array("low")

    @cached_property
    def matrix_high(self) -> Array:
        """The high ends of the intervals of ``matrix``."""
        return self.noise.array("high")

    @cached_property
    def class_of_label(self) -> NDArray[np.intp]:
        """The class that is called like each label, (L,); -1 where there is none."""
        return places(self.labels, self.classes)

    @cached_property
    def home(self) -> NDArray[np.intp]:
        """The class that is called like each row's given label, (n,); -1 where there is none."""
        return np.where(self.given < 0, -1, self.class_of_label[self.given])

    @cached_property
    def right(self) -> Array:
        """P(the given label is right), (n,): near zero it tells apart what near one rounds to 1."""
        return self.shares.at(self.home)

    @cached_property
    def error_probability(self) -> Array:
        """P(the given label is wrong), (n,); NaN where there is no label."""
        wrong = self.shares.other_than(self.home)
        return np.where(self.given < 0, np.nan, np.where(self.trusted, 0.0, wrong))

    @cached_property
    def suggested(self) -> NDArray[np.intp]:
        """The place of the most probable true class in ``classes``, (n,)."""
        return self.shares.best

    @cached_property
    def is_label_issue(self) -> NDArray[np.bool_]:
        """Tell where another class is more probable than the given label, (n,)."""
        return (self.given >= 0) & ~self.trusted & (self.suggested != self.home)

    @cached_property
    def ranking(self) -> NDArray[np.intp]:
        """Positions of the flagged rows, worst first."""
        flagged = np.flatnonzero(self.is_label_issue)
        return flagged[np.argsort(self.right[flagged], kind="stable")]

    @cached_property
    def unusual(self) -> Unusual | None:
        """Rows that nearly equal another one, or are unlike all; None where there are too many."""
        if len(self.given) < self.fitted.rows:  # neighbors of a sample are not those of the whole
            return None
        from misnomer.rows.neighbors import unusual

        return unusual(self.batch.blocks)

    @cached_property
    def rows(self) -> Any:
        """One line per input row, in its order, whatever kind of frame.

        ``given_label``, ``suggested_label``, ``error_probability``, ``label_quality`` (one minus
        it), ``is_label_issue``; ``near_duplicate``, the position of a row that it equals or nearly
        equals, and ``is_outlier``, where it is unlike all others (both are empty beyond 5,000
        rows). Of pandas, the index is the input's; of a Dask data frame it is a lazy frame.
        """
        if self.lazy is not None or self.all_rows is None or self.all_rows.read is None:
            return self.shape.rows(self) if self.lazy is None else self.lazy
        return self.shape.read_rows(self.all_rows.read())

    @cached_property
    def issues(self) -> Any:
        """The flagged rows, worst first: the columns of `rows`, and ``row``, their positions.

        Of a pandas frame the index names the rows, as it does in the frame itself.
        """
        if self.all_rows is not None:
            return self.shape.frame(self.all_rows.worst, None)
        return self.shape.rows(self, self.ranking)

    @cached_property
    def ask(self) -> Any:
        """The few rows whose true class would settle most, where the verdict leaves it open."""
        return self.shape.rows(self, np.array(self.verdict.ask, np.intp))

    @cached_property
    def confusions(self) -> pa.Table:
        """The pairs of different given and true class that occur, by how many rows they have.

        ``true``, ``given``, the expected ``rows``, ``given_of_true`` with its interval (``low``,
        ``high``), and ``true_of_given``.
        """
        from misnomer.audit.shape import confusions

        return confusions(self)

    @property
    def noise_pairs(self) -> Any:
        """The same as a frame."""
        return self.shape.frame(self.confusions, None)

    @property
    def noise_matrix(self) -> Any:
        """P(given | true) as a frame: rows given, columns true, columns sum to one."""
        return self.shape.matrix(self.matrix, self.labels, self.classes)

    @property
    def noise_matrix_low(self) -> Any:
        """The low ends of the intervals of ``noise_matrix``."""
        return self.shape.matrix(self.matrix_low, self.labels, self.classes)

    @property
    def noise_matrix_high(self) -> Any:
        """The high ends of the intervals of ``noise_matrix``."""
        return self.shape.matrix(self.matrix_high, self.labels, self.classes)

    @cached_property
    def given_share(self) -> Array:
        """The share of each true class's label among the given labels, (K,)."""
        count = np.bincount(self.given[self.given >= 0], minlength=len(self.labels))
        home = self.class_of_label
        share = np.zeros(len(self.classes))
        np.add.at(share, home[home >= 0], count[home >= 0] / max(count.sum(), 1))
        return share

    @property
    def class_prior(self) -> Any:
        """The classes as a frame: their share among given labels, and among true classes."""
        return self.shape.prior(self)

    @property
    def data(self) -> Any:
        """The input's own columns, as an Arrow table (empty for a sparse matrix)."""
        return self.shape.table()

    def given_label(self, row: int) -> Any:
        """Return the given label of a row; None where there is none."""
        return self.labels[self.given[row]] if self.given[row] >= 0 else None

    def explain(self, row: Any) -> Explanation:
        """Say why a row's label looks wrong or right.

        Parameters
        ----------
        row : int or index label
            A value of the input's index (pandas), else the position of the row.

        Returns
        -------
        Explanation
            Weights of evidence for the suggested class against the given label; where they are
            the same, against the next best class. They add up to the model's log-odds.
        """
        return self.explain_at(self.shape.position(row, len(self.given)))

    def explain_at(self, at: int) -> Explanation:
        """Say the same of the row at a position, whatever the input's index."""
        share, kept = self.shares.share[at], self.shares.classes[at]
        order = np.argsort(-share, kind="stable")
        own, this = np.flatnonzero(kept == self.home[at]), int(order[0])
        other = int(own[0] if len(own) and own[0] != this else order[1])
        evidence = self.classifier.model_.evidence(self.batch.take(slice(at, at + 1)))[0]
        if self.sources is not None:
            evidence = self.sources.weighed(evidence, at)
        evidence = evidence.of(kept)
        if self.annotators is None:
            absent = getattr(self.classifier.model_, "absent", ())
            evidence = without_itself(evidence, share, " and ".join(absent))
        wrong = None if self.given[at] < 0 else float(self.error_probability[at])
        names = tuple(self.classes[k] for k in kept)
        return explained(evidence, at, self.given_label(at), names, (this, other), wrong)

    def draw_checks(self, rows: int = 50, *, before: Any = None, random_state: Any = None) -> Any:
        """Draw rows for a person to check, by a recorded design.

        Fill the column ``true_label`` in ("cannot say" is an answer) and hand the frame to
        ``audit(..., checked=frame)``: the rate then holds whatever the noise. The frame shows
        neither the given label nor what the model thinks, and its order is that of the draw: keep
        it, so that any number of answers from the top is a sample of its own.

        Parameters
        ----------
        rows : int, default 50
            How many.
        before : frame, optional
            What was drawn earlier from this audit; both together are one sample.
        random_state : int, optional
            The seed of the draw.

        Returns
        -------
        frame
            ``row`` (its position), an empty ``true_label``, ``inclusion`` (the probability of being
            drawn), and the rest of the design.
        """
        from misnomer.audit.checked import draw_checks

        return draw_checks(self, rows, before=before, random_state=random_state)

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Path]:
        """Write the report, the rows, the issues, the numbers and the model into a folder."""
        from misnomer.audit.files.folder import save_audit

        return save_audit(self, folder, force=force)

    def to_html(self, path: str | Path | None = None) -> str:
        """Render the report as one self-contained page; write it where a path is given."""
        from misnomer.reports.html import to_html
        from misnomer.store import write_text

        page = to_html(self)
        if path is not None:
            write_text(path, page)
        return page

    def _repr_html_(self) -> str:
        """Show a summary in a notebook."""
        from misnomer.reports.html import summary_html

        return summary_html(self)

    def __repr__(self) -> str:
        """Return the answer in one line."""
        return (
            f"Audit({self.fitted.labeled} labels, {self.error_count.value:.1f} wrong "
            f"({self.error_rate.value:.1%}), {self.flagged} flagged, "
            f"verdict={self.verdict.level!r})"
        )


def places(labels: tuple[Any, ...], classes: tuple[Any, ...]) -> NDArray[np.intp]:
    """Find the class of each label's name, (L,); -1 where it has none.

    Examples
    --------
    >>> places(("no", "yes", "?"), ("no", "yes")).tolist()
    [0, 1, -1]
    """
    where = {name: k for k, name in enumerate(classes)}
    return np.array([where.get(name, -1) for name in labels], np.intp)
