"""Made-up tables for the engines: every family, missing cells and labels, wrong labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from misnomer.audit.files.folder import save_run
from misnomer.audit.request import request_of, run
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.classifiers.terms import compact, fit_rows, understand
from misnomer.engines import Stream
from misnomer.rows.parts import TablePart
from misnomer.rows.scan import Scan

WORDS = ["red", "blue", "green", "tea", "milk", "salt"]


def table(n: int = 900, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    names = np.array(["x", "y", "z"], object)
    label = names[z]
    wrong = rng.random(n) < 0.1
    label[wrong] = names[rng.integers(0, 3, wrong.sum())]
    label[rng.random(n) < 0.05] = None
    size = rng.normal(z, 1.0)
    size[rng.random(n) < 0.1] = np.nan
    color = np.array(list("abcd"), object)[z + rng.integers(0, 2, n)]
    color[rng.random(n) < 0.1] = None
    note = [" ".join(rng.choice(WORDS, 5)) + f" w{i}" for i in range(n)]
    return pa.table(
        {
            "size": pa.array(size, from_pandas=True),
            "color": pa.array(color.tolist()),
            "few": rng.integers(0, 5, n) + z,
            "flag": rng.random(n) < 0.3 + 0.2 * z,
            "note": note,
            "number": np.arange(n),
            "label": pa.array(label.tolist()),
        }
    )


def planted(n, seed=0, rates=(0.05, 0.4, 0.05)):
    """Rows in three wards, one of them careless; the class shares differ, the wards' do not."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < 0.3).astype(int)
    frame = pd.DataFrame(rng.normal(1.3 * true[:, None], 1.0, (n, 6)), columns=list("abcdef"))
    ward = rng.integers(0, 3, n)
    frame["ward"] = np.array(list("ABC"))[ward]
    given = np.where(rng.random(n) < np.array(rates)[ward], 1 - true, true)
    return frame, given, true, ward


def in_memory(rows, most=1 << 16):
    """Serve a table by the batch."""
    return Scan(rows.schema, (TablePart(rows, rows=most),), rows.nbytes)


def fit_stream(found, label, classifier=None, memory=1 << 30):
    """Fit a classifier by batches, of which so many bytes stay in memory."""
    classifier = NoisyLabelClassifier() if classifier is None else classifier
    terms = understand(found, label, classifier)
    return fit_rows(classifier, terms, Stream(compact(found, terms), memory=memory))


def audit_stream(source, label=None, rows_to=None, memory="2GB", **said):
    """Audit by batches, whatever the size."""
    return run(request_of(source, label, memory=memory, **said), rows_to)


def save_stream(source, label, folder, *, memory="2GB", force=False, **said):
    """Audit by batches into a folder."""
    return save_run(request_of(source, label, memory=memory, **said), folder, force=force)
