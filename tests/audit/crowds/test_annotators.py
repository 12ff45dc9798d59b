"""Several annotators, groups of rows and partial knowledge, from the input to the report."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from misnomer import audit
from misnomer.answers import from_table
from misnomer.audit import load_audit
from misnomer.audit.crowds import beta_interval
from misnomer.audit.crowds.gather import plurality
from misnomer.knowledge import Knowledge
from misnomer.reports.json import to_json
from tests.audited import check_sums
from tests.crowds import WHO, cli, crowd, lines_of, sites

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def asked():
    return audit(crowd()[0], annotators=WHO)


@pytest.fixture(scope="module")
def grouped():
    return audit(sites()[0], label="y", noise_groups="site")


def check_both(found):
    """Check what holds of every audit, whoever gave its labels."""
    check_sums(found)
    assert to_json(found)["error_count"]["value"] == found.error_count.value
    assert found.error_rate.low < found.error_rate.value < found.error_rate.high
    np.testing.assert_allclose(found.matrix.sum(axis=0), 1.0)
    assert (found.matrix_low <= found.matrix).all() and (found.matrix <= found.matrix_high).all()
    for row in found.ranking[:5].tolist():
        why = found.explain_at(row)
        assert why.log_odds == pytest.approx(sum(weight for *_, weight in why.terms))
        assert why.given != why.suggested


def test_the_careless_annotator_is_last(asked):
    check_both(asked)
    frame, truth = crowd()
    table = asked.annotators
    assert asked.groups is None
    assert table.name[-1] == "eve" and len(table) == 5
    said = frame[WHO].notna().sum()
    assert dict(zip(table.name, table.answers.tolist(), strict=True)) == said.to_dict()
    right = {name: (frame[name] == truth)[frame[name].notna()].mean() for name in WHO}
    for name, low, high in zip(table.name, table.low, table.high, strict=True):
        assert low - 0.02 < right[name] < high + 0.02
    assert asked.verdict.level == "assumed"


def test_the_vote_is_the_given_label_and_the_consensus_beats_it(asked):
    frame, truth = crowd()
    given, suggested = asked.rows["given_label"], asked.rows["suggested_label"]
    votes = frame[WHO].mode(axis=1)
    clear = votes[1].isna() & votes[0].notna()
    assert (given[clear] == votes[0][clear]).all()
    wrong = (given != truth)[given.notna()].mean()
    assert asked.error_rate.low < wrong < asked.error_rate.high
    assert (suggested != truth).mean() < wrong


def test_ties_go_to_the_first_annotator():
    said = from_table([["b", "a"], ["a", "b"], [None, None], ["c", "b"]])
    assert plurality(said).tolist() == [1, 0, -1, 2]


def test_golden_numbers(asked, grouped):
    got = [asked.error_rate.value, asked.annotators.accuracy[-1]]
    np.testing.assert_allclose(got, [0.0677, 0.4287], atol=2e-4)
    np.testing.assert_allclose(grouped.error_rate.value, 0.1794, atol=2e-4)
    np.testing.assert_allclose(grouped.groups.error_rate, [0.3612, 0.0909, 0.0905], atol=2e-4)


def test_the_rate_of_the_sites_is_near_the_truth(grouped):
    frame, truth = sites()
    wrong = (frame["y"] != truth).mean()
    assert abs(grouped.error_rate.value - wrong) < 0.02 and wrong in grouped.error_rate


def test_without_columns():
    frame, truth = crowd(columns=0)
    found = audit(frame, annotators=WHO)
    check_both(found)
    assert found.fitted.families == {}
    assert (found.rows["suggested_label"] == truth).mean() > 0.9
    why = found.explain(int(found.ranking[0]))
    assert set(why.names) <= set(WHO)


def _tables(*found):
    return [one.annotators for one in found]


def test_a_line_per_answer_says_the_same(asked):
    lines = lines_of(crowd()[0]).assign(when=lambda f: range(len(f)))
    found = audit(lines, long=("item", "who", "said"))
    check_both(found)
    assert any("'when' differs" in note for note in found.warnings)
    one, two = (dict(zip(t.name, t.accuracy, strict=True)) for t in _tables(found, asked))
    assert one == pytest.approx(two, abs=0.01)  # other lines, other draws
    assert found.annotators.name[-1] == "eve"
    assert found.error_rate.value == pytest.approx(asked.error_rate.value, abs=0.01)
    assert set(found.data.column_names) == {"item", "x0", "x1"}


def test_rows_named_by_categories_are_the_rows_of_their_lines():
    lines = lines_of(crowd(n=60, columns=2)[0])
    want = audit(lines, long=("item", "who", "said"))
    names = ["nobody", *sorted({*lines["item"]})]  # another order, and one that no line names
    found = audit(
        lines.assign(item=pd.Categorical(lines["item"], categories=names)),
        long=("item", "who", "said"),
    )
    assert found.data["item"].to_pylist() == want.data["item"].to_pylist()
    np.testing.assert_array_equal(found.given, want.given)
    np.testing.assert_allclose(found.posterior, want.posterior)


def test_a_bad_site_is_found(grouped):
    check_both(grouped)
    frame, truth = sites()
    table = grouped.groups
    assert grouped.annotators is None and table.name[0] == "west"
    assert table.test.p_value <= 0.05
    assert (table.rows * table.error_rate).sum() == pytest.approx(grouped.error_count.value)
    wrong = (frame["y"] != truth).groupby(frame["site"]).mean()
    for name, low, high in zip(table.name, table.low, table.high, strict=True):
        assert low < wrong[name] < high
    assert grouped.verdict.sentences[1].startswith("The groups' errors differ")
    assert (grouped.rows["given_label"] == frame["y"]).all()
    assert "site" not in grouped.fitted.families


def test_sites_that_are_alike_are_not_told_apart():
    found = audit(sites(bad=0.08)[0], label="y", noise_groups="site")
    assert found.groups.test.p_value > 0.05
    assert "not shown to differ" in found.verdict.sentences[1]


def test_groups_judge_rows_only_where_they_differ(grouped):
    frame, truth = sites()
    wrong = (frame["y"] != truth).to_numpy()
    plain = audit(frame, label="y", ignore="site")
    ranking = [average_precision_score(wrong, one.error_probability) for one in (plain, grouped)]
    assert ranking[1] > ranking[0]
    assert grouped.verdict.tests["groups_judge_rows"] and grouped.verdict.level == "assumed"
    assert "judged by the channel of their group" in grouped.fitted.notes[-1]
    alike = sites(bad=0.08)[0]
    one, two = audit(alike, label="y", ignore="site"), audit(alike, label="y", noise_groups="site")
    assert not two.verdict.tests["groups_judge_rows"]
    np.testing.assert_allclose(one.error_probability, two.error_probability)
    assert two.classifier.solver == "auto" and two.classifier.fit_.details.groups is None


def test_groups_by_an_array_and_trusted_rows():
    frame, truth = sites(n=300)
    trusted = (frame["y"] == truth).to_numpy() & (np.arange(300) < 100)
    X = frame[["x0", "x1", "x2", "x3"]].to_numpy()
    found = audit(X, frame["y"].to_numpy(), noise_groups=frame["site"], trusted=trusted)
    check_both(found)
    assert (found.rows["error_probability"][trusted] == 0).all()
    assert found.fitted.trusted == trusted.sum()


def test_the_lonely_annotator_is_named():
    frame, _ = crowd()
    alone = np.arange(400) < 20
    frame.loc[alone, WHO[:4]] = None
    frame.loc[alone, "eve"] = "cat"
    frame.loc[~alone, "eve"] = None
    found = audit(frame, annotators=WHO)
    assert any("(eve) never met anybody" in one for one in found.verdict.sentences)


@pytest.mark.parametrize("which", ["asked", "grouped"])
def test_a_round_trip(which, request, tmp_path):
    one = request.getfixturevalue(which)
    one.save(tmp_path)
    two = load_audit(tmp_path)
    pd.testing.assert_frame_equal(one.rows, two.rows)
    assert str(one.annotators) == str(two.annotators) and str(one.groups) == str(two.groups)
    row = int(one.ranking[0])
    assert one.explain(row).terms == two.explain(row).terms
    first, second = to_json(one), to_json(two)
    for key in ("annotators", "groups", "verdict", "error_count", "issues"):
        assert first.get(key) == second.get(key)
    assert one.to_html().count("<tr>") == two.to_html().count("<tr>")


def test_an_audit_without_columns_round_trip(tmp_path):
    one = audit(crowd(columns=0)[0], annotators=WHO)
    one.save(tmp_path)
    assert load_audit(tmp_path).explain(3).terms == one.explain(3).terms


def test_knowledge_is_kept():
    frame = sites(bad=0.08)[0].drop(columns="site")
    found = audit(frame, label="y", knowledge={"rates": {"yes": 0.15}})
    check_both(found)
    assert found.matrix[1, 1] == pytest.approx(0.85)
    assert found.sources is None and found.annotators is None and found.groups is None
    assert "Known beforehand: rates" in found.fitted.notes[-1]
    bounded_ = audit(frame, label="y", knowledge=Knowledge(most=0.03))
    assert (1 - np.diag(bounded_.matrix) <= 0.03 + 1e-9).all()
    whole = frame.assign(y=(frame["y"] == "yes").astype(int))
    numbered = audit(whole, label="y", knowledge={"never": [("0", "1")]})
    assert numbered.matrix[0, 1] == 0


def test_the_page_escapes_names_and_shows_tables_only_where_there_are_any(asked, grouped):
    frame, _ = crowd(n=120)
    found = audit(frame.rename(columns={"eve": "<b>eve"}), annotators=[*WHO[:4], "<b>eve"])
    page = found.to_html()
    assert "<b>eve" not in page and "&lt;b&gt;eve" in page
    assert 'id="sources"' in page and "Typical confusion" in page
    assert "annotators=[" in page and "--annotator-columns &#39;ann,bob,cyd" in page
    assert "By group" in grouped.to_html() and "errors differ" in grouped.to_html()
    plain = audit(sites(n=200)[0].drop(columns="site"), label="y")
    assert 'id="sources"' not in plain.to_html()
    assert not {"annotators", "groups"} & to_json(plain).keys()


def test_intervals_hold_the_rate_and_shrink():
    low, high = beta_interval(np.array([0.0, 0.2, 0.2]), np.array([0.0, 0.05, 0.01]), 1000)
    assert low[0] == 0 and 0 < high[0] < 0.01
    assert low[1] < low[2] < 0.2 < high[2] < high[1]


def test_the_command_line_with_annotators(tmp_path, asked):
    path, out = tmp_path / "crowd.csv", tmp_path / "out"
    crowd()[0].rename(columns={"bob": "bob, jr"}).to_csv(path, index=False)
    words = [
        w for name in WHO for w in ("--annotator-columns", "bob, jr" if name == "bob" else name)
    ]
    done = cli(path, *words, "--out", out)
    assert done.exit_code == 0, done.output
    assert re.search(r"annotator +answers +accuracy", done.stdout)
    said = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    assert said["annotators"][-1]["name"] == "eve"
    assert said["error_count"]["value"] == pytest.approx(asked.error_count.value)
    assert load_audit(out).annotators.name[-1] == "eve"


def test_the_command_line_with_lines_groups_and_knowledge(tmp_path):
    long, table = tmp_path / "long.csv", tmp_path / "sites.csv"
    lines_of(crowd(n=150)[0]).to_csv(long, index=False)
    sites(n=300)[0].to_csv(table, index=False)
    done = cli(long, "--long", "item,who,said", "--json")
    assert done.exit_code == 0 and len(json.loads(done.stdout)["annotators"]) == 5
    done = cli(table, "--label", "y", "--noise-group", "site")
    assert done.exit_code == 0 and "By group" in done.stdout and "west" in done.stdout
    known = ["--known", "yes=0.1", "--at-most", "0.2", "--json"]
    done = cli(table, "--label", "y", "--ignore", "site", *known)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["noise_matrix"]["value"][1][1] == pytest.approx(0.9)
