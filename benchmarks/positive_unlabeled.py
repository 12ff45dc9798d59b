"""Positive and unlabeled rows: how far the share of positives is off, and how many rows are right.

    python benchmarks/positive_unlabeled.py [--seeds 5] [--data DIR] [--write]

One class (or several) of a table is positive; three of ten positives, drawn at random, are labeled,
and all other rows are not. Asked is the share of positives among the unlabeled. The sets marked
"chosen on" were looked at while the method was chosen, the others once, afterwards.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.trust_tasks import DATA
from misnomer import PUClassifier
from misnomer.papers import PUNB

PAGE = Path(__file__).resolve().parents[1] / "docs" / "positive-unlabeled.md"
LABELED = 0.3
DISTINCT_NUMBERS = 6  # a column of more numbers is one of numbers, else of categories
SETS = {
    "votes, democrat": ("house_votes_84", ["democrat"], None, True),
    "wisconsin, benign": ("breast_cancer_wisconsin", ["benign"], None, True),
    "tic-tac-toe, x wins": ("tic_tac_toe", ["positive"], None, True),
    "letters A to M": ("letter", list("ABCDEFGHIJKLM"), 3000, True),
    "balance, left": ("balance_scale", ["L"], None, True),
    "car, unacceptable": ("car", ["unacc"], None, False),
    "car, acceptable": ("car", ["acc", "good", "vgood"], None, False),
    "letters, vowels": ("letter", list("AEIOU"), 3000, False),
    "hepatitis, live": ("hepatitis", ["LIVE"], None, False),
    "soybean, leaf spots": (
        "soybean", ["brown-spot", "alternarialeaf-spot", "frog-eye-leaf-spot"], None, False,
    ),
    "wisconsin, malignant": ("breast_cancer_wisconsin", ["malignant"], None, False),
}  # fmt: skip


def table(folder, file, positive, most):
    """Read a table whose last column is the class: columns, and which rows are positive."""
    frame = pd.read_csv(folder / f"{file}.csv", dtype=str, keep_default_na=False)
    if most is not None:
        frame = frame.sample(most, random_state=0)
    frame = frame.reset_index(drop=True).replace({"": None, "?": None})
    X, is_positive = frame.iloc[:, :-1].copy(), frame.iloc[:, -1].isin(positive).to_numpy()
    for name in X:
        number = pd.to_numeric(X[name], errors="coerce")
        if number.notna().mean() > 0.5 and number.nunique() > DISTINCT_NUMBERS:
            X[name] = number
    return X, is_positive


def elkan_noto(X, labeled):
    """Elkan and Noto: P(labeled | x) of a positive is one number, found on left-out positives."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1000))
    chance = cross_val_predict(model, X, labeled, cv=5, method="predict_proba")[:, 1]
    found, rest = chance[labeled == 1].mean(), chance[labeled == 0]
    odds = np.minimum((1 - found) / found * rest / np.maximum(1 - rest, 1e-9), 1.0)
    return odds.mean(), odds > 0.5


def ours(model, X, labeled):
    """Fit, and judge the unlabeled rows."""
    model.fit(X, labeled)
    return model.class_prior_[1], model.predict(X)[labeled == 0] == 1


METHODS = {
    "PUClassifier": lambda X, s: ours(PUClassifier(random_state=0), X, s),
    "PUNB": lambda X, s: ours(PUNB(smoothing="laplace"), X, s),
    "Elkan-Noto": elkan_noto,
}


def lines(folder, seeds):
    """Yield a line per set: the mean distance of the share, and of the rows that are right."""
    head = "".join(f"{name:>22}" for name in METHODS)
    yield f"{'share off, rows right':<24}{'share':>6}{head}"
    every = {True: [], False: []}
    for name, (file, positive, most, chosen) in SETS.items():
        X, true = table(folder, file, positive, most)
        cells = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            labeled = (true & (rng.random(len(true)) < LABELED)).astype(int)
            rest = true[labeled == 0]
            found = [method(X, labeled) for method in METHODS.values()]
            cells.append([(abs(p - rest.mean()), np.mean(is_on == rest)) for p, is_on in found])
        mean = np.mean(cells, axis=0)
        every[chosen].append(mean)
        mark = " *" if chosen else ""
        yield f"{name + mark:<24}{rest.mean():>6.2f}" + shown(mean)
    for chosen, title in ((True, "mean, chosen on (*)"), (False, "mean, confirming")):
        yield f"{title:<30}" + shown(np.mean(every[chosen], axis=0))


def shown(pairs):
    """Write distances and shares side by side."""
    return "".join(f"{distance:>13.3f}, {right:>7.1%}" for distance, right in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    said = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for line in lines(said.data, said.seeds):
        print(line, flush=True)
        found.append(line)
    if said.write:
        before, rest = PAGE.read_text().split("<!-- measured -->")
        after = rest.split("<!-- end measured -->")[1]
        body = "\n".join(["```text", *found, "```"])
        PAGE.write_text(f"{before}<!-- measured -->\n{body}\n<!-- end measured -->{after}")


if __name__ == "__main__":
    main()
