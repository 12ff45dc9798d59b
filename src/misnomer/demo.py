"""A table with errors that we planted ourselves: the votes of the U.S. House of 1984."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from misnomer.audit import Audit, audit
from misnomer.reports.text import render
from misnomer.rows.scan import read_table

LABEL = "party"


@dataclass(frozen=True, eq=False)
class Demo:
    """What was planted, and what was found.

    Attributes
    ----------
    found : Audit
        The audit of the table with the errors in it.
    planted : (n,) array of bool
        The rows whose label was changed.
    """

    found: Audit
    planted: NDArray[np.bool_]

    @property
    def hits(self) -> int:
        """How many of the flagged rows had been changed."""
        return int(self.planted[self.found.ranking].sum())

    @property
    def early(self) -> int:
        """How many changed labels are among the worst suspects, as many as were changed."""
        doubt = np.nan_to_num(self.found.error_probability)
        worst = np.argsort(-doubt, kind="stable")[: self.planted.sum()]
        return int(self.planted[worst].sum())


def house_votes() -> Any:
    """Read the bundled votes: 435 members, 16 votes, their party, as an Arrow table.

    Examples
    --------
    >>> house_votes().shape
    (435, 17)
    """
    with as_file(files("misnomer") / "data" / "house_votes_84.csv") as path:
        return read_table(path)


def planted_table(share: float, seed: int) -> tuple[Any, NDArray[np.bool_]]:
    """Change the party of some members, chosen at random."""
    table = house_votes()
    party = np.array(table.column(LABEL).to_pylist())
    wrong = np.zeros(len(party), bool)
    count = round(share * len(party))
    wrong[np.random.default_rng(seed).choice(len(party), count, replace=False)] = True
    other = np.where(party == "democrat", "republican", "democrat")
    spoiled = np.where(wrong, other, party).tolist()
    return table.set_column(table.column_names.index(LABEL), LABEL, [spoiled]), wrong


def demo(*, share: float = 0.1, seed: int = 0) -> Demo:
    """Plant errors and look for them.

    Examples
    --------
    >>> result = demo()
    >>> int(result.planted.sum())
    44
    """
    table, planted = planted_table(share, seed)
    return Demo(audit(table, label=LABEL, random_state=seed), planted)


def run(seed: int, share: float) -> None:
    """Plant, audit, show both."""
    console = Console(highlight=False)
    result = demo(share=share, seed=seed)
    for line in _before(result):
        console.print(line)
    render(result.found, console)
    for line in _after(result):
        console.print(line)


def _before(result: Demo) -> list[str]:
    n, planted = len(result.planted), int(result.planted.sum())
    return [
        "The votes of the U.S. House of Representatives of 1984: 435 members, 16 votes, two "
        "parties (J. Schlimmer, UCI, CC BY 4.0).",
        f"[bold]Planted:[/bold] {planted} of {n} members ({planted / n:.1%}) now carry the other "
        "party's label.",
        "",
    ]


def _after(result: Demo) -> list[str]:
    planted, flagged = int(result.planted.sum()), len(result.found.ranking)
    return [
        "",
        f"[bold]Found:[/bold] of the {flagged} flagged labels {result.hits} had been planted; "
        f"{planted - result.hits} planted ones were missed.",
        f"Among the {planted} worst suspects {result.early} had been planted.",
        f"Estimated: {result.found.error_count:.0f} wrong labels. Members who often voted with "
        "the other party look mislabeled, too.",
    ]
