"""Decisions leave: as the table with its labels corrected, as the JSON of other tools, and back.

Labels are corrected by people, by the model where asked, else they stay as given. The rows of a
table stay in their order and its columns keep their types; who decided what stands beside them.
Label Studio and Argilla take suspects, and give decisions back.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from misnomer.audit.files.origin import is_near
from misnomer.reports.json import finite
from misnomer.reports.wording import counted
from misnomer.review import FILE, Review
from misnomer.review.decisions import Decision, Decisions
from misnomer.review.ledger import ReviewError
from misnomer.review.rows import Part, Rows, rows_of
from misnomer.rows.files.excel import write_workbook
from misnomer.rows.scan import dictionary_types
from misnomer.store.writing import replacing, with_column, write_tables, write_text

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


#: What the row's position is called in what we write.
ROW = "misnomer_row"


@dataclass(frozen=True)
class Answer:
    """What somebody said about a row elsewhere."""

    row: int
    label: Any
    who: str


def write_for(audit: Audit, decisions: Decisions, out: Path, kind: str) -> str:
    """Write the suspects, and every decided row, for another tool."""
    decided = {one.row: one for one in decisions.standing()}
    rows = [*audit.ranking.tolist(), *sorted(decided.keys() - set(audit.ranking.tolist()))]
    make = label_studio_task if kind == "label-studio" else argilla_record
    entries = [finite(make(audit, row, decided.get(row))) for row in rows]
    write_text(out, json.dumps(entries, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    return f"{len(rows)} rows for {kind}, {len(decided)} of them decided"


def _cells(audit: Audit, row: int) -> dict[str, Any]:
    data = audit.data
    values = {name: data.column(name)[row].as_py() for name in data.column_names}
    return {name: value for name, value in values.items() if name != audit.label}


def label_studio_task(audit: Audit, row: int, one: Decision | None) -> dict[str, Any]:
    """Write a row as a Label Studio task: a prediction, and an annotation where decided."""
    task = {
        "data": {**_cells(audit, row), "given_label": audit.given_label(row), ROW: row},
        "predictions": [
            {
                "model_version": "misnomer",
                "score": float(audit.error_probability[row]),
                "result": [_choice(audit.classes[audit.suggested[row]])],
            }
        ],
    }
    if one is not None and one.action != "unsure":
        task["annotations"] = [{"result": [_choice(one.label)], "created_at": one.at}]
    return task


def _choice(label: Any) -> dict[str, Any]:
    choices = {"choices": [str(label)]}
    return {"from_name": "label", "to_name": "row", "type": "choices", "value": choices}


def argilla_record(audit: Audit, row: int, one: Decision | None) -> dict[str, Any]:
    """Write a row as an Argilla record: a suggestion, and a response where it was decided."""
    right = 1.0 - float(audit.error_probability[row])
    sure = one is not None and one.action != "unsure"
    return {
        "id": str(row),
        "status": "completed" if sure else "pending",
        "fields": {
            name: "" if cell is None else str(cell) for name, cell in _cells(audit, row).items()
        },
        "metadata": {ROW: row, "given_label": str(audit.given_label(row)), "label_quality": right},
        "suggestions": {
            "label": {
                "value": str(audit.classes[audit.suggested[row]]),
                "score": float(audit.shares.share[row].max()),
                "agent": "misnomer",
            }
        },
        "responses": {"label": [{"value": str(one.label), "user_id": one.who}]}
        if one is not None and sure
        else {},
        "vectors": {},
    }


def take_over(rows: Audit | Rows, folder: Path, file: Path) -> str:
    """Take over the answers of a file; those of rows that are decided already are left out."""
    audit = rows_of(rows).audit
    answers = read_answers(file, len(rows_of(rows)))
    names = {str(name): name for name in audit.classes}
    for answer in answers:
        if str(answer.label) not in names:
            raise ReviewError(
                f"{file}: row {answer.row} is called {answer.label!r}, which is not among the "
                f"{len(names)} classes"
            )
    review = Review(rows, folder / FILE, refit=False)
    try:
        taken = review.decisions.add_many(
            _decided(review, answer, names[str(answer.label)]) for answer in answers
        )
    finally:
        review.close()
    return f"took over {taken} of {len(answers)} answers; the others were decided already"


def _decided(review: Review, answer: Answer, label: Any) -> dict[str, Any]:
    if review.source.given[answer.row] < 0:
        raise ReviewError(f"there is no labeled row {answer.row} in this audit")
    action = "keep" if label == review.source.given_label(answer.row) else "choose"
    about = repr((answer.row, answer.label, answer.who, review.decisions.version))
    key = "import-" + hashlib.sha256(about.encode()).hexdigest()[:32]
    said = review._said(answer.row, action, label, None)
    return {"key": key, "row": answer.row, "action": action, "who": answer.who, **said}


def read_answers(file: Path, rows: int) -> list[Answer]:
    """Read the answers of a Label Studio or Argilla file; of several about a row, the last."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ReviewError(f"{file}: this is no JSON file") from None
    if not isinstance(content, list):
        raise ReviewError(f"{file}: Label Studio and Argilla write a list, this is none")
    answers: dict[int, Answer] = {}
    for place, entry in enumerate(content):
        try:
            answer = _answer(entry)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise ReviewError(
                f"{file}: entry {place} is of neither Label Studio nor Argilla"
            ) from None
        if answer is None:
            continue
        if not 0 <= answer.row < rows:
            raise ReviewError(f"{file}: entry {place} is about row {answer.row} of {rows}")
        answers[answer.row] = answer
    return list(answers.values())


def _answer(entry: dict[str, Any]) -> Answer | None:
    if "fields" in entry:
        said = entry.get("responses") or {}
        answers = said.get("label") or [] if isinstance(said, dict) else said
        row = int(entry["metadata"][ROW])
        if not answers:
            return None
        return Answer(row, answers[-1]["value"], f"argilla:{answers[-1].get('user_id')}")
    row = int(entry["data"][ROW])
    answers = [one for one in entry.get("annotations") or [] if not one.get("was_cancelled")]
    if not answers or not answers[-1]["result"]:
        return None
    who = answers[-1].get("completed_by")
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    label = answers[-1]["result"][0]["value"]["choices"][0]
    return Answer(row, label, f"label-studio:{who}" if who is not None else "label-studio")


CONSENSUS = "consensus"  # the label column of rows with several answers, which have none


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


def summary(changes: Mapping[str, int], *, voted: bool) -> str:
    """Say in a sentence what was changed, and by whom.

    Examples
    --------
    >>> summary({"changed": 3, "person": 2, "model": 2}, voted=True)
    'the consensus is not the majority in 3 rows (2 rows decided by people, 2 by the model)'
    """
    what = f"{counted(changes['changed'], 'label')} changed"
    if voted:
        what = f"the consensus is not the majority in {counted(changes['changed'], 'row')}"
    people = f"{counted(changes['person'], 'row')} decided by people"
    return f"{what} ({people}, {changes['model']:,} by the model)"


def corrected(part: Part, rule: Rule) -> tuple[pa.Table, Counter[str]]:
    """Put the right labels into the label column, the given ones and who decided behind it.

    Returns
    -------
    pyarrow.Table
        The input's columns, then ``given_label``, ``decided_by`` ("person", "model" or
        "untouched") and ``decided_at``. A row that nobody could tell stays untouched. Where rows
        have several answers, a column ``consensus`` comes before them, and ``given_label`` is the
        majority's.
    Counter
        How many labels were changed, and how many rows each of these decided.
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
    return _extended(part, rule, labels, who, when), Counter(who) + Counter(changed=changed)


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
        table = with_column(table, name, pa.array(labels, before.type))
    for name, column in (
        ("given_label", before),
        ("decided_by", pa.array(who)),
        ("decided_at", pa.array(when, pa.string())),
    ):
        table = with_column(table, name, column)
    return table


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
FORMS = (".csv", ".parquet", ".xlsx")  # in which a table is written


def run(
    audit: Audit | Rows,
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
    if kind == "table" and out.suffix.lower() not in FORMS:
        raise ReviewError(f"{str(out)!r}: the name must end in {' or '.join(FORMS)}")
    with writable(folder / FILE) as file:
        rows = rows_of(audit)
        decisions = Decisions(file, rows.fingerprint())
        try:
            said = _written(rows, file, decisions, out, kind, probability)
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
    rows: Rows, file: Path, decisions: Decisions, out: Path, kind: str, probability: float | None
) -> str:
    audit = rows.audit
    if kind != "table":
        if not rows.in_memory:
            raise ReviewError(
                f"an audit by batches is exported as a table only: for {kind}, export its sample, "
                f"{str(file.parent / 'sample')!r}"
            )
        return write_for(audit, decisions, out, kind)
    decided = {one.row: one for one in decisions.standing()}
    rule = Rule(audit.label, audit.annotators is not None, decided, probability)
    if decided and rule.model_helps and rows.in_memory:
        rows = _latest(rows, file)
    types, total = _dictionaries(audit, file), Counter[str]()

    def tables() -> Iterator[pa.Table]:
        for part in rows.judged_parts():
            table, done = corrected(part, rule)
            total.update(done)
            yield _as_dictionaries(table, types)

    with replacing(out) as temporary:
        if out.suffix.lower() == ".xlsx":
            write_workbook(pa.concat_tables(tables()), temporary)
        else:
            write_tables(tables(), temporary, out.suffix.lower())
    return summary(total, voted=rule.voted)


def _dictionaries(audit: Audit, file: Path) -> Mapping[str, pa.DataType]:
    """Find the columns that the audited file holds as dictionaries, if it may be looked at."""
    folders = (file.absolute().parent.parent, Path.cwd())
    if audit.origin is None or not is_near(audit.origin.path, folders):
        return {}
    return dictionary_types(audit.origin.path)


def _latest(rows: Rows, file: Path) -> Rows:
    """Judge the undecided rows by a model that knows the decisions."""
    review = Review(rows, file, refit=False)
    try:
        review.refit_now()
        return review.judged
    finally:
        review.close()


def _as_dictionaries(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Give the columns that the audited file holds as dictionaries their type again."""
    for place, name in enumerate(table.column_names):
        if name in types and table.column(place).type == types[name].value_type:
            column = table.column(place).dictionary_encode().cast(types[name])
            table = table.set_column(place, name, column)
    return table


def write_log(decisions: Decisions, path: Path) -> None:
    """Write the whole log as JSON lines, undone decisions and undoings included, then the notes."""
    entries: list[Any] = [*decisions.entries(), *decisions.notes().values()]
    lines = [json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in entries]
    write_text(path, "".join(lines))
