"""The objective of the conditional fit: its features, its gradient, its fixed-channel fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from misnomer import channel as channels
from misnomer.engines import fold
from misnomer.rows import read
from misnomer.solvers.conditional import climb, problem
from misnomer.solvers.features import measure
from misnomer.solvers.network import NoiseLayer, blank, flat, shaped
from misnomer.table import Batch
from tests.solvers.rows import (
    SHARP,
    channels_to_differentiate,
    dense,
    mixed_table,
    numeric_gradient,
)


@pytest.mark.parametrize("hidden", [(), (4,), (5, 3)])
@pytest.mark.parametrize("name", channels_to_differentiate())
def test_gradient_is_that_of_finite_differences(name, hidden):
    channel = channels_to_differentiate()[name]
    schema, batch = mixed_table()
    rows = problem(schema, [batch], fold, channel, 0.7)
    rng = np.random.default_rng(1)
    like = blank((schema.statistics, *hidden, 3), rng)
    noise, size = NoiseLayer(channel), flat(like).size
    at = rng.normal(0, 0.3, size + noise.size)
    at[size:] += noise.start()

    def value(vector):
        return rows.observed(shaped(vector, like), noise.at(vector[size:])).value

    slope = rows.observed(shaped(at, like), noise.at(at[size:]))
    gradient = np.concatenate([flat(slope.gradient), noise.gradient(at[size:], slope.joint[:3])])
    np.testing.assert_allclose(gradient, numeric_gradient(value, at), rtol=2e-5, atol=2e-6)


def test_gradient_of_an_m_step():
    channel = channels.free(3)
    schema, batch = mixed_table(seed=3)
    rows = problem(schema, [batch], fold, channel, 0.7)
    rng = np.random.default_rng(1)
    like = blank((schema.statistics, 4, 3), rng)
    before = shaped(rng.normal(0, 0.3, flat(like).size), like)
    at = rng.normal(0, 0.3, flat(like).size)

    def value(vector):
        return rows.expected(shaped(vector, like), before, channel).value

    slope = rows.expected(shaped(at, like), before, channel)
    np.testing.assert_allclose(
        flat(slope.gradient), numeric_gradient(value, at), rtol=2e-5, atol=2e-6
    )


@pytest.mark.parametrize("name", channels_to_differentiate())
def test_noise_layer_starts_at_its_channel(name):
    channel = channels_to_differentiate()[name]
    noise = NoiseLayer(channel)
    rebuilt = noise.at(noise.start()).matrix
    np.testing.assert_allclose(rebuilt, channel.matrix, atol=1e-12)
    np.testing.assert_allclose(rebuilt.sum(axis=0), 1.0)


def test_features_by_hand():
    schema, batch = mixed_table(n=40)
    features = measure(schema, [batch], fold)
    t, w = dense(schema, batch), batch.weight
    phi = np.stack([features.fold(row[None], np.zeros(1))[0][0] for row in np.eye(t.shape[1])])
    phi = t @ phi.T - features.shift
    names = {column: i for i, column in enumerate(["b", "g", "r", "o", "x", "seen", "flag"])}
    seen = t[:, :3].sum(axis=1)
    share = w @ t[:, names["r"]] / (w @ seen)
    np.testing.assert_allclose(phi[:, names["r"]], t[:, names["r"]] - share * seen, atol=1e-12)
    share = w @ t[:, names["flag"]] / (w @ t[:, names["seen"]])
    expected = np.sqrt(2) * (t[:, names["flag"]] - share * t[:, names["seen"]])
    np.testing.assert_allclose(phi[:, names["flag"]], expected, atol=1e-12)
    x = batch.blocks[2].values[:, 0]
    here = ~np.isnan(x)
    mean = np.average(x[here], weights=w[here])
    z = (x - mean) / np.sqrt(np.average((x[here] - mean) ** 2, weights=w[here]))
    np.testing.assert_allclose(phi[:, 8], np.where(here, z, 0.0), atol=1e-10)
    np.testing.assert_allclose(phi[:, 9], np.where(here, (z**2 - 1) / np.sqrt(2), 0.0), atol=1e-10)
    visits = t[:, 10]
    mean = np.average(visits, weights=w)
    sd = np.sqrt(np.average((visits - mean) ** 2, weights=w))
    np.testing.assert_allclose(phi[:, 10], (visits - mean) / sd, atol=1e-10)
    words = phi[:, 11:] + features.shift[11:]
    length = np.average((words**2).sum(axis=1), weights=w)
    assert length == pytest.approx(1.0)


def test_pull_is_the_transpose_of_fold():
    schema, batch = mixed_table()
    features = measure(schema, [batch], fold)
    rng = np.random.default_rng(0)
    coefficients, sums = rng.normal(size=(2, 3, schema.statistics))
    intercept, mass = rng.normal(size=(2, 3))
    weights, shifted = features.fold(coefficients, intercept)
    ahead = np.sum(weights * sums) + (shifted - intercept) @ mass
    back = np.sum(coefficients * features.pull(sums, mass))
    assert ahead == pytest.approx(back, abs=1e-10)


def test_rows_without_a_label_say_nothing():
    schema, batch = mixed_table(n=80, gaps=0.0)
    batch = replace(batch, weight=None)
    features = measure(schema, [batch], fold)
    rows = replace(problem(schema, [batch], fold, channels.free(3), 1.0), features=features)
    kept = replace(rows, batches=[batch.take(batch.given != 3)])
    layers = shaped(
        np.random.default_rng(0).normal(size=3 * schema.statistics + 3),
        blank((schema.statistics, 3), np.random.default_rng(0)),
    )
    for one, other in (
        (rows.observed(layers, channels.free(3)), kept.observed(layers, channels.free(3))),
        (
            rows.expected(layers, layers, channels.free(3)),
            kept.expected(layers, layers, channels.free(3)),
        ),
    ):
        assert one.value == pytest.approx(other.value, abs=1e-10)
        np.testing.assert_allclose(flat(one.gradient), flat(other.gradient), atol=1e-10)


def fixed_fit(schema, batch, channel, penalty=1.0, **limits):
    """Fit the weights behind a channel that is taken as known."""
    rows = problem(schema, [batch], fold, channel, penalty)
    begin = blank((schema.statistics, channel.n_classes), np.random.default_rng(0))
    end = climb(rows, begin, channel, **{"max_iter": 200, "tol": 1e-6, **limits})
    return end, *rows.folded(end.layers)


def test_a_flag_is_a_category_of_two_values():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 2, (200, 4)), rng.integers(0, 3, 200).astype(np.int32)
    channel = channels.fixed(channels.uniform(3).matrix)
    scores = []
    for kind in ("bernoulli", "categorical"):
        schema, blocks = read(X, kind)
        batch = Batch(blocks, y)
        _, weights, intercept = fixed_fit(schema, batch, channel, **SHARP)
        scores.append(dense(schema, batch) @ weights.T + intercept)
    np.testing.assert_allclose(*scores, atol=1e-5)


def test_constant_and_empty_columns_get_no_weight():
    X = np.column_stack([np.full(30, 7.5), np.arange(30) / 7.0, np.full(30, np.nan)])
    schema, blocks = read(X, {"x0": "gaussian", "x1": "gaussian"})
    batch = Batch(blocks, (np.arange(30) > 14).astype(np.int32))
    _, weights, _ = fixed_fit(schema, batch, channels.identity(2))
    assert np.isfinite(weights).all()
    gaussian = next(group for group in schema.groups if group.kind == "gaussian")
    d = len(gaussian.members)
    np.testing.assert_array_equal(weights[:, gaussian.span][:, [0, d, 2 * d]], 0.0)


def test_the_objective_is_the_penalized_likelihood_of_the_labels():
    schema, batch = mixed_table()
    channel = channels.fixed(channels.free(3, 0.7).matrix)
    end, weights, intercept = fixed_fit(schema, batch, channel, penalty=2.0)
    scores = dense(schema, batch) @ weights.T + intercept
    q = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    evidence = np.concatenate([channel.matrix, np.ones((1, 3)), np.eye(3)])
    likelihood = batch.weight @ np.log((q * evidence[batch.given]).sum(axis=1))
    assert end.history[-1] == pytest.approx(likelihood - np.sum(end.layers[0] ** 2), abs=1e-9)
