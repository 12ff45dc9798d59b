"""Cestnik: Table 1, and the accuracy of the m-estimate against m.

python -m papers.cestnik.run --quick    20 splits
python -m papers.cestnik.run            100 splits
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import ShuffleSplit

from misnomer.classifiers.papers import Bayes1, Bayes2, Bayes3, accuracy_against_m
from misnomer.solvers.cestnik import m_estimate_probability
from papers import tables

HERE = Path(__file__).parent
EXPECTED = tables.expected(HERE)
RULES = (Bayes1, Bayes2, Bayes3)
NUMBERS = ["AGE", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME"]
NEAR = 3.0
MS = [0.1, 0.5, 1, 2, 5, 10, 20, 50]


def main() -> None:
    quick = tables.quick(__doc__)
    splits = 20 if quick else 100
    data = {name: _data(name) for name in EXPECTED["table_1"]}
    data = {name: found for name, found in data.items() if found is not None}
    table_1(data, splits)
    against_m(data, 10 if quick else 50)
    variance()


def _data(name: str):
    found = tables.table(name)
    if found is None:
        return None
    X, y = found
    return (tables.binned(X, NUMBERS) if name == "hepatitis" else X), y


def table_1(data: dict, splits: int) -> None:
    body = []
    for name, (X, y) in data.items():
        parts = list(ShuffleSplit(splits, train_size=0.7, random_state=0).split(X))
        scores = {
            rule.__name__: [
                100 * rule().fit(X.iloc[a], y[a]).score(X.iloc[b], y[b]) for a, b in parts
            ]
            for rule in RULES
        }
        means = {rule: float(np.mean(found)) for rule, found in scores.items()}
        printed = dict(zip(scores, EXPECTED["table_1"][name], strict=True))
        for rule, found in scores.items():
            near = tables.verdict(printed[rule], means[rule], NEAR)
            body.append([name, rule, printed[rule], tables.measured(found, 1), near])
        best = [max(one, key=lambda rule: one[rule]) for one in (printed, means)]
        same = "yes" if best[0] == best[1] else "**no**"
        body.append([name, "best rule", *best, same])
    header = ["domain", "rule", "printed", "ours", "reproduced?"]
    note = f"{splits} random splits.\n\n"
    tables.write(HERE, "table 1", note + tables.markdown(header, body))


def against_m(data: dict, splits: int) -> None:
    axes, body = tables.axes(), []
    axes.axhline(0.0, color="0.8", lw=1)
    for name, (X, y) in data.items():
        ms, mean, _ = accuracy_against_m(X, y, MS, n_splits=splits)
        two = float(mean[ms == 2][0])
        axes.plot(ms, 100 * (mean - two), marker="o", ms=4, label=name.replace("_", " "))
        body.append([name, f"{ms[mean.argmax()]:g}", f"{100 * mean.max():.1f}", f"{100 * two:.1f}"])
    axes.set(xscale="log", xlabel="m", ylabel="points above the accuracy at m = 2")
    tables.ticks(axes, MS)
    tables.legend(axes)
    tables.figure(HERE, "accuracy_against_m", axes)
    header = ["domain", "best m", "accuracy there, %", "accuracy at m = 2, %"]
    tables.write(HERE, "best m", tables.markdown(header, body))


def variance() -> None:
    mean, spread = m_estimate_probability([3, 300], [4, 400])
    body = [
        [f"{n} of {N}", f"{p:.4f}", f"{np.sqrt(v):.4f}"]
        for n, N, p, v in zip((3, 300), (4, 400), mean, spread, strict=True)
    ]
    tables.write(HERE, "variance", tables.markdown(["", "mean", "standard deviation"], body))


if __name__ == "__main__":
    main()
