"""How fast and how small: rows per second and memory, in memory, by batches and on a cluster.

Run as ``python -m benchmarks.scale [sections] [--write]``; every figure is a ratio within one run,
or comes with what it was measured on. Sections: stream, count, memory, cluster, overhead, wide,
files. ``--write`` puts the figures into benchmarks/scale.json and the table of
docs/measured/scale.md.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmarks import scale_page
from benchmarks.scale_files import files
from benchmarks.scale_texts import PEAK, wide

warnings.simplefilter("ignore")
CAP = 400 << 20  # bytes that the streaming process may use
TIMES = 20  # how much larger the file is


def made(path: Path, rows: int, *, categories: int, reals: int, group: int = 100_000) -> Path:
    """Write a table of three classes, a tenth of whose labels are wrong."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, group):
        n = min(group, rows - start)
        z = rng.integers(0, 3, n)
        columns: dict[str, object] = {}
        values = np.array([f"value {k}" for k in range(12)])
        for j in range(categories):
            columns[f"c{j}"] = values[(z + rng.integers(0, 10, n)) % 12]
        for j in range(reals):
            columns[f"g{j}"] = rng.normal(0.3 * z, 1.0)
        wrong = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), z)
        columns["label"] = np.array(["a", "b", "c"])[wrong]
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def clock(call) -> tuple[float, object]:
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def busy(call) -> tuple[float, object]:
    """Take the CPU time of this process, all threads: what a busy machine leaves as it is."""
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def parts(path: Path, solver: str, passes: int):
    """Understand a file and put it into compact form, each timed."""
    from misnomer import NoisyLabelNB
    from misnomer.classifiers.terms import compact, understand
    from misnomer.engines import Stream
    from misnomer.rows.scan import scan

    channel = "identity" if solver == "counts" else "auto"
    classifier = NoisyLabelNB(solver=solver, channel=channel, max_iter=passes, tol=0)
    found = scan(path)
    look, terms = clock(lambda: understand(found, "label", classifier))
    return classifier, terms, look, lambda memory: Stream(compact(found, terms), memory=memory)


def stream(folder: Path) -> dict[str, object]:
    """Passes of EM over spilled batches, against one batch in memory."""
    from misnomer.classifiers.terms import fit_rows
    from misnomer.engines import joined

    n, passes = 1_000_000, 5
    path = made(folder / "stream.parquet", n, categories=20, reals=5)
    classifier, terms, _, build = parts(path, "em", passes)
    kept, disk = build(1 << 40), build(0)
    whole = [joined(list(kept))]
    times: dict[str, float] = {}
    for name, rows in (("in memory", whole), ("batches", kept), ("spilled", disk)) * 2:
        seconds, _ = clock(lambda rows=rows: fit_rows(classifier, terms, rows))
        times[name] = min(times.get(name, np.inf), seconds)
    speed = {name: round(n * passes / seconds) for name, seconds in times.items()}
    ratio = times["in memory"] / times["spilled"]
    load = round(os.getloadavg()[0], 1)
    return {
        "rows_per_second": speed,
        "spilled_of_memory": round(ratio, 2),
        "bar": 0.6,
        "load": load,
    }


def count(folder: Path) -> dict[str, object]:
    """A supervised count of fifty columns, against reading the same file, by CPU time."""
    from misnomer.classifiers.terms import fit_rows

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    n = 500_000
    path = made(folder / "count.parquet", n, categories=40, reals=10)
    csv.write_csv(pq.read_table(path), folder / "count.csv")
    load = round(os.getloadavg()[0], 1)
    out: dict[str, object] = {"bar": "2,000,000 rows/s, or 0.5 of pyarrow", "load": load}
    for name, file, reader in (
        ("parquet", path, pq.read_table),
        ("csv", folder / "count.csv", csv.read_csv),
    ):
        runs = []
        for _ in range(3):  # the best of three: the first one pays for imports and empty caches
            other, _table = busy(lambda file=file, reader=reader: reader(file))
            settle, (classifier, terms, _, build) = busy(lambda file=file: parts(file, "counts", 1))
            encode, rows = busy(lambda build=build: build(1 << 40))
            fit, _ = busy(lambda c=classifier, t=terms, r=rows: fit_rows(c, t, r))
            runs.append((other, settle, encode, fit))
        other, settle, encode, fit = np.array(runs).min(axis=0)
        ours = settle + encode + fit
        out[name] = {
            "rows_per_second": round(n / ours),
            "pyarrow_rows_per_second": round(n / other),
            "of_pyarrow": round(float(other / ours), 2),
            "seconds": {"types and columns": round(settle, 2), "codes": round(encode, 2)},
            "count_alone_rows_per_second": round(n / fit),
        }
    return out


def memory(folder: Path) -> dict[str, object]:
    """The most memory that streaming a file many times larger than its cap takes."""
    rows = TIMES * CAP // 400  # bytes of a row of 40 reals on disk, about
    path = made(folder / "memory.parquet", rows, categories=0, reals=40)
    script = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        f"{PEAK}\n"
        "from misnomer import NoisyLabelNB\n"
        "from misnomer import audit\n"
        "em = NoisyLabelNB(solver='em', max_iter=2, tol=0)\n"
        "audit(sys.argv[1], 'label', classifier=em, memory=int(sys.argv[2]))\n"
        "print(peak())\n"
    )
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(CAP)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    peak = int(done.stdout)
    return {
        "file_mb": path.stat().st_size >> 20,
        "cap_mb": CAP >> 20,
        "peak_mb": peak >> 20,
        "peak_of_cap": round(peak / CAP, 2),
        "bar": 1.2,
        "rows": rows,
        "load": round(os.getloadavg()[0], 1),
        "seconds": round(time.perf_counter() - begin),
    }


def cluster(folder: Path) -> dict[str, object]:
    """Passes of EM on one and on two worker processes."""
    from misnomer import NoisyLabelNB
    from misnomer.classifiers.terms import fit_rows, understand
    from misnomer.engines.dask import Cluster
    from misnomer.rows.scan import scan

    n, passes = 4_000_000, 10
    path = made(folder / "cluster.parquet", n, categories=40, reals=10)
    seconds = {}
    for workers in (1, 2):
        with Cluster(workers=workers, memory="3GB") as found:
            classifier = NoisyLabelNB(solver="em", max_iter=passes, tol=0)
            table = scan(path, mapped=found.map)
            terms = understand(table, "label", classifier, mapped=found.map)
            kept = found.keep(terms.batches, table.parts)
            seconds[workers] = min(
                clock(lambda c=classifier, t=terms, k=kept, f=found: fit_rows(c, t, k, f.fold))[0]
                for _ in range(4)
            )
    speed = {w: round(n * passes / s) for w, s in seconds.items()}
    gain = seconds[1] / seconds[2]
    load = round(os.getloadavg()[0], 1)
    return {"rows_per_second": speed, "two_of_one": round(gain, 2), "bar": 1.5, "load": load}


def overhead(folder: Path) -> dict[str, object]:
    """What a pass costs beside the work, with 200 parts."""
    from misnomer.engines.dask import Cluster
    from misnomer.table import Batch

    with Cluster(workers=2, memory="1GB") as found:
        kept = found.keep(lambda i: [Batch((), np.zeros(3, np.int32))], range(200))
        times = [clock(lambda: found.fold(len, kept))[0] for _ in range(8)]
    median = float(np.median(times))
    return {"seconds": round(median, 3), "bar": 0.3, "load": round(os.getloadavg()[0], 1)}


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sections = {f.__name__: f for f in (stream, count, memory, cluster, overhead, wide, files)}
    said = [word for word in sys.argv[1:] if word != "--write"]
    for name in said or sections:
        with tempfile.TemporaryDirectory(prefix="misnomer-scale-") as folder:
            found = sections[name](Path(folder))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(json.dumps({name: found, "own_peak_mb": peak}), flush=True)
        if "--write" in sys.argv:
            scale_page.write(scale_page.keep({name: found}))


if __name__ == "__main__":
    main()
