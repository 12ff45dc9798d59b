"""What pytest leaves out where the C++ kernels were not built."""

from misnomer import kernels

collect_ignore = ["src/misnomer/kernels/compiled.py"] if kernels.backend() == "numpy" else []
