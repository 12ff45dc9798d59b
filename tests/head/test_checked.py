"""Rows that were drawn by chance and checked: how far labels are believed beside them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from misnomer import NoisyLabelClassifier, audit
from misnomer.head.checked import FEWEST_DRAWN, checked_joint, label_worths, sureness
from misnomer.head.explain import Search
from misnomer.head.objective import Typical
from misnomer.learners.naive_bayes import USUAL
from tests.head.test_objective import problem


def rule_labeled(n=900, seed=0):
    """Three classes; a rule calls two thirds of the first the second, by the last column."""
    rng = np.random.default_rng(seed)
    true = rng.integers(3, size=n)
    X = rng.normal(size=(n, 4))
    X[np.arange(n), true] += 1.6
    given = np.where((true == 0) & (X[:, 3] > np.quantile(X[:, 3], 0.35)), 1, true)
    return pd.DataFrame(X, columns=list("abcd")), given, true


def drawn(true, count=60, seed=1):
    rows = np.random.default_rng(seed).choice(len(true), count, replace=False)
    checked, weight = np.full(len(true), None, object), np.zeros(len(true))
    checked[rows], weight[rows] = true[rows], len(true) / count
    return checked, weight


def test_few_checked_rows_outvote_many_labels_whose_errors_follow_a_column():
    X, given, true = rule_labeled()
    checked, weight = drawn(true)
    new, _, truth = rule_labeled(3000, seed=9)
    alone = NoisyLabelClassifier().fit(X, given).score(new, truth)
    picked = NoisyLabelClassifier().fit(X, given, checked=checked).score(new, truth)
    told = NoisyLabelClassifier().fit(X, given, checked=checked, design_weight=weight)
    assert told.score(new, truth) > picked + 0.02
    assert told.score(new, truth) > alone + 0.04


def test_an_audit_hands_the_design_to_the_head_and_picked_rows_have_none():
    X, given, true = rule_labeled()
    found = audit(X, given)
    sheet = found.draw_checks(60, random_state=0)
    sheet["true_label"] = true[sheet["row"]]
    told = audit(X, given, checked=sheet)
    by_hand = audit(X, given, checked=sheet[["row", "true_label"]])
    new, _, truth = rule_labeled(3000, seed=9)
    assert told.classifier.score(new, truth) > by_hand.classifier.score(new, truth) + 0.01


def test_fewer_drawn_rows_than_can_decide_change_nothing_but_themselves():
    X, given, true = rule_labeled(300)
    checked, weight = drawn(true, FEWEST_DRAWN - 1)
    fits = [
        NoisyLabelClassifier().fit(X, given, checked=checked, design_weight=one)
        for one in (weight, None)
    ]
    assert np.array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))


def test_rare_words_say_more_where_checked_rows_were_drawn():
    """A rule calls every second text of one topic another by a common word; topics have rare ones.

    With one virtual word in every cell, as many errors as that drown rare words.
    """
    rng = np.random.default_rng(0)
    true, common = rng.integers(3, size=1500), rng.integers(2, size=1500)
    rare = [[f"w{k}x{j}" for j in rng.integers(400, size=3)] for k in true]
    usual = [[f"u{j}" for j in rng.integers(30, size=5)] for _ in true]
    words = zip(rare, usual, common, strict=True)
    frame = pd.DataFrame({"text": [" ".join([*few, *many, f"c{c}"]) for few, many, c in words]})
    given = np.where((true == 0) & (common == 1), 1, true)
    checked, weight = drawn(true)
    said = replace(USUAL, extra=2 * USUAL.extra)  # who says how much rare words say is heard
    fits = [NoisyLabelClassifier(smoothing=one) for one in ("auto", said)]
    for one in fits:
        one.fit(frame, given, checked=checked, design_weight=weight)
    assert fits[0].score(frame, true) > fits[1].score(frame, true) + 0.02


@pytest.mark.parametrize("weight", [[1.0, 2.0], [-1.0] * 40, [np.nan] * 40])
def test_design_weights_that_are_none_are_refused(weight):
    X, given, true = rule_labeled(40)
    checked = np.array([*true[:5], *[None] * 35], object)
    with pytest.raises(ValueError, match="design_weight must have one number per row"):
        NoisyLabelClassifier().fit(X, given, checked=checked, design_weight=weight)


def designed(worth=0.02):
    found, rng = problem("known classes")
    rows = found.rows
    design = np.where(rows.known >= 0, rng.uniform(1, 3, len(rows)), 0.0)
    rows = replace(rows, design=design)
    return replace(found, rows=rows, label_worth=worth, mean_shift=rng.normal(size=3)), rng


def test_gradient_where_labels_are_worth_less_is_that_of_the_value():
    found, rng = designed()
    vector, typical = found.write(np.eye(3) * 0.6 + 0.4 / 3), Typical(0.15, 30.0)
    vector = vector + 0.3 * rng.normal(size=len(vector))
    gradient = found(vector, typical)[1]
    for i in range(len(vector)):
        way = np.eye(len(vector))[i] * 1e-5
        slope = (found(vector + way, typical)[0] - found(vector - way, typical)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_drawn_rows_count_by_their_design_and_labels_by_their_worth():
    found, _ = designed()
    worth, drawn_rows = found.row_worth, found.rows.design > 0
    assert worth[drawn_rows].mean() == pytest.approx(1.0)
    assert np.ptp(worth[drawn_rows] / found.rows.design[drawn_rows]) == pytest.approx(
        0.0, abs=1e-12
    )
    assert (worth[~drawn_rows] == 0.02).all()


def test_all_labels_together_count_as_many_rows_as_were_checked():
    found, _ = designed()
    labels = len(found.rows.labeled)
    assert label_worths(found.rows)[0] * labels == pytest.approx((found.rows.design > 0).sum())


def test_post_stratified_counts_keep_the_number_of_each_label():
    found, _ = designed()
    joint = checked_joint(found.rows)
    assert joint.sum(axis=1) == pytest.approx(np.bincount(found.rows.label, minlength=3))


def test_calibrated_logits_are_left_about_as_sure_as_they_are():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3)) * 2
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = (share.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    assert sureness(logits, true, np.ones(4000)) == pytest.approx(1.0, abs=0.06)
    assert sureness(3 * logits, true, np.ones(4000)) == pytest.approx(1 / 3, abs=0.02)


def test_that_labels_are_worth_less_is_one_idea_in_several_sizes(monkeypatch):
    X, given, true = rule_labeled(300)
    checked, weight = drawn(true, 20)
    monkeypatch.setattr(Search, "_surprise", lambda self, one: 7.0)
    told = NoisyLabelClassifier().fit(X, given, checked=checked, design_weight=weight)
    weights = told.fit_.details.opinion.answer.weights
    assert weights.tolist() == pytest.approx([0.5, 0.25, 0.25])
