"""Zeng et al.: the simulation of Table 1, and 20 Newsgroups with wrong labels.

python -m papers.zeng.run --quick    few draws, under a minute
python -m papers.zeng.run            20 draws (10 of n = 5000), and the networks on all sizes
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.papers import INB
from misnomer.metrics import mislabeling_impact
from misnomer.simulate import draw_zeng, make_noisy_labels, uniform_noise
from papers import tables

HERE = Path(__file__).parent
EXPECTED = tables.expected(HERE)
NEAR = 2.0
WORDS = 7302
TEST = 1000
QUICK = {500: 8, 1000: 3, 5000: 4}  # draws by n
FULL = {500: 20, 1000: 20, 5000: 10}


def nb(families: str = "bernoulli") -> NoisyLabelNB:
    return NoisyLabelNB(channel="identity", smoothing="laplace", families=families)


def networks() -> dict[str, Any]:
    try:
        from misnomer.classifiers.networks import NAL, NLNN
    except ImportError:
        return {}
    return {"NLNN": NLNN, "NAL": NAL}


def main() -> None:
    quick = tables.quick(__doc__)
    warnings.simplefilter("ignore", ConvergenceWarning)
    found = {}
    for place, interval in enumerate(EXPECTED["intervals"]):
        for size, n in enumerate(EXPECTED["sizes"]):
            draws = (QUICK if quick else FULL)[n]
            if quick and n > 500 and place not in (0, 4):
                continue
            with_networks = not quick or n < 5000
            found[place, size] = [
                one(n, interval, 100 * place + seed, with_networks) for seed in range(draws)
            ]
    table_1(found)
    newsgroups(quick)


def one(n: int, interval: list[float], seed: int, with_networks: bool) -> dict[str, dict]:
    run = draw_zeng(n + TEST, diagonal=tuple(interval), random_state=seed)
    train, test = slice(0, int(0.8 * n)), slice(n, n + TEST)
    X, given, true = run.X[train], run.given[train], run.true[train]
    fitted = {"NB": nb().fit(X, given), "NB correct": nb().fit(X, true)}
    fitted["INB"] = INB(families="bernoulli").fit(X, given)
    if with_networks:
        fitted |= {
            name: make(families="bernoulli").fit(X, given) for name, make in networks().items()
        }
    out = {name: _judge(clf, run, test) for name, clf in fitted.items()}
    on, off = np.log(run.probabilities).T, np.log(1 - run.probabilities).T
    oracle = (run.X[test] @ (on - off) + off.sum(axis=0)).argmax(axis=1)
    out["NB-T"] = {"accuracy": 100 * np.mean(oracle == run.true[test])}
    return out


def _judge(clf: Any, run: Any, test: slice) -> dict[str, float]:
    proba = clf.predict_proba(run.X[test])
    true = run.true[test]
    d = run.X.shape[1]
    p = np.exp(clf.model_.weights[:, :d] + clf.model_.weights[:, d:])
    return {
        "accuracy": 100 * float(np.mean(clf.classes_[proba.argmax(axis=1)] == true)),
        "auc": 100 * float(roc_auc_score(true, proba, multi_class="ovr")),
        "mse": 1000 * float(np.mean((p - run.probabilities) ** 2)),
    }


def table_1(found: dict) -> None:
    body, more = [], []
    for (place, size), runs in found.items():
        low, high = EXPECTED["intervals"][place]
        where = [f"[{low}, {high})" if low < high else "1", EXPECTED["sizes"][size]]
        for name in ("NB", "INB", "NB-T", "NLNN", "NAL", "NB correct"):
            acc = [run[name]["accuracy"] for run in runs if name in run]
            printed = EXPECTED["accuracy"].get(name)
            paper = None if printed is None else printed[place][size]
            ours = tables.measured(acc, 1) if acc else "-"
            near = tables.verdict(paper, float(np.mean(acc)), NEAR) if acc else "-"
            shown = "-" if paper is None else paper
            body.append([*where, len(acc) or "-", name, shown, ours, near])
        more.append([*where, *_more(runs, place, size)])
    header = ["diagonal", "n", "draws", "method", "printed", "ours", "reproduced?"]
    note = tables.summary(body, method=3) + "\n\n"
    tables.write(HERE, "table 1", note + tables.markdown(header, body))
    header = ["diagonal", "n", "MSE NB", "MSE INB", "AUC NB", "AUC INB", "impact"]
    note = "Printed / ours.\n\n"
    tables.write(HERE, "more", note + tables.markdown(header, more))


def _more(runs: list[dict], place: int, size: int) -> list[str]:
    cells = []
    for measure in ("mse", "auc"):
        for name in ("NB", "INB"):
            ours = np.mean([run[name][measure] for run in runs])
            cells.append(f"{EXPECTED[measure][name][place][size]} / {ours:.1f}")
    means = [np.mean([run[name]["accuracy"] for run in runs]) for name in ("NB", "NB correct")]
    return [*cells, f"{EXPECTED['impact'][place][size]} / {mislabeling_impact(*means):.1f}"]


def newsgroups(quick: bool) -> None:
    parts = tables.newsgroups()
    if parts is None:
        return
    texts = np.concatenate([part["text"].to_numpy() for part in parts])
    label = np.concatenate([part["label"].to_numpy() for part in parts])
    X = _present(texts[:: 2 if quick else 1])
    split = train_test_split(X, label[:: 2 if quick else 1], test_size=0.2, random_state=0)
    train, test, true, truth = split
    given = make_noisy_labels(true, uniform_noise(20, 0.2), random_state=0)
    fitted = {"NB, wrong labels": (nb("auto"), given), "INB": (INB(max_iter=30), given)}
    if not quick:
        fitted |= {name: (make(), given) for name, make in networks().items()}
    fitted["NB, correct labels"] = (nb("auto"), true)
    scores = {name: 100 * clf.fit(train, y).score(test, truth) for name, (clf, y) in fitted.items()}
    axes = tables.axes()
    bars = axes.barh(list(scores), list(scores.values()), height=0.6)
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.set(xlabel="accuracy on correct test labels, %", xlim=(0, 100))
    tables.figure(HERE, "newsgroups", axes)
    body = [[name, f"{value:.1f}"] for name, value in scores.items()]
    rows = f"{train.shape[0]} messages for training{', every second one' if quick else ''}.\n\n"
    tables.write(HERE, "newsgroups", rows + tables.markdown(["method", "accuracy, %"], body))


def _present(texts: np.ndarray) -> Any:
    """The words with the highest TF-IDF in any message, 1 where present."""
    X = TfidfVectorizer(stop_words="english", min_df=5).fit_transform(texts)
    highest = X.max(axis=0).toarray().ravel()
    kept = np.sort(np.argsort(-highest, kind="stable")[:WORDS])
    return (X[:, kept] > 0).astype(np.float64)


if __name__ == "__main__":
    main()
