"""Make an environment in which every dependency is as old as pyproject.toml allows.

    python .ci/lowest.py build/lowest

misnomer itself is not installed there: run it from `src`.
"""

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

EXTRAS = ("excel", "review", "dask")
TESTS = ("pytest", "hypothesis", "pandas", "polars")  # of the extra "test"


def lowest(project: dict) -> list[str]:
    """List the requirements of use, and some of the tests, each at its lower bound."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]
    wanted += [one for one in extras["test"] if one.startswith(TESTS)]
    loose = [one for one in wanted if ">=" not in one]
    if loose:
        raise SystemExit(f"no lower bound is stated: {', '.join(loose)}")
    return [one.replace(">=", "==") for one in wanted if not one.startswith("pytest-")]


def main(folder: str) -> None:
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    wanted = lowest(tomllib.loads(text)["project"])
    print("\n".join(wanted), flush=True)
    venv.create(folder, with_pip=True)
    python = str(Path(folder) / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
