"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import misnomer
from misnomer.audit import load_audit
from misnomer.cli import app
from misnomer.demo import LABEL, demo, house_votes

FILES = [
    "manifest.json",
    "report.html",
    "issues.csv",
    "confusions.csv",
    "audit.json",
    "rows.parquet",
    "model.safetensors",
    "audit.safetensors",
]
runner = CliRunner()


def misnomer_cli(*words, **options):
    return runner.invoke(app, [str(word) for word in words], **options)


def shell(*words, **options):
    command = [sys.executable, "-m", "misnomer", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, env=environment, **options)


def pets_csv(n=160, wrong=10, header="weight,sound,note,pet"):
    rng = np.random.default_rng(0)
    lines = [header]
    for i in range(n):
        dog = rng.random() < 0.5
        weight, sound = rng.normal(4 + 10 * dog), "bark" if dog != (rng.random() < 0.05) else "meow"
        note = rng.choice(["=HYPERLINK(1)", "-3", "plain"])
        lines.append(f"{weight:.3f},{sound},{note},{'dog' if dog != (i < wrong) else 'cat'}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    path = tmp_path_factory.mktemp("pets") / "pets.csv"
    path.write_text(pets_csv(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def audited(pets):
    out = pets.parent / "audit"
    return misnomer_cli("audit", pets, "--label", "pet", "--out", out), out


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys; from typer.testing import CliRunner; from misnomer.cli import app; "
        "r = CliRunner().invoke(app, ['--help']); assert 'audit' in r.output; "
        "print([m for m in ('numpy', 'sklearn', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert misnomer_cli("--version").output == f"misnomer {misnomer.__version__}\n"


def test_audit_shows_and_writes(audited):
    done, out = audited
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    plain = done.output.replace("\n", "")
    for name in FILES:
        assert f"wrote {out / name}".replace("\n", "") in plain
    assert "Verdict" in done.output and "given \\ true" in done.output
    assert "draw_checks" not in done.output  # that is Python, and here is a folder
    assert f"misnomer check {out} --rows 50" in done.output.replace("\n", " ").replace("  ", " ")
    assert done.output.index("Verdict") < done.output.index("given \\ true")


def test_the_files_agree_with_each_other(audited, pets):
    _, out = audited
    said = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    rows = pq.read_table(out / "rows.parquet")
    with (out / "issues.csv").open(encoding="utf-8-sig", newline="") as stream:
        issues = list(csv.DictReader(stream))
    with pets.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert rows.column("sound").to_pylist() == [line["sound"] for line in lines]
    total = sum(rows.column("error_probability").to_pylist())
    assert total == pytest.approx(said["error_count"]["value"], rel=1e-12)
    assert total == pytest.approx(load_audit(out).error_count.value, rel=1e-12)
    assert len(issues) == said["rows"]["flagged"] == sum(rows.column("is_label_issue").to_pylist())
    assert {line["note"] for line in issues} <= {"'=HYPERLINK(1)", "-3", "plain"}
    assert [line["pet"] for line in issues] == [line["given_label"] for line in issues]
    doubts = [float(line["error_probability"]) for line in issues]
    assert doubts == sorted(doubts, reverse=True)


GOLDEN = {
    "label": "pet",
    "labels": ["cat", "dog"],
    "classes": ["cat", "dog"],
    "rows": {"total": 160, "labeled": 160, "trusted": 0, "flagged": 8},
    "warnings": [],
}


def test_json_on_standard_output(pets):
    done = misnomer_cli("audit", pets, "-l", "pet", "--json")
    said = json.loads(done.stdout)
    assert {name: said[name] for name in GOLDEN} == GOLDEN
    assert said["fitted"]["families"] == {
        "weight": "gaussian",
        "sound": "categorical",
        "note": "categorical",
    }
    assert said["error_count"]["value"] == pytest.approx(8, abs=1.5)
    assert {issue["position"] for issue in said["issues"]} <= set(range(10))


def test_quiet_prints_nothing(pets, tmp_path):
    done = misnomer_cli("audit", pets, "-l", "pet", "-q", "-o", tmp_path / "out")
    assert (done.exit_code, done.output) == (0, "")
    assert (tmp_path / "out" / "report.html").is_file()


def test_options_reach_the_audit(pets, tmp_path):
    header = "weight,sound,a=b,pet"
    path = tmp_path / "t.csv"
    path.write_text(pets_csv(header=header), encoding="utf-8")
    words = ["--family", "a=b=ignored", "--text", "sound", "--ignore", "weight", "--json"]
    said = json.loads(misnomer_cli("audit", path, "-l", "pet", *words).stdout)
    assert said["fitted"]["families"] == {"sound": "text", "a=b": "ignored"}


def test_standard_input():
    done = shell("audit", "-", "--label", "pet", "--json", input=pets_csv().encode())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]["flagged"] == 8


def test_predict(audited, pets, tmp_path):
    _, out = audited
    for model in (out, out / "model.safetensors"):
        target = tmp_path / f"{model.name}.csv"
        done = misnomer_cli("predict", model, pets, "--out", target, "--proba")
        assert done.exit_code == 0, done.output
        with target.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream))
        assert len(lines) == 160
        assert {line["predicted_class"] for line in lines} == {"cat", "dog"}
        wrong = sum(line["predicted_class"] != line["pet"] for line in lines)
        assert wrong == 8
    again = misnomer_cli("predict", out, pets, "--out", target)
    assert again.exit_code == 2 and "use --force" in again.output
    table = tmp_path / "p.parquet"
    assert misnomer_cli("predict", out, pets, "-o", table).exit_code == 0
    assert pq.read_table(table).column_names[-2:] == ["predicted_class", "probability"]
    printed = misnomer_cli("predict", out, pets)
    assert printed.stdout.splitlines()[0].endswith("predicted_class,probability")


def test_demo_finds_what_it_planted():
    result = demo(share=0.1, seed=0)
    assert result.planted.sum() == 44
    assert result.hits > 30
    original = house_votes().column(LABEL).to_pylist()
    given = [result.found.given_label(row) for row in range(435)]
    changed = np.array([a != b for a, b in zip(original, given, strict=True)])
    np.testing.assert_array_equal(changed, result.planted)
    done = misnomer_cli("demo")
    assert done.exit_code == 0
    assert "Planted: 44 of 435" in done.output
    assert f"{result.hits} had been planted" in " ".join(done.output.split())


def test_the_bundled_votes_are_the_originals():
    votes = house_votes()
    assert votes.shape == (435, 17)
    party = votes.column(LABEL).to_pylist()
    assert (party.count("democrat"), party.count("republican")) == (267, 168)
    assert sum(column.null_count for column in votes.columns) == 392


def test_completion_is_offered():
    assert "--install-completion" in misnomer_cli("-h").output
