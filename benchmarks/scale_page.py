"""The table of docs/measured/scale.md, from the figures of benchmarks/scale.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).with_name("scale.json")
PAGE = Path(__file__).parents[1] / "docs" / "measured" / "scale.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

Figures = dict[str, Any]


def keep(found: dict[str, Figures]) -> dict[str, Figures]:
    """Put new figures among those of other sections."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in {*found} & {"overhead", "cluster"}:  # ruled by who else computes: all runs are kept
        before = known.get(name, {}).get("runs", [])
        found[name]["runs"] = [*before, {k: v for k, v in found[name].items() if k != "runs"}]
    known |= found
    FIGURES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return known


def write(known: dict[str, Figures]) -> None:
    """Replace the table of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    lines = ["| | measured | against | load |", "|---|---|---|---|"]
    for name, line in LINES.items():
        if name in known:
            lines += line(known[name])
    table = "\n".join([BEGIN, "", *lines, "", END])
    PAGE.write_text(before + table + after)


def _row(*cells: Any) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _stream(f: Figures) -> list[str]:
    what = "EM from the temporary file, 1,000,000 rows, 25 columns"
    speed = f"{f['rows_per_second']['spilled'] / 1e6:.1f} million rows a second and pass"
    against = f"{f['spilled_of_memory']} of one batch in memory; the bar is {f['bar']}"
    return [_row(what, speed, against, f["load"])]


def _count(f: Figures) -> list[str]:
    lines = []
    for kind, other in (("csv", "pyarrow.csv.read_csv"), ("parquet", "pyarrow.parquet.read_table")):
        one = f[kind]
        what = f"count of 50 columns from {kind}, all passes, by CPU time"
        speed = f"{one['rows_per_second']:,} rows a second"
        against = f"{one['of_pyarrow']} of the speed of `{other}`; the bar is 0.5"
        lines.append(_row(what, speed, against, f["load"]))
    return lines


def _memory(f: Figures) -> list[str]:
    what = f"most memory, a Parquet file of {f['file_mb'] / 1024:.1f} GiB, {f['rows']:,} rows"
    said = f"{f['peak_mb']} MiB, {f['seconds']} s for an audit with 2 passes of EM"
    against = f"{f['peak_of_cap']} of `--memory` {f['cap_mb']} MiB; the bar is {f['bar']}"
    return [_row(what, said, against, f["load"])]


def _runs(f: Figures) -> list[Figures]:
    return f.get("runs", [f])


def _loads(f: Figures) -> str:
    return ", ".join(str(run["load"]) for run in _runs(f))


def _cluster(f: Figures) -> list[str]:
    what = "EM on one and on two worker processes, 50 columns"
    both = [" and ".join(f"{v / 1e6:.1f}" for v in r["rows_per_second"].values()) for r in _runs(f)]
    ratio = ", ".join(str(run["two_of_one"]) for run in _runs(f))
    said = f"{'; '.join(both)} million rows a second"
    return [_row(what, said, f"two are {ratio} of one; the bar is {f['bar']}", _loads(f))]


def _overhead(f: Figures) -> list[str]:
    what = "one pass on a cluster beside the work, 200 parts"
    said = ", ".join(f"{run['seconds']} s" for run in _runs(f))
    return [_row(what, said, f"the bar is {f['bar']} s", _loads(f))]


def _wide(f: Figures) -> list[str]:
    what = f"{f['rows']:,} texts, {f['classes']:,} labels, {f['words']:,} words, a fifth mislabeled"
    said = (
        f"{f['peak_gb']} GB; {f['cpu_seconds']} s of CPU, {f['seconds']} s by the clock; precision "
        f"{f['precision']}, recall {f['recall']}, rate {f['rate']} (true {f['true_rate']})"
    )
    against = (
        f"dense weights {f['dense_weights_gb']} GB; shares per row and class, which cleanlab asks "
        f"for, {f['dense_shares_gb']} GB; the bar is {f['bar_gb']} GB"
    )
    return [_row(what, said, against, f["load"])]


def _files(f: Figures) -> list[str]:
    one, other = f["csv"], f["parquet"]
    what = (
        f"`misnomer audit` of a CSV file of {one['file_mb'] / 1024:.1f} GiB, {f['rows']:,} rows, "
        f"{f['columns']} columns"
    )
    said = (
        f"{one['cpu_seconds']} s of CPU, {one['seconds']} s by the clock, {one['peak_mb']} MiB; "
        f"its Parquet twin {other['cpu_seconds']} s, {other['seconds']} s, {other['peak_mb']} MiB"
    )
    against = (
        f"{f['csv_of_parquet']} times the CPU of the twin; the bar is {f['bar']:.0f}; `--memory` "
        f"{f['memory_mb']} MiB"
    )
    return [_row(what, said, against, f["load"])]


LINES = {
    "stream": _stream,
    "count": _count,
    "memory": _memory,
    "overhead": _overhead,
    "cluster": _cluster,
    "wide": _wide,
    "files": _files,
}
