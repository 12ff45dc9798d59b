"""The index of a pandas frame <-> arrays and words: whole numbers or names, and its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.audit.frames import default_backend
from misnomer.store import checks

_MOST = 1_000_000  # names that a description may hold


def written_index(index: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Take an index down; one that only counts, or holds something else, is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> arrays, about = written_index(pd.Index([7, 9], name="case"))
    >>> arrays["index"].tolist(), about
    ([7, 9], {'index': {'name': 'case'}})
    """
    if index is None or index.nlevels != 1 or not isinstance(index.name, str | int | None):
        return {}, {}
    values, name = np.asarray(index), {"name": index.name}
    if values.dtype.kind == "i":
        if index.name is None and (values == np.arange(len(values))).all():
            return {}, {}
        return {"index": values.astype(np.int64)}, {"index": name}
    listed = values.tolist()
    if len(listed) <= _MOST and all(type(value) is str for value in listed):
        return {}, {"index": {**name, "values": listed}}
    return {}, {}


def read_index(arrays: dict[str, NDArray[Any]], about: dict[str, Any], n: int) -> Any:
    """Make the index again; None where there was none, or where pandas is not installed."""
    said = about.get("index")
    if said is None or default_backend() != "pandas":
        return None
    import pandas as pd  # type: ignore[import-untyped]

    if "index" in arrays:
        values: Any = checks.array(arrays, "index", (n,), np.int64)
    else:
        values = checks.strings(said["values"])
    if len(values) != n or not isinstance(said["name"], str | int | None):
        raise checks.ContradictionError("its index does not name every row")
    return pd.Index(values, name=said["name"])
