"""Numbers and names as they are shown, alike in every rendering; what numbers rest on, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from misnomer.estimate import Estimate
from misnomer.evidence import amount
from misnomer.verdict import Verdict

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


#: What a level means, in words that follow "Verdict:".
MEANINGS = {
    "checked": "checked, holds whatever the noise",
    "assumed": "assumed, holds if errors strike the rows of a class alike",
    "cannot tell": "labels and columns alone cannot tell how many",
}

# Control characters could steer a terminal; direction marks could turn the words around them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def percent(share: float) -> str:
    """Write a share with one decimal; never a false zero, never a false certainty.

    Examples
    --------
    >>> [percent(x) for x in (0.0, 0.0004, 0.03, 0.127, 0.9996, 1.0)]
    ['0%', '<0.1%', '3.0%', '12.7%', '>99.9%', '100%']
    """
    if share != share:
        return "unknown"
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    return f"{100 * share:.0f}%" if share in (0, 1) else f"{100 * share:.1f}%"


def chance(probability: float) -> str:
    """Write a probability that a model gave: it is never quite certain, whatever its last digit.

    Examples
    --------
    >>> chance(1.0), chance(0.5)
    ('>99.9%', '50.0%')
    """
    return percent(min(probability, 1 - 1e-9))


def number(value: float) -> str:
    """Write an expected count, with a decimal while it matters.

    Examples
    --------
    >>> number(3.25), number(1234.5), number(7.0), number(0.01), number(0)
    ('3.2', '1,234', '7.0', '<0.1', '0')
    >>> number(31.7)
    '32'
    """
    if 0 < value < 0.05:
        return "<0.1"
    return f"{value:.1f}" if 0 < value < 9.95 else f"{value:,.0f}"


def whole(value: float) -> str:
    """Write a count of rows.

    Examples
    --------
    >>> whole(1234.0)
    '1,234'
    """
    return f"{value:,.0f}"


def counted(count: float, noun: str, nouns: str | None = None) -> str:
    """Write a count with its noun, one or many.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{whole(count)} {noun if count == 1 else nouns or noun + 's'}"


def size(count: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(1), size(20_480), size(3.2e9)
    ('1 byte', '20.5 kB', '3.2 GB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return counted(count, "byte")


def moment(written: str) -> str:
    """Write a moment of ISO 8601 for people.

    Examples
    --------
    >>> moment("2026-11-16T18:02:11+00:00"), moment("")
    ('2026-11-16 18:02 UTC', '')
    """
    return f"{written[:10]} {written[11:16]} UTC" if written else ""


def weight(nats: float) -> str:
    """Write a weight of evidence with its sign.

    Examples
    --------
    >>> weight(2.5), weight(-0.125)
    ('+2.50', '−0.12')
    """
    return f"{nats:+.2f}".replace("-", "\u2212")


def span(estimate: Estimate, write: Any = percent) -> str:
    """Write an interval.

    Examples
    --------
    >>> span(Estimate(0.125, 0.1, 0.15))
    '90% interval 10.0% to 15.0%'
    """
    return (
        f"{100 * estimate.confidence:g}% interval {write(estimate.low)} to {write(estimate.high)}"
    )


def shown(value: Any, longest: int = 60) -> str:
    r"""Write any cell or name on one line: line breaks as ⏎, no control characters, not too long.

    Examples
    --------
    >>> shown("two\nlines"), shown(0.123456789), shown(None), shown("x" * 9, 5), shown("")
    ('two⏎lines', '0.1235', '(none)', 'xxxx…', '(empty)')
    """
    if value is None:
        return "(none)"
    if isinstance(value, float):
        return amount(value)
    written = re.sub("\r\n|\r|\n", "⏎", str(value))
    written = _UNSAFE.sub("\ufffd", written.replace("\t", " ")) or "(empty)"
    return written if len(written) <= longest else written[: longest - 1] + "…"


def headline(audit: Audit) -> str:
    """Answer in one sentence, no surer than the verdict."""
    name = shown(audit.label)
    rate = percent(audit.error_rate.value).replace("<", "less than ")
    if audit.verdict.level == "cannot tell":
        return f"This data cannot tell how many labels in “{name}” are wrong"
    if audit.verdict.level == "assumed":
        return f"Perhaps {rate} of the labels in “{name}” are wrong"
    if rate.startswith("less"):
        return f"Less than 0.1% of the labels in “{name}” are wrong"
    return f"About {rate} of the labels in “{name}” are wrong"


def row_name(audit: Any, position: int) -> str:
    """Name a row as the user finds it: its id, its index, its line in the file, its position."""
    return shown(audit.shape.name(position))


def row_title(audit: Any, position: int) -> str:
    """Name a row with its noun: "row P020", "line 31"."""
    return f"{audit.shape.noun} {row_name(audit, position)}"


def sampled(audit: Any) -> str:
    """Say so where the rows at hand are a sample of those that were judged."""
    return " of the sample" if len(audit.given) < audit.fitted.rows else ""


# What the numbers rest on: what is assumed, whether it held, and what follows. Each rule reads the
# results that a verdict carries by name, and keeps silent where they are not there: another solver
# tests other things. A new test is one more rule.

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
    tested = [_alike(verdict), _no_chance(verdict), *(rule(tests) for rule in _RULES)]
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


def _no_chance(verdict: Verdict) -> Assumption | None:
    """Name the other one: that right labels do not differ by chance, unless rows were checked."""
    if "nats_explained" not in verdict.tests or verdict.level == "checked":
        return None
    return Assumption(
        "Rows that look much alike are truly of one class.",
        None,
        "Labels and columns cannot tell. Outcomes are not so: of two alike, one may leave.",
        "Where it fails, right labels look wrong, and the rate is too high.",
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
