"""One review: an audit, its decisions, the ranking of the moment, what remains."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer.audit import load_audit
from misnomer.review.decisions import PERSON, ConflictError, Decision, Decisions
from misnomer.review.large import LargeRows
from misnomer.review.ledger import ReviewError
from misnomer.review.progress import Progress, open_rows, progress_of
from misnomer.review.ranking import EVERYTHING, Filter, Ranking, draw_random_checks, take_passing
from misnomer.review.refit import REVIEWER_ERROR, Refitter
from misnomer.review.rows import Rows, rows_of
from misnomer.store.container import check_whole, reading

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

#: Where the decisions are, in an audit's folder.
FILE = "review.sqlite"

_CHECK_EVERY = 10  # of so many rows, one is a random check
_REFIT_EVERY = 5  # decisions


# What an audit's folder is known by.
_MARKS = ("audit.safetensors", "model.safetensors", "rows.parquet")


def load_for_review(folder: str | Path) -> Rows:
    """Load the rows of an audit's folder; say how to make one where it is none."""
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    with reading(folder):
        return _rows_of_folder(folder)


def _rows_of_folder(folder: Path) -> Rows:
    if (folder / "sample" / _MARKS[0]).is_file():
        return _rows_by_batches(folder)
    missing = [name for name in _MARKS if not (folder / name).is_file()]
    if not folder.is_dir() or missing:
        lacks = f" (it lacks {missing[0]})" if folder.is_dir() else ""
        raise ReviewError(
            f"{str(folder)!r} is not the folder of an audit{lacks}: make one with "
            "misnomer audit FILE --label COLUMN --out FOLDER"
        )
    return Rows(load_audit(folder))


def _rows_by_batches(folder: Path) -> LargeRows:
    """Open an audit whose rows do not fit in memory."""
    if not (folder / _MARKS[2]).is_file():
        raise ReviewError(
            f"{str(folder)!r} was audited by batches and lacks {_MARKS[2]}: review the sample of "
            f"its rows, {str(folder / 'sample')!r}, or audit the file anew"
        )
    check_whole(folder, ("rows.parquet", "audit.json", "sample"))
    sample = load_audit(folder / "sample")
    if sample.annotators is not None:
        raise ReviewError(
            f"{str(folder)!r} was audited by batches, from several annotators: review the sample "
            f"of its rows, {str(folder / 'sample')!r}, which holds all answers about them"
        )
    return LargeRows(folder, sample)


class Review:
    """Go through the rows of an audit.

    Parameters
    ----------
    audit : Audit or Rows
        What to review.
    path : str or Path
        The SQLite file of the decisions.
    refit : bool
        Whether to fit anew in the background; without it, `refit_now` does when it is called.
    check_every : int
        Of so many rows that come up, one is a random check; 0 leaves them out.
    reviewer_error : float
        The assumed share of wrong decisions: they are strong evidence, not truth.
    """

    def __init__(
        self,
        audit: Audit | Rows,
        path: str | Path,
        *,
        refit: bool = True,
        check_every: int = _CHECK_EVERY,
        reviewer_error: float = REVIEWER_ERROR,
    ) -> None:
        if not 0.0 <= reviewer_error < 0.5:
            raise ReviewError("the reviewer's error must be at least 0 and below 0.5")
        self.source = self.judged = rows_of(audit)
        self.audit = self.source.audit
        self.check_every, self.reviewer_error = check_every, reviewer_error
        self.classes = {name: place for place, name in enumerate(self.audit.classes)}
        self.first = self.ranking = self.source.ranking()
        self._open = open_rows(self.first, self.first)
        self._matching: tuple[Any, NDArray[np.bool_]] = (None, np.zeros(0, bool))
        self._counts: tuple[Ranking, dict[Filter, int]] = (self.first, {})
        mark = self.source.fingerprint()
        self.checks = draw_random_checks(self.first, int(mark[:8], 16))
        self.decisions = Decisions(path, mark)
        self.decided = np.zeros(len(self.source), bool)
        self._lock = threading.Lock()
        self._synced = self._fitted = 0
        self._refit = self.source.refit(reviewer_error)
        self.refitter = Refitter(self.refit_now, self.audit.fitted.seconds)
        self._refits = refit
        self.sync()

    def close(self) -> None:
        """Stop fitting and let go of the file."""
        self.refitter.stop()
        self.decisions.close()

    def sync(self) -> None:
        """Take in what was decided, here or by another server."""
        self.decisions.refresh()
        with self._lock:
            if self.decisions.version == self._synced:
                return
            for entry in self.decisions.since(self._synced):
                if entry.row < len(self.decided):
                    self.decided[entry.row] = self.decisions.of(entry.row) is not None
            self._synced = self.decisions.version
        if self._refits and self._synced - self._fitted >= _REFIT_EVERY:
            self.refitter.ask()

    def refit_now(self) -> Ranking:
        """Fit with the decisions there are, and rank the open rows anew.

        What was decided in bulk only repeats the model's own words: it is nothing to learn from.
        """
        version = self.decisions.version
        known = {
            one.row: self.classes[one.label]
            for one in self.decisions.standing()
            if one.action != "unsure" and one.label in self.classes and one.bulk is None
        }
        number = self.ranking.version + 1
        judged, ranking = self.source, replace(self.first, version=number)
        if known:
            judged, ranking = self._refit(known, number)
        still = open_rows(ranking, self.first)
        with self._lock:
            self.judged, self.ranking, self._open = judged, ranking, still
            self._fitted = version
        return ranking

    def rows(
        self,
        order: str,
        wanted: Filter,
        offset: int = 0,
        limit: int | None = None,
        who: str = PERSON,
    ) -> NDArray[np.intp]:
        """List the rows that pass a filter, in an order; some of them, if so many were asked."""
        ranking = self.ranking
        if order not in ranking.orders:
            raise ReviewError(f"there is no order {order!r}; there are {', '.join(ranking.orders)}")
        most = len(self.decided) if limit is None else limit

        among, done = self._among(wanted), self._done(wanted, who)

        def passing(rows: NDArray[np.intp]) -> NDArray[np.bool_]:
            kept = wanted.passing(ranking, done, rows)
            return kept if among is None else kept & among[rows]

        return take_passing(ranking.orders[order], passing, offset, most)

    def _among(self, wanted: Filter) -> NDArray[np.bool_] | None:
        """Find the rows whose cells a filter asks for; the latest such question is remembered."""
        if not wanted.looks_at_cells:
            return None
        asked = (wanted.column, wanted.value, wanted.words)
        if self._matching[0] != asked:
            self._matching = (asked, self.source.matching(*asked))
        return self._matching[1]

    def _done(self, wanted: Filter, who: str) -> NDArray[np.bool_]:
        """Tell which rows are decided; for a second opinion, those that only others decided."""
        if wanted.state != "second":
            return self.decided
        others = np.zeros(len(self.decided), bool)
        opinions = self.decisions.opinions()
        others[[row for row, said in opinions.items() if who not in said]] = True
        return others

    def next(
        self,
        order: str = "probability",
        wanted: Filter = EVERYTHING,
        skip: Any = (),
        who: str = PERSON,
    ) -> tuple[int | None, bool]:
        """Choose the row to look at, and say whether it is a random check.

        A filter leaves the checks out: whoever filters wants these rows and no others.
        """
        skipped = set(skip)
        if wanted == EVERYTHING and self._check_is_due():
            for row in self.checks[~self.decided[self.checks]].tolist():
                if row not in skipped:
                    return row, True
        for row in self.rows(order, wanted, limit=len(skipped) + 1, who=who).tolist():
            if row not in skipped:
                return row, False
        return None, False

    def _check_is_due(self) -> bool:
        every = self.check_every
        return bool(every) and len(self.decisions.standing()) % every == every - 1

    def decide(
        self,
        *,
        key: str,
        row: int,
        action: str,
        label: Any = None,
        seen: int | None = None,
        check: bool = False,
        shown: float | None = None,
        who: str = PERSON,
    ) -> Decision:
        """Write down what somebody decided about a row; when this returns, it is on disk.

        Parameters
        ----------
        key, row, action, seen, check, who
            As in `Decision` and `Decisions.add`.
        label : label, optional
            The class that was chosen, or the suggestion that was accepted: by the time of the
            answer a new fit may suggest another one.
        shown : float, optional
            P(wrong) as it was shown; the ranking's own without it.
        """
        if not 0 <= row < len(self.decided) or self.source.given[row] < 0:
            raise ReviewError(f"there is no labeled row {row} in this audit")
        said = self._said(row, action, label, shown)
        real = check and not self.first.flagged[row]
        decision = self.decisions.add(
            key=key, row=row, action=action, seen=seen, who=who, check=real, **said
        )
        self.sync()
        return decision

    def _said(self, row: int, action: str, label: Any, shown: float | None) -> dict[str, Any]:
        given, suggested = self.source.given_label(row), self.judged.suggested_class(row)
        wrong = float(self.ranking.wrong[row]) if shown is None else min(max(shown, 0.0), 1.0)
        return {
            "label": self._label(action, label, given, suggested),
            "given": given,
            "suggested": label if action == "accept" and label is not None else suggested,
            "probability": wrong,
        }

    def _label(self, action: str, label: Any, given: Any, suggested: Any) -> Any:
        if action == "accept" and label is None:
            return suggested
        if action in ("accept", "choose"):
            if label not in self.classes or isinstance(label, bool) != isinstance(given, bool):
                raise ReviewError(f"{label!r} is not among the {len(self.classes)} classes")
            return label
        return given if action == "keep" else None

    def decide_many(self, *, key: str, wanted: Filter, expected: int, who: str = PERSON) -> int:
        """Accept the suggestion for every open row that passes a filter; all or none.

        Parameters
        ----------
        key : str
            Chosen by whoever decides: the same key twice is the same deed, and undoes it.
        wanted : Filter
            Which rows.
        expected : int
            How many there were when the person looked: by another count, nothing is done.
        """
        rows = self.rows("probability", replace(wanted, state="open"), who=who)
        if len(rows) != expected and self.decisions.bulk_size(key) == 0:
            raise ConflictError(f"there are {len(rows):,} such rows by now: look again")
        count = self.decisions.add_many(self._accepted(row, key, who) for row in rows.tolist())
        self.sync()
        return count or self.decisions.bulk_size(key)

    def _accepted(self, row: int, bulk: str, who: str) -> dict[str, Any]:
        said = self._said(row, "accept", None, None)
        action = "keep" if said["label"] == said["given"] else "accept"
        own = {"key": f"{bulk}:{row}", "row": row, "action": action}
        return {**own, "who": who, "bulk": bulk, **said}

    def undo_many(self, *, key: str, bulk: str, who: str = PERSON) -> int:
        """Take back what was decided at once."""
        count = self.decisions.undo_many(key=key, bulk=bulk, who=who)
        self.sync()
        return count

    def undo(self, *, key: str, decision: int, who: str = PERSON) -> Decision:
        """Take a decision back."""
        undone = self.decisions.undo(key=key, decision=decision, who=who)
        self.sync()
        return undone

    def progress(self) -> Progress:
        """Count, and estimate what remains."""
        standing = self.decisions.standing()
        coming = self.ranking.wrong[self.rows("probability", EVERYTHING, limit=20)]
        claimed = self.audit.error_count
        summary, error = self._open, self.reviewer_error
        return progress_of(standing, self.first, self.ranking, summary, coming, claimed, error)

    def count(self, wanted: Filter, who: str = PERSON) -> int:
        """Count the rows that pass a filter; of those already counted, not again."""
        if wanted.looks_at_cells or wanted.state == "second":
            return len(self.rows("probability", wanted, who=who))
        ranking, every = self.ranking, replace(wanted, state="all")
        if self._counts[0] is not ranking:
            self._counts = (ranking, {})
        known = self._counts[1]
        if every not in known:
            known[every] = every.count(ranking)
        if wanted.state == "all":
            return known[every]
        rows = np.array([one.row for one in self.decisions.standing()], np.intp)
        done = int(every.fitting(ranking, rows).sum())
        return done if wanted.state == "decided" else known[every] - done
