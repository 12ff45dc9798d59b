"""The surface: small, sorted, and loaded only when asked for."""

import subprocess
import sys

import misnomer


def test_the_public_names_are_sorted_and_there():
    assert sorted(misnomer.__all__) == sorted([*misnomer._HOMES, "audit"])
    assert misnomer.__all__ == sorted(misnomer.__all__)
    for name in misnomer.__all__:
        assert getattr(misnomer, name) is not None
    assert callable(misnomer.audit)
    assert set(misnomer.__all__) <= set(dir(misnomer))


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(misnomer, "no_such_name")


def test_importing_loads_nothing_heavy():
    code = "import sys, misnomer; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pandas", "polars", "matplotlib", "dask", "sklearn", "pyarrow", "scipy"}
    assert not heavy & set(done.stdout.split())
