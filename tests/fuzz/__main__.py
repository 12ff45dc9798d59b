"""Try damaged inputs, for some seconds or some number of them; print what was found.

    python -m tests.fuzz --seconds 60            # a minute, and what it takes to begin
    python -m tests.fuzz --inputs 1000000        # by hand
    python -m tests.fuzz --only csv:7:123        # one input again, with its traceback

A worker process tries the inputs of one target; where it dies or hangs, the input is noted and
another worker goes on behind it. An input is made from its target, its seed and its number alone.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import mmap
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

PATIENCE = 300.0  # seconds without a new input: it hangs (the first one fits a model, too)
WAITING = 1 << 62  # what stands for the number of the input before the first
MEMORY = 8 << 30  # bytes of addresses that a worker may take
_PLAIN = (ValueError, TypeError, FileNotFoundError, PermissionError, FileExistsError)
_OWN = ("misnomer", "sklearn")


def trouble(error: BaseException) -> str | None:
    """Tell whether an error is a sentence for the user; if not, what it is."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    if type(error).__name__ == "SilentNaNError":
        return f"silent NaN in {where}"
    ours = any(f"/{name}/" in last.filename for name in _OWN)
    if isinstance(error, _PLAIN) and ours and str(error).strip():
        return None
    return f"{type(error).__name__} in {where}: {str(error)[:100]}"


def chances(target: str, seed: int, number: int) -> random.Random:
    return random.Random(f"{target}:{seed}:{number}")


def tried(target: str, seed: int, number: int) -> str | None:
    from tests.fuzz.targets import TARGETS

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[target][0](chances(target, seed, number))
    except Exception as error:
        return trouble(error)
    return None


def work(target: str, seed: int, first: int, last: int, notes: Path) -> None:
    """Try inputs; the number of the current one stands in a file that the parent reads."""
    import tests.fuzz.targets  # noqa: F401 - before the clock starts

    faulthandler.enable()
    unraised: list[str] = []
    sys.unraisablehook = lambda seen: unraised.append(f"{type(seen.exc_value).__name__} printed")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with notes.open("r+b") as stream, mmap.mmap(stream.fileno(), 8) as at:
        for number in range(first, last):
            at[:8] = number.to_bytes(8, "little")
            found = tried(target, seed, number) or next(iter(unraised), None)
            unraised.clear()
            if found is not None:
                print(json.dumps([f"{target}:{seed}:{number}", found]), flush=True)
        at[:8] = last.to_bytes(8, "little")


def attack(
    target: str, seed: int, first: int, last: int, seconds: float
) -> tuple[int, dict[str, Any]]:
    """Run workers over the inputs of one target; return how many were tried, and what was found."""
    found: dict[str, Any] = {}
    with (
        tempfile.NamedTemporaryFile() as notes,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as errors,
    ):
        while first < last and seconds > 0:
            Path(notes.name).write_bytes(WAITING.to_bytes(8, "little"))
            started = time.monotonic()
            words = ["--worker", f"{target}:{seed}:{first}:{last}", "--notes", notes.name]
            child = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz", *words], stdout=out, stderr=errors
            )
            reached, ended = _watched(child, Path(notes.name), seconds, errors)
            if ended is not None:
                found[f"{target}:{seed}:{reached}"] = ended
            first = max(first, reached + (ended is not None)) if reached < WAITING else last
            seconds -= time.monotonic() - started
        out.seek(0)
        noted = (line for line in out if line.startswith("["))  # libraries may print, too
        found |= {name: words for name, words in map(json.loads, noted)}
    return first, found


def _watched(child: Any, notes: Path, seconds: float, errors: Any) -> tuple[int, str | None]:
    """Wait for a worker; say where it came to, and how it ended if not well."""
    # Imports, and the model that the first input is tried on, are not on the clock.
    seen, since, until = WAITING, time.monotonic(), math.inf
    while True:
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.5)
        number = int.from_bytes(notes.read_bytes()[:8], "little")
        now = time.monotonic()
        if number != seen:
            until = now + seconds if seen != WAITING and until == math.inf else until
            seen, since = number, now
        if child.returncode is not None:
            errors.seek(0)
            said = errors.read()
            lines = [line for line in said.splitlines() if line.startswith("Fatal")]
            if child.returncode == 0:
                return number, None
            return number, f"ended with {child.returncode}: {' '.join(lines) or said[-200:]}"
        if now > until or now - since > PATIENCE:
            child.kill()
            child.wait()
            return number, None if now > until else "hangs"


def main() -> int:
    said = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    said.add_argument("--seconds", type=float, default=1e9)
    said.add_argument("--inputs", type=int, default=1_000_000)
    said.add_argument("--seed", type=int, default=0)
    said.add_argument("--targets", default="")
    said.add_argument("--jobs", type=int, default=2)
    said.add_argument("--only")
    said.add_argument("--worker")
    said.add_argument("--notes", type=Path)
    asked = said.parse_args()
    if asked.worker:
        target, *numbers = asked.worker.split(":")
        work(target, *map(int, numbers), asked.notes)
        return 0
    from tests.fuzz.targets import TARGETS

    if asked.only:
        target, seed, number = asked.only.split(":")
        TARGETS[target][0](chances(target, int(seed), int(number)))
        return 0
    return campaign(asked, TARGETS)


def campaign(asked: Any, targets: Any) -> int:
    """Go through the targets, some at a time, each for its share of the time and of the inputs."""
    names = asked.targets.split(",") if asked.targets else list(targets)
    whole = sum(targets[name][1] for name in names)
    each = max(asked.seconds * asked.jobs / len(names), 2.0)

    def one(name: str) -> tuple[int, dict[str, Any]]:
        started = time.monotonic()
        inputs = -(-targets[name][1] * asked.inputs // whole)
        count, found = attack(name, asked.seed, 0, inputs, each)
        took = time.monotonic() - started
        lines = [f"{name:10} {count:9,} inputs {took:7.0f} s  {len(found)} found"]
        lines += [f"   {place}  {words}" for place, words in sorted(found.items())[:20]]
        print("\n".join(lines), flush=True)
        return count, found

    with ThreadPoolExecutor(asked.jobs) as pool:
        done = list(pool.map(one, names))
    troubles = sum(len(found) for _, found in done)
    print(f"{sum(count for count, _ in done):,} inputs, {troubles} found")
    return 1 if troubles or not all(count for count, _ in done) else 0


if __name__ == "__main__":
    sys.exit(main())
