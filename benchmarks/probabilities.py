"""Probabilities alone, against cleanlab on the same ones: which labels are wrong.

    python -m benchmarks.probabilities [--half decided|confirmed] [--seeds N]

Fifteen tables whose labels are right, with planted noise; a classifier of scikit-learn scores each
row out of fold, by the labels as given. Both read the same probabilities and nothing else. AP is
that of the doubt (cleanlab: one minus the self-confidence), F1 that of the rows that are flagged
(cleanlab: `find_label_issues` as it comes), "held" how often the 90 % interval of the rate holds
the share of labels that were turned. The columns on the right are cleanlab's.

What misnomer does with probabilities was chosen on the tasks DECIDED alone; CONFIRMED were looked
at once, afterwards, and nothing was changed since.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.trust_tasks import TASKS, features, plant
from misnomer import NoisyLabelClassifier, NoisyLabelNB
from misnomer.smoothing import Smoothing

DECIDED = ("votes", "ljubljana", "wisconsin", "iris", "tic-tac-toe", "tumor", "autos motorcycles")
CONFIRMED = (
    "hepatitis", "lymphography", "balance", "zoo", "soybean", "wine", "wdbc", "letters E F",
)  # fmt: skip
PLANTED = ("uniform .2", "asymmetric")
LAPLACE = Smoothing(cells=1.0, shrink=5.0, extra=1e-4, classes=1.0)


def out_of_fold(who: str, X, Phi, given, seed: int):
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    if who == "LR":
        model, rows = LogisticRegression(max_iter=300), Phi
    else:
        model, rows = NoisyLabelNB(channel="identity", smoothing=LAPLACE), X
    return cross_val_predict(model, rows, given, cv=folds, method="predict_proba")


def ours(share, given):
    found = NoisyLabelClassifier(random_state=0).fit(None, given, pred_probs=share)
    after = found.fit_.details.posterior
    doubt = 1 - after[np.arange(len(given)), given]
    ends = found.fit_.details.intervals["error_rate"]
    return doubt, after.argmax(axis=1) != given, doubt.mean(), ends


def cleanlab(share, given):
    flagged = find_label_issues(given, share)
    return 1 - get_label_quality_scores(given, share), flagged, flagged.mean(), None


def runs(names, seeds: int) -> Iterator[tuple[str, str, str, list[float]]]:
    for name in names:
        X, true = TASKS[name]()
        Phi = features(X)
        for noise in PLANTED:
            for seed in range(seeds):
                given, _ = plant(noise, true, Phi, seed)
                classes, coded = np.unique(given, return_inverse=True)
                if np.bincount(coded).min() < 5 or len(classes) <= true.max():
                    continue  # a class that noise has emptied
                for who in ("LR", "NB"):
                    share, wrong = out_of_fold(who, X, Phi, coded, seed), given != true
                    row = [float(wrong.mean())]
                    for method in (ours, cleanlab):
                        doubt, flagged, rate, ends = method(share, coded)
                        ap = average_precision_score(wrong, doubt)
                        row += [ap, f1_score(wrong, flagged), float(rate)]
                        if ends is not None:
                            row.append(float(ends.low <= wrong.mean() <= ends.high))
                    yield name, noise, who, row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=("decided", "confirmed", "both"), default="both")
    parser.add_argument("--seeds", type=int, default=2)
    said = parser.parse_args()
    names = {"decided": DECIDED, "confirmed": CONFIRMED, "both": DECIDED + CONFIRMED}[said.half]
    warnings.simplefilter("ignore")
    table: dict[tuple[str, str, str], list[list[float]]] = {}
    for name, noise, who, row in runs(names, said.seeds):
        table.setdefault((name, noise, who), []).append(row)
    head = f"{'task':18} {'noise':11} by  wrong |  AP    F1    rate  held  |  AP    F1    rate"
    print(head)
    means = {key: np.mean(found, axis=0) for key, found in table.items()}
    for (name, noise, who), row in means.items():
        print(f"{name:18} {noise:11} {who}  " + _numbers(row))
    for by in ("LR", "NB", ""):
        for noise in (*PLANTED, ""):
            some = [r for (_, n, w), r in means.items() if by in w and noise in n]
            print(
                f"{'mean':18} {noise or 'all':11} {by or '--'}  " + _numbers(np.mean(some, axis=0))
            )


def _numbers(row) -> str:
    said = [f"{value:.3f}" for value in row]
    return f"{said[0]} | {' '.join(said[1:5])} | {' '.join(said[5:])}"


if __name__ == "__main__":
    main()
