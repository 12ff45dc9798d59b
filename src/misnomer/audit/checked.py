"""Checked rows and an audit: draw some, take the answers in, and conclude."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special

from misnomer.checks import design
from misnomer.checks.estimate import recalibrated
from misnomer.checks.result import Checks
from misnomer.checks.sheet import (
    Table,
    asked_rows,
    design_weights,
    read_answers,
    read_sheet,
    sheet_columns,
)
from misnomer.estimate import Estimate
from misnomer.posterior import Posterior
from misnomer.rows.notation import as_it_looks
from misnomer.table import CheckedRows
from misnomer.verdict import USELESS, Checked, Sensitivity, Verdict, conclude

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]
Found = TypeVar("Found")

_SUSPECTS = 5


def table_of(audit: Audit) -> Table:
    """Take what checks are about from an audit; of many rows, those that it keeps."""
    kept = None if audit.all_rows is None else audit.all_rows.places
    labels, classes = tuple(audit.labels), tuple(audit.classes)
    return Table(audit.label, labels, classes, audit.given, kept, audit.fitted.labeled)


def drawn_columns(
    table: Table,
    doubt: Array,
    rows: int,
    *,
    before: Mapping[str, Any] | None = None,
    random_state: Any = None,
) -> dict[str, list[Any]]:
    """Draw rows and write them down; ``before`` holds what was drawn earlier, by column."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise ValueError(f"rows is {rows!r}: say how many rows to check, such as 50")
    drawn = np.array([int(row) for row in before["row"]] if before else [], np.int64)
    first = rows if not before else sum(int(one) == 1 for one in before["draw"])
    q = design.intensity(doubt, table.given, first)
    place = design.strata(doubt, q, first)
    one = design.draw(q, int(rows), drawn=drawn, random_state=random_state)
    number = 1 + max((int(one) for one in before["draw"]), default=0) if before else 1
    everyone = design.population(place, doubt, q)
    return sheet_columns(table, one, number, len(drawn) + 1, q, place, everyone)


def draw_checks(audit: Audit, rows: int, *, before: Any = None, random_state: Any = None) -> Any:
    """Draw rows of an audit, as a frame of its kind; see `Audit.draw_checks`."""
    if len(audit.given) < audit.fitted.rows:
        raise ValueError(
            "this audit keeps a sample of its rows only: save it, and draw from its folder with "
            "misnomer check"
        )
    earlier = None if before is None else columns_of(before)
    columns = drawn_columns(
        table_of(audit), audit.error_probability, rows, before=earlier, random_state=random_state
    )
    kind = pa.array(audit.labels).type
    table = pa.table(
        {
            name: pa.array(column, type=kind) if name == "true_label" else pa.array(column)
            for name, column in columns.items()
        }
    )
    return audit.shape.frame(table, None)


def columns_of(checked: Any) -> dict[str, list[Any]]:
    """Take the columns of checked rows from a frame, a mapping, a file or an audit's folder."""
    if isinstance(checked, str | Path):
        from misnomer.audit.files.checks import CheckFolder, read_checked

        path = Path(checked)
        return CheckFolder(path).columns() if path.is_dir() else read_checked(path)
    if isinstance(checked, Mapping):
        return {str(name): list(column) for name, column in checked.items()}
    from misnomer.rows.frames import arrow_columns

    names, columns = arrow_columns(checked)
    return {name: column.to_pylist() for name, column in zip(names, columns, strict=True)}


def checked_rows(checked: Any, classes: NDArray[Any]) -> CheckedRows:
    """Number the rows that were asked about and their classes, whoever reads them by batches."""
    columns, place = columns_of(checked), {_folded(name): k for k, name in enumerate(classes)}
    answers = read_answers(columns)
    row = np.unique(np.array([*asked_rows(columns), *answers], np.int64))
    true = [place.get(_folded(answers.get(one)), -1) for one in row.tolist()]
    weights = design_weights(columns, int(row.max(initial=-1)) + 1)
    return CheckedRows(row, np.array(true, np.int32), weights[row])


def known_labels(checked: Any, y: NDArray[Any]) -> tuple[NDArray[Any], Array]:
    """Line the answers up with the rows: true labels, None where unknown, and design weights.

    The design weight of a row is one over its intensity where it was drawn, zero where it was not.
    An answer that no label spells so is left out: no learner could know such a class.
    """
    names = {_folded(name): name for name in y.tolist() if name is not None}
    out, columns = np.full(len(y), None, object), columns_of(checked)
    for row, answer in read_answers(columns).items():
        if 0 <= row < len(y):
            out[row] = names.get(_folded(answer))
    return out, design_weights(columns, len(y))


def _folded(name: Any) -> str:
    return as_it_looks(str(name)).casefold()


def with_checks(audit: Audit, checked: Any, doubt: Array | None = None) -> Audit:
    """Take answers into an audit: the rate is theirs, the doubts are recalibrated by them."""
    table = table_of(audit)
    columns = columns_of(checked)
    answers = read_sheet(columns, table)
    doubt = unknowing(audit, [*answers.known]) if doubt is None else doubt
    checks = Checks(answers, table, columns).assisted_by(doubt)
    rate = checks.error_rate if checks.sample is not None else audit.error_rate
    wrong = _doubts(audit, checks, rate.value, doubt)
    labeled = int(audit.fitted.labeled)
    value = float(np.nansum(wrong)) / int((audit.given >= 0).sum())
    count = value * labeled
    rate = Estimate(value, min(rate.low, value), max(rate.high, value), rate.confidence)
    return replace(
        audit,
        error_rate=rate,
        error_count=Estimate(count, rate.low * labeled, rate.high * labeled, rate.confidence),
        trusted=audit.trusted & ~(np.nan_to_num(wrong) > 0),
        warnings=(*audit.warnings, *checks.answers.notes),
        checks=checks if checks.sample is None else replace(checks, assisted=value),
        shares=_shares(audit, wrong, checks),
    )


def unknowing(audit: Audit, rows: list[int]) -> Array:
    """P(wrong) of every row by the model, of some rows as if nobody had told their class."""
    out = np.array(audit.error_probability, np.float64)
    model = audit.classifier.model_
    at = np.array([row for row in rows if audit.given[row] >= 0], np.intp)
    if not model.learns_checked or audit.batch is None or not len(at):
        return out
    if audit.annotators is not None:
        found: Any = np.stack([_by_answers(audit, row) for row in at.tolist()])
    else:
        given = audit.given[at].astype(np.int32)
        found = model.posterior(replace(audit.batch.take(at), given=given, said=None))
    out[at] = Posterior.of(found).other_than(audit.home[at])
    return out


def _by_answers(audit: Audit, row: int) -> Array:
    """P(true class) of a row by its annotators and its columns, (K,), as if nobody had checked."""
    assert audit.sources is not None
    evidence = audit.classifier.model_.evidence(audit.batch.take(slice(row, row + 1)))[0]
    return np.asarray(special.softmax(audit.sources.weighed(evidence, row).total))


def _doubts(audit: Audit, checks: Checks, rate: float, doubt: Array) -> Array:
    """P(wrong) of every row: as answered, recalibrated where a sample tells how."""
    known = {
        row: code != audit.home[row]
        for row, code in checks.answers.known.items()
        if audit.given[row] >= 0
    }
    if checks.sample is not None:
        return recalibrated(doubt, checks.sample, rate, known)
    out = np.array(doubt)
    for row, is_wrong in known.items():
        out[row] = float(is_wrong)
    return out


def _shares(audit: Audit, wrong: Array, checks: Checks) -> Posterior:
    """Leave to each row's given class what the doubt leaves it; an answer is known."""
    moved = audit.shares.moved(audit.home, wrong)
    known = checks.answers.known.items()
    pairs = [(row, code) for row, code in known if code < len(audit.classes)]  # else a new class
    rows, codes = np.array(pairs, np.intp).reshape(-1, 2).T
    return moved.knowing(rows, codes)


def concluded(audit: Found, model_rate: Estimate | None = None) -> Found:
    """Put the verdict into words: how far it holds, what is hidden, the suspects, the next step."""
    found: Any = audit
    base: Verdict = found.verdict
    suspects, tied = _suspects(found)
    verdict = conclude(
        base,
        found.error_rate if model_rate is None else model_rate,
        int(found.fitted.labeled),
        alternatives=_alternatives(base),
        sensitivity=_sensitivity(base),
        near_copies=[
            (str(name), float(share)) for name, share in base.tests.get("near_copies", ())
        ],
        checked=_summary(found),
        suspects=suspects,
        tied=tied,
        noun=found.shape.noun,
    )
    if _summary(found) is not None and model_rate is not None:
        said = [model_rate.value, model_rate.low, model_rate.high]
        verdict = replace(verdict, tests={**verdict.tests, "model_rate": said})
    told: Found = replace(found, verdict=verdict)
    return told


def finished(audit: Any, checked: Any, doubt: Array | None = None) -> Any:
    """Take checked rows in, where there are some, and conclude.

    ``doubt`` is what the model thought of each row before it knew any of them; without it, what the
    audit says.
    """
    model = audit.error_rate
    if "model_rate" in audit.verdict.tests:  # checked before: remember what the model said
        model = Estimate(*audit.verdict.tests["model_rate"])
    if checked is not None:
        audit = with_checks(audit, checked, doubt)
    return concluded(audit, model)


def _alternatives(base: Verdict) -> list[tuple[float, float]]:
    """Take other explanations from the tests: by name, or two ends that fit about as well."""
    if "alternatives" in base.tests:
        return [(float(rate), float(odds)) for rate, odds in base.tests["alternatives"]]
    return [(float(rate), 1.0) for rate in base.tests.get("rates_of_explanations", ())]


def _sensitivity(base: Verdict) -> list[Sensitivity]:
    said = base.tests.get("rate_without", {})
    return [Sensitivity(str(what), float(rate)) for what, rate in dict(said).items()]


def _summary(audit: Any) -> Checked | None:
    checks = audit.checks
    return None if checks is None or checks.sample is None else summary(checks, audit.error_rate)


def summary(checks: Checks, rate: Estimate) -> Checked:
    """Take from checks what words about them need."""
    counts = checks.counts
    return Checked(
        rate,
        checks.kind,
        counts["counted"],
        counts["wrong"],
        counts["cannot_say"],
        checks.rows_needed(0.05),
        checks.rows_needed(USELESS),
    )


def _suspects(audit: Any) -> tuple[list[str], int]:
    """Name the rows that look worst, flagged or not; and count those that look no better.

    Rows that were checked are left out.
    """
    doubt = np.array(audit.error_probability, np.float64)
    if len(doubt) < audit.fitted.rows:  # a sample of the rows: their places are not at hand
        return [], 0
    checks = audit.checks
    if checks is not None:
        doubt[list(checks.answers.known)] = np.nan
    right = np.where(doubt > 0, audit.right, np.inf)
    order = np.argsort(right, kind="stable")
    rows = order[: min(_SUSPECTS, int((doubt > 0).sum()))]
    names = [str(audit.shape.name(row)) for row in rows.tolist()]
    as_bad = int((right <= right[rows[-1]]).sum()) if len(rows) else 0
    return names, as_bad - len(rows)


__all__ = ["concluded", "draw_checks", "finished", "known_labels", "with_checks"]
