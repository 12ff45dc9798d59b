"""Objects of one instruction set hold no code that the linker could take for another's."""

import shutil
import subprocess
from pathlib import Path

import pytest

OBJECTS = sorted(Path(__file__).parents[2].glob("build/*/CMakeFiles/kernels_*.dir/cpp/*.o"))


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
@pytest.mark.skipif(not OBJECTS, reason="the kernels were not compiled in this folder")
@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_no_code_is_weak(path):
    """The linker keeps one of several weak symbols of a name: perhaps one that cannot run here."""
    found = subprocess.run(
        ["nm", "--defined-only", str(path)], capture_output=True, text=True, check=True
    )
    kinds = {line.split()[-1]: line.split()[-2] for line in found.stdout.splitlines()}
    assert kinds
    assert not [name for name, kind in kinds.items() if kind in "Ww"]
