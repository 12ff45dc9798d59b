"""Markdown and figures of the papers' pages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def expected(here: Path) -> dict[str, Any]:
    """Read what is printed."""
    return json.loads((here / "expected.json").read_text())


def markdown(header: list[str], body: list[list[Any]]) -> str:
    rows = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)


def summary(body: list[list[Any]], method: int, reproduced: int) -> str:
    """Count by method how many printed numbers were reproduced.

    Examples
    --------
    >>> summary([["NB", "yes"], ["NB", "**no**, lower"], ["VB", "-"]], method=0, reproduced=1)
    'Reproduced: NB 1 of 2.'
    """
    compared = [(row[method], row[reproduced] == "yes") for row in body if row[reproduced] != "-"]
    all_of, same = Counter(name for name, _ in compared), Counter(n for n, yes in compared if yes)
    return "Reproduced: " + "; ".join(f"{n} {same[n]} of {k}" for n, k in all_of.items()) + "."


def place(text: str, name: str, part: str) -> str:
    """Replace what stands between the markers of that name."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if start not in text or end not in text:
        raise SystemExit(f"the page has no place for {name}: put {start} and {end} in it")
    before, after = text.split(start)[0], text.split(end)[1]
    return f"{before}{start}\n{part.strip()}\n{end}{after}"


def figure(path: Path, axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.tight_layout()
    axes.figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(axes.figure)


def legend(axes: Any) -> None:
    """Name the lines beside the plot, where they cover nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def ticks(axes: Any, values: Any) -> None:
    """Write the values themselves at the horizontal axis, not powers of ten."""
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def new_axes(width: float = 7.0, height: float = 3.6) -> Any:
    return plt.subplots(figsize=(width, height))[1]
