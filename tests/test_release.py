"""What a release needs: one version everywhere, links that an index page can follow."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from misnomer.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_one_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_index_page_has_absolute_links_only() -> None:
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert all((ROOT / link).exists() for link in links if "://" not in link)
    for one in hook["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links and all(link.startswith("https://") for link in links)


def test_every_dependency_of_use_has_a_lower_bound_that_make_lowest_tries() -> None:
    spec = spec_from_file_location("lowest", ROOT / ".ci" / "lowest.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    tried = {re.split("[=[]", one)[0]: one for one in module.lowest(PROJECT["project"])}
    used = [re.split("[>[]", one)[0] for one in PROJECT["project"]["dependencies"]]
    assert {*used, "openpyxl", "starlette", "uvicorn", "dask", "fsspec", "pandas"} <= {*tried}
    assert all(re.search(r"==[\d.]+$", one) for one in tried.values())


def test_there_are_addresses_and_pip_comes_first() -> None:
    assert {"Homepage", "Documentation", "Source", "Issues"} <= set(PROJECT["project"]["urls"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("pip install misnomer") < readme.index("make ")


def test_there_is_a_wheel_for_every_python_that_is_named() -> None:
    named = re.findall(r"Python :: 3\.(\d+)", " ".join(PROJECT["project"]["classifiers"]))
    wheels = re.findall(r"cp3(\d+)-", PROJECT["tool"]["cibuildwheel"]["build"])
    assert named == wheels
    assert PROJECT["project"]["requires-python"] == f">=3.{named[0]}"
    assert PROJECT["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"  # one for all of them
    assert "nanobind_add_module(_compiled STABLE_ABI " in (ROOT / "CMakeLists.txt").read_text()


def test_wheels_can_be_tried_from_any_folder(tmp_path: Path) -> None:
    """As cibuildwheel does: the tests of the kernels that start processes found no `tests`."""
    command = PROJECT["tool"]["cibuildwheel"]["test-command"]
    assert "{project}/tests/kernels" in command
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "baseline"]
    done = subprocess.run(
        [*words, str(ROOT / "tests" / "kernels" / "test_sketch.py")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_citation_has_all_that_the_format_asks_for() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    keys = {line.split(":")[0] for line in lines if line and line[0].isalpha()}
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= keys
