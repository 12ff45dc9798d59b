"""Streams: the same batches back, wherever they were kept, and the same model from them."""

from dataclasses import replace

import numpy as np
import pytest

from misnomer.channel import free
from misnomer.engines import Stream, fold, size
from misnomer.smoothing import additive
from misnomer.solvers.em import em
from misnomer.solvers.task import Task
from tests.contracts import random_model

NAMES = ["categorical", "bernoulli", "gaussian", "count", "mixed"]


def in_parts(batch, rows):
    return [batch.take(slice(a, a + rows)) for a in range(0, len(batch), rows)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory", [0, 2000, 1 << 30])
def test_what_goes_in_comes_out(name, memory):
    model = random_model(name)
    batch, _ = model.draw(90, np.random.default_rng(0))
    said, design = np.arange(90, dtype=np.int32) % 3, np.linspace(0.0, 9.0, 90)
    batch = replace(batch, weight=np.linspace(0.5, 2.0, 90), said=said, design=design)
    stream = Stream(in_parts(batch, 20), memory=memory)
    assert stream.rows == 90
    assert len(stream) == 5
    assert (stream.spilled > 0) == (memory < size(batch))
    for _ in range(2):
        for got, want in zip(stream, in_parts(batch, 20), strict=True):
            np.testing.assert_array_equal(got.given, want.given)
            for part in ("weight", "said", "design"):
                np.testing.assert_array_equal(getattr(got, part), getattr(want, part))
            np.testing.assert_array_equal(model.log_joint(got), model.log_joint(want))
    np.testing.assert_array_equal(stream[-1].given, batch.given[80:])
    assert [len(part) for part in stream[1:3]] == [20, 20]


@pytest.mark.parametrize("rows", [7, 37, 500])
def test_the_same_model_whatever_the_batches(rows):
    model = random_model("mixed")
    batch, _ = model.draw(500, np.random.default_rng(1))
    task = Task(model.schema, [batch], fold, free(3), additive(1.0), max_iter=6, tol=0)
    whole = em(task).model
    parts = em(replace(task, batches=Stream(in_parts(batch, rows), memory=0))).model
    np.testing.assert_allclose(parts.weights, whole.weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.channel.matrix, whole.channel.matrix, rtol=1e-12)
