"""What the numbers rest on, in words: what is assumed, whether it held, and what follows.

Each rule reads the results that a verdict carries by name, and keeps silent where they are not
there: another solver tests other things. A new test is one more rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from misnomer.reports.wording import counted, percent, shown

Tests = Mapping[str, Any]

_EXPLAINED = 3.0  # log-likelihood that the columns must add
_CERTAIN = 0.75  # mean probability of the best class, from the columns alone
_REPEATING = 3.0  # standard errors by which evidence varies more than that of independent columns
_SEEN = 3.0  # standard errors by which columns know who is mislabeled within a class
_APART = 0.10  # width of error rates that explain the labels about as well
_FEW_ROWS = 10  # of a class
_FEW_ANSWERS = 2.5  # per row


@dataclass(frozen=True)
class Assumption:
    """One assumption, and how it was tested.

    Attributes
    ----------
    claim : str
        What is assumed.
    held : bool
        Whether the data bears it out.
    result : str
        What was found.
    meaning : str
        What follows for the reader.
    """

    claim: str
    held: bool
    result: str
    meaning: str


def assumptions(tests: Tests) -> list[Assumption]:
    """Put the results behind a verdict into words, those that failed first.

    Examples
    --------
    >>> for one in assumptions({"rows_of_the_smallest_class": 4.2, "converged": True}):
    ...     print("held" if one.held else "failed", "-", one.claim)
    failed - Every class has enough rows.
    held - The fit came to an end.
    """
    found = [made for rule in _RULES if (made := rule(tests)) is not None]
    return sorted(found, key=lambda one: one.held)


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
    return Assumption(
        "More than one column says something about the label.",
        held,
        f"{counted(count, 'column does', 'columns do')}." if count else "No single column does.",
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


def _repeating(tests: Tests) -> Assumption | None:
    if "dispersion_z" not in tests:
        return None
    held = float(tests["dispersion_z"]) < _REPEATING
    pairs = list(tests.get("repeating_columns", ()))
    most = f", most of all “{shown(pairs[0][0])}” and “{shown(pairs[0][1])}”" if pairs else ""
    return Assumption(
        "Within a class, columns do not repeat each other.",
        held,
        "They look independent." if held else f"Some do{most}.",
        "Each column counts in full."
        if held
        else "The same evidence would count twice: it was made weaker to correct for that, and "
        "intervals are wider.",
    )


def _alike(tests: Tests) -> Assumption | None:
    if "difficulty" not in tests and "errors_seen_by_columns_z" not in tests:
        return None
    hard = str(tests.get("difficulty", "no")) != "no"
    seen = float(tests.get("errors_seen_by_columns_z", 0.0)) > _SEEN
    result = "No sign of the contrary was found."
    if hard or seen:
        result = "Errors gather on rows that are hard to tell." if hard else ""
        result += " " if hard and seen else ""
        result += "Within a class the columns tell who is mislabeled." if seen else ""
    return Assumption(
        "Errors strike the rows of a class alike.",
        not (hard or seen),
        result,
        "This is what labels and columns alone can least test: rows that a person has checked can."
        if not (hard or seen)
        else "The rate is an average over rows that differ; check some rows to be sure of it.",
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


def _settled(tests: Tests) -> Assumption | None:
    if "converged" not in tests:
        return None
    held = bool(tests["converged"])
    return Assumption(
        "The fit came to an end.",
        held,
        "It did." if held else "It was stopped before.",
        "More passes would change nothing." if held else "Allow more passes (max_iter).",
    )


_RULES: tuple[Callable[[Tests], Assumption | None], ...] = (
    _speaking,
    _several,
    _usual,
    _single,
    _alike,
    _repeating,
    _rows,
    _answers,
    _copies,
    _settled,
)
