"""The table with its labels corrected: by people, by the model where asked, else as given.

Its rows stay in their order and its columns keep their types; who decided what stands beside them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit.files.origin import is_near
from misnomer.audit.files.save import write_tables
from misnomer.reports.wording import counted
from misnomer.review.decisions import Decision, Decisions
from misnomer.review.ledger import ReviewError
from misnomer.review.rows.large import LargeRows
from misnomer.review.rows.origin import fingerprint
from misnomer.review.session import FILE, Review
from misnomer.rows.files.formats import dictionary_types
from misnomer.store.writing import print_csv, replacing, write_text

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

CONSENSUS = "consensus"  # the label column of rows with several answers, which have none


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows, one after the other, and what the model thinks of them."""

    table: pa.Table  # the input's own columns
    start: int  # the place of the first row among all
    # labels; None where there is none
    given: list[Any]
    suggested: list[Any]
    wrong: NDArray[Any]  # P(the given label is wrong); negative without a label
    flagged: NDArray[np.bool_]  # where another class is more probable than the given label


@dataclass(frozen=True, eq=False)
class Rule:
    """How labels are to be corrected."""

    label: str  # the label column
    # whether the given labels are votes: then the model's consensus counts, not the majority's
    voted: bool
    decided: Mapping[int, Decision]  # what people decided, by row
    # take the model's suggestion where the label is wrong with at least this probability
    probability: float | None = None

    @property
    def model_helps(self) -> bool:
        """Tell whether the model's suggestions are taken at all."""
        return self.voted or self.probability is not None


@dataclass(frozen=True)
class Changes:
    """What was changed; parts add."""

    changed: int = 0
    people: int = 0
    model: int = 0

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            self.changed + other.changed, self.people + other.people, self.model + other.model
        )

    def words(self, *, voted: bool) -> str:
        """Say it in a sentence.

        Examples
        --------
        >>> Changes(3, 2, 2).words(voted=True)
        'the consensus is not the majority in 3 rows (2 rows decided by people, 2 by the model)'
        """
        what = f"{counted(self.changed, 'label')} changed"
        if voted:
            what = f"the consensus is not the majority in {counted(self.changed, 'row')}"
        people = f"{counted(self.people, 'row')} decided by people"
        return f"{what} ({people}, {self.model:,} by the model)"


def corrected(part: Part, rule: Rule) -> tuple[pa.Table, Changes]:
    """Put the right labels into the label column, the given ones and who decided behind it.

    Returns
    -------
    pyarrow.Table
        The input's columns, then ``given_label``, ``decided_by`` ("person", "model" or
        "untouched") and ``decided_at``. A row that nobody could tell stays untouched. Where rows
        have several answers, a column ``consensus`` comes before them, and ``given_label`` is the
        majority's.
    Changes
        How many labels were changed, and by whom.
    """
    labels, who = list(part.given), ["untouched"] * len(part.given)
    when: list[str | None] = [None] * len(part.given)
    if rule.model_helps:
        enough = part.wrong >= (0.0 if rule.probability is None else rule.probability)
        for row in np.flatnonzero(enough & part.flagged).tolist():
            if part.start + row not in rule.decided:
                labels[row], who[row] = part.suggested[row], "model"
    for place, one in _within(part, rule.decided):
        if one.action != "unsure":
            labels[place], who[place], when[place] = one.label, "person", one.at
    changed = sum(new != old for new, old in zip(labels, part.given, strict=True))
    done = Changes(changed, who.count("person"), who.count("model"))
    return _extended(part, rule, labels, who, when), done


def _within(part: Part, decided: Mapping[int, Decision]) -> list[tuple[int, Decision]]:
    """Find the decided rows of a part, by their places in it."""
    stop = part.start + len(part.given)
    return [(row - part.start, one) for row, one in decided.items() if part.start <= row < stop]


def _extended(
    part: Part, rule: Rule, labels: list[Any], who: list[str], when: list[str | None]
) -> pa.Table:
    table, names = part.table, part.table.column_names
    if rule.label in names and not rule.voted:
        at = names.index(rule.label)
        before = table.column(at)
        fresh = _changed(before, labels, part.given)
        table = table.set_column(at, pa.field(rule.label, fresh.type), fresh)
    else:
        before = pa.array(part.given)
        name = CONSENSUS if rule.voted else rule.label
        table = _beside(table, name, pa.array(labels, before.type))
    for name, column in (
        ("given_label", before),
        ("decided_by", pa.array(who)),
        ("decided_at", pa.array(when, pa.string())),
    ):
        table = _beside(table, name, column)
    return table


def _beside(table: pa.Table, name: str, column: Any) -> pa.Table:
    """Add a column; one of that name is left alone."""
    while name in table.column_names:
        name += " (misnomer)"
    return table.append_column(name, column) if table.num_columns else pa.table({name: column})


def _changed(before: pa.ChunkedArray, labels: list[Any], given: list[Any]) -> pa.Array:
    """Change only the cells whose label changed: all others stay as they were written."""
    cells = before.to_pylist()
    for row, (new, old) in enumerate(zip(labels, given, strict=True)):
        if new != old:
            cells[row] = new
    kind = before.type.value_type if pa.types.is_dictionary(before.type) else before.type
    try:
        fresh = pa.array(cells, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        fresh = pa.array([None if cell is None else str(cell) for cell in cells]).cast(kind)
    return fresh.cast(before.type) if pa.types.is_dictionary(before.type) else fresh


KINDS = ("table", "label-studio", "argilla")


def run(
    audit: Audit | LargeRows,
    folder: Path,
    out: Path,
    *,
    probability: float | None = None,
    log: Path | None = None,
    kind: str = "table",
) -> str:
    """Write what the command line asks for, and say what was written."""
    if kind not in KINDS:
        raise ReviewError(f"there is no format {kind!r}; there are {', '.join(KINDS)}")
    for path in (out, log):
        if path is not None and path.exists():
            raise FileExistsError(f"{str(path)!r} exists: no file is ever replaced, name a new one")
    if kind == "table" and out.suffix.lower() not in (".csv", ".parquet"):
        raise ReviewError(f"{str(out)!r}: the name must end in .csv or .parquet")
    with writable(folder / FILE) as file:
        decisions = Decisions(file, fingerprint(audit))
        try:
            said = _written(audit, file, decisions, out, kind, probability)
            if log is not None:
                write_log(decisions, log)
        finally:
            decisions.close()
    return f"wrote {out}: {said}"


@contextmanager
def writable(file: Path) -> Iterator[Path]:
    """Name the decisions; a copy of them where the folder may only be read."""
    if os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
        yield file
        return
    with TemporaryDirectory(prefix="misnomer-") as place:
        for one in file.parent.glob(file.name + "*"):
            if one.name in (file.name, f"{file.name}-wal"):
                shutil.copyfile(one, Path(place) / one.name)
        yield Path(place) / file.name


def _written(
    audit: Audit | LargeRows,
    file: Path,
    decisions: Decisions,
    out: Path,
    kind: str,
    probability: float | None,
) -> str:
    if kind != "table":
        if isinstance(audit, LargeRows):
            raise ReviewError(
                f"an audit by batches is exported as a table only: for {kind}, export its sample, "
                f"{str(audit.folder / 'sample')!r}"
            )
        from misnomer.review import exchange

        return exchange.write(audit, decisions, out, kind)
    decided = {one.row: one for one in decisions.standing()}
    rule = Rule(audit.label, audit.annotators is not None, decided, probability)
    beside = (file.absolute().parent.parent, Path.cwd())
    near = audit.origin is not None and is_near(audit.origin.path, beside)
    types = dictionary_types(audit.origin.path) if audit.origin is not None and near else {}
    if isinstance(audit, LargeRows):
        return written_by_parts(audit, rule, out, types)
    judged = audit
    if decided and rule.model_helps:
        judged = _latest(audit, file)
    table, done = corrected(whole(judged), rule)
    with replacing(out) as temporary:
        write_table(_as_dictionaries(table, types), temporary, out.suffix.lower())
    return done.words(voted=rule.voted)


def _latest(audit: Audit, file: Path) -> Audit:
    """Judge the undecided rows by a model that knows the decisions."""
    review = Review(audit, file, refit=False)
    try:
        review.refit_now()
        return review.judged
    finally:
        review.close()


def written_by_parts(
    rows: LargeRows, rule: Rule, out: Path, types: Mapping[str, pa.DataType]
) -> str:
    """Write all rows of an audit by batches, some at a time, by what it says of them."""
    total = Changes()

    def tables() -> Iterator[pa.Table]:
        nonlocal total
        for start, part in rows.parts():
            table, done = corrected(part_of(rows, part, start), rule)
            total += done
            yield _as_dictionaries(table, types)

    with replacing(out) as temporary:
        write_table(tables(), temporary, out.suffix.lower())
    return total.words(voted=rule.voted)


def _as_dictionaries(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Give the columns that the audited file holds as dictionaries their type again."""
    for place, name in enumerate(table.column_names):
        if name in types and table.column(place).type == types[name].value_type:
            column = table.column(place).dictionary_encode().cast(types[name])
            table = table.set_column(place, name, column)
    return table


def part_of(rows: LargeRows, table: pa.Table, start: int) -> Part:
    """Take some rows as ``rows.parquet`` has them."""
    wrong = table.column("error_probability").to_numpy()
    return Part(
        rows.named(table),
        start,
        table.column("given_label").to_pylist(),
        table.column("suggested_label").to_pylist(),
        np.nan_to_num(wrong, nan=-1.0),
        table.column("is_label_issue").to_numpy(),
    )


def whole(audit: Audit) -> Part:
    """Take all rows of an audit at once."""
    given = [audit.given_label(row) for row in range(len(audit.given))]
    suggested = [audit.classes[place] for place in audit.suggested]
    wrong = np.nan_to_num(audit.error_probability, nan=-1.0)
    return Part(audit.data, 0, given, suggested, wrong, audit.is_label_issue)


def write_table(tables: pa.Table | Iterable[pa.Table], path: Path, suffix: str) -> None:
    """Write Parquet, or CSV whose cells are exactly the tables' (nothing is escaped)."""
    parts = iter([tables] if isinstance(tables, pa.Table) else tables)
    if suffix == ".parquet":
        write_tables(parts, path)
        return
    with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        for nth, table in enumerate(parts):
            print_csv(table, stream, exact=True, header=nth == 0)


def write_log(decisions: Decisions, path: Path) -> None:
    """Write the whole log as JSON lines, undone decisions and undoings included, then the notes."""
    entries: list[Any] = [*decisions.entries(), *decisions.notes().values()]
    lines = [json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in entries]
    write_text(path, "".join(lines))
