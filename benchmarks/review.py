"""How fast a reviewer finds planted errors, and how fast the page answers.

    python -m benchmarks.review [--seeds 3] [--speed]

A simulated reviewer answers with the true labels. The orders that compete: this package's as on the
page (a refit after every five decisions, every tenth row a random check), the same without checks,
its first ranking alone, cleanlab's (label quality by self-confidence, out-of-fold probabilities of
a logistic regression), and random order. The curves are drawn into docs/measured/review.svg.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from misnomer.audit import audit
from misnomer.demo import house_votes
from misnomer.review import Review

NEWS = Path(__file__).parents[2] / "shared" / "data" / "20newsgroups_bydate.parquet"
GROUPS = ("rec.autos", "sci.med", "sci.space", "talk.politics.guns")
REFIT_EVERY = 5
OURS = (
    ("misnomer, as on the page", True, 10),
    ("misnomer, no checks", True, 0),
    ("misnomer, first ranking", False, 0),
)


def votes(seed: int) -> tuple[pa.Table, str, np.ndarray, np.ndarray]:
    """House Votes with 10% of the labels flipped: table, label column, truth, planted."""
    table = house_votes()
    return spoiled(table, "party", share=0.10, seed=seed)


def news(seed: int) -> tuple[pa.Table, str, np.ndarray, np.ndarray]:
    """100 messages of each of four groups, headers stripped, 15% of the labels changed."""
    table = pq.read_table(NEWS, filters=[("label", "in", GROUPS)], columns=["label", "text"])
    label = np.array(table.column("label").to_pylist())
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(label == g), 100, False) for g in GROUPS])
    texts = [re.sub(r"\A.*?\n\n", "", t, flags=re.S) for t in table.column("text").to_pylist()]
    some = pa.table({"text": [texts[i] for i in rows], "label": label[rows]})
    return spoiled(some, "label", share=0.15, seed=seed)


def spoiled(table: pa.Table, label: str, *, share: float, seed: int):
    rng = np.random.default_rng(1000 + seed)
    truth = np.array(table.column(label).to_pylist())
    names = np.unique(truth)
    planted = np.zeros(len(truth), bool)
    planted[rng.choice(len(truth), round(share * len(truth)), replace=False)] = True
    others = [rng.choice(names[names != name]) for name in truth]
    given = np.where(planted, others, truth)
    return table.set_column(table.column_names.index(label), label, [given]), label, truth, planted


def by_review(table, label, truth, decisions: int, *, refit: bool, every: int):
    """Review with this package; the order in which rows come up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(table, label=label, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        review = Review(found, Path(folder) / "r.sqlite", refit=False, check_every=every)
        rows = []
        for i in range(decisions):
            if refit and i and i % REFIT_EVERY == 0:
                review.refit_now()
            row, check = review.next()
            answer = truth[row].item()
            review.decide(key=f"simulated-{i}", row=row, action="choose", label=answer, check=check)
            rows.append(row)
        if refit:
            left = review.progress().left.best
            wrong = np.array(table.column(label).to_pylist()) != truth
            print(f"    {wrong.sum() - wrong[rows].sum()} errors left, estimated {left:.0f}")
        review.close()
    return rows


def by_cleanlab(table, label) -> list[int]:
    """Rank by cleanlab: the least self-confident label first."""
    from cleanlab.rank import get_label_quality_scores
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.preprocessing import OneHotEncoder

    given = np.array(table.column(label).to_pylist())
    y = np.unique(given, return_inverse=True)[1]
    rest = table.drop_columns([label])
    if rest.column_names == ["text"]:
        X = TfidfVectorizer(sublinear_tf=True).fit_transform(rest.column("text").to_pylist())
    else:
        cells = [["?" if c is None else c for c in col.to_pylist()] for col in rest.columns]
        X = OneHotEncoder().fit_transform(np.array(cells, object).T)
    share = cross_val_predict(LogisticRegression(max_iter=1000), X, y, cv=5, method="predict_proba")
    return np.argsort(get_label_quality_scores(y, share), kind="stable").tolist()


def curves(problem: Callable, seeds: int, decisions: int) -> dict[str, np.ndarray]:
    """Average over seeds: the share of planted errors found after each decision."""
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(seeds):
        table, label, truth, planted = problem(seed)
        orders = {
            name: by_review(table, label, truth, decisions, refit=refit, every=every)
            for name, refit, every in OURS
        }
        orders |= {
            "cleanlab": by_cleanlab(table, label)[:decisions],
            "random": np.random.default_rng(seed).permutation(len(truth))[:decisions].tolist(),
        }
        for name, rows in orders.items():
            found.setdefault(name, []).append(np.cumsum(planted[rows]) / planted.sum())
    return {name: np.mean(runs, axis=0) for name, runs in found.items()}


def draw(results: dict[str, tuple[dict[str, np.ndarray], int]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "review"
    figure, panels = plt.subplots(1, len(results), figsize=(5 * len(results), 3.6), squeeze=False)
    for panel, (title, (lines, planted)) in zip(panels[0], results.items(), strict=True):
        for name, line in lines.items():
            style = {"lw": 2} if name == OURS[0][0] else {"lw": 1.3, "ls": "--"}
            panel.plot(np.arange(1, len(line) + 1), line, label=name, **style)
        panel.axvline(planted, color="0.7", lw=0.8)
        panel.set(title=title, xlabel="decisions", ylabel="share of planted errors found")
        panel.set_ylim(0, 1.02)
    panels[0][0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--decisions", type=int, default=100)
    asked.add_argument("--speed", action="store_true", help="time the page at a million rows")
    said = asked.parse_args()
    if said.speed:
        from benchmarks.review_speed import main as speed

        speed()
        return
    problems = {"House Votes, 10% planted": votes}
    if NEWS.is_file():
        problems["20 Newsgroups (4 groups), 15% planted"] = news
    else:
        print(f"skipped 20 Newsgroups: {NEWS.name} is not there")
    results = {}
    for title, problem in problems.items():
        lines = curves(problem, said.seeds, said.decisions)
        planted = int(problem(0)[3].sum())
        results[title] = (lines, planted)
        print(f"{title}: {planted} errors, mean of {said.seeds} seeds")
        for name, line in lines.items():
            at = min(planted, len(line)) - 1
            print(
                f"  {name:24s} {planted * line[-1]:5.1f} errors in {len(line)} decisions, "
                f"{planted * line[at]:5.1f} in the first {at + 1}"
            )
    draw(results, Path(__file__).parents[1] / "docs" / "measured" / "review.svg")


if __name__ == "__main__":
    main()
