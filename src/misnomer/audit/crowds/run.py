"""audit() with several annotators, or with groups of rows that err in their own way.

Of rows that do not fit in memory the answers and P(true class) live here: people gave them, so they
are not too many. The columns stay by batches, in memory or on disk, or with a cluster's workers.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from misnomer.answers import Answers
from misnomer.audit import learn
from misnomer.audit.batches.collector import RowsTo, answers, lightened, row_columns
from misnomer.audit.batches.stream import compact_memory, resident, scanned
from misnomer.audit.checked import checked_rows, known_labels
from misnomer.audit.crowds import reading as tables
from misnomer.audit.crowds.batched_rows import (
    Known,
    Reading,
    check_room,
    judging,
    trusted_rows,
    understood,
)
from misnomer.audit.crowds.groups import audit_groups
from misnomer.audit.crowds.reading import Gathered, Several, gathered, label_columns
from misnomer.audit.crowds.results import (
    Votes,
    judged_rows,
    numbers_of,
    put_together,
    rare,
    votes_of,
)
from misnomer.audit.crowds.sources import Sources
from misnomer.audit.known import noted, parts_of, with_trusted
from misnomer.audit.leaks import leaks
from misnomer.audit.request import DEFAULT_MEMORY, Request, bytes_of
from misnomer.audit.result import Audit
from misnomer.classifiers.annotators.crowd import CrowdNB, fit_crowd
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.engines import local
from misnomer.engines.stream import Stream
from misnomer.posterior import Posterior
from misnomer.rows import read_like
from misnomer.table import Batch, CheckedRows

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def audit_sources(request: Request) -> Audit:
    """Audit a table with several labels a row, or with labels of several groups."""
    started = perf_counter()
    found = tables.several_of(request)
    if found.features is not None:
        learn.check_texts(request, found.features)
    if request.checked is not None and found.single is not None:
        known, design = known_labels(request.checked, found.single.y)
        found = replace(found, single=replace(found.single, checked=known, design=design))
    if found.single is not None and request.classifier is None and request.knowledge is None:
        by_default = audit_groups(found, request.kinds, request.random_state, started)
        if by_default is not None:
            return by_default
    crowd = prepared(request, found.answers.labels)
    audit = learned(found, crowd, started, _checked(request, found.answers))
    return audit if request.knowledge is None else noted(audit, request.knowledge)


def prepared(request: Request, labels: NDArray[Any]) -> CrowdNB:
    """Build the default classifier, or take a fresh copy of the user's."""
    seed, given = request.random_state, request.classifier
    if not isinstance(seed, int):
        seed = int(check_random_state(seed).randint(np.iinfo(np.int32).max))
    if given is not None and not isinstance(given, CrowdNB):
        raise ValueError(
            f"several annotators or groups need a CrowdNB, not a {type(given).__name__}"
        )
    crowd: CrowdNB = CrowdNB(random_state=seed) if given is None else clone(given)
    if request.kinds != "auto":
        crowd.set_params(families=request.kinds)
    if request.knowledge is not None:
        crowd.set_params(knowledge=parts_of(request.knowledge, labels.tolist()))
    return crowd


def _checked(request: Request, answers: Answers) -> CheckedRows | None:
    """Take what a person has said of rows: it settles what their annotators were worth."""
    return None if request.checked is None else checked_rows(request.checked, answers.labels)


def learned(
    found: Several, crowd: CrowdNB, started: float, checked: CheckedRows | None = None
) -> Audit:
    """Fit, judge every row, and put the answers together."""
    answers = found.answers
    votes = votes_of(answers, found.trusted, checked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        crowd.fit(found.features, answers=answers, truth=votes.truth(answers.labels))
    notes = [*found.notes, *rare(answers), *(str(one.message) for one in caught)]
    share, classifier = judged_rows(crowd, votes)
    batch = _batch(found, classifier, votes)
    notes += leaks(classifier.model_.schema, batch, found.label, answers.n_labels)
    for note in notes:
        warnings.warn(note, stacklevel=5)
    numbers, groups = numbers_of(found, crowd, classifier, votes, share, started)
    sources = Sources(
        answers, crowd.channels_, crowd.trust_ > 0, found.asked,
        crowd.annotators_ if groups is None else None, groups,
    )  # fmt: skip
    return with_trusted(
        Audit(
            **numbers,
            given=votes.given,
            trusted=votes.trusted,
            shares=Posterior.of(share),
            warnings=tuple(notes),
            batch=batch,
            shape=found.shape,
            sources=sources,
        )
    )


def _batch(found: Several, classifier: NoisyLabelEstimator, votes: Votes) -> Batch:
    """Read the rows in the terms of the model."""
    schema = classifier.model_.schema
    blocks = read_like(found.features, schema) if schema.columns else ()
    return Batch(blocks, votes.codes(len(classifier.labels_)))


def audit_batches(request: Request, cluster: Any, rows_to: RowsTo | None) -> Audit:
    """Audit rows with several labels each, in bounded memory, here or where they are.

    Of a Dask data frame with a column per annotator ``rows`` is a lazy frame with the input's index
    and partitions; with a line per answer rows are no partition's own.
    """
    if hasattr(request.data, "rechunk"):
        raise ValueError("annotators are named by columns: pass a frame or a file, not an array")
    started, used = perf_counter(), resident()
    mapped: Any = map if cluster is None else cluster.map
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said = gathered(scanned(request, cluster, label_columns(request)), request, mapped)
        pa.default_memory_pool().release_unused()
        checked = _checked(request, said.answers)
        votes = votes_of(said.answers, _trusted(said, request, mapped), checked)
        room = check_room(said.answers, request.memory, used)
        crowd = prepared(request, said.answers.labels)
        reading, notes = understood(
            said.rows, said.apart, crowd.families, skip_bad=request.skip_bad, mapped=mapped
        )
        truth = votes.truth(said.answers.labels)
        left = bytes_of(request.memory or DEFAULT_MEMORY) - room
        _fit_batches(crowd, said, reading, truth, left, cluster)
    share, judge = judged_rows(crowd, votes)
    known = Known(votes.codes(said.answers.n_labels), share, checked)
    rows = judging(said, reading, judge, known)
    if cluster is None:
        collector = rows.here(rows_to)
    else:
        collector = rows.there(cluster, said.sizes, known.parts(said.sizes), rows_to)
    notes += [str(one.message) for one in caught]
    read = None if request.is_lazy else rows.read_again
    audit = put_together(collector, said, reading, crowd, votes, share, notes, started, read)
    audit = audit if request.knowledge is None else noted(audit, request.knowledge)
    return _with_lazy_rows(request, audit, known.parts(said.sizes)) if request.is_lazy else audit


def _trusted(said: Gathered, request: Request, mapped: Any) -> Any:
    if request.trusted is None:
        return None
    return trusted_rows(said.rows, request.trusted, skip_bad=request.skip_bad, mapped=mapped)


def _fit_batches(
    crowd: CrowdNB, said: Gathered, reading: Reading, truth: Any, memory: int, cluster: Any
) -> None:
    """Put the columns into compact form, here or where they are, and learn."""
    if not reading.used:
        fit_crowd(crowd, said.answers, None, [], local, truth)
    elif cluster is None:
        read = said.rows.batches([c.name for c in reading.used], [] if reading.skip_bad else None)
        rows = Stream(map(reading.batch, read), memory=compact_memory(memory))
        pa.default_memory_pool().release_unused()
        _check_rows(said, rows.rows)
        fit_crowd(crowd, said.answers, reading.schema, rows, local, truth)
    else:
        kept = cluster.keep(reading.batches, said.rows.parts)
        _check_rows(said, kept.rows)
        fit_crowd(crowd, said.answers, reading.schema, kept, cluster, truth)


def _check_rows(said: Gathered, rows: int) -> None:
    if rows != said.answers.n_rows:
        raise ValueError(
            f"there were {said.answers.n_rows:,} rows, and now there are {rows:,}: was the file "
            "changed?"
        )


def _with_lazy_rows(request: Request, audit: Audit, known: list[Known]) -> Audit:
    """Let the rows of a data frame with a column per annotator be a lazy frame."""
    if request.long is not None or not hasattr(request.data, "divisions"):
        return audit
    from misnomer.engines.dask import lazily_beside

    step = partial(known_frame, lightened(audit.classifier))
    none = Known(np.zeros(0, np.int32), np.zeros((0, len(audit.classes))))
    lazy = lazily_beside(request.data, step, known, step(request.data._meta, none))
    return replace(audit, lazy=lazy)


def known_frame(classifier: NoisyLabelEstimator, frame: Any, known: Known) -> Any:
    """List what is known of the rows of one partition; its index stays."""
    found = answers(classifier, Batch((), known.codes), known.share)
    out = row_columns(classifier, found, 0).drop_columns(["row"]).to_pandas()
    return out.set_axis(frame.index, axis=0)
