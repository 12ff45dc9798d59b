"""What is assumed, put to the test: columns that inform, independence, noise blind to columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.families import Gaussian
from misnomer.model import weights_of
from misnomer.solvers.pool_average import Average
from misnomer.solvers.pool_generative import Dispersion, dispersion, evidence, names_of, owners
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import class_sums, out_of_fold
from misnomer.solvers.pool_words import only_words, told_apart
from misnomer.stats import Stats

Array = NDArray[np.float64]

_TELLING = 3.0  # standard errors by which a column must beat chance
_WIDEST = 150  # columns whose pairs are looked at
_PAIRS = 3
_SEVERAL = 5  # rows of either kind, from which it is learned who is mislabeled
_SPEAKS = 0.01  # share of the evidence that a column must have to be named


def informative(rows: Rows) -> int:
    """Count the columns whose values differ between labels by more than chance would."""
    counted = rows.hard * rows.weight[:, None]
    sums, mass = class_sums(rows.stats, counted), counted.sum(axis=0)
    seen = mass > 0
    owner = owners(rows)
    columns = int(owner.max(initial=-1)) + 1
    gain, free = np.zeros(columns), np.zeros(columns)
    for group in rows.schema.groups:
        at = owner[group.span]
        part = sums[seen][:, group.span]
        if isinstance(group.family, Gaussian):
            whole, pooled = group.family.variance(part)
            flat = pooled <= 1e-12 * np.maximum(whole, 1e-300)
            ratio = np.where(flat, np.where(whole > 0, 1e3, 1.0), whole / np.where(flat, 1, pooled))
            gain[at[: group.family.columns]] += mass.sum() * np.log(np.maximum(ratio, 1.0))
            free[at[: group.family.columns]] += seen.sum() - 1
        else:
            own, degrees = _likelihood_ratio(part, mass[seen])
            np.add.at(gain, at, own)
            np.add.at(free, at, degrees)
    beyond = (gain - free) / np.sqrt(2.0 * np.maximum(free, 1.0))
    needed = _TELLING + np.sqrt(2.0 * np.log(max(columns, 1)))  # the best of many by chance
    return int(np.sum(beyond > needed))


def _likelihood_ratio(sums: Array, mass: Array) -> tuple[Array, Array]:
    """Compute ``2 sum_k c_k log(c_k / expected_k)`` and the degrees of freedom of each cell."""
    expected = np.outer(mass / mass.sum(), sums.sum(axis=0))
    ratio = np.where(sums > 0, sums / np.maximum(expected, 1e-300), 1.0)
    gain = 2.0 * (sums * np.log(ratio)).sum(axis=0)
    varied = (sums.sum(axis=0) > 0) & (sums.sum(axis=0) < mass.sum())
    return gain, np.where(varied, len(mass) - 1.0, 0.0)


def repeating(
    rows: Rows, share: Array, spread: Dispersion | None = None
) -> tuple[float, float, list[tuple[str, str, float]]]:
    """Measure how far columns repeat each other within the classes, unless that is known already.

    Returns
    -------
    ratio, z : float
        Of `dispersion`.
    pairs : list of (str, str, float)
        The pairs that repeat each other most, and the correlation of what they say.
    """
    spread = spread or dispersion(rows, share)
    if owners(rows).max(initial=-1) < 1 or spread.ratio <= 1.0:
        return spread.ratio, spread.z, []
    return spread.ratio, spread.z, _pairs(rows, share)


def _pairs(rows: Rows, share: Array) -> list[tuple[str, str, float]]:
    """Find the pairs of columns whose evidence correlates most within the largest class.

    Columns that hardly say anything are left out.
    """
    counted = share * rows.weight[:, None]
    mass, sums = counted.sum(axis=0), class_sums(rows.stats, counted)
    virtual = rows.smoothing.virtual(rows.schema, Stats(np.diag(mass), sums), np.eye(len(mass)))
    weights = weights_of(rows.schema, sums, virtual)
    k = int(mass.argmax())
    contrast = weights[k] - (weights.sum(axis=0) - weights[k]) / (len(mass) - 1)
    said = evidence(rows, contrast)
    chance = counted[:, k] / max(mass[k], 1e-300)
    size = _second(said, chance)
    top = np.sort(np.argsort(-size, kind="stable")[:_WIDEST])
    part = np.asarray(said[:, top].todense()) if sparse.issparse(said) else np.asarray(said)[:, top]
    part = part - chance @ part
    covariance = part.T @ (part * chance[:, None])
    own = np.diag(covariance)
    speaks = own > _SPEAKS * own.sum()
    sd = np.sqrt(np.where(speaks, own, np.inf))
    upper = np.triu(covariance / np.outer(sd, sd), 1)
    best = np.argsort(-upper, axis=None, kind="stable")[:_PAIRS]
    names = names_of(rows, top)
    return [
        (names[i], names[j], round(float(upper[i, j]), 2))
        for i, j in zip(*np.unravel_index(best, upper.shape), strict=True)
        if upper[i, j] > 0
    ]


def _second(said: Any, chance: Array) -> Array:
    square = said.power(2) if sparse.issparse(said) else np.asarray(said) ** 2
    return np.asarray(chance @ square - (chance @ said) ** 2)


def seen_by_columns(rows: Rows, answer: Average) -> float:
    """Test whether columns tell who is mislabeled *within* a class: a z value, 0 if they do not.

    Among the rows predicted as k, a naive Bayes learns out of fold who was given another label;
    the test is whether it knows more than the channel, which is blind to the columns. With d the
    disagreement, e what channel and scores expect of it and f that prediction, centered,
    ``z = sum (d - e) f / sqrt(sum e (1 - e) f^2)``.
    """
    expected = np.clip(answer.share @ answer.fitted.T, 1e-6, 1.0 - 1e-6)
    likely = answer.share.argmax(axis=1)
    judged = (rows.label >= 0) & ~rows.trusted
    differs = judged & (rows.label != likely)
    several = [
        inside
        for inside in (judged & (likely == k) for k in range(rows.classes))
        if differs[inside].sum() >= _SEVERAL and (~differs[inside]).sum() >= _SEVERAL
    ]
    guesses = np.tanh(_odds_of_another(rows, likely, differs, several))
    above = below = 0.0
    for inside in several:
        own, guess = rows.weight[inside], guesses[inside]
        chance = 1.0 - expected[inside, likely[inside]]
        weight = own * chance * (1.0 - chance)
        guess = guess - (weight @ guess) / max(weight.sum(), 1e-300)
        above += float(own @ ((differs[inside] - chance) * guess))
        below += float(weight @ guess**2)
    return above / np.sqrt(below) if below > 0 else 0.0


def _odds_of_another(
    rows: Rows,
    likely: NDArray[np.intp],
    differs: NDArray[np.bool_],
    several: list[NDArray[np.bool_]],
) -> Array:
    """Take the log-odds, out of fold, that a row was given another label than the likely one, (n,).

    ``several`` are the masks of the rows among which that is learned; other rows have none.
    """
    odds, smoothing = np.zeros(len(rows)), rows.smoothing
    if several and only_words(rows) and smoothing.m == 0 and smoothing.cells > 0:
        at = np.flatnonzero(np.any(several, axis=0))
        fold = np.repeat(np.arange(len(rows.folds)), np.diff(rows.edges))
        odds[at] = told_apart(
            rows.stats[at],
            likely[at],
            differs[at],
            fold[at],
            rows.weight[at],
            cells=smoothing.cells,
            classes=smoothing.classes,
        )
        return odds
    for inside in several:
        some, other = replace(rows.kept(inside), classes=2), differs[inside]
        hard = np.column_stack([~other, other]).astype(np.float64)
        scores = out_of_fold(some, hard * some.weight[:, None]).scores
        odds[inside] = scores[:, 1] - scores[:, 0]
    return odds
