"""Which words are labels, and which say that there is none."""

import warnings

import numpy as np
import pandas as pd
import pytest

from misnomer import audit


def patients(mark="-", other="+"):
    rng = np.random.default_rng(0)
    sick = rng.random(400) < 0.4
    given = np.where(rng.random(400) < 0.1, ~sick, sick)
    signs = pd.DataFrame({f"sign{i}": rng.normal(2 * sick).round(3) for i in range(3)})
    return signs.assign(test=np.where(given, other, mark))


@pytest.mark.parametrize("mark", ["-", "\u2013"])
@pytest.mark.parametrize("memory", [None, "1GB"])
def test_minus_beside_plus_is_a_class(tmp_path, memory, mark):
    frame = patients(mark=mark).sort_values("test")  # a batch may hold one of them only
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = audit(tmp_path / "t.csv", label="test", memory=memory)
    assert found.labels == ("+", mark)
    assert not found.warnings


def test_minus_beside_plus_is_a_class_in_a_frame_and_among_several_annotators():
    frame = patients(mark=" - ")
    assert audit(frame, label="test").labels == ("+", "-")
    second = frame["test"].where(np.arange(400) % 7 > 0)
    crowd = frame.assign(again=second, third=frame["test"])
    assert audit(crowd, annotators=["test", "again", "third"]).labels == ("+", "-")


@pytest.mark.parametrize("memory", [None, "1GB"])
def test_what_looks_the_same_is_the_same(tmp_path, memory):
    """A Mac writes "ä" as two letters, others as one; web pages leave spaces of no width."""
    frame = patients("Erk\u00e4ltung", "Grippe").rename(columns={"test": "Diagno\u0308se"})
    name = frame.columns[-1]
    frame.loc[::2, name] = frame.loc[::2, name].str.replace("\u00e4", "a\u0308")
    frame.loc[::5, name] = frame.loc[::5, name].str.replace("p", "p\u00ad") + "\u200b"
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = audit(tmp_path / "t.csv", label="Diagn\u00f6se", memory=memory)
    assert found.labels == ("Erk\u00e4ltung", "Grippe")
    sheet = found.draw_checks(10, random_state=0).astype({"true_label": object})
    sheet["true_label"] = "Erka\u0308ltung"
    again = audit(tmp_path / "t.csv", label="Diagn\u00f6se", memory=memory, checked=sheet)
    assert not any("no class" in note for note in again.warnings)


@pytest.mark.parametrize("memory", [None, "1GB"])
def test_minus_beside_words_is_no_class(tmp_path, memory):
    frame = patients("no", "yes")
    frame.loc[:4, "test"] = "-"
    frame.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(tmp_path / "t.csv", label="test", memory=memory)
    assert found.labels == ("no", "yes")
    assert found.fitted.labeled == 395


def test_minus_that_is_said_to_be_missing_is_missing(tmp_path):
    frame = patients()
    frame["test"] = frame["test"].where(frame.index % 4 > 0, "++")
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = audit(tmp_path / "t.csv", label="test", reading={"missing": "-"})
    assert found.labels == ("+", "++")
