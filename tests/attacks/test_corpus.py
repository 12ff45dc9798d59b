"""What was found once stays found: the corpus, and some new damage of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.__main__ import tried
from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parents[1] / "fuzz" / "corpus" / "found.txt"
LINES = [line for line in FOUND.read_text().splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("line", LINES)
def test_what_was_found_is_refused_in_a_sentence(line):
    target, seed, number = line.split(":")
    assert tried(target, int(seed), int(number)) is None


@pytest.mark.parametrize("target", TARGETS)
def test_some_damage_of_every_kind(target):
    found = {number: tried(target, 99, number) for number in range(5)}
    assert not any(found.values()), found
