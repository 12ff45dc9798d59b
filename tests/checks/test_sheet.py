"""Sheets: what is drawn can be answered, read back, and is refused where it makes no sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from misnomer import audit, load_audit
from misnomer.audit.checked import drawn_columns
from misnomer.checks.result import Checks
from misnomer.checks.sheet import DESIGN, Table, read_sheet
from misnomer.simulate import flip_near_boundary


def about(n=300, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    given = np.where(rng.random(n) < 0.2, 1 - true, true)
    return Table("pet", ("cat", "dog"), ("cat", "dog"), given), true, rng.random(n)


def sheet(rows=40, **options):
    table, true, doubt = about()
    columns = drawn_columns(table, doubt, rows, random_state=0, **options)
    columns["true_label"] = [("cat", "dog")[true[row]] for row in columns["row"]]
    return table, columns


def test_a_sheet_is_blind_and_carries_its_design():
    _, columns = sheet()
    assert {*columns} == {"row", "true_label", *DESIGN}
    assert columns["turn"] == list(range(1, 41))
    assert all(0 < one <= 1 for one in columns["inclusion"])


def test_answers_as_drawn_make_a_sheet_and_fewer_a_running_interval():
    table, columns = sheet()
    whole = Checks(read_sheet(columns, table), table)
    assert whole.kind == "sheet" and whole.counts["counted"] == 40
    columns["true_label"][30:] = [None] * 10
    some = Checks(read_sheet(columns, table), table)
    assert some.kind == "running" and some.counts["counted"] == 30
    assert some.error_rate.high - some.error_rate.low > 0.9 * (
        whole.error_rate.high - whole.error_rate.low
    )
    columns["true_label"][3] = None  # passed over: it may be right or wrong
    gap = Checks(read_sheet(columns, table), table)
    assert gap.counts["counted"] == 30 and gap.counts["cannot_say"] == 1
    assert gap.counts["known"] == 29 and gap.cost_of_unsure.high < gap.error_rate.high
    columns["true_label"][4:12] = [None] * 8  # too many: later answers are known, not counted
    gap = Checks(read_sheet(columns, table), table)
    assert gap.counts["counted"] == 3 and gap.counts["known"] == 21


def test_a_second_draw_adds_and_makes_it_running():
    table, first = sheet(20)
    _, true, doubt = about()
    more = drawn_columns(table, doubt, 10, before=first, random_state=1)
    every = {name: [*first[name], *more[name]] for name in first}
    assert Checks(read_sheet(every, table), table).kind == "sheet"  # the second is not begun
    every["true_label"] = [("cat", "dog")[true[row]] for row in every["row"]]
    both = Checks(read_sheet(every, table), table)
    assert both.kind == "running" and both.counts["counted"] == 30
    assert every["turn"] == list(range(1, 31)) and every["draw"] == [1] * 20 + [2] * 10


def test_columns_may_be_shuffled_and_spelled_loosely():
    table, columns = sheet()
    expected = Checks(read_sheet(columns, table), table).error_rate
    order = np.random.default_rng(0).permutation(40)
    turned = {name: [column[i] for i in order] for name, column in columns.items()}
    turned["true_label"] = [f" {one.upper()} " for one in turned["true_label"]]
    assert Checks(read_sheet(turned, table), table).error_rate == expected


def test_a_new_class_is_an_answer_and_said():
    table, columns = sheet()
    columns["true_label"][0] = "dgo"
    found = read_sheet(columns, table)
    assert found.classes == ("cat", "dog", "dgo")
    assert "did you mean 'dog'?" in found.notes[0]
    checks = Checks(found, table)
    assert checks.sample.wrong[0] == 1 and "dgo" in checks.by_class


def _twice(columns):
    columns["true_label"][0], columns["true_label"][-1] = "cat", "dog"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda c: c.pop("true_label"), "no column 'true_label'"),
        (lambda c: c.update(true_label=[None] * 40), "no row is answered yet"),
        (lambda c: c.update(row=[*c["row"][:-1], c["row"][0]]) or _twice(c), "answered twice"),
        (lambda c: c["row"].__setitem__(0, "x"), "the column row holds 'x'"),
        (lambda c: c.update(label_column=["other"] * 40), "drawn for the label column 'other'"),
        (lambda c: c["code"].__setitem__(0, "c0"), "the file has changed"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(spoil, words):
    table, columns = sheet()
    spoil(columns)
    with pytest.raises(ValueError, match=words):
        read_sheet(columns, table)


def test_rows_that_are_not_there_are_refused():
    table, _ = sheet()
    with pytest.raises(ValueError, match="row 999 is answered, but the table has rows 0 to 299"):
        read_sheet({"row": [999], "true_label": ["cat"]}, table)


def test_rows_that_were_not_drawn_are_known_but_count_for_nothing():
    table, _ = sheet()
    found = read_sheet({"row": [1, 2], "true_label": ["cat", "dog"]}, table)
    checks = Checks(found, table)
    assert checks.kind == "none" and found.known == {1: 0, 2: 1}
    assert "were not drawn by chance" in found.notes[0]
    with pytest.raises(ValueError, match="no row that was drawn by chance"):
        _ = checks.error_rate


def test_shares_by_label_class_group_and_the_matrix():
    table, columns = sheet(120)
    _, true, _ = about()
    checks = Checks(read_sheet(columns, table), table)
    for k, name in enumerate(("cat", "dog")):
        rate = (table.given != true)[table.given == k].mean()
        assert rate in checks.by_label[name]
        assert (table.given != true)[true == k].mean() in checks.by_class[name]
    matrix, low, high = checks.noise_matrix
    assert matrix.sum(axis=0) == pytest.approx([1, 1])
    assert (low <= matrix).all() and (matrix <= high).all()
    groups = np.array(["a", "b"])[np.arange(300) % 2]
    assert {*checks.by_group(groups)} == {"a", "b"}
    right = np.array(["cat", "dog"])[true]
    assert checks.accuracy(right).value == 1.0
    assert checks.accuracy(np.array(["cat", "dog"])[table.given]).value == pytest.approx(
        1 - checks.error_rate.value
    )


@pytest.fixture(scope="module")
def hidden():
    """Errors near the boundary, which no model can see: 15 % are wrong."""
    rng = np.random.default_rng(0)
    true = rng.choice(["ill", "well"], 600)
    X = rng.normal(size=(600, 4)) + 1.2 * (true == "ill")[:, None]
    given = flip_near_boundary(true, (0.6 - X).sum(axis=1), rate=0.15, random_state=1)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=given)
    return frame, true, audit(frame, label="label")


def test_without_checks_nothing_is_called_checked(hidden):
    _, _, found = hidden
    assert found.verdict.level in ("assumed", "cannot tell")
    assert "cannot be seen" in found.verdict.sentences[0]
    assert "Most suspect: rows" in str(found.verdict)
    assert found.verdict.sentences[-1].startswith("Next: check 50 rows")


def test_checked_rows_tell_what_the_model_cannot_see(hidden, tmp_path):
    frame, true, found = hidden
    drawn = found.draw_checks(60, random_state=0)
    assert drawn["true_label"].isna().all()
    drawn["true_label"] = true[drawn["row"]]
    told = audit(frame, label="label", checked=drawn)
    truth = (frame["label"] != true).mean()
    assert truth not in found.error_rate and truth in told.error_rate
    assert told.verdict.level == "checked" and "refute" in str(told.verdict)
    assert told.error_probability.sum() == pytest.approx(told.error_count.value)
    wrong = (frame["label"] != true).to_numpy()[drawn["row"]]
    assert told.error_probability[drawn["row"]].tolist() == wrong.astype(float).tolist()
    told.save(tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert again.checks.error_rate == told.checks.error_rate
    assert again.error_rate == told.error_rate and again.verdict.level == "checked"


def test_known_suspects_do_not_hide_the_others(hidden):
    """Correcting the ten worst rows is knowledge of ten rows, never an estimate."""
    frame, true, found = hidden
    worst = np.argsort(-np.nan_to_num(found.error_probability))[:10]
    known = {"row": worst.tolist(), "true_label": true[worst].tolist()}
    told = audit(frame, label="label", checked=known)
    assert told.verdict.level != "checked"
    others = np.setdiff1d(np.arange(600), worst)
    before, after = (np.nansum(one.error_probability[others]) for one in (found, told))
    assert after > 0.7 * before
    assert any("not drawn by chance" in one for one in told.warnings)
