"""Parts of an audit <-> arrays and words: its numbers, the index of a frame, who gave labels."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer.answers import Answers
from misnomer.audit.crowds import Sources
from misnomer.audit.shape import default_backend
from misnomer.classifiers.annotator_table import AnnotatorTable, GroupTable
from misnomer.posterior import Posterior
from misnomer.solvers.annotators.worth import GroupTest
from misnomer.store import noise_arrays, validate

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

_MAX_NAMES = 1_000_000  # names that a description may hold


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
    if len(listed) <= _MAX_NAMES and all(type(value) is str for value in listed):
        return {}, {"index": {**name, "values": listed}}
    return {}, {}


def read_index(arrays: dict[str, NDArray[Any]], about: dict[str, Any], n: int) -> Any:
    """Make the index again; None where there was none, or where pandas is not installed."""
    said = about.get("index")
    if said is None or default_backend() != "pandas":
        return None
    import pandas as pd  # type: ignore[import-untyped]

    if "index" in arrays:
        values: Any = validate.array(arrays, "index", (n,), np.int64)
    else:
        values = validate.strings(said["values"])
    if len(values) != n or not isinstance(said["name"], str | int | None):
        raise validate.ContradictionError("its index does not name every row")
    return pd.Index(values, name=said["name"])


Arrays = dict[str, NDArray[Any]]


def written_numbers(audit: Audit) -> Arrays:
    """Take shares and matrix down; those that are not whole with the classes they are of."""
    out: Arrays = {"posterior": audit.shares.share, **noise_arrays(audit.noise)}
    if not audit.shares.is_whole:
        out["posterior.classes"] = audit.shares.classes.astype(np.int32)
    return out


def read_shares(arrays: Arrays, n: int, K: int) -> Posterior:
    """Make the shares of the rows again."""
    M = K if "posterior.classes" not in arrays else arrays["posterior.classes"].shape[-1]
    share = validate.array(arrays, "posterior", (n, M))
    if M == K:
        validate.shares_by_row(share, "posterior")
        return Posterior.of(share)
    classes = validate.array(arrays, "posterior.classes", (n, M), np.int32)
    order = np.sort(classes, axis=1)
    if classes.min(initial=0) < 0 or classes.max(initial=0) >= K or (np.diff(order) == 0).any():
        raise validate.ContradictionError("a row has a class that the model does not know")
    if (share < 0).any() or (share.sum(axis=1) > 1.0 + 1e-6).any():
        raise validate.ContradictionError("the classes of a row have more than all of it")
    return Posterior(share, classes, K)


_NUMBERS = {
    "annotators": {"answers": np.int64} | dict.fromkeys(("accuracy", "low", "high", "bits"), float),
    "groups": {"rows": np.int64} | dict.fromkeys(("error_rate", "low", "high"), float),
}


def written_sources(sources: Sources) -> tuple[Arrays, dict[str, Any]]:
    """Turn them into arrays and words."""
    answers = sources.answers
    kind = "annotators" if sources.groups is None else "groups"
    table: Any = sources.annotators if sources.groups is None else sources.groups
    arrays: Arrays = {"answers.channels": np.asarray(sources.channels, np.float64)}
    for part in ("row", "annotator", "label"):
        arrays[f"answers.{part}"] = getattr(answers, part).astype(np.int32)
    for name, number in _NUMBERS[kind].items():
        arrays[f"{kind}.{name}"] = np.asarray(getattr(table, name), number)
    about = {
        "kind": kind,
        "columns_help": bool(sources.columns_help),
        "asked": dict(sources.asked),
        "source_names": _names(answers.annotators),
        "ranked": _names(table.name),
    }
    if sources.groups is not None:
        test = asdict(sources.groups.test)
        return arrays, {**about, "test": {name: float(value) for name, value in test.items()}}
    return arrays, {**about, "confusion": [str(one) for one in table.confusion]}


def _names(values: NDArray[Any]) -> dict[str, Any]:
    kind = "str" if values.dtype.kind in "USO" else values.dtype.name
    return {"type": kind, "values": values.tolist()}


def read_sources(
    arrays: Arrays, about: dict[str, Any], labels: NDArray[Any], n: int
) -> Sources | None:
    """Read them back, everything checked before it is believed; None where there are none."""
    said = about.get("sources")
    if said is None:
        return None
    names, ranked = validate.names(said["source_names"]), validate.names(said["ranked"])
    if {*names.tolist()} != {*ranked.tolist()} or said["kind"] not in _NUMBERS:
        raise validate.ContradictionError("those who gave the labels are not those it ranks")
    A, K = len(names), len(labels)
    answers = _answers(arrays, names, labels, n)
    channels = validate.array(arrays, "answers.channels", (A, K, K))
    if (channels < 0).any() or abs(channels.sum(axis=1) - 1.0).max(initial=0.0) > 1e-6:
        raise validate.ContradictionError("a channel does not sum to one")
    numbers = {
        name: validate.array(arrays, f"{said['kind']}.{name}", (A,), np.dtype(kind).type)
        for name, kind in _NUMBERS[said["kind"]].items()
    }
    help_, asked = validate.flag(said["columns_help"]), _asked(said["asked"])
    if said["kind"] == "groups":
        groups = GroupTable(ranked, **numbers, test=_test(said["test"]))
        return Sources(answers, channels, help_, asked, groups=groups)
    confusion = np.array(validate.strings(said["confusion"]), dtype=object)
    if len(confusion) != A:
        raise validate.ContradictionError("not every annotator has a typical confusion")
    table = AnnotatorTable(ranked, **numbers, confusion=confusion)
    return Sources(answers, channels, help_, asked, annotators=table)


def _answers(arrays: Arrays, names: NDArray[Any], labels: NDArray[Any], n: int) -> Answers:
    size = (len(arrays["answers.row"]),)
    limits = {"row": n, "annotator": len(names), "label": len(labels)}
    parts = [validate.array(arrays, f"answers.{part}", size, np.int32) for part in limits]
    for part, limit in zip(parts, limits.values(), strict=True):
        if len(part) and (part.min() < 0 or part.max() >= limit):
            raise validate.ContradictionError("an answer is about no row, by nobody or no label")
    if (np.diff(parts[0]) < 0).any():
        raise validate.ContradictionError("the answers are not in the order of the rows")
    row, annotator, label = parts
    return Answers(row, annotator, label, n, names, labels)


def _asked(said: Any) -> dict[str, Any]:
    if not isinstance(said, dict) or not {*said} <= {"annotators", "long", "label", "noise_groups"}:
        raise validate.ContradictionError("it was asked for in no known way")
    return {
        name: validate.strings(value) if isinstance(value, list) else validate.strings([value])[0]
        for name, value in said.items()
    }


def _test(said: dict[str, Any]) -> GroupTest:
    draws = int(validate.real(said["draws"]))
    return GroupTest(validate.real(said["statistic"]), validate.real(said["p_value"]), draws)
