"""The hot loops: compiled where the C++ part was built, NumPy otherwise; the same answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from misnomer.kernels import reference
from misnomer.kernels.threads import using

__all__ = [
    "accumulate",
    "backend",
    "expect",
    "label_slopes",
    "log_shares",
    "presence",
    "scores",
    "softmax",
    "tally",
    "using",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_SLOW = (
    "the compiled part of misnomer is not installed, so NumPy does its work: the same answers, "
    "several times slower; to change that, install a C++ compiler and reinstall misnomer with "
    "pip --no-cache-dir (pip keeps the wheel that it built without one)"
)
_said = False


def _said_once(kernel: Callable[_P, _T]) -> Callable[_P, _T]:
    """Warn at the first use of a NumPy kernel, and never again."""

    @wraps(kernel)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        global _said
        if not _said:
            _said = True
            warnings.warn(_SLOW, RuntimeWarning, stacklevel=2)
        return kernel(*args, **kwargs)

    return wrapped


try:
    from misnomer.kernels.compiled import (
        accumulate,
        backend,
        expect,
        label_slopes,
        log_shares,
        presence,
        scores,
        softmax,
        tally,
    )
except ImportError:
    accumulate = _said_once(reference.accumulate)
    expect = _said_once(reference.expect)
    label_slopes = reference.label_slopes
    log_shares = reference.log_shares
    presence = reference.presence
    scores = _said_once(reference.scores)
    softmax = reference.softmax
    tally = _said_once(reference.tally)

    def backend() -> str:
        """Name what does the work: NumPy."""
        return "numpy"
