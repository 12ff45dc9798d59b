"""What every family and every table must satisfy; the tests run each instance by each law."""

from __future__ import annotations

import numpy as np

from misnomer.channel import fixed
from misnomer.families import Bernoulli, Categorical, Count, Gaussian
from misnomer.model import Model, weights_of
from misnomer.table import Column, Schema

#: One schema per family, and one that mixes them all.
SCHEMAS = {
    "categorical": Schema(tuple(Column(f"c{j}", "categorical", tuple("abc")) for j in range(6))),
    "bernoulli": Schema(tuple(Column(f"b{j}", "bernoulli", (0, 1)) for j in range(11))),
    "gaussian": Schema(tuple(Column(f"g{j}", "gaussian", center=5.0) for j in range(4))),
    "count": Schema((Column("words", "count", width=30),)),
    "mixed": Schema(
        (
            Column("age", "gaussian", center=40.0),
            Column("sex", "categorical", ("f", "m")),
            Column("smokes", "bernoulli", (False, True)),
            Column("city", "categorical", tuple(range(300))),
            Column("words", "count", width=12),
            Column("id", "ignored"),
        )
    ),
}


def random_sums(schema: Schema, classes: int, rng: np.random.Generator) -> np.ndarray:
    """Make up sums that some rows could have left."""

    def part(group):
        family = group.family
        if isinstance(family, Categorical | Count):
            return rng.gamma(1.0, size=(classes, len(family.owner))) + 0.05
        if isinstance(family, Bernoulli):
            on = rng.uniform(0.1, 0.9, (classes, family.columns))
            return np.concatenate([np.ones_like(on), on], axis=1) * 10
        assert isinstance(family, Gaussian)
        mean = rng.normal(0, 2, (classes, family.columns))
        return 10 * np.concatenate([np.ones_like(mean), mean, mean**2 + 1.0], axis=1)

    return schema.each(part)


def random_model(name: str, classes: int = 3, seed: int = 0, channel=None) -> Model:
    """Make up a model of one of the schemas."""
    rng = np.random.default_rng(seed)
    schema = SCHEMAS[name]
    sums = random_sums(schema, classes, rng)
    noise = 0.7 * np.eye(classes) + 0.3 / classes
    return Model(
        rng.dirichlet(np.full(classes, 5.0)),
        fixed(noise) if channel is None else channel,
        weights_of(schema, sums, np.zeros_like(sums)),
        schema,
    )
