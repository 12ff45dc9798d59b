"""The page that draws the way of an audit names modules that are there, and that an audit takes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.audited import pets

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
SOURCE = Path(__file__).parents[1] / "src" / "misnomer"
SCRIPT = """
import sys
from misnomer.cli import app
app(sys.argv[1:], standalone_mode=False)
print(*sorted(name for name in sys.modules if name.startswith("misnomer.")), file=sys.stderr)
"""


def drawn() -> list[str]:
    """The modules of the table, in its order."""
    return re.findall(r"^\| \d+ \| `([a-z_.]+)`", PAGE.read_text(), flags=re.M)


def test_an_audit_passes_through_each_module_once(tmp_path):
    way = drawn()
    assert len(way) == len({*way}) <= 20
    pets(80, 6).to_csv(tmp_path / "pets.csv", index=False)
    words = ["audit", str(tmp_path / "pets.csv"), "--label", "pet", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True
    )
    assert {f"misnomer.{name}" for name in way} <= {*done.stderr.split()}


def test_folders_are_rooms():
    for room in [SOURCE, *(one for one in SOURCE.rglob("*") if one.is_dir())]:
        files = [path.stem for path in room.glob("*.py")]
        assert len(files) <= 15, f"{room.name} has {len(files)} files"
        stems = [name.partition("_")[0] for name in files if not name.startswith("__")]
        assert len({*stems}) == len(stems), f"{room.name}: a prefix is a folder not made"
