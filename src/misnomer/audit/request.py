"""Request: every option of an audit, checked once, whoever asks: Python, a command, a refit.

`run` is the one way through: the request goes to whoever knows such rows and such labels, what was
checked is taken in, and the audit ends in a verdict with a next step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from misnomer.audit.checked import finished
from misnomer.audit.files.origin import Origin, origin_of
from misnomer.audit.inputs import describe_path
from misnomer.audit.result import Audit
from misnomer.classifiers.noisy import named_learners
from misnomer.rows.files.paths import files_of, unpacked_size
from misnomer.rows.scan import Scan

DEFAULT_MEMORY = "2GB"  # that an audit by batches may use
IN_MEMORY_FACTOR = 8  # times its size on disk that a file takes while it is audited in memory

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_OWN_ALONE = "do not go with annotators, long, noise_groups, knowledge or classifier: leave one out"


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """What is to be audited, and how; see `misnomer.audit` for each part.

    Two requests to do the same thing are made of the same words, wherever they come from; what does
    not go together is refused here, before a row is read.
    """

    data: Any
    label: Any = None
    text: tuple[str, ...] = ()
    families: Any = "auto"
    ignore: tuple[str, ...] = ()
    id: str | None = None
    trusted: Any = None
    random_state: Any = 0
    classifier: Any = None
    progress: Any = None
    memory: str | int | None = None
    skip_bad: bool = False
    checkpoint: Any = None
    cluster: Any = None
    annotators: Any = None
    long: Any = None
    noise_groups: Any = None
    knowledge: Any = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    ignore_case: bool = False
    checked: Any = None
    learners: Any = None
    pred_probs: Any = None

    def __post_init__(self) -> None:
        self._check_labels()
        if not self.is_alone and self.own:
            raise ValueError(f"{self.own[0]} {_OWN_ALONE}")
        if self.learners is not None and self.classifier is not None:
            raise ValueError("say learners= or classifier=, not both")
        if self.text and isinstance(self.families, str) and self.families != "auto":
            raise ValueError(f'say text= or families="{self.families}", not both')
        if self.by_batches:
            self._check_batches()

    @property
    def is_crowd(self) -> bool:
        """Whether rows have several labels: a column per annotator, or a line per answer."""
        return self.annotators is not None or self.long is not None

    @property
    def is_grouped(self) -> bool:
        """Whether rows of one label each belong to groups."""
        return self.noise_groups is not None and not self.is_crowd

    @property
    def is_alone(self) -> bool:
        """Whether nothing is said that would decide who is asked."""
        said = (self.annotators, self.long, self.noise_groups, self.knowledge, self.classifier)
        return all(one is None for one in said)

    @property
    def own(self) -> list[str]:
        """What the user brings: learners that are no names, probabilities."""
        found = []
        if self.learners is not None and (
            not self.is_alone
            or not all(isinstance(one, str) for one in named_learners(self.learners))
        ):
            found.append("learners")
        return [*found, "pred_probs"] if self.pred_probs is not None else found

    @property
    def is_file(self) -> bool:
        """Whether the rows are in a file, or at an address."""
        return isinstance(self.data, str | Path) and str(self.data) != "-"

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are a Dask collection."""
        return type(self.data).__module__.startswith("dask")

    @property
    def kinds(self) -> Any:
        """The families of the columns, those that the user calls texts included."""
        known = dict(self.families) if isinstance(self.families, Mapping) else {}
        return {**known, **dict.fromkeys(self.text, "text")} or self.families

    @property
    def memory_bytes(self) -> int:
        """How much memory an audit by batches may use."""
        return bytes_of(DEFAULT_MEMORY if self.memory is None else self.memory)

    @cached_property
    def by_batches(self) -> bool:
        """Whether rows are read by batches or on a cluster: asked for, or by the data's size."""
        if self._needs_all_rows and not (self._says_batches or self.is_lazy):
            return False
        if self.is_lazy or isinstance(self.data, Scan):
            return True
        if not self.is_file:
            if self._says_batches and isinstance(self.data, str | Path):
                raise ValueError("standard input is read once: save it to a file to stream it")
            return False
        return self._says_batches or is_large(self.data)

    @property
    def _says_batches(self) -> bool:
        return any((self.memory, self.skip_bad, self.checkpoint, self.cluster))

    @property
    def _needs_all_rows(self) -> bool:
        knows = self.knowledge is not None or self.classifier is not None
        return self.is_grouped and knows

    def _check_labels(self) -> None:
        """Refuse labels that are given twice, or by nobody that can be read."""
        said = (self.annotators, self.long, self.noise_groups)
        if sum(one is not None for one in said) > 1:
            raise ValueError("say one of annotators=, long= and noise_groups=")
        if self.is_crowd and self.label is not None:
            raise ValueError("the label columns are those of the annotators: leave label= out")

    def _check_batches(self) -> None:
        """Refuse what must see all rows at once."""
        if self._needs_all_rows:
            raise ValueError(
                "groups with knowledge or a classifier need all rows at once: leave memory, "
                "skip_bad, checkpoint and cluster out, and pass a frame or a file that fits into "
                "memory (of a Dask frame: frame.compute(), or a sample of whole rows)"
            )
        if self.own == ["learners"]:
            raise ValueError(
                "of rows that are read by batches or on a cluster, learners are names "
                '("logistic", "kernel", "trees"): a classifier of your own needs all rows in memory'
            )
        if self.own:
            raise ValueError(
                "pred_probs need all rows at once: leave memory, skip_bad, checkpoint and cluster "
                "out, and pass a frame or a file that fits into memory"
            )
        for name in ("trusted", "noise_groups"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"of rows that are read by batches, {name} must name a column")
        if self.is_crowd and self.checkpoint is not None:
            raise ValueError(
                "several annotators are compared in this process, answer by answer, which a "
                "checkpoint of sums over rows does not hold: leave checkpoint out"
            )
        if not self.is_crowd and not self.is_lazy and not isinstance(self.label, str):
            raise ValueError("which column holds the labels? say label=...")

    def asked(self) -> dict[str, Any]:
        """List what was said in plain values, for whoever does the same again.

        Examples
        --------
        >>> Request(data="a.csv", label="y", ignore=("id",), memory="4GB").asked()
        {'label': 'y', 'ignore': ['id'], 'memory': '4GB'}
        """
        plain = {part.name: _plain(getattr(self, part.name)) for part in fields(self)}
        return {
            name: plain[name] for name in _REPEATED if plain[name] not in (None, "auto", False, 0)
        }


_REPEATED = (
    "label", "text", "families", "ignore", "id", "trusted", "random_state", "memory", "skip_bad",
    "cluster", "annotators", "long", "noise_groups", "knowledge", "reading", "ignore_case",
    "pred_probs",
)  # fmt: skip


def _plain(value: Any) -> Any:
    """Keep words, numbers, and lists and mappings of them; None for what is no plain value."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        kept = [_plain(one) for one in value]
        return kept if kept and None not in kept else None
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()} or None
    return value if isinstance(value, str | int | float) and value != "" else None


def request_of(data: Any, label: Any = None, **said: Any) -> Request:
    """Make a request of the arguments of `audit`, whichever names the labels go by.

    Examples
    --------
    >>> request_of([[1.0]], y=["a"], ignore="id").ignore
    ('id',)
    """
    labels = [
        one for one in (label, said.pop("y", None), said.pop("labels", None)) if _is_said(one)
    ]
    if len(labels) > 1:
        raise ValueError("the labels are given twice: say one of label=, labels= and y=")
    for name in ("text", "ignore"):
        value = said.get(name) or ()
        said[name] = (value,) if isinstance(value, str) else tuple(value)
    reading = said.pop("reading", None)
    if reading is not None:
        data = describe_path(data, reading)
    given = labels[0] if labels else None
    return Request(data=data, label=given, reading=reading or {}, **said)


def _is_said(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and value == "")


def bytes_of(said: str | int) -> int:
    """Read an amount of memory.

    Examples
    --------
    >>> bytes_of("4GB"), bytes_of("1.5 MiB"), bytes_of(1000)
    (4000000000, 1572864, 1000)
    """
    if isinstance(said, int):
        return said
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", said.lower())
    if found is None:
        raise ValueError(f"an amount of memory is written like 4GB or 512MB, not {said!r}")
    number, unit, binary = found.groups()
    power = list(_UNITS).index(unit)
    return int(float(number) * (1024**power if binary else _UNITS[unit]))


def is_large(path: str | Path) -> bool:
    """Tell what is rather read by batches: an address, a pattern, or more than fits by default.

    It follows from the data, never from the memory that happens to be free.
    """
    if "://" in str(path):
        return True
    try:
        files, _ = files_of(path)
    except (ValueError, FileNotFoundError):
        return False  # whoever reads it at once says what is wrong with it
    if not Path(path).exists():
        return True  # a pattern
    most = bytes_of(DEFAULT_MEMORY) // IN_MEMORY_FACTOR
    return sum(unpacked_size(file, most) for file in files) > most


RowsTo = Callable[[Iterator[pa.Table]], None]


def run(request: Request, rows_to: RowsTo | None = None) -> Audit:
    """Audit what was asked for, take checked rows in, and end in a verdict with a next step.

    Parameters
    ----------
    request : Request
        What, and how.
    rows_to : callable, optional
        Takes the judged rows of a file that is read by batches, table after table, as they come.
    """
    origin = _origin(request)
    audit = _audited(request, rows_to)
    concluded: Audit = finished(replace(audit, origin=origin), request.checked)
    return concluded


def _audited(request: Request, rows_to: RowsTo | None) -> Any:
    """Hand the request to whoever knows such rows and such labels."""
    if request.by_batches:
        from misnomer.audit.stream import join_cluster

        with join_cluster(request) as cluster:
            if request.is_crowd:
                from misnomer.audit.crowds.run import audit_batches as audited
            else:
                from misnomer.audit.stream import audit_batches as audited
            return audited(request, cluster, rows_to)
    if request.is_crowd or request.is_grouped:
        from misnomer.audit.crowds.run import audit_sources

        return audit_sources(request)
    from misnomer.audit.learn import audit_table

    return audit_table(request)


def _origin(request: Request) -> Origin | None:
    """Take down which file this is, before it is read; frames are never digested."""
    if not request.is_file:
        return None
    try:
        return origin_of(request.data, request.asked())
    except (OSError, ValueError):
        return None  # whoever reads it says what is wrong with it
