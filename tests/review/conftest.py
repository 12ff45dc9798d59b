"""An audit with planted errors, and a server of it in a process of its own."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from misnomer.demo import planted_table
from misnomer.review import FILE, Review, load_for_review

#: The least image there is.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="session")
def audited(tmp_path_factory):
    """The folder of an audit of the votes, made once."""
    from misnomer.audit import audit

    table, planted = planted_table(0.1, seed=0)
    folder = tmp_path_factory.mktemp("audits") / "votes"
    audit(table, label="party", random_state=0).save(folder)
    return folder, table, planted


@pytest.fixture
def folder(audited, tmp_path):
    """A copy of it, to decide about."""
    shutil.copytree(audited[0], tmp_path / "votes")
    return tmp_path / "votes"


@pytest.fixture
def review(folder):
    """A review of it that fits only when told."""
    session = Review(load_for_review(folder), folder / FILE, refit=False)
    yield session
    session.close()


@contextmanager
def serving(folder: Path, *options: str, verb: str = "review"):
    """Run ``misnomer review`` and hand out its process and the address it prints."""
    command = [sys.executable, "-m", "misnomer", verb, str(folder), "--no-browser", *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        lines = iter(process.stdout.readline, "")
        address = next((line.strip() for line in lines if line.startswith("http")), "")
        if not address:
            raise AssertionError(process.stderr.read())
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)
