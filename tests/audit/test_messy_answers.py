"""Several annotators and groups: messy files, bad words, trusted rows, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from misnomer import audit
from misnomer.knowledge import rows_needed
from tests.crowds import WHO, cli, crowd, lines_of, sites

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FRAME = crowd(n=60)[0]
TWICE = pd.concat([lines_of(FRAME), lines_of(FRAME).head(1).assign(said="newt")])
SITES = sites(n=60)[0]
BAD = {
    "missing column": (FRAME, {"annotators": ["ann", "bop"]}, "did you mean 'bob'"),
    "one column": (FRAME, {"annotators": ["ann"]}, "with one label per row say label"),
    "an array": (np.zeros((3, 2)), {"annotators": ["a", "b"]}, "pass a frame or a file"),
    "no answer": (FRAME.assign(ann=None, bob=None), {"annotators": ["ann", "bob"]}, "no label at"),
    "label too": (FRAME, {"label": "ann", "annotators": WHO}, "leave label= out"),
    "twice": (TWICE, {"long": ("item", "who", "said")}, "says both .* about row r"),
    "two names": (TWICE, {"long": ("item", "who")}, "long= names three columns"),
    "nobody": (
        lines_of(FRAME).assign(who=None),
        {"long": ("item", "who", "said")},
        "names nobody in column 'who'",
    ),
    "no item": (
        lines_of(FRAME).assign(item=None),
        {"long": ("item", "who", "said")},
        "names no row in column 'item'",
    ),
    "a group per row": (
        SITES.assign(site=[f"s{i}" for i in range(60)]),
        {"label": "y", "noise_groups": "site"},
        "most rows are a group of its own",
    ),
    "one group": (
        SITES.assign(site="north"),
        {"label": "y", "noise_groups": "site"},
        "holds one group only",
    ),
    "no group": (
        SITES.assign(site=["north", None] * 30),
        {"label": "y", "noise_groups": "site"},
        "row 1 has a label but no group",
    ),
    "unknown class": (
        SITES,
        {"label": "y", "knowledge": {"rates": {"maybe": 0.1}}},
        r"knowledge names the class 'maybe', but the labels are \['no', 'yes'\]",
    ),
    "unknown part": (SITES, {"label": "y", "knowledge": {"rate": 0.1}}, "has no part 'rate'"),
    "all at once": (FRAME, {"annotators": WHO, "noise_groups": "ann"}, "say one of"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_clear_sentence(name):
    data, said, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        audit(data, **said)
    assert "\n" not in str(caught.value)


def messy(lines):
    """Make answers with the mistakes of real files: the table, the words, what must be said."""
    table = crowd(n=80, columns=1)[0]
    if lines == "one answer, and a row without any":
        table.loc[7, WHO] = None
        table = table.assign(solo=["cat", *[None] * 79])
        return (
            table,
            ["--annotator-columns", ",".join([*WHO, "solo"])],
            "no answer: the class is guessed",
        )
    if lines == "nobody meets":
        first = np.arange(80) < 40
        table.loc[first, WHO[1:]] = None
        table.loc[~first, [WHO[0], *WHO[2:]]] = None
        return table, ["--annotator-columns", "ann,bob"], "No row has two answers"
    table = table.assign(bob=table["bob"].map({"cat": 1, "dog": 2, "eel": 3}))
    return table, ["--annotator-columns", "ann,bob"], "make them all of one type"


@pytest.mark.parametrize(
    "which", ["one answer, and a row without any", "nobody meets", "words and numbers"]
)
def test_messy_answers_are_spoken_of(tmp_path, which):
    table, words, sentence = messy(which)
    path = tmp_path / "messy.csv"
    table.to_csv(path, index=False)
    done = cli(path, *words)
    assert sentence in " ".join((done.stdout + done.stderr).split())
    assert done.exit_code == (2 if which == "words and numbers" else 0)


def test_a_rare_label_of_the_annotators_is_named():
    frame = crowd(n=120)[0]
    frame.loc[3, "ann"] = "catt"
    found = audit(frame, annotators=WHO)
    assert any("'catt' was said once" in note for note in found.warnings)


def test_trusted_rows_are_valued():
    frame, truth = sites(n=300)
    frame["ok"] = (frame["y"] == truth) & (np.arange(300) < 60)
    for said in ({"noise_groups": "site"}, {"ignore": "site"}):
        found = audit(frame, label="y", trusted="ok", **said)
        rows = rows_needed(found.error_rate.value)
        words = f"A trusted subset drawn at random identifies everything: {rows:,} such rows"
        assert any(words in one for one in found.verdict.sentences)
    plain = audit(frame.drop(columns="ok"), label="y", ignore="site")
    assert not any("drawn at random" in one for one in plain.verdict.sentences)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1, 0.2, 0.5])
def test_so_many_rows_tell_the_rate_to_two_points(rate):
    n = rows_needed(rate)
    low, high = np.ceil(n * (rate - 0.02) - 1e-9), np.floor(n * (rate + 0.02) + 1e-9)
    assert binom.cdf(high, n, rate) - binom.cdf(low - 1, n, rate) >= 0.9


def test_knowledge_holds_for_annotators_and_groups():
    frame = crowd(n=150)[0]
    found = audit(frame, annotators=WHO, knowledge={"never": [("cat", "dog")]})
    assert found.sources.channels[:, 0, 1].max() < 1e-6
    assert "Known beforehand: never" in found.fitted.notes[-1]
    grouped = audit(sites(n=300)[0], label="y", noise_groups="site", knowledge={"most": 0.1})
    assert grouped.sources.channels[:, [0, 1], [0, 1]].min() > 0.9 - 1e-6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "say --label COLUMN"),
        (["--annotator-columns", "x0,why"], "there is no column 'why'"),
        (["--long", "x0,x1"], "--long takes ROW,ANNOTATOR,LABEL"),
        (["--label", "y", "--known", "yes"], "--known takes CLASS=RATE"),
        (["--label", "y", "--known", "yes=often"], "--known takes CLASS=RATE"),
        (["--label", "y", "--never", "yes"], "--never takes GIVEN:TRUE"),
        (["--label", "y", "--never", "yes:perhaps"], "names the class 'perhaps'"),
        (["--label", "y", "--at-most", "2"], "must lie between 0 and 1"),
    ],
)
def test_bad_words_get_one_line_and_exit_code_2(tmp_path, words, sentence):
    path = tmp_path / "t.csv"
    SITES.to_csv(path, index=False)
    done = cli(path, *words)
    assert done.exit_code == 2 and sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
