"""audit() with groups of rows: the default model, and a channel for each group on top of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from misnomer.audit import learn
from misnomer.audit.result import Audit
from misnomer.audit.several_inputs import Several
from misnomer.audit.several_numbers import bounded
from misnomer.audit.sources import GroupTable, Sources
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.estimate import Estimate, normal_quantile
from misnomer.solvers.pool import Pool
from misnomer.solvers.sources_groups import GroupTest, compared
from misnomer.solvers.sources_pool import codes_of
from misnomer.solvers.strata_fit import Varied, after
from misnomer.solvers.strata_groups import moved, regrouped
from misnomer.solvers.strata_search import Labels
from misnomer.sources import Answers
from misnomer.verdict import Verdict

Array = NDArray[np.float64]
Found = TypeVar("Found", bound=Audit)

_TESTS = 99  # labels drawn anew to test whether groups differ
_DRAWS, _ROWS = 20, 20_000  # refits, and rows that they look at


def audit_groups(found: Several, families: Any, random_state: Any, started: float) -> Audit | None:
    """Audit by the default, then by groups; None where the default has nothing to pool."""
    assert found.single is not None
    answers = found.answers
    fresh = NoisyLabelNB(families=families, random_state=random_state)
    fresh.set_params(solver=Pool(groups=codes_of(answers)))
    audit = learn.learned(found.single, fresh, started)
    varied = told_apart(fresh)
    if varied is None:
        return None
    doubt = np.nan_to_num(audit.error_probability)[answers.row]
    wrong = np.bincount(answers.annotator, doubt, minlength=answers.n_annotators)
    return with_groups(audit, answers, varied, np.stack([wrong, answers.given]), found.asked)


def told_apart(classifier: NoisyLabelNB) -> Varied | None:
    """Take what was found of the groups out of a classifier: it says nothing of other rows."""
    varied: Varied | None = classifier.fit_.details.get("groups")
    if varied is None:
        return None
    classifier.set_params(solver="auto")
    details = {name: value for name, value in classifier.fit_.details.items() if name != "groups"}
    classifier.fit_ = replace(classifier.fit_, details=details)
    return varied


def with_groups(
    audit: Found, answers: Answers, varied: Varied, sums: Array, asked: Mapping[str, Any]
) -> Found:
    """Add what was found of the groups to an audit.

    ``answers`` are those of the rows that it lists; ``sums`` (2, G) the wrong labels and the labels
    of every group, whether listed or not.
    """
    table = _table(audit.error_rate, answers, varied, sums)
    channels = varied.channels[: answers.n_annotators]
    sources = Sources(answers, channels, True, asked, None, table)
    fitted = replace(audit.fitted, notes=(*audit.fitted.notes, _note(varied)))
    return replace(
        audit, sources=sources, verdict=_verdict(audit.verdict, varied, table.test), fitted=fitted
    )


def _table(whole: Estimate, answers: Answers, varied: Varied, sums: Array) -> GroupTable:
    """Rank the groups by the share of wrong labels among their rows, and test if they differ."""
    wrong, given = sums[0], sums[1].astype(np.int64)
    rate = wrong / given
    labels, group = varied.evidence["labels"], varied.evidence["group"]
    spread = _spread(varied, labels, group, given)
    low, high = bounded(rate, np.hypot(spread, _common(whole) * rate), given)
    usual = np.maximum(labels.weight @ labels.share / labels.weight.sum(), 1e-9)
    size = (answers.n_annotators, answers.n_labels)
    test = compared(labels.share / usual, group, labels.label, size, draws=_TESTS, seed=0)
    order = np.argsort(-rate, kind="stable")
    names = answers.annotators[order]
    return GroupTable(names, given[order], rate[order], low[order], high[order], test)


def _common(rate: Estimate) -> float:
    """Take the standard error of the whole error rate, relative to it: all groups share it."""
    reach = 2.0 * normal_quantile(rate.confidence)
    return (rate.high - rate.low) / reach / max(rate.value, 1e-9)


def _spread(
    varied: Varied, labels: Labels, group: NDArray[np.intp], given: NDArray[np.int64]
) -> Array:
    """Weigh rows by exponential random numbers, refit the groups 20 times: standard errors, (G,).

    What the columns say of each row is held; of many rows some are taken, and the errors scaled,
    unless rows are judged without the groups: more of them would not tell more of these.
    """
    assert varied.groups is not None
    rng, size = np.random.default_rng(0), len(given)
    judged = varied.found and varied.groups.differ
    n = max(len(group), int(given.sum())) if judged else len(group)
    some = np.sort(rng.permutation(len(group))[:_ROWS])
    draws = []
    for _ in range(_DRAWS):
        weight = labels.weight[some] * rng.exponential(size=len(some))
        drawn = Labels(
            labels.share[some], labels.label[some], weight, labels.fold[some], labels.channel
        )
        draws.append(_rates(varied, drawn, group[some], size))
    return np.asarray(np.std(draws, axis=0, ddof=1) * np.sqrt(len(some) / n))


def _rates(varied: Varied, labels: Labels, group: NDArray[np.intp], size: int) -> Array:
    assert varied.groups is not None
    found = regrouped(varied.groups, labels, group)
    nobody = np.zeros(len(group), bool)
    share = moved(labels.share, found.ratio[group])
    judged = after(share, found.channels[group], labels.label, nobody)
    wrong = labels.weight * (1.0 - judged[np.arange(len(group)), labels.label])
    mass = np.bincount(group, labels.weight, minlength=size)[:size]
    return np.asarray(np.bincount(group, wrong, minlength=size)[:size] / np.maximum(mass, 1e-9))


def _note(varied: Varied) -> str:
    assert varied.groups is not None
    gain = f"{varied.groups.margin.gain:+.1f} nats out of fold, z = {varied.groups.margin.z:.1f}"
    if varied.found and varied.groups.differ:
        return f"Rows are judged by the channel of their group ({gain})."
    return (
        "Rows are judged by one matrix: channels of the groups' own do not predict left-out "
        f"labels clearly better ({gain})."
    )


def _verdict(base: Verdict, varied: Varied, test: GroupTest) -> Verdict:
    """Say first what is known of the groups; one label a row is a ranking at best."""
    assert varied.groups is not None
    shares = (
        "each group has class shares of its own"
        if varied.groups.own
        else "class shares are taken to be the same in all groups"
    )
    one = (
        "A row has one label: the groups' rates rest on the columns telling the classes apart; "
        f"{shares}."
    )
    tests = {
        **base.tests,
        "groups_differ_p_value": test.p_value,
        "groups_nats": round(varied.groups.margin.gain, 2),
        "groups_z": round(varied.groups.margin.z, 2),
        "groups_judge_rows": bool(varied.found and varied.groups.differ),
        "groups_have_own_class_shares": bool(varied.groups.own),
    }
    level = "ranking" if base.level == "trust" else base.level
    sentences = (str(test), _note(varied), one, *base.sentences)
    return Verdict(level, sentences, tests)
