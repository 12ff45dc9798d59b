"""Small files that unpack to much, and how much memory large ones take."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from misnomer.audit import request
from misnomer.audit.request import is_large
from misnomer.rows.files import paths
from misnomer.rows.scan import read_table

PEAK = """
import resource, sys
from misnomer.cli import app
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
code = 0
try:
    app(sys.argv[1:])
except SystemExit as left:
    code = left.code
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
@pytest.mark.parametrize("words", [("--memory", "1GB"), ("--skip-bad",)])
def test_a_small_file_that_unpacks_to_one_long_line(tmp_path, name, words):
    path = tmp_path / name
    with gzip.open(path, "wb", compresslevel=1) as sink:
        sink.write(b"{" * name.startswith("a.json"))
        for _ in range(600):
            sink.write(b"a" * 1_000_000)
    command = [sys.executable, "-c", PEAK, "audit", str(path), "--label", "y", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    code, grown = map(int, done.stdout.split())
    assert code == 2 and done.stderr.count("\n") == 1, done.stderr
    assert grown < 500_000  # KB: less than the line


def test_what_unpacks_to_more_than_fits_is_read_by_batches(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb") as sink:
        sink.write(b"a,b,y\n" + b"1,2,n\n3,4,y\n" * 200_000)
    assert not is_large(path)
    monkeypatch.setattr(request, "DEFAULT_MEMORY", 10_000_000)
    assert is_large(path) and path.stat().st_size < 100_000
    monkeypatch.setattr(paths, "free_memory", lambda: 1_000_000)
    with pytest.raises(ValueError, match="more than fits in memory"):
        read_table(path)


def test_a_workbook_that_unpacks_to_too_much(tmp_path):
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/worksheets/sheet1.xml", "<a/>")
    sizes = bytearray(path.read_bytes())
    at = sizes.find(b"PK\x01\x02")
    sizes[at + 24 : at + 28] = (0xFFFFFFF0).to_bytes(4, "little")  # what it says of itself
    path.write_bytes(sizes)
    with pytest.raises(ValueError, match="unpacks to 4 GB"):
        read_table(path)


SCANNED = """
import sys
import pyarrow as pa
from misnomer.rows.scan import scan
found = scan(sys.argv[1])
rows = sum(batch.num_rows for batch in found.batches(found.names))
print(rows, pa.default_memory_pool().max_memory())
"""


def test_reading_a_large_file_takes_little_memory(tmp_path):
    rng, n, words = np.random.default_rng(0), 1_000_000, np.array(["red", "green", "blue"])
    columns = {f"n{j}": rng.normal(size=n).round(4) for j in range(6)}
    columns |= {f"c{j}": words[rng.integers(0, 3, n)] for j in range(6)}
    columns["id"] = np.char.add("row", np.arange(n).astype(str))
    csv.write_csv(pa.table(columns), tmp_path / "a.csv")
    command = [sys.executable, "-c", SCANNED, str(tmp_path / "a.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, most = map(int, done.stdout.split())
    assert rows == n and most < 80_000_000  # bytes that Arrow held at once
