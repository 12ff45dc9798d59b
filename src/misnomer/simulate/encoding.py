"""Labels of any type as positions in a list of classes, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.answers import absent

__all__ = ["Labels", "as_labels", "decode_labels", "encode_labels"]

Labels = Iterable[Any]


def encode_labels(
    y: Labels, classes: Sequence[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.intp], list[Any]]:
    """Return labels as an array, their positions in ``classes`` (-1 = missing), and the classes.

    Examples
    --------
    >>> encode_labels(["b", None, "a"])[1:]
    (array([ 1, -1,  0]), ['a', 'b'])
    """
    labels = as_labels(y)
    plain = labels.tolist()
    missing = absent(labels).tolist()
    present = [label for label, gone in zip(plain, missing, strict=True) if not gone]
    names = _sorted_classes(present) if classes is None else _checked_classes(classes)
    position: dict[Hashable, int] = {name: k for k, name in enumerate(names)}
    for row, (label, gone) in enumerate(zip(plain, missing, strict=True)):
        if not gone and label not in position:
            raise ValueError(
                f"The label {label!r} in row {row} is not among the classes {names}: "
                "add it to classes= or correct it."
            )
    codes = [-1 if gone else position[x] for x, gone in zip(plain, missing, strict=True)]
    return labels, np.array(codes, dtype=np.intp), names


def as_labels(y: Labels) -> NDArray[Any]:
    """Return labels as a 1-D array, keeping the type of each where a list mixes types."""
    # NumPy would turn ["a", nan] into two strings; objects stay what they are.
    listed = isinstance(y, list | tuple)
    labels = np.array(y, dtype=object) if listed else np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"The labels have shape {labels.shape}: give one label per row.")
    return labels


def decode_labels(labels: NDArray[Any], codes: NDArray[np.intp], names: list[Any]) -> NDArray[Any]:
    """Return labels with every present one replaced by the class at its code.

    Examples
    --------
    >>> decode_labels(np.array(["b", "", "a"]), np.array([0, -1, 0]), ["a", "b"]).tolist()
    ['a', '', 'a']
    """
    decoded = labels.astype(_common_type(labels.dtype, names))
    named = np.empty(len(names), dtype=decoded.dtype)
    named[:] = names
    present = codes >= 0
    decoded[present] = named[codes[present]]
    return decoded


def _sorted_classes(present: list[Any]) -> list[Any]:
    try:
        return sorted(set(present))
    except TypeError:
        raise ValueError(
            "The labels are of types that cannot be sorted together: name them with classes=."
        ) from None


def _checked_classes(classes: Sequence[Any]) -> list[Any]:
    listed = as_labels(classes)
    names: list[Any] = listed.tolist()
    if absent(listed).any():
        raise ValueError("classes= holds a missing label: name only the classes themselves.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"classes= names {twice!r} twice: name each class once.")
    return names


def _common_type(dtype: np.dtype[Any], names: list[Any]) -> np.dtype[Any]:
    """Return the type of the labels where it holds every class unchanged, else a wider one."""
    if dtype.kind == "U" and all(isinstance(name, str) for name in names):
        return np.result_type(dtype, np.array(names, dtype=str))
    try:
        kept = np.array(names, dtype=dtype).tolist() == names
    except (TypeError, ValueError, OverflowError):
        kept = False
    return dtype if kept else np.dtype(object)
