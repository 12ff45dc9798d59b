"""What the numbers rest on, in words: what is assumed, whether it held, and what follows.

Each rule reads the results that a verdict carries by name, and keeps silent where they are not
there: another solver tests other things. A new test is one more rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from misnomer.reports.wording import counted, percent, shown
from misnomer.verdict import Verdict

Tests = Mapping[str, Any]

_EXPLAINED = 3.0  # log-likelihood that the columns must add
_CERTAIN = 0.75  # mean probability of the best class, from the columns alone
_UNEVEN = ("Errors gather on", "Errors differ by")  # sentences about where errors strike
_APART = 0.10  # width of error rates that explain the labels about as well
_FEW_ROWS = 10  # of a class
_FEW_ANSWERS = 2.5  # per row


@dataclass(frozen=True)
class Assumption:
    """One assumption, and how it was tested."""

    claim: str  # what is assumed
    held: bool | None  # whether the data bears it out; None where labels and columns cannot tell
    result: str  # what was found
    meaning: str  # what follows for the reader


def assumptions(verdict: Verdict, *, texts: bool = False) -> list[Assumption]:
    """Put the results behind a verdict into words: what failed, what is open, what held.

    Of ``texts``, each word counts as a column.

    Examples
    --------
    >>> tests = {"rows_of_the_smallest_class": 4.2, "converged": True}
    >>> for one in assumptions(Verdict("assumed", (), tests)):
    ...     print("held" if one.held else "failed", "-", one.claim)
    failed - Every class has enough rows.
    held - The fit came to an end.
    """
    tests = {**verdict.tests, "texts": texts}
    tested = [_alike(verdict), *(rule(tests) for rule in _RULES)]
    return sorted(
        (one for one in tested if one), key=lambda one: (False, None, True).index(one.held)
    )


def _alike(verdict: Verdict) -> Assumption | None:
    """Name the assumption that no look at labels and columns can test, unless rows were checked."""
    if "nats_explained" not in verdict.tests or verdict.level == "checked":
        return None
    claim = "Errors strike the rows of a class alike."
    uneven = next((one for one in verdict.sentences if one.startswith(_UNEVEN)), "")
    if uneven:
        meaning = "The rate is an average over rows that differ; check some rows to be sure of it."
        return Assumption(claim, False, uneven, meaning)
    return Assumption(
        claim,
        None,
        "Labels and columns show no sign of the contrary, but cannot rule it out.",
        "The rate holds if this does. Rows that a person has checked tell it either way.",
    )


def _speaking(tests: Tests) -> Assumption | None:
    if "nats_explained" in tests:
        held = float(tests["nats_explained"]) >= _EXPLAINED
    elif "certainty_of_the_columns" in tests:
        held = float(tests["certainty_of_the_columns"]) >= _CERTAIN
    else:
        return None
    brought = "nats_explained" in tests and "informative_columns" not in tests
    return Assumption(
        f"{'Your probabilities' if brought else 'The columns'} tell the classes apart.",
        held,
        "They say clearly which label to expect." if held else "They say little about the label.",
        "Labels can be compared with their rows." if held else "Many errors cannot be seen at all.",
    )


def _several(tests: Tests) -> Assumption | None:
    if "informative_columns" not in tests:
        return None
    count = int(tests["informative_columns"])
    held = count >= 2
    nouns = ("column or word does", "columns and words do")
    nouns = nouns if tests.get("texts") else ("column does", "columns do")
    return Assumption(
        "More than one column says something about the label.",
        held,
        f"{counted(count, *nouns)}." if count else "No single column does.",
        "A wrong label and an odd cell can be told apart."
        if held
        else "A wrong label and an odd cell look the same.",
    )


def _usual(tests: Tests) -> Assumption | None:
    name = next((one for one in ("admissible", "diagonal_is_largest") if one in tests), None)
    if name is None:
        return None
    held = bool(tests[name])
    return Assumption(
        "The usual label of a class is its own.",
        held,
        "It is, for every class." if held else "For some class another label is more usual.",
        "The names of the classes are right."
        if held
        else "Which class is which cannot be told from this data.",
    )


def _single(tests: Tests) -> Assumption | None:
    if "rates_about_as_good" not in tests:
        return None
    low, high = (float(rate) for rate in tests["rates_about_as_good"])
    held = high - low <= _APART
    return Assumption(
        "One error rate explains the labels best.",
        held,
        f"Rates from {percent(low)} to {percent(high)} do so about equally well.",
        "The number of errors is well determined."
        if held
        else "The number of errors is open within that range; the order of the suspects less so.",
    )


def _rows(tests: Tests) -> Assumption | None:
    if "rows_of_the_smallest_class" not in tests:
        return None
    rows = float(tests["rows_of_the_smallest_class"])
    held = rows >= _FEW_ROWS
    return Assumption(
        "Every class has enough rows.",
        held,
        f"The smallest has about {counted(round(rows), 'row')}.",
        "Each class can be learned." if held else "What is said of the smallest class is a guess.",
    )


def _answers(tests: Tests) -> Assumption | None:
    if "answers_per_row" not in tests:
        return None
    per_row = float(tests["answers_per_row"])
    held = per_row >= _FEW_ANSWERS
    return Assumption(
        "Rows have several answers.",
        held,
        f"{per_row:.1f} on average.",
        "Annotators can be compared with each other."
        if held
        else "Who is right rests on the columns, and on what is usual of the others.",
    )


def _copies(tests: Tests) -> Assumption | None:
    if "agree_too_often" not in tests:
        return None
    pairs = [shown(one, 120) for one in list(tests["agree_too_often"])[:3]]
    return Assumption(
        "Annotators answer on their own.",
        not pairs,
        "No two agree more often than their skill explains." if not pairs else "; ".join(pairs),
        "Each answer is an opinion of its own." if not pairs else "A copy is no second opinion.",
    )


def _ended(tests: Tests) -> Assumption | None:
    if "converged" not in tests:
        return None
    held = bool(tests["converged"])
    return Assumption(
        "The fit came to an end.",
        held,
        "It did." if held else "It was stopped before.",
        "More passes would change nothing." if held else "The numbers may still move a little.",
    )


_RULES: tuple[Callable[[Tests], Assumption | None], ...] = (
    _speaking,
    _several,
    _usual,
    _single,
    _rows,
    _answers,
    _copies,
    _ended,
)
