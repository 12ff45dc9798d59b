"""Running a check with another instruction set."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])  # wheels are tried from another folder

VARIANTS = pytest.mark.parametrize("variant", ["baseline", "avx2", "avx512"])


def check_with(variant, code):
    """Run code in a process of its own; it must print the instruction set that it has used."""
    from misnomer.kernels import _compiled

    if variant not in _compiled.variants():
        pytest.skip(f"this processor has no {variant}")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MISNOMER_SIMD": variant, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == variant
