"""Can this data tell? The solver's own verdict, else a plain one."""

from __future__ import annotations

from typing import Any

import numpy as np

from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.estimate import Estimate
from misnomer.table import Batch
from misnomer.verdict import Verdict

_FEW = 10  # rows of a class
_WIDE = 0.10  # half the interval of the error rate
_SEPARATE = 0.75  # mean probability of the best class from the columns alone


def judged(classifier: NoisyLabelEstimator, batch: Batch, rate: Estimate, labeled: int) -> Verdict:
    """Take the verdict that the solver found (``details["verdict"]``), or look at a few numbers."""
    untested = labels_taken_as_true(classifier)
    if untested:
        return Verdict("cannot tell", (untested,))
    found = classifier.fit_.details.get("verdict")
    if isinstance(found, Verdict):
        return found
    if found is not None:
        return Verdict(found.level, tuple(found.sentences), dict(found.tests))
    return _plain(_tests(classifier, batch, rate, labeled))


def labels_taken_as_true(classifier: NoisyLabelEstimator) -> str:
    """Say why no label could be doubted, where the channel was to be learned and was not."""
    channel = classifier.model_.channel
    asked = classifier.channel == "auto" and not channel.free.any()
    notes = classifier.fit_.details.get("notes", ()) if asked else ()
    return str(notes[0]) if notes else ""


def _tests(
    classifier: NoisyLabelEstimator, batch: Batch, rate: Estimate, labeled: int
) -> dict[str, Any]:
    model, L = classifier.model_, len(classifier.labels_)
    alone = model.posterior(batch.judged_by(np.full(len(batch), L, np.int32)))
    matrix = model.channel.matrix
    square = matrix.shape[0] == matrix.shape[1]
    return {
        "converged": bool(classifier.converged_),
        "labels": labeled,
        "rows_of_the_smallest_class": float(model.prior.min() * len(batch)),
        "half_interval": (rate.high - rate.low) / 2,
        "certainty_of_the_columns": float(alone.max(axis=1).mean()),
        "diagonal_is_largest": bool(square and (matrix.argmax(axis=0) == range(len(matrix))).all()),
    }


def _plain(tests: dict[str, Any]) -> Verdict:
    """Turn the numbers into a level and sentences; without a test, no number is to be trusted."""
    lost, doubtful = [], []
    if not tests["diagonal_is_largest"]:
        lost.append("For some class another label is more usual than its own.")
    if tests["certainty_of_the_columns"] < _SEPARATE:
        doubtful.append(
            "The columns say little about the class "
            f"(mean certainty {tests['certainty_of_the_columns']:.0%}), "
            "so many errors cannot be seen."
        )
    if tests["rows_of_the_smallest_class"] < _FEW:
        doubtful.append(
            f"The smallest class has about {tests['rows_of_the_smallest_class']:.0f} rows."
        )
    if tests["half_interval"] > _WIDE:
        doubtful.append("The interval of the error rate is wide.")
    if not tests["converged"]:
        doubtful.append("The fit had not settled when it was stopped.")
    untested = (
        "This solver did not test whether the columns speak independently of each other; "
        "where they repeat each other, the number of errors is overstated."
    )
    return Verdict("cannot tell" if lost else "assumed", (*lost, *doubtful, untested), tests)
