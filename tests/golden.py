"""Twenty small audits, one for every road into ``audit``; their answers are in ``golden.json``.

``python -m tests.golden`` compares, ``python -m tests.golden --write`` takes the answers of today
for the right ones: read the difference before you commit it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from misnomer import NoisyLabelNB
from misnomer.audit import audit
from tests.audited import pets
from tests.crowds import WHO, crowd, lines_of, sites

FILE = Path(__file__).with_name("golden.json")
TOLERANCE = 1e-6  # an optimizer may stop a step earlier on another processor
LISTED = 8  # rows whose doubt is stored


def numbers(n: int = 200, wrong: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds in four columns; the first labels are wrong."""
    rng = np.random.default_rng(3)
    z = np.repeat([0, 1], n // 2)
    y = z.copy()
    y[:wrong] = 1
    return rng.normal(2.0 * z[:, None], 1.0, (n, 4)), y


def texts(n: int = 240) -> pd.DataFrame:
    """Short letters about two topics; one in twelve is in the wrong pile."""
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, n)
    words = np.array([f"word{j}" for j in range(30)])
    bodies = [" ".join(words[rng.integers(0, 20, 12) + 10 * k]) for k in z]
    pile = np.where(np.arange(n) % 12 == 0, 1 - z, z)
    return pd.DataFrame({"body": bodies, "pile": np.array(["north", "south"])[pile]})


def many(n: int = 12_000, classes: int = 240) -> tuple[Any, np.ndarray]:
    """More labels than a dense search goes through: a sparse matrix, one label in ten wrong."""
    rng = np.random.default_rng(5)
    z = rng.integers(0, classes, n)
    place = (z[:, None] * 3 + rng.integers(0, 9, (n, 8))) % (3 * classes)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, classes, n), z)
    rows = np.repeat(np.arange(n), 8)
    shape = (n, 3 * classes)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, place.ravel())), shape=shape)
    matrix.sum_duplicates()
    return matrix, np.array([f"label {k:03d}" for k in y], object)


def shown(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of somebody's model, and labels."""
    rng = np.random.default_rng(6)
    z = rng.integers(0, 2, n)
    score = rng.normal(2.0 * z - 1.0, 0.8)
    share = 1.0 / (1.0 + np.exp(-2.0 * score))
    y = np.where(rng.random(n) < 0.12, 1 - z, z)
    return np.column_stack([1 - share, share]), np.array(["no", "yes"])[y]


def stored(frame: pd.DataFrame, folder: Path, name: str = "rows.csv") -> Path:
    """Write a file to audit."""
    path = folder / name
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def _dask(frame: pd.DataFrame, **said: Any) -> Any:
    import dask.dataframe as dd
    from distributed import Client

    # Threads of this process: nothing is started that a test would wait for.
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
        return audit(dd.from_pandas(frame, npartitions=3), **said)


def _trusted() -> pd.DataFrame:
    frame = pets()
    return frame.assign(sure=["no"] * 60 + ["yes"] * 180)


def _checked() -> dict[str, list[Any]]:
    rows = [0, 1, 2, 40, 41]
    pet = pets()["pet"]
    other = {"cat": "dog", "dog": "cat"}
    return {"row": rows, "true_label": [*(other[pet[row]] for row in rows[:3]), *pet[rows[3:]]]}


#: What each audit is of, given a folder for its file.
AUDITS: dict[str, Callable[[Path], Any]] = {
    "frame": lambda _: audit(pets(), "pet"),
    "gaps": lambda _: audit(pets(gaps=30), "pet"),
    "array": lambda _: audit(*numbers()),
    "texts": lambda _: audit(texts(), "pile", text="body"),
    "trusted": lambda _: audit(_trusted(), "pet", trusted="sure"),
    "checked": lambda _: audit(pets(), "pet", checked=_checked()),
    "knowledge": lambda _: audit(pets(), "pet", knowledge={"most": 0.2}),
    "classifier": lambda _: audit(pets(), "pet", classifier=NoisyLabelNB(solver="em")),
    "learners": lambda _: audit(*numbers(), learners=[LogisticRegression()]),
    "pred_probs": lambda _: audit(labels=shown()[1], pred_probs=shown()[0]),
    "csv": lambda f: audit(stored(pets(), f), "pet"),
    "batches": lambda f: audit(stored(pets(), f), "pet", memory="1GB"),
    "parquet batches": lambda f: audit(stored(pets(gaps=9), f, "r.parquet"), "pet", memory="1GB"),
    "checkpoint": lambda f: audit(stored(pets(), f), "pet", checkpoint=f / "sums"),
    "dask": lambda _: _dask(pets(), label="pet"),
    "groups": lambda _: audit(sites()[0], "y", noise_groups="site"),
    "group batches": lambda f: audit(stored(sites()[0], f), "y", noise_groups="site", memory="1GB"),
    "annotators": lambda _: audit(crowd()[0], annotators=WHO),
    "annotator batches": lambda f: audit(stored(crowd()[0], f), annotators=WHO, memory="1GB"),
    "lines": lambda _: audit(lines_of(crowd()[0]), long=("item", "who", "said")),
    "line batches": lambda f: audit(
        stored(lines_of(crowd()[0]), f), long=("item", "who", "said"), memory="1GB"
    ),
    "annotators dask": lambda _: _dask(crowd()[0], annotators=WHO),
    "many labels": lambda _: audit(*many()),
}


def audited(name: str, folder: Path) -> Any:
    """Run one of the audits, quietly: what it warns of is part of its answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AUDITS[name](folder)


def answer(found: Any) -> dict[str, Any]:
    """Take down what an audit says, in few numbers."""
    wrong = np.asarray(found.error_probability, np.float64)
    shares = found.class_prior
    return {
        "error_rate": [found.error_rate.value, found.error_rate.low, found.error_rate.high],
        "error_count": found.error_count.value,
        "level": found.verdict.level,
        "solver": found.fitted.solver,
        "labeled": found.fitted.labeled,
        "flagged": len(found.issues),
        "worst": np.asarray(found.issues["row"])[:LISTED].tolist(),
        "doubt": [None if np.isnan(one) else float(one) for one in wrong[:LISTED]],
        "shares": np.asarray(shares["true_share"], float)[:LISTED].tolist(),
        "warnings": len(found.warnings),
    }


def differences(name: str, got: dict[str, Any], want: dict[str, Any]) -> list[str]:
    """Name the parts of an answer that are not what they were."""
    return [
        f"{name}: {part} is {got[part]}, was {want[part]}"
        for part in want
        if not _same(got[part], want[part])
    ]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= TOLERANCE * max(1.0, abs(other))
    return bool(one == other)


def main() -> None:
    """Compare, or write the answers anew."""
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = {}
    for name in AUDITS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = answer(audited(name, Path(folder)))
        for line in differences(name, found[name], known.get(name, {})):
            print(line)
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=1) + "\n")
        print(f"wrote {FILE.name}")


if __name__ == "__main__":
    main()
