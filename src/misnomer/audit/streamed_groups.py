"""Groups of rows, and errors known beforehand, where rows are read by batches or on a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from misnomer.answers import Answers
from misnomer.audit.known import knowing
from misnomer.audit.several_groups import told_apart, with_groups
from misnomer.audit.streamed import Collector, StreamedAudit
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.inputs import named
from misnomer.classifiers.terms import Terms


def by_knowledge(
    classifier: NoisyLabelEstimator, terms: Terms, knowledge: Any
) -> tuple[NoisyLabelEstimator, Terms]:
    """Let the classifier start from what is known of the errors, where that was said."""
    if knowledge is None:
        return classifier, terms
    known = knowing(classifier, knowledge, terms.naming.labels)
    return known, replace(terms, naming=named(terms.naming.labels, known.channel, terms.rows))


def check_groups(classifier: NoisyLabelEstimator, terms: Terms) -> None:
    """Refuse rows of which the default can learn nothing: groups need it."""
    if terms.group is not None and classifier.fit_.details.get("groups") is None:
        why = "; ".join(classifier.fit_.details.get("notes", ()))
        raise ValueError(
            f"groups cannot be told apart by batches here: {why} Leave memory, skip_bad, "
            "checkpoint and cluster out to audit the rows at once"
        )


def grouped(audit: StreamedAudit, found: Collector, terms: Terms) -> StreamedAudit:
    """Add what was found of the groups, where they were named; the rows listed are a sample."""
    if terms.group is None:
        return audit
    varied = told_apart(audit.classifier)
    assert varied is not None and audit.batch.group is not None
    row = np.flatnonzero(audit.given >= 0).astype(np.int32)
    answers = Answers(
        row,
        audit.batch.group[row],
        audit.given[row].astype(np.int32),
        len(audit.given),
        np.array(terms.groups),
        np.array(audit.labels),
    )
    asked = {"label": terms.label, "noise_groups": terms.group}
    return with_groups(audit, answers, varied, found.by_group, asked)
