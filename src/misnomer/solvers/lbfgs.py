"""Limited-memory BFGS for short vectors: far cheaper per step than a bounded general solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]

STEPS_REMEMBERED = 8  # pairs of steps and changes of the gradient
MAX_LINE_SEARCH = 20  # of a line search
WOLFE_DECREASE, WOLFE_SLOPE = 1e-4, 0.9  # Wolfe's conditions


def minimise(
    function: Function, start: Array, *, max_iter: int = 100, tol: float = 1e-6, slope: float = 1e-3
) -> tuple[Array, float, bool]:
    """Find a minimum of a smooth function that returns its value and its gradient.

    Stops when the value falls by less than ``tol (1 + |value|)`` twice in a row, or when no entry
    of the gradient exceeds ``slope``; the last value tells whether that was so before ``max_iter``
    steps.

    Examples
    --------
    >>> x, value, converged = minimise(
    ...     lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)
    ... )
    >>> x.round(6).tolist(), converged
    ([3.0, 3.0], True)
    """
    x, (value, gradient) = start, function(start)
    pairs: list[tuple[Array, Array, float]] = []
    idle = 0
    for _ in range(max_iter):
        if np.abs(gradient).max(initial=0.0) < slope:
            return x, value, True
        way = _direction(gradient, pairs)
        if gradient @ way >= 0:
            pairs, way = [], -gradient
        step = _search(function, x, value, gradient, way, fresh=not pairs)
        if step is None:
            return x, value, True
        ahead, lower, turned = step
        _remember(pairs, ahead - x, turned - gradient)
        idle = idle + 1 if value - lower < tol * (1 + abs(lower)) else 0
        x, value, gradient = ahead, lower, turned
        if idle == 2:
            return x, value, True
    return x, value, False


def _direction(gradient: Array, pairs: list[tuple[Array, Array, float]]) -> Array:
    """Multiply minus the gradient by the inverse Hessian that the last steps suggest."""
    way, moved = -gradient, np.empty_like(gradient)  # long vectors: no new ones on the way
    passed = []
    for step, change, rate in reversed(pairs):
        part = rate * (step @ way)
        way -= np.multiply(change, part, out=moved)
        passed.append(part)
    if pairs:
        step, change, _ = pairs[-1]
        way *= (step @ change) / (change @ change)
    for (step, change, rate), part in zip(pairs, reversed(passed), strict=True):
        way += np.multiply(step, part - rate * (change @ way), out=moved)
    return way


def _search(
    function: Function, x: Array, value: float, gradient: Array, way: Array, *, fresh: bool
) -> tuple[Array, float, Array] | None:
    """Go along a direction until the value has fallen enough and the slope has eased."""
    descent = gradient @ way
    length = min(1.0, 1.0 / float(np.linalg.norm(gradient))) if fresh else 1.0
    short, long = 0.0, np.inf
    best: Any = None
    for _ in range(MAX_LINE_SEARCH):
        ahead = x + length * way
        lower, turned = function(ahead)
        if not np.isfinite(lower) or lower > value + WOLFE_DECREASE * length * descent:
            long = length
        else:
            best = (ahead, lower, turned)
            if turned @ way >= WOLFE_SLOPE * descent:
                return ahead, lower, turned
            short = length
        length = 0.5 * (short + long) if np.isfinite(long) else 2.0 * length
    return best


def _remember(pairs: list[tuple[Array, Array, float]], step: Array, change: Array) -> None:
    bent = float(step @ change)
    if bent > 1e-10 * float(change @ change):
        pairs.append((step, change, 1.0 / bent))
        del pairs[:-STEPS_REMEMBERED]
