"""Checked rows reach the answer on every road: in memory, by batches, on Dask, crowds, groups."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import misnomer
from misnomer.audit import collector
from misnomer.head import large

ROADS = ["memory", "stream", "sample", "dask", "crowd", "crowd stream", "groups", "groups stream"]


def hidden(n=1200, seed=0):
    """Labels that are wrong where a column says so: they look like classes, and nobody can see."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    wrong = rng.random(n) < 0.25
    seen = np.where(wrong, 1 - true, true)
    frame = pd.DataFrame(rng.normal(2.0 * seen[:, None], 1.0, (n, 3)), columns=list("abc"))
    frame["d"] = rng.normal(1.0 * true, 1.0)
    names = np.array(["no", "yes"])
    frame["label"] = names[seen]
    return frame, names[true]


def asked(road, frame, tmp_path):
    """The table as a road takes it, and how it is asked for."""
    if road.startswith("crowd"):
        rng = np.random.default_rng(1)
        seen = frame.pop("label").to_numpy()
        for who, right in (("ann", 0.97), ("bob", 0.95), ("cyd", 0.95)):
            other = np.where(seen == "no", "yes", "no")
            frame[who] = np.where(rng.random(len(frame)) < right, seen, other)
        said = {"annotators": ["ann", "bob", "cyd"]}
    else:
        said = {"label": "label"}
    if road.startswith("groups"):
        frame["ward"] = np.array(["A", "B"])[np.arange(len(frame)) % 2]
        said["noise_groups"] = "ward"
    if road == "dask":
        dd = pytest.importorskip("dask.dataframe")
        return dd.from_pandas(frame, npartitions=3), said
    if road in ("stream", "sample") or road.endswith("stream"):
        frame.to_csv(tmp_path / "rows.csv", index=False)
        return tmp_path / "rows.csv", {**said, "memory": "2GB"}
    return frame, said


def run(data, **said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return misnomer.audit(data, **said)


def answered(found, true, rows=100):
    sheet = found.draw_checks(rows, random_state=0)
    sheet["true_label"] = true[sheet["row"].to_numpy()]
    return sheet


@pytest.fixture
def few_kept(monkeypatch):
    """Audits by batches keep 300 rows, as they do of millions."""
    chosen = collector._choose_rows
    monkeypatch.setattr(collector, "_choose_rows", lambda n, most, seed: chosen(n, 300, seed))


@pytest.mark.parametrize("road", ROADS)
def test_checked_rows_reach_the_answer_on_every_road(road, tmp_path, request):
    frame, true = hidden()
    data, said = asked(road, frame, tmp_path)
    if road == "dask":
        said["cluster"] = request.getfixturevalue("cluster")
    before = run(data, **said)
    sheet = answered(before, true)
    if road == "sample":
        request.getfixturevalue("few_kept")
    found = run(data, **said, checked=sheet)

    assert before.error_rate.high < 0.2, "the model sees them: nothing is tested here"
    assert found.verdict.level == "checked"
    names = np.array(before.labels)[before.given]
    truth = (names != true).mean()
    assert found.error_rate.low <= truth <= found.error_rate.high
    kept = np.arange(len(true)) if found.is_whole else found.all_rows.places
    assert {*sheet["row"]} <= {*kept.tolist()}
    assert found.is_whole == (road != "sample")
    places = np.searchsorted(kept, sheet["row"])
    wrong = names[sheet["row"]] != true[sheet["row"]]
    np.testing.assert_allclose(found.error_probability[places], wrong, atol=1e-9)
    if road == "groups":
        assert (found.batch.design > 0).sum() == 100  # the fit knew them
    assert found.error_probability.mean() == pytest.approx(found.error_rate.value, abs=1e-6)


@pytest.mark.parametrize("road", ["stream", "dask"])
def test_by_batches_checked_rows_lead_to_the_answer_of_a_table_in_memory(road, tmp_path, request):
    frame, true = hidden(400)
    data, said = asked(road, frame, tmp_path)
    if road == "dask":
        said["cluster"] = request.getfixturevalue("cluster")
    sheet = answered(run(frame, label="label"), true)
    here, there = run(frame, label="label", checked=sheet), run(data, **said, checked=sheet)
    np.testing.assert_allclose(there.posterior, here.posterior, atol=1e-6)
    assert there.error_rate.value == pytest.approx(here.error_rate.value, abs=1e-6)


def test_of_many_rows_the_sample_holds_those_that_were_checked(monkeypatch, tmp_path):
    monkeypatch.setattr(large, "MOST_ROWS", 500)
    monkeypatch.setattr(large, "SAMPLE_ROWS", 200)
    seen = []
    sample = large.sample
    monkeypatch.setattr(large, "sample", lambda task: seen.append(sample(task)) or seen[-1])
    frame, true = hidden()
    sheet = answered(run(frame, label="label"), true, 60)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    run(frame, label="label", checked=sheet)
    run(tmp_path / "rows.csv", label="label", memory="2GB", checked=sheet)
    for one in seen[-1:] + seen[1:2]:
        (batch,) = one.task.batches
        assert (batch.design > 0).sum() == 60
        assert len(batch) > 200


def test_a_checked_row_settles_its_annotators(tmp_path):
    frame, true = hidden()
    data, said = asked("crowd", frame, tmp_path)
    data["cyd"] = np.where(np.arange(len(data)) % 10 < 9, true, data["cyd"])  # cyd alone knows
    before = run(data, **said)
    found = run(data, **said, checked=answered(before, true, 200))
    cyd = list(before.sources.answers.annotators).index("cyd")
    right = [np.diag(one.sources.channels[cyd]).mean() for one in (before, found)]
    assert right[0] < 0.8, "cyd is believed anyway: nothing is tested here"
    assert right[1] > right[0] + 0.03
