"""What is damaged is refused at the border, before anything reads out of bounds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from misnomer import NoisyLabelNB, audit
from misnomer.kernels import compiled
from misnomer.kernels.blocks import Words
from misnomer.rows.scan import read_table, scan

READ = """
import sys, random, pathlib, tempfile
from misnomer.rows.scan import read_table
from misnomer.rows import read
from misnomer.rows.scan import scan
whole = pathlib.Path(sys.argv[1]).read_bytes()
drawn = random.Random(int(sys.argv[2]))
place = pathlib.Path(sys.argv[1]).with_suffix(".bad.arrow")
for _ in range(150):
    bad = bytearray(whole)
    for _ in range(drawn.randint(1, 4)):
        bad[drawn.randrange(len(bad))] = drawn.choice([0, 1, 127, 128, 255, drawn.randrange(256)])
    place.write_bytes(bad)
    for reader in (lambda: read_table(place), lambda: list(scan(place).batches(["word", "n"]))):
        try:
            found = reader()
            found = [found] if not isinstance(found, list) else found
            [part.to_pydict() for part in found]
        except (ValueError, KeyError, OSError, UnicodeDecodeError):
            pass
"""


def written(path, stream):
    table = pa.table(
        {
            "word": pa.array([f"word {i % 7}" for i in range(200)]),
            "code": pa.array([f"{i % 3}" for i in range(200)]).dictionary_encode(),
            "n": pa.array(range(200), pa.int32()),
        }
    )
    maker = pa.ipc.new_stream if stream else pa.ipc.new_file
    with maker(str(path), table.schema) as sink:
        sink.write_table(table, max_chunksize=80)
    return path


@pytest.mark.parametrize("stream", [False, True])
def test_a_damaged_arrow_file_never_ends_the_process(tmp_path, stream):
    path = written(tmp_path / "a.arrow", stream)
    words = [sys.executable, "-c", READ, str(path), "7"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("column", ["word", "code"])
def test_offsets_and_codes_out_of_bounds_are_refused(tmp_path, column):
    table = pa.table(
        {"word": ["a", "b", "c"], "code": pa.array(["x", "y", "x"]).dictionary_encode()}
    )
    kind, buffers = table.column(column).chunk(0).type, table.column(column).chunk(0).buffers()
    bad = pa.py_buffer(np.array([0, 1, 1 << 20, 3], np.int32).tobytes())
    if column == "word":
        array = pa.Array.from_buffers(kind, 3, [None, bad, buffers[2]])
    else:
        codes = pa.Array.from_buffers(pa.int32(), 3, [None, bad])
        array = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"]), safe=False)
    path = tmp_path / "bad.arrow"
    with pa.ipc.new_file(str(path), pa.schema([(column, array.type)])) as sink:
        sink.write_batch(pa.record_batch([array], names=[column]))
    with pytest.raises(ValueError, match=r"bad\.arrow"):
        read_table(path)
    with pytest.raises(ValueError, match=r"bad\.arrow"):
        list(scan(path).batches([column]))


def counts(n=40, d=6):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, n)
    return sparse.csr_array(rng.poisson(0.4 + z[:, None], (n, d))), z


def narrowed(X):
    """Say of a matrix that it has fewer columns than it has."""
    small = X.copy()
    small._shape = (X.shape[0], 2)
    return small


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_matrix_whose_shape_is_too_small_is_refused(form):
    X, y = counts()
    bad = narrowed(X.asformat(form))
    if form == "csc":
        bad = X.asformat("csc")
        bad._shape = (10, X.shape[1])
        y = y[:10]
    with pytest.raises(ValueError, match="sparse matrix"):
        NoisyLabelNB().fit(bad, y)
    with pytest.raises(ValueError, match="sparse matrix"):
        audit(bad, y)
    if form == "csr":
        fitted = NoisyLabelNB(channel="identity").fit(X[:, :2], y)
        with pytest.raises(ValueError, match="sparse matrix"):
            fitted.predict(bad)


@pytest.mark.parametrize("part", ["indptr", "indices"])
@pytest.mark.parametrize("value", [-1, 10**6])
def test_a_matrix_whose_parts_contradict_each_other_is_refused(part, value):
    X, y = counts()
    getattr(X, part)[3] = value
    with pytest.raises(ValueError, match="sparse matrix"):
        NoisyLabelNB().fit(X, y)


def test_cells_of_a_matrix_in_two_dimensions_are_refused():
    X, y = counts()
    X.data = X.data[:, None]
    with pytest.raises(ValueError, match="sparse matrix"):
        NoisyLabelNB().fit(X, y)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint8, np.uint32, np.int64])
def test_indices_of_any_width_mean_the_same(kind):
    X, y = counts()
    narrow = X.copy()
    narrow.indices, narrow.indptr = X.indices.astype(kind), X.indptr.astype(np.int64)
    one, two = (NoisyLabelNB(solver="em").fit(cells, y) for cells in (X, narrow))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(narrow))
    assert narrow.indices.dtype == kind  # what is taken is never changed


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint32, np.float32])
def test_the_kernel_itself_reads_no_other_indices(kind):
    from misnomer.kernels import _compiled

    table = _compiled.Blocks(2)
    indices, starts = np.array([0, 1], kind), np.array([0, 1, 2], kind)
    with pytest.raises(ValueError, match="int32 or int64"):
        table.add_words(np.ones(2), indices, starts, 2)


def test_the_kernels_border_widens_small_indices():
    X, _ = counts()
    narrow = X.copy()
    narrow.indices, narrow.indptr = X.indices.astype(np.int8), X.indptr.astype(np.int64)
    weights = np.arange(12.0).reshape(2, 6)
    want = compiled.scores((Words(X),), weights, X.shape[0])
    np.testing.assert_array_equal(compiled.scores((Words(narrow),), weights, X.shape[0]), want)
