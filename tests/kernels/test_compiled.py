"""The compiled kernels against their definition, on tables of every odd shape."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from misnomer.kernels import reference, using
from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from tests.kernels.variants import VARIANTS, check_with

compiled = pytest.importorskip(
    "misnomer.kernels.compiled", reason="the C++ kernels were not built", exc_type=ImportError
)


def random_blocks(rng, n, which):
    """Make up blocks with missing cells and codes that mean nothing."""
    made = []
    for kind in which:
        d = int(rng.integers(1, 12))
        if kind.startswith("codes"):
            sizes = tuple(int(s) for s in rng.integers(1, 7, d))
            codes = rng.integers(0, 9, (n, d)).astype(kind.replace("codes", "uint"))
            made.append(Codes(codes, sizes))
        elif kind == "flags":
            bits = rng.integers(0, 256, (n, -(-d // 8))).astype(np.uint8)
            made.append(Flags(bits, None, d))
        elif kind == "masked flags":
            bits, seen = (rng.integers(0, 256, (n, -(-d // 8))).astype(np.uint8) for _ in "12")
            made.append(Flags(bits, seen, d))
        elif kind.startswith("float"):
            values = rng.normal(3, 2, (n, d)).astype(kind)
            values[rng.random((n, d)) < 0.2] = np.nan
            made.append(Reals(values, rng.normal(3, 1, d)))
        else:
            counts = rng.poisson(0.4, (n, 4 * d)).astype(kind.split()[1])
            made.append(Words(sparse.csr_array(counts)))
    return tuple(made)


KINDS = [
    "codes8",
    "codes16",
    "codes32",
    "flags",
    "masked flags",
    "float32",
    "float64",
    "words float64",
    "words float32",
    "words int64",
    "words uint8",
]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 2, 7, 300, 2500]),
    st.sampled_from([1, 2, 3, 5, 8, 13, 30]),
    st.lists(st.sampled_from(KINDS), max_size=4),
)
def test_every_kernel_equals_its_definition(seed, n, K, which):
    rng = np.random.default_rng(seed)
    blocks = random_blocks(rng, n, which)
    S = sum(block.width for block in blocks)
    weights = rng.normal(0, 0.5, (K, S))
    share = rng.normal(size=(n, K))  # of either sign: gradients are accumulated, too
    weight = rng.uniform(0, 2, n) if seed % 2 else None
    table = np.log(rng.dirichlet(np.ones(K), 4))
    codes = rng.integers(0, 4, n).astype(np.int32)
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(
        compiled.scores(blocks, weights, n), reference.scores(blocks, weights, n), **close
    )
    np.testing.assert_allclose(
        compiled.accumulate(blocks, share), reference.accumulate(blocks, share), **close
    )
    np.testing.assert_allclose(
        compiled.tally(blocks, codes - 1, 3, weight),
        reference.tally(blocks, codes - 1, 3, weight),
        **close,
    )
    for ours, theirs in zip(
        compiled.expect(blocks, weights, table, codes, weight),
        reference.expect(blocks, weights, table, codes, weight),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, **close)


def test_the_answer_does_not_depend_on_the_threads():
    rng = np.random.default_rng(0)
    n, K = 40_000, 5
    blocks = random_blocks(rng, n, KINDS)
    S = sum(block.width for block in blocks)
    weights, share = rng.normal(0, 0.3, (K, S)), rng.random((n, K))
    table, codes = np.log(rng.dirichlet(np.ones(K), 4)), rng.integers(0, 4, n).astype(np.int32)

    def everything():
        joint, sums, loglik = compiled.expect(blocks, weights, table, codes, None)
        return [
            joint,
            sums,
            loglik,
            compiled.scores(blocks, weights, n),
            compiled.accumulate(blocks, share),
            compiled.tally(blocks, codes, 4, None),
        ]

    one = everything()
    for threads in (2, 7):
        with using(threads=threads):
            for a, b in zip(one, everything(), strict=True):
                np.testing.assert_array_equal(a, b)


def test_an_impossible_class_gives_no_nan():
    blocks = (Codes(np.zeros((3, 1), np.uint8), (2,)),)
    table = np.array([[0.0, -np.inf]])
    joint, sums, loglik = compiled.expect(
        blocks, np.zeros((2, 2)), table, np.zeros(3, np.int32), None
    )
    np.testing.assert_array_equal(joint, [[3.0, 0.0]])
    assert np.isfinite(sums).all() and loglik == 0.0


def compare(blocks, weights, table, codes, weight=None):
    """Hold every kernel against its definition."""
    n, close = len(codes), {"rtol": 1e-10, "atol": 1e-10}
    share = np.random.default_rng(0).random((n, len(weights)))
    scored = [kernels.scores(blocks, weights, n) for kernels in (compiled, reference)]
    np.testing.assert_allclose(*scored, **close)
    added = [kernels.accumulate(blocks, share) for kernels in (compiled, reference)]
    np.testing.assert_allclose(*added, **close)
    tallied = [
        kernels.tally(blocks, codes, len(table), weight) for kernels in (compiled, reference)
    ]
    np.testing.assert_allclose(*tallied, **close)
    both = [
        kernels.expect(blocks, weights, table, codes, weight) for kernels in (compiled, reference)
    ]
    for ours, theirs in zip(*both, strict=True):
        np.testing.assert_allclose(ours, theirs, **close)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("K", [1, 2, 5, 9])
def test_reals_of_which_none_is_missing(kind, d, K):
    rng = np.random.default_rng(d)
    n = 700  # several chunks, the last one short
    blocks = (Reals(rng.normal(3, 2, (n, d)).astype(kind), rng.normal(3, 1, d)),)
    table, codes = np.log(rng.dirichlet(np.ones(K), 3)), rng.integers(0, 3, n).astype(np.int32)
    compare(blocks, rng.normal(0, 0.3, (K, 3 * d)), table, codes, rng.uniform(0, 2, n))
    blocks[0].values[5, d - 1] = np.nan  # one chunk is not complete
    compare(blocks, rng.normal(0, 0.3, (K, 3 * d)), table, codes)


def test_a_class_ruled_out_by_labels_or_by_values():
    rng = np.random.default_rng(0)
    blocks = random_blocks(rng, 500, ["codes8", "float64"])
    weights = rng.normal(0, 0.3, (5, sum(block.width for block in blocks)))
    table, codes = np.log(rng.dirichlet(np.ones(5), 4)), rng.integers(0, 4, 500).astype(np.int32)
    ruled = np.where(rng.random(table.shape) < 0.4, -np.inf, table)
    ruled[:, 2] = table[:, 2]
    for ours, theirs in zip(
        compiled.expect(blocks, weights, ruled, codes, None),
        reference.expect(blocks, weights, ruled, codes, None),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    weights[4, : blocks[0].width] = -np.inf
    only = (blocks[0],)
    for ours, theirs in zip(
        compiled.expect(only, weights[:, : only[0].width], table, codes, None),
        reference.expect(only, weights[:, : only[0].width], table, codes, None),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("most", [10, 40, 200])
def test_presence_equals_its_definition(most):
    rng = np.random.default_rng(0)
    for kind in (np.uint8, np.uint16):
        codes = rng.integers(0, most, (2500, 9)).astype(kind)
        np.testing.assert_array_equal(compiled.presence(codes), reference.presence(codes))
    codes[:, 0] += 30  # columns of other ranges
    np.testing.assert_array_equal(compiled.presence(codes), reference.presence(codes))


def test_words_alone_are_tallied_like_words_beside_others():
    rng = np.random.default_rng(0)
    words = random_blocks(rng, 200, ["words float32"])
    codes = rng.integers(-1, 3, 200).astype(np.int32)
    weight = rng.random(200)
    for blocks in (words, [*words, *random_blocks(rng, 200, ["flags", "words int64"])]):
        ours = compiled.tally(blocks, codes, 3, weight)
        theirs = reference.tally(blocks, codes, 3, weight)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


CHECK = """
import numpy as np
from misnomer.kernels import backend, compiled, reference
from tests.kernels.test_compiled import KINDS, random_blocks
rng = np.random.default_rng(1)
blocks = random_blocks(rng, 3000, KINDS)
weights = rng.normal(0, 0.3, (5, sum(b.width for b in blocks)))
table, codes = np.log(rng.dirichlet(np.ones(5), 4)), rng.integers(0, 4, 3000).astype(np.int32)
for a, b in zip(compiled.expect(blocks, weights, table, codes, None),
                reference.expect(blocks, weights, table, codes, None)):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
print(backend())
"""


@VARIANTS
def test_every_instruction_set_gives_the_same_answer(variant):
    check_with(variant, CHECK)


FOREVER = """
import numpy as np
from misnomer.kernels import compiled
from misnomer.kernels.blocks import Codes
codes = Codes(np.zeros((3_000_000, 60), np.uint8), (2,) * 60)
print("ready", flush=True)
while True:
    compiled.expect((codes,), np.zeros((30, 120)), np.zeros((1, 30)),
                    np.zeros(3_000_000, np.int32), None)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows interrupts no single process")
def test_an_interrupt_ends_a_long_pass():
    process = subprocess.Popen(
        [sys.executable, "-c", FOREVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()  # where interrupts are ignored, it would go on for ever
    assert "KeyboardInterrupt" in errors


def test_without_the_compiled_part_numpy_serves_and_says_so_once():
    code = (
        "import sys; sys.modules['misnomer.kernels.compiled'] = None\n"
        "import warnings; warnings.simplefilter('always')\n"
        "import numpy as np\n"
        "from misnomer import kernels\n"
        "print(kernels.backend())\n"
        "for _ in range(3): kernels.scores((), np.zeros((2, 0)), 4)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "numpy"
    assert done.stderr.count("the compiled part of misnomer is not installed") == 1
