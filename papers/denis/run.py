"""Denis et al.: Tables 1 and 3, Figures 1 and 2, regret over random targets.

python -m papers.denis.run --quick    fewer draws, under a minute
python -m papers.denis.run            half as many as the paper, about a quarter of an hour
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.papers import NBCCCN, NBCCCNEM, NBUNL, PUNB, VBNB
from misnomer.simulate import (
    BinaryTarget,
    draw_binary_target,
    make_noisy_labels,
    matched_target,
)
from papers import tables
from papers.denis.regret import CELLS, FLAGS, NOISE, noisy_draw, regret

HERE = Path(__file__).parent
EXPECTED = tables.expected(HERE)
NEAR = 0.02


def nb(families: str = FLAGS) -> NoisyLabelNB:
    return NoisyLabelNB(channel="identity", smoothing="laplace", families=families)


METHODS = {
    "NB": nb,
    "NB-CCCN": lambda families=FLAGS: NBCCCN(families=families),
    "NB-CCCN, literal": lambda families=FLAGS: NBCCCN(estimator="literal", families=families),
    "NB-CCCN-EM": lambda families=FLAGS: NBCCCNEM(families=families),
    "NB-UNL": lambda families=FLAGS: NBUNL(families=families),
    "variational": lambda families=FLAGS: VBNB(families=families),
}


def main() -> None:
    quick = tables.quick(__doc__)
    warnings.simplefilter("ignore", ConvergenceWarning)
    table_1(draws=8 if quick else 100)
    regret(METHODS, targets=20 if quick else 400)
    random_starts(draws=4 if quick else 30)
    positive(draws=20 if quick else 100)
    table_3(repeats=1 if quick else 5)


def table_1(draws: int) -> None:
    printed = EXPECTED["table_1"]
    target = matched_target(printed["target"]["acc"], f_value=printed["target"]["F"])
    sizes = sorted({*printed["sizes"], 200})
    found = {}
    for n in sizes:
        for name, method in METHODS.items():
            runs = [_judge(method, target, n, seed) for seed in range(draws)]
            found[name, n] = np.array(runs)  # accuracy, KL, error of the prior
    body = []
    for name in METHODS:
        for n in printed["sizes"]:
            known = printed.get(name.split(",")[0], [None] * 4)
            paper = known[printed["sizes"].index(n)]
            acc = found[name, n][:, 0]
            near = tables.verdict(paper, acc.mean(), NEAR)
            body.append([name, n, "-" if paper is None else paper, tables.measured(acc), near])
    best = f"Bayes accuracy {target.bayes_accuracy():.3f} (printed 0.899), {draws} draws. "
    best += tables.summary(body, method=0) + "\n\n"
    header = ["method", "n", "printed", "ours", "reproduced?"]
    tables.write(HERE, "table 1", best + tables.markdown(header, body))
    _draw(found, sizes, 1, "figure_1", "KL divergence to the target")
    _draw(found, sizes, 2, "figure_2", "error of P(y = 1)", scale="linear")


def _judge(method, target: BinaryTarget, n: int, seed: int) -> tuple[float, float, float]:
    X, given = noisy_draw(target, n, seed)
    clf = method().fit(X, given)
    weights = clf.model_.weights
    p = np.clip(np.exp(weights[:, :10] + weights[:, 10:]), 1 / (n + 2), 1 - 1 / (n + 2))
    found = BinaryTarget(clf.class_prior_[1], p[1], p[0])
    wrong = abs(clf.class_prior_[1] - target.prior)
    return target.accuracy(clf.predict(CELLS)), target.kl_divergence(found), wrong


def _draw(found, sizes: list[int], column: int, name: str, label: str, scale="log") -> None:
    axes = tables.axes()
    for method in METHODS:
        means = [found[method, n][:, column].mean() for n in sizes]
        axes.plot(sizes, means, marker="o", ms=4, label=method)
    axes.set(xlabel="rows", ylabel=label, xscale="log", yscale=scale)
    if scale == "linear":
        axes.set_ylim(bottom=0.0)
    tables.ticks(axes, sizes)
    tables.legend(axes)
    tables.figure(HERE, name, axes)


def random_starts(draws: int) -> None:
    target = matched_target(0.899, f_value=0.903)
    n, runs = 100, 10

    rows = {"from NB-CCCN, 1 run": [], "random, 1 run": [], f"random, best of {runs}": []}
    for seed in range(draws):
        X, given = noisy_draw(target, n, 7000 + seed)
        one = NBCCCNEM(families=FLAGS).fit(X, given).objectives_[0]
        many = NBCCCNEM(init="random", n_init=runs, families=FLAGS, random_state=seed)
        reached = many.fit(X, given).objectives_
        best = max(one, reached.max())
        for name, value in zip(rows, (one, reached[0], reached.max()), strict=True):
            rows[name].append(best - value)
    body = [
        [name, f"{np.mean(gap):.2f}", f"{np.max(gap):.2f}", f"{np.mean(np.array(gap) < 0.1):.0%}"]
        for name, gap in rows.items()
    ]
    header = ["start", "mean gap", "worst gap", "within 0.1"]
    tables.write(HERE, "starts", tables.markdown(header, body))


def positive(draws: int) -> None:
    errors = {"closed-form": [], "em": []}
    priors = []
    for seed in range(draws):
        target = draw_binary_target(10, 500 + seed)
        rng = np.random.default_rng(seed)
        X, true = target.draw(40_000, random_state=rng)
        ones = X[true == 1][:500]
        if len(ones) < 500:
            continue
        rows = np.concatenate([ones, X[-500:]])
        y = np.repeat([1, 0], 500)
        priors.append(target.prior)
        for estimator, wrong in errors.items():
            clf = PUNB(estimator=estimator, families=FLAGS).fit(rows, y)
            wrong.append(abs(clf.class_prior_[1] - target.prior))
    inside = (np.array(priors) > 0.05) & (np.array(priors) < 0.95)
    body = [
        [f"PUNB, {name}", tables.measured(wrong), tables.measured(np.array(wrong)[inside])]
        for name, wrong in errors.items()
    ]
    outside = len(priors) - inside.sum()
    header = [
        "",
        f"all {len(priors)} targets",
        f"without {outside} whose P(y = 1) is < .05 or > .95",
    ]
    tables.write(HERE, "positive", tables.markdown(header, body))


def table_3(repeats: int) -> None:
    body = []
    columns = ["NB", "NB-CCCN", "NB-CCCN-EM", "variational"]
    for name, printed in EXPECTED["table_3"].items():
        data = _two_classes(name)
        if data is None:
            continue
        for kind in ("clean", "noisy"):
            scores, rates = _cross_validated(*data, columns, kind == "noisy", repeats)
            for column, acc in scores.items():
                place = ["MajCl", *columns[:3]].index(column) if column in columns[:3] else None
                paper = None if place is None else printed[kind][place]
                near = tables.verdict(paper, acc.mean(), NEAR)
                shown = "-" if paper is None else paper
                found = ", ".join(f"{x:.2f}" for x in rates[column]) if column in rates else "-"
                cells = [name, kind, column, shown, tables.measured(acc), near, found]
                body.append(cells)
    header = ["data", "labels", "method", "printed", "ours", "reproduced?", "flip rates found"]
    times = "once" if repeats == 1 else f"{repeats} times"
    note = f"Cross-validated {times}. {tables.summary(body, method=2, reproduced=5)}\n\n"
    tables.write(HERE, "table 3", note + tables.markdown(header, body))


def _two_classes(name: str):
    found = tables.table(name)
    if found is None:
        return None
    X, label = found
    if name == "balance_scale":
        X, label = X[label != "B"], label[label != "B"]
    if name == "hepatitis":
        numbers = ["AGE", "BILIRUBIN", "ALK_PHOSPHATE", "SGOT", "ALBUMIN", "PROTIME"]
        X = tables.binned(X, numbers)
    names, counts = np.unique(label, return_counts=True)
    return X, (label == names[counts.argmax()]).astype(int)


def _cross_validated(X, y, columns: list[str], noisy: bool, repeats: int):
    scores = {name: [] for name in columns}
    rates = {name: [] for name in columns[1:]}
    for repeat in range(repeats):
        folds = StratifiedKFold(10, shuffle=True, random_state=repeat)
        for fold, (train, test) in enumerate(folds.split(X, y)):
            given = y[train]
            if noisy:
                given = make_noisy_labels(given, NOISE, random_state=100 * repeat + fold)
            for name in columns:
                clf = METHODS[name]("categorical").fit(X.iloc[train], given)
                scores[name].append(clf.score(X.iloc[test], y[test]))
                if name in rates:
                    rates[name].append(clf.noise_matrix_[[1, 0], [0, 1]])
    mean = {name: np.mean(found, axis=0) for name, found in rates.items()}
    return {name: np.array(values) for name, values in scores.items()}, mean


if __name__ == "__main__":
    main()
