"""Explanations of the labels: learners fitted behind a channel, and the head that mixes them.

An explanation starts at an error rate. Its learners are fitted through the channel of that rate,
the head mixes their scores and finds a channel of its own, and the learners are fitted once more
through that. Few rows are explained from several rates, so that a second explanation is not
overlooked; with many rows all starts end in one place, and naive Bayes finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.head.checked import (
    beside_labels,
    checked_joint,
    is_drawn,
    label_worths,
    without_folds,
)
from misnomer.head.explanation import (
    Explanation,
    agreed,
    chance_of,
    heard,
    is_told_by_others,
    speaks_for_own,
    stratified_chance,
    tempered,
)
from misnomer.head.objective import (
    BELIEFS,
    LEG_STEPS,
    Beliefs,
    Problem,
    Typical,
    typical_rate,
)
from misnomer.kernels import softmax
from misnomer.learners.brought import Brought, Unmixed, confident_channel
from misnomer.learners.kernel import Kernel, suits
from misnomer.learners.learner import CLEAR_ERRORS, LEAST_CHANCE, Learner, Scored, View
from misnomer.learners.naive_bayes import (
    NaiveBayes,
    RareWords,
    SharedNaiveBayes,
    with_few_cells,
)
from misnomer.learners.rows import Rows
from misnomer.learners.trees import Forest

Array = NDArray[np.float64]

START_RATES, START_ROWS = (0.02, 0.2, 0.4), 50.0  # and virtual rows that hold each class there
SEARCHED_ROWS = 2000  # up to which every start has learners of its own
CHOSEN_RATES = 4  # times that the typical rate is chosen anew
MOVED_CHANNEL = 0.02  # a channel that moved less does not ask for another fit
LEAST_TEMPER = 0.05
HELD_FACTOR, MOST_HELD = 3.0, 1e5  # by which classes are held together, and how far at the most
MEANINGLESS = 0.9  # of the error rate at which a label says nothing: no typical rate goes beyond


@dataclass(frozen=True, eq=False)
class Start:
    """Where a search begins: a channel, and the typical error rate that is believed."""

    channel: Array
    typical: Typical


@dataclass(frozen=True)
class Ground:
    """Who is always asked, and says how far classes are apart.

    Attributes
    ----------
    plain : Learner
        Fitted to the labels as they are.
    behind : Learner
        The same behind a channel; its scale is that of the temper.
    of_labels : bool
        Whether it tells probabilities of the given labels. How well a channel explains the labels
        then says little of that channel, for the probabilities do without one: the search starts
        at the channel of the rows that they are sure of, and class shares are those behind it.
    rare : sequence of Learner
        The two once more, where they may believe rare words more.
    """

    plain: Learner
    behind: Learner
    of_labels: bool = False
    rare: tuple[Learner, ...] = ()


NAIVE_BAYES = Ground(
    NaiveBayes(),
    SharedNaiveBayes(),
    rare=(RareWords(NaiveBayes()), RareWords(SharedNaiveBayes())),
)
BROUGHT = Ground(Brought(), Unmixed(), of_labels=True)


@dataclass(frozen=True)
class Search:
    """Finds explanations.

    Attributes
    ----------
    through : sequence of Learner
        Who is fitted through the channel of each start.
    once : sequence of Learner
        Who is fitted once, to the labels as they are.
    beliefs : Beliefs
        What is believed beforehand.
    max_iter, tol : int, float
        Steps of every search, and the gain per nat under which it ends.
    progress : callable, optional
        Told the objective after each explanation.
    ground : Ground
        Who is always asked: naive Bayes, or what the rows bring.
    memory : dict, optional
        Where an earlier search of the same rows from the same start ended.
    """

    through: Sequence[Learner] = ()
    once: Sequence[Learner] = ()
    beliefs: Beliefs = BELIEFS
    max_iter: int = 200
    tol: float = 1e-6
    progress: Callable[[float], None] | None = field(default=None, compare=False)
    ground: Ground = NAIVE_BAYES
    memory: dict[Any, Array] | None = field(default=None, compare=False)

    def __call__(self, rows: Rows) -> list[Explanation]:
        """Explain the labels, from every start."""
        K = rows.classes
        plain = View(np.eye(K), self.beliefs.temper)
        first = self.ground.plain.cross_fit(rows, plain)
        problem = Problem(rows, first, self._anchor(rows, first[0]), 0, self.beliefs)
        starts = self._starts(problem)
        if rows.evidence is not None:
            starts = starts[:1]  # what is said comes with channels of its own
        best = self.best_climb(problem, starts)
        seen = rows.seen_through(best.point.channel)
        plain = replace(plain, chance=chance_of(best), seen=seen)
        once = (*self.ground.rare[:1], *self.once)
        fixed = distinct([one for who in once for one in who.cross_fit(rows, plain)])
        if self._learns_errors(problem, fixed, plain, starts, best):
            fixed = [one for one in fixed if not isinstance(one.scorer, Forest)]
            through = [one for one in self.through if not isinstance(one, Kernel)]
            return replace(self, through=through)._all(problem, fixed, plain, starts, best)
        return self._all(problem, fixed, plain, starts, best)

    def _all(
        self,
        problem: Problem,
        fixed: list[Scored],
        plain: View,
        starts: list[Start],
        best: Explanation,
    ) -> list[Explanation]:
        """Explain the labels from every start, or where rows are many from the best."""
        if len(problem.rows) <= SEARCHED_ROWS or self.ground.of_labels:
            found = agreed([self._explained(problem, fixed, plain, [start]) for start in starts])
        else:
            known = Start(best.point.channel, best.typical)
            found = [self._explained(problem, fixed, plain, [starts[0], known])]
        if is_drawn(problem.rows):
            return self._with_checks(found, plain)
        return found

    def _with_checks(self, found: list[Explanation], view: View) -> list[Explanation]:
        """Explain the labels as worth less, too, and let the checked rows judge.

        Beside the learners of the best explanation, those fitted through the channel that the
        checked rows tell are asked, naive Bayes also with few virtual examples.
        """
        best = min(found, key=lambda one: one.cost)
        rows, joint = best.problem.rows, checked_joint(best.problem.rows)
        start = Start(joint / np.maximum(joint.sum(axis=0), 1e-300), typical_rate(joint))
        view = replace(view, channel=start.channel)
        asked = (self.ground.behind, *self.through)
        more = [one for who in asked for one in who.cross_fit(rows, view)]
        more += with_few_cells(self.ground.behind, rows, view)
        scored, worths = distinct([*best.problem.scored, *more]), label_worths(rows)
        problems = [beside_labels(best.problem, best.point, scored, worth) for worth in worths]
        less = [self.best_climb(problem, [start]) for problem in problems]
        among = float(np.log(len(less)))  # one idea in several sizes: together as likely as labels
        plain = tempered(best)
        return [
            replace(plain, surprise=self._surprise(plain)),
            *(replace(one, surprise=self._surprise(one) + among) for one in less),
        ]

    def _surprise(self, one: Explanation) -> float:
        """Foretell the classes of checked rows by heads that do not know them."""
        total, vector = 0.0, one.problem.write(one.point.channel, one.point)
        for problem, places in without_folds(one.problem):
            if problem.label_worth == 1.0:  # labels have said it all but how sure they are
                fresh = tempered(replace(one, problem=problem))
            else:
                fresh = self.climb(problem, vector, one.typical)
            share = softmax(fresh.logits()[places])[0]
            chance = share[np.arange(len(places)), one.problem.rows.known[places]]
            total -= float(np.log(np.maximum(chance, LEAST_CHANCE)).sum())
        return total

    def _starts(self, problem: Problem) -> list[Start]:
        """Choose where to begin: several rates; of probabilities, the channel they are sure of."""
        rows = problem.rows
        if not self.ground.of_labels:
            return [
                Start(even(rows.classes, rate), Typical(rate, START_ROWS)) for rate in START_RATES
            ]
        share = softmax(problem.scored[0].scores)[0]
        channel = confident_channel(share, rows.label, rows.weight)
        mass = channel * problem.anchor * rows.weight.sum()
        return [Start(channel, typical_rate(mass, self.beliefs))]

    def _anchor(self, rows: Rows, one: Scored) -> Array:
        """Compute the class shares that a learner predicts, tempered as usual, (K,)."""
        claimed = softmax(self.beliefs.temper * one.scores)[0]
        return np.asarray(rows.weight @ claimed / rows.weight.sum())

    def _explained(
        self,
        plain: Problem,
        fixed: list[Scored],
        view: View,
        starts: list[Start],
    ) -> Explanation:
        """Fit learners through the first start's channel, then through what the head makes of it.

        Several starts share the learners: the head climbs from each of them.
        """
        memory = {} if self.memory is None else self.memory
        view = replace(view, channel=starts[0].channel, memory=memory, anchor=plain.virtual)
        for _ in range(2):
            scored = [*plain.scored, *self.ground.behind.cross_fit(plain.rows, view)]
            for learner in (*self.ground.rare[1:], *self.through):
                scored += learner.cross_fit(plain.rows, view)
            problem = replace(plain, scored=[*scored, *fixed], own=1)
            if self.ground.of_labels:
                problem = replace(problem, anchor=self._anchor(plain.rows, scored[1]))
            found = self.best_climb(problem, starts)
            if float(np.abs(found.point.channel - view.channel).max()) < MOVED_CHANNEL:
                break
            temper = float(np.clip(found.point.temper / problem.units[1], LEAST_TEMPER, 1.0))
            view = replace(view, channel=found.point.channel, temper=temper)
            starts = [Start(found.point.channel, found.typical)]
        found = heard(found)
        if self.progress is not None:
            self.progress(-found.cost)
        return found

    def best_climb(self, problem: Problem, starts: Sequence[Start]) -> Explanation:
        """Climb a leg from every start, and on to the end from the best of them."""
        vectors = [problem.write(one.channel) for one in starts]
        if len(starts) == 1:
            return self.climb(problem, vectors[0], starts[0].typical)
        some = replace(self, max_iter=min(LEG_STEPS, self.max_iter))
        pairs = zip(vectors, starts, strict=True)
        begun = [some.climb(problem, vector, one.typical, rounds=1) for vector, one in pairs]
        best = min(begun, key=lambda one: one.cost)
        return self.climb(problem, problem.write(best.point.channel, best.point), best.typical)

    def _learns_errors(
        self,
        problem: Problem,
        fixed: list[Scored],
        view: View,
        starts: list[Start],
        best: Explanation,
    ) -> bool:
        """Tell whether learners that see columns together have learned which labels are wrong.

        Where a column or the margin tells where errors strike, they could take the errors for
        classes: they must explain left-out labels better than such channels do.
        """
        together = [one for one in fixed if isinstance(one.scorer, Forest)]
        kernels = [one for one in self.through if isinstance(one, Kernel) if suits(problem.rows)]
        by_channels = stratified_chance(best) if together or kernels else None
        if by_channels is None:
            return False
        view = replace(view, channel=best.point.channel, anchor=problem.virtual)
        together += [one for who in kernels for one in who.cross_fit(problem.rows, view)]
        richer = self.best_climb(replace(problem, scored=[*problem.scored, *together]), starts)
        at = problem.rows.labeled
        gain = np.log(chance_of(richer)) - np.log(by_channels)
        error = float(gain[at].std()) / np.sqrt(len(at))
        return float(gain[at].mean()) <= CLEAR_ERRORS * error

    def climb(
        self, problem: Problem, vector: Array, typical: Typical, rounds: int = CHOSEN_RATES
    ) -> Explanation:
        """Find the best parameters from a start, the typical rate chosen anew while that helps.

        The rate is chosen by rows as they are shared out, and these by the rate: where labels say
        little the two could lead each other astray, so a choice that loses evidence is taken back.
        """
        found = self._climbed(problem, vector, typical)
        for _ in range(rounds - 1):
            judged = problem.judge(problem.logits(found.point), found.point.channel)
            typical = typical_rate(problem.joint(judged.posterior), self.beliefs)
            if typical == found.typical:
                break
            begin = problem.write(found.point.channel, found.point)
            other = self._climbed(problem, begin, typical)
            if other.cost >= found.cost:
                break
            found = other
        return found if is_told_by_others(problem.rows) else self._held(found)

    def _climbed(self, problem: Problem, vector: Array, typical: Typical) -> Explanation:
        """Find the best parameters from a start at a typical rate."""
        vector, _, converged = problem.minimum(
            vector, typical, max_iter=self.max_iter, tol=self.tol
        )
        cost = problem.evidence_cost(vector, typical)
        return Explanation(problem, problem.read(vector), typical, cost, converged)

    def _held(self, found: Explanation) -> Explanation:
        """Hold classes to one error rate until every label speaks for its own class."""
        problem, classes = found.problem, found.problem.size[1]
        typical = replace(
            found.typical, rate=min(found.typical.rate, MEANINGLESS * (1.0 - 1.0 / classes))
        )
        while not speaks_for_own(found.point.channel) and typical.rows < MOST_HELD:
            typical = replace(typical, rows=HELD_FACTOR * typical.rows)
            start = problem.write(even(classes, typical.rate), found.point)
            found = self._climbed(problem, start, typical)
        return found


def distinct(scored: list[Scored]) -> list[Scored]:
    """Leave out learners that say exactly what one before them says."""
    out: list[Scored] = []
    for one in scored:
        if not any(np.array_equal(one.scores, other.scores) for other in out):
            out.append(one)
    return out


def even(classes: int, rate: float) -> Array:
    """Spread an error rate evenly over the other classes, (K, K).

    Examples
    --------
    >>> even(3, 0.2).round(1).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    return np.where(np.eye(classes) > 0, 1.0 - rate, rate / max(classes - 1, 1))
