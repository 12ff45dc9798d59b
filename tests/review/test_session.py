"""The loop: what comes next, what a refit learns, what remains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from misnomer.audit.files.origin import notice_of_change
from misnomer.review import FILE, Review, load_for_review
from misnomer.review.ledger import ReviewError
from misnomer.review.progress import Bins, Reviewed, advice, left
from misnomer.review.ranking import Filter, as_filter, rank_rows
from misnomer.review.rows import fingerprint


def decide_some(review, truth, most, **options):
    """Answer with the true labels."""
    rows = []
    for i in range(most):
        row, check = review.next(**options)
        label = truth[row]
        review.decide(key=f"key-{i}-{row}", row=row, action="choose", label=label, check=check)
        rows.append(row)
    return rows


@pytest.fixture
def truth(audited):
    from misnomer.demo import house_votes

    return house_votes().column("party").to_pylist()


def test_the_most_likely_wrong_comes_first(review):
    row, check = review.next()
    assert row == review.audit.ranking[0]
    assert not check


def test_suspects_come_in_the_order_of_the_report_where_all_are_sure():
    from misnomer.audit import audit

    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 400)
    label = np.where(rng.random(400) < 0.1, 1 - true, true)
    X = rng.normal(size=(400, 3)) + 12 * true[:, None]
    wrong = np.flatnonzero(label != true)[::2]
    found = audit(X, label, checked=pd.DataFrame({"row": wrong, "true_label": true[wrong]}))
    many = found.ranking[: (found.error_probability == 1.0).sum()]
    assert len(many) > 5  # doubts that are 1 to the last digit
    assert rank_rows(found).orders["probability"][: len(many)].tolist() == many.tolist()


def test_the_most_informative_is_the_least_certain(review):
    row, _ = review.next("information")
    doubt = review.audit.shares.entropy
    assert doubt[row] == doubt.max()


def test_every_tenth_row_is_a_random_check(review, truth):
    rows = decide_some(review, truth, 30)
    checks = [one.row for one in review.decisions.standing() if one.check]
    assert [rows.index(row) for row in checks] == [9, 19, 29]
    assert not review.first.flagged[checks].any()


def test_no_row_comes_twice_and_skipped_ones_stay_away(review, truth):
    rows = decide_some(review, truth, 20)
    assert len(set(rows)) == 20
    first, _ = review.next()
    assert review.next(skip=[first])[0] != first


def test_a_refit_takes_decisions_as_true_and_moves_others(review, truth):
    decide_some(review, truth, 30)
    before = review.ranking
    after = review.refit_now()
    assert after.version == 1
    assert np.abs(after.wrong - before.wrong).max() > 0.01
    assert len(review.rows("probability", Filter())) == len(truth) - 30


def test_reviewed_suspects_do_not_make_the_rest_look_clean(review, truth, audited):
    """The labels of decided rows stay in the noise estimate: they were chosen for being odd."""
    rows = decide_some(review, truth, 25)
    remaining = audited[2].sum() - audited[2][rows].sum()
    review.refit_now()
    assert review.progress().left.model.value > 0.7 * remaining


def test_one_wrong_answer_does_not_overturn_the_ranking(review, audited):
    suspects = review.rows("probability", Filter(flagged=True))
    row = int(suspects[audited[2][suspects]][0])
    review.decide(key="mistaken-1", row=row, action="keep")
    top = review.refit_now().orders["probability"][: audited[2].sum()]
    assert audited[2][top].mean() > 0.75


def test_without_decisions_a_refit_changes_nothing(review):
    before = review.ranking.wrong
    assert np.array_equal(review.refit_now().wrong, before)


def test_a_background_refit_arrives(folder, truth):
    review = Review(load_for_review(folder), folder / FILE)
    decide_some(review, truth, 6)
    assert review.refitter.wait() and review.refitter.trouble is None
    assert review.ranking.version >= 1
    review.close()


def test_reviewing_finds_the_planted_errors(review, truth, audited):
    planted = audited[2]
    rows = decide_some(review, truth, 90)
    assert planted[rows].sum() > 0.8 * planted.sum()


def test_unsure_is_neither_error_nor_trusted(review):
    row, _ = review.next()
    review.decide(key="unsure-1", row=row, action="unsure")
    now = review.progress()
    assert (now.decided, now.unsure, now.errors) == (1, 1, 0)
    assert review.next()[0] != row


def test_a_label_that_is_no_class_is_refused(review):
    with pytest.raises(ReviewError, match="'whig' is not among the 2 classes"):
        review.decide(key="k-whig-1", row=0, action="choose", label="whig")
    with pytest.raises(ReviewError, match="no labeled row 999"):
        review.decide(key="k-none-1", row=999, action="keep")
    with pytest.raises(ReviewError, match="no action 'burn'"):
        review.decide(key="k-burn-1", row=0, action="burn")
    assert not review.decisions.entries()


def test_another_server_s_decisions_are_seen(folder, review):
    other = Review(review.audit, folder / FILE, refit=False)
    row, _ = other.next()
    other.decide(key="k-other-1", row=row, action="accept")
    review.sync()
    assert review.decided[row] and review.next()[0] != row
    other.undo(key="u-other-1", decision=other.decisions.last().id)
    review.sync()
    assert not review.decided[row]
    other.close()


def test_filters(review):
    ranking, decided = review.ranking, review.decided
    some = review.rows("probability", Filter(given=0, suggested=1, low=0.6, high=0.9))
    wrong = ranking.wrong[some]
    assert len(some) and (ranking.given[some] == 0).all() and (ranking.suggested[some] == 1).all()
    assert ((wrong >= 0.6) & (wrong <= 0.9)).all()
    assert not Filter(state="decided").passing(ranking, decided).any()
    flagged = review.rows("probability", Filter(flagged=True))
    assert set(flagged) == set(review.audit.ranking)
    assert review.rows("probability", Filter(), 7, 3).tolist() == (
        ranking.orders["probability"][7:10].tolist()
    )
    for bad in ({"given": "7"}, {"state": "maybe"}, {"low": "2"}, {"suggested": "x"}):
        with pytest.raises(ValueError):
            as_filter(bad, 2, 2)


def test_a_trusted_row_and_one_without_label_never_come_up():
    from misnomer.audit import audit

    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], 50)
    frame = pa.table({"x": rng.normal(size=100) + 3 * true, "y": [None, *true[1:].tolist()]})
    found = audit(frame, label="y", trusted=np.arange(100) == 5)
    assert not {0, 5} & set(rank_rows(found).orders["probability"].tolist())


def test_the_fingerprint_knows_rows_and_labels(folder, review):
    assert fingerprint(load_for_review(folder)) == fingerprint(review.audit)
    table = review.audit.data
    cells = table.column(0).to_pylist()
    cells[7] = None if cells[7] else "y"
    shape = replace(review.audit.shape, source=table.set_column(0, table.column_names[0], [cells]))
    assert fingerprint(replace(review.audit, shape=shape)) != fingerprint(review.audit)
    given = 1 - review.audit.given
    assert fingerprint(replace(review.audit, given=given)) != fingerprint(review.audit)


def test_a_file_that_has_changed_is_said(folder, review, tmp_path):
    from misnomer.store.writing import write_tables

    write_tables([review.audit.data], tmp_path / "votes.csv", ".csv")
    notice_of_change(review.audit, folder, tmp_path / "votes.csv")
    lines = (tmp_path / "votes.csv").read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace("democrat", "whig").replace("republican", "whig")
    (tmp_path / "votes.csv").write_text("".join(lines))
    with pytest.raises(ValueError, match=r"has changed since .*row 2, column 'party'.*audit it"):
        notice_of_change(review.audit, folder, tmp_path / "votes.csv")
    (tmp_path / "votes.csv").write_text("".join(lines[:-1]))
    with pytest.raises(ValueError, match="it had 435 rows and has 434"):
        notice_of_change(review.audit, folder, tmp_path / "votes.csv")


def test_a_folder_that_is_no_audit(tmp_path):
    with pytest.raises(ReviewError, match="is not the folder of an audit"):
        load_for_review(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        load_for_review(tmp_path / "nowhere")
    (tmp_path / "audit.json").touch()
    (tmp_path / "rows.parquet").touch()
    with pytest.raises(ReviewError, match=r"of an audit \(it lacks audit.safetensors\): make one"):
        load_for_review(tmp_path)


def simulated(rng, factor, overlooked):
    """Review rows that err ``factor`` and ``overlooked`` times as often as the model thinks."""
    suspects = rng.beta(4, 2, 120)
    others = rng.beta(0.5, 30, 800)
    wrong_s = rng.random(120) < np.minimum(factor * suspects, 1)
    wrong_o = rng.random(800) < np.minimum(overlooked * others, 1)
    first = np.argsort(-suspects)[:60]
    checks = rng.choice(800, 40, replace=False)
    open_s, open_o = np.delete(np.arange(120), first), np.delete(np.arange(800), checks)
    found = left(
        Reviewed(
            Bins.of(suspects[open_s]),
            Bins.of(others[open_o]),
            float(suspects[first].sum()),
            int(wrong_s[first].sum()),
            40,
            int(wrong_o[checks].sum()),
        )
    )
    return found, int(wrong_s[open_s].sum() + wrong_o[open_o].sum())


@pytest.mark.parametrize(("factor", "overlooked"), [(0.6, 1), (1, 1), (1, 4)])
def test_the_interval_holds_what_is_left(factor, overlooked):
    rng = np.random.default_rng(1)
    pairs = [simulated(rng, factor, overlooked) for _ in range(200)]
    held = np.mean([truth in found.sample for found, truth in pairs])
    assert held > 0.85  # meant to be 0.90
    if overlooked > 1:  # what the model overlooks, only the sample knows
        assert np.mean([truth in found.model for found, truth in pairs]) < 0.2


def test_when_to_stop():
    calm = left(Reviewed(Bins.of(np.full(5, 0.02)), Bins.of(np.full(500, 0.001)), 20.0, 20, 60, 0))
    assert advice(calm, np.full(20, 0.02), 1000).stop
    assert not advice(calm, np.full(20, 0.9), 1000).stop
    unchecked = left(
        Reviewed(Bins.of(np.full(5, 0.02)), Bins.of(np.full(500, 0.001)), 20.0, 20, 3, 0)
    )
    assert unchecked.sample is None and unchecked.best is unchecked.model
    assert "check 7 more random rows" in advice(unchecked, np.full(20, 0.02), 1000).sentence
    assert advice(unchecked, np.zeros(0), 1000).stop


def test_before_any_decision_the_page_says_what_the_audit_says(review):
    found, claimed = review.progress().left.model, review.audit.error_count
    assert found.value == pytest.approx(claimed.value, rel=1e-6)
    assert (found.low, found.high) == pytest.approx((claimed.low, claimed.high), rel=1e-6)
