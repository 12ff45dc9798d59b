"""Random starts of EM, and P(y = 1) from positive and unlabeled rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from misnomer.papers import NBCCCNEM, PUNB
from misnomer.simulate import draw_binary_target
from papers import page
from papers.denis.targets import FLAGS, LONG, matched, noisy_draw
from papers.measured import Results, measured

RUNS = 10
STARTS = ("from NB-CCCN, 1 run", "random, 1 run", f"random, best of {RUNS}")
NEAR = 0.1  # nats below the best end that count as having reached it


def starts(quick: bool) -> Results:
    """How far EM stays under the best log-likelihood found, in nats, by start."""
    (target,) = matched(1)
    gaps: dict[str, list[float]] = {name: [] for name in STARTS}
    for seed in range(3 if quick else 30):
        X, given = noisy_draw(target, 100, 7000 + seed)
        one = NBCCCNEM(families=FLAGS, **LONG).fit(X, given).objectives_[0]
        many = NBCCCNEM(init="random", n_init=RUNS, families=FLAGS, random_state=seed, **LONG)
        reached = many.fit(X, given).objectives_
        best = max(one, reached.max())
        for name, value in zip(STARTS, (one, reached[0], reached.max()), strict=True):
            gaps[name].append(best - value)
    out = {f"{name}: gap": measured(gap) for name, gap in gaps.items()}
    return out | {f"{name}: near": measured(np.array(gap) < NEAR) for name, gap in gaps.items()}


def show_starts(found: Results, folder: Path) -> str:
    body = [
        [name, found[f"{name}: gap"].shown(2), f"{found[f'{name}: near'].mean:.0%}"]
        for name in STARTS
    ]
    draws = found[f"{STARTS[0]}: gap"].draws
    header = ["start", "mean gap ± se", f"within {NEAR}"]
    return f"{draws} draws.\n\n" + page.markdown(header, body)


ESTIMATORS = ("literal", "closed-form", "em")


def positive(quick: bool) -> Results:
    """Error of P(y = 1) from 500 positive and 500 unlabeled rows of random targets."""
    wrong: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    priors = []
    for seed in range(20 if quick else 100):
        target = draw_binary_target(10, 500 + seed)
        X, true = target.draw(40_000, random_state=np.random.default_rng(seed))
        ones = X[true == 1][:500]
        if len(ones) < 500:
            continue
        priors.append(target.prior)
        for name, errors in wrong.items():
            settings = {**LONG, "tol": 1e-7} if name == "em" else {}
            clf = PUNB(estimator=name, families=FLAGS, **settings)
            clf.fit(np.concatenate([ones, X[-500:]]), np.repeat([1, 0], 500))
            errors.append(abs(clf.class_prior_[1] - target.prior))
    inside = (np.array(priors) > 0.05) & (np.array(priors) < 0.95)
    out = {f"{name}: all": measured(errors) for name, errors in wrong.items()}
    return out | {f"{name}: inside": measured(np.array(wrong[name])[inside]) for name in wrong}


def show_positive(found: Results, folder: Path) -> str:
    rows = found["em: all"].draws
    outside = rows - found["em: inside"].draws
    names = {
        "literal": "(17) as printed",
        "closed-form": "closed form, each cell weighted by C",
        "em": "EM from there",
    }
    body = [
        [f'`PUNB(estimator="{name}")`', said]
        + [found[f"{name}: {part}"].shown() for part in ("all", "inside")]
        for name, said in names.items()
    ]
    header = ["", "", f"all {rows} targets", f"without {outside} whose P(y = 1) is < .05 or > .95"]
    return "Mean |estimate - truth| ± standard error.\n\n" + page.markdown(header, body)
