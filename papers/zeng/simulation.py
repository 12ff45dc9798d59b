"""Table 1 of the slides: five classes, 500 flags, and a random matrix of wrong labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from misnomer import NoisyLabelNB, mislabeling_impact
from misnomer.papers import INB, NAL, NLNN, BayesANIL, NoiseFilterNB
from misnomer.simulate import ZengDraw, draw_zeng
from papers import page
from papers.measured import Measured, Results, measured, verdict

HERE = Path(__file__).parent
EXPECTED = page.expected(HERE)
TEST = 1000  # further rows with true labels, on which every method is judged
DRAWS = {500: 20, 1000: 12, 5000: 8}
FILTERED = 4  # draws of n = 500 that the slow filters see
FLAGS = {"families": "bernoulli"}
LONG = {"max_iter": 20_000}  # every search runs to its end
PRINTED = ("NB", "INB", "NB-T", "NLNN", "NAL")
REVIEWED = ("classification filter", "BayesANIL", "majority filter", "consensus filter")
OTHERS = ("NB correct", *REVIEWED)
NETWORK = "how the slides trained their networks is not said; ours is linear and runs to its end"
WHY = {
    "NLNN": NETWORK,
    "NAL": NETWORK,
    "NB": "the slides draw the classes' probabilities once for each n, and how is not said in full",
}


def nb(families: str = "bernoulli") -> NoisyLabelNB:
    return NoisyLabelNB(channel="identity", smoothing="laplace", families=families)


def fitted(run: ZengDraw, train: slice, count: int) -> dict[str, Any]:
    """Fit every method, and the first of those that are reviewed."""
    X, given = run.X[train], run.given[train]
    return {
        "NB": nb().fit(X, given),
        "NB correct": nb().fit(X, run.true[train]),
        "INB": INB(**FLAGS, **LONG).fit(X, given),
        "NLNN": NLNN(**FLAGS, **LONG).fit(X, given),
        "NAL": NAL(**FLAGS, **LONG).fit(X, given),
    } | {name: reviewed(name).fit(X, given) for name in REVIEWED[:count]}


def reviewed(name: str) -> BayesANIL | NoiseFilterNB:
    """Build what the slides review but do not compare."""
    if name == "BayesANIL":
        return BayesANIL(**FLAGS)
    return NoiseFilterNB(vote=name.split()[0], **FLAGS)


def table_1(quick: bool) -> Results:
    """Measure every setting of the table: accuracy, area under the curve, squared error, impact."""
    out: dict[str, Measured] = {}
    for place, interval in enumerate(EXPECTED["intervals"]):
        for n, draws in DRAWS.items():
            if quick and (n > 500 or place > 0):
                continue
            seeds = range(100 * place, 100 * place + (2 if quick else draws))
            out |= _setting(f"{place} {n}", [one(n, interval, seed) for seed in seeds])
    return out


def _setting(key: str, runs: list[dict[str, dict[str, float]]]) -> dict[str, Measured]:
    out = {
        f"{key} {name} {measure}": measured([run[name][measure] for run in runs if name in run])
        for name in runs[0]
        for measure in runs[0][name]
    }
    impact = [mislabeling_impact(*(run[n]["acc"] for n in ("NB", "NB correct"))) for run in runs]
    return out | {f"{key} NB impact": measured(impact)}


def one(n: int, interval: list[float], seed: int) -> dict[str, dict[str, float]]:
    """Draw once, fit every method on 80 % of n rows, and judge it on further rows."""
    run = draw_zeng(n + TEST, diagonal=(interval[0], interval[1]), random_state=seed)
    train, test = slice(0, int(0.8 * n)), slice(n, n + TEST)
    count = len(REVIEWED) if n == 500 and seed % 100 < FILTERED else 2 if n < 5000 else 1
    out = {name: _judge(clf, run, test) for name, clf in fitted(run, train, count).items()}
    on, off = np.log(run.probabilities).T, np.log(1 - run.probabilities).T
    oracle = softmax(run.X[test] @ (on - off) + off.sum(axis=0), axis=1)
    out["NB-T"] = _scores(oracle, run.true[test])
    return out


def _judge(clf: Any, run: ZengDraw, test: slice) -> dict[str, float]:
    scores = _scores(clf.predict_proba(run.X[test]), run.true[test])
    if not isinstance(clf, NLNN | NAL):
        d = run.X.shape[1]
        p = np.exp(clf.model_.weights[:, :d] + clf.model_.weights[:, d:])
        scores["mse"] = 1000 * float(np.mean((p - run.probabilities) ** 2))
    return scores


def _scores(proba: np.ndarray, true: np.ndarray) -> dict[str, float]:
    area = roc_auc_score(true, proba, multi_class="ovr")
    return {"acc": 100 * float(np.mean(proba.argmax(axis=1) == true)), "auc": 100 * float(area)}


def show_table_1(found: Results, folder: Path) -> str:
    body = []
    for place, (low, high) in enumerate(EXPECTED["intervals"]):
        for size, n in enumerate(DRAWS):
            if f"{place} {n} NB acc" not in found:
                continue
            where = [f"[{low}, {high})" if low < high else "1", n]
            for measure, names in _measures().items():
                for name in names:
                    paper = EXPECTED[measure][name][place][size]
                    key = f"{place} {n} {name} {measure}"
                    body.append([*where, measure, name, *_cells(paper, found[key], name)])
    header = ["diagonal", "n", "measure", "method", "printed", "ours ± se", "spread"]
    header += ["reproduced?", "why not"]
    counted = [[f"{row[3]} {row[2]}", row[7]] for row in body]
    draws = ", ".join(f"{count} draws of n = {n}" for n, count in DRAWS.items())
    note = f"{draws}. " if "4 5000 NB acc" in found else "Two draws of one setting. "
    return note + page.summary(counted, 0, 1) + "\n\n" + page.markdown(header, body)


def _measures() -> dict[str, tuple[str, ...]]:
    return {"mse": ("NB", "INB"), "acc": PRINTED, "auc": PRINTED, "impact": ("NB",)}


def _cells(paper: float, ours: Measured, name: str) -> list[str]:
    same = verdict(paper, ours, 1)
    why = WHY.get(name, WHY["NB"]) if "no" in same else ""
    return [f"{paper:.1f}", ours.shown(1), f"{ours.spread:.1f}", same, why]


def show_others(found: Results, folder: Path) -> str:
    """Show what the slides review but do not compare, beside naive Bayes and INB."""
    names = ("NB", "INB", *OTHERS)
    body = []
    for place, (low, high) in enumerate(EXPECTED["intervals"]):
        for n in DRAWS:
            keys = [f"{place} {n} {name} acc" for name in names]
            if keys[0] in found:
                cells = [found[key].shown(1) if key in found else "-" for key in keys]
                body.append([f"[{low}, {high})" if low < high else "1", n, *cells])
    return page.markdown(["diagonal", "n", *names], body)


def show(found: Results, folder: Path) -> str:
    """Show the table, and the methods that are only reviewed."""
    text = "Accuracy of what the slides review but do not compare, in percent ± standard error:"
    return f"{show_table_1(found, folder)}\n\n{text}\n\n{show_others(found, folder)}"
