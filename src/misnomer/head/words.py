"""What the head has found, in words that need no statistics, and the tests behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.estimate import Estimate
from misnomer.evidence import amount, cell_of
from misnomer.families import Gaussian
from misnomer.head.answer import Answer, Totals
from misnomer.head.profile import PLAUSIBLE, Scan
from misnomer.head.rates import Strata, error_rates
from misnomer.kernels import softmax
from misnomer.learners.brought import BroughtScorer
from misnomer.learners.rows import Rows
from misnomer.learners.yours import Fitted
from misnomer.table import Schema
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

LEAST_EXPLAINED = 3.0  # log-likelihood that the columns must add
WIDE_INTERVAL, LOST_INTERVAL = 0.10, 0.30
TELLING_ERRORS = 3.0  # standard errors by which a column must beat chance
MOST_ASKED, LEAST_TOLD = 12, 1e-6  # rows, and what each must tell about the explanations


def notes(answer: Answer, strata: Strata | None, rows: int) -> tuple[str, ...]:
    """Say what the answer is made of."""
    best = answer.best
    named: dict[str, float] = {}
    for share, one in zip(best.point.shares, best.problem.scored, strict=True):
        name = one.scorer.name.rstrip(" 0123456789.")
        named[name] = named.get(name, 0.0) + float(share)
    listened = [f"{name} {share:.0%}" for name, share in named.items() if share >= 0.05]
    out = [f"The answer listens to {', '.join(listened)}."]
    if rows > len(answer.rows):
        used = f"{len(answer.rows):,}"
        out.append(f"Learners were compared on {used} rows; all {rows:,} were counted.")
    if answer.lean > 0.5:
        out.append("No learner is clearly better than naive Bayes here: predictions lean on it.")
    if strata is not None and strata.judges and not strata.by_group:
        out.append(where(strata, answer))
    out += _outside(answer)
    return tuple(out)


def _outside(answer: Answer) -> list[str]:
    """Say what the model owes to others, and cannot do without them."""
    scorers = [scorer for _, scorer in answer.others]
    out = []
    if any(isinstance(one, BroughtScorer) for one in scorers):
        out.append("It listens to probabilities that you brought: new rows need new ones.")
    yours = {one.name for one in scorers if isinstance(one, Fitted)}
    if yours:
        named = " and ".join(sorted(yours))
        out.append(
            f"{named} cannot be kept in a file: a saved audit has all its rows and numbers, but "
            "predicts no new rows."
        )
    return out


def where(strata: Strata, answer: Answer) -> str:
    """Say where errors strike."""
    rates = error_rates(strata, softmax(answer.logits)[0].mean(axis=0))[:-1]
    if strata.by_margin:
        return (
            "Errors gather on rows that are hard to tell: about "
            f"{rates[0]:.0%} of those labels are wrong, {rates[-1]:.0%} of the easy ones."
        )
    worst = value_of(strata, answer.rows.schema, int(rates.argmax()))
    return (
        f"Errors differ by {strata.name!r}: from {rates.min():.0%} to {rates.max():.0%} of the "
        f"labels, most where it is {worst}."
    )


def value_of(strata: Strata, schema: Schema, at: int) -> str:
    """Say which values of its column make a stratum."""
    block, place = strata.place
    group = schema.groups[block]
    if group.kind in ("count", "text"):
        return "there" if at else "not there"
    column = schema.columns[group.members[place]]
    if strata.edges is None:
        return repr(column.categories[at]) if column.categories else ("on" if at else "off")
    cells = [cell_of(column, x) for x in strata.edges.tolist()]
    ends = [cell if isinstance(cell, str) else amount(cell) for cell in cells]
    if at == 0:
        return f"up to {ends[0]}"
    return f"over {ends[-1]}" if at == len(ends) else f"{ends[at - 1]} to {ends[at]}"


def verdict(
    answer: Answer, found: Totals, scanned: Scan, strata: Strata | None, rate: Estimate
) -> Verdict:
    """Run the tests and put them into words; the rows worth asking about go with the tests."""
    tests = _tests(answer, found, scanned, rate)
    lost, doubtful = _reasons(tests)
    if strata is not None and strata.judges and not strata.by_group:
        doubtful.insert(0, where(strata, answer))
    if lost or doubtful:
        tests["ask"] = telling_rows(answer)
    level = "cannot tell" if lost else "assumed"
    return Verdict(level, tuple((lost + doubtful)[:4]), tests)


def _tests(answer: Answer, found: Totals, scanned: Scan, rate: Estimate) -> dict[str, Any]:
    rows = answer.rows
    plausible = scanned.rates[scanned.weights > PLAUSIBLE * scanned.weights.max()]
    matrix = answer.channel
    return {
        "labels": float(found.joint.sum()),
        "nats_explained": explained(answer),
        **({"informative_columns": informative_columns(rows)} if rows.schema.statistics else {}),
        "rates_about_as_good": (
            round(min(float(plausible.min()), rate.low), 3),
            round(max(float(plausible.max()), rate.high), 3),
        ),
        "alternatives": [
            [round(value, 3), round(weight, 3)]
            for value, weight in scanned.alternatives(rate.value)
        ],
        "rows_of_the_smallest_class": float(found.joint.sum(axis=0).min()),
        "smallest_class": int(found.joint.sum(axis=0).argmin()),
        "diagonal_is_largest": bool((matrix.argmax(axis=0) == np.arange(len(matrix))).all()),
        "lean_on_naive_bayes": round(answer.lean, 3),
        "converged": answer.converged(),
        "interval": (round(rate.low, 3), round(rate.high, 3)),
    }


def _reasons(t: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Sort the findings: what makes any answer idle, what makes the rate doubtful."""
    lost, doubtful = [], []
    low, high = t["interval"]
    if t["nats_explained"] < LEAST_EXPLAINED:
        who = "columns" if "informative_columns" in t else "probabilities"
        lost.append(f"The {who} do not tell the labels apart.")
    elif high - low > LOST_INTERVAL:
        lost.append(
            f"Shares of wrong labels from {low:.0%} to {high:.0%} explain the labels about equally "
            "well: wrong labels and rows that are hard to tell look the same here."
        )
    elif high - low > WIDE_INTERVAL:
        doubtful.append(
            f"Shares of wrong labels from {low:.0%} to {high:.0%} explain the labels about equally "
            "well, so their number is uncertain; the order of the suspects is less so."
        )
    if not t["diagonal_is_largest"]:
        lost.append("For some class another label would be more usual than its own.")
    if t.get("informative_columns", 2) < 2:
        one = "Only one column says" if t["informative_columns"] else "No single column says"
        doubtful.append(
            f"{one} anything about the label beyond chance: a wrong label and an odd cell look "
            "alike."
        )
    if "informative_columns" not in t and not lost:
        doubtful.append(
            "Probabilities of given labels do not say how many of these are wrong: the number "
            "rests on the rows that they are sure of, and may be farther off than its interval."
        )
    return lost, doubtful


def explained(answer: Answer) -> float:
    """Compute the log likelihood that the columns add to the shares of the labels alone."""
    rows = answer.rows
    at = rows.labeled[rows.known[rows.labeled] < 0]
    if not len(at):
        return 0.0
    label, weight = rows.label[at], rows.weight[at]
    chance = (answer.channel[label] * softmax(answer.logits[at])[0]).sum(axis=1)
    count = np.bincount(label, weight, minlength=rows.classes) + 0.5
    usual = (count / count.sum())[label]
    return float(weight @ (np.log(np.maximum(chance, 1e-300)) - np.log(usual)))


def informative_columns(rows: Rows) -> int:
    """Count the columns whose values differ between labels by more than chance would."""
    sums, mass = kernels.accumulate(rows.batch.blocks, rows.hard), rows.hard.sum(axis=0)
    seen = mass > 0
    found = 0
    columns = sum(_width(group.family) for group in rows.schema.groups)
    needed = TELLING_ERRORS + np.sqrt(2.0 * np.log(max(columns, 2)))
    for group in rows.schema.groups:
        part, family = sums[seen][:, group.span], group.family
        if isinstance(family, Gaussian):
            whole, pooled = family.variance(part)
            flat = pooled <= 1e-12 * np.maximum(whole, 1e-300)
            ratio = np.where(flat, np.where(whole > 0, 1e3, 1.0), whole / np.where(flat, 1, pooled))
            gain = mass.sum() * np.log(np.maximum(ratio, 1.0))
            free = np.full(len(gain), seen.sum() - 1.0)
        else:
            own, degrees = _likelihood_ratio(part, mass[seen])
            gain = np.bincount(family.owner, own)
            free = np.bincount(family.owner, degrees)
        beyond = (gain - free) / np.sqrt(2.0 * np.maximum(free, 1.0))
        found += int(np.sum(beyond > needed))
    return found


def _width(family: Any) -> int:
    return int(family.owner.max(initial=-1)) + 1


def _likelihood_ratio(sums: Array, mass: Array) -> tuple[Array, Array]:
    """Compute ``2 sum_k c_k log(c_k / expected_k)`` and the degrees of freedom of each cell."""
    expected = np.outer(mass / mass.sum(), sums.sum(axis=0))
    ratio = np.where(sums > 0, sums / np.maximum(expected, 1e-300), 1.0)
    gain = 2.0 * (sums * np.log(ratio)).sum(axis=0)
    varied = (sums.sum(axis=0) > 0) & (sums.sum(axis=0) < mass.sum())
    return gain, np.where(varied, len(mass) - 1.0, 0.0)


def telling_rows(answer: Answer) -> list[int]:
    """Name rows whose true class would settle most between explanations that fit alike.

    ``H(sum_e w_e p_e) - sum_e w_e H(p_e)``, with p_e the row's P(true | x, y) under explanation e;
    where there is one only, the rows that it is least sure of. A draw, always the same one, spreads
    them over all that is open.
    """
    rows, shares = answer.rows, []
    for one in answer.explanations:
        joint = softmax(one.logits())[0] * rows.seen_through(one.point.channel)
        shares.append(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))
    table = np.stack(shares)
    mean = np.tensordot(answer.weights, table, 1)
    told = _entropy(mean)
    if len(shares) > 1:
        apart = told - np.tensordot(answer.weights, _entropy(table), 1)
        told = apart if apart.max() > 100 * LEAST_TOLD else told
    open_rows = np.flatnonzero((rows.label >= 0) & (rows.known < 0) & (told > LEAST_TOLD))
    luck = np.random.default_rng(0).exponential(size=len(told))[open_rows]
    order = open_rows[np.argsort(luck / told[open_rows], kind="stable")]
    return [int(place) for place in order[:MOST_ASKED]]


def _entropy(share: Array) -> Array:
    return np.asarray(-(share * np.log(np.maximum(share, 1e-12))).sum(axis=-1))
