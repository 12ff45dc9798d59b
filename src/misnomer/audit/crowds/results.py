"""The answers of several annotators or groups -> given labels, judged rows, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer import channel as channels
from misnomer.answers import Answers
from misnomer.audit.batches.collector import Collector
from misnomer.audit.batches.totals import all_rows_of, sample_note, shape_of
from misnomer.audit.crowds.batched_rows import Reading
from misnomer.audit.crowds.numbers import (
    CONFIDENCE,
    Spread,
    bounded,
    groups_of,
    joint_of,
    judged,
    some_rows,
    spread,
)
from misnomer.audit.crowds.reading import Gathered, Several
from misnomer.audit.crowds.sources import GroupTable, Sources
from misnomer.audit.known import with_trusted
from misnomer.audit.leaks import leaks
from misnomer.audit.numbers import Fitted
from misnomer.audit.result import Audit
from misnomer.classifiers.annotators.crowd import CrowdNB
from misnomer.classifiers.base import NoisyLabelEstimator, NoisyLabelNB
from misnomer.classifiers.inputs import Naming, checked_trusted
from misnomer.estimate import Estimate, normal_quantile
from misnomer.model import Model
from misnomer.posterior import NoiseMatrix, Posterior
from misnomer.solvers.task import Fit
from misnomer.table import CheckedRows, Schema

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_MANY_ANSWERS = 100  # among so many, a label that was said once is rather a slip than a class


def plurality(answers: Answers) -> Ints:
    """Find the most frequent answer about each row, (n,); -1 where there is none.

    Of answers that are equally frequent, the one of the first annotator counts.

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> plurality(from_table([["b", "a", "a"], ["b", "a", None], [None] * 3])).tolist()
    [0, 1, -1]
    """
    votes = answers.votes()
    most = votes == votes.max(axis=1, keepdims=True)
    among = np.flatnonzero(most[answers.row, answers.label])
    rows, first = np.unique(answers.row[among], return_index=True)
    given = np.full(answers.n_rows, -1, np.int64)
    given[rows] = answers.label[among[first]]
    return given


@dataclass(frozen=True, eq=False)
class Votes:
    """What is taken for the label of each row: its vote, (n,), -1 without any; and who is sure.

    A person who has checked a row settles its class; its vote stays what it was.
    """

    given: Ints
    trusted: NDArray[np.bool_]
    checked: CheckedRows | None = None

    def truth(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Name the classes that are known to be right, (n,), None elsewhere."""
        out = np.full(len(self.given), None, object)
        out[self.trusted] = labels[self.given[self.trusted]] if len(labels) else None
        if self.checked is not None:
            row, true = self.checked.row, self.checked.true
            some = (true >= 0) & (row < len(out))
            out[row[some]] = labels[true[some]]
        return out

    def codes(self, L: int) -> NDArray[np.int32]:
        """Write the labels as the evidence codes of a batch."""
        codes = np.where(self.given < 0, L, self.given)
        codes[self.trusted] = L + 1 + self.given[self.trusted]
        return codes.astype(np.int32)


def votes_of(answers: Answers, trusted: Any, checked: CheckedRows | None = None) -> Votes:
    """Take the votes for the labels."""
    if not len(answers):
        raise ValueError("there is no label at all: every cell of the label columns is empty")
    given = plurality(answers)
    mask = checked_trusted(trusted, answers.n_rows)
    sure = (np.zeros(len(given), bool) if mask is None else mask) & (given >= 0)
    return Votes(given, sure, checked)


def judged_rows(crowd: CrowdNB, votes: Votes) -> tuple[Array, NoisyLabelEstimator]:
    """Take P(true class) of every row, (n, K), and the classifier of new ones."""
    L = len(crowd.classes_)
    share = crowd.fit_.share.copy()
    share[votes.trusted] = np.eye(L)[votes.given[votes.trusted]]
    matrix = channels.free(L).refit(joint_of(votes.given, share) + 1e-10)
    return share, _classifier(crowd, matrix)


def _classifier(crowd: CrowdNB, matrix: channels.Channel) -> NoisyLabelEstimator:
    """Make the classifier of new rows, by their columns, behind the channel of the given labels."""
    fit, K = crowd.fit_, len(crowd.classes_)
    model = Model(fit.prior, matrix, np.zeros((K, 0)), Schema(()))
    if fit.model is not None:
        model = replace(fit.model, channel=matrix)
    out = NoisyLabelNB(families=crowd.families, solver="em", random_state=crowd.random_state)
    naming = Naming(crowd.classes_, crowd.classes_, matrix)
    out._keep(Fit(model, fit.loglik, (fit.loglik,), fit.converged), naming)
    out.n_iter_ = fit.passes
    names = [] if fit.model is None else list(getattr(crowd, "feature_names_in_", []))
    out.n_features_in_ = 0 if fit.model is None else crowd.n_features_in_
    if names:
        out.feature_names_in_ = np.array(names, dtype=object)
    return out


def numbers_of(
    found: Several, crowd: CrowdNB, classifier: NoisyLabelEstimator, votes: Votes, share: Array,
    started: float,
) -> tuple[dict[str, Any], GroupTable | None]:  # fmt: skip
    """Find the numbers of an audit that are of all rows, and the table of the groups."""
    answers, names = found.answers, tuple(crowd.classes_.tolist())
    given, known = votes.given, votes.given >= 0
    doubt = Posterior.of(share).other_than(given)
    wrong = np.where(known & ~votes.trusted, doubt, 0.0)
    count, labeled = float(wrong.sum()), int(known.sum())
    grouped = "noise_groups" in found.asked
    group = None
    if grouped:
        group = np.zeros(answers.n_rows, np.int64)
        group[answers.row] = answers.annotator
    errors = spread(crowd, given, group)
    low, high = bounded(count / labeled, errors.rate, labeled)
    rate = Estimate(count / labeled, float(low), float(high), CONFIDENCE)
    groups = groups_of(crowd, wrong, errors.groups) if grouped else None
    numbers = {
        "error_rate": rate,
        "error_count": Estimate(count, rate.low * labeled, rate.high * labeled, CONFIDENCE),
        "verdict": judged(crowd, rate, classifier.noise_matrix_, groups),
        "label": found.label,
        "labels": names,
        "classes": names,
        **_shares(classifier, errors),
        "fitted": _fitted(found, crowd, classifier, labeled, int(votes.trusted.sum()), started),
        "classifier": classifier,
    }
    return numbers, groups


def _shares(classifier: NoisyLabelEstimator, errors: Spread) -> dict[str, Any]:
    reach = normal_quantile(CONFIDENCE)
    matrix, prior = classifier.noise_matrix_, classifier.class_prior_
    low = np.clip(matrix - reach * errors.matrix, 0.0, matrix)
    high = np.clip(matrix + reach * errors.matrix, matrix, 1.0)
    return {
        "noise": NoiseMatrix.of(matrix, low, high),
        "prior": prior,
        "prior_low": np.clip(prior - reach * errors.prior, 0.0, prior),
        "prior_high": np.clip(prior + reach * errors.prior, prior, 1.0),
    }


def _fitted(
    found: Several, crowd: CrowdNB, classifier: NoisyLabelEstimator, labeled: int, trusted: int,
    started: float,
) -> Fitted:  # fmt: skip
    who = "group" if "noise_groups" in found.asked else "annotator"
    how = (
        "The columns have a say: they help to predict the answers."
        if crowd.trust_
        else "The columns have no say: they do not help to predict the answers."
    )
    return Fitted(
        families={column.name: column.kind for column in classifier.model_.schema.columns},
        solver="one channel per " + who,
        iterations=int(crowd.n_iter_),
        seconds=perf_counter() - started,
        converged=bool(crowd.converged_),
        rows=found.answers.n_rows,
        labeled=labeled,
        trusted=trusted,
        notes=() if found.features is None else (how,),
    )


def rare(answers: Answers) -> list[str]:
    """Name the labels that were said once among many answers: most likely slips of the pen.

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> rare(from_table([["a", "b"]] * 60 + [["bb", "b"]]))
    ["the label 'bb' was said once only: correct it if it is no class of its own"]
    """
    often = answers.votes().sum(axis=0)
    if len(answers) < _MANY_ANSWERS:
        return []
    return [
        f"the label {name!r} was said once only: correct it if it is no class of its own"
        for name in answers.labels[often == 1].tolist()[:5]
    ]


def put_together(
    collected: Collector, said: Gathered, reading: Reading, crowd: CrowdNB, votes: Votes,
    share: Array, notes: list[str], started: float, read: Any,
) -> Audit:  # fmt: skip
    """Make the audit of what was collected from all rows."""
    batch, some, source = collected.sampled()
    classifier = collected.classifier
    features = said.rows if reading.schema is not None else None
    shape = shape_of(collected, source, said.id)
    found = Several(
        features, said.answers, "majority vote", votes.trusted, shape, said.arguments, said.notes
    )
    numbers, _ = numbers_of(found, crowd, classifier, votes, share, started)
    notes = [
        *said.notes,
        *(f"left out: {one}" for one in said.left_out),
        *rare(said.answers),
        *notes,
    ]
    notes += leaks(classifier.model_.schema, batch, found.label, said.answers.n_labels)
    audit = Audit(
        **numbers,
        given=some.given,
        trusted=some.trusted,
        shares=some.shares,
        warnings=(*notes, *sample_note(collected)),
        batch=batch,
        shape=shape,
        sources=Sources(
            some_rows(said.answers, collected.sample), crowd.channels_, crowd.trust_ > 0,
            said.arguments, crowd.annotators_,
        ),
        left_out=said.left_out,
        all_rows=all_rows_of(collected, read),
    )  # fmt: skip
    return with_trusted(audit)
