"""The four tables that the kernels are timed on, each with scikit-learn's model of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from misnomer.kernels.blocks import Array, Block, Codes, Flags, Reals, Words

COLUMNS, CLASSES = 50, 5
WORDS, TOPICS = 100_000, 20


@dataclass(frozen=True)
class Case:
    """Rows in both forms, a fitted rival, the same model as weights, and the bars to reach."""

    name: str
    X: Any
    blocks: tuple[Block, ...]
    codes: np.ndarray
    weights: Array
    log_prior: Array
    rival: Any
    bar: float
    fit_bar: float = 0.0

    @property
    def table(self) -> Array:
        """Log of prior times channel, by given label and true class."""
        K = len(self.weights)
        return self.log_prior + np.log(np.full((K, K), 0.1 / K) + 0.9 * np.eye(K))

    @property
    def compact(self) -> int:
        """Bytes of the rows as the kernels read them."""
        return self.codes.nbytes + sum(_bytes(block) for block in self.blocks)


def _bytes(block: Block) -> int:
    if isinstance(block, Codes):
        return block.codes.nbytes
    if isinstance(block, Flags):
        return block.bits.nbytes
    if isinstance(block, Reals):
        return block.values.nbytes
    return block.matrix.data.nbytes + block.matrix.indices.nbytes + block.matrix.indptr.nbytes


def _labels(rng: np.random.Generator, n: int, classes: int) -> np.ndarray:
    return rng.integers(0, classes, n).astype(np.int32)


def _fit(rival: Any, X: Any, y: np.ndarray, fitted: bool) -> Any:
    """Fit on all rows, or on few where only the shape of the model matters."""
    few = slice(0, None if fitted else 5000)
    return rival.fit(X[few], y[few])


def categories(n: int, *, fitted: bool) -> Case:
    """Fifty columns of ten categories, a byte each."""
    rng = np.random.default_rng(0)
    y = _labels(rng, n, CLASSES)
    X = rng.integers(0, 10, (n, COLUMNS), dtype=np.uint8)
    own = rng.integers(0, 10, (CLASSES, COLUMNS), dtype=np.uint8)
    for column in range(COLUMNS):
        typical = rng.random(n) < 0.1
        X[typical, column] = own[y[typical], column]
    nb = _fit(CategoricalNB(min_categories=10), X, y, fitted)
    weights = np.concatenate(nb.feature_log_prob_, axis=1)
    blocks = (Codes(X, (10,) * COLUMNS),)
    return Case("categories", X, blocks, y, weights, nb.class_log_prior_, nb, 25, 50)


def flags(n: int, *, fitted: bool) -> Case:
    """Fifty yes/no columns: a byte each for scikit-learn, a bit each for the kernels."""
    rng = np.random.default_rng(0)
    y = _labels(rng, n, CLASSES)
    chance = rng.uniform(0.3, 0.7, (CLASSES, COLUMNS))
    X = np.empty((n, COLUMNS), np.uint8)
    for column in range(COLUMNS):
        X[:, column] = rng.random(n) < chance[y, column]
    nb = _fit(BernoulliNB(binarize=None), X, y, fitted)
    on = nb.feature_log_prob_
    off = np.log1p(-np.exp(on))
    weights = np.concatenate([off, on - off], axis=1)
    blocks = (Flags(np.packbits(X, axis=1, bitorder="little"), None, COLUMNS),)
    return Case("flags", X, blocks, y, weights, nb.class_log_prior_, nb, 8)


def reals(n: int, *, fitted: bool) -> Case:
    """Fifty real columns in double precision."""
    rng = np.random.default_rng(0)
    y = _labels(rng, n, CLASSES)
    X = rng.standard_normal((n, COLUMNS))
    X += rng.normal(0, 0.3, (CLASSES, COLUMNS))[y]
    nb = _fit(GaussianNB(), X, y, fitted)
    mean, v = nb.theta_, nb.var_
    parts = [-0.5 * (np.log(2 * np.pi * v) + mean**2 / v), mean / v, -0.5 / v]
    blocks = (Reals(X, np.zeros(COLUMNS)),)
    prior = np.log(nb.class_prior_)
    return Case("reals", X, blocks, y, np.concatenate(parts, axis=1), prior, nb, 20)


def text(n: int, *, fitted: bool) -> Case:
    """A tenth as many documents of about 116 different words, whose frequencies follow Zipf."""
    n //= 10
    rng = np.random.default_rng(0)
    y = _labels(rng, n, TOPICS)
    chance = rng.gamma(2.0, 1.0, (TOPICS, WORDS)) / np.arange(1, WORDS + 1)
    length = rng.poisson(154, n)
    starts = np.concatenate([[0], np.cumsum(length)])
    words = np.empty(starts[-1], np.int32)
    topic = np.repeat(y, length)
    for k in range(TOPICS):
        steps = np.cumsum(chance[k])
        drawn = np.searchsorted(steps / steps[-1], rng.random(int((topic == k).sum())))
        words[topic == k] = np.minimum(drawn, WORDS - 1)
    counts = np.ones(len(words))
    X = sparse.csr_matrix((counts, words, starts.astype(np.int32)), shape=(n, WORDS))
    X.sum_duplicates()
    nb = _fit(MultinomialNB(), X, y, fitted)
    blocks = (Words(sparse.csr_array(X)),)
    return Case("text", X, blocks, y, nb.feature_log_prob_, nb.class_log_prior_, nb, 2)


CASES: dict[str, Callable[..., Case]] = {
    "categories": categories,
    "flags": flags,
    "reals": reals,
    "text": text,
}
