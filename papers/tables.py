"""What the papers' scripts share: arguments, data, Markdown tables and figures."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
OPENML = {
    "house_votes_84": ("vote", 1),
    "hepatitis": ("hepatitis", 1),
    "breast_cancer_ljubljana": ("breast-cancer", 1),
    "breast_cancer_wisconsin": ("breast-w", 1),
    "lymphography": ("lymph", 1),
    "primary_tumor": ("primary-tumor", 1),
    "tic_tac_toe": ("tic-tac-toe", 1),
    "balance_scale": ("balance-scale", 1),
}


def quick(doc: str) -> bool:
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws, under a minute")
    return bool(parser.parse_args().quick)


def expected(here: Path) -> dict[str, Any]:
    return json.loads((here / "expected.json").read_text())


def markdown(header: list[str], body: list[list[Any]]) -> str:
    rows = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)


def measured(values: Any, digits: int = 3) -> str:
    """The mean of some runs and how far single runs lie from it (standard deviation)."""
    values = np.asarray(values, float)
    return f"{values.mean():.{digits}f} ± {values.std():.{digits}f}"


def verdict(printed: float | None, ours: float, near: float) -> str:
    if printed is None:
        return "-"
    if abs(ours - printed) <= near:
        return "yes"
    return "**no**, higher" if ours > printed else "**no**, lower"


def summary(body: list[list[Any]], method: int, reproduced: int = -1) -> str:
    """Count by method how many printed numbers were reproduced.

    Examples
    --------
    >>> summary([["NB", "yes"], ["NB", "**no**, lower"], ["VB", "-"]], method=0)
    'Reproduced: NB 1 of 2.'
    """
    compared = [(row[method], row[reproduced] == "yes") for row in body if row[reproduced] != "-"]
    counts = [
        f"{name} {sum(same for one, same in compared if one == name)} of "
        f"{sum(one == name for one, _ in compared)}"
        for name in dict.fromkeys(name for name, _ in compared)
    ]
    return f"Reproduced: {'; '.join(counts)}."


def write(here: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of that name in the README, and print it."""
    readme = here / "README.md"
    old = readme.read_text()
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if start not in old or end not in old:
        raise SystemExit(f"{readme} has no place for {name}: put {start} and {end} in it")
    before, after = old.split(start)[0], old.split(end)[1]
    readme.write_text(f"{before}{start}\n{text.strip()}\n{end}{after}")
    print(f"{name}\n{text}\n")


def figure(here: Path, name: str, axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.tight_layout()
    axes.figure.savefig(here / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(axes.figure)


def legend(axes: Any) -> None:
    """Name the lines beside the plot, where they cover nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def ticks(axes: Any, values: Any) -> None:
    """Write the values themselves at the horizontal axis, not powers of ten."""
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def axes(width: float = 7.0, height: float = 3.6) -> Any:
    return plt.subplots(figsize=(width, height))[1]


def table(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Columns (strings or None) and labels of a dataset; None where it is not at hand."""
    path = DATA / f"{name}.csv"
    if path.exists():
        frame = pd.read_csv(path, dtype=str, keep_default_na=False).replace("", None)
        return frame.drop(columns="label"), frame["label"].to_numpy()
    from sklearn.datasets import fetch_openml

    title, version = OPENML[name]
    try:
        found = fetch_openml(title, version=version, as_frame=True, parser="auto")
    except Exception as problem:
        print(f"{name} is neither in {DATA.name}/ nor could OpenML be reached ({problem}): skipped")
        return None
    columns = found.data.astype(object).where(found.data.notna(), None)
    text = columns.map(lambda value: None if value is None else str(value))
    return text, found.target.astype(str).to_numpy()


def binned(frame: pd.DataFrame, names: list[str], bins: int = 5) -> pd.DataFrame:
    """Cut columns of numbers at their quantiles."""
    out = frame.copy()
    for name in names:
        parts = pd.qcut(pd.to_numeric(frame[name]), bins, labels=False, duplicates="drop")
        out[name] = [None if np.isnan(part) else f"bin {int(part)}" for part in parts]
    return out


def newsgroups() -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Training and test messages (text, label); None where they are not at hand."""
    path = DATA / "20newsgroups_bydate.parquet"
    if path.exists():
        frame = pd.read_parquet(path)
        return frame[frame["split"] == "train"], frame[frame["split"] == "test"]
    from sklearn.datasets import fetch_20newsgroups

    try:
        parts = [fetch_20newsgroups(subset=part) for part in ("train", "test")]
    except Exception as problem:
        print(f"20 Newsgroups is neither at hand nor could it be fetched ({problem}): skipped")
        return None
    frames = [
        pd.DataFrame({"text": p.data, "label": np.array(p.target_names)[p.target]}) for p in parts
    ]
    return frames[0], frames[1]
