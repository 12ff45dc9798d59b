"""audit() with several annotators, or with groups of rows that err in their own way.

Who fits does not know where the rows are: in memory, in batches that spill to disk, or with a
cluster's workers. The answers and P(true class) live here: people gave them, so they are not too
many.
"""

from __future__ import annotations

import os
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

from misnomer import engines
from misnomer.answers import Answers
from misnomer.audit import learn
from misnomer.audit.checked import checked_rows, known_labels
from misnomer.audit.collector import Judging, RowsTo, StoredPosterior, without_details
from misnomer.audit.crowds import Sources, audit_groups
from misnomer.audit.crowds.consensus import consensus, some_rows
from misnomer.audit.crowds.gather import (
    VOTE,
    Gathered,
    Votes,
    gather_answers,
    inputs_of,
    label_columns,
    rare,
    votes_of,
)
from misnomer.audit.inputs import Inputs
from misnomer.audit.learn import parts_of, with_knowledge_note
from misnomer.audit.numbers import leaks
from misnomer.audit.request import Request, bytes_of
from misnomer.audit.result import Audit
from misnomer.audit.stream import (
    judge_and_conclude,
    kept_rows,
    notes_of,
    resident,
    scan_request,
    with_lazy_rows,
)
from misnomer.classifiers.annotator_table import GroupTable
from misnomer.classifiers.crowd import CrowdNB, fit_crowd
from misnomer.classifiers.terms import RowTerms, understand_columns, yes_or_no
from misnomer.rows.parts import Part
from misnomer.rows.scan import Scan
from misnomer.table import Batch, CheckedRows


def audit_sources(request: Request) -> Audit:
    """Audit a table with several labels a row, or with labels of several groups."""
    started = perf_counter()
    inputs = inputs_of(request)
    assert inputs.answers is not None
    if inputs.features is not None:
        learn.check_texts(request, inputs.features)
    if request.is_grouped and request.classifier is None and request.knowledge is None:
        single = inputs
        if request.checked is not None:
            known, design = known_labels(request.checked, inputs.y)
            single = replace(inputs, checked=known, design=design)
        by_default = audit_groups(single, request.kinds, request.random_state, started)
        if by_default is not None:
            return by_default
    crowd = crowd_of(request, inputs.answers.labels)
    audit = fit_and_judge(inputs, crowd, started, _checked(request, inputs.answers))
    return audit if request.knowledge is None else with_knowledge_note(audit, request.knowledge)


def crowd_of(request: Request, labels: NDArray[Any]) -> CrowdNB:
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


def fit_and_judge(
    inputs: Inputs, crowd: CrowdNB, started: float, checked: CheckedRows | None
) -> Audit:
    """Fit, judge every row, and put the answers together."""
    answers = inputs.answers
    assert answers is not None
    votes = votes_of(answers, inputs.trusted, checked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema, rows = crowd._rows(inputs.features)
        fit_crowd(crowd, answers, schema, rows, votes.truth)
    grouped, has_columns = "noise_groups" in inputs.asked, inputs.features is not None
    found = consensus(crowd, votes, grouped=grouped, has_columns=has_columns)
    blocks = rows[0].blocks if rows else ()
    batch = Batch(blocks, votes.codes(answers.n_labels))
    notes = [*inputs.notes, *rare(answers), *(str(one.message) for one in caught)]
    notes += leaks(schema, batch, inputs.label, answers.n_labels)
    for note in notes:
        warnings.warn(note, stacklevel=5)
    seconds = perf_counter() - started
    audit = learn._audit(inputs, found.classifier, batch, votes.trusted, tuple(notes), seconds)
    return with_sources(audit, answers, crowd, inputs.asked, found.groups)


def with_sources(
    audit: Audit, answers: Answers, crowd: CrowdNB, asked: Any, groups: GroupTable | None = None
) -> Audit:
    """Add who gave the labels; of so many rows that a sample is kept, ``answers`` are about it."""
    annotators = crowd.annotators_ if groups is None else None
    sources = Sources(answers, crowd.channels_, crowd.trust_ > 0, asked, annotators, groups)
    return replace(audit, sources=sources, classifier=without_details(audit.classifier))


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
        said = gather_answers(
            scan_request(request, cluster, label_columns(request)), request, mapped
        )
        pa.default_memory_pool().release_unused()
        checked = _checked(request, said.answers)
        votes = votes_of(said.answers, _trusted(said.rows, request, mapped), checked)
        memory = request.memory_bytes - check_room(said.answers, request.memory, used)
        crowd = crowd_of(request, said.answers.labels)
        terms = _terms(said, crowd, request, checked, mapped)
        _fit(crowd, said, terms, votes, memory, cluster)
    found = consensus(crowd, votes, grouped=False, has_columns=bool(terms.schema.columns))
    known = StoredPosterior(votes.codes(said.answers.n_labels), found.posterior)
    notes = [*said.notes, *notes_of(terms), *rare(said.answers)]
    notes += [str(one.message) for one in caught]
    judging = Judging(said.rows, found.classifier, terms, known)
    audit, totals = judge_and_conclude(
        request, cluster, rows_to, judging, said.sizes, notes, started
    )
    audit = with_sources(audit, some_rows(said.answers, totals.sample), crowd, said.asked)
    return with_lazy_rows(request, audit, judging, said.sizes) if request.is_lazy else audit


def _terms(
    said: Gathered, crowd: CrowdNB, request: Request, checked: CheckedRows | None, mapped: Any
) -> RowTerms:
    """Look at all rows once: what their columns are, and which ones only number the rows."""
    terms = understand_columns(
        said.rows, said.excluded, crowd.families, skip_bad=request.skip_bad, mapped=mapped
    )[1]
    rows, left_out = said.answers.n_rows, said.left_out
    return replace(terms, label=VOTE, id=said.id, rows=rows, left_out=left_out, checked=checked)


def _trusted(rows: Scan, request: Request, mapped: Any) -> Any:
    """Read which rows are known to be right, (n,)."""
    if request.trusted is None:
        return None
    read = partial(_flags, name=request.trusted, skip_bad=request.skip_bad)
    return np.concatenate(list(mapped(read, rows.parts)))


def _flags(part: Part, name: str, skip_bad: bool) -> NDArray[np.bool_]:
    read = part.batches([name], [] if skip_bad else None)
    return np.concatenate([np.zeros(0, bool), *(yes_or_no(one.column(0), name) for one in read)])


def _fit(
    crowd: CrowdNB, said: Gathered, terms: RowTerms, votes: Votes, memory: int, cluster: Any
) -> None:
    """Put the columns into compact form, here or where they are, and learn."""
    rows: Any = []
    if terms.columns:
        rows = kept_rows(said.rows, terms, memory, cluster)
        if rows.rows != terms.rows:
            raise ValueError(
                f"there were {terms.rows:,} rows, and now there are {rows.rows:,}: was the file "
                "changed?"
            )
        crowd.feature_names_in_ = np.array([c.name for c in terms.schema.columns], dtype=object)
        crowd.n_features_in_ = len(terms.schema.columns)
    passes: Any = engines if cluster is None or not terms.columns else cluster
    fit_crowd(crowd, said.answers, terms.schema, rows, votes.truth, passes)


# Bytes at most, measured: for a row and a class while the search runs (a dozen numbers), for an
# answer while classes and characters are drawn, for a cell of somebody's channel.
_CELL, _ANSWER, _CHANNEL = 100, 100, 64


def room_of(answers: Answers) -> int:
    """Estimate how many bytes learning from the answers takes, the columns apart."""
    n, K = answers.n_rows, answers.n_labels
    return _CELL * n * K + _ANSWER * len(answers) + _CHANNEL * answers.n_annotators * K * K


def check_room(answers: Answers, memory: str | int | None, used: int = 0) -> int:
    """Refuse answers that do not fit; return how many bytes they take.

    The cap is what the user said, ``used`` of it before; else what the machine has left.
    """
    needed = room_of(answers)
    most = _free() + used if memory is None else bytes_of(memory)
    if needed + used > most:
        raise ValueError(
            f"{len(answers):,} answers about {answers.n_rows:,} rows of {answers.n_labels} classes "
            f"take about {_written(needed + used)}, which is more than {_written(most)}: allow "
            "more with memory=, or take a sample of whole rows"
        )
    return needed


def _free() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


def _written(size: int) -> str:
    """Write an amount of memory.

    Examples
    --------
    >>> _written(1_500_000_000), _written(20_000_000)
    ('1.5GB', '20MB')
    """
    return f"{size / 1e9:.1f}GB" if size >= 10**9 else f"{size / 1e6:.0f}MB"
