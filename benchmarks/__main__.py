"""All benchmarks at their quick sizes: ``python -m benchmarks``."""

from __future__ import annotations

import subprocess
import sys

QUICK = {
    "kernels": ["--quick"],
    "face": ["--quick"],
    "auditing": ["--quick"],
    "sources": ["--quick"],
    "trust": ["--quick"],
    "checks": ["--quick"],
    "review": ["--seeds", "1"],
}


def main() -> None:
    """Run each in a process of its own; go on where one fails, and say so at the end."""
    failed = []
    for name, options in QUICK.items():
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *options]
        if subprocess.run(command).returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
