"""Trees as learners, a forest and boosting: what columns say together.

scikit-learn grows the trees; here they are arrays, so that a model file holds no code. Trees need
rows: below some five hundred they learn the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.kernels.threads import each
from misnomer.learners.learner import Scored, View, centered, clear_gain
from misnomer.learners.logistic import is_embedding
from misnomer.learners.rows import CELLS_AT_ONCE, Rows
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]
Cells = NDArray[np.float32]

FEWEST_ROWS, CLASS_ROWS = 500, 50  # in all, and of a class on average: of fewer they learn noise
TREES, LEAF_ROWS = 100, 3
FIRST_TREES = 25  # that tell on one fold whether a forest is of use
ROUNDS, ROUND_LEAVES, LEAF_RIDGE = 50, 8, 1.0  # of boosting
MOST_CUTS = 254  # of a column, where boosting may split: a byte tells the pieces apart
MOST_ROWS = 5000  # that trees are grown on
MOST_BOOSTED = 50_000_000  # cells that the rounds of boosting look at, a tree for each class
MOST_HOT, MOST_WORDS = 30, 100  # categories and counts that become columns of their own
LEAST_SHARE = 0.04  # over the number of classes: no class is impossible for a leaf of few rows


@dataclass(frozen=True)
class Trees:
    """A forest and boosted trees, fitted to the labels as they are."""

    name: str = "trees"
    n_jobs: int = 1
    random_state: int = 0

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by trees grown without its fold; nothing where trees do not fit."""
        if not are_enough(rows) or is_embedding(rows.schema):
            return []
        cells = dense_cells(rows.schema, rows.batch)
        columns = np.zeros(0, np.intp) if cells is None else telling_columns(cells)
        if cells is None or not len(columns):
            return []
        seen, (fold, folds) = cells[:, columns], next(rows.splits())
        others = rows.informed[fold[rows.informed] != 0]
        few = self._grown(forest, min(FIRST_TREES, TREES), rows, seen, others)
        if _is_worse(rows, view, few.cell_scores(seen[folds[0]]), folds[0]):
            return []
        kinds = [(forest, TREES)]
        if len(rows) * len(columns) * rows.classes * ROUNDS <= MOST_BOOSTED:
            kinds.append((boosting, ROUNDS))
        return [self._scored(grow, count, rows, seen, columns) for grow, count in kinds]

    def _scored(
        self, grow: Grow, count: int, rows: Rows, seen: Cells, columns: NDArray[np.intp]
    ) -> Scored:
        """Score every row by trees of one kind, grown without its fold."""
        out, at = np.zeros((len(rows), rows.classes)), rows.informed
        fold, folds = next(rows.splits())

        def scored(place: int) -> Array:
            others = at[fold[at] != place]
            return self._grown(grow, count, rows, seen, others).cell_scores(seen[folds[place]])

        for places, scores in zip(folds, each(scored, range(len(folds))), strict=True):
            out[places] = scores
        whole = self._grown(grow, count, rows, seen, at)
        return Scored(out, replace(whole, schema=rows.schema, columns=columns), together=True)

    def _grown(
        self, grow: Grow, count: int, rows: Rows, seen: Cells, use: NDArray[np.intp]
    ) -> Forest:
        """Grow trees on some of the rows."""
        if len(use) > MOST_ROWS:
            rng = np.random.default_rng(self.random_state)
            use = np.sort(rng.choice(use, MOST_ROWS, replace=False))
        return grow(self, seen[use], rows.hard[use], count)


def are_enough(rows: Rows) -> bool:
    """Tell whether there are so many rows that trees learn more than noise."""
    return len(rows.informed) >= max(FEWEST_ROWS, CLASS_ROWS * rows.classes)


#: Grows trees on cells, (n, c), and rows shared out over the classes, (n, K).
Grow = Callable[[Trees, Cells, Array, int], "Forest"]


def forest(trees: Trees, cells: Cells, share: Array, count: int) -> Forest:
    """Grow many deep trees by chance, to be averaged.

    One by one, as scikit-learn's ensemble does, which takes a fifth longer to make each ready.
    """
    from sklearn import config_context
    from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
    from sklearn.utils import check_random_state

    weight = share.sum(axis=1)
    target: Array = share / weight[:, None]
    # of rows that have one class each both grow by the same criterion, and classes are faster
    whole = bool((target.max(axis=1) == 1.0).all() and target.any(axis=0).all())
    kind = ExtraTreeClassifier if whole else ExtraTreeRegressor
    said = target.argmax(axis=1) if whole else target

    def grown(seed: int) -> Any:
        tree = kind(min_samples_leaf=LEAF_ROWS, max_features="sqrt", random_state=seed)
        return tree.fit(cells, said, sample_weight=weight, check_input=False).tree_

    seeds = check_random_state(trees.random_state).randint(np.iinfo(np.int32).max, size=count)
    with config_context(skip_parameter_validation=True):  # the same for all
        return averaged_trees(trees.name, each(grown, seeds))


def boosting(trees: Trees, cells: Cells, share: Array, count: int) -> Forest:
    """Grow small trees one after another, each to mend what those before it got wrong.

    Columns are cut up here: scikit-learn looks for weighted quantiles, cut by cut, which takes many
    times as long as growing the trees.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    at, target = np.nonzero(share)
    cuts = [cuts_of(column) for column in cells[share.any(axis=1)].T]
    pairs = zip(cuts, cells[at].T, strict=True)
    pieces = np.stack([np.searchsorted(cut, column) for cut, column in pairs], axis=1)
    grower = HistGradientBoostingClassifier(
        max_iter=count,
        max_leaf_nodes=ROUND_LEAVES,
        l2_regularization=LEAF_RIDGE,
        early_stopping=False,
        random_state=trees.random_state,
    )
    with threadpool_limits(trees.n_jobs, user_api="openmp"):
        grower.fit(pieces.astype(np.float32), target, sample_weight=share[at, target])
    return added_trees(trees.name, grower, share.shape[1], len(target), cuts)


def cuts_of(column: Cells) -> Cells:
    """Cut a column between its different values, evenly where they are many.

    How often a value occurs does not matter: a row of weight two is the same row twice.

    Examples
    --------
    >>> cuts_of(np.array([3, 1, 1, 2], np.float32)).tolist()
    [1.5, 2.5]
    >>> len(cuts_of(np.arange(10_000, dtype=np.float32)))
    254
    """
    values = np.unique(column)
    count = len(values) - 1
    if count > MOST_CUTS:
        place = np.linspace(0, count, MOST_CUTS + 2)[1:-1].astype(np.intp)
    else:
        place = np.arange(count)
    low, high = values[place].astype(np.float64), values[place + 1]
    middle = ((low + high) / 2).astype(np.float32)
    return np.where(middle < high, middle, values[place])


def _is_worse(rows: Rows, view: View, scores: Array, places: NDArray[np.intp]) -> bool:
    """Tell from a fold's scores whether trees explain labels clearly worse than naive Bayes."""
    if view.chance is None:
        return False
    every, said = rows.at_face_value
    own = np.isin(every, places)
    at = every[own]
    scores = scores[np.searchsorted(places, at)]
    return clear_gain(scores, said[own], rows.weight[at], view.chance[at]) < 0


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees laid out one after another; their leaves hold class shares, or scores that add up.

    Attributes
    ----------
    roots : (T,) array of int
        Where each tree begins.
    nodes : (N, 3) array of int
        Left and right child, and the column that decides; the children of a leaf are itself.
    splits : (N,) array
        Rows up to here go left.
    values : (N, K) array
        Class shares of the rows in each node, or what it adds to the scores of the classes.
    columns : (c,) array of int
        Which of the cells are looked at.
    adds : bool
        Whether the values are added up, not averaged.
    """

    name: str
    schema: Schema
    columns: NDArray[np.intp]
    roots: NDArray[np.int32]
    nodes: NDArray[np.int32]
    splits: NDArray[np.float32]
    values: NDArray[np.float32]
    adds: bool = False

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K), centered."""
        cells = dense_cells(self.schema, batch)
        if cells is None:
            raise ValueError("these rows have columns that the trees do not know")
        return self.cell_scores(cells[:, self.columns])

    def cell_scores(self, cells: Cells) -> Array:
        """Score rows by the columns that the trees look at, (n, K), centered."""
        total = self._total(cells)
        return centered(total) if self.adds else log_shares(total / len(self.roots))

    def _total(self, cells: Cells) -> Array:
        """Add up the values of the leaves that rows fall into, (n, K); some rows at a time."""
        step = max(CELLS_AT_ONCE // len(self.roots), 1)
        parts = [
            self.values[self._leaves(cells[begin : begin + step])].sum(axis=1, dtype=np.float64)
            for begin in range(0, max(len(cells), 1), step)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _leaves(self, cells: Cells) -> NDArray[np.int32]:
        """Find the leaf of each row in each tree, (n, T): all go down one split at a time."""
        n, trees = len(cells), len(self.roots)
        at, row, going = (
            np.tile(self.roots, n),
            np.repeat(np.arange(n), trees),
            np.arange(n * trees),
        )
        while len(going):
            node = at[going]
            left, right, column = self.nodes[node].T
            inner = left != node
            going, node = going[inner], node[inner]
            goes_left = cells[row[going], column[inner]] <= self.splits[node]
            at[going] = np.where(goes_left, left[inner], right[inner])
        return at.reshape(n, trees)

    def exchanged(self) -> Forest:
        """Number the classes from the other end."""
        return replace(self, values=np.ascontiguousarray(self.values[:, ::-1]))

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay out the trees."""
        return {
            "columns": self.columns.astype(np.int64),
            "roots": self.roots,
            "nodes": self.nodes,
            "splits": self.splits,
            "values": self.values,
        }


def averaged_trees(name: str, trees: Sequence[Any]) -> Forest:
    """Lay the trees of a forest out one after another."""
    laid = [
        (one.children_left < 0, one.children_left, one.children_right, one.feature, one.threshold)
        for one in trees
    ]
    return _laid_out(name, laid, [one.value.reshape(one.node_count, -1) for one in trees])


def added_trees(name: str, grower: Any, classes: int, rows: int, cuts: Sequence[Cells]) -> Forest:
    """Lay boosted trees out; each adds to the score of one class, of two classes to both.

    They were grown on the pieces into which the columns had been cut, and split between the cells
    now. A class that none of the rows has is rarer than one row.

    scikit-learn keeps these trees in private attributes, which this function alone reads.
    """
    laid, values, seen = [], [], grower.classes_
    sides = np.eye(classes)[seen]
    if len(seen) == 2:
        sides = (sides[1:] - sides[:1]) / 2
    for trees in grower._predictors:
        for tree, side in zip(trees, sides, strict=False):
            nodes = tree.nodes
            leaf = nodes["is_leaf"].astype(bool)
            splits = np.zeros(len(nodes), np.float32)
            for node in np.flatnonzero(~leaf):
                splits[node] = cuts[nodes["feature_idx"][node]][int(nodes["num_threshold"][node])]
            laid.append((leaf, nodes["left"], nodes["right"], nodes["feature_idx"], splits))
            values.append(np.where(leaf, nodes["value"], 0.0)[:, None] * side)
    values[0][:, np.setdiff1d(np.arange(classes), seen)] -= np.log(rows)
    return replace(_laid_out(name, laid, values), adds=True)


def _laid_out(name: str, trees: list[tuple[Any, ...]], values: list[Array]) -> Forest:
    """Put trees one after another: leaf or not, left, right, column, split of every node."""
    roots, nodes, splits, start = [], [], [], 0
    for leaf, left, right, column, split in trees:
        own = np.arange(len(leaf))
        links = [np.where(leaf, own, link.astype(np.int64)) + start for link in (left, right)]
        nodes.append(np.stack([*links, np.where(leaf, 0, column)], axis=1))
        splits.append(np.where(leaf, 0.0, split))
        roots.append(start)
        start += len(leaf)
    return Forest(
        name,
        Schema(()),
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
