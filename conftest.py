"""One thread per test process, and what pytest leaves out where the C++ kernels were not built."""

import os

for library in ("OMP", "OPENBLAS"):  # before NumPy is imported: two processes share two cores
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from misnomer import kernels  # noqa: E402

collect_ignore = ["src/misnomer/kernels/compiled.py"] if kernels.backend() == "numpy" else []
