"""Who gave the labels of an audit: annotators or groups, what each said, and how groups differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from misnomer.answers import Answers, Codes
from misnomer.audit import learn
from misnomer.audit.inputs import Inputs
from misnomer.audit.result import Audit
from misnomer.classifiers import NoisyLabelEstimator
from misnomer.classifiers.annotator_table import AnnotatorTable, GroupTable, ranked_groups
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.estimate import Estimate, normal_quantile
from misnomer.evidence import Evidence
from misnomer.head.rates import Labeled, fitted, judged
from misnomer.head.solve import GroupRates
from misnomer.solvers.annotators.worth import GroupTest, compared
from misnomer.verdict import Verdict

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sources:
    """The answers behind the given labels, and the channel of everybody who gave them."""

    answers: Answers  # who said what about which row
    channels: Array  # (A, L, K): P(label | true class) of each annotator or group
    columns_help: bool  # whether the columns had a say beside the answers
    asked: Mapping[str, Any]  # how `audit` was asked for this: the arguments, by name
    # which of them they are
    annotators: AnnotatorTable | None = None
    groups: GroupTable | None = None

    def about(self, row: int) -> tuple[Codes, Codes, Array]:
        """Find who answered about a row, what, and ``log channel_a[y, z]`` of each, (m, K)."""
        at = slice(*np.searchsorted(self.answers.row, [row, row + 1]))
        who, said = self.answers.annotator[at], self.answers.label[at]
        return who, said, np.log(np.maximum(self.channels[who, said], 1e-300))

    def weighed(self, evidence: Evidence, row: int) -> Evidence:
        """Put what was said about a row, each answer by itself, in the place of its label.

        Groups give one label a row: its weight is that of the group's own channel.
        """
        who, said, terms = self.about(row)
        if not self.columns_help:
            none = np.zeros((0, len(evidence.prior)))
            evidence = replace(evidence, names=(), values=(), terms=none)
        if self.groups is not None:
            return replace(evidence, label=terms.sum(axis=0))
        return replace(
            evidence,
            names=(*evidence.names, *(str(name) for name in self.answers.annotators[who])),
            values=(*evidence.values, *self.answers.labels[said].tolist()),
            terms=np.concatenate([evidence.terms, terms]),
            label=np.zeros_like(evidence.label),
        )


Found = TypeVar("Found", bound=Audit)

CONFIDENCE = 0.90
_TEST_DRAWS = 99  # labels drawn anew to test whether groups differ
_BOOTSTRAP_DRAWS, _BOOTSTRAP_ROWS = 20, 20_000  # refits, and rows that they look at


def audit_groups(inputs: Inputs, families: Any, random_state: Any, started: float) -> Audit | None:
    """Audit by the default, then by groups; None where the default has nothing to compare."""
    answers = inputs.answers
    assert answers is not None
    group: Any = answers.by_row(answers.annotator)
    fresh = NoisyLabelClassifier(families=families, random_state=random_state)
    audit = learn.fit_and_judge(inputs, fresh, started, groups=np.where(group < 0, None, group))
    rates = group_rates_of(fresh)
    if rates is None:
        return None
    doubt = np.nan_to_num(audit.error_probability)[answers.row]
    wrong = np.bincount(answers.annotator, doubt, minlength=answers.n_annotators)
    return with_groups(audit, answers, rates, np.stack([wrong, answers.given]), inputs.asked)


def group_rates_of(classifier: NoisyLabelEstimator) -> GroupRates | None:
    """Take what was found of the groups out of a classifier: it says nothing of other rows."""
    rates = classifier.fit_.details.groups
    if not isinstance(rates, GroupRates):
        return None
    details = replace(classifier.fit_.details, groups=None)
    classifier.fit_ = replace(classifier.fit_, details=details)
    return rates


def with_groups(
    audit: Found, answers: Answers, varied: GroupRates, sums: Array, asked: Mapping[str, Any]
) -> Found:
    """Add what was found of the groups to an audit.

    ``answers`` are those of the rows that it lists; ``sums`` (2, G) the wrong labels and the labels
    of every group, whether listed or not.
    """
    table = _table(audit.error_rate, answers, varied, sums)
    channels = varied.strata.channels[: answers.n_annotators]
    sources = Sources(answers, channels, True, asked, None, table)
    fitted = replace(audit.fitted, notes=(*audit.fitted.notes, _note(varied)))
    return replace(
        audit, sources=sources, verdict=_verdict(audit.verdict, varied, table.test), fitted=fitted
    )


def _table(whole: Estimate, answers: Answers, varied: GroupRates, sums: Array) -> GroupTable:
    """Rank the groups by the share of wrong labels among their rows, and test if they differ."""
    wrong, given = sums[0], sums[1].astype(np.int64)
    rate = wrong / given
    labels, group = varied.rows, varied.group
    spread = _spread(varied, labels, group, given)
    low, high = beta_interval(rate, np.hypot(spread, _common(whole) * rate), given)
    usual = np.maximum(labels.weight @ labels.share / labels.weight.sum(), 1e-9)
    size = (answers.n_annotators, answers.n_labels)
    test = compared(labels.share / usual, group, labels.label, size, draws=_TEST_DRAWS, seed=0)
    return ranked_groups(answers.annotators, given, rate, low, high, test)


def beta_interval(rate: Any, error: Any, n: Any) -> tuple[Any, Any]:
    """Bracket a rate by the beta distribution with its standard error, half an event added.

    It weighs ``rate (1 - rate) / error^2`` observations, never more than n.

    Examples
    --------
    >>> low, high = beta_interval(0.1, 0.01, 2000)
    >>> round(float(low), 3), round(float(high), 3)
    (0.084, 0.117)
    """
    size = np.minimum(rate * (1 - rate) / np.maximum(error, 1e-12) ** 2, n)
    size = np.where(rate * (1 - rate) > 1e-9, size, n)
    right, wrong = (1 - rate) * size + 0.5, rate * size + 0.5
    tail = (1 - CONFIDENCE) / 2
    low, high = beta.ppf(tail, wrong, right), beta.ppf(1 - tail, wrong, right)
    return np.minimum(low, rate), np.maximum(high, rate)


def _common(rate: Estimate) -> float:
    """Take the standard error of the whole error rate, relative to it: all groups share it."""
    reach = 2.0 * normal_quantile(rate.confidence)
    return (rate.high - rate.low) / reach / max(rate.value, 1e-9)


def _spread(
    varied: GroupRates, labels: Labeled, group: NDArray[np.intp], given: NDArray[np.int64]
) -> Array:
    """Weigh rows by exponential random numbers, refit the groups 20 times: standard errors, (G,).

    What the columns say of each row is held; of many rows some are taken, and the errors scaled,
    unless rows are judged without the groups: more of them would not tell more of these.
    """
    rng, size = np.random.default_rng(0), len(given)
    n = max(len(group), int(given.sum())) if varied.strata.judges else len(group)
    some = np.sort(rng.permutation(len(group))[:_BOOTSTRAP_ROWS])
    draws = []
    for _ in range(_BOOTSTRAP_DRAWS):
        weight = labels.weight[some] * rng.exponential(size=len(some))
        drawn = replace(labels.take(some), weight=weight)
        draws.append(_rates(varied, drawn, group[some], size))
    return np.asarray(np.std(draws, axis=0, ddof=1) * np.sqrt(len(some) / n))


def _rates(varied: GroupRates, labels: Labeled, group: NDArray[np.intp], size: int) -> Array:
    channels, ratio = fitted(labels, group, size, own_shares=varied.own_shares)
    share = judged(labels.share * ratio[group], channels[group, labels.label])
    wrong = labels.weight * (1.0 - share[np.arange(len(group)), labels.label])
    mass = np.bincount(group, labels.weight, minlength=size + 1)[:size]
    total = np.bincount(group, wrong, minlength=size + 1)[:size]
    return np.asarray(total / np.maximum(mass, 1e-9))


def _note(varied: GroupRates) -> str:
    if varied.strata.judges:
        return (
            "Rows are judged by the channel of their group, which predicts left-out labels better."
        )
    return (
        "Rows are judged by one matrix: channels of the groups' own do not predict left-out "
        "labels clearly better."
    )


def _verdict(base: Verdict, varied: GroupRates, test: GroupTest) -> Verdict:
    """Say first what is known of the groups; one label a row is a ranking at best."""
    shares = (
        "each group has class shares of its own"
        if varied.own_shares
        else "class shares are taken to be the same in all groups"
    )
    one = (
        "A row has one label: the groups' rates rest on the columns telling the classes apart; "
        f"{shares}."
    )
    tests = {
        **base.tests,
        "groups_differ_p_value": test.p_value,
        "groups_nats": round(varied.strata.gain, 2),
        "groups_z": round(varied.strata.errors, 2),
        "groups_judge_rows": varied.strata.judges,
        "groups_have_own_class_shares": varied.own_shares,
    }
    level = base.level
    sentences = (str(test), _note(varied), one, *base.sentences)
    return Verdict(level, sentences, tests)
