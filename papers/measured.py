"""A number of ours: its mean, how sure it is, and how far a printed one may lie from it.

A printed number is itself a draw: of one random target, of ten random splits. ``spread`` is the
standard deviation of such a number, estimated from our own draws, and ``error`` the standard error
of our mean. A print is *reproduced* if it lies within two standard deviations of the difference,

    |printed - ours| <= 2 sqrt(spread^2 + error^2) + half a unit of the last printed digit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

WIDE = 2.0  # standard deviations within which a print is reproduced
FAR = 4.0  # standard errors within which a quick run must agree with the full one


@dataclass(frozen=True)
class Measured:
    """The mean of some experiments, its standard error, and the spread of a printed number."""

    mean: float
    error: float = 0.0
    spread: float = 0.0
    draws: int = 1

    def reaches(self, printed: float, digits: int) -> bool:
        """Tell whether a print of so many digits is reproduced."""
        allowed = WIDE * math.hypot(self.spread, self.error) + 0.5 * 10.0**-digits
        return abs(printed - self.mean) <= allowed + 1e-12

    def agrees(self, full: Measured) -> bool:
        """Tell whether a quick run is within some standard errors of the full one."""
        one = full.error * math.sqrt(full.draws)  # standard deviation of one experiment
        error = math.hypot(full.error, max(self.error, one / math.sqrt(self.draws)))
        return abs(self.mean - full.mean) <= FAR * error + 1e-6 * max(1.0, abs(full.mean))

    def shown(self, digits: int = 3) -> str:
        """Write mean ± standard error."""
        if self.error == 0:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


Results = Mapping[str, Measured]


def measured(values: Any, *, averaged: int = 1) -> Measured:
    """Sum up experiments; a printed number is the average of ``averaged`` of them.

    Examples
    --------
    >>> measured([1.0, 2.0, 3.0]).shown(2)
    '2.00 ± 0.58'
    """
    values = np.asarray(values, float)
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    n = len(values)
    return Measured(float(values.mean()), sd / math.sqrt(n), sd / math.sqrt(averaged), n)


def grouped(values: Any, *, averaged: int = 1) -> Measured:
    """Sum up draws of several targets, (targets, draws); a print averages draws of one target.

    The spread is that between targets, without what few draws of each add to it, and with what
    ``averaged`` draws of one target leave.
    """
    values = np.asarray(values, float)
    ours = measured(values.mean(axis=1))
    if values.shape[1] < 2:
        return ours
    within = float(values.var(axis=1, ddof=1).mean())
    between = max(ours.spread**2 - within / values.shape[1], 0.0)
    return replace(ours, spread=math.sqrt(between + within / averaged))


def verdict(printed: float | None, ours: Measured, digits: int) -> str:
    """Say whether a print is reproduced; "-" where there is none."""
    if printed is None:
        return "-"
    if ours.reaches(printed, digits):
        return "yes"
    return "**no**, higher" if ours.mean > printed else "**no**, lower"


def load(here: Path) -> dict[str, dict[str, Measured]]:
    """Read the stored results of the full run, section by section."""
    path = here / "results.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    return {
        section: {key: Measured(*row) for key, row in rows.items()}
        for section, rows in stored.items()
    }


def save(here: Path, sections: Mapping[str, Results]) -> None:
    """Write results, one number a line: mean, standard error, spread, experiments."""
    lines = []
    for section, rows in sorted(sections.items()):
        body = [
            f"    {json.dumps(key)}: {json.dumps([*map(_short, row), one.draws])}"
            for key, one in rows.items()
            for row in [(one.mean, one.error, one.spread)]
        ]
        lines.append(f"  {json.dumps(section)}: {{\n" + ",\n".join(body) + "\n  }")
    (here / "results.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _short(value: float) -> float:
    return float(f"{value:.9g}")


def disagreements(quick: Results, full: Results) -> list[str]:
    """List what a quick run found too far from the full one, in words."""
    out = []
    for key, ours in quick.items():
        if key not in full:
            out.append(f"{key}: the full run has no such number; run it again")
        elif not ours.agrees(full[key]):
            stored = full[key].shown(4)
            out.append(f"{key}: {ours.shown(4)} from {ours.draws} draws, stored is {stored}")
    return out
