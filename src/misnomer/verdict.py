"""How far an answer holds: checked, assumed, or neither; in words, with the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

from misnomer.estimate import Estimate

LEVELS = ("checked", "assumed", "cannot tell")

#: What no look at labels and columns can rule out.
HIDDEN = (
    "Errors that follow the columns look like classes: from labels and columns alone they cannot "
    "be seen, and the true share may be far higher. It may be lower where rows that look alike "
    "truly differ, as outcomes do: chance looks like wrong labels."
)
ROWS_TO_CHECK, SECONDS_PER_ROW = 50, 15
_APART, _PLAUSIBLE = 0.10, 0.05  # rates that differ so much, explanations at least so plausible
_MOVED = 0.05  # a rate that moves so much without a column rests on it
_NAMED = 5  # suspects named in a sentence
USELESS = 0.25  # an interval that reaches farther to both sides leaves nearly all open
_IN_PYTHON = re.compile(r", or draw_checks\(\d+\)")


@dataclass(frozen=True)
class Verdict:
    """How far the numbers of an audit can be believed.

    Attributes
    ----------
    level : {"checked", "assumed", "cannot tell"}
        "checked": the share of wrong labels rests on rows that a person has checked and holds
        whatever the noise; "assumed": it holds if errors strike the rows of a class alike;
        "cannot tell": not even then, or too few rows were checked. The suspects may be worth a
        look at any level.
    sentences : tuple of str
        Why, in plain words, the most important first; the last one is the next step.
    tests : mapping
        The results behind the words, by name.

    Examples
    --------
    >>> print(Verdict("assumed", ("The rate rests on 500 labels.",)))
    assumed: The rate rests on 500 labels.
    """

    level: str
    sentences: tuple[str, ...] = ()
    tests: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a level that has no meaning."""
        if self.level not in LEVELS:
            known = ", ".join(f'"{level}"' for level in LEVELS)
            raise ValueError(f"the level of a verdict is one of {known}, not {self.level!r}")

    @property
    def ask(self) -> tuple[int, ...]:
        """Positions of the rows whose true class would settle most; none where nothing is open.

        Examples
        --------
        >>> Verdict("assumed", (), {"ask": [7, 3]}).ask
        (7, 3)
        """
        return tuple(int(row) for row in self.tests.get("ask", ()))

    def in_folder(self, folder: str) -> Verdict:
        """Name the folder of the audit in the next step: there is no other way to take it.

        Examples
        --------
        >>> said = "Next: misnomer check FOLDER --rows 50, or draw_checks(50)."
        >>> Verdict("assumed", (said,)).in_folder("my audit").sentences
        ("Next: misnomer check 'my audit' --rows 50.",)
        """
        words = (one.replace(" FOLDER", f" {quote(folder)}") for one in self.sentences)
        return replace(self, sentences=tuple(_IN_PYTHON.sub("", one) for one in words))

    def without_folder(self) -> Verdict:
        """Say first that a folder is needed, to those who have none.

        Examples
        --------
        >>> said = "Next: check 50 rows: misnomer check FOLDER --rows 50, or draw_checks(50)."
        >>> Verdict("assumed", (said,)).without_folder().sentences
        ('Next: audit with --out FOLDER, then check 50 rows: misnomer check FOLDER --rows 50.',)
        """
        words = (_IN_PYTHON.sub("", one) for one in self.sentences)
        first = "Next: audit with --out FOLDER, then "
        named = (one.replace("Next: ", first) if " FOLDER" in one else one for one in words)
        return replace(self, sentences=tuple(named))

    def __str__(self) -> str:
        """Return the level and its reasons in one line."""
        return f"{self.level}: {' '.join(self.sentences)}"


@dataclass(frozen=True)
class Sensitivity:
    """The share of wrong labels when something is left out.

    Attributes
    ----------
    without : str
        What was left out, such as "the column 'ward'".
    rate : float
        The share of wrong labels then.
    """

    without: str
    rate: float


@dataclass(frozen=True)
class Checked:
    """What checked rows say, as far as a verdict needs it.

    Attributes
    ----------
    rate : Estimate
        The share of wrong labels.
    kind : {"sheet", "running"}
        Whether a sheet was answered as drawn, or the interval holds whenever the answering stops.
    rows, wrong, cannot_say : int
        How many rows count, how many of them are wrong, of how many nobody could say.
    rows_for_five : int
        How many rows in all would bring the interval to ± five points.
    rows_for_some : int
        How many rows in all would bring it to ± `USELESS`, where it starts to be of use.
    """

    rate: Estimate
    kind: str
    rows: int
    wrong: int
    cannot_say: int
    rows_for_five: int
    rows_for_some: int = 0

    @property
    def is_useful(self) -> bool:
        """Whether the interval says anything: three right answers leave nearly all open."""
        return (self.rate.high - self.rate.low) / 2 <= USELESS

    @property
    def too_few(self) -> str:
        """Say that more rows have to be checked, and how many; or by somebody who can tell."""
        found = (
            f"{self.wrong:,} of {self.rows:,} {'is' if self.wrong == 1 else 'are'} wrong, and the "
            f"share may be "
            f"{self.rate.low:.0%} to {self.rate.high:.0%}"
        )
        if self.lacks_words:
            return (
                f"Of {self.cannot_say:,} of {self.rows:,} checked rows nobody could say, too many "
                f"for a useful interval: {found}; somebody who can tell those rows would help."
            )
        more = max(self.rows_for_some - self.rows, 1)
        return (
            f"Too few rows were checked for a useful interval: {found}; about {more:,} more "
            f"{'answer' if more == 1 else 'answers'} would begin to tell."
        )

    @property
    def lacks_words(self) -> bool:
        """Whether the rows would do, had somebody been able to say what they are."""
        return bool(self.cannot_say) and self.rows_for_some <= self.rows


def conclude(
    base: Verdict,
    rate: Estimate,
    labeled: int,
    *,
    alternatives: Sequence[tuple[float, float]] = (),
    sensitivity: Sequence[Sensitivity] = (),
    near_copies: Sequence[tuple[str, float]] = (),
    checked: Checked | None = None,
    suspects: Sequence[str] = (),
    tied: int = 0,
    noun: str = "row",
) -> Verdict:
    """Put an answer into words: how far it holds, what could be hidden, what to do next.

    Parameters
    ----------
    base : Verdict
        What the solver found about its own fit; "cannot tell" stays so unless rows were checked.
    rate : Estimate
        The share of wrong labels by the model.
    labeled : int
        How many rows have a label.
    alternatives : sequence of (rate, plausibility)
        Other explanations of the same labels, the best one's plausibility being one.
    sensitivity : sequence of Sensitivity
        The rate without some columns.
    near_copies : sequence of (column, share)
        Columns that follow the label, and in which share of the rows.
    checked : Checked, optional
        What checked rows say; then the answer is theirs.
    suspects : sequence of str
        Names of the rows that look worst.
    tied : int
        How many more look as bad as the last of them.
    noun : str
        What these names count: "row", or "line" of a file.

    Examples
    --------
    >>> told = conclude(Verdict("assumed"), Estimate(0.1, 0.05, 0.15), 1000, suspects=["7", "3"])
    >>> told.sentences[1]
    'Most suspect: rows 7 and 3.'
    >>> told.sentences[2][:60]
    'Next: check 50 rows drawn by chance, about 12 minutes: misno'
    """
    if checked is None and HIDDEN in base.sentences:
        return base  # said already
    if checked is not None and not checked.is_useful:
        return _barely_checked(base, checked, _suspects(suspects, tied, noun))
    level = base.level
    apart = [r for r, odds in alternatives if odds >= _PLAUSIBLE and abs(r - rate.value) > _APART]
    said = [*_copies(near_copies), *_moved(rate, sensitivity)]
    if apart:
        level = "cannot tell" if level == "assumed" else level
        said.append(
            f"A share of {max(apart, key=lambda r: abs(r - rate.value)):.0%} explains the labels "
            f"about as well as {rate.value:.0%}."
        )
    named = _suspects(suspects, tied, noun)
    if checked is not None:
        first = _checked_words(checked, rate)
        return replace(base, level="checked", sentences=(*first, *named, _more_rows(checked)))
    return replace(
        base, level=level, sentences=(HIDDEN, *said, *base.sentences, *named, _next_step(labeled))
    )


def _barely_checked(base: Verdict, checked: Checked, named: Sequence[str]) -> Verdict:
    """So few answers settle nothing, and the numbers are no longer the model's alone."""
    gone = (HIDDEN, checked.too_few, "Too few rows", "Most suspect", "Next:")
    kept = [one for one in base.sentences if not one.startswith(gone)]
    more = max(checked.rows_for_some - checked.rows, 1)
    step = f"Next: answer more rows: misnomer check FOLDER, with --rows {more} if none is open."
    if checked.lacks_words:
        step = (
            "Next: have the rows that nobody could say looked at by somebody else, and write the "
            "classes into a CSV of row and true_label: misnomer check FOLDER --answers FILE."
        )
    said = (checked.too_few, HIDDEN, *kept, *named, step)
    return replace(base, level="cannot tell", sentences=said)


def _copies(near: Sequence[tuple[str, float]]) -> list[str]:
    return [
        f"The column {name!r} follows the label in {share:.0%} of the rows: if it was made from "
        f"the label, it hides the errors; audit again without it (--ignore {name!r})."
        for name, share in near[:2]
    ]


def _moved(rate: Estimate, sensitivity: Sequence[Sensitivity]) -> list[str]:
    """Name what the rate rests on, the most telling first."""
    order = sorted(sensitivity, key=lambda one: -abs(one.rate - rate.value))
    return [
        f"Without {one.without} the share would be {one.rate:.1%} instead of {rate.value:.1%}: "
        "look whether it was made from the label."
        for one in order[:3]
        if abs(one.rate - rate.value) > _MOVED
    ]


def _suspects(names: Sequence[str], tied: int, noun: str) -> list[str]:
    few = list(names[:_NAMED])
    if not few:
        return []
    more = f"; {tied:,} more {'looks' if tied == 1 else 'look'} as bad" if tied else ""
    if len(few) == 1:
        return [f"Most suspect: {noun} {few[0]}{more}."]
    return [f"Most suspect: {noun}s {', '.join(few[:-1])} and {few[-1]}{more}."]


def _checked_words(checked: Checked, model: Estimate) -> list[str]:
    count = f"{checked.wrong:,} of {checked.rows:,} rows that were drawn by chance are wrong"
    how = (
        "the interval holds whatever the noise, for a sheet that was answered as drawn."
        if checked.kind == "sheet"
        else "the interval holds whatever the noise and whenever you stop."
    )
    said = [f"{count}: {how}"]
    if checked.cannot_say:
        said.append(
            f"Of {checked.cannot_say:,} of them nobody could say: the interval reaches so far that "
            "they may all be right or all be wrong."
        )
    if not checked.rate.low <= model.value <= checked.rate.high:
        said.append(
            f"The model alone says {model.value:.1%}, which the checked rows refute: some errors "
            "follow the columns."
        )
    return said


def _more_rows(checked: Checked) -> str:
    reach = (checked.rate.high - checked.rate.low) / 2
    more = checked.rows_for_five - checked.rows
    if reach <= 0.05 or more <= 0:
        return "Next: go through the suspects: misnomer review FOLDER."
    return (
        f"Next: about {more:,} more rows would tell it to within 5 points: misnomer check FOLDER "
        f"--rows {more}."
    )


def _next_step(labeled: int) -> str:
    rows = min(ROWS_TO_CHECK, max(labeled // 2, 1))
    minutes = max(1, round(rows * SECONDS_PER_ROW / 60))
    time = "about a minute" if minutes == 1 else f"about {minutes} minutes"
    return (
        f"Next: check {rows} {'row' if rows == 1 else 'rows'} drawn by chance, {time}: misnomer "
        f"check FOLDER --rows {rows}, or draw_checks({rows})."
    )
