"""Tables for every rendering: suspects and confusions, annotators and groups, checked rows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.padding import Padding

from misnomer.estimate import Estimate
from misnomer.reports import wording
from misnomer.reports.wording import row_name, row_title, shown

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.evidence import Explanation


_MAX_CELLS = 12


@dataclass(frozen=True, eq=False)
class Suspect:
    """One flagged row."""

    position: int  # where it stands in the input
    # how the user knows it; with its noun
    name: str
    title: str
    line: int | None  # its line in the file, where that is known
    # the label it has, and the one it should have
    given: Any
    suggested: Any
    error_probability: float  # P(the given label is wrong)
    why: Explanation  # the weights of evidence
    cells: tuple[tuple[str, str], ...]  # the first cells of the row itself


def suspects(audit: Audit, most: int = 25) -> list[Suspect]:
    """List the worst flagged rows, in the order of ``audit.issues``."""
    lines = audit.shape.lines
    return [
        Suspect(
            position=position,
            name=row_name(audit, position),
            title=row_title(audit, position),
            line=None if lines is None else int(lines[position]),
            given=audit.labels[audit.given[position]],
            suggested=audit.classes[audit.suggested[position]],
            error_probability=float(audit.error_probability[position]),
            why=audit.explain_at(position),
            cells=_row_cells(audit.data, position, audit.label),
        )
        for position in audit.ranking[:most].tolist()
    ]


def _row_cells(data: pa.Table, position: int, label: str) -> tuple[tuple[str, str], ...]:
    """Read the row back, without its label; the longest texts are cut."""
    names = data.column_names  # slow to ask for again and again
    places = [i for i, name in enumerate(names) if name != label][:_MAX_CELLS]
    return tuple(
        (shown(names[i]), shown(data.column(i)[position].as_py(), longest=400)) for i in places
    )


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Confusion:
    """One true class under another name."""

    # the true class and the label that it was given
    true: Any
    given: Any
    rows: float  # the expected number of such rows
    given_of_true: float  # P(given | true)
    # its interval, and P(true | given)
    low: float
    high: float
    true_of_given: float


def true_given(matrix: Array, prior: Array) -> Array:
    """Turn the noise matrix round: ``P(z | y) = P(y | z) P(z) / P(y)``, (L, K), rows sum to one.

    Examples
    --------
    >>> true_given(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    joint = matrix * prior
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), prior)


def same_name(audit: Audit) -> NDArray[np.bool_]:
    """Tell which cells of the matrix are right labels, (L, K)."""
    right: NDArray[np.bool_] = audit.class_of_label[:, None] == np.arange(len(audit.classes))
    return right


def confusions(audit: Audit, most: int = 20) -> list[Confusion]:
    """List the confusions that spoil most rows, the worst first."""
    return [Confusion(**one) for one in audit.confusions.slice(0, most).to_pylist()]


_MAX_PAGE_ROWS, _MAX_TERMINAL_ROWS = (
    100,
    20,
)  # of a page, of a terminal; the best and the worst of more


def table_rows(audit: Audit) -> list[dict[str, Any]]:
    """List the annotators or the groups as plain values, in their order."""
    table: Any = audit.annotators if audit.groups is None else audit.groups
    if table is None:
        return []
    columns = {name: column.tolist() for name, column in table.columns().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def sources_json(audit: Audit) -> dict[str, Any]:
    """Write the annotators or the groups for other programs; nothing where there are none."""
    if audit.annotators is not None:
        return {"annotators": table_rows(audit)}
    if audit.groups is not None:
        return {"groups": {"rows": table_rows(audit), "test": asdict(audit.groups.test)}}
    return {}


def source_rows(audit: Audit) -> dict[str, Any]:
    """Choose what a page shows: all, or the first and the last ones where there are many."""
    rows, more = _ends(table_rows(audit), _MAX_PAGE_ROWS)
    return {"rows": rows, "more": more} if rows else {}


def _ends(rows: list[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    if len(rows) <= most:
        return rows, 0
    return rows[: most // 2] + rows[-(most // 2) :], len(rows) - 2 * (most // 2)


def source_lines(audit: Audit, page: Any) -> list[RenderableType]:
    """Lay the annotators or the groups out for a terminal; nothing where there are none."""
    if audit.sources is None:
        return []
    rows, more = _ends(table_rows(audit), _MAX_TERMINAL_ROWS)
    table = page.table()
    grouped = audit.groups is not None
    heads = ("group", "rows", "wrong") if grouped else ("annotator", "answers", "accuracy")
    wide = [] if page.narrow else ["90% interval"]
    wide += [] if page.narrow or grouped else ["bits", "typical confusion"]
    for name in (*heads, *wide):
        left = name in (heads[0], "typical confusion")
        table.add_column(page.say(name, "dim"), justify="left" if left else "right")
    for one in rows:
        cells = _cells(one, grouped, page.narrow)
        table.add_row(*map(page.say, cells))
    head = "By group" if grouped else "Annotators, the most informative first"
    lines: list[RenderableType] = [
        page.say(head, "bold"),
        Padding(table, (0, 0, 0, 2), expand=False),
    ]
    if more:
        lines.append(
            page.say(f"  and {more:,} between the first and the last {_MAX_TERMINAL_ROWS // 2}")
        )
    if audit.groups is not None:
        lines.append(page.say(f"  {audit.groups.test}"))
    return [Group(*lines)]


def _cells(one: dict[str, Any], grouped: bool, narrow: bool) -> list[str]:
    count, share = ("rows", "error_rate") if grouped else ("answers", "accuracy")
    cells = [wording.shown(one["name"], 30), f"{one[count]:,}", wording.percent(one[share])]
    if not narrow:
        cells.append(f"{wording.percent(one['low'])} to {wording.percent(one['high'])}")
    if not narrow and not grouped:
        cells += [f"{one['bits']:.2f}", wording.shown(one["confusion"], 60)]
    return cells


def python_words(audit: Audit) -> str:
    """Write the arguments of `audit`: of a file, what was asked; else where the labels are.

    A vote has no column of its own: the annotators' columns are named instead.
    """
    asked = {"label": audit.label} if audit.sources is None else dict(audit.sources.asked)
    seed = {"random_state": audit.classifier.get_params().get("random_state")}
    first = "data"
    if audit.origin is not None:
        asked = {**asked, **audit.origin.asked}
        first = repr(os.path.basename(audit.origin.path))
    words = [first, *(f"{name}={value!r}" for name, value in {**asked, **seed}.items())]
    if audit.batch.brought is not None and "pred_probs" not in asked:
        words.append("pred_probs=P")
    return ", ".join(words)


def shell_words(audit: Audit) -> str:
    """Write the options of the command line that say the same, quoted."""
    asked = {"label": audit.label} if audit.sources is None else audit.sources.asked
    columns = {k: v if isinstance(v, list) else wording.shown(v) for k, v in asked.items()}
    brought = ["--pred-probs", "FILE"] if audit.batch.brought is not None else []
    return shlex.join(wording.shown(word) for word in [*command_words(columns), *brought])


_LISTS = {"text": "--text", "ignore": "--ignore", "annotators": "--annotator-columns"}
_FLAGS = {"skip_bad": "--skip-bad", "ignore_case": "--ignore-case"}
_WORDS = {
    "label": "--label",
    "id": "--id",
    "trusted": "--trusted",
    "noise_groups": "--noise-group",
    "memory": "--memory",
    "cluster": "--cluster",
    "pred_probs": "--pred-probs",
}


def command_words(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """Write what was asked for as the words of a command that a person may type; nobody reads them.

    Examples
    --------
    >>> command_words({"label": "y", "ignore": ["a b"], "random_state": 3, "long": None})
    ('--label', 'y', '--ignore', 'a b', '--seed', '3')
    """
    words: list[str] = []
    for name, value in asked.items():
        if (
            name in _WORDS
            and isinstance(value, str | int | Path)
            and value not in ("", True, False)
        ):
            words += [_WORDS[name], str(value)]
        elif name in _LISTS and value is not None:
            some = [value] if isinstance(value, str) else list(map(str, value))
            if name == "annotators" and not any("," in one for one in some):
                some = [",".join(some)]
            words += [word for one in some for word in (_LISTS[name], one)]
        elif name == "families" and isinstance(value, Mapping):
            words += [word for pair in value.items() for word in ("--family", "=".join(pair))]
        elif name == "random_state" and isinstance(value, int) and value:
            words += ["--seed", str(value)]
        elif name in _FLAGS and value:
            words.append(_FLAGS[name])
        elif name == "reading" and value is not None:
            words += _reading(value)
        elif name == "long" and value is not None:
            words += ["--long", value if isinstance(value, str) else ",".join(value)]
        elif name == "knowledge" and isinstance(value, Mapping):
            words += _knowledge(value)
    return tuple(words)


def _reading(said: Mapping[str, Any]) -> list[str]:
    """Write how a file is to be read as options."""
    words: list[str] = []
    for name in ("encoding", "sep", "sheet"):
        if said.get(name) is not None:
            words += [f"--{name}", str(said[name])]
    missing = said.get("missing") or ()
    for word in [missing] if isinstance(missing, str) else missing:
        words += ["--missing", word]
    return [*words, *(["--no-header"] if said.get("header") is False else [])]


def _knowledge(said: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, rate in said.get("rates", {}).items():
        words += ["--known", f"{name}={rate}"]
    if isinstance(said.get("most"), float):
        words += ["--at-most", str(said["most"])]
    for given, true in said.get("never", ()):
        words += ["--never", f"{given}:{true}"]
    return words


HOW = {"sheet": "a sheet answered as drawn", "running": "holds whenever you stop"}
_MAX_CHECK_LINES = 30


def checks_of(audit: Any) -> Any:
    """Take the checks of an audit that has a sample of them; else None."""
    checks = audit.checks
    return None if checks is None or checks.sample is None else checks


def checks_words(audit: Any) -> dict[str, Any]:
    """List the shares with their intervals: of all rows, of each label, of each class."""
    checks = checks_of(audit)
    if checks is None:
        return {}
    rows: list[tuple[str, Estimate | None]] = [("all labels", checks.error_rate)]
    if checks.kind == "sheet":
        rows.append(("all labels, had you stopped whenever you liked", checks.running_rate))
    for words, shares in (("labels", checks.by_label), ("rows that truly are", checks.by_class)):
        rows += [(f"{words} “{wording.shown(name)}”", one) for name, one in shares.items()]
    return {"counts": checks.counts, "how": HOW[checks.kind], "rows": rows[:_MAX_CHECK_LINES]}


def checks_json(audit: Any) -> dict[str, Any]:
    """Write the checks as plain values; nothing where there are none."""
    checks = checks_of(audit)
    if checks is None:
        return {}
    overall = {
        "kind": checks.kind,
        "counts": checks.counts,
        "error_rate": asdict(checks.error_rate),
        "running_rate": asdict(checks.running_rate),
        "rows_needed": {"0.05": checks.rows_needed(0.05), "0.02": checks.rows_needed(0.02)},
    }
    parts: dict[str, Any] = {
        "by_label": _listed(checks.by_label),
        "by_class": _listed(checks.by_class),
    }
    if audit.noise.is_whole:
        value, low, high = checks.noise_matrix
        parts["noise_matrix"] = {"value": value, "low": low, "high": high}
    return {"checks": overall | parts}


def _listed(shares: dict[Any, Estimate | None]) -> list[dict[str, Any]]:
    return [{"name": name, **({} if one is None else asdict(one))} for name, one in shares.items()]


def checks_line(audit: Any) -> tuple[str, str] | None:
    """Say it in one line of a terminal: how many rows were checked, and which interval it is."""
    checks = checks_of(audit)
    if checks is None:
        return None
    counts = checks.counts
    return "Checked", f"{counts['wrong']:,} of {counts['counted']:,} wrong; {HOW[checks.kind]}"
