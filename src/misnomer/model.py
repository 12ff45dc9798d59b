"""The whole idea, in one equation.

    log P(z, x, y) = log prior[z] + t(x) . weights[z] + log channel[y, z]      (+ a term free of z)

z is the true class, x the row, y the given label; t(x) are the sufficient statistics of the
columns. Classify without y, judge with y. Learning is two steps: ``expect`` shares every row out
over the classes and adds up (a fold over batches), ``maximise`` turns those sums into the next
model. Every method of this package is one of these models, reached by some solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.evidence import Evidence, weigh
from misnomer.families.family import log
from misnomer.stats import Stats
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """A naive Bayes classifier of the true class, and the channel that spoils its label.

    Attributes
    ----------
    prior : (K,) array
        P(true class).
    channel : Channel
        P(given label | true class).
    weights : (K, S) array
        Natural parameters: how much each statistic of a row speaks for each class.
    schema : Schema
        What the statistics are.
    bias : (K,) array, optional
        What a solver that fits the labels, not the columns, adds to the log prior: naive Bayes
        needs none, since its weights are densities. It stands for what columns say on average, so
        a row that holds no value at all goes without it: its classes are as frequent as they are.
    """

    prior: Array
    channel: Channel
    weights: Array
    schema: Schema
    bias: Array | None = None
    learns_checked: ClassVar[bool] = True  # whether rows that a person has checked change it

    @property
    def intercept(self) -> Array:
        """The terms that depend on nothing but the class, (K,)."""
        base = log(self.prior)
        return base if self.bias is None else base + self.bias

    @property
    def table(self) -> Array:
        """Intercept and label evidence of every code that a row can have, (R, K)."""
        table = self.channel.table(self.prior)
        return table if self.bias is None else table + self.bias

    def with_shares(self, shares: Array) -> Model:
        """State the true class shares as the prior; what the intercept holds beyond is bias."""
        return replace(self, prior=shares, bias=self.intercept - log(shares))

    def log_joint(self, batch: Batch) -> Array:
        """Compute log P(z, x, y) of every row and class, (n, K): the equation above."""
        evidence: Array = kernels.scores(batch.blocks, self.weights, len(batch))
        given, table = batch.given, self.table
        if len(given) and given.min() == given.max():  # one line for all, as of rows without labels
            given = given[:1]
        evidence += table[given]
        if self.bias is not None:
            evidence[batch.empty] -= self.bias
        return evidence

    def posterior(self, batch: Batch) -> Array:
        """Compute P(true class | x, y), (n, K); rows without a label are classified by x alone."""
        return kernels.softmax(self.log_joint(batch))[0]

    def doubt(self, batch: Batch) -> Array:
        """Compute P(true class is not the given label | x, y), (n,); 0 where there is no label."""
        right = np.concatenate(
            [
                np.eye(self.channel.n_labels, len(self.prior)),
                np.ones((1, len(self.prior))),
                np.eye(len(self.prior)),
            ]
        )
        wrong = self.posterior(batch) * (1.0 - right[batch.given])
        return np.clip(wrong.sum(axis=1), 0.0, 1.0)

    def expect(self, batch: Batch) -> Stats:
        """Share the rows out by their posterior and add up (the E-step of EM)."""
        return Stats(
            *kernels.expect(batch.blocks, self.weights, self.table, batch.given, batch.weight)
        )

    def maximise(self, stats: Stats, virtual: Array, classes: float = 0.0) -> Model:
        """Find the model that explains the sums best, virtual examples included (the M-step)."""
        mass = stats.mass + classes
        joint = stats.joint[: self.channel.n_labels]
        return replace(
            self,
            prior=mass / mass.sum(),
            channel=self.channel.refit(joint),
            weights=weights_of(self.schema, stats.sums, virtual),
        )

    def log_prior(self, virtual: Array, classes: float = 0.0) -> float:
        """Log density of the virtual examples under this model: what EM maximises beside loglik."""
        columns = sum(
            group.family.log_prior(self.weights[:, group.span], virtual[:, group.span])
            for group in self.schema.groups
        )
        return columns + classes * float(log(self.prior).sum()) + self.channel.log_prior()

    def evidence(self, batch: Batch) -> list[Evidence]:
        """Say which columns speak for which class, row by row: the terms of the equation."""
        intercept = self.intercept
        label = self.table[batch.given] - intercept
        terms = weigh(self.schema, self.weights, batch, intercept, label)
        if self.bias is None:
            return terms
        prior = log(self.prior)
        pairs = zip(terms, batch.empty, strict=True)
        return [replace(one, prior=prior) if empty else one for one, empty in pairs]

    def shifted(self, before: Model, after: Model) -> Model:
        """Add what changed between two other fits: ``self + (after - before)``, in logs.

        The difference of two fits to the same rows is due to what one of them was told; that the
        rows are only a sample cancels.

        Examples
        --------
        >>> from misnomer.channel import fixed
        >>> make = lambda p: Model(
        ...     np.array([p, 1 - p]), fixed(np.eye(2)), np.zeros((2, 0)), Schema(())
        ... )
        >>> make(0.5).shifted(make(0.2), make(0.2)).prior.round(3).tolist()
        [0.5, 0.5]
        >>> make(0.5).shifted(make(0.2), make(0.8)).prior.round(3).tolist()
        [0.941, 0.059]
        """
        logs = self.intercept + after.intercept - before.intercept
        prior = kernels.softmax(logs[None, :])[0][0]
        cells = log(self.channel.matrix) + log(after.channel.matrix) - log(before.channel.matrix)
        matrix = np.where(self.channel.matrix > 0, kernels.softmax(cells.T.copy())[0].T, 0.0)
        channel = replace(self.channel, matrix=matrix / matrix.sum(axis=0))
        weights = self.weights + after.weights - before.weights
        return Model(prior, channel, weights, self.schema)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Batch, NDArray[np.intp]]:
        """Draw rows with their given labels, and their true classes."""
        K, L = len(self.prior), self.channel.n_labels
        z = rng.choice(K, size=n, p=self.prior / self.prior.sum())
        blocks = tuple(
            group.family.draw(self.weights[:, group.span], z, rng) for group in self.schema.groups
        )
        given = np.full(n, L, np.int32)
        if L:
            steps = self.channel.matrix.cumsum(axis=0)[:, z].T
            given = (rng.random((n, 1)) * steps[:, -1:] >= steps).sum(axis=1).astype(np.int32)
        return Batch(blocks, given), z


def weights_of(schema: Schema, sums: Array, virtual: Array) -> Array:
    """Turn sums and virtual examples into weights, family by family, (K, S)."""
    if not schema.groups:  # no column tells anything: classes differ by their shares alone
        return np.zeros((len(sums), 0))
    return schema.each(
        lambda group: group.family.weights(sums[:, group.span], virtual[:, group.span])
    )
