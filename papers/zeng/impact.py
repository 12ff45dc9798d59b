"""What wrong labels cost naive Bayes: all classes alike, and one class that attracts the errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from misnomer import mislabeling_impact
from misnomer.simulate import draw_zeng, make_noisy_labels, uniform_noise
from papers import page
from papers.measured import Results, measured
from papers.zeng.simulation import TEST, nb

ROWS = 500
UNIFORM = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
HUB = (0.9, 0.92, 0.94, 0.96, 0.98, 1.0)
CLASSES = 12  # of the hub; the slides assume many more than the 1 / (1 - rho) <= 10 that draw even


def hub(n_classes: int, right: float) -> np.ndarray:
    """Let every class lose ``1 - right`` of its labels to the first, which loses to the second."""
    matrix = right * np.eye(n_classes)
    matrix[0, 1:] = matrix[1, 0] = 1 - right
    return matrix


def impact(quick: bool) -> Results:
    """Measure accuracy with wrong labels less accuracy with correct ones, in points."""
    out = {}
    draws = 3 if quick else 20
    for K in (2, 5):
        for right in UNIFORM[1::4] if quick else UNIFORM:
            runs = [_uniform(K, right, seed) for seed in range(draws)]
            out[f"uniform, K = {K}, {right}"] = measured(runs)
    for right in HUB[:1] if quick else HUB:
        runs = np.array([_hub(right, seed) for seed in range(draws)])
        for place, name in enumerate(("all classes", "class 1", "other classes")):
            out[f"hub, {name}, {right}"] = measured(runs[:, place])
    return out


def _uniform(K: int, right: float, seed: int) -> float:
    correct, predicted, true = _both(K, uniform_noise(K, 1 - right), seed)
    return mislabeling_impact(100 * np.mean(predicted == true), 100 * np.mean(correct == true))


def _hub(right: float, seed: int) -> list[float]:
    correct, predicted, true = _both(CLASSES, hub(CLASSES, right), seed)
    parts = (np.ones(len(true), bool), true == 0, true != 0)
    return [
        100 * float(np.mean(predicted[part] == true[part]) - np.mean(correct[part] == true[part]))
        for part in parts
    ]


def _both(K: int, noise: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict further rows after learning from correct and from wrong labels."""
    run = draw_zeng(ROWS + TEST, n_classes=K, diagonal=(1.0, 1.0), random_state=seed)
    given = make_noisy_labels(run.true[:ROWS], noise, classes=range(K), random_state=seed)
    train, test = run.X[:ROWS], run.X[ROWS:]
    correct = nb().fit(train, run.true[:ROWS]).predict(test)
    return correct, nb().fit(train, given).predict(test), run.true[ROWS:]


def show(found: Results, folder: Path) -> str:
    curves: dict[str, list[tuple[float, float]]] = {}
    for key, ours in found.items():
        name, right = key.rsplit(", ", 1)
        curves.setdefault(name, []).append((float(right), ours.mean))
    axes = page.new_axes()
    axes.axhline(0.0, color="0.8", lw=1)
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", ms=4, label=name)
    axes.set(xlabel="share of correct labels (rho)", ylabel="points of accuracy lost")
    page.legend(axes)
    page.figure(folder / "impact.png", axes)
    body = [[*key.rsplit(", ", 1), ours.shown(1)] for key, ours in found.items()]
    draws = next(iter(found.values())).draws
    note = f"{draws} draws of {ROWS} rows; points of accuracy ± standard error.\n\n"
    return note + page.markdown(["noise", "rho", "impact"], body)
