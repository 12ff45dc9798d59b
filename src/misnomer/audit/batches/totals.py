"""The numbers of an audit by batches: the rate and its interval, the verdict, the notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from misnomer.audit import learn, numbers
from misnomer.audit.batches.collector import Collector
from misnomer.audit.frames import Shape, default_backend
from misnomer.audit.known import with_trusted
from misnomer.audit.leaks import leaks
from misnomer.audit.result import AllRows, Audit
from misnomer.classifiers.streaming import Terms
from misnomer.engines.stream import joined
from misnomer.estimate import Estimate, normal_quantile


def put_together(
    found: Collector, terms: Terms, id: str | None, said: list[str], seconds: float, read: Any
) -> Audit:
    """Make the audit of what was collected from all rows; ``read`` reads and judges them again."""
    classifier = found.classifier
    batch, some, source = found.sampled()
    spread = _intervals(found)
    rate = spread.rate
    notes = _notes(found, terms, batch, said)
    fitted = learn._fitted(classifier, seconds, found.n, found.labeled, found.trusted)
    audit = Audit(
        error_rate=rate,
        error_count=Estimate(
            found.count, *learn._held(found.count, rate, found.labeled), rate.confidence
        ),
        verdict=_verdict(found, rate),
        label=terms.label,
        labels=tuple(classifier.labels_.tolist()),
        classes=tuple(classifier.classes_.tolist()),
        given=some.given,
        trusted=some.trusted,
        shares=some.shares,
        **learn._shares(classifier, spread),
        fitted=fitted,
        warnings=tuple(notes),
        classifier=classifier,
        batch=batch,
        shape=shape_of(found, source, id),
        left_out=terms.left_out,
        all_rows=all_rows_of(found, read),
    )
    return with_trusted(audit)


def all_rows_of(found: Collector, read: Any) -> AllRows | None:
    """Take down what is known of all rows; nothing where the audit lists all of them."""
    if len(found.sample) == found.n:
        return None
    worst = found.ranked() if found.worst else pa.table({})
    return AllRows(found.flagged, worst, read, found.sample)


def shape_of(found: Collector, source: pa.Table, id: str | None) -> Shape:
    """Hand rows out as frames; those of a sample are named by their places in the input."""
    index = None
    if len(found.sample) < found.n and default_backend() == "pandas":
        import pandas as pd  # type: ignore[import-untyped]

        index = pd.Index(found.sample)
    return Shape(default_backend(), index, source, id)


def _intervals(found: Collector) -> Any:
    """Draw the intervals from the rows that an audit in memory would draw them from."""
    classifier = found.classifier
    rate = found.count / found.labeled
    some = joined(found.bootstrap)
    if classifier.fit_.details.intervals is None and len(some) < found.n:
        return numbers.intervals(classifier, some, rate, _drawn(found, some, rate))
    return numbers.intervals(classifier, some, rate)


def _drawn(found: Collector, some: Any, rate: float) -> dict[str, Any]:
    classifier, model = found.classifier, found.classifier.model_
    virtual = classifier.fit_.details.virtual
    spread: list[Any]
    if virtual is None or not model.channel.free.any():
        chance = np.sqrt(rate * (1 - rate) / found.labeled)
        shares = np.sqrt(model.prior * (1 - model.prior) / found.n)
        spread = [chance, np.zeros_like(model.channel.matrix), shares]
    else:
        rng = np.random.default_rng(0)
        rng.choice(found.n, len(some), replace=False)  # the rows were chosen by it before
        draws = [numbers._refit(classifier, some, virtual, rng) for _ in range(numbers._DRAWS)]
        scale = np.sqrt(len(some) / found.n)
        spread = [scale * np.array(part).std(axis=0, ddof=1) for part in zip(*draws, strict=True)]
    reach = [normal_quantile(numbers.CONFIDENCE) * one for one in spread]
    center = [rate, model.channel.matrix, classifier.class_prior_]
    ends = [(c - r, c + r) for c, r in zip(center, reach, strict=True)]
    return dict(zip(("error_rate", "noise_matrix", "class_prior"), ends, strict=True))


def _verdict(found: Collector, rate: Estimate) -> Any:
    classifier = found.classifier
    if classifier.fit_.details.verdict is not None:
        return numbers.judged(classifier, joined(found.bootstrap), rate, found.labeled)
    tests = numbers._tests(classifier, joined(found.bootstrap), rate, found.labeled)
    tests["rows_of_the_smallest_class"] = float(classifier.model_.prior.min() * found.n)
    tests["certainty_of_the_columns"] = found.certainty / found.n
    return numbers.with_smallest_class(numbers._plain(tests), classifier.classes_)


def _notes(found: Collector, terms: Terms, batch: Any, said: list[str]) -> list[str]:
    classifier = found.classifier
    notes = [f"column {name!r} only numbers the rows: it is ignored" for name in terms.numbering]
    notes += [f"left out: {one}" for one in terms.left_out]
    notes += learn._doubtful(classifier.labels_)
    notes += said
    notes += leaks(classifier.model_.schema, batch, terms.label, len(classifier.labels_))
    return [*notes, *sample_note(found)]


def sample_note(found: Collector) -> list[str]:
    """Say that rows are shown of a sample only, where they are."""
    if len(found.sample) == found.n:
        return []
    return [
        f"{found.n:,} rows were judged, {found.flagged:,} labels flagged; what is shown row by "
        f"row is a random sample of {len(found.sample):,} rows, and the list of issues holds the "
        "worst of all"
    ]
