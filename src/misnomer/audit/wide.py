"""WideAudit: the answers about thousands of labels, nothing of them rows x classes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from misnomer.audit.files.folder import issue_table, row_table
from misnomer.audit.frames import Shape
from misnomer.audit.result import Fitted
from misnomer.classifiers.wide import WideModel
from misnomer.estimate import Estimate
from misnomer.reports.checks import checks_json
from misnomer.reports.html import to_html
from misnomer.solvers.sparse.naive_bayes import SparseFit, chance_of_right, chances
from misnomer.store.folders import MANIFEST, filling
from misnomer.store.models import wide_bytes
from misnomer.store.writing import write_csv, write_text
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

FILES = (
    "report.html",
    "issues.csv",
    "confusions.csv",
    "audit.json",
    "rows.parquet",
    "model.safetensors",
    MANIFEST,
)
_FEW = 10  # rows of a class
_SEPARATE = 0.75  # mean probability of the best class from the columns alone
_LOST = 0.05  # share of the rows in classes whose own label is not their most usual one
_LISTED = 100  # confusions in audit.json


@dataclass(frozen=True, eq=False)
class WideAudit:
    """What is wrong with the labels of some rows, where labels are many.

    It answers what an ``Audit`` answers; ``noise_pairs`` stands for the matrix. There is no
    explanation of single rows.

    Attributes
    ----------
    error_rate, error_count : Estimate
        The share and the number of wrong labels among the labeled rows.
    verdict : Verdict
        Whether this data can tell.
    label : str
        The name of the label column.
    labels : tuple
        The given labels, which are the true classes, too (K).
    given : (n,) array of int
        The place of each row's given label in ``labels``; -1 where there is none.
    trusted : (n,) array of bool
        Rows whose label was known to be right.
    fit : SparseFit
        The best classes of each row with their shares, the sums, the channel of the pairs seen.
    fitted : Fitted
        What was fitted and why.
    warnings : tuple of str
        What the user should know about the input.
    model : WideModel
        What tells the true class of new rows.
    origin : Origin or None
        Which file the rows came from, where they came from one.
    checks : Checks or None
        The rows that a person has checked, where there are any.
    recalibrated : (n,) array or None
        P(the given label is wrong), as the checked rows say.
    """

    error_rate: Estimate
    error_count: Estimate
    verdict: Verdict
    label: str
    labels: tuple[Any, ...]
    given: NDArray[np.int64]
    trusted: NDArray[np.bool_]
    fit: SparseFit
    fitted: Fitted
    warnings: tuple[str, ...]
    shape: Shape
    model: WideModel
    origin: Any = None
    checks: Any = None
    recalibrated: Array | None = None

    @property
    def classes(self) -> tuple[Any, ...]:
        """The true classes: the given labels."""
        return self.labels

    @cached_property
    def right(self) -> Array:
        """P(the given label is right), by the fit alone, (n,)."""
        return chance_of_right(self.fit.found, self.fit.judged.share, self.given)

    @cached_property
    def error_probability(self) -> Array:
        """P(the given label is wrong), (n,); NaN where there is no label."""
        if self.recalibrated is not None:
            return self.recalibrated
        wrong = np.where(self.trusted, 0.0, np.clip(1.0 - self.right, 0.0, 1.0))
        return np.where(self.given < 0, np.nan, wrong)

    @cached_property
    def suggested(self) -> NDArray[np.intp]:
        """The place of the most probable true class in ``labels``, (n,)."""
        if self.recalibrated is not None:
            return self._suggested_after_checks(self.recalibrated)
        best = self.fit.judged.share.argmax(axis=1)[:, None]
        return np.take_along_axis(self.fit.found.classes, best, axis=1)[:, 0].astype(np.intp)

    def _suggested_after_checks(self, wrong: Array) -> NDArray[np.intp]:
        """As answered, else the given label where its other classes share too little doubt."""
        other = np.where(self.fit.found.classes == self.given[:, None], 0.0, self.fit.judged.share)
        best = other.argmax(axis=1)[:, None]
        out = np.take_along_axis(self.fit.found.classes, best, axis=1)[:, 0].astype(np.intp)
        part = np.take_along_axis(other, best, axis=1)[:, 0]
        part /= np.maximum(other.sum(axis=1), 1e-300)
        kept = (self.given >= 0) & (1.0 - wrong >= wrong * part)
        out[kept] = self.given[kept]
        for row, code in self.checks.answers.known.items():
            if code < len(self.labels):  # else a class that only the answer names
                out[row] = code
        return out

    @cached_property
    def is_label_issue(self) -> NDArray[np.bool_]:
        """Tell where another class is more probable than the given label, (n,)."""
        found = (self.given >= 0) & ~self.trusted & (self.suggested != self.given)
        if self.checks is not None:  # answers are known, a new class included
            known = [row for row in self.checks.answers.known if self.given[row] >= 0]
            found[known] = self.error_probability[known] > 0.5
        return np.asarray(found)

    @cached_property
    def ranking(self) -> NDArray[np.intp]:
        """Positions of the flagged rows, worst first."""
        flagged = np.flatnonzero(self.is_label_issue)
        right = self.right[flagged]
        if self.recalibrated is None:
            return flagged[np.argsort(right, kind="stable")]
        return flagged[np.lexsort((right, 1.0 - self.recalibrated[flagged]))]

    def draw_checks(self, rows: int, *, before: Any = None, random_state: Any = None) -> Any:
        """Draw rows for a person to check; see `Audit.draw_checks`."""
        from misnomer.audit.checked import draw_checks

        audit: Any = self
        return draw_checks(audit, rows, before=before, random_state=random_state)

    @cached_property
    def rows(self) -> Any:
        """One line per input row, in its order: its label, what it should be, how doubtful."""
        return self.shape.rows(self)  # type: ignore[arg-type]

    @cached_property
    def issues(self) -> Any:
        """The flagged rows, worst first."""
        return self.shape.rows(self, self.ranking)  # type: ignore[arg-type]

    @cached_property
    def confusions(self) -> pa.Table:
        """The pairs of different given and true class, by how many rows they have."""
        pairs, mass = self.fit.pairs, self.fit.judged.mass
        kept = np.flatnonzero(~pairs.right & (mass > 0.5))
        kept = kept[np.argsort(-mass[kept], kind="stable")]
        chance = chances(pairs, mass, self.fit.judged.rate, self.fit.judged.virtual)[kept]
        names = pa.array(self.labels)
        return pa.table(
            {
                "true": names.take(pa.array(pairs.true[kept])),
                "given": names.take(pa.array(pairs.given[kept])),
                "rows": mass[kept],
                "given_of_true": chance,
            }
        )

    @property
    def noise_pairs(self) -> Any:
        """P(given | true) as a list of the confusions that occur, the most frequent first."""
        return self.shape.frame(self.confusions, None)

    @property
    def class_prior(self) -> Any:
        """The classes as a frame: their share among given labels, and among true classes."""
        given = np.bincount(self.given[self.given >= 0], minlength=len(self.labels))
        columns = {
            "class": pa.array(self.labels),
            "given_share": given / max(given.sum(), 1),
            "true_share": self.fit.class_shares,
        }
        return self.shape.frame(pa.table(columns), None)

    @property
    def data(self) -> Any:
        """The input's own columns, as an Arrow table (empty for a sparse matrix)."""
        return self.shape.table()

    def explain(self, row: Any) -> Any:
        """Refuse: the weights of single words are not kept."""
        raise ValueError("an audit of so many labels explains no single rows: audit some labels")

    def to_html(self, path: str | Path | None = None) -> str:
        """Render the report as one self-contained page; write it where a path is given."""
        every, _ = row_table(self)  # type: ignore[arg-type]
        issues = issue_table(self, every)  # type: ignore[arg-type]
        page = to_html(self, issues)
        if path is not None:
            write_text(path, page)
        return page

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Path]:
        """Write the rows, the issues, the confusions, the report and the model into a folder.

        Returns
        -------
        dict of str to Path
            Where each file was written.
        """
        every, _ = row_table(self)  # type: ignore[arg-type]
        with filling(folder, force=force) as inside:
            pq.write_table(every, inside / "rows.parquet", compression="zstd")
            self.write_beside(inside, issue_table(self, every))  # type: ignore[arg-type]
        return {name: Path(folder) / name for name in FILES}

    def write_beside(self, inside: Path, issues: pa.Table) -> None:
        """Write what stands beside ``rows.parquet``: for people and for ``misnomer predict``."""
        page = to_html(self, issues)
        (inside / "report.html").write_text(page, encoding="utf-8", errors="replace")
        (inside / "model.safetensors").write_bytes(wide_bytes(self.model))
        write_csv(issues, inside / "issues.csv", marked=True)
        write_csv(self.confusions, inside / "confusions.csv")
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        (inside / "audit.json").write_text(text + "\n", encoding="utf-8", errors="replace")

    def to_dict(self) -> dict[str, Any]:
        """Write the numbers as plain values, ready for JSON."""
        verdict = self.verdict
        return {
            "label": self.label,
            "classes": len(self.labels),
            "verdict": {"level": verdict.level, "sentences": list(verdict.sentences)},
            "error_rate": asdict(self.error_rate),
            "error_count": asdict(self.error_count),
            "rows": {
                "total": self.fitted.rows,
                "labeled": self.fitted.labeled,
                "trusted": self.fitted.trusted,
                "flagged": len(self.ranking),
            },
            "confusions": self.confusions.slice(0, _LISTED).to_pylist(),
            **checks_json(self),
            "fitted": asdict(self.fitted),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        """Return the answer in one line."""
        return (
            f"WideAudit({self.fitted.labeled} labels, {self.error_count.value:.1f} wrong "
            f"({self.error_rate.value:.1%}), {len(self.ranking)} flagged, "
            f"verdict={self.verdict.level!r})"
        )


def wide_verdict(fit: SparseFit, label: NDArray[np.intp]) -> Verdict:
    """Say how far the numbers hold: nothing was tested beyond the fit."""
    pairs, judged = fit.pairs, fit.judged
    K = pairs.labels
    own = np.bincount(pairs.true[pairs.right], judged.mass[pairs.right], minlength=K)
    other = np.zeros(K)
    np.maximum.at(other, pairs.true[~pairs.right], judged.mass[~pairs.right])
    size = np.bincount(label[label >= 0], minlength=K)
    lost = float(size[other > own].sum() / max(size.sum(), 1))
    certain = float(judged.alone.max(axis=1).mean())
    small = int((size < _FEW).sum())
    said = []
    if lost > _LOST:
        said.append(f"For classes with {lost:.0%} of the rows another label is more usual.")
    if certain < _SEPARATE:
        said.append(
            f"The columns say little about the class (mean certainty {certain:.0%}), so many "
            "errors cannot be seen."
        )
    if small:
        said.append(f"{small:,} of the {K:,} labels have fewer than {_FEW} rows.")
    if not judged.settled:
        said.append("The fit had not settled when it was stopped.")
    said.append("The interval is that of a share of so many rows; the model's own error comes on.")
    tests = {"lost": lost, "certainty_of_the_columns": certain, "small_labels": small}
    tests |= {"scale": judged.scale, "converged": judged.settled}
    return Verdict("cannot tell" if lost > _LOST else "assumed", tuple(said), tests)
