"""The audit of a crowd whose rows were read by batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit.crowd_inputs import Gathered
from misnomer.audit.crowd_rows import Reading
from misnomer.audit.known import with_trusted
from misnomer.audit.leaks import leaks
from misnomer.audit.several import rare
from misnomer.audit.several_inputs import Several
from misnomer.audit.several_numbers import some_rows
from misnomer.audit.several_results import Told, numbers_of
from misnomer.audit.sources import Sources
from misnomer.audit.streamed import Collector, StreamedAudit
from misnomer.audit.streamed_numbers import sample_note, shape_of
from misnomer.classifiers.annotators.crowd import CrowdNB

Array = NDArray[np.float64]


def put_together(
    collected: Collector, said: Gathered, reading: Reading, crowd: CrowdNB, told: Told,
    share: Array, notes: list[str], started: float,
) -> Any:  # fmt: skip
    """Make the audit of what was collected from all rows."""
    batch, some, source = collected.sampled()
    classifier = collected.classifier
    features = said.rows if reading.schema is not None else None
    shape = shape_of(collected, source, said.id)
    found = Several(
        features, said.answers, "majority vote", told.trusted, shape, said.arguments, said.notes
    )
    numbers, _ = numbers_of(found, crowd, classifier, told, share, started)
    notes = [
        *said.notes,
        *(f"left out: {one}" for one in said.left_out),
        *rare(said.answers),
        *notes,
    ]
    notes += leaks(classifier.model_.schema, batch, found.label, said.answers.n_labels)
    audit = StreamedAudit(
        **numbers,
        given=some.given,
        trusted=some.trusted,
        posterior=some.posterior,
        warnings=(*notes, *sample_note(collected)),
        batch=batch,
        shape=shape,
        sources=Sources(
            some_rows(said.answers, collected.sample), crowd.channels_, crowd.trust_ > 0,
            said.arguments, crowd.annotators_,
        ),
        total_rows=collected.n,
        flagged=collected.flagged,
        worst=collected.ranked() if collected.worst else pa.table({}),
        left_out=said.left_out,
    )  # fmt: skip
    return with_trusted(audit)
