"""What checked rows say, for every rendering."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from misnomer.estimate import Estimate
from misnomer.reports import wording

HOW = {
    "sheet": "a sheet answered as drawn",
    "running": "holds whenever you stop",
}
_LINES = 30


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
    return {"counts": checks.counts, "how": HOW[checks.kind], "rows": rows[:_LINES]}


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
