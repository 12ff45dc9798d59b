"""Peak memory of the default on a large mixed table, beyond what the input itself takes.

    python -m benchmarks.trust_memory [--rows 200000] [--write]

A process of its own makes the table, notes its memory, fits, and reads the highest mark since
(Linux only). The compact form is what the readers make of the table: a byte per category, a bit
per flag, eight bytes per real.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "default.md"
BAR = 4.0


def status(name):
    """Read a line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise ValueError(f"no {name} in /proc/self/status")


def size(block):
    """Add up the bytes of the arrays of a block."""
    parts = [getattr(block, name, None) for name in ("codes", "bits", "observed", "values")]
    return sum(part.nbytes for part in parts if part is not None)


def child(n):
    from benchmarks.auditing import mixed
    from misnomer import NoisyLabelNB
    from misnomer.rows import read
    from misnomer.simulate import make_noisy_labels, pair_noise

    NoisyLabelNB(random_state=0).fit(*small(mixed, make_noisy_labels, pair_noise))  # imports
    frame, Phi, true = mixed(n)
    del Phi
    given = make_noisy_labels(true, pair_noise(4, 0.3), random_state=2)
    compact = sum(size(block) for block in read(frame)[1])
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what is free must not hide what is taken
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark starts anew
    before = status("VmRSS")
    NoisyLabelNB(random_state=0).fit(frame, given)
    print(json.dumps({"compact": compact, "extra": status("VmHWM") - before}))


def small(mixed, make_noisy_labels, pair_noise):
    frame, _, true = mixed(500)
    return frame, make_noisy_labels(true, pair_noise(4, 0.3), random_state=2)


def measured(n):
    """Fit in a process of its own; bytes of the compact form, and of the peak beyond the input."""
    root = Path(__file__).resolve().parents[1]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.trust_memory", "--child", "--rows", str(n)]
    done = subprocess.run(command, cwd=root, env=settings, check=True, capture_output=True)
    return json.loads(done.stdout.decode().splitlines()[-1])


def row(n):
    found = measured(n)
    ratio = found["extra"] / found["compact"]
    megabytes = [f"{found[name] / 1e6:.0f}" for name in ("compact", "extra")]
    return [f"fit of {n:,} x 50 mixed columns", *megabytes, f"{ratio:.1f}", f"{BAR:g}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--write", action="store_true", help="put it into the docs")
    options = parser.parse_args()
    if options.child:
        child(options.rows)
        return
    head = ["", "compact form, MB", "peak beyond the input, MB", "times", "bar"]
    lines = [head, ["---"] * len(head), row(options.rows)]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    print(text)
    if options.write:
        page = PAGE.read_text()
        before, rest = page.split("<!-- memory -->")
        after = rest.split("<!-- end memory -->")[1]
        PAGE.write_text(before + "<!-- memory -->\n" + text + "\n<!-- end memory -->" + after)


if __name__ == "__main__":
    main()
