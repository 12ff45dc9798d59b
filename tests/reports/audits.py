"""Audits made by hand, without a fit: the same numbers today and tomorrow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from misnomer.audit.numbers import Fitted
from misnomer.audit.result import Audit
from misnomer.audit.shape import Shape
from misnomer.channel import free
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.estimate import Estimate
from misnomer.kernels.blocks import Codes
from misnomer.model import Model
from misnomer.posterior import NoiseMatrix, Posterior
from misnomer.table import Batch, Column, Schema
from misnomer.verdict import Verdict

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'single' </table>",
    "two\nlines\x1b[31m {{ 7 * 7 }}",
    "🦊 fox \u202e desrever",
)


def audit_of(prior, matrix, conditional, codes, given, **names):
    """Judge rows of categories: ``conditional[j][k]`` is P(value of column j | class k)."""
    classes = tuple(names.get("classes", ("cold", "flu")))
    columns = tuple(names.get("columns", ("fever", "cough")))
    values = tuple(names.get("values", ("no", "yes")))
    schema = Schema(tuple(Column(name, "categorical", values) for name in columns))
    channel = replace(free(len(classes)), matrix=np.array(matrix))
    weights = np.concatenate([np.log(table) for table in conditional], axis=1)
    model = Model(np.array(prior), channel, weights, schema)
    given = np.array(given)
    codes = np.array(codes, np.uint8)
    batch = Batch(
        (Codes(codes, (len(values),) * len(columns)),),
        np.where(given < 0, len(classes), given).astype(np.int32),
    )
    classifier = NoisyLabelNB(random_state=0)
    classifier.model_ = model
    table = pa.table(
        [pa.array([values[c] for c in codes[:, j]]) for j in range(len(columns))],
        names=list(columns),
    )
    return _put_together(classifier, batch, given, classes, table, names)


def _put_together(classifier, batch, given, classes, table, names):
    model = classifier.model_
    posterior = model.posterior(batch)
    labeled = int((given >= 0).sum())
    wrong = float((1 - posterior[given >= 0, given[given >= 0]]).sum())
    rate = wrong / labeled
    spread = min(0.05, rate, 1 - rate)
    estimate = Estimate(rate, rate - spread, rate + spread)
    matrix = model.channel.matrix
    return Audit(
        error_rate=estimate,
        error_count=Estimate(wrong, estimate.low * labeled, estimate.high * labeled),
        verdict=names.get(
            "verdict",
            Verdict("checked", ("The columns tell the classes apart.",), {"converged": True}),
        ),
        label=names.get("label", "diagnosis"),
        labels=classes,
        classes=classes,
        given=given.astype(np.int64),
        trusted=np.zeros(len(given), bool),
        shares=Posterior.of(posterior),
        noise=NoiseMatrix.of(matrix, matrix * 0.9, np.minimum(matrix * 1.1, 1.0)),
        prior=model.prior,
        prior_low=model.prior * 0.9,
        prior_high=np.minimum(model.prior * 1.1, 1.0),
        fitted=Fitted(
            {column.name: column.kind for column in model.schema.columns},
            "em", 7, 0.25, True, len(given), labeled, 0, ("Two starts agreed.",),
        ),
        warnings=tuple(names.get("warnings", ())),
        classifier=classifier,
        batch=batch,
        shape=Shape("pyarrow", names.get("index"), table, None),
    )  # fmt: skip


def small_audit(**names):
    """Nine patients, one of them without a label; two labels look wrong."""
    fever = [[0.9, 0.1], [0.1, 0.9]]
    cough = [[0.6, 0.4], [0.2, 0.8]]
    codes = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1], [1, 1], [0, 0], [0, 0]]
    given = [0, 0, 0, 1, 1, 1, 0, -1, 1]
    return audit_of([0.5, 0.5], [[0.9, 0.2], [0.1, 0.8]], [fever, cough], codes, given, **names)


def hostile_audit():
    """Give every name and value a reason to break the page."""
    rng = np.random.default_rng(0)
    matrix = np.full((4, 4), 0.05) + 0.8 * np.eye(4)
    tables = [0.7 * np.eye(4) + 0.075, 0.7 * np.eye(4) + 0.075]
    true = np.arange(80) % 4
    codes = np.column_stack([true, true])
    given = np.where(rng.random(80) < 0.15, (true + 1) % 4, true)
    return audit_of(
        np.full(4, 0.25), matrix, tables, codes, given,
        classes=HOSTILE, values=HOSTILE, columns=("<b>bold</b>", 'on"click="x'),
        label="</title><img src=x onerror=alert(2)>", warnings=("<i>mind</i> this",),
        verdict=Verdict("assumed", ("<u>Only</u> order holds.",), {"<k>": "<v>", "bad": np.nan}),
    )  # fmt: skip


def large_audit(classes=300, columns=40, rows=3000):
    """Make an audit with as many classes and columns as a page may meet."""
    rng = np.random.default_rng(1)
    tables = [rng.dirichlet(np.ones(6) * 0.3, classes) + 1e-3 for _ in range(columns)]
    tables = [table / table.sum(axis=1, keepdims=True) for table in tables]
    matrix = 0.7 * np.eye(classes) + 0.3 * rng.dirichlet(np.ones(classes) * 0.05, classes).T
    true = rng.integers(0, classes, rows)
    codes = np.column_stack(
        [
            (rng.random((rows, 1)) > table[true].cumsum(axis=1)[:, :-1]).sum(axis=1)
            for table in tables
        ]
    )
    given = np.where(rng.random(rows) < 0.3, rng.integers(0, classes, rows), true)
    return audit_of(
        np.full(classes, 1 / classes), matrix, tables, codes, given,
        classes=[f"class {k:03d} with a rather long name" for k in range(classes)],
        columns=[f"column {j}" for j in range(columns)], values=list("abcdef"),
    )  # fmt: skip
