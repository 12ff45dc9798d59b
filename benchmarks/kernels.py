"""The kernels against scikit-learn's naive Bayes, as ratios in one run.

    python -m benchmarks.kernels            # a million rows: some minutes
    python -m benchmarks.kernels --quick    # a tenth of it
    python -m benchmarks.kernels --write    # and into docs/measured/speed.md

One thread and CPU time, the least of several runs, so that a busy machine distorts little. Both
sides get the same rows and the same model; what they compute is first checked to be equal.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.kernels_cases import CASES, Case
from misnomer import kernels
from misnomer.kernels.reference import softmax

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "speed.md"


@dataclass(frozen=True)
class Timing:
    """Milliseconds of scikit-learn and of ours, and the ratio that ours must reach."""

    what: str
    theirs: float
    ours: float
    bar: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    def __str__(self) -> str:
        verdict = "ok" if self.ratio >= self.bar else "SHORT"
        return (
            f"{self.what:<42} {self.theirs:>9.1f} {self.ours:>9.1f} "
            f"{self.ratio:>7.1f}x {self.bar:>6.0f}x  {verdict}"
        )


def cpu_time(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return 1e3 * (time.process_time() - start)


def wall_time(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


def compare(
    what: str, theirs: Callable[[], object], ours: Callable[[], object], bar: float, repeats: int
) -> Timing:
    """Alternate between the two, so that both meet the same neighbors, and keep the least."""
    ours()
    slow = [cpu_time(theirs)]
    fast = []
    for _ in range(repeats):
        fast += [cpu_time(ours) for _ in range(3)]
        slow.append(cpu_time(theirs))
    return Timing(what, min(slow), min(fast), bar)


def check(case: Case) -> None:
    """See that both sides compute the same posterior."""
    rows = slice(0, 2000)
    blocks = tuple(block.take(rows) for block in case.blocks)
    joint = kernels.scores(blocks, case.weights, 2000) + case.log_prior
    np.testing.assert_allclose(
        softmax(joint)[0], case.rival.predict_proba(case.X[rows]), rtol=1e-8, atol=1e-10
    )


def expect(case: Case) -> tuple[np.ndarray, np.ndarray, float]:
    return kernels.expect(case.blocks, case.weights, case.table, case.codes, None)


def timings(case: Case, repeats: int) -> list[Timing]:
    """Time one EM pass against predict_proba, and the count against fit where there is a bar."""
    found = []
    if case.fit_bar:
        found.append(
            compare(
                f"{case.name}: count / {type(case.rival).__name__}.fit",
                lambda: case.rival.fit(case.X, case.codes),
                lambda: kernels.tally(case.blocks, case.codes, len(case.weights), None),
                case.fit_bar,
                min(repeats, 2),
            )
        )
    what = f"{case.name}: EM pass / predict_proba"
    pass_of = compare(
        what, lambda: case.rival.predict_proba(case.X), lambda: expect(case), case.bar, repeats
    )
    return [*found, pass_of]


def speedup(case: Case, repeats: int) -> str:
    """Compare the wall-clock time of two threads with that of one."""
    one, two = [], []
    for _ in range(2 * repeats):
        one.append(wall_time(lambda: expect(case)))
        with kernels.using(threads=2):
            two.append(wall_time(lambda: expect(case)))
    return f"{case.name:<42} {min(one):>9.1f} {min(two):>9.1f} {min(one) / min(two):>7.2f}x"


def peak_kilobytes(field: str) -> int:
    """Read VmRSS (memory now) or VmHWM (its peak) of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(f"/proc/self/status has no {field}")


def memory(name: str, n: int) -> None:
    """Print what an EM pass takes beside its input, and what it may take; in its own process."""
    case = CASES[name](n, fitted=False)
    kernels.expect((), np.zeros((2, 0)), np.zeros((1, 2)), np.zeros(9, np.int32), None)
    before = peak_kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    joint, sums, _ = expect(case)
    extra = 1024 * (peak_kilobytes("VmHWM") - before)
    allowed = 0.1 * case.compact + joint.nbytes + sums.nbytes
    verdict = "ok" if extra <= allowed else "SHORT"
    print(
        f"{name:<42} {case.compact / 1e6:>9.1f} {sums.nbytes / 1e6:>9.2f} "
        f"{extra / 1e6:>8.2f} {allowed / 1e6:>8.2f}  {verdict}"
    )


def processor() -> str:
    """Name this machine's processor, and how many cores of it there are."""
    named = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith(("model name", "CPU part"))
    ]
    return f"{named[0] if named else 'unknown processor'}, {os.cpu_count()} cores"


def write(name: str, lines: list[str]) -> None:
    """Put lines, as they were printed, between their marks in docs/measured/speed.md."""
    start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    before, rest = PAGE.read_text().split(start)
    body = "\n".join(["```text", *lines, "```"])
    PAGE.write_text(f"{before}{start}\n{body}\n{end}{rest.split(end)[1]}")


def tables(n: int, repeats: int, quick: bool) -> Iterator[str]:
    """Yield the lines of the three tables as they are measured."""
    yield f"{n:,} rows, kernels: {kernels.backend()}, {processor()}"
    head = f"{'CPU milliseconds, one thread':<42}"
    yield f"\n{head} {'sklearn':>9} {'ours':>9} {'ratio':>8} {'bar':>7}"
    lines = []
    for make in CASES.values():
        case = make(n, fitted=True)
        check(case)
        yield from map(str, timings(case, repeats))
        lines.append(speedup(case, repeats))
    yield f"\n{'wall milliseconds':<42} {'1 thread':>9} {'2 threads':>9}"
    yield from lines
    yield f"\n{'megabytes of an EM pass':<42} {'input':>9} {'sums':>9} {'extra':>8} {'allowed':>8}"
    for name in CASES:
        command = [sys.executable, "-m", "benchmarks.kernels", "--memory", name]
        command += ["--quick"] if quick else []
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        yield done.stdout.rstrip()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put them into docs/measured/speed.md")
    parser.add_argument("--memory", choices=sorted(CASES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    n = 100_000 if options.quick else 1_000_000
    if options.memory:
        return memory(options.memory, n)
    lines = []
    for line in tables(n, options.repeats, options.quick):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        write(f"kernels {kernels.backend()}", lines)


if __name__ == "__main__":
    main()
