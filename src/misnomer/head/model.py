"""A model whose head also listens to learners that are not linear, or judges rows by strata."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.evidence import TOGETHER, Evidence
from misnomer.families.family import log
from misnomer.head.rates import Strata
from misnomer.learners.kernel import Likeness
from misnomer.learners.learner import Scorer, centered, centered_scores
from misnomer.learners.trees import Forest
from misnomer.learners.yours import Absent
from misnomer.model import Model
from misnomer.solvers.network import NoSums
from misnomer.table import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeadModel(NoSums):
    """``log prior + bias + t(x) . weights + sum_j factor_j S_j(x) + log channel``.

    Attributes
    ----------
    others : sequence of (factor, Scorer)
        Learners that are not linear in t(x).
    strata : Strata or None
        Channels by stratum, where rows are judged so.
    """

    refusal = "a model with learners beyond naive Bayes has no {}"

    others: tuple[tuple[float, Scorer], ...] = field(default=(), kw_only=True)
    strata: Strata | None = field(default=None, kw_only=True)

    @property
    def absent(self) -> tuple[str, ...]:
        """Names of the classifiers that a file could not keep."""
        return tuple(one.name for _, one in self.others if isinstance(one, Absent))

    def without_label(self, batch: Batch) -> Array:
        """Compute log P(z | x) up to a term free of z, (n, K)."""
        joint: Array = kernels.scores(batch.blocks, self.weights, len(batch)) + self.intercept
        empty = batch.empty
        for factor, scorer in self.others:
            joint += np.where(empty[:, None], 0.0, factor * centered_scores(scorer, batch))
        if self.bias is not None:
            joint[empty] -= self.bias
        return joint

    def log_joint(self, batch: Batch) -> Array:
        """Compute log P(z, y | x) up to a term free of z, (n, K)."""
        joint = self.without_label(batch)
        return joint + self.label_terms(batch, joint)

    def label_terms(self, batch: Batch, logits: Array) -> Array:
        """Compute what the label of each row says, (n, K), by the channel of its stratum."""
        terms: Array = (self.channel.table(self.prior) - log(self.prior))[batch.given]
        if self.strata is None:
            return terms
        stratum = self.strata.of(batch, logits)
        terms = terms + log(self.strata.ratio)[stratum]
        at = np.flatnonzero(batch.given < self.channel.n_labels)
        seen = log(self.strata.channels)[stratum[at], batch.given[at]]
        terms[at] = seen + log(self.strata.ratio)[stratum[at]]
        return terms

    def evidence(self, batch: Batch) -> list[Evidence]:
        """Say which columns speak for which class; what they say together is one term.

        A classifier that is absent says nothing here.
        """
        if self.absent:
            kept = tuple(one for one in self.others if not isinstance(one[1], Absent))
            return replace(self, others=kept).evidence(batch)
        plain = Model(self.prior, self.channel, self.weights, self.schema, self.bias)
        terms = plain.evidence(batch)
        logits = self.without_label(batch)
        label = self.label_terms(batch, logits)
        extra: dict[str, Array] = {}
        for factor, scorer in self.others:
            said = np.where(batch.empty[:, None], 0.0, factor * centered(scorer.scores(batch)))
            name = TOGETHER if isinstance(scorer, Forest | Likeness) else scorer.name
            extra[name] = extra[name] + said if name in extra else said
        out = []
        for i, one in enumerate(terms):
            if extra:
                one = replace(
                    one,
                    names=(*one.names, *extra),
                    values=(*one.values, *(None for _ in extra)),
                    terms=np.concatenate(
                        [one.terms, *(said[i : i + 1] for said in extra.values())]
                    ),
                )
            out.append(replace(one, label=label[i]))
        return out
