"""Numbers at the edge of what a double holds: refused in a sentence, never a silent NaN."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from misnomer import NoisyLabelNB, audit

SETTINGS = [
    {},
    {"channel": "identity"},
    {"solver": "conditional"},
    {"solver": "em"},
    {"solver": "variational"},
]


def rows(n=120):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + z[:, None], z


def forms(X):
    frame = pd.DataFrame(X, columns=list("ab"))
    return {"array": X, "frame": frame, "arrow": pa.Table.from_pandas(frame)}


@pytest.mark.parametrize("form", ["array", "frame", "arrow"])
@pytest.mark.parametrize("value", [1e200, -1e308, 1.1e100])
def test_a_cell_too_large_to_be_squared_is_refused(form, value):
    X, y = rows()
    fitted = NoisyLabelNB(channel="identity").fit(forms(X)[form], y)
    X[3, 0] = value
    for what in (NoisyLabelNB(channel="identity").fit, audit):
        with pytest.raises(ValueError, match=r"(x0|a).* in row 3: .*1e\+100"):
            what(forms(X)[form], y)
    with pytest.raises(ValueError, match=r"(x0|a).* in row 3: .*1e\+100"):
        fitted.predict_proba(forms(X)[form])


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("value", [1e100, 1e-300])
def test_what_is_not_refused_gives_finite_answers(options, value):
    X, y = rows()
    X[3, 0] = value
    assert np.isfinite(NoisyLabelNB(**options).fit(X, y).predict_proba(X)).all()


@pytest.mark.parametrize("options", SETTINGS)
def test_weights_beyond_all_numbers_are_refused(options):
    X, y = rows()
    X[3, 0] = 1e99
    weight = np.ones(len(y))
    weight[5] = 1e15
    assert np.isfinite(NoisyLabelNB(**options).fit(X, y, weight).predict_proba(X)).all()
    weight[5] = 1e200
    with pytest.raises(ValueError, match=r"weight of row 5 .*1e\+15"):
        NoisyLabelNB(**options).fit(X, y, weight)


def test_sparse_counts_too_large_are_refused():
    X, y = rows()
    X = sparse.csr_array(np.abs(X))
    X.data[5] = 1e300
    with pytest.raises(ValueError, match=r"1e\+100"):
        NoisyLabelNB().fit(X, y)


@pytest.mark.parametrize("options", SETTINGS)
def test_a_text_without_words_tells_nothing(options):
    X, y = rows()
    frame = pd.DataFrame({"said": ["!!! ???", "... ,,,"] * 60, "a": X[:, 0]})
    with pytest.warns(UserWarning, match="'said' holds no words"):
        one = NoisyLabelNB(families={"said": "text"}, **options).fit(frame, y)
    two = NoisyLabelNB(**options).fit(frame[["a"]], y)
    np.testing.assert_array_equal(one.predict_proba(frame), two.predict_proba(frame[["a"]]))


@pytest.mark.parametrize("form", ["array", "frame", "arrow"])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_a_double_cannot_tell_apart_are_refused(form, kind):
    _, y = rows()
    X = (2**60 + np.arange(240).reshape(120, 2)).astype(kind)
    with pytest.raises(ValueError, match=r"(x0|a).*2\^53"):
        NoisyLabelNB(channel="identity").fit(forms(X)[form], y)
    X = (2**60 + 10**6 * np.arange(240).reshape(120, 2)).astype(kind)  # nanoseconds, say
    fitted = NoisyLabelNB(channel="identity").fit(forms(X)[form], y)
    assert np.isfinite(fitted.predict_proba(forms(X)[form])).all()


@pytest.mark.parametrize("form", ["array", "frame", "arrow"])
@pytest.mark.parametrize("spread", [3, 1000])
def test_unsigned_numbers_that_fit_nowhere_are_refused(form, spread):
    rng = np.random.default_rng(0)
    X = np.uint64(2**63) + rng.integers(0, spread, (120, 2)).astype(np.uint64)
    with pytest.raises(ValueError, match=r"column .*2\^63"):
        NoisyLabelNB().fit(forms(X)[form], rows()[1])


def test_labels_that_fit_nowhere_are_refused():
    X, z = rows()
    for y in (np.uint64(2**63) + z.astype(np.uint64), [2**70 + int(one) for one in z]):
        with pytest.raises(ValueError, match=r"label.*2\^63"):
            NoisyLabelNB().fit(X, y)
        with pytest.raises(ValueError, match=r"label.*2\^63"):
            audit(X, y)
