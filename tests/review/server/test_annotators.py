"""Several annotators: who said what, what it is worth, and what decisions change."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from misnomer.audit import audit
from misnomer.review import FILE, Review, load_for_review
from misnomer.review.export import run
from misnomer.review.refit import refit_audit
from misnomer.review.server.content import describe_row
from misnomer.rows.scan import read_table
from tests.review.answers import CLASSES, RATES, write_scans


@pytest.fixture(scope="session")
def scans(tmp_path_factory):
    """The folder of an audit of five annotators, made by the command line, and the truth."""
    place = tmp_path_factory.mktemp("scans")
    truth = write_scans(place / "scans.csv")
    command = [sys.executable, "-m", "misnomer", "audit", str(place / "scans.csv"), "--id"]
    command += ["patient", "--annotator-columns", ",".join(RATES), "--out", str(place / "audit")]
    subprocess.run(command, check=True, capture_output=True)
    return place / "audit", truth


@pytest.fixture
def voted(scans, tmp_path):
    """A review of it that fits only when told, and the truth."""
    session = Review(load_for_review(scans[0]), tmp_path / FILE, refit=False)
    yield session, scans[1]
    session.close()


def test_every_answer_is_shown_with_its_weight(voted):
    review, _ = voted
    row = int(review.audit.ranking[0])
    shown = describe_row(review, row)
    why = shown["why"]
    cells = {cell["name"]: cell["text"] for cell in shown["cells"]}
    asked = {name for name in RATES if cells[name]}
    assert {one["who"]: one["label"] for one in why["said"]} == {n: cells[n] for n in asked}
    answers = {t["name"]: t["weight"] for t in why["terms"] if t["kind"] == "answer"}
    assert answers == {one["who"]: one["weight"] for one in why["said"]}
    assert sum(term["weight"] for term in why["terms"]) == pytest.approx(why["log_odds"])
    assert all("%" in one["right"] and "%" in one["span"] for one in why["said"])
    sources, table = review.audit.sources, review.audit.annotators
    pair = [CLASSES.index(why[side]) for side in ("suggested", "against")]
    one = why["said"][0]
    place = sources.answers.annotators.tolist().index(one["who"])
    cell = np.log(sources.channels[place, CLASSES.index(one["label"])])
    assert one["weight"] == pytest.approx(cell[pair[0]] - cell[pair[1]])
    assert {*table.name} == {*RATES}


def test_an_annotator_called_like_a_column_is_told_apart(tmp_path):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 120)
    table = {"size": rng.normal(size=120) + 3 * true}
    table |= {name: np.where(rng.random(120) < 0.8, true, 1 - true) for name in "abc"}
    lines = pa.table(
        {
            "row": np.repeat(np.arange(120), 3),
            "who": ["size", "b", "c"] * 120,
            "said": np.stack([table[name] for name in "abc"], axis=1).ravel(),
            "size": np.repeat(table["size"], 3),
        }
    )
    found = audit(lines, long=("row", "who", "said"))
    review = Review(found, tmp_path / FILE, refit=False)
    why = describe_row(review, 5)["why"]
    kinds = [(one["kind"], one["name"]) for one in why["terms"]]
    assert kinds.count(("answer", "size")) == 1 and kinds.count(("column", "size")) == 1
    assert sum(one["weight"] for one in why["terms"]) == pytest.approx(why["log_odds"])
    review.close()


def test_a_refit_without_decisions_is_the_audit(voted):
    audit_made = voted[0].audit
    again = refit_audit(audit_made, {})
    np.testing.assert_array_equal(again.posterior, audit_made.posterior)
    np.testing.assert_array_equal(again.sources.channels, audit_made.sources.channels)


def test_decisions_are_known_to_the_refit(voted):
    """What the intern calls benign is decided to be malignant, as often as not against the vote."""
    review, _ = voted
    before, answers = review.audit.sources.channels, review.audit.sources.answers
    liar = answers.annotators.tolist().index("intern")
    rows = answers.row[(answers.annotator == liar) & (answers.label == 0)][:60]
    for row in rows.tolist():
        review.decide(key=f"voted-key-{row}", row=row, action="choose", label="malignant")
    review.refit_now()
    after = review.judged.audit.sources.channels
    assert after[liar, 0, 1] > before[liar, 0, 1] + 0.2
    assert (review.judged.audit.annotators.accuracy != review.audit.annotators.accuracy).any()
    shown = describe_row(review, int(rows[0]))
    assert shown["why"]["said"][0] == {
        "who": "reviewer", "label": "malignant", "right": "trusted", "span": "",
        "weight": None,
    }  # fmt: skip
    # A decided row is judged by what the others said, not by the decision.
    assert review.judged.audit.posterior[rows].max(axis=1).min() < 0.999


def test_the_consensus_is_corrected_by_decisions(voted, scans, tmp_path):
    review, truth = voted
    wrong = int(review.audit.ranking[0])
    review.decide(key="voted-keep-1", row=wrong, action="keep")
    calm = int(np.flatnonzero(~review.audit.is_label_issue)[0])
    other = next(name for name in CLASSES if name != review.audit.given_label(calm))
    review.decide(key="voted-choose-1", row=calm, action="choose", label=other)
    run(review.audit, tmp_path, tmp_path / "clean.csv")
    table = read_table(tmp_path / "clean.csv")
    names = table.column_names
    assert names[-4:] == ["consensus", "given_label", "decided_by", "decided_at"]
    assert names[:-4] == review.audit.data.column_names
    consensus, vote = (np.array(table.column(n).to_pylist()) for n in names[-4:-2])
    who = np.array(table.column("decided_by").to_pylist())
    assert consensus[wrong] == vote[wrong] and consensus[calm] == other
    assert (who[[wrong, calm]] == "person").all() and (who == "model").any()
    assert (consensus[who == "untouched"] == vote[who == "untouched"]).all()
    open_rows = who != "person"
    assert (consensus == truth)[open_rows].mean() > (vote == truth)[open_rows].mean()
    run(review.audit, tmp_path, tmp_path / "sure.csv", probability=1.0)
    assert "model" not in read_table(tmp_path / "sure.csv").column("decided_by").to_pylist()


def test_groups_are_shown_and_fitted(tmp_path):
    rng = np.random.default_rng(1)
    true = rng.integers(0, 2, 400)
    site = np.where(rng.random(400) < 0.5, "north", "south")
    flip = rng.random(400) < np.where(site == "north", 0.05, 0.3)
    columns = {f"x{j}": rng.normal(size=400) + 2 * true for j in range(3)}
    table = pa.table({**columns, "site": site, "y": np.where(flip, 1 - true, true)})
    found = audit(table, label="y", noise_groups="site")
    review = Review(found, tmp_path / FILE, refit=False)
    row = int(found.ranking[0])
    why = describe_row(review, row)["why"]
    assert [one["who"] for one in why["said"]] == [site[row]]
    assert {one["kind"] for one in why["terms"]} == {"column", "prior", "label"}
    for r in found.ranking[:5].tolist():
        review.decide(key=f"group-key-{r}", row=r, action="accept")
    assert review.refit_now().version == 1
    run(found, tmp_path, tmp_path / "clean.csv")
    assert "consensus" not in read_table(tmp_path / "clean.csv").column_names
    review.close()


def test_the_report_ranks_the_annotators(scans):
    page = (scans[0] / "report.html").read_text(encoding="utf-8")
    table = page[page.index('id="sources"') :]
    places = [table.index(f">{name}<") for name in ("ann", "bob", "cem")]
    assert places == sorted(places)
    assert "says benign for malignant" in table or "says benign for unclear" in table
