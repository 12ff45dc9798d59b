"""Who gave the labels of an audit: annotators or groups, what each said, and their vote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.answers import Answers, Codes
from misnomer.classifiers.annotator_table import AnnotatorTable, GroupTable
from misnomer.classifiers.inputs import checked_trusted
from misnomer.evidence import Evidence
from misnomer.table import CheckedRows

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_MANY_ANSWERS = 100  # among so many, a label that was said once is rather a slip than a class


@dataclass(frozen=True, eq=False)
class Sources:
    """The answers behind the given labels, and the channel of everybody who gave them."""

    answers: Answers  # who said what about which row
    channels: Array  # (A, L, K): P(label | true class) of each annotator or group
    columns_help: bool  # whether the columns had a say beside the answers
    asked: Mapping[str, Any]  # how `audit` was asked for this: the arguments, by name
    # which of them they are
    annotators: AnnotatorTable | None = None
    groups: GroupTable | None = None

    def about(self, row: int) -> tuple[Codes, Codes, Array]:
        """Find who answered about a row, what, and ``log channel_a[y, z]`` of each, (m, K)."""
        at = slice(*np.searchsorted(self.answers.row, [row, row + 1]))
        who, said = self.answers.annotator[at], self.answers.label[at]
        return who, said, np.log(np.maximum(self.channels[who, said], 1e-300))

    def weighed(self, evidence: Evidence, row: int) -> Evidence:
        """Put what was said about a row, each answer by itself, in the place of its label.

        Groups give one label a row: its weight is that of the group's own channel.
        """
        who, said, terms = self.about(row)
        if not self.columns_help:
            none = np.zeros((0, len(evidence.prior)))
            evidence = replace(evidence, names=(), values=(), terms=none)
        if self.groups is not None:
            return replace(evidence, label=terms.sum(axis=0))
        return replace(
            evidence,
            names=(*evidence.names, *(str(name) for name in self.answers.annotators[who])),
            values=(*evidence.values, *self.answers.labels[said].tolist()),
            terms=np.concatenate([evidence.terms, terms]),
            label=np.zeros_like(evidence.label),
        )


def plurality(answers: Answers) -> Ints:
    """Find the most frequent answer about each row, (n,); -1 where there is none.

    Of answers that are equally frequent, the one of the first annotator counts.

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> plurality(from_table([["b", "a", "a"], ["b", "a", None], [None] * 3])).tolist()
    [0, 1, -1]
    """
    votes = answers.votes()
    most = votes == votes.max(axis=1, keepdims=True, initial=0)
    among = np.flatnonzero(most[answers.row, answers.label])
    rows, first = np.unique(answers.row[among], return_index=True)
    given = np.full(answers.n_rows, -1, np.int64)
    given[rows] = answers.label[among[first]]
    return given


@dataclass(frozen=True, eq=False)
class Votes:
    """What is taken for the label of each row: its vote, (n,), -1 without any; and who is sure.

    A person who has checked a row settles its class; its vote stays what it was.
    """

    given: Ints
    trusted: NDArray[np.bool_]
    checked: CheckedRows | None = None

    @property
    def truth(self) -> NDArray[np.int32]:
        """The classes that are known to be right, (n,), -1 elsewhere."""
        out = np.where(self.trusted, self.given, -1).astype(np.int32)
        if self.checked is not None:
            row, true = self.checked.row, self.checked.true
            some = (true >= 0) & (row < len(out))
            out[row[some]] = true[some]
        return out

    def codes(self, L: int) -> NDArray[np.int32]:
        """Write the labels as the evidence codes of a batch."""
        codes = np.where(self.given < 0, L, self.given)
        codes[self.trusted] = L + 1 + self.given[self.trusted]
        return codes.astype(np.int32)


def votes_of(answers: Answers, trusted: Any, checked: CheckedRows | None = None) -> Votes:
    """Take the votes for the labels."""
    if not len(answers):
        raise ValueError("there is no label at all: every cell of the label columns is empty")
    given = plurality(answers)
    mask = checked_trusted(trusted, answers.n_rows)
    sure = (np.zeros(len(given), bool) if mask is None else mask) & (given >= 0)
    return Votes(given, sure, checked)


def rare(answers: Answers) -> list[str]:
    """Name the labels that were said once among many answers: most likely slips of the pen.

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> rare(from_table([["a", "b"]] * 60 + [["bb", "b"]]))
    ["the label 'bb' was said once only: correct it if it is no class of its own"]
    """
    often = answers.votes().sum(axis=0)
    if len(answers) < _MANY_ANSWERS:
        return []
    return [
        f"the label {name!r} was said once only: correct it if it is no class of its own"
        for name in answers.labels[often == 1].tolist()[:5]
    ]
