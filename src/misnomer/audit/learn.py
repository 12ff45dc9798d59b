"""Fit, judge the training rows, and put the answers together, with what was known beforehand."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from inspect import signature
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from misnomer.audit.checked import known_labels
from misnomer.audit.inputs import Inputs, check_column, gather
from misnomer.audit.numbers import Fitted, Intervals, intervals, leaks, verdict_of
from misnomer.audit.request import Request
from misnomer.audit.result import Audit, places
from misnomer.classifiers import NoisyLabelEstimator, labels
from misnomer.classifiers.inputs import checked_trusted
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.estimate import Estimate
from misnomer.knowledge import Knowledge, channel_of, rows_needed
from misnomer.posterior import Posterior
from misnomer.rows import read_like
from misnomer.rows.frames import arrow_columns
from misnomer.rows.labels import NO_LABEL, no_label
from misnomer.rows.notation import MISSING
from misnomer.table import Batch
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

_MAX_LABELS_PER_ROW = 0.5  # labels per row, where there are many: rather an identifier
_MIN_LABELS_TO_REFUSE = 50


def audit_table(request: Request) -> Any:
    """Audit a table in memory."""
    started = perf_counter()
    inputs = gather(
        request.data, request.label, ignore=request.ignore, id=request.id, trusted=request.trusted,
        ignore_case=request.ignore_case, pred_probs=request.pred_probs,
    )  # fmt: skip
    if request.checked is not None:
        known, design = known_labels(request.checked, inputs.y)
        inputs = replace(inputs, checked=known, design=design)
    check_texts(request, inputs.features)
    classifier = classifier_of(request)
    if request.knowledge is not None:
        classifier = with_knowledge(classifier, request.knowledge, inputs.y)
        return with_knowledge_note(fit_and_judge(inputs, classifier, started), request.knowledge)
    return fit_and_judge(inputs, classifier, started)


def check_texts(request: Request, features: Any) -> None:
    """Refuse texts that are no columns."""
    names = arrow_columns(features)[0] if request.text else ()
    for name in request.text:
        check_column(name, names)


def classifier_of(request: Request) -> NoisyLabelEstimator:
    """Build the default classifier, or take a fresh copy of the user's."""
    if request.classifier is None:
        return NoisyLabelClassifier(
            "auto" if request.learners is None else request.learners,
            families=request.kinds,
            random_state=request.random_state,
            progress=request.progress,
        )
    fresh: NoisyLabelEstimator = clone(request.classifier)
    known = fresh.get_params()
    if request.progress is not None and "progress" in known:
        fresh.set_params(progress=request.progress)
    if request.kinds != "auto" and "families" in known:
        fresh.set_params(families=request.kinds)
    return fresh


def fit_and_judge(
    inputs: Inputs,
    classifier: NoisyLabelEstimator,
    started: float,
    *,
    sensitive: bool = True,
    groups: Any = None,
) -> Audit:
    """Fit the classifier and judge every row; ``sensitive``: see what the rate rests on."""
    _check_labels(inputs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            batch = _rows(inputs, classifier, groups)
        except ValueError as error:
            raise ValueError(inputs.shape.found_by_name(str(error))) from None
    if "progress" in classifier.get_params():
        classifier.set_params(progress=None)
    mask = checked_trusted(inputs.trusted, len(inputs.y))
    none = np.zeros(len(inputs.y), bool)
    trusted = none if mask is None else mask & ~labels.missing(inputs.y)
    notes = [*inputs.notes, *_doubtful(classifier.labels_)]
    notes += dict.fromkeys(str(one.message) for one in caught)
    notes += leaks(classifier.model_.schema, batch, inputs.label, len(classifier.labels_))
    for note in notes:
        warnings.warn(note, stacklevel=4)
    seconds = perf_counter() - started
    audit = _audit(inputs, classifier, batch, trusted, tuple(notes), seconds)
    if not sensitive:
        return audit
    from misnomer.audit.numbers import with_sensitivity

    return with_sensitivity(audit, inputs)


def _check_labels(inputs: Inputs) -> None:
    """Refuse labels that are hardly labels: none at all, one class, a value per row."""
    gaps = labels.missing(inputs.y)
    seen = len(inputs.y) - int(gaps.sum())
    if not seen:
        why = "; ".join(_notes_on_missing(inputs)) or "every cell is empty"
        raise ValueError(f"column {inputs.label!r} holds no label at all: {why}")
    kept = inputs.y[~gaps]
    found = len(np.unique(kept) if kept.dtype.kind in "biufU" else {*kept.tolist()})
    if found == 1:
        only = kept[:1].tolist()[0]
        raise ValueError(
            f"column {inputs.label!r} holds one class only ({only!r}): with nothing to confuse it "
            + "; ".join(["with, no label can be called wrong", *_notes_on_missing(inputs)])
        )
    if found == seen > 2 or (found > _MIN_LABELS_TO_REFUSE and found > _MAX_LABELS_PER_ROW * seen):
        raise ValueError(
            f"column {inputs.label!r} has {found:,} different labels in {seen:,} rows: it is most "
            "likely an identifier or a measurement, not a class; name the column of the classes"
        )


def _notes_on_missing(inputs: Inputs) -> list[str]:
    """List the notes about words that were taken for missing labels: they may be why."""
    return [note for note in inputs.notes if "missing label" in note]


def _doubtful(names: NDArray[Any]) -> list[str]:
    """Warn of labels that may be meant as "missing", and of spellings that may mean one class.

    Examples
    --------
    >>> _doubtful(np.array(["yes", "Yes ", "no"]))[0][:44]
    "the labels 'yes' and 'Yes ' differ in case o"
    """
    texts = [name for name in names.tolist() if isinstance(name, str)]
    words = {name.lower() for name in MISSING} - (NO_LABEL - no_label(texts))
    found = sorted(name for name in {*texts} if name.lower() in words)
    notes = [
        f"the label {name!r} is taken for a class: leave the cell empty if it means no label"
        for name in found
    ]
    alike: dict[str, list[str]] = {}
    for name in texts:
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    for same in (spellings for spellings in alike.values() if len(spellings) > 1):
        spelled = f"{', '.join(map(repr, same[:-1]))} and {same[-1]!r}"
        notes.append(
            f"the labels {spelled} differ in case or blanks only and are taken for {len(same)} "
            "classes: write them alike if they mean one, or say ignore_case (--ignore-case)"
        )
    return notes


def _rows(inputs: Inputs, classifier: NoisyLabelEstimator, groups: Any = None) -> Batch:
    """Fit, and give the rows in the terms of the model."""
    known: dict[str, Any] = {"trusted": inputs.trusted}
    learn = getattr(classifier, "_learn", classifier.fit)
    taken = signature(learn).parameters
    if inputs.checked is not None and "checked" in taken:
        known["checked"] = inputs.checked
        if "design_weight" in taken:
            known["design_weight"] = inputs.design
    if groups is not None:
        known["noise_groups"] = groups
    if inputs.pred_probs is not None:
        known["pred_probs"] = inputs.pred_probs
    found = learn(inputs.features, inputs.y, **known)
    if isinstance(found, Batch):
        return found
    mask = checked_trusted(inputs.trusted, len(inputs.y))
    given = classifier._naming.codes(inputs.y, mask)
    return Batch(read_like(inputs.features, classifier.model_.schema), given)


def _audit(
    inputs: Inputs,
    classifier: NoisyLabelEstimator,
    batch: Batch,
    trusted: NDArray[np.bool_],
    notes: tuple[str, ...],
    seconds: float,
) -> Audit:
    L = len(classifier.labels_)
    names, classes = tuple(classifier.labels_.tolist()), tuple(classifier.classes_.tolist())
    home = places(names, classes)
    given = batch.labels(L)[0].astype(np.int64)
    given[trusted] = classifier._naming.codes(inputs.y[trusted])
    shares = _posterior(classifier, batch)
    wrong = np.where(trusted | (given < 0), 0.0, shares.other_than(home[given]))
    shares = shares.knowing(np.flatnonzero(trusted), home[given[trusted]])
    count, labeled = float(wrong.sum()), int((given >= 0).sum())
    ends = intervals(classifier, batch, count / labeled, labeled, len(batch))
    return put_together(
        classifier,
        ends,
        verdict_of(classifier, batch, ends.rate, labeled),
        count,
        _fitted(classifier, seconds, len(batch), labeled, int(trusted.sum())),
        label=inputs.label,
        given=given,
        trusted=trusted,
        shares=shares,
        warnings=notes,
        batch=batch,
        shape=inputs.shape,
    )


def put_together(
    classifier: NoisyLabelEstimator, ends: Intervals, verdict: Verdict, count: float,
    fitted: Fitted, **rows: Any,
) -> Audit:  # fmt: skip
    """Make an audit of its numbers and of what is kept of its rows, wherever they were read."""
    rate, labeled = ends.rate, fitted.labeled
    low, high = min(count, rate.low * labeled), max(count, rate.high * labeled)
    audit = Audit(
        error_rate=rate,
        error_count=Estimate(count, low, high, rate.confidence),
        verdict=verdict,
        labels=tuple(classifier.labels_.tolist()),
        classes=tuple(classifier.classes_.tolist()),
        noise=ends.noise,
        prior=classifier.class_prior_,
        prior_low=ends.prior_low,
        prior_high=ends.prior_high,
        fitted=fitted,
        classifier=classifier,
        **rows,
    )
    return with_trusted(audit)


def _posterior(classifier: NoisyLabelEstimator, batch: Batch) -> Posterior:
    """Take the solver's own (out of fold) posterior of the training rows, else the model's."""
    found = classifier.fit_.details.posterior
    own = Posterior.of(classifier.model_.posterior(batch) if found is None else found)
    if (len(own), own.n_classes) != (len(batch), len(classifier.classes_)):
        raise ValueError(f"the solver's posterior has shape {own.share.shape}, not a row per row")
    return own


def _fitted(
    classifier: NoisyLabelEstimator, seconds: float, rows: int, labeled: int, trusted: int
) -> Fitted:
    details = classifier.fit_.details
    return Fitted(
        families={column.name: column.kind for column in classifier.model_.schema.columns},
        solver=str(details.solver or classifier.solver),
        iterations=int(classifier.n_iter_),
        seconds=seconds,
        converged=bool(classifier.converged_),
        rows=rows,
        labeled=labeled,
        trusted=trusted,
        notes=details.notes,
    )


Found = TypeVar("Found", bound=Audit)


def with_knowledge(
    classifier: NoisyLabelEstimator, knowledge: Any, y: NDArray[Any]
) -> NoisyLabelEstimator:
    """Give a classifier the channel that is known in part; EM finds what is open.

    Of the labels ``y`` only the names count: a list of these will do.
    """
    names = labels.distinct(y, labels.missing(y))
    channel = channel_of(parts_of(knowledge, names.tolist()), names.tolist())
    if "channel" in classifier.get_params():
        known: NoisyLabelEstimator = classifier.set_params(channel=channel, solver="em")
        return known
    return NoisyLabelNB(
        channel=channel,
        solver="em",
        families=classifier.families,
        random_state=classifier.random_state,
        progress=classifier.progress,
    )


def parts_of(knowledge: Any, names: list[Any]) -> dict[str, Any]:
    """List what is known by the parts of `Knowledge`, its classes spelled as in the data."""
    said = knowledge if isinstance(knowledge, Mapping) else _parts(knowledge)
    return match_spelling(said, names)


def with_trusted(audit: Found) -> Found:
    """Let the verdict say what the trusted rows are worth, where there are any."""
    if not audit.fitted.trusted:
        return audit
    said = trusted_words(audit.fitted.trusted, audit.error_rate.value)
    verdict = replace(audit.verdict, sentences=(*audit.verdict.sentences, said))
    return replace(audit, verdict=verdict)


def trusted_words(trusted: int, rate: float) -> str:
    """Say how many rows are trusted, and how many random ones would tell the rate by themselves.

    Examples
    --------
    >>> trusted_words(50, 0.2)[:60]
    '50 rows are trusted. A trusted subset drawn at random identi'
    """
    rows = "1 row is trusted" if trusted == 1 else f"{trusted:,} rows are trusted"
    return (
        f"{rows}. A trusted subset drawn at random identifies everything: {rows_needed(rate):,} "
        f"such rows tell a rate of {rate:.1%} to within 2 points (90 % confidence); rows picked "
        "because they look right or wrong do not."
    )


def with_knowledge_note(audit: Found, knowledge: Any) -> Found:
    """Write down what was known beforehand, for the report."""
    said = dict(knowledge) if isinstance(knowledge, Mapping) else _parts(knowledge)
    words = ", ".join(f"{part} = {value!r}" for part, value in said.items())
    notes = (*audit.fitted.notes, f"Known beforehand: {words}.")
    return replace(audit, fitted=replace(audit.fitted, notes=notes))


def _parts(knowledge: Any) -> dict[str, Any]:
    if not isinstance(knowledge, Knowledge):
        raise ValueError(f"knowledge is a Knowledge or a mapping of its parts, not {knowledge!r}")
    return {part.name: getattr(knowledge, part.name) for part in fields(knowledge)}


def match_spelling(said: Mapping[str, Any], names: list[Any]) -> dict[str, Any]:
    """Replace words by the classes that are written so: "1" by 1.

    Examples
    --------
    >>> match_spelling({"rates": {"1": 0.2}, "never": [("0", "1")], "most": 0.3}, [0, 1])
    {'rates': {1: 0.2}, 'never': [(0, 1)], 'most': 0.3}
    """
    written = {str(name): name for name in names}

    def name(one: Any) -> Any:
        return written.get(one, one) if isinstance(one, str) and one not in names else one

    out = dict(said)
    for part in ("rates", "most"):
        if isinstance(out.get(part), Mapping):
            out[part] = {name(one): value for one, value in out[part].items()}
    if isinstance(out.get("cells"), Mapping):
        out["cells"] = {(name(g), name(t)): value for (g, t), value in out["cells"].items()}
    if "never" in out:
        out["never"] = [(name(g), name(t)) for g, t in out["never"]]
    return out
