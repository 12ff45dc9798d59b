"""audit() with several annotators, or with groups of rows that err in their own way."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from misnomer.answers import Answers
from misnomer.audit import learn, several_inputs
from misnomer.audit.known import noted, parts_of, with_trusted
from misnomer.audit.leaks import leaks
from misnomer.audit.result import Audit
from misnomer.audit.several_groups import audit_groups
from misnomer.audit.several_inputs import Several
from misnomer.audit.several_results import Told, judged_rows, numbers_of, told_of
from misnomer.audit.sources import Sources
from misnomer.classifiers.annotators.crowd import CrowdNB
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.rows import read_like
from misnomer.table import Batch

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
    crowd = prepared(classifier, families, random_state)
    if knowledge is None:
        return learned(found, crowd, started)
    crowd.set_params(knowledge=parts_of(knowledge, found.answers.labels.tolist()))
    return noted(learned(found, crowd, started), knowledge)


def prepared(classifier: Any, families: Any, random_state: Any) -> CrowdNB:
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


def learned(found: Several, crowd: CrowdNB, started: float) -> Audit:
    """Fit, judge every row, and put the answers together."""
    answers = found.answers
    told = told_of(answers, found.trusted)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        crowd.fit(found.features, answers=answers, truth=told.truth(answers.labels))
    notes = [*found.notes, *rare(answers), *(str(one.message) for one in caught)]
    share, classifier = judged_rows(crowd, told)
    batch = _batch(found, classifier, told)
    notes += leaks(classifier.model_.schema, batch, found.label, answers.n_labels)
    for note in notes:
        warnings.warn(note, stacklevel=5)
    numbers, groups = numbers_of(found, crowd, classifier, told, share, started)
    sources = Sources(
        answers, crowd.channels_, crowd.trust_ > 0, found.asked,
        crowd.annotators_ if groups is None else None, groups,
    )  # fmt: skip
    return with_trusted(
        Audit(
            **numbers,
            given=told.given,
            trusted=told.trusted,
            posterior=share,
            warnings=tuple(notes),
            batch=batch,
            shape=found.shape,
            sources=sources,
        )
    )


def _batch(found: Several, classifier: NoisyLabelEstimator, told: Told) -> Batch:
    """Read the rows in the terms of the model."""
    schema = classifier.model_.schema
    blocks = read_like(found.features, schema) if schema.columns else ()
    return Batch(blocks, told.codes(len(classifier.labels_)))
