"""What a head has beyond a linear model <-> arrays: trees, marks, probabilities, strata.

Somebody's own classifier is no arrays: a model is refused that has one, or, where an audit is kept
for its rows and numbers, the classifier's name and its part stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.head.model import HeadModel
from misnomer.head.rates import Strata
from misnomer.learners.brought import BroughtScorer
from misnomer.learners.kernel import Likeness
from misnomer.learners.learner import Scorer
from misnomer.learners.trees import Forest, dense_width
from misnomer.learners.yours import Absent
from misnomer.model import Model
from misnomer.store import validate
from misnomer.table import Group

Arrays = dict[str, NDArray[Any]]


def arrays_of(model: Model, *, whole: bool = True) -> Arrays:
    """Lay out trees and strata; nothing of a linear model. ``whole`` refuses what has no arrays."""
    if not isinstance(model, HeadModel):
        return {}
    out: Arrays = {}
    for number, (factor, scorer) in enumerate(model.others):
        parts = {} if _kind(scorer) == "absent" and not whole else scorer.arrays()
        out[f"other.{number}.factor"] = np.array([factor])
        out |= {f"other.{number}.{name}": np.asarray(value) for name, value in parts.items()}
    if model.strata is not None:
        out["strata.channels"], out["strata.ratio"] = model.strata.channels, model.strata.ratio
        if model.strata.edges is not None:
            out["strata.edges"] = model.strata.edges
    return out


def about(model: Model) -> dict[str, Any]:
    """Say what kind of head it is."""
    if not isinstance(model, HeadModel):
        return {}
    kinds = [[_kind(scorer), scorer.name] for _, scorer in model.others]
    said: dict[str, Any] = {"head": True, "others": kinds}
    if model.strata is not None:
        said["strata"] = {"name": model.strata.name, "place": list(model.strata.place)}
    return said


def _kind(scorer: Any) -> str:
    if isinstance(scorer, Forest):
        return "boosted" if scorer.adds else "trees"
    if isinstance(scorer, Likeness):
        return "likeness"
    return "brought" if isinstance(scorer, BroughtScorer) else "absent"


def with_head(model: Model, arrays: Arrays, said: dict[str, Any]) -> Model:
    """Put trees and strata back, where there were any; everything is checked."""
    if not said.get("head"):
        return model
    K = len(model.prior)
    others = tuple(
        _other(model, arrays, number, *validate.strings(one))
        for number, one in enumerate(said["others"])
    )
    strata = None
    if said.get("strata") is not None:
        strata = _strata(arrays, said["strata"], K, model)
    return HeadModel(
        model.prior,
        model.channel,
        model.weights,
        model.schema,
        model.bias,
        others=others,
        strata=strata,
    )


def _other(model: Model, arrays: Arrays, number: int, kind: str, name: str) -> tuple[float, Scorer]:
    """Put one learner back, by its kind."""
    factors = validate.array(arrays, f"other.{number}.factor", (1,))
    validate.bounded(factors, "factor")
    factor = float(factors[0])
    if kind in ("trees", "boosted"):
        return factor, _forest(model, arrays, number, adds=kind == "boosted")
    if kind == "likeness":
        return factor, _likeness(model, arrays, number, name)
    if kind == "absent":
        return factor, Absent(name)
    if kind != "brought":
        raise validate.ContradictionError("it has a learner of no known kind")
    K, place = len(model.prior), f"other.{number}.channel"
    if place not in arrays:
        return factor, BroughtScorer()
    channel = validate.array(arrays, place, (K, K))
    for column in channel.T:
        validate.shares(column, "learner's channel")
    return factor, BroughtScorer(channel)


def _likeness(model: Model, arrays: Arrays, number: int, name: str) -> Likeness:
    marks = arrays[f"other.{number}.marks"]
    if marks.ndim != 2:
        raise validate.ContradictionError("its marks are no table")
    (m, p), K, S = marks.shape, len(model.prior), model.schema.statistics
    shapes = {"scale": (p, S), "shift": (p,), "marks": (m, p), "weights": (K, m), "bias": (K,)}
    parts = {}
    for part, shape in shapes.items():
        parts[part] = validate.array(arrays, f"other.{number}.{part}", shape)
        validate.bounded(parts[part], part)
    return Likeness(name, **parts)


def _forest(model: Model, arrays: Arrays, number: int, *, adds: bool) -> Forest:
    def of(name: str, shape: tuple[int, ...], kind: Any = np.float64) -> NDArray[Any]:
        return validate.array(arrays, f"other.{number}.{name}", shape, kind)

    nodes = arrays[f"other.{number}.nodes"]
    size, trees = len(nodes), len(arrays[f"other.{number}.roots"])
    width = len(arrays[f"other.{number}.columns"])
    forest = Forest(
        "trees",
        model.schema,
        of("columns", (width,), np.int64).astype(np.intp),
        of("roots", (trees,), np.int32),
        of("nodes", (size, 3), np.int32),
        of("splits", (size,), np.float32),
        of("values", (size, len(model.prior)), np.float32),
        adds,
    )
    own = np.arange(size)
    left, right, column = forest.nodes.T
    leaf = (left == own) & (right == own)
    grows = leaf | ((left > own) & (right > own) & (left < size) & (right < size))
    known = (column >= 0) & (column < max(width, 1))
    rooted = trees > 0 and bool(((forest.roots >= 0) & (forest.roots < size)).all())
    placed = (forest.columns >= 0) & (forest.columns < dense_width(model.schema))
    if not (grows.all() and known.all() and rooted and placed.all()):
        raise validate.ContradictionError("its trees lead nowhere")
    values = forest.values.astype(np.float64)
    if adds:
        validate.bounded(values, "trees")
    else:
        validate.shares_by_row(values, "trees")
    return forest


def _width(group: Group) -> int:
    """Count the places of a group at which strata may be."""
    counts = group.kind in ("count", "text")
    return group.span.stop - group.span.start if counts else len(group.members)


def _strata(arrays: Arrays, said: dict[str, Any], K: int, model: Model) -> Strata:
    m = len(arrays["strata.channels"])
    channels = validate.array(arrays, "strata.channels", (m, K, K))
    ratio = validate.array(arrays, "strata.ratio", (m, K))
    for channel in channels:
        for column in channel.T:
            validate.shares(column, "strata")
    edges = None
    if "strata.edges" in arrays:
        edges = validate.array(arrays, "strata.edges", (len(arrays["strata.edges"]),))
        if len(edges) > m - 1 or (np.diff(edges) < 0).any():
            raise validate.ContradictionError("its strata are not those of their channels")
    if (ratio < 0).any():
        raise validate.ContradictionError("its strata have shares below zero")
    (name,) = validate.strings([said["name"]])
    block, column = _place(said["place"])
    groups = model.schema.groups
    by_margin = edges is not None and block < 0
    if not by_margin and not (
        0 <= block < len(groups)
        and 0 <= column < _width(groups[block])
        and (groups[block].kind == "gaussian") == (edges is not None)
    ):
        raise validate.ContradictionError("its strata belong to no column")
    return Strata(name, channels, ratio, edges, (block, column), judges=True)


def _place(said: Any) -> tuple[int, int]:
    """Take the block and the column of strata; both are -1 where no column parts the rows."""
    whole = isinstance(said, list) and all(type(one) is int for one in said)
    if not whole or len(said) != 2:
        raise validate.ContradictionError("its strata have no place")
    return said[0], said[1]
