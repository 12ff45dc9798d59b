"""The pages under docs/: all within reach, no link into the void, no command that is not there."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from misnomer.cli import app

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
FENCE = re.compile(r"^```\{?(\w[\w-]*)\}?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pages = pytest.mark.parametrize("page", PAGES, ids=[path.stem for path in PAGES])


def fences(page: Path, kind: str) -> list[tuple[str, str]]:
    """List the argument and the body of every fence of a kind."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(argument.strip(), body) for name, argument, body in found if name == kind]


def listed(page: Path) -> set[Path]:
    """Follow the tables of contents from a page on."""
    entries = [
        page.parent / f"{line}.md"
        for _, body in fences(page, "toctree")
        for line in body.split("\n")
        if line and not line.startswith(":")
    ]
    return {page}.union(*map(listed, entries))


def targets(page: Path) -> list[str]:
    """List the relative links, images and inclusions of a page."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(<?([^)\s>#]+)", re.sub(r"`[^`\n]*`", "", prose))
    links += [argument for argument, _ in fences(page, "include")]
    return [link for link in links if not re.match(r"[a-z]+:", link)]


def options_of(command: str) -> set[str]:
    """List the options that a command of misnomer has."""
    group = typer.main.get_command(app)
    known = group.commands[command]  # type: ignore[attr-defined]
    return {name for parameter in known.params for name in parameter.opts}


def test_there_are_pages() -> None:
    assert DOCS / "audit-a-csv.md" in PAGES


def test_every_page_is_in_the_table_of_contents() -> None:
    assert listed(DOCS / "index.md") == set(PAGES)


@pages
def test_relative_links_lead_somewhere(page: Path) -> None:
    assert [link for link in targets(page) if not (page.parent / link).exists()] == []


@pages
def test_commands_and_their_options_exist(page: Path) -> None:
    for _, body in fences(page, "console"):
        for line in re.findall(r"^\$ misnomer (.+)$", body, re.MULTILINE):
            command, *words = line.split()
            said = {word for word in words if word.startswith("--")}
            assert said <= options_of(command), line


MODULES = ("", ".audit", ".channel", ".metrics", ".papers", ".plots", ".simulate", ".store")


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_api(name: str) -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto(?:class|function|data):: (\w+)$", page, re.MULTILINE)
    module = import_module(f"misnomer{name}")
    names = {one for one in module.__all__ if not isinstance(getattr(module, one), ModuleType)}
    assert names - {"__version__"} <= set(shown)
    assert len(shown) == len(set(shown))


@pages
def test_links_have_words(page: Path) -> None:
    assert "[](" not in page.read_text(encoding="utf-8")


def test_the_pictures_are_there() -> None:
    for name in ("report", "review", "bulk"):
        assert (DOCS / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_front_page_shows_what_the_terminal_says(monkeypatch, tmp_path) -> None:
    """Word by word, but for where lines end."""
    pytest.importorskip("openpyxl")
    ((_, shown),) = fences(DOCS / "index.md", "console")
    words = " ".join(shown.split("misnomer audit", 1)[1].splitlines()[1:]).split("...")
    monkeypatch.chdir(tmp_path)
    shutil.copy(DOCS / "hour" / "visits.xlsx", tmp_path)
    asked = shown.split("$ misnomer ", 1)[1].splitlines()[0].split()
    done = CliRunner().invoke(app, asked)
    said = " ".join(done.output.split())
    assert done.exit_code == 0
    assert [part for part in words if " ".join(part.split()) not in said] == []
