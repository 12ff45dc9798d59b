"""Numbers and names as they are shown, alike in every rendering."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from misnomer.estimate import Estimate
from misnomer.evidence import amount

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
