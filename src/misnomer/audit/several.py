"""audit() with several annotators, or with groups of rows that err in their own way."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from misnomer import channel as channels
from misnomer.audit import learn, several_inputs
from misnomer.audit.known import noted, parts_of, with_trusted
from misnomer.audit.leaks import leaks
from misnomer.audit.result import Audit, Fitted, doubt
from misnomer.audit.several_groups import audit_groups
from misnomer.audit.several_inputs import Several
from misnomer.audit.several_numbers import (
    CONFIDENCE,
    Spread,
    bounded,
    groups_of,
    joint_of,
    judged,
    spread,
)
from misnomer.audit.sources import Sources
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.crowd import CrowdNB
from misnomer.classifiers.inputs import Naming, checked_trusted
from misnomer.estimate import Estimate, normal_quantile
from misnomer.model import Model
from misnomer.readers import read_like
from misnomer.solvers.task import Fit
from misnomer.sources import Answers
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
_MANY_ANSWERS = 100  # among so many, a label that was said once is rather a slip than a class


def audit_sources(
    data: Any,
    label: Any,
    *,
    annotators: Any,
    long: Any,
    noise_groups: Any,
    text: Any,
    families: Any,
    random_state: Any,
    classifier: Any,
    knowledge: Any = None,
    **where: Any,
) -> Audit:
    """Audit rows with several labels, or labels of several groups; arguments as in `audit`."""
    started = perf_counter()
    said = [annotators is not None, long is not None, noise_groups is not None]
    if sum(said) > 1:
        raise ValueError("say one of annotators=, long= and noise_groups=")
    if label is not None and not said[2]:
        raise ValueError("the label columns are those of the annotators: leave label= out")
    if said[0]:
        found = several_inputs.by_columns(data, annotators, **where)
    elif said[1]:
        found = several_inputs.by_lines(data, long, **where)
    else:
        found = several_inputs.by_groups(data, label, noise_groups, **where)
    texts = [text] if isinstance(text, str) else list(text)
    if found.features is not None:
        families = learn.with_texts(families, texts, found.features)
    if found.single is not None and classifier is None and knowledge is None:
        by_default = audit_groups(found, families, random_state, started)
        if by_default is not None:
            return by_default
    crowd = _prepared(classifier, families, random_state)
    if knowledge is None:
        return learned(found, crowd, started)
    crowd.set_params(knowledge=parts_of(knowledge, found.answers.labels.tolist()))
    return noted(learned(found, crowd, started), knowledge)


def _prepared(classifier: Any, families: Any, random_state: Any) -> CrowdNB:
    """Build the default classifier, or take a fresh copy of the user's."""
    seed = random_state
    if not isinstance(seed, int):
        seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
    if classifier is None:
        return CrowdNB(families=families, random_state=seed)
    if not isinstance(classifier, CrowdNB):
        raise ValueError(
            f"several annotators or groups need a CrowdNB, not a {type(classifier).__name__}"
        )
    fresh: CrowdNB = clone(classifier)
    return fresh if families == "auto" else fresh.set_params(families=families)


def plurality(answers: Answers) -> Ints:
    """Find the most frequent answer about each row, (n,); -1 where there is none.

    Of answers that are equally frequent, the one of the first annotator counts.

    Examples
    --------
    >>> from misnomer.sources import from_table
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


def rare(answers: Answers) -> list[str]:
    """Name the labels that were said once among many answers: most likely slips of the pen.

    Examples
    --------
    >>> from misnomer.sources import from_table
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


def learned(found: Several, crowd: CrowdNB, started: float) -> Audit:
    """Fit, judge every row, and put the answers together."""
    answers = found.answers
    if not len(answers):
        raise ValueError("there is no label at all: every cell of the label columns is empty")
    given = plurality(answers)
    mask = checked_trusted(found.trusted, answers.n_rows)
    trusted = (np.zeros(len(given), bool) if mask is None else mask) & (given >= 0)
    truth = np.full(len(given), None, object)
    truth[trusted] = answers.labels[given[trusted]] if answers.n_labels else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        crowd.fit(found.features, answers=answers, truth=truth)
    notes = [*found.notes, *rare(answers), *(str(one.message) for one in caught)]
    share = crowd.fit_.share.copy()
    share[trusted] = np.eye(answers.n_labels)[given[trusted]]
    matrix = channels.free(answers.n_labels).refit(joint_of(given, share) + 1e-10)
    classifier = _classifier(found, crowd, matrix)
    batch = _batch(found, classifier, given, trusted)
    L = answers.n_labels
    notes += leaks(classifier.model_.schema, batch, found.label, L)
    for note in notes:
        warnings.warn(note, stacklevel=5)
    all_notes = tuple(notes)
    return with_trusted(
        _audit(found, crowd, classifier, batch, given, trusted, share, all_notes, started)
    )


def _classifier(found: Several, crowd: CrowdNB, matrix: channels.Channel) -> NoisyLabelNB:
    """Make the classifier of new rows, by their columns, behind the channel of the given labels."""
    fit, K = crowd.fit_, len(crowd.classes_)
    model = Model(fit.prior, matrix, np.zeros((K, 0)), Schema(()))
    if fit.model is not None:
        model = Model(fit.prior, matrix, fit.model.weights, fit.model.schema)
    out = NoisyLabelNB(families=crowd.families, solver="em", random_state=crowd.random_state)
    naming = Naming(crowd.classes_, crowd.classes_, matrix)
    out._keep(Fit(model, fit.loglik, (fit.loglik,), fit.converged), naming)
    out.n_iter_ = fit.passes
    names = [] if fit.model is None else list(getattr(crowd, "feature_names_in_", []))
    out.n_features_in_ = 0 if fit.model is None else crowd.n_features_in_
    if names:
        out.feature_names_in_ = np.array(names, dtype=object)
    return out


def _batch(
    found: Several, classifier: NoisyLabelNB, given: Ints, trusted: NDArray[np.bool_]
) -> Batch:
    """Read the rows in the terms of the model."""
    L, schema = len(classifier.labels_), classifier.model_.schema
    codes = np.where(given < 0, L, given)
    codes[trusted] = L + 1 + given[trusted]
    blocks = read_like(found.features, schema) if schema.columns else ()
    return Batch(blocks, codes.astype(np.int32))


def _audit(
    found: Several, crowd: CrowdNB, classifier: NoisyLabelNB, batch: Batch, given: Ints,
    trusted: NDArray[np.bool_], share: Array, notes: tuple[str, ...], started: float,
) -> Audit:  # fmt: skip
    answers, names = found.answers, tuple(crowd.classes_.tolist())
    known = given >= 0
    wrong = np.where(known & ~trusted, doubt(share, given, names, names), 0.0)
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
    matrix = classifier.noise_matrix_
    return Audit(
        error_rate=rate,
        error_count=Estimate(count, rate.low * labeled, rate.high * labeled, CONFIDENCE),
        verdict=judged(crowd, rate, matrix, groups),
        label=found.label,
        labels=names,
        classes=names,
        given=given,
        trusted=trusted,
        posterior=share,
        **_shares(classifier, errors),
        fitted=_fitted(found, crowd, classifier, labeled, int(trusted.sum()), started),
        warnings=notes,
        classifier=classifier,
        batch=batch,
        shape=found.shape,
        sources=Sources(
            answers, crowd.channels_, crowd.trust_ > 0, found.asked,
            None if grouped else crowd.annotators_, groups,
        ),
    )  # fmt: skip


def _shares(classifier: NoisyLabelNB, errors: Spread) -> dict[str, Any]:
    reach = normal_quantile(CONFIDENCE)
    matrix, prior = classifier.noise_matrix_, classifier.class_prior_
    return {
        "matrix": matrix,
        "matrix_low": np.clip(matrix - reach * errors.matrix, 0.0, matrix),
        "matrix_high": np.clip(matrix + reach * errors.matrix, matrix, 1.0),
        "prior": prior,
        "prior_low": np.clip(prior - reach * errors.prior, 0.0, prior),
        "prior_high": np.clip(prior + reach * errors.prior, prior, 1.0),
    }


def _fitted(
    found: Several, crowd: CrowdNB, classifier: NoisyLabelNB, labeled: int, trusted: int,
    started: float,
) -> Fitted:  # fmt: skip
    who = "group" if "noise_groups" in found.asked else "annotator"
    how = (
        f"The evidence of the columns counts {crowd.trust_:.2f} of what naive Bayes gives it."
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
