"""How well a mixture of learners explains the given labels, and what is believed beforehand.

    q(z | x) = softmax( B (sum_j w_j S_j(x) + a) )         P(y | x) = sum_z C[y, z] q(z | x)

S_j are scores of rows that had no part in them, in units of their own root mean square; w are
shares, B the temper, a the shift. A row whose true class k somebody has told counts as
``q(k | x) C[y, k]``. Beliefs, in nats: log B about what naive Bayes claims for itself, tempered as
dependent columns ask for; a about zero; w with no learner left out for sure; the columns of C about
one error rate for all classes, spread evenly; class shares about those that naive Bayes predicts.

Labels whose errors follow the columns agree with each other, and thousands of them would outvote
fifty rows that somebody has checked. So a label may count for less than a row that was drawn by
chance and checked (``label_worth``); how much less, the checked rows themselves decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from misnomer import kernels
from misnomer.learners.learner import Scored, over_classes
from misnomer.learners.rows import Rows
from misnomer.solvers.lbfgs import minimise

Array = NDArray[np.float64]

LEAST = 1e-300
LEAST_CURVATURE = 0.1  # of an entry that hardly matters: it is not moved without end
FLAT_SLOPE = 1e-4  # of all entries, in usual steps, where a search ends
FARTHEST_LOG = 6.0  # a trial step of log B goes no farther from its mean
LEG_STEPS = 20  # after which a search measures anew what a usual step is


@dataclass(frozen=True)
class Beliefs:
    """What is believed before the labels are seen.

    Attributes
    ----------
    temper, temper_spread : float
        Of naive Bayes' scores: typical factor, and standard deviation of its logarithm.
    together : float
        What B is at least believed to be where columns are seen together.
    certain : float
        What B is at most believed to be: columns that repeat each other claim any certainty.
    share_count : float or (J,) array
        Dirichlet count of each learner's share w.
    shift_spread : float
        Standard deviation of the shift a, in units of the scores.
    anchor_rows : float
        Virtual rows a class that have the class shares which naive Bayes predicts.
    rate_count : float
        Virtual right labels behind the typical error rate: Beta(1, 1 + count).
    """

    temper: float = 0.4
    temper_spread: float = 0.5
    together: float = 1.5
    certain: float = 8.0
    share_count: float | Array = 0.1
    shift_spread: float = 2.0
    anchor_rows: float = 15.0
    rate_count: float = 8.0


BELIEFS = Beliefs()

#: Typical error rates and the number of virtual rows that say so: chosen by the labels' likelihood.
RATES = (0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
RATE_ROWS = (20.0, 50.0, 100.0)


@dataclass(frozen=True)
class Typical:
    """The typical error rate of a class, and how many virtual rows say so."""

    rate: float = 0.1
    rows: float = 20.0

    def counts(self, labels: int, classes: int) -> Array:
        """Spread the virtual rows of each class over the labels, (L, K)."""
        right = np.eye(labels, classes)
        wrong = self.rate / max(labels - 1, 1)
        return np.asarray(self.rows * np.where(right > 0, 1.0 - self.rate, wrong))


@dataclass(frozen=True, eq=False)
class Point:
    """The parameters by name."""

    log_temper: float
    shares: Array  # (J,)
    shift: Array  # (K,)
    channel: Array  # (L, K)

    @property
    def temper(self) -> float:
        """The temper B."""
        return float(np.exp(self.log_temper))


@dataclass(frozen=True, eq=False)
class Judgement:
    """Rows judged: P(true | x), P(true | x, what is said), P(what is said | x)."""

    share: Array  # (n, K)
    posterior: Array  # (n, K)
    chance: Array  # (n,)


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, scores and beliefs: a vector of parameters has a value and a gradient.

    Attributes
    ----------
    rows : Rows
        The rows.
    scored : sequence of Scored
        The learners' scores.
    anchor : (K,) array
        Class shares that naive Bayes predicts.
    own : int
        The learner whose scale says how far classes are apart: naive Bayes.
    beliefs : Beliefs
        What is believed beforehand.
    label_worth : float
        What a row counts that nobody has drawn and checked.
    mean_shift : float or (K,) array
        What the shift is believed to be about.
    apart : float, optional
        The logarithm of what B is believed to be, where more is known than this problem's scores.
    """

    rows: Rows
    scored: Sequence[Scored]
    anchor: Array
    own: int = 0
    beliefs: Beliefs = BELIEFS
    label_worth: float = 1.0
    mean_shift: Array | float = 0.0
    apart: float | None = None

    @cached_property
    def units(self) -> Array:
        """Root mean square of each learner's scores, (J,)."""
        weight = self.rows.weight / self.rows.weight.sum()
        square = [float(weight @ np.mean(one.scores**2, axis=1)) for one in self.scored]
        return np.maximum(np.sqrt(np.array(square)), 1e-9)

    @property
    def virtual(self) -> Array:
        """The virtual rows of each class that hold the class shares, (K,)."""
        return self.beliefs.anchor_rows * self.rows.classes * self.anchor

    @property
    def size(self) -> tuple[int, int]:
        """How many learners and classes there are."""
        return len(self.scored), self.rows.classes

    @cached_property
    def mean_log_temper(self) -> float:
        """The logarithm of what B should be, if naive Bayes is as wrong as usual.

        It says how far classes are apart if columns act one by one; who sees them together may
        know better.
        """
        if self.apart is not None:
            return self.apart
        claimed = self.beliefs.temper * float(self.units[self.own])
        if any(one.together for one in self.scored):
            claimed = max(claimed, self.beliefs.together)
        return float(np.log(min(claimed, self.beliefs.certain)))

    def temper_cost(self, point: Point) -> float:
        """Say the cost of a temper that is not the one believed."""
        away = (point.log_temper - self.mean_log_temper) / self.beliefs.temper_spread
        return 0.5 * away**2

    def read(self, vector: Array) -> Point:
        """Name the entries: log B, logits of w (J), a (K), logits of the columns of C (K, K)."""
        J, K = self.size
        center = self.mean_log_temper
        log_temper = float(np.clip(vector[0], center - FARTHEST_LOG, center + FARTHEST_LOG))
        shares = kernels.softmax(vector[None, 1 : 1 + J])[0][0]
        logits = vector[1 + J + K :].reshape(K, K)
        channel = np.ascontiguousarray(kernels.softmax(logits.T)[0].T)
        return Point(log_temper, shares, vector[1 + J : 1 + J + K], channel)

    def write(self, channel: Array, point: Point | None = None) -> Array:
        """Start at a channel, with all learners alike, or where another point is."""
        J, K = self.size
        logits = np.log(np.maximum(channel, 1e-4)).ravel()
        if point is None:
            return np.concatenate([[self.mean_log_temper], np.zeros(J + K), logits])
        shares = np.log(np.maximum(point.shares, 1e-6))
        return np.concatenate([[point.log_temper], shares, point.shift, logits])

    @cached_property
    def _said(self) -> tuple[Array, NDArray[np.intp], Array | None, Array]:
        """Scores in their units, (J, n, K), labels, what else is said, weights of informed rows."""
        at = self.rows.informed
        pairs = zip(self.scored, self.units, strict=True)
        stack = np.stack([one.scores[at] / unit for one, unit in pairs])
        return stack, self.rows.label[at], self._besides(at), self.row_worth[at]

    @cached_property
    def _codes(self) -> tuple[NDArray[np.int32], Array]:
        """The line of each informed row: its label, or one beyond; its weight in class shares."""
        label = self._said[1]
        codes = np.where(label < 0, self.size[1], label).astype(np.int32)
        return codes, self.rows.weight[self.rows.informed]

    @cached_property
    def row_worth(self) -> Array:
        """What each row counts, (n,): drawn and checked rows by their design, others as labels."""
        rows = self.rows
        if self.label_worth == 1.0 or rows.design is None:
            return rows.weight
        drawn = rows.design > 0
        relative = rows.design / max(float(rows.design[drawn].mean()), LEAST)
        return np.asarray(rows.weight * np.where(drawn, relative, self.label_worth))

    def _besides(self, at: NDArray[np.intp]) -> Array | None:
        """What is said of rows beside their labels, (n, K); None where that is nothing."""
        rows = self.rows
        if rows.evidence is None and not (rows.known >= 0).any():
            return None
        return rows.seen_through(np.ones((rows.classes, rows.classes)))[at]

    def logits(self, point: Point) -> Array:
        """Compute B (sum_j w_j S_j + a) of the rows of which something is said, (n, K)."""
        mixed = np.asarray(np.tensordot(point.temper * point.shares, self._said[0], axes=1))
        mixed += point.temper * point.shift
        return mixed

    def judge(self, logits: Array, channel: Array) -> Judgement:
        """Weigh the classes of each row by what is said of it."""
        share = kernels.softmax(logits)[0]
        _, label, besides, _ = self._said
        joint = channel[label]
        joint[label < 0] = 1.0
        joint *= share
        if besides is not None:
            joint *= besides
        chance = np.maximum(over_classes(joint), LEAST)
        joint /= chance[:, None]
        return Judgement(share, joint, chance)

    def joint(self, posterior: Array) -> Array:
        """Add up the weight of (given, true) over the labeled rows, (K, K)."""
        return np.asarray(self._by_label @ posterior)

    @cached_property
    def _by_label(self) -> sparse.csr_array:
        """The weight of each row in the line of its label, (K, n): adds rows up by label."""
        _, label, _, weight = self._said
        at = np.flatnonzero(label >= 0)
        return sparse.csr_array((weight[at], (label[at], at)), shape=(self.size[1], len(label)))

    def leg(self, vector: Array, typical: Typical) -> tuple[Array, Array]:
        """Say where a leg of a search begins, and what a usual step is in each entry, (P,) each.

        It begins with the channel that rows say as they are shared out: a step of EM, never worse.
        A usual step is one over the root of the curvature, as that would be if the true classes
        were known.
        """
        point, weight = self.read(vector), self._said[3]
        logits = self.logits(point)
        judged = self.judge(logits, point.channel)
        share = judged.share

        def spread(scores: Array) -> float:
            mean = np.einsum("ik,ik->i", share, scores)
            return float(weight @ (np.einsum("ik,ik,ik->i", share, scores, scores) - mean**2))

        by_temper = spread(logits) + self.beliefs.temper_spread**-2
        factors = point.temper * point.shares * (1.0 - point.shares)
        pairs = zip(factors, self._said[0], strict=True)
        by_share = [factor**2 * spread(scores) for factor, scores in pairs]
        by_shift = point.temper**2 * (weight @ (share * (1.0 - share)))
        by_shift += self.beliefs.shift_spread**-2
        joint = self.joint(judged.posterior) + typical.counts(*point.channel.shape)
        channel = joint / joint.sum(axis=0)
        by_channel = joint * (1.0 - channel)
        curvature = np.concatenate([[by_temper], by_share, by_shift, by_channel.ravel()])
        begin = np.concatenate([vector[: -channel.size], np.log(channel).ravel()])
        return begin, 1.0 / np.sqrt(np.maximum(curvature, LEAST_CURVATURE))

    def minimum(
        self, start: Array, typical: Typical, *, max_iter: int, tol: float
    ) -> tuple[Array, float, bool]:
        """Search from a start in legs, each entry in steps of its own size.

        A leg begins where the channel is that of the rows as they are shared out: what it says of
        many pairs of classes, no search need find step by step.

        Returns
        -------
        vector : (P,) array
            Where the search ended.
        value : float
            The negative log posterior there.
        converged : bool
            Whether it ended by itself.
        """
        vector, left, converged = start, max_iter, False
        while left > 0 and not converged:
            vector, pace = self.leg(vector, typical)

            def scaled(at: Array, pace: Array = pace) -> tuple[float, Array]:
                value, slope = self(at * pace, typical)
                return value, slope * pace

            steps = min(left, LEG_STEPS)
            end, value, converged = minimise(
                scaled, vector / pace, max_iter=steps, tol=tol, slope=FLAT_SLOPE
            )
            vector, left = end * pace, left - steps
        return vector, value, converged

    def evidence_cost(self, vector: Array, typical: Typical) -> float:
        """Estimate the negative log evidence: the channel is summed over, not only at its best.

        How high a density is at its best says little where it is flat: a channel almost without
        errors has a low one, for it could as well have a tenth of them. After Cheeseman and Stutz
        (1996): ``log p(y) = log p(y | C) - log p(N | C) + log p(N)``, with C the best channel and N
        the counts (given, true) behind it.
        """
        point = self.read(vector)
        joint = self.joint(self.judge(self.logits(point), point.channel).posterior)
        counts = joint + typical.counts(*joint.shape)
        at_best = float((counts * np.log(np.maximum(point.channel, LEAST))).sum())
        chance = counts_chance(joint, typical, self.beliefs)
        return self(vector, typical)[0] + at_best - chance

    def __call__(self, vector: Array, typical: Typical) -> tuple[float, Array]:
        """Compute the negative log posterior and its gradient."""
        point, beliefs = self.read(vector), self.beliefs
        stack, _, besides, weight = self._said
        logits = self.logits(point)
        seen = np.concatenate([point.channel, np.ones((1, self.size[1]))])
        codes, holds = self._codes
        cost, slope, joint = kernels.label_slopes(
            logits,
            seen,
            codes,
            weight,
            besides=besides,
            anchor=self.virtual,
            holds=holds,
            overwrite=True,
        )
        away = (point.log_temper - self.mean_log_temper) / beliefs.temper_spread
        off, counts = point.shift - self.mean_shift, typical.counts(*point.channel.shape)
        value = (
            cost
            + self.temper_cost(point)
            + 0.5 * float(off @ off) / beliefs.shift_spread**2
            - float((beliefs.share_count * np.log(np.maximum(point.shares, 1e-12))).sum())
            - float((counts * np.log(np.maximum(point.channel, LEAST))).sum())
        )
        along = point.temper * np.tensordot(stack, slope, axes=2)
        total = point.temper * slope.sum(axis=0)
        by_temper = float(point.shares @ along + point.shift @ total) + away / beliefs.temper_spread
        by_shift = total + off / beliefs.shift_spread**2
        along -= beliefs.share_count / np.maximum(point.shares, 1e-12)
        by_share = point.shares * (along - point.shares @ along)
        mass = joint[:-1] + counts
        by_channel = point.channel * mass.sum(axis=0) - mass
        return value, np.concatenate([[by_temper], by_share, by_shift, by_channel.ravel()])


def joint_counts(label: NDArray[np.intp], mass: Array) -> Array:
    """Add up the weight of (given, true) over the labeled rows, (K, K).

    Examples
    --------
    >>> joint_counts(np.array([0, 1, -1]), np.array([[0.9, 0.1], [0.2, 0.8], [1, 0]])).tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    at = np.flatnonzero(label >= 0)
    K = mass.shape[1]
    columns = [np.bincount(label[at], mass[at, k], minlength=K) for k in range(K)]
    return np.stack(columns, axis=1)


def typical_rate(joint: Array, beliefs: Beliefs = BELIEFS) -> Typical:
    """Choose the typical error rate that makes the counts (given, true) most likely.

    Examples
    --------
    >>> typical_rate(np.array([[90.0, 10.0], [10.0, 90.0]])).rate
    0.1
    """
    found = [Typical(rate, rows) for rows in RATE_ROWS for rate in RATES]
    return max(found, key=lambda one: counts_chance(joint, one, beliefs))


def counts_chance(joint: Array, typical: Typical, beliefs: Beliefs = BELIEFS) -> float:
    """Compute the log chance of counts (given, true) whatever the channel, and of the rate itself.

    Dirichlet-multinomial, a column for each class; ``beliefs.rate_count`` labels were right.

    Examples
    --------
    >>> round(counts_chance(np.array([[3.0, 0.0], [0.0, 2.0]]), Typical(0.1, 20.0)), 2)
    -1.35
    """
    counts = typical.counts(*joint.shape)
    cells = gammaln(joint + counts).sum() - gammaln(joint.sum(axis=0) + typical.rows).sum()
    column = gammaln(typical.rows) - gammaln(counts[:, 0]).sum()  # columns have the same counts
    return float(cells + joint.shape[1] * column) + beliefs.rate_count * float(
        np.log1p(-typical.rate)
    )
