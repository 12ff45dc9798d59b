"""Extremely randomized trees as a learner: what columns say together.

scikit-learn grows the trees; here they are arrays, so that a model file holds no code. Trees need
rows: below some five hundred they learn the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.learners.learner import LEAST_CHANCE, Scored, View, calibrated, centered
from misnomer.learners.logistic import is_embedding
from misnomer.learners.rows import Rows
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]

FEWEST_ROWS, CLASS_ROWS = 500, 50  # in all, and of a class on average: of fewer they learn noise
TREES, LEAF_ROWS = 100, 3
CLEAR_ERRORS = 2.0  # standard errors of loss on the first fold: no more trees are grown
MOST_ROWS = 5000  # that a forest is grown on
MOST_HOT, MOST_WORDS = 30, 100  # categories and counts that become columns of their own
LEAST_SHARE = 0.04  # over the number of classes: no class is impossible for a leaf of few rows


@dataclass(frozen=True)
class Trees:
    """A forest fitted to the labels as they are."""

    name: str = "trees"
    n_jobs: int = 1
    random_state: int = 0

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by trees grown without its fold; nothing where trees do not fit."""
        needed = max(FEWEST_ROWS, CLASS_ROWS * rows.classes)
        if len(rows.informed) < needed or is_embedding(rows.schema):
            return []
        cells = dense_cells(rows.schema, rows.batch)
        if cells is None:
            return []
        columns = telling_columns(cells)
        if not len(columns):
            return []
        cells = cells[:, columns]
        share, out = rows.hard, np.zeros((len(rows), rows.classes))
        at = rows.informed
        fold, folds = next(rows.splits())
        for place, places in enumerate(folds):
            forest = self._grown(cells, share, at[fold[at] != place])
            out[places] = forest.leaf_shares(cells[places])
            if place == 0 and _is_worse(rows, view, log_shares(out), places):
                return []
        scorer = self._grown(cells, share, at)
        scorer = Forest(
            self.name, rows.schema, columns, scorer.roots, scorer.nodes, scorer.splits,
            scorer.values,
        )  # fmt: skip
        return [Scored(log_shares(out), scorer)]

    def _grown(self, cells: NDArray[np.float32], share: Array, use: NDArray[np.intp]) -> Forest:
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        if len(use) > MOST_ROWS:
            rng = np.random.default_rng(self.random_state)
            use = np.sort(rng.choice(use, MOST_ROWS, replace=False))
        weight = share[use].sum(axis=1)
        target: Array = share[use] / weight[:, None]
        # of rows that have one class each both grow by the same criterion, and classes are faster
        whole = bool((target.max(axis=1) == 1.0).all() and target.any(axis=0).all())
        grower = (ExtraTreesClassifier if whole else ExtraTreesRegressor)(
            TREES,
            min_samples_leaf=LEAF_ROWS,
            max_features="sqrt",
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        grower.fit(cells[use], target.argmax(axis=1) if whole else target, sample_weight=weight)
        return forest_of(self.name, grower.estimators_)


def _is_worse(rows: Rows, view: View, scores: Array, places: NDArray[np.intp]) -> bool:
    """Tell from one fold whether trees explain what is said clearly worse than naive Bayes does."""
    every, said = rows.at_face_value
    own = np.isin(every, places)
    at, said = every[own], said[own]
    if view.chance is None or not len(at):
        return False
    chance = (calibrated(scores[at], said, rows.weight[at])[0] * said).sum(axis=1)
    gain = np.log(np.maximum(chance, LEAST_CHANCE)) - np.log(view.chance[at])
    return float(gain.mean()) < -CLEAR_ERRORS * float(gain.std()) / np.sqrt(len(at))


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees laid out one after another.

    Attributes
    ----------
    roots : (T,) array of int
        Where each tree begins.
    nodes : (N, 3) array of int
        Left and right child, and the column that decides; the children of a leaf are itself.
    splits : (N,) array
        Rows up to here go left.
    values : (N, K) array
        Class shares of the rows in each node.
    columns : (c,) array of int
        Which of the cells are looked at.
    """

    name: str
    schema: Schema
    columns: NDArray[np.intp]
    roots: NDArray[np.int32]
    nodes: NDArray[np.int32]
    splits: NDArray[np.float32]
    values: NDArray[np.float32]

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K), centered."""
        cells = dense_cells(self.schema, batch)
        if cells is None:
            raise ValueError("these rows have columns that the trees do not know")
        return log_shares(self.leaf_shares(cells[:, self.columns]))

    def leaf_shares(self, cells: NDArray[np.float32]) -> Array:
        """Average the class shares of the leaves that rows fall into, (n, K)."""
        out = np.zeros((len(cells), self.values.shape[1]))
        every = np.arange(len(cells))
        for root in self.roots:
            at = np.full(len(cells), root, np.int32)
            open_rows = every
            while len(open_rows):
                node = at[open_rows]
                left, right, column = self.nodes[node].T
                inner = left != node
                open_rows, node = open_rows[inner], node[inner]
                goes_left = cells[open_rows, column[inner]] <= self.splits[node]
                at[open_rows] = np.where(goes_left, left[inner], right[inner])
            out += self.values[at]
        return out / len(self.roots)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay out the trees."""
        return {
            "columns": self.columns.astype(np.int64),
            "roots": self.roots,
            "nodes": self.nodes,
            "splits": self.splits,
            "values": self.values,
        }


def forest_of(name: str, estimators: list[object]) -> Forest:
    """Lay fitted trees out one after another."""
    roots, nodes, splits, values, start = [], [], [], [], 0
    for one in estimators:
        tree = one.tree_  # type: ignore[attr-defined]
        own = np.arange(tree.node_count)
        leaf = tree.children_left < 0
        left = np.where(leaf, own, tree.children_left) + start
        right = np.where(leaf, own, tree.children_right) + start
        column = np.where(leaf, 0, tree.feature)
        roots.append(start)
        nodes.append(np.stack([left, right, column], axis=1))
        splits.append(tree.threshold)
        values.append(tree.value.reshape(tree.node_count, -1))
        start += tree.node_count
    none = Schema(())
    return Forest(
        name,
        none,
        np.zeros(0, np.intp),
        np.array(roots, np.int32),
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(splits).astype(np.float32),
        np.concatenate(values).astype(np.float32),
    )


def log_shares(share: Array) -> Array:
    """Turn class shares into scores; a leaf of few rows rules no class out."""
    return centered(np.log(np.maximum(share, 0.0) + LEAST_SHARE / share.shape[1]))


def dense_cells(schema: Schema, batch: Batch) -> NDArray[np.float32] | None:
    """Write rows as numbers that trees can split, (n, c); None where there are texts.

    A missing cell is a typical one: it tells nothing.
    """
    parts: list[NDArray[np.float32]] = []
    for block in batch.blocks:
        if isinstance(block, Words):
            if block.width > MOST_WORDS:
                return None
            parts.append(block.matrix.toarray().astype(np.float32))
        elif isinstance(block, Reals):
            values = block.values.astype(np.float32)
            gaps = np.isnan(values)
            parts.append(np.where(gaps, block.center.astype(np.float32), values))
        elif isinstance(block, Flags):
            parts.append(_flag_cells(block))
        else:
            parts += _code_cells(block)
    if not parts:
        return None
    return np.concatenate(parts, axis=1)


def dense_width(schema: Schema) -> int:
    """Count the numbers that `dense_cells` writes for a row."""
    width = 0
    for group in schema.groups:
        if group.kind == "categorical":
            sizes = [len(schema.columns[i].categories) for i in group.members]
            width += sum(size if 2 < size <= MOST_HOT else 1 for size in sizes)
        elif group.kind in ("count", "text"):
            width += sum(schema.columns[i].width for i in group.members)
        else:
            width += len(group.members)
    return width


def _flag_cells(block: Flags) -> NDArray[np.float32]:
    bits = np.unpackbits(block.bits, axis=1, bitorder="little")[:, : block.columns]
    cells = bits.astype(np.float32)
    if block.observed is not None:
        seen = np.unpackbits(block.observed, axis=1, bitorder="little")[:, : block.columns]
        cells[seen == 0] = 0.5
    return cells


def _code_cells(block: Codes) -> list[NDArray[np.float32]]:
    parts = []
    for j, size in enumerate(block.sizes):
        codes = block.codes[:, j]
        if 2 < size <= MOST_HOT:
            parts.append((codes[:, None] == np.arange(size)).astype(np.float32))
        else:
            middle = np.float32((size - 1) / 2)
            parts.append(np.where(codes < size, codes.astype(np.float32), middle)[:, None])
    return parts


def telling_columns(cells: NDArray[np.float32]) -> NDArray[np.intp]:
    """Order the columns by what they hold, wherever they stand; constants and copies are left out.

    Examples
    --------
    >>> table = np.array([[1, 5, 0, 1], [2, 5, 3, 2]], np.float32)
    >>> len(telling_columns(table))
    2
    """
    marks = np.random.default_rng(0).random(len(cells))
    found: dict[bytes, tuple[float, int]] = {}
    for j in range(cells.shape[1]):
        column = np.ascontiguousarray(cells[:, j])
        if (column != column[0]).any():
            # one column at a time: a product of all would round by their places
            found.setdefault(column.tobytes(), (float((marks * column).sum()), j))
    kept = [j for _, j in sorted(found.values())]
    return np.array(kept, np.intp)
