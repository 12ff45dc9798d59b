"""The surface: small, sorted, and loaded only when asked for."""

import subprocess
import sys
from types import ModuleType

import misnomer
from misnomer import papers


def test_the_public_names_are_sorted_and_there():
    assert misnomer.__all__ == sorted(misnomer.__all__)
    assert set(misnomer.__all__) == {*misnomer._HOMES, *misnomer._MODULES, "audit", "__version__"}
    for name in misnomer.__all__:
        assert isinstance(getattr(misnomer, name), ModuleType) == (name in misnomer._MODULES)
    assert callable(misnomer.audit)


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(misnomer) == misnomer.__all__
    assert dir(papers) == sorted(papers.__all__)


def test_a_method_of_a_paper_has_one_home():
    assert not set(papers.__all__) & set(misnomer.__all__)
    for name in papers.__all__:
        assert callable(getattr(papers, name))
        assert not hasattr(misnomer, name)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(misnomer, "no_such_name")


def test_importing_loads_nothing_heavy():
    code = "import sys, misnomer; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pandas", "polars", "matplotlib", "dask", "sklearn", "pyarrow", "scipy"}
    assert not heavy & set(done.stdout.split())
