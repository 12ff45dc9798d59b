"""Cestnik: Table 1, the m of the m-estimate, and its variance."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from misnomer.papers import Bayes1, Bayes2, Bayes3, m_estimate_probability
from misnomer.simulate import make_noisy_labels, uniform_noise
from papers import data, page
from papers.measured import Measured, Results, measured, verdict
from papers.section import Section

HERE = Path(__file__).parent
EXPECTED = page.expected(HERE)
RULES = (Bayes1, Bayes2, Bayes3)
NUMBERS = ["AGE", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME"]
SPLITS, PRINTED_SPLITS = 100, 10
MS = (0.5, 1, 2, 5, 10, 20, 50, 100)
RATES = (0.0, 0.2, 0.4)
WHY = "another copy of the data: that of the paper is described elsewhere, and not at hand"


@cache
def domain(name: str) -> tuple[Any, np.ndarray] | None:
    found = data.table(name)
    if found is None:
        return None
    X, y = found
    return (data.binned(X, NUMBERS) if name == "hepatitis" else X), y


def splits(y: np.ndarray, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(ShuffleSplit(count, train_size=0.7, random_state=0).split(y))


def table_1(quick: bool) -> Results:
    out: dict[str, Measured] = {}
    for name in EXPECTED["table_1"]:
        found = domain(name)
        if found is None:
            return {}
        X, y = found
        out[f"{name} classes"] = Measured(len(np.unique(y)))
        for rule in RULES:
            scores = [
                100 * rule().fit(X.iloc[a], y[a]).score(X.iloc[b], y[b])
                for a, b in splits(y, 8 if quick else SPLITS)
            ]
            out[f"{name} {rule.__name__}"] = measured(scores, averaged=PRINTED_SPLITS)
    return out


def show_table_1(found: Results, folder: Path) -> str:
    body = []
    for name, printed in EXPECTED["table_1"].items():
        classes, ours = EXPECTED["classes"][name], int(found[f"{name} classes"].mean)
        same = "yes" if classes == ours else "**no**"
        why = "" if classes == ours else "one class of the copy in use today has no row"
        body.append([name, "classes", classes, ours, "", same, why])
        rules = [rule.__name__ for rule in RULES]
        for rule, paper in zip(rules, printed, strict=True):
            one = found[f"{name} {rule}"]
            same = verdict(paper, one, 1)
            why = WHY if "no" in same else ""
            body.append([name, rule, paper, one.shown(1), f"{one.spread:.1f}", same, why])
        means = [found[f"{name} {rule}"].mean for rule in rules]
        best = [rules[int(np.argmax(values))] for values in (printed, means)]
        body.append([name, "best rule", *best, "", "yes" if best[0] == best[1] else "**no**", ""])
    header = ["domain", "rule", "printed", "ours ± se", "spread", "reproduced?", "why not"]
    count = found["lymphography Bayes1"].draws
    note = f"{count} random splits. {page.summary(body, 1, 5)}\n\n"
    return note + page.markdown(header, body)


def best_m(quick: bool) -> Results:
    """Measure accuracy of Bayes3 by m, with a share of the training labels made wrong."""
    out = {}
    for name in ("lymphography",) if quick else EXPECTED["table_1"]:
        found = domain(name)
        if found is None:
            return {}
        for rate in RATES[::2] if quick else RATES:
            scores = _by_m(*found, rate, 4 if quick else 30)
            for m, values in zip(MS, scores.T, strict=True):
                out[f"{name} {rate} {m}"] = measured(values)
    return out


def _by_m(X: Any, y: np.ndarray, rate: float, count: int) -> np.ndarray:
    """Score every m on the same splits and labels, (splits, m)."""
    classes = np.unique(y)
    noise = uniform_noise(len(classes), rate)
    scores = []
    for seed, (a, b) in enumerate(splits(y, count)):
        given = make_noisy_labels(y[a], noise, classes=classes, random_state=seed)
        fits = [Bayes3(m=m).fit(X.iloc[a], given) for m in MS]
        scores.append([100 * fit.score(X.iloc[b], y[b]) for fit in fits])
    return np.array(scores)


def show_best_m(found: Results, folder: Path) -> str:
    cases = list(dict.fromkeys(tuple(key.split()[:2]) for key in found))
    axes, body = page.new_axes(), []
    axes.axhline(0.0, color="0.8", lw=1)
    for name, rate in cases:
        scores = [found[f"{name} {rate} {m}"] for m in MS]
        best = int(np.argmax([one.mean for one in scores]))
        two = scores[MS.index(2)]
        body.append([name, rate, MS[best], scores[best].shown(1), two.shown(1)])
        if float(rate) in (RATES[0], RATES[-1]):
            gain = [one.mean - two.mean for one in scores]
            style = "-" if float(rate) == 0 else "--"
            axes.plot(MS, gain, style, marker="o", ms=3, label=f"{name}, {rate} wrong")
    axes.set(xscale="log", xlabel="m", ylabel="points above the accuracy at m = 2")
    page.ticks(axes, MS)
    page.legend(axes)
    page.figure(folder / "accuracy_against_m.png", axes)
    header = ["domain", "labels made wrong", "best m", "accuracy there, %", "at m = 2, %"]
    names = list(dict.fromkeys(name for name, _ in cases))
    grown = [_grown([row for row in body if row[0] == name]) for name in names]
    count = next(iter(found.values())).draws
    note = (
        f"{count} splits. The best m is larger with noise in {sum(grown)} of {len(grown)} domains."
    )
    return f"{note}\n\n{page.markdown(header, body)}"


def _grown(rows: list[list[Any]]) -> bool:
    return bool(rows[-1][2] > rows[0][2])


def variance(quick: bool) -> Results:
    mean, spread = m_estimate_probability([3, 300], [4, 400])
    out = {}
    for name, p, v in zip(("3 of 4", "300 of 400"), mean, spread, strict=True):
        out |= {f"{name}: mean": Measured(float(p)), f"{name}: sd": Measured(float(np.sqrt(v)))}
    return out


def show_variance(found: Results, folder: Path) -> str:
    body = [
        [name, *(f"{found[f'{name}: {what}'].mean:.4f}" for what in ("mean", "sd"))]
        for name in ("3 of 4", "300 of 400")
    ]
    return page.markdown(["", "mean", "standard deviation"], body)


SECTIONS = (
    Section("table 1", table_1, show_table_1),
    Section("best m", best_m, show_best_m),
    Section("variance", variance, show_variance),
)
