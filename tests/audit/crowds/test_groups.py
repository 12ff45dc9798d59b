"""Groups of rows and errors known beforehand: in memory, by batches and on a cluster alike."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from misnomer import audit
from misnomer.audit import load_audit
from misnomer.classifiers.crowd import CrowdNB
from misnomer.classifiers.terms import GroupCount, Groups, codes_of, names_of
from misnomer.engines import Stream, joined
from misnomer.rows.scan import scan
from misnomer.table import Batch, joined_groups
from tests.audit.rows import audit_stream, planted, save_stream
from tests.audited import check_sums
from tests.crowds import cli, sites

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
GROUPS = {"label": "y", "noise_groups": "site"}


def messy_sites(n=900):
    """Sites with missing labels, trusted rows, and a site that nobody has labeled."""
    frame, truth = sites(n)
    frame["ok"] = (frame["y"] == truth) & (np.arange(n) % 9 == 0)
    frame["number"] = np.arange(n)
    frame.loc[5:40:5, "y"] = None
    frame.loc[frame.index[:3], ["y", "site"]] = None, "east"
    return frame


def written(frame, path, size=128):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=size)
    return path


def said(found):
    """The sentences of a verdict; a sample of the rows does not know the worst of all."""
    return [one for one in found.verdict.sentences if not one.startswith("Most suspect")]


def check_same(got, want, close=1e-9):
    """Two audits with groups give one answer."""
    for name, column in want.groups.columns().items():
        other = got.groups.columns()[name]
        if column.dtype.kind == "f":
            np.testing.assert_allclose(other, column, rtol=close, atol=close)
        else:
            assert other.tolist() == column.tolist()
    assert got.groups.test.p_value == want.groups.test.p_value
    np.testing.assert_allclose(got.sources.channels, want.sources.channels, atol=close)
    np.testing.assert_allclose(got.matrix, want.matrix, atol=close)
    assert got.error_count.value == pytest.approx(want.error_count.value, rel=close)
    assert said(got) == said(want)
    assert got.verdict.level == want.verdict.level
    assert got.fitted.notes == want.fitted.notes and got.label == want.label
    assert dict(got.sources.asked) == dict(want.sources.asked)


@pytest.fixture(scope="module")
def whole():
    return audit(messy_sites(), trusted="ok", **GROUPS)


@pytest.fixture(scope="module")
def many():
    """More rows than all choices are made on."""
    frame, given, *_ = planted(10_500)
    return frame.assign(y=given)


@pytest.mark.parametrize("rows", [37, 10_000])
def test_groups_are_the_same_by_batches(tmp_path, whole, rows):
    path = written(messy_sites(), tmp_path / "t.parquet")
    got = audit_stream(scan(path, rows=rows), "y", trusted="ok", noise_groups="site", memory=0)
    check_same(got, whole)
    check_sums(got)
    np.testing.assert_allclose(got.posterior, whole.posterior, atol=1e-9)
    assert got.warnings == whole.warnings
    assert got.groups.name.tolist() == ["west", "south", "north"]  # nobody has labeled the east
    row = int(got.ranking[0])
    assert got.explain_at(row).log_odds == pytest.approx(whole.explain_at(row).log_odds)
    assert got.classifier.solver == "auto" and got.classifier.fit_.details.groups is None
    assert any("trusted" in one for one in got.verdict.sentences)


def test_many_rows_of_groups_are_the_same_by_batches(tmp_path, many):
    want = audit(many, label="y", noise_groups="ward")
    assert want.verdict.tests["groups_judge_rows"]
    path = written(many, tmp_path / "t.parquet", 3_001)
    got = audit(path, label="y", noise_groups="ward", memory="1GB")
    check_same(got, want, close=1e-6)
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-6)


def test_groups_that_are_alike_judge_nothing_by_batches_either(tmp_path):
    frame = sites(bad=0.08)[0]
    path = written(frame, tmp_path / "t.parquet")
    got, plain = audit(path, memory="1GB", **GROUPS), audit(path, label="y", ignore="site")
    assert not got.verdict.tests["groups_judge_rows"]
    np.testing.assert_allclose(got.error_probability, plain.error_probability)
    check_same(got, audit(frame, **GROUPS))


def test_a_sample_of_the_rows_keeps_its_groups(tmp_path, monkeypatch, whole):
    module = sys.modules["misnomer.audit.collector"]
    monkeypatch.setattr(module, "SAMPLE", 200)
    path, out = written(messy_sites(), tmp_path / "t.parquet"), tmp_path / "out"
    found, _ = save_stream(path, "y", out, noise_groups="site", trusted="ok")
    assert len(found.given) == 200
    check_same(found, whole)
    site = found.data["site"].to_pylist()
    said = found.sources.answers
    names = said.annotators[said.annotator].tolist()
    assert names == [site[row] for row in said.row.tolist()]
    again = load_audit(out / "sample")
    assert str(again.groups) == str(found.groups)
    row = int(found.ranking[0])
    assert again.explain_at(row).terms == found.explain_at(row).terms
    assert "--noise-group" in found.origin.options
    assert "By group" in (out / "report.html").read_text(encoding="utf-8")
    told = json.loads((out / "audit.json").read_text(encoding="utf-8"))["groups"]["rows"]
    assert [one["rows"] for one in told] == whole.groups.rows.tolist()


def test_a_checkpoint_with_groups_and_with_knowledge(tmp_path):
    path = written(sites(n=300)[0], tmp_path / "t.parquet")
    for place, said in enumerate(({"noise_groups": "site"}, {"knowledge": {"most": 0.2}})):
        folder = tmp_path / str(place)
        one, two = (audit(path, label="y", checkpoint=folder, **said) for _ in range(2))
        np.testing.assert_array_equal(one.posterior, two.posterior)
        with pytest.raises(ValueError, match="other data or other options"):
            audit(path, label="y", checkpoint=folder)


@pytest.mark.parametrize(
    "known",
    [
        {"rates": {"yes": 0.15}},
        {"never": [("yes", "no")]},
        {"most": 0.03},
        {"cells": {("yes", "no"): 0.1}, "most": {"yes": 0.2}},
    ],
)
def test_knowledge_is_the_same_by_batches(tmp_path, known):
    frame = messy_sites().drop(columns="site")
    path = written(frame, tmp_path / "t.parquet")
    want = audit(frame, label="y", trusted="ok", knowledge=known)
    got = audit(path, label="y", trusted="ok", knowledge=known, memory="1GB")
    np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)
    np.testing.assert_allclose(got.matrix, want.matrix, atol=1e-9)
    assert got.error_rate.low == pytest.approx(want.error_rate.low, rel=1e-9)
    assert got.verdict.sentences == want.verdict.sentences
    assert got.fitted.notes == want.fitted.notes and "Known beforehand" in got.fitted.notes[-1]
    assert got.warnings == want.warnings


def test_knowledge_names_classes_as_they_are_written(tmp_path):
    frame = sites(n=300)[0].drop(columns="site")
    frame["y"] = (frame["y"] == "yes").astype(float)
    frame.loc[3, "y"] = None
    path = written(frame, tmp_path / "t.parquet")
    found = audit(path, label="y", knowledge={"never": [("0", "1")]}, memory="1GB")
    assert found.labels == (0, 1) and found.matrix[0, 1] == 0
    with pytest.raises(ValueError, match="knowledge names the class 'maybe', but the labels are"):
        audit(path, label="y", knowledge={"rates": {"maybe": 0.1}}, memory="1GB")


SITES = sites(n=90)[0]
BAD = {
    "a group per row": SITES.assign(site=[f"s{i}" for i in range(90)]),
    "one group": SITES.assign(site="north"),
    "no group": SITES.assign(site=["north"] * 50 + [None] + ["south"] * 39),
    "blank group": SITES.assign(site=["north"] * 50 + ["  "] + ["south"] * 39),
    "no such column": SITES.rename(columns={"site": "sites"}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_groups_get_the_sentence_that_they_get_in_memory(tmp_path, name):
    path = written(BAD[name], tmp_path / "t.parquet", 20)
    said = []
    for how in ({}, {"memory": "1GB"}):
        with pytest.raises(ValueError, match=r"group|site") as caught:
            audit(path, **GROUPS, **how)
        said.append(str(caught.value))
    assert said[0] == said[1] and "\n" not in said[0]


def test_what_needs_all_rows_is_refused(tmp_path):
    path = written(SITES, tmp_path / "t.parquet")
    both = {**GROUPS, "knowledge": {"most": 0.3}}
    for said in (both, {**GROUPS, "classifier": CrowdNB()}):
        with pytest.raises(ValueError, match="need all rows at once"):
            audit(path, memory="1GB", **said)
    assert audit(path, **both).groups is not None
    with pytest.raises(ValueError, match="noise_groups must name a column"):
        audit(path, label="y", noise_groups=SITES["site"], memory="1GB")
    with pytest.raises(ValueError, match="labeled rows are too few to doubt any"):
        audit(written(SITES[:15], path), memory="1GB", **GROUPS)
    done = cli(path, "--label", "y", "--noise-group", "site", "--at-most", "0.3", "--memory", "1GB")
    assert done.exit_code == 2 and "need all rows at once" in done.stderr


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([3.0, None, 1.0, 3.0, 1.0], (1, 3)),
        ([True, False, True, False, None], (False, True)),
        ([2.5, 2.5, 1.0, 1.0, 1.0], (1.0, 2.5)),
        (pa.array([0, 1, 0, 1, 1], pa.date32()), ("1970-01-01", "1970-01-02")),
        (pa.array(["b", "a", "b", "a", ""]).dictionary_encode(), ("a", "b")),
    ],
)
def test_groups_of_any_type_have_names(values, names):
    label = pa.array(["x", None, "y", "x", "y"])
    rows = pa.record_batch([label, pa.array(values)], names=["y", "site"])
    found = GroupCount("y", "site")(rows)
    if found.stray < 0:
        assert all(type(a) is type(b) for a, b in zip(names_of(found, "site"), names, strict=True))
        assert names_of(found, "site") == names
    else:
        assert found.stray == 4


def test_too_many_groups_are_forgotten(monkeypatch):
    monkeypatch.setattr("misnomer.classifiers.terms._MAX_GROUPS", 3)
    one, two = (Groups(2, Counter(list(names))) for names in ("ab", "cd"))
    total = one + two + one
    assert total.labels is None and total.rows == 6
    with pytest.raises(ValueError, match="over a million groups in 6 rows"):
        names_of(total, "site")


def test_rows_keep_their_groups_wherever_they_go():
    batches = [
        Batch((), np.zeros(3, np.int32), group=np.arange(3, dtype=np.int32) + 3 * i)
        for i in range(3)
    ]
    for memory in (0, 1 << 20):
        stream = Stream(batches, memory=memory)
        assert stream.take(np.array([1, 4, 8])).group.tolist() == [1, 4, 8]
        assert [batch.group.tolist() for batch in stream][1] == [3, 4, 5]
    assert joined(batches).take(slice(2, 4)).group.tolist() == [2, 3]
    assert joined_groups([Batch((), np.zeros(2, np.int32))]) is None


def test_the_command_line_by_batches(tmp_path, whole):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    messy_sites().to_csv(path, index=False)
    words = ["audit", path, "--label", "y", "--noise-group", "site", "--trusted", "ok"]
    done = subprocess.run(
        [sys.executable, "-m", "misnomer", *map(str, words), "--memory", "700MB", "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "By group" in done.stdout and "west" in done.stdout
    check_same(load_audit(out), whole)
    known = cli(path, "--label", "y", "--ignore", "site", "--known", "yes=0.1", "--json",
                "--skip-bad")  # fmt: skip
    assert known.exit_code == 0
    assert json.loads(known.stdout)["noise_matrix"]["value"][1][1] == pytest.approx(0.9)


def test_minus_zero_and_zero_are_one_group():
    group = pa.array([0.0, -0.0, 1.0, 1.0])
    rows = pa.record_batch({"y": pa.array(["a", "b", "a", "b"]), "g": group})
    assert GroupCount("y", "g")(rows).labels == {0.0: 2, 1.0: 2}
    assert codes_of([0.0, 1.0], "g", group).tolist() == [0, 0, 1, 1]
