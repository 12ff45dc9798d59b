"""A column of vectors is an embedding, whatever holds it, and its scale does not matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score

from misnomer import NoisyLabelClassifier, audit
from misnomer.simulate import make_noisy_labels, uniform_noise

NEWS = Path(__file__).parents[3] / "shared" / "data" / "20newsgroups_bydate.parquet"
WIDTH, ROWS = 24, 400


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    true = rng.integers(3, size=ROWS)
    centers = rng.normal(size=(3, WIDTH))
    vectors = centers[true] + 0.9 * rng.normal(size=(ROWS, WIDTH))
    given = np.where(rng.random(ROWS) < 0.15, (true + 1) % 3, true)
    return vectors, np.array(["a", "b", "c"])[given], given != true


def framed(kind, vectors, y, folder):
    if kind == "pandas":
        return pd.DataFrame({"e": list(vectors), "y": y})
    if kind == "polars":
        return pl.DataFrame({"e": vectors.tolist(), "y": y})
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH)
    table = pa.table({"e": fixed, "y": y})
    if kind == "arrow":
        return table
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet"])
def test_a_column_of_vectors_is_audited(rows, kind, tmp_path):
    vectors, y, wrong = rows
    found = audit(framed(kind, vectors, y, tmp_path), "y")
    assert {*found.fitted.families.values()} == {"gaussian"}
    assert len(found.fitted.families) == WIDTH
    assert wrong[found.ranking].mean() > 0.9
    assert wrong[found.ranking].sum() > 0.85 * wrong.sum()


def test_a_matrix_of_reals_is_one_as_well(rows):
    vectors, y, wrong = rows
    found = audit(vectors, y)
    assert wrong[found.ranking].sum() > 0.85 * wrong.sum()


@pytest.mark.parametrize("shape", ["column", "matrix"])
def test_the_unit_of_an_embedding_does_not_matter(rows, shape):
    vectors, y, _ = rows
    as_given = [vectors, 1e-4 * vectors, 1e4 * vectors]
    if shape == "column":
        as_given = [pd.DataFrame({"e": list(one)}) for one in as_given]
    first, *others = [NoisyLabelClassifier(random_state=0).fit(X, y) for X in as_given]
    for one, X in zip(others, as_given[1:], strict=True):
        near = first.predict_proba(as_given[0])
        assert np.abs(one.predict_proba(X) - near).mean() < 5e-3  # folds fall differently
        assert (one.predict(X) == first.predict(as_given[0])).mean() >= 0.99


def test_new_vectors_are_read_like_the_old_ones(rows):
    vectors, y, _ = rows
    model = NoisyLabelClassifier(random_state=0).fit(pd.DataFrame({"e": list(vectors)}), y)
    longer = pd.DataFrame({"e": list(3.0 * vectors)})  # the same directions
    near = model.predict_proba(pd.DataFrame({"e": list(vectors)}))
    assert model.predict_proba(longer) == pytest.approx(near, abs=1e-9)
    with pytest.raises(ValueError, match="e"):
        model.predict(pd.DataFrame({"e": list(vectors[:, :5])}))


def test_news_reduced_to_numbers_keep_every_topic():
    """Dependent numbers, twenty topics: naive Bayes alone explains topics away as errors."""
    if not NEWS.exists():
        pytest.skip("20newsgroups_bydate.parquet is not here")
    texts = pq.read_table(NEWS).to_pandas().sample(5000, random_state=5)
    words = TfidfVectorizer(min_df=5, stop_words="english", sublinear_tf=True)
    vectors = TruncatedSVD(120, random_state=0).fit_transform(words.fit_transform(texts["text"]))
    true = np.unique(texts["label"], return_inverse=True)[1]
    given = make_noisy_labels(true, uniform_noise(20, 0.2), random_state=0)
    doubt = np.asarray(audit(vectors, given).rows["error_probability"])
    assert average_precision_score(given != true, doubt) > 0.85
