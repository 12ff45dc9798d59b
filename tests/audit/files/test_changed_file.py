"""The data file after the audit: changed, rewritten, moved, or gone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from misnomer import NoisyLabelNB
from misnomer.audit import audit, load_audit
from misnomer.audit.files.origin import notice_of_change
from tests.audited import pets

QUICK = NoisyLabelNB(solver="em")  # what was audited counts here, not what was found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An audit of a file."""
    place = tmp_path_factory.mktemp("files")
    pets().to_csv(place / "pets.csv", index=False)
    audit(place / "pets.csv", label="pet", classifier=QUICK).save(place / "audit")
    return place


@pytest.fixture
def file(made):
    """The file, put back after the test."""
    path, content = made / "pets.csv", (made / "pets.csv").read_bytes()
    yield path
    path.write_bytes(content)


def command(*words, where):
    said = [sys.executable, "-m", "misnomer", *map(str, words)]
    done = subprocess.run(said, capture_output=True, text=True, cwd=where, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def rewrite(path, old, new):
    path.write_text(path.read_text().replace(old, new, 1))


def test_a_changed_file_stops_the_export_unless_told(made, file, tmp_path):
    out = tmp_path / "clean.csv"
    rewrite(file, "meow", "moo")
    code, words = command("export", "audit", "--out", out, where=made)
    assert code == 2 and not out.exists() and words.count("\n") == 1
    assert "'pets.csv' has changed since the audit in 'audit' (row" in words
    assert "`misnomer audit pets.csv --label pet --out audit-2`" in words and "--anyway" in words
    code, words = command("export", "audit", "--out", out, "--anyway", where=made)
    assert code == 0 and out.is_file()
    assert "has changed since" in words and "wrote" in words


def test_the_command_it_names_works(made, file):
    rewrite(file, "meow", "moo")
    words = command("review", "audit", "--no-browser", where=made)[1]
    told = words.split("`")[1].split()
    assert told[:2] == ["misnomer", "audit"]
    assert command(*told[1:], "--quiet", where=made) == (0, "")
    assert notice_of_change(load_audit(made / "audit-2"), made / "audit-2") is None


def test_a_file_that_was_only_rewritten_is_no_news(made, file):
    found = load_audit(made / "audit")
    file.write_text(file.read_text().replace("\n", "\r\n"))  # other bytes, the same rows
    assert notice_of_change(found, made / "audit") is None
    os.utime(file, (1, 1))
    assert notice_of_change(found, made / "audit") is None


def test_a_file_that_is_gone_is_said_and_the_review_goes_on(made, file, tmp_path):
    found = load_audit(made / "audit")
    content = file.read_bytes()
    file.unlink()
    assert "is not there any more" in notice_of_change(found, made / "audit")
    code, words = command("export", "audit", "--out", tmp_path / "clean.csv", where=made)
    assert code == 0 and "is not there any more" in words
    (tmp_path / "moved.csv").write_bytes(content)
    assert notice_of_change(found, made / "audit", tmp_path / "moved.csv") is None
    (tmp_path / "moved.csv").write_bytes(content.replace(b"meow", b"moo"))
    with pytest.raises(ValueError, match=r"moved.csv' has changed .*misnomer audit .*moved.csv "):
        notice_of_change(found, made / "audit", tmp_path / "moved.csv")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        notice_of_change(found, made / "audit", tmp_path / "nowhere.csv")


def test_a_file_that_is_no_table_any_more(made, file):
    file.write_bytes(b"\x00\x01" * 50)
    with pytest.raises(ValueError, match="has changed since"):
        notice_of_change(load_audit(made / "audit"), made / "audit")


def test_an_audit_from_memory_has_no_file_to_look_at(tmp_path):
    assert notice_of_change(audit(pets(), label="pet", classifier=QUICK), tmp_path) is None
