"""The same table as CSV and as Parquet, audited by the command line: time and memory of each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

BYTES = 1 << 30  # of the CSV file
MEMORY = 512 << 20  # that the audit may use
BAR = 3.0  # how many times as long the CSV file may take
STRINGS, WHOLE, REALS = 7, 5, 7
_GROUP = 100_000
_LOOK = 0.05  # seconds between two looks at the memory


def rows_of(rng: np.random.Generator, n: int) -> pa.Table:
    """Draw rows of twenty columns, three classes, a tenth of whose labels are wrong."""
    z = rng.integers(0, 3, n)
    columns: dict[str, Any] = {}
    for j in range(STRINGS):
        values = np.array([f"group {k}" for k in range(10 * (j + 1))])
        columns[f"s{j}"] = values[(z + rng.integers(0, len(values) - 2, n)) % len(values)]
    for j in range(WHOLE):
        columns[f"i{j}"] = rng.poisson(20 * (j + 1) + 2 * z)
    for j in range(REALS):
        columns[f"r{j}"] = rng.normal(0.3 * z, 1.0).round(6)
    wrong = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), z)
    columns["label"] = np.array(["low", "middle", "high"])[wrong]
    return pa.table(columns)


def made(folder: Path, size: int) -> tuple[Path, Path, int]:
    """Write the table in both forms, until the CSV file has so many bytes; count the rows."""
    rng = np.random.default_rng(0)
    plain, twin = folder / "table.csv", folder / "table.parquet"
    schema, rows = rows_of(rng, 1).schema, 0
    with csv.CSVWriter(plain, schema) as one, pq.ParquetWriter(twin, schema) as other:
        while plain.stat().st_size < size:
            some = rows_of(rng, _GROUP)
            one.write_table(some)
            other.write_table(some)
            rows += _GROUP
    return plain, twin, rows


def peak_of(process: subprocess.Popen[str]) -> int:
    """Watch the memory of a process until it ends: its peak, in bytes."""
    most = 0
    while process.poll() is None:
        try:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    most = max(most, int(line.split()[1]) << 10)
        except OSError:
            break
        time.sleep(_LOOK)
    return most


def audited(path: Path, out: Path) -> tuple[float, float, int]:
    """Run ``misnomer audit`` on a file: seconds of CPU, by the clock, and the peak of memory."""
    command = [sys.executable, "-m", "misnomer", "audit", str(path), "--label", "label"]
    command += ["--out", str(out), "--memory", str(MEMORY)]
    before, begin = os.times(), time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        peak = peak_of(process)
        said = process.communicate()[1]
    if process.returncode:
        raise RuntimeError(said)
    after = os.times()
    busy = after.children_user + after.children_system
    return (
        busy - before.children_user - before.children_system,
        time.perf_counter() - begin,
        peak,
    )


def files(folder: Path) -> dict[str, object]:
    """A CSV file of a gigabyte against its Parquet twin."""
    plain, twin, rows = made(folder, BYTES)
    out: dict[str, object] = {"rows": rows, "columns": STRINGS + WHOLE + REALS + 1, "bar": BAR}
    busy = {}
    for kind, path in (("parquet", twin), ("csv", plain)):
        cpu, seconds, peak = audited(path, folder / f"audit of {kind}")
        busy[kind] = cpu
        out[kind] = {
            "file_mb": path.stat().st_size >> 20,
            "cpu_seconds": round(cpu, 1),
            "seconds": round(seconds, 1),
            "peak_mb": peak >> 20,
        }
    out["csv_of_parquet"] = round(busy["csv"] / busy["parquet"], 2)
    out["memory_mb"] = MEMORY >> 20
    out["load"] = round(os.getloadavg()[0], 1)
    return out
