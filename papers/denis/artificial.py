"""Table 1 and Figures 1 and 2: what each method learns from rows of a random target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from misnomer.simulate import BinaryTarget
from papers import page
from papers.denis.targets import CELLS, EXPECTED, METHODS, matched, noisy_draw
from papers.measured import Measured, Results, grouped, verdict

PRINTED = EXPECTED["table_1"]
SIZES = PRINTED["sizes"]
DRAWS = 200  # of the one target in print
ALL_SIZES = range(100, 2001, 100)
WHY = {
    "NB-CCCN": "the regression needs fewer rows than (18) and (19)",
    "NB-CCCN, literal": "(D - E)^2 in the denominators of (18) and (19) collects sampling noise",
    "NB-UNL": "ours aligns the signs that the print loses",
}


def table_1(quick: bool) -> Results:
    """Accuracy and F value, exact over all cells, by target and draw."""
    targets, draws = matched(3 if quick else 24), range(2 if quick else 6)
    best = [target.bayes_predictions() for target in targets]
    out = {
        "target acc": grouped([[t.accuracy(b)] for t, b in zip(targets, best, strict=True)]),
        "target F": grouped([[t.f_value(b)] for t, b in zip(targets, best, strict=True)]),
    }
    for n in (100, 1000) if quick else SIZES:
        for name in METHODS:
            runs = np.array(
                [
                    [_scores(name, target, n, DRAWS * place + draw) for draw in draws]
                    for place, target in enumerate(targets)
                ]
            )
            out[f"{name} {n} acc"], out[f"{name} {n} F"] = (
                grouped(runs[..., column], averaged=DRAWS) for column in (0, 1)
            )
    return out


def _scores(name: str, target: BinaryTarget, n: int, seed: int) -> tuple[float, float]:
    cells = METHODS[name]().fit(*noisy_draw(target, n, seed)).predict(CELLS)
    return target.accuracy(cells), target.f_value(cells)


def show_table_1(found: Results, folder: Path) -> str:
    body = []
    for name in METHODS:
        for measure in ("acc", "F"):
            for place, n in enumerate(SIZES):
                key = f"{name} {n} {measure}"
                if key in found:
                    paper = PRINTED.get(name.split(",")[0], {}).get(measure, [None] * 4)[place]
                    ours = replace(found[key], spread=_pooled(found, name, measure))
                    body.append([name, measure, n, *_cells(paper, ours, name)])
    for measure in ("acc", "F"):
        ours = found[f"target {measure}"]
        paper = PRINTED["target"][measure]
        body.insert(0, ["target (Bayes)", measure, "all four", *_cells(paper, ours, "")])
    header = ["method", "measure", "n", "printed", "ours ± se", "spread", "reproduced?", "why not"]
    targets = found["target acc"].draws
    note = f"{targets} targets, {'2' if targets < 24 else '6'} draws each. "
    return note + page.summary(body, 0, 6) + "\n\n" + page.markdown(header, body)


def _pooled(found: Results, name: str, measure: str) -> float:
    """Pool the spread between targets over the sizes: one alone may be small by chance."""
    keys = [f"{name} {n} {measure}" for n in SIZES]
    return float(np.sqrt(np.mean([found[key].spread ** 2 for key in keys if key in found])))


def _cells(paper: float | None, ours: Measured, name: str) -> list[str]:
    same = verdict(paper, ours, 3)
    why = WHY.get(name, "the target is another one") if "no" in same else ""
    shown = "-" if paper is None else f"{paper:.3f}"
    return [shown, ours.shown(), f"{ours.spread:.3f}", same, why]


def figures(quick: bool) -> Results:
    """KL divergence to the target and error of P(y = 1), one draw of each target and size."""
    targets = matched(4 if quick else 8)
    out = {}
    for n in (100, 2000) if quick else ALL_SIZES:
        for name in METHODS:
            runs = np.array(
                [[_distances(name, target, n, place)] for place, target in enumerate(targets)]
            )
            out[f"{name} {n} KL"], out[f"{name} {n} prior"] = (
                grouped(runs[..., column]) for column in (0, 1)
            )
    return out


def _distances(name: str, target: BinaryTarget, n: int, seed: int) -> tuple[float, float]:
    clf = METHODS[name]().fit(*noisy_draw(target, n, 100_000 + seed))
    weights, least = clf.model_.weights, 1 / (n + 2)
    p = np.clip(np.exp(weights[:, :10] + weights[:, 10:]), least, 1 - least)
    prior = float(np.clip(clf.class_prior_[1], least, 1 - least))
    return target.kl_divergence(BinaryTarget(prior, p[1], p[0])), abs(prior - target.prior)


def show_figures(found: Results, folder: Path) -> str:
    sizes = sorted({int(key.split()[-2]) for key in found})
    labels = {"KL": "KL divergence to the target", "prior": "error of P(y = 1)"}
    for number, (measure, label) in enumerate(labels.items(), start=1):
        axes = page.new_axes()
        for name in METHODS:
            means = [found[f"{name} {n} {measure}"].mean for n in sizes]
            axes.plot(sizes, means, marker="o", ms=3, label=name)
        axes.set(xlabel="rows", ylabel=label, yscale="log")
        page.legend(axes)
        page.figure(folder / f"figure_{number}.png", axes)
    shown = [n for n in (100, 200, 500, 1000, 1500, 2000) if n in sizes]
    body = [
        [name, measure, *(found[f"{name} {n} {measure}"].shown() for n in shown)]
        for measure in labels
        for name in METHODS
    ]
    header = ["method", "measure", *(f"n = {n}" for n in shown)]
    targets = next(iter(found.values())).draws
    return f"{targets} targets, one draw each, mean ± standard error.\n\n" + page.markdown(
        header, body
    )
