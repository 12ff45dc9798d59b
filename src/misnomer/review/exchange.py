"""Decisions to and from other tools: the JSON of Label Studio and of Argilla."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from misnomer.reports.json import finite
from misnomer.review.decisions import Decision, Decisions
from misnomer.review.ledger import ReviewError
from misnomer.review.rows.source import Rows, rows_of
from misnomer.review.session import FILE, Review
from misnomer.store.writing import write_text

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


def write(audit: Audit, decisions: Decisions, out: Path, kind: str) -> str:
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


def run(rows: Audit | Rows, folder: Path, file: Path) -> str:
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
