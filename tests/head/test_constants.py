"""The table of constants in the docs says every number of learners and head, and no other."""

import ast
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import misnomer
from misnomer.head.explain import Ground
from misnomer.head.objective import Beliefs

SOURCE = Path(misnomer.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "constants.md"


def shown(value) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    if is_dataclass(value):
        said = [(f.name, getattr(value, f.name)) for f in fields(value)]
        usual = {f.name: f.default for f in fields(value)}
        return ", ".join(f"{name} {shown(own)}" for name, own in said if own != usual[name])
    return f"{value:g}"


def defined(module: str) -> list[str]:
    """List the names in capitals that a module assigns."""
    tree = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return [name for name in names if name.isupper() and not name.startswith("_")]


def in_the_code() -> dict[tuple[str, str], str]:
    out = {}
    for folder in ("learners", "head"):
        for path in sorted((SOURCE / folder).glob("*.py")):
            module = f"{folder}.{path.stem}"
            for name in defined(module):
                value = getattr(import_module(f"misnomer.{module}"), name)
                if isinstance(value, Beliefs):
                    every = fields(value)
                    out |= {(module, f"Beliefs.{f.name}"): shown(f.default) for f in every}
                elif not isinstance(value, str | Ground) and any(map(str.isdigit, shown(value))):
                    out[module, name] = shown(value)
    return out


def in_the_table() -> dict[tuple[str, str], str]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "`" in line]
    cells = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in lines[1:]]
    assert all(len(row) == 5 and all(row) for row in cells)
    return {(module, name): value for module, name, value, _, _ in cells}


def test_the_table_says_what_the_code_has():
    assert in_the_table() == in_the_code()
