"""An audit by batches: all its rows are served, none is read before somebody looks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from misnomer.audit import collector
from misnomer.review import FILE, Review, load_for_review
from misnomer.review import large as large_rows
from misnomer.review.export import run
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import FOLDER, Filter, as_filter
from misnomer.review.rows import fingerprint
from misnomer.review.server import content
from misnomer.review.server.content import describe_row
from misnomer.rows.scan import read_table
from misnomer.store import writing
from tests.audit.rows import save_stream

N = 3000


def rows_of(seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, N)
    given = np.where(rng.random(N) < 0.1, 1 - true, true)
    columns = {f"x{j}": (rng.normal(size=N) + 1.5 * true).round(4) for j in range(4)}
    sure = (rng.random(N) < 0.02) & (given == true)
    names = np.array(["no", "yes"])
    label = [None if i % 500 == 7 else names[k] for i, k in enumerate(given)]
    key, word = [f"k{i}" for i in range(N)], np.where(sure, "true", "")
    return pa.table({"key": key, **columns, "row": word, "y": label}), names[true]


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A collector audit with a sample of 800 of its 3,000 rows, in row groups of 700."""
    place, (table, truth) = tmp_path_factory.mktemp("large"), rows_of()
    csv.write_csv(table, place / "rows.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector, "SAMPLE", 800)
        patch.setattr(writing, "_GROUP_ROWS", 700)
        options = {"id": "key", "trusted": "row", "memory": "1GB"}
        save_stream(str(place / "rows.csv"), "y", place / "audit", **options)
    return place / "audit", truth, table


@pytest.fixture
def review(audited, tmp_path):
    session = Review(load_for_review(audited[0]), tmp_path / FILE, refit=False)
    yield session
    session.close()


@pytest.fixture
def known(audited):
    return pq.read_table(audited[0] / "rows.parquet")


def test_the_queue_is_of_all_rows_worst_first(review, known, audited):
    wrong = known.column("error_probability").to_numpy()
    order = review.rows("probability", Filter())
    trusted = np.array(audited[2].column("row").to_pylist()) == "true"
    assert len(order) == N - 6 - trusted.sum() > 2800
    assert not trusted[order].any()  # known to be right, and so never asked about
    assert (np.diff(wrong[order]) < 1e-3).all()
    flagged = review.rows("probability", Filter(flagged=True))
    assert len(flagged) == sum(known.column("is_label_issue").to_pylist())
    some = as_filter({"given": "1", "low": "0.2", "high": "0.9"}, 2, 2)
    given = np.array(known.column("given_label").to_pylist())[order]
    fits = (given == "yes") & (wrong[order] >= 0.2) & (wrong[order] <= 0.9)
    assert review.rows("probability", some).tolist() == order[fits].tolist()
    assert (
        review.count(some)
        == fits.sum()
        == content.queue_page(review, "probability", some, 0, 5)["total"]
    )
    first = review.rows("information", Filter(), 0, 20)
    assert abs(wrong[first] - 0.5).max() < 0.1


@pytest.mark.parametrize("row", [0, 699, 700, 2999])
def test_a_row_is_read_where_it_is(review, audited, row):
    shown = describe_row(review, row)
    cells = {cell["name"]: cell for cell in shown["cells"]}
    line = audited[2].slice(row, 1).to_pylist()[0]
    assert cells["key"]["text"] == line["key"] and float(cells["x0"]["text"]) == line["x0"]
    assert cells["y"]["label"] and "row" in cells  # its own name, though ours has the same
    weights = [term["weight"] for term in shown["why"]["terms"]]
    assert sum(weights) == pytest.approx(shown["why"]["log_odds"])
    assert content.find(review, line["key"]) == row


def test_progress_adds_up(review, known):
    total = np.nansum(known.column("error_probability").to_numpy())
    assert review.progress().left.model.value == pytest.approx(total, rel=0.02)
    row, _ = review.next()
    review.decide(key="large-key-1", row=row, action="accept")
    assert review.count(Filter()) == review.count(Filter(state="all")) - 1
    assert review.progress().errors == 1


def test_a_refit_moves_the_worst_rows(review, audited, monkeypatch):
    monkeypatch.setattr(large_rows, "N_WORST_ROWS", 500)
    truth = audited[1]
    before = review.rows("probability", Filter(state="all"))
    for row in before[:12].tolist():
        label = str(truth[row])
        review.decide(key=f"large-key-{row}", row=row, action="choose", label=label)
    ranking = review.refit_now()
    after = review.rows("probability", Filter(state="all"))
    assert set(after[:500]) == set(before[:500]) and (after[500:] == before[500:]).all()
    wrong = ranking.wrong[after[:500]]
    assert (np.diff(wrong) <= 0).all()
    assert 0 < abs(wrong - review.first.wrong[after[:500]]).max() < 0.5
    shown = describe_row(review, int(after[20]))
    assert shown["probability"] == pytest.approx(ranking.wrong[after[20]])
    assert review.progress().left.model.value > 0
    assert "random sample of 800 rows" in content.about(review, "x")["learning"]


def test_the_index_is_kept_and_made_anew_for_other_rows(audited):
    folder = audited[0]
    first = load_for_review(folder)
    made = (folder / FOLDER / "wrong.npy").stat().st_mtime_ns
    assert fingerprint(load_for_review(folder)) == fingerprint(first)
    assert (folder / FOLDER / "wrong.npy").stat().st_mtime_ns == made
    assert not [path for path in (folder / FOLDER).iterdir() if path.name.startswith("key.")]
    about = folder / FOLDER / "about.json"
    about.write_text("{}")
    load_for_review(folder)
    assert about.read_text() != "{}"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_clean_file_has_all_rows(review, audited, tmp_path, suffix):
    row = int(review.rows("probability", Filter(), limit=1)[0])
    review.decide(key="large-key-1", row=row, action="accept")
    out = tmp_path / f"clean{suffix}"
    said = run(review.source, tmp_path, out, probability=0.9)
    clean, source = read_table(out), audited[2]
    assert clean.column_names == [*source.column_names, "given_label", "decided_by", "decided_at"]
    assert clean.column("key").to_pylist() == source.column("key").to_pylist()
    who = np.array(clean.column("decided_by").to_pylist())
    assert who[row] == "person" and (who == "model").sum() > 50
    assert "1 row decided by people" in said
    old, new = source.column("y").to_pylist(), clean.column("y").to_pylist()
    assert {i for i in range(N) if old[i] != new[i]} == set(np.flatnonzero(who != "untouched"))
    with pytest.raises(ReviewError, match="exported as a table only"):
        run(review.source, tmp_path, tmp_path / "tasks.json", kind="argilla")


def test_without_its_rows_the_sample_is_named(audited, tmp_path):
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "audit.safetensors").touch()
    with pytest.raises(ReviewError, match=r"lacks rows.parquet: review the sample"):
        load_for_review(tmp_path)
