"""Why one label looks wrong (or right): weights of evidence that add up to the log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.evidence import Evidence

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The terms of the log-odds of one class against the given label.

    ``log_odds = prior + weights.sum() + label``: positive weights speak for ``suggested``, negative
    ones for ``given`` (for the next best class, where the suggestion is the given label).

    Attributes
    ----------
    row : int
        The position of the row in the input.
    given : label or None
        The given label; None where there is none.
    suggested, against : label
        The two classes that are compared.
    names, values : tuple
        The columns (or words) of the row and what they hold, the heaviest first.
    weights : (J,) array
        The weight of evidence of each of them, in nats.
    prior : float
        What the shares of the two classes say beforehand.
    label : float
        What the given label itself says.
    error_probability : float or None
        P(the given label is wrong), as in the audit's rows.
    """

    row: int
    given: Any
    suggested: Any
    against: Any
    names: tuple[str, ...]
    values: tuple[Any, ...]
    weights: Array
    prior: float
    label: float
    error_probability: float | None

    @property
    def log_odds(self) -> float:
        """The sum of all the terms."""
        return float(self.prior + self.weights.sum() + self.label)

    @property
    def terms(self) -> tuple[tuple[str, Any, float], ...]:
        """All of the sum as (name, value, weight), the prior and the given label included."""
        columns = zip(self.names, self.values, self.weights.tolist(), strict=True)
        own = (
            ("(share of the class)", None, self.prior),
            ("(given label)", self.given, self.label),
        )
        return (*columns, *own)

    def heaviest(self, most: int = 8) -> tuple[tuple[str, Any, float], ...]:
        """List the terms with all but the heaviest columns added up: they sum to the log-odds."""
        every = self.terms
        if len(self.names) <= most + 1:
            return every
        rest = (f"({len(self.names) - most} others)", None, float(self.weights[most:].sum()))
        return (*every[:most], rest, *every[-2:])

    def __str__(self) -> str:
        """List the heaviest terms, one per line."""
        head = f"row {self.row}: {self.suggested!r} rather than {self.against!r}"
        lines = [
            f"  {weight:+7.2f}  {name}" + ("" if value is None else f" = {value}")
            for name, value, weight in self.terms
        ]
        return "\n".join([head, *lines, f"  {self.log_odds:+7.2f}  in all (log-odds)"])


def explained(
    evidence: Any, row: int, given: Any, classes: tuple[Any, ...], pair: tuple[int, int], doubt: Any
) -> Explanation:
    """Turn the evidence of one row into weights for one class against another."""
    this, against = pair
    weights = evidence.odds(this, against)
    order = np.argsort(-np.abs(weights), kind="stable")
    return Explanation(
        row=row,
        given=given,
        suggested=classes[this],
        against=classes[against],
        names=tuple(evidence.names[i] for i in order),
        values=tuple(evidence.values[i] for i in order),
        weights=weights[order],
        prior=float(evidence.prior[this] - evidence.prior[against]),
        label=float(evidence.label[this] - evidence.label[against]),
        error_probability=doubt,
    )


#: What the model, fitted to all rows, owes to the row in question; it is judged without that.
WITHOUT_ITSELF = "judged without itself"


def without_itself(evidence: Evidence, posterior: Array, absent: str = "") -> Evidence:
    """Add the term that brings the evidence to the posterior by which the row was judged.

    The model has seen the row; the audit judges every row by the others. With that term, evidence
    adds up to the log-odds of what is shown. Where a classifier is ``absent`` that the audit
    listened to, the term is what it said.
    """
    if not (posterior > 0).all():
        return evidence  # its class is known: nothing is weighed
    gap = np.log(posterior) - evidence.total
    gap = gap - gap.mean()
    if float(np.abs(gap).max(initial=0.0)) < 1e-9:
        return evidence
    return replace(
        evidence,
        names=(*evidence.names, absent or WITHOUT_ITSELF),
        values=(*evidence.values, None),
        terms=np.concatenate([evidence.terms, gap[None, :]]),
    )
