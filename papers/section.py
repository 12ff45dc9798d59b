"""A section of a paper's page: how its numbers are measured, and how they are shown.

A *quick* run measures with few draws, shows what it found, writes it to ``build/papers/`` (which
git ignores) and compares it with the stored numbers of the full run. A *full* run stores its
numbers in ``results.json`` beside the page, and rewrites the page from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from papers import measured, page
from papers.measured import Results

ROOT = Path(__file__).parent
QUICK = ROOT.parent / "build" / "papers"
NAMES = ("aiolli", "cestnik", "denis", "lynch", "zeng")


@dataclass(frozen=True)
class Section:
    """One table or figure.

    Attributes
    ----------
    name : str
        The name of its markers in README.md.
    measure : callable (quick) -> Results
        Empty where the data are not at hand.
    show : callable (Results, folder) -> str
        The Markdown; figures are drawn into the folder.
    """

    name: str
    measure: Callable[[bool], Results]
    show: Callable[[Results, Path], str]


def sections(paper: str) -> tuple[Section, ...]:
    """List the sections of a paper."""
    found: tuple[Section, ...] = import_module(f"papers.{paper}.run").SECTIONS
    return found


def run_quick(paper: str, section: Section) -> list[str]:
    """Measure with few draws; list what disagrees with the stored numbers."""
    began = time.perf_counter()
    found = section.measure(True)
    if not found:
        print(f"{paper}, {section.name}: the data are not at hand, skipped\n")
        return []
    folder = QUICK / paper
    folder.mkdir(parents=True, exist_ok=True)
    text = section.show(found, folder)
    (folder / f"{section.name.replace(' ', '_')}.md").write_text(text + "\n")
    wrong = measured.disagreements(found, measured.load(ROOT / paper).get(section.name, {}))
    said = f"{len(wrong)} disagree" if wrong else "all agree"
    took = time.perf_counter() - began
    print(f"{paper}, {section.name}: few draws, not for the page\n\n{text}\n")
    print(f"{len(found)} numbers, {said} with the stored full run; {took:.1f} s\n")
    return [f"{paper}, {section.name}: {line}" for line in wrong]


def run_full(paper: str, section: Section) -> None:
    """Measure with all draws, store the numbers, and rewrite the page."""
    began = time.perf_counter()
    found = section.measure(False)
    if not found:
        print(f"{paper}, {section.name}: the data are not at hand, the page stays as it is")
        return
    here = ROOT / paper
    measured.save(here, {**measured.load(here), section.name: found})
    write_page(paper, section)
    print(f"{paper}, {section.name}: {len(found)} numbers in {time.perf_counter() - began:.0f} s")


def write_page(paper: str, section: Section) -> None:
    """Rewrite a section of the page from the stored numbers."""
    here = ROOT / paper
    stored = measured.load(here).get(section.name)
    if not stored:
        print(f"{paper}, {section.name}: nothing is stored; run python -m papers {paper} --full")
        return
    readme = here / "README.md"
    readme.write_text(page.place(readme.read_text(), section.name, section.show(stored, here)))
