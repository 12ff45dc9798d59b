"""A reviewer may err: decisions are strong evidence, not truth."""

from __future__ import annotations

import numpy as np
import pytest

from misnomer.review import FILE, Review
from misnomer.review.ledger import ReviewError
from misnomer.review.refit import beliefs, copies_of, with_copies
from misnomer.table import Batch


def decide(review, planted, count, mistaken=()):
    """Decide about the first suspects as the truth is, some of them wrongly."""
    for nth in range(count):
        row, _ = review.next()
        wrong = bool(planted[row]) != (nth in mistaken)
        given = review.audit.given_label(row)
        other = next(name for name in review.audit.classes if name != given)
        action, label = ("choose", other) if wrong else ("keep", None)
        review.decide(key=f"decision-{nth}", row=row, action=action, label=label)
    review.refit_now()
    return review.progress().left.best


def test_two_mistakes_among_five_decisions_do_not_turn_the_model(review, audited):
    planted = audited[2]
    review.check_every = 0
    left = decide(review, planted, 5, mistaken=(1, 3))
    true = planted.sum() - sum(planted[one.row] for one in review.decisions.standing())
    assert left.value > true / 2
    assert left.low < true < left.high


def test_without_mistakes_the_answer_stays_right(review, audited):
    review.check_every = 0
    left = decide(review, audited[2], 5)
    true = audited[2].sum() - 5
    assert left.low - 5 < true < left.high  # the model alone is off by a few rows here


def test_error_zero_takes_decisions_for_the_truth(folder, audited):
    from misnomer.review import load_for_review

    audit = load_for_review(folder)
    with pytest.raises(ReviewError, match=r"below 0\.5"):
        Review(audit, folder / FILE, refit=False, reviewer_error=0.5)
    sure = beliefs(np.array([[0.999, 0.001]]), np.array([1]), 0.0)
    assert sure.tolist() == [[0.0, 1.0]]


def test_beliefs_are_shares_and_follow_the_evidence():
    rows = np.array([[0.9, 0.1, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    share = beliefs(rows, np.array([2, 2]), 0.05)
    assert np.allclose(share.sum(axis=1), 1.0)
    assert share[0].argmax() == 0 and share[1, 2] == pytest.approx(0.95)


def test_copies_weigh_what_is_believed_and_keep_the_rows_before_them():
    batch = Batch((), np.array([0, 1, 1], np.int32), np.array([1.0, 2.0, 1.0]))
    copies = copies_of(np.array([1]), np.array([[0.25, 0.75]]))
    more = with_copies(batch, copies, 2)
    assert more.given.tolist() == [0, 1, 1, 3, 4]
    assert more.weight.tolist() == [1.0, 2.0, 1.0, 0.5, 1.5]
