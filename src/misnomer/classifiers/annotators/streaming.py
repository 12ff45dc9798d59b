"""Fitting a crowd whose rows need not fit in memory: the answers are here, the columns may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from misnomer.answers import Answers
from misnomer.classifiers.annotators.crowd import CrowdNB
from misnomer.solvers.annotators.columns import Passes
from misnomer.solvers.annotators.fit import learn_sources
from misnomer.table import Batch, Schema


def fit_crowd(
    crowd: CrowdNB,
    answers: Answers,
    schema: Schema | None,
    batches: Sequence[Batch],
    passes: Passes,
    truth: Any = None,
) -> CrowdNB:
    """Learn from answers and from compact rows, wherever those are; the solver is the same.

    Parameters
    ----------
    crowd : CrowdNB
        An unfitted classifier, with its options; it is fitted and returned.
    answers : Answers
        Who said what.
    schema, batches
        The columns and the rows, in the order in which the answers number them; a schema of None
        leaves the columns out.
    passes : Passes
        Who goes over the batches.
    truth : array (n,), optional
        The true class of the rows where it is known, missing elsewhere.
    """
    crowd._check(answers)
    columns = None
    if schema is not None and schema.statistics:
        columns = crowd._columns(answers, schema, batches, passes=passes)
        names = [column.name for column in schema.columns]
        crowd.n_features_in_ = len(names)
        crowd.feature_names_in_ = np.array(names, dtype=object)
    task = crowd._posed(answers, truth, schema=schema, columns=columns)
    crowd._keep(answers, learn_sources(task))
    return crowd
