"""The papers' data sets, as copies in use today: from a folder beside the project, or OpenML."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
FETCH = True  # what is not in that folder, from the network; the tests do without
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


def table(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    """Columns (strings or None) and labels of a dataset; None where it is not at hand."""
    path = DATA / f"{name}.csv"
    if path.exists():
        frame = pd.read_csv(path, dtype=str, keep_default_na=False).replace("", None)
        return frame.drop(columns="label"), frame["label"].to_numpy()
    if not FETCH:
        return None
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
    if not FETCH:
        return None
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
