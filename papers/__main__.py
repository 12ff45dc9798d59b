"""Run the quick version of every paper, or of those named: `python -m papers [denis ...]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    known = sorted(path.parent.name for path in HERE.glob("*/run.py"))
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="paper", help="papers to run, or all")
    parser.add_argument("--full", action="store_true", help="all draws: minutes, not seconds")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(known))
    if unknown:
        parser.error(f"no such paper: {', '.join(unknown)}; there are {', '.join(known)}")
    failed = []
    for name in chosen.names or known:
        command = [sys.executable, "-m", f"papers.{name}.run"]
        began = time.perf_counter()
        done = subprocess.run(command + ["--quick"] * (not chosen.full), cwd=HERE.parent)
        print(f"papers/{name}/README.md rewritten in {time.perf_counter() - began:.0f} s\n")
        failed += [name] * (done.returncode != 0)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
