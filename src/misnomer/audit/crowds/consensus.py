"""What the answers of several annotators or groups say together, and how far it can be believed.

From here on an audit is one of rows with one label each, the vote: by a classifier whose fit holds
P(true class) of every row, intervals and a verdict, as any other does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer import channel as channels
from misnomer.answers import Answers
from misnomer.audit.crowds import CONFIDENCE, beta_interval
from misnomer.audit.crowds.gather import Votes
from misnomer.channel import Channel
from misnomer.classifiers import NoisyLabelEstimator
from misnomer.classifiers.annotator_table import (
    BEYOND,
    TOO_MANY,
    GroupTable,
    alone,
    islands,
    ranked_groups,
    share_of_wrong_answers,
)
from misnomer.classifiers.crowd import CrowdNB
from misnomer.classifiers.inputs import Naming
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.estimate import Estimate, normal_quantile
from misnomer.kernels.reference import softmax
from misnomer.model import Model
from misnomer.posterior import Posterior
from misnomer.solvers.annotators import confusions, evidence
from misnomer.solvers.annotators.fit import SourcesFit
from misnomer.solvers.task import Details, Fit
from misnomer.table import Schema
from misnomer.verdict import Verdict

Array = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

_BOOTSTRAP_DRAWS, _REFIT_PASSES, _BOOTSTRAP_ROWS = 20, 6, 20_000
_MAX_ANSWER_PAIRS = 5e7  # about one row: of more, no copies are looked for among annotators
_MIN_ANSWERS = 20  # answers of an annotator: too few to know its errors by
_MAX_LONELY_SHARE = 0.1  # share of answers by annotators who met nobody: a remark, not a doubt
_ONE_LABEL = (
    "A row has one label: the groups' rates rest on the columns telling the classes apart, and on "
    "class shares that are the same in all groups."
)
_MAX_HALF_INTERVAL = 0.10  # half the interval of the error rate


@dataclass(frozen=True, eq=False)
class Consensus:
    """What the answers say together: judge of the rows, and classifier of new ones."""

    classifier: NoisyLabelEstimator
    posterior: Array  # (n, K): P(true class) of every row
    groups: GroupTable | None  # where a group is an annotator of its rows


@dataclass(frozen=True)
class CrowdOpinion:
    """How far the numbers can be believed."""

    intervals: dict[str, Any]
    verdict: Verdict


def consensus(crowd: CrowdNB, votes: Votes, *, grouped: bool, has_columns: bool) -> Consensus:
    """Turn a fit to answers into one to rows of one label each, which is their vote."""
    fit, K = crowd.fit_, len(crowd.classes_)
    share = fit.share.copy()
    share[votes.trusted] = np.eye(K)[votes.given[votes.trusted]]
    doubt = Posterior.of(share).other_than(votes.given)
    wrong = np.where((votes.given >= 0) & ~votes.trusted, doubt, 0.0)
    model = _model(crowd, channels.free(K).refit(joint_of(votes.given, share) + 1e-10))
    opinion, groups = _opinion(crowd, votes, wrong, model, grouped)
    how = (
        "The columns have a say: they help to predict the answers."
        if crowd.trust_
        else "The columns have no say: they do not help to predict the answers."
    )
    details = Details(
        posterior=share,
        opinion=opinion,
        solver="one channel per " + ("group" if grouped else "annotator"),
        notes=(how,) if has_columns else (),
    )
    found = Fit(model, fit.loglik, (fit.loglik,), fit.converged, details)
    return Consensus(_classifier(crowd, found), share, groups)


def _model(crowd: CrowdNB, matrix: Channel) -> Model:
    """Classify rows by their columns, behind the channel of the votes."""
    fit, K = crowd.fit_, len(crowd.classes_)
    if fit.model is not None:
        return replace(fit.model, channel=matrix)
    return Model(fit.prior, matrix, np.zeros((K, 0)), Schema(()))


def _classifier(crowd: CrowdNB, fit: Fit) -> NoisyLabelEstimator:
    """Give the model the face of a classifier."""
    out = NoisyLabelNB(families=crowd.families, solver="em", random_state=crowd.random_state)
    out._keep(fit, Naming(crowd.classes_, crowd.classes_, fit.model.channel))
    out.n_iter_, out.n_features_in_ = crowd.fit_.passes, 0
    if crowd.model_ is not None:
        out.n_features_in_ = crowd.n_features_in_
        if len(getattr(crowd, "feature_names_in_", [])):
            out.feature_names_in_ = np.array(list(crowd.feature_names_in_), dtype=object)
    return out


def _opinion(
    crowd: CrowdNB, votes: Votes, wrong: Array, model: Model, grouped: bool
) -> tuple[CrowdOpinion, GroupTable | None]:
    """Find intervals and verdict, and rank the groups."""
    answers, labeled = crowd.answers_, int((votes.given >= 0).sum())
    group = answers.by_row(answers.annotator) if grouped else None
    matrix, prior = model.channel.matrix, model.prior
    error, of_matrix, of_prior, of_groups = spread(answers, crowd.fit_, votes.given, group)
    value = float(wrong.sum()) / labeled
    low, high = beta_interval(value, float(error), labeled)
    rate = Estimate(value, float(low), float(high), CONFIDENCE)
    reach = normal_quantile(CONFIDENCE)
    intervals = {
        "error_rate": rate,
        "noise_matrix": (matrix - reach * of_matrix, matrix + reach * of_matrix),
        "class_prior": (prior - reach * of_prior, prior + reach * of_prior),
    }
    groups = groups_of(crowd, wrong, of_groups) if grouped else None
    return CrowdOpinion(intervals, crowd_verdict(crowd, rate, matrix, groups)), groups


def joint_of(given: Ints, share: Array, weight: Array | None = None) -> Array:
    """Count the labeled rows by given label and expected true class, (K, K).

    Examples
    --------
    >>> joint_of(np.array([0, 1, -1]), np.array([[0.75, 0.25], [0.5, 0.5], [1, 0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    out = np.zeros((share.shape[1], share.shape[1]))
    known = given >= 0
    weighed = share if weight is None else share * weight[:, None]
    np.add.at(out, given[known], weighed[known])
    return out


def spread(answers: Answers, fit: SourcesFit, given: Ints, group: Ints | None) -> list[Array]:
    """Find standard errors: of the error rate, of P(given | true), of the class shares, by group.

    Rows are weighed by exponential random numbers and refitted from where the fit ended, 20 times.
    The columns' evidence is held as it is; of many rows some are taken, and the errors scaled.
    """
    rng, total, n = np.random.default_rng(0), fit.total, answers.n_rows
    if n > _BOOTSTRAP_ROWS:
        rows = np.sort(rng.choice(n, _BOOTSTRAP_ROWS, replace=False))
        answers, total, given = some_rows(answers, rows), total[rows], given[rows]
        group = None if group is None else group[rows]
    scores = total - evidence(answers, fit.channels) - np.log(fit.prior)
    share = softmax(total)[0]
    size = 0 if group is None else answers.n_annotators
    draws = [
        _refit_reweighted(answers, fit, scores, share, given, group, size, rng)
        for _ in range(_BOOTSTRAP_DRAWS)
    ]
    scale = np.sqrt(answers.n_rows / n)
    return [scale * np.array(part).std(axis=0, ddof=1) for part in zip(*draws, strict=True)]


def _refit_reweighted(
    answers: Answers, fit: SourcesFit, scores: Array, share: Array, given: Ints,
    group: Ints | None, size: int, rng: np.random.Generator,
) -> tuple[float, Array, Array, Array]:  # fmt: skip
    """Refit with random weights: error rate, matrix, class shares, error rates of the groups."""
    weight = rng.exponential(size=answers.n_rows)
    for _ in range(_REFIT_PASSES):
        mass = weight @ share
        prior = mass / mass.sum()
        counts = confusions(answers, share * weight[:, None])
        channels = fit.rule.channels(counts, fit.centers, fit.strength)
        share = softmax(evidence(answers, channels) + np.log(np.maximum(prior, 1e-10)) + scores)[0]
    known = given >= 0
    wrong = np.where(known, 1.0 - share[np.arange(len(share)), given], 0.0)
    joint = joint_of(given, share, weight) + 1e-10
    rate = float(weight @ wrong / weight[known].sum())
    groups = np.zeros(0)
    if group is not None:
        seen = np.bincount(group[known], weight[known], minlength=size)
        errors = np.bincount(group[known], (weight * wrong)[known], minlength=size)
        groups = errors / np.maximum(seen, 1e-12)
    return rate, joint / joint.sum(axis=0), prior, groups


def some_rows(answers: Answers, rows: NDArray[np.intp]) -> Answers:
    """Keep some of the rows, numbered anew."""
    place = np.full(answers.n_rows, -1, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    kept = place[answers.row] >= 0
    parts = (place[answers.row[kept]], answers.annotator[kept], answers.label[kept])
    return Answers(*parts, len(rows), answers.annotators, answers.labels)


def groups_of(crowd: CrowdNB, wrong: Array, errors: Array) -> GroupTable:
    """Rank the groups by the share of wrong labels among their rows, and test if they differ."""
    answers = crowd.answers_
    rate = np.bincount(answers.annotator, wrong[answers.row]) / answers.given
    low, high = beta_interval(rate, errors, answers.given)
    return ranked_groups(answers.annotators, answers.given, rate, low, high, crowd.groups_differ())


def crowd_verdict(
    crowd: CrowdNB, rate: Estimate, matrix: Array, groups: GroupTable | None
) -> Verdict:
    """Say how far the numbers can be believed, and who limits or spoils them."""
    tests = _tests(crowd, rate, matrix, groups)
    lost: list[str] = []
    doubtful, remarks = _limits(crowd, groups)
    if not tests["diagonal_is_largest"]:
        lost.append("For some class another label is more usual than its own.")
    if tests["answers_per_row"] <= 1 and not tests["trust_in_the_columns"]:
        lost.append("No row has two answers and the columns do not help: nothing shows an error.")
    if tests["answers_per_row"] <= 1 and tests["share_of_wrong_answers"] >= TOO_MANY:
        lost.append(BEYOND)
        doubtful = [one for one in doubtful if one != BEYOND]
    if groups is None and tests["answers_per_row"] < 2.5:
        doubtful.append(
            f"A row has {tests['answers_per_row']:.1f} answers on average: with fewer than three, "
            "who is right rests on the columns and on what is usual of the crowd."
        )
    if tests["share_of_answers_by_the_little_known"] > 0.5:
        few = f"fewer than {_MIN_ANSWERS} of them"
        doubtful.append(f"Most answers come from annotators with {few}.")
    for one in tests["agree_too_often"][:3]:
        doubtful.append(f"{one}: one may copy the other, and a copy is no second opinion.")
    if tests["half_interval"] > _MAX_HALF_INTERVAL:
        doubtful.append("The interval of the error rate is wide.")
    if not tests["converged"]:
        doubtful.append("The fit had not settled when it was stopped.")
    if lost or doubtful:
        level = "cannot tell" if lost else "assumed"
        return Verdict(level, (*lost, *doubtful, *remarks), tests)
    words = f"The rate rests on {tests['answers_per_row']:.1f} answers per row, compared with each"
    return Verdict("assumed", (f"{words} other.", *remarks), tests)


def _limits(crowd: CrowdNB, groups: GroupTable | None) -> tuple[list[str], list[str]]:
    """Say what limits all numbers, and what concerns a few rows or annotators only."""
    answers, notes = crowd.answers_, list(crowd.notes_)
    remarks = [notes.pop(0)] if (answers.asked == 0).any() else []
    if groups is not None:
        return [str(groups.test), _ONE_LABEL], remarks
    if notes and answers.given[alone(answers)].sum() < _MAX_LONELY_SHARE * len(answers):
        return notes[1:] if len(alone(answers)) else notes, [*notes[:1], *remarks]
    return notes, remarks


def _tests(
    crowd: CrowdNB, rate: Estimate, matrix: Array, groups: GroupTable | None
) -> dict[str, Any]:
    answers = crowd.answers_
    asked = answers.asked[answers.asked > 0]
    pairs = crowd.colluding() if float((asked.astype(float) ** 2).sum()) < _MAX_ANSWER_PAIRS else []
    tests = {
        "converged": bool(crowd.converged_),
        "answers_per_row": float(asked.mean()),
        "trust_in_the_columns": float(crowd.trust_),
        "share_of_wrong_answers": share_of_wrong_answers(answers, crowd.fit_),
        "half_interval": (rate.high - rate.low) / 2,
        "diagonal_is_largest": bool((matrix.argmax(axis=0) == range(len(matrix))).all()),
        "share_of_answers_by_the_little_known": float(
            answers.given[answers.given < _MIN_ANSWERS].sum() / len(answers)
        ),
        "agree_too_often": [
            f"{p.first} and {p.second} agree on {p.agreed} of {p.shared} rows, "
            f"{p.expected:.0f} expected"
            for p in pairs
        ],
    }
    if groups is not None:
        return {**tests, "groups_differ_p_value": groups.test.p_value}
    return {**tests, "annotators_alone": len(alone(answers)), "circles": islands(answers)}
