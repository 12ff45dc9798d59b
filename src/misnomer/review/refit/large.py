"""The refit of more rows than fit in memory: of their sample, carried over to all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.engines.stream import joined
from misnomer.model import Model
from misnomer.posterior import Posterior
from misnomer.review.ranking import Ranking
from misnomer.review.refit.fit import (
    REVIEWER_ERROR,
    believed,
    copies_of,
    kept,
    solved,
    solver_of,
    task_of,
)
from misnomer.solvers.task import Details, Fit
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.review.rows.large import LargeRows


N_WORST_ROWS = 20_000  # which are judged anew


class LargeRefit:
    """Fits the sample with and without the decisions, and moves the model by the difference.

    Parameters
    ----------
    rows : LargeRows
        The audit as it was made.
    error : float
        The assumed share of wrong decisions.
    """

    def __init__(self, rows: LargeRows, *, error: float = REVIEWER_ERROR) -> None:
        self.rows, self.error = rows, error
        self._before: Fit | None = None
        self._worst_rows: tuple[NDArray[np.intp], Batch] | None = None

    def __call__(self, decided: Mapping[int, int], version: int) -> tuple[LargeRows, Ranking]:
        """Fit with what was decided, and rank the worst rows anew."""
        sample, solver = self.rows.sample, solver_of(self.rows.sample)
        if self._before is None:
            self._before = solved(solver, task_of(sample, sample.batch))
        batch = joined([sample.batch, self._trusted(decided)])
        after = solved(solver, task_of(sample, batch))
        model = self.rows.classifier.model_.shifted(self._before.model, after.model)
        classifier = kept(self.rows.classifier, replace(after, model=model, details=Details()))
        ranking = self._ranked(model, version)
        return self.rows.judged_by(classifier, ranking), ranking

    def _trusted(self, decided: Mapping[int, int]) -> Batch:
        """Read the decided rows, as trusted copies that weigh as much as they are believed.

        Their given labels are left out: the sample stands for those already, and rows chosen for
        being odd would make the labels look worse than they are.
        """
        rows = np.fromiter(decided, np.intp, len(decided))
        true = np.fromiter(decided.values(), np.intp, len(decided))
        table = pa.concat_tables([self.rows.row(int(row)) for row in rows])
        judged = self.rows.batch(table, self.rows.given[rows])
        share = Posterior.of(self.rows.posterior(self.rows.classifier.model_, judged))
        copies = copies_of(np.arange(len(rows)), believed(share.array, true, self.error))
        blank = self.rows.batch(table, np.full(len(rows), -1)).take(copies.row)
        codes = (len(self.rows.audit.labels) + 1 + copies.true).astype(np.int32)
        return replace(blank.judged_by(codes), weight=copies.weight)

    def _worst(self) -> tuple[NDArray[np.intp], Batch]:
        """Read the worst rows, once: in one pass over the file."""
        if self._worst_rows is None:
            rows = self.rows
            wanted = np.asarray(rows.index.probability[:N_WORST_ROWS], np.intp)
            order, parts = np.sort(wanted), []
            for start, table in rows.parts(list(rows.names)):
                cut = np.searchsorted(order, [start, start + len(table)])
                some = order[slice(*cut)]
                if len(some):
                    taken = rows.named(table).take(pa.array(some - start))
                    parts.append(rows.batch(taken, rows.given[some]))
            self._worst_rows = (order, joined(parts))
        return self._worst_rows

    def _ranked(self, model: Model, version: int) -> Ranking:
        """Judge the worst rows by a model, and put them in their new order before the others."""
        rows, (order, batch) = self.rows, self._worst()
        first = rows.ranking(version)
        shares = Posterior.of(rows.posterior(model, batch))
        home, best = rows.audit.class_of_label[rows.given[order]], shares.best
        wrong = shares.other_than(home)
        head = order[np.argsort(shares.at(home), kind="stable")]
        tail: Any = rows.index.probability[len(order) :]
        return replace(
            first,
            wrong=Patched(first.wrong, order, wrong),
            suggested=Patched(first.suggested, order, best),
            flagged=Patched(first.flagged, order, best != home),
            orders={**first.orders, "probability": (head, tail)},
        )


class Patched:
    """An array with some of its values replaced, read where it is asked for."""

    def __init__(self, base: Any, rows: NDArray[np.intp], values: NDArray[Any]) -> None:
        self.base, self.rows, self.values = base, rows, values

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, asked: Any) -> Any:
        """Read one row, a slice, or rows by their places.

        Examples
        --------
        >>> some = Patched(np.zeros(5), np.array([1, 3]), np.array([7.0, 9.0]))
        >>> some[1:4].tolist(), some[np.array([3, 0])].tolist(), float(some[1])
        ([7.0, 0.0, 9.0], [9.0, 0.0], 7.0)
        """
        if isinstance(asked, slice):
            return self[np.arange(*asked.indices(len(self)))]
        places_asked = np.atleast_1d(asked)
        values = np.array(self.base[places_asked])
        at = np.minimum(np.searchsorted(self.rows, places_asked), len(self.rows) - 1)
        there = self.rows[at] == places_asked
        values[there] = self.values[at[there]]
        return values if np.ndim(asked) else values[0]

    def sum(self) -> float:
        """Add up, some at a time."""
        parts = range(0, len(self), 1 << 22)
        return float(sum(self[at : at + (1 << 22)].sum() for at in parts))
