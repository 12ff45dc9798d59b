"""``misnomer demo``: planted errors, found again."""

from __future__ import annotations

from rich.console import Console

from misnomer.demo import Demo, demo
from misnomer.reports.text import render


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
