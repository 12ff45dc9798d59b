"""What is said of checked rows, no surer than they are."""

import warnings

import numpy as np
import pandas as pd
import pytest

import misnomer
from misnomer.audit.numbers import with_smallest_class
from misnomer.checks.estimate import rows_needed
from misnomer.estimate import Estimate
from misnomer.verdict import HIDDEN, Checked, Verdict, conclude


def three_of_fifty():
    return Checked(Estimate(0.1, 0.0, 0.7), "running", 3, 0, 0, 200, 12)


@pytest.mark.parametrize("level", ["assumed", "cannot tell"])
def test_three_answers_settle_nothing(level):
    found = conclude(Verdict(level, ("Because.",)), Estimate(0.1, 0.0, 0.2), 900,
                     checked=three_of_fifty(), suspects=["7"])  # fmt: skip
    assert found.level == "cannot tell"
    assert found.sentences[0].startswith("Too few rows were checked for a useful interval: 0 of 3")
    assert "about 9 more answers" in found.sentences[0]
    assert found.sentences[1:3] == (HIDDEN, "Because.")
    again = conclude(found, Estimate(0.1, 0.0, 0.2), 900, checked=three_of_fifty(), suspects=["7"])
    assert again.sentences == found.sentences


def test_one_row_is_wrong_and_two_are():
    one, two = (Checked(Estimate(0.2, 0.0, 0.9), "sheet", 4, k, 0, 200, 12) for k in (1, 2))
    assert "1 of 4 is wrong, and the share may be" in one.too_few
    assert "2 of 4 are wrong" in two.too_few


def test_three_answers_of_fifty_do_not_head_an_audit_checked():
    rng = np.random.default_rng(0)
    true = np.array(["no", "yes"])[rng.integers(0, 2, 400)]
    frame = pd.DataFrame(rng.normal(size=(400, 3)) + 2 * (true == "yes")[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = misnomer.audit(frame, true)
        sheet = before.draw_checks(50, random_state=0).astype({"true_label": object})
        sheet["true_label"] = true[sheet["row"]]
        sheet.loc[3:, "true_label"] = None
        found = misnomer.audit(frame, true, checked=sheet)
    assert (before.verdict.level, found.verdict.level) == ("assumed", "cannot tell")
    assert found.checks.counts["answered"] == 3
    # It holds whenever one stops, and is wider for it: so are the rows that it still needs.
    sample = found.checks.sample
    assert found.checks.rows_needed(0.25) > rows_needed(sample, sample.wrong, 0.25)


def test_rows_that_look_as_bad_as_the_last_one_named_are_counted():
    said = conclude(Verdict("assumed"), Estimate(0.1, 0.0, 0.2), 900, suspects=["0", "1"], tied=8)
    assert said.sentences[1] == "Most suspect: rows 0 and 1; 8 more look as bad."


def test_ties_are_told_apart_by_the_chance_of_being_right():
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], 300)
    frame = pd.DataFrame(rng.normal(size=(600, 4)) + 12 * true[:, None])
    label = true.copy()
    label[300:330] = 0
    frame.iloc[329] += 20.0  # the farthest from what its label says
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = misnomer.audit(frame, label)
    worst = int(found.ranking[0])
    named = next(one for one in found.verdict.sentences if one.startswith("Most suspect"))
    assert named.split("rows ")[1].startswith(f"{worst},")


@pytest.mark.parametrize(("rows", "words"), [(4.2, "About 4 rows are truly 'b'"), (0.3, "Hardly")])
def test_a_class_of_few_rows_is_named(rows, words):
    tests = {"rows_of_the_smallest_class": rows, "smallest_class": 1}
    (said,) = with_smallest_class(Verdict("assumed", (), tests), np.array(["a", "b"])).sentences
    assert said.startswith(words)
    assert "'b'" in said
