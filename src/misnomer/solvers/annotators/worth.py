"""What annotators are worth, whom to ask next, who agrees too often, and whether groups differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import beta, norm

from misnomer.answers import Answers
from misnomer.kernels.reference import softmax
from misnomer.solvers.annotators import left_out
from misnomer.solvers.annotators.fit import SourcesFit

Array = NDArray[np.float64]
Ints = NDArray[np.integer]
_VIRTUAL_ANSWERS = 2.0  # virtual answers in an accuracy's interval
_CELLS_AT_ONCE = 1 << 22  # numbers held at a time while looking for the next question


def accuracies(prior: Array, channels: Array) -> Array:
    """Average ``channel_a[z, z]`` over the classes: P(an answer is right), (A,).

    Examples
    --------
    >>> accuracies(np.array([0.5, 0.5]), np.array([[[0.9, 0.3], [0.1, 0.7]]])).tolist()
    [0.8]
    """
    return np.einsum("akk,k->a", channels, prior)


def bits(prior: Array, channels: Array) -> Array:
    """Compute what one answer tells about the true class, in bits, (A,).

    ``sum_z prior[z] sum_y channel[y, z] log2(channel[y, z] / P(y))``: 0 for who does not look.

    Examples
    --------
    >>> sure, blind = np.eye(2), np.full((2, 2), 0.5)
    >>> bits(np.array([0.5, 0.5]), np.stack([sure, blind])).tolist()
    [1.0, 0.0]
    """
    said = np.einsum("alk,k->al", channels, prior)[:, :, None]
    ratio = np.where(channels > 0, channels, 1.0) / np.where(channels > 0, said, 1.0)
    gained = np.einsum("alk,k->a", channels * np.log2(ratio), prior)
    return np.maximum(gained, 0.0)


def accuracy_intervals(
    answers: Answers, fit: SourcesFit, confidence: float = 0.9
) -> tuple[Array, Array]:
    """Bracket each annotator's accuracy, knowing that the true classes are only known in part.

    An answer whose row is settled without it counts as one observation of the accuracy; one
    whose row is open counts for less, by the information ``(d log chance / d accuracy)^2``.
    """
    level = accuracies(fit.prior, fit.channels).clip(1e-6, 1 - 1e-6)
    right, chance = left_out(answers, fit.total, fit.channels)
    who, said = answers.annotator, answers.label
    hit = right * fit.channels[who, said, said]
    slope = hit / level[who] - (chance - hit) / (1.0 - level[who])
    gained = np.bincount(who, (slope / chance) ** 2, minlength=answers.n_annotators)
    seen = np.minimum(gained * level * (1.0 - level), answers.given) + _VIRTUAL_ANSWERS
    tail = (1.0 - confidence) / 2
    low = beta.ppf(tail, level * seen, (1.0 - level) * seen)
    high = beta.ppf(1.0 - tail, level * seen, (1.0 - level) * seen)
    return np.minimum(low, level), np.maximum(high, level)


def typical_confusions(prior: Array, channels: Array) -> tuple[NDArray[np.intp], Array]:
    """Find each annotator's most frequent error: (given, true), (A, 2), and P(given | true)."""
    A, L, K = channels.shape
    joint = channels * prior
    joint = np.where(np.eye(L, K, dtype=bool), -1.0, joint)
    place = joint.reshape(A, -1).argmax(axis=1)
    pair = np.stack([place // K, place % K], axis=1)
    return pair, channels.reshape(A, -1)[np.arange(A), place]


def entropy(share: Array) -> Array:
    """Compute the entropy of the last axis in bits."""
    return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=-1)


def gains(share: Array, channels: Array) -> Array:
    """Compute what asking annotator a about row i would tell, in bits, (m, A).

    ``H(sum_z share[i, z] channel_a[:, z]) - sum_z share[i, z] H(channel_a[:, z])``.

    Examples
    --------
    >>> gains(np.array([[0.5, 0.5], [1.0, 0.0]]), np.eye(2)[None]).tolist()
    [[1.0], [0.0]]
    """
    said = np.einsum("mk,alk->mal", share, channels, optimize=True)
    noise = entropy(np.swapaxes(channels, 1, 2))  # (A, K)
    return np.maximum(entropy(said) - share @ noise.T, 0.0)


@dataclass(frozen=True)
class Question:
    """Ask ``annotator`` about ``row``: it should tell ``bits``."""

    row: int
    annotator: object
    bits: float


def ask_next(
    answers: Answers, fit: SourcesFit, n: int, *, each: int | None = None
) -> list[Question]:
    """List the n rows, and the annotator for each, whose answer should tell most.

    Looked for among the most uncertain rows (ten for each question, at least 1000): no answer
    can tell more than its row's entropy. Who has answered a row is not asked again; with
    ``each`` nobody gets more questions than that.
    """
    order = np.argsort(-entropy(fit.share), kind="stable")[: max(10 * n, 1000)]
    # At most n / each annotators can be used up, so a row needs one more candidate than that.
    depth = min(answers.n_annotators, 1 if each is None else n // max(each, 1) + 1)
    width = max(1, _CELLS_AT_ONCE // max(1, answers.n_annotators * answers.n_labels))
    parts = [
        _candidates(answers, fit, order[at : at + width], depth)
        for at in range(0, len(order), width)
    ]
    gained, rows, who = (np.concatenate(part) for part in zip(*parts, strict=True))
    left = np.full(answers.n_annotators, n if each is None else each)
    used: set[int] = set()
    found: list[Question] = []
    for j in np.argsort(-gained, kind="stable"):
        row, name = int(rows[j]), int(who[j])
        if len(found) == n or gained[j] <= 0:
            break
        if row not in used and left[name] > 0:
            used.add(row)
            left[name] -= 1
            found.append(Question(row, answers.annotators[name], float(gained[j])))
    return found


def _candidates(
    answers: Answers, fit: SourcesFit, rows: NDArray[np.intp], depth: int
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """List the ``depth`` most telling annotators of some rows: bits, row, annotator."""
    gain = gains(fit.share[rows], fit.channels)
    starts = np.searchsorted(answers.row, np.stack([rows, rows + 1]))
    for m, (start, stop) in enumerate(starts.T):
        gain[m, answers.annotator[start:stop]] = -1.0
    who = np.argpartition(-gain, depth - 1, axis=1)[:, :depth]
    gained = np.take_along_axis(gain, who, axis=1)
    return gained.ravel(), np.repeat(rows, depth), who.ravel()


_ROWS_AT_ONCE = 1 << 14
_MIN_SHARED_ROWS = 10  # rows that a pair must share to be judged


@dataclass(frozen=True)
class Pair:
    """Two annotators, their shared rows, and how often they agree there.

    Attributes
    ----------
    first, second : object
        The annotators' names.
    shared, agreed : int
        Rows that both answered, and rows where they said the same.
    expected : float
        Agreements that the model expects, from what the others say about those rows.
    surprise : float
        Standard errors beyond that.
    """

    first: object
    second: object
    shared: int
    agreed: int
    expected: float
    surprise: float


def colluding(answers: Answers, fit: SourcesFit, *, level: float = 0.05) -> list[Pair]:
    """List the pairs that agree more than expected, the most surprising first.

    Their agreement is expected from the rows' posterior without either of them,
    ``sum_z rest[z] sum_y channel_a[y, z] channel_b[y, z]``. ``level`` is the chance of naming
    any pair where nobody colludes (shared out over all pairs that share enough rows).
    """
    first, second = shared_rows(answers)
    if not len(first):
        return []
    agreed = (answers.label[first] == answers.label[second]).astype(np.float64)
    expected = _expected(answers, fit, first, second)
    key = answers.annotator[first].astype(np.int64) * answers.n_annotators
    pairs, place = np.unique(key + answers.annotator[second], return_inverse=True)
    shared = np.bincount(place)
    seen, mean = np.bincount(place, agreed), np.bincount(place, expected)
    spread = np.bincount(place, expected * (1.0 - expected))
    # A channel is known from its answers only: the pair's own rows helped to estimate it.
    surprise = (seen - mean - 0.5) / np.sqrt(spread + 1e-9)
    judged = shared >= _MIN_SHARED_ROWS
    limit = norm.isf(level / max(1, int(judged.sum())))
    found = np.flatnonzero(judged & (surprise > limit))
    names = answers.annotators
    return [
        Pair(
            names[pairs[j] // len(names)], names[pairs[j] % len(names)],
            int(shared[j]), int(seen[j]), float(mean[j]), float(surprise[j]),
        )
        for j in found[np.argsort(-surprise[found])]
    ]  # fmt: skip


def shared_rows(answers: Answers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """List all pairs of answers about the same row, the smaller annotator first."""
    firsts, seconds = [], []
    for lag in range(1, int(answers.asked.max(initial=0))):
        at = np.flatnonzero(answers.row[lag:] == answers.row[:-lag])
        firsts.append(at)
        seconds.append(at + lag)
    if not firsts:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    return np.concatenate(firsts), np.concatenate(seconds)


def _expected(
    answers: Answers, fit: SourcesFit, first: NDArray[np.intp], second: NDArray[np.intp]
) -> Array:
    """Compute P(both say the same) for each pair of answers, from the row without them."""
    out = np.empty(len(first))
    for at in range(0, len(first), _ROWS_AT_ONCE):
        j, k = first[at : at + _ROWS_AT_ONCE], second[at : at + _ROWS_AT_ONCE]
        one, two = fit.channels[answers.annotator[j]], fit.channels[answers.annotator[k]]
        place = np.arange(len(j))
        own = np.log(one[place, answers.label[j]]) + np.log(two[place, answers.label[k]])
        rest = softmax(fit.total[answers.row[j]] - own)[0]
        out[at : at + _ROWS_AT_ONCE] = np.einsum("jz,jyz,jyz->j", rest, one, two)
    return out.clip(0.0, 1.0)


_MAX_STEPS = 200  # of EM at most, for each of the two explanations
_MIN_GAIN_NATS = 0.01  # nats: a smaller gain ends the search
_VIRTUAL_ROWS = 0.5  # virtual rows per cell: neither explanation may call a cell impossible
_MAX_ROWS = 20_000  # more are not needed to see a difference that matters


@dataclass(frozen=True)
class GroupTest:
    """Whether one channel explains all groups.

    Attributes
    ----------
    statistic : float
        Twice the log likelihood that a channel per group gains over one for all.
    p_value : float
        How often data without any difference gain as much.
    draws : int
        How many such data were drawn.
    """

    statistic: float
    p_value: float
    draws: int

    def __str__(self) -> str:
        """Say it in a sentence."""
        verdict = "differ" if self.p_value <= 0.05 else "are not shown to differ"
        return f"The groups' errors {verdict} (p = {self.p_value:.3f}, {self.draws} draws)."


def groups_differ(
    answers: Answers, fit: SourcesFit, *, draws: int = 99, seed: int = 0
) -> GroupTest:
    """Compare one channel per group with one for all, by a parametric bootstrap.

    The columns' posterior of each row is held fixed; rows without one are left out.
    """
    one = np.flatnonzero(answers.asked[answers.row] == 1)
    row, group, label = answers.row[one], answers.annotator[one], answers.label[one]
    scores = np.zeros((len(row), len(fit.prior))) if fit.scores is None else fit.scores[row]
    known = np.isfinite(scores[:, 0])
    scores, group, label = scores[known], group[known], label[known]
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    size = (answers.n_annotators, answers.n_labels)
    return compared(likely, group, label, size, draws=draws, seed=seed)


def compared(
    likely: Array, group: Ints, label: Ints, size: tuple[int, int], *, draws: int, seed: int
) -> GroupTest:
    """Compare one channel per group with one for all, given what the columns say of each row.

    Each group keeps class shares of its own in both explanations, so that groups with other classes
    are not taken for groups with other errors. The null: labels drawn anew from the explanation
    with one channel.

    Parameters
    ----------
    likely : (n, K) array
        P(x | true), each row up to a factor.
    group, label : (n,) arrays of int
        Of G groups and L labels, ``size``.
    draws, seed : int
        How many labels are drawn anew, and how.
    """
    rng = np.random.default_rng(seed)
    if len(label) > _MAX_ROWS:
        some = np.sort(rng.choice(len(label), _MAX_ROWS, replace=False))
        likely, group, label = likely[some], group[some], label[some]
    G, L = size
    gain, shares, pooled = _gain(likely, group, label, G, L, None)
    steps = (shares[group] * likely) @ pooled[0].T
    steps = (steps / steps.sum(axis=1, keepdims=True)).cumsum(axis=1)
    above = 0
    for _ in range(draws):
        drawn = (rng.random((len(label), 1)) > steps).sum(axis=1).clip(max=L - 1)
        above += _gain(likely, group, drawn, G, L, (shares, pooled))[0] >= gain
    return GroupTest(gain, (1 + above) / (1 + draws), draws)


def _gain(
    likely: Array, group: Ints, label: Ints, G: int, L: int, start: tuple[Array, Array] | None
) -> tuple[float, Array, Array]:
    """Fit both explanations; return twice the gain, and class shares and channel of the null."""
    one = np.zeros_like(group)
    if start is None:
        K = likely.shape[1]
        start = np.full((G, K), 1.0 / K), 0.7 * np.eye(L, K)[None] + 0.3 / L
    low, shares, pooled = _explain(likely, group, one * L + label, L, start)
    each = (shares, np.tile(pooled, (G, 1, 1)))
    high = _explain(likely, group, group * L + label, L, each)[0]
    return 2.0 * (high - low), shares, pooled


def _explain(
    likely: Array, group: Ints, code: Ints, L: int, start: tuple[Array, Array]
) -> tuple[float, Array, Array]:
    """Find class shares per group (G, K) and channels per source (S, L, K) by EM."""
    shares, channels = start
    S, _, K = channels.shape
    by_group, by_code = _indicator(group, len(shares)), _indicator(code, S * L)
    height = -np.inf
    for _ in range(_MAX_STEPS):
        joint = shares[group] * likely * channels.reshape(-1, K)[code]
        total = joint.sum(axis=1, keepdims=True)
        before, height = height, float(np.log(total).sum())
        if height - before < _MIN_GAIN_NATS:
            break
        post = joint / total
        counts = (by_code @ post).reshape(S, L, K) + _VIRTUAL_ROWS / S
        channels = counts / counts.sum(axis=1, keepdims=True)
        mass = by_group @ post + _VIRTUAL_ROWS
        shares = mass / mass.sum(axis=1, keepdims=True)
    return height, shares, channels


def _indicator(code: Ints, size: int) -> sparse.csc_array:
    """Ones at (code, row), (size, n): a product with it adds the rows of each code."""
    n = len(code)
    return sparse.csc_array((np.ones(n), code, np.arange(n + 1)), shape=(size, n))
