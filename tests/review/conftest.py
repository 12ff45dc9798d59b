"""An audit with planted errors, a server of it in a process of its own, and a browser."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from misnomer.demo import planted_table
from misnomer.review.origin import reviewed_audit
from misnomer.review.session import FILE, Review

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser")) if p), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


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
    session = Review(reviewed_audit(folder), folder / FILE, refit=False)
    yield session
    session.close()


@contextmanager
def serving(folder: Path, *options: str):
    """Run ``misnomer review`` and hand out its process and the address it prints."""
    command = [sys.executable, "-m", "misnomer", "review", str(folder), "--no-browser", *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(process.stderr.read())
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium; without one, the tests in a browser are skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: the page is not tried in a browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
