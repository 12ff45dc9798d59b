"""Opening somebody else's audit starts no process and no connection."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from misnomer.audit import audit, load_audit
from misnomer.audit.files.origin import notice_of_change
from misnomer.rows.files.paths import files_of, opened, size_of
from misnomer.rows.scan import scan
from misnomer.store import container
from misnomer.store.container import filling
from tests.audited import pets

WATCHED = """
import os, sys
from pathlib import Path
FOLDERS, FORBIDDEN = sys.argv[1].split("|"), sys.argv[2].split("|")
ALARMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork",
          "os.forkpty", "socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostby",
          "urllib.Request", "ctypes.dlopen", "webbrowser.open")
armed = False

def hook(event, said):
    if armed and event.startswith(ALARMS):
        print("ALARM", event, said, file=sys.stderr, flush=True)
        os._exit(99)
    if armed and event == "open" and str(said[0]) in FORBIDDEN:
        print("ALARM", event, said, file=sys.stderr, flush=True)
        os._exit(98)

sys.addaudithook(hook)
import misnomer.cli, misnomer.review, misnomer.review.export, misnomer.reports.html
import fsspec.implementations.reference, fsspec.implementations.http
from misnomer.audit.files.origin import notice_of_change
from misnomer.review import load_for_review
armed = True
for folder in map(Path, FOLDERS):
    found = load_for_review(folder)
    print(folder, notice_of_change(found.audit, folder, anyway=True))
    code = misnomer.cli.app(["export", str(folder), "--out", str(folder / "clean.csv")],
                            standalone_mode=False)
    print(code)
    words = ["check", str(folder), "--rows", "2", "--sheet", str(folder / "sheet.csv")]
    misnomer.cli.app(words, standalone_mode=False)
"""


def hostile(made, path, folder, **said):
    """Write the audit again with another origin, sealed as if it were whole."""
    with filling(folder) as inside:
        shutil.copytree(made, inside, dirs_exist_ok=True)
        file = inside / "audit.safetensors"
        arrays, about = container.unpack("audit", file.read_bytes(), "audit")
        about.pop("format")
        about["origin"] = {**about["origin"], "path": path, **said}
        file.write_bytes(container.pack("audit", arrays, about))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    pets().to_csv(place / "pets.csv", index=False)
    audit(place / "pets.csv", label="pet").save(place / "audit")
    return place / "audit"


def watched(folders, forbidden=()):
    said = ["|".join(map(str, some)) for some in (folders, forbidden)]
    words = [sys.executable, "-c", WATCHED, *said]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


REFERENCE = json.dumps({"x": ["http://127.0.0.1:9/x"]})
ADDRESSES = [
    f"reference://x::data:application/json,{REFERENCE}",
    "reference://::data:application/json,{}",
    "simplecache::http://127.0.0.1:9/a.csv",
    "http://127.0.0.1:9/a.csv",
    "https://127.0.0.1:9/a.csv",
    "s3://bucket/a.parquet",
    "sftp://127.0.0.1/a.csv",
    "zip://a.csv::file:///tmp/a.zip",
    "//127.0.0.1/share/a.csv",
    "\\\\127.0.0.1\\share\\a.csv",
    "/dev/stdin",
    "/proc/self/environ",
    "/net/127.0.0.1/a.csv",
]


def test_no_address_out_of_a_folder_is_opened(tmp_path, made):
    there = tmp_path / "theirs"
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    paths = [*ADDRESSES, str(there / "9" / "link.csv"), str(there / "9" / "pipe.csv")]
    folders = [hostile(made, p, there / str(i) / "audit") for i, p in enumerate(paths)]
    (there / "9" / "link.csv").symlink_to(secret)
    os.mkfifo(there / "9" / "pipe.csv")
    done = watched(folders, paths)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(there))]
    assert len(lines) == len(paths)
    assert all("was not looked at" in line and "--data" in line for line in lines)
    assert all((folder / "clean.csv").is_file() for folder in folders)
    assert all((folder / "sheet.csv").is_file() for folder in folders)


def test_the_file_beside_the_folder_is_still_compared(tmp_path, made):
    folder = hostile(made, str(tmp_path / "pets.csv"), tmp_path / "other")
    shutil.copy(made.parent / "pets.csv", tmp_path / "pets.csv")
    assert notice_of_change(load_audit(folder), folder) is None
    with (tmp_path / "pets.csv").open("a") as stream:
        stream.write("1,2\n")
    with pytest.raises(ValueError, match="has changed since"):
        notice_of_change(load_audit(folder), folder)


@pytest.mark.parametrize("take", [files_of, opened, size_of, scan])
def test_addresses_are_never_chained(take):
    with pytest.raises(ValueError, match="chained"):
        take("simplecache::memory://a.csv")


def test_old_versions_of_what_opens_addresses_are_refused(monkeypatch):
    import fsspec

    monkeypatch.setattr(fsspec, "__version__", "2026.4.0")
    with pytest.raises(ValueError, match=r"fsspec 2026\.4\.0 is too old"):
        files_of("memory://a.csv")
