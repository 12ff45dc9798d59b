"""Probabilities of a model of one's own: alone or beside a table, from Python and from a file."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from typer.testing import CliRunner

from misnomer import NoisyLabelClassifier, NoisyLabelNB, audit, load_audit
from misnomer.cli import app
from misnomer.learners.brought import unmixed
from misnomer.reports.json import to_json
from misnomer.review.refit import refit_audit

NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    true = rng.integers(3, size=600)
    X = rng.normal(size=(600, 5)) + 2.5 * np.eye(5)[true]
    given = np.where(rng.random(600) < 0.2, (true + 1) % 3, true)
    y = NAMES[given]
    share = cross_val_predict(LogisticRegression(), X, y, method="predict_proba", cv=5)
    return X, y, share, given != true


@pytest.fixture(scope="module")
def alone(rows):
    return audit(labels=rows[1], pred_probs=rows[2])


def test_probabilities_alone_tell_rate_matrix_and_rows(rows, alone):
    _, _, _, wrong = rows
    assert abs(alone.error_rate.value - wrong.mean()) < 0.05
    matrix = np.asarray(alone.noise_matrix)
    assert matrix[1, 0] > 0.1 > 5 * matrix[2, 0]  # an ant is called a bee, never a cat
    assert wrong[alone.ranking].mean() > 0.9
    assert wrong[alone.ranking].sum() > 0.75 * wrong.sum()


def test_one_posterior_as_with_a_table(alone):
    doubt = alone.error_probability
    assert doubt.mean() == pytest.approx(alone.error_rate.value, abs=1e-9)
    assert doubt.sum() == pytest.approx(alone.error_count.value, abs=1e-9)
    share = alone.prior @ np.diag(alone.matrix)
    assert 1 - share == pytest.approx(alone.error_rate.value, abs=1e-9)
    for row in (int(alone.ranking[0]), 3):
        why, after = alone.explain(row), dict(zip(alone.classes, alone.posterior[row], strict=True))
        odds = np.log(after[why.suggested] / after[why.against])
        assert why.log_odds == pytest.approx(odds, abs=1e-6)
        assert why.names == ("your probabilities",)


def test_saved_and_loaded_it_is_the_same(alone, tmp_path):
    alone.save(tmp_path / "audit")
    same = load_audit(tmp_path / "audit")
    assert np.array_equal(same.posterior, alone.posterior)
    assert same.explain(5).log_odds == pytest.approx(alone.explain(5).log_odds, abs=1e-9)
    share = alone.batch.brought
    assert np.array_equal(
        same.classifier.predict_proba(None, pred_probs=share),
        alone.classifier.predict_proba(None, pred_probs=share),
    )
    assert to_json(same)["issues"] == to_json(alone)["issues"]
    page = (tmp_path / "audit" / "report.html").read_text()
    assert "Your probabilities tell the classes apart." in page
    assert "pred_probs=P" in page


def test_the_classifier_asks_for_new_probabilities(rows, alone):
    X, y, share, _ = rows
    with pytest.raises(ValueError, match="new rows need new ones"):
        alone.classifier.predict(X)
    found = alone.classifier.error_probability(None, y, pred_probs=share)
    assert found == pytest.approx(alone.error_probability, abs=1e-9)
    beside = NoisyLabelClassifier(random_state=0).fit(X, y, pred_probs=share)
    with pytest.raises(ValueError, match="new rows need new ones"):
        beside.predict(X)
    assert (beside.predict(X, pred_probs=share) == y).mean() > 0.7
    with pytest.raises(ValueError, match="X has 600 rows but pred_probs has 9"):
        beside.predict(X, pred_probs=share[:9])


def test_what_a_table_cannot_tell_probabilities_beside_it_do(rows):
    _, y, share, wrong = rows
    noise = np.random.default_rng(1).normal(size=(600, 3))
    blind, told = audit(noise, y), audit(noise, y, pred_probs=share)
    assert blind.verdict.level == "cannot tell"
    assert abs(told.error_rate.value - wrong.mean()) < 0.08
    assert wrong[told.ranking].mean() > 0.85


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "list"])
def test_columns_of_a_frame_are_found_by_name(rows, alone, kind):
    _, y, share, _ = rows
    turned = {str(NAMES[k]): share[:, k] for k in (2, 0, 1)}
    made = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
    given = share.tolist() if kind == "list" else made[kind](turned)
    assert audit(labels=y, pred_probs=given).posterior == pytest.approx(alone.posterior, abs=1e-9)


def test_order_and_names_of_classes_and_rows_do_not_matter(rows, alone):
    _, y, share, _ = rows
    renamed = pd.Series(y).map({"ant": "z", "bee": "y", "cat": "x"}).to_numpy()
    turned = audit(labels=renamed, pred_probs=share[:, ::-1])
    assert turned.posterior[:, ::-1] == pytest.approx(alone.posterior, abs=2e-3)
    order = np.random.default_rng(0).permutation(600)
    mixed = audit(labels=y[order], pred_probs=share[order])
    assert mixed.posterior == pytest.approx(alone.posterior[order], abs=2e-3)


def test_a_row_of_weight_two_is_two_rows_and_of_zero_none(rows):
    _, y, share, _ = rows
    weight = np.ones(600)
    weight[:50], weight[50:80] = 2.0, 0.0
    one = NoisyLabelClassifier(random_state=0).fit(None, y, weight, pred_probs=share)
    at = np.r_[np.arange(50), np.arange(50), np.arange(80, 600)]
    two = NoisyLabelClassifier(random_state=0).fit(None, y[at], pred_probs=share[at])
    assert one.noise_matrix_ == pytest.approx(two.noise_matrix_, abs=1e-3)


def test_missing_labels_and_trusted_rows(rows):
    _, y, share, wrong = rows
    some = y.astype(object)
    some[:40] = None
    trusted = np.zeros(600, bool)
    trusted[np.flatnonzero(~wrong)[-20:]] = True
    found = audit(labels=some, pred_probs=share, trusted=trusted)
    assert found.fitted.labeled == 560
    assert np.isnan(found.error_probability[:40]).all()
    assert found.error_probability[trusted].max() == 0.0
    assert abs(found.error_rate.value - wrong[40:].mean()) < 0.05


def test_many_rows_are_judged_by_a_sample(rows):
    rng = np.random.default_rng(5)
    true = rng.integers(2, size=30_000)
    x = 2.5 * true + rng.normal(size=30_000)
    given = np.where(rng.random(30_000) < 0.1, 1 - true, true)
    model = LogisticRegression().fit(x[:, None], given)
    found = audit(labels=given, pred_probs=model.predict_proba(x[:, None]))
    assert abs(found.error_rate.value - 0.1) < 0.05
    assert found.error_probability.mean() == pytest.approx(found.error_rate.value, abs=1e-9)
    assert any("Learners were compared on" in note for note in found.fitted.notes)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda P: P * 1.2, "row 0 sum to 1.2, not to one"),
        (lambda P: np.log(P), "in row 0: a probability is not negative"),
        (lambda P: np.where(np.arange(600)[:, None] == 7, np.nan, P), "no number in row 7"),
        (lambda P: P[:-1], "pred_probs has 599 rows, but there are 600 labels"),
        (
            lambda P: P[:, :2] / P[:, :2].sum(1, keepdims=True),
            "has 2 columns, but the labels name 3",
        ),
        (lambda P: P[:, 0], r"not the shape \(600,\)"),
        (lambda P: pd.DataFrame(P, columns=["ant", "bee", "cow"]), "has no column 'cat'"),
        (
            lambda P: pd.DataFrame(P, columns=NAMES).assign(cow=0.0),
            "a column 'cow', which is none of the labels",
        ),
        (lambda P: pd.DataFrame(P, columns=NAMES).astype(str) + "x", "a table of numbers"),
        (lambda P: "nowhere.npy", "nowhere.npy"),
    ],
)
def test_what_are_no_probabilities_is_refused_in_a_sentence(rows, spoil, sentence):
    _, y, share, _ = rows
    with pytest.raises((ValueError, OSError), match=sentence):
        audit(labels=y, pred_probs=spoil(share))


def test_what_does_not_go_with_probabilities_is_said(rows, tmp_path):
    X, y, share, _ = rows
    with pytest.raises(ValueError, match="there are no rows: pass a table, or the probabilities"):
        audit(labels=y)
    with pytest.raises(ValueError, match="pass the labels"):
        audit(pred_probs=share)
    with pytest.raises(ValueError, match="given twice"):
        audit(X, y, labels=y, pred_probs=share)
    with pytest.raises(ValueError, match="pred_probs do not go with"):
        audit(X, y, pred_probs=share, knowledge={"most": 0.3})
    with pytest.raises(ValueError, match="pred_probs do not go with"):
        audit(X, y, pred_probs=share, classifier=NoisyLabelNB())
    pd.DataFrame(X).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="pred_probs need all rows at once"):
        audit(tmp_path / "rows.csv", "y", pred_probs=share, memory="2GB")
    with pytest.raises(ValueError, match="there are no rows: pass X"):
        NoisyLabelClassifier().fit(None, y)


def test_a_model_that_has_seen_its_rows_is_noticed(rows):
    X, y, share, _ = rows
    seen = RandomForestClassifier(50, random_state=0).fit(X, y).predict_proba(X)
    with pytest.warns(UserWarning, match="has seen the rows that it scores"):
        found = audit(labels=y, pred_probs=seen)
    assert any("out of fold" in one for one in found.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit(labels=y, pred_probs=share)


def test_probabilities_that_say_nothing_cannot_tell(rows):
    _, y, _, _ = rows
    share = np.random.default_rng(0).dirichlet(np.full(3, 50.0), size=600)
    found = audit(labels=y, pred_probs=share)
    assert found.verdict.level == "cannot tell"
    assert "The probabilities do not tell the labels apart." in found.verdict.sentences


def test_decisions_of_a_reviewer_are_learned_from(rows, alone, tmp_path):
    _, _, _, wrong = rows
    places = {name: k for k, name in enumerate(alone.classes)}
    right = {int(r): places[alone.given_label(int(r))] for r in np.flatnonzero(~wrong)[:30]}
    after = refit_audit(alone, right)
    assert np.isfinite(after.posterior).all()
    assert abs(after.posterior - alone.posterior).max() > 1e-6
    assert abs(np.nanmean(after.error_probability) - wrong.mean()) < 0.08
    alone.save(tmp_path / "audit")
    again = refit_audit(load_audit(tmp_path / "audit"), right)
    assert again.posterior == pytest.approx(after.posterior, abs=1e-9)


def test_unmixing_finds_what_the_channel_has_mixed():
    channel = np.array([[0.8, 0.1, 0.0], [0.2, 0.8, 0.1], [0.0, 0.1, 0.9]])
    true = np.random.default_rng(0).dirichlet(np.ones(3) * 4, size=200)
    found = unmixed(true @ channel.T, channel)
    assert np.abs(found - true).mean() < 0.3 * np.abs(true @ channel.T - true).mean()
    assert np.array_equal(unmixed(true, np.eye(3)).round(12), true.round(12))


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_the_command_line_reads_them_from_a_file(rows, alone, tmp_path, kind):
    _, y, share, _ = rows
    pd.DataFrame({"label": y}).to_csv(tmp_path / "labels.csv", index=False)
    file = tmp_path / f"share.{kind}"
    frame = pd.DataFrame(share, columns=NAMES)
    if kind == "npy":
        np.save(file, share)
    else:
        frame.to_csv(file, index=False) if kind == "csv" else frame.to_parquet(file)
    said = ["audit", str(tmp_path / "labels.csv"), "--label", "label", "--pred-probs", str(file)]
    done = CliRunner().invoke(app, [*said, "--json", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["error_rate"]["value"] == pytest.approx(alone.error_rate.value, abs=1e-6)
    kept = load_audit(tmp_path / "out")
    assert "--pred-probs" in kept.origin.options


def test_the_command_line_refuses_in_one_line(rows, tmp_path):
    _, y, share, _ = rows
    pd.DataFrame({"label": y}).to_csv(tmp_path / "labels.csv", index=False)
    (tmp_path / "broken.npy").write_bytes(b"no numbers")
    said = ["audit", str(tmp_path / "labels.csv"), "--label", "label", "--pred-probs"]
    for name in ("broken.npy", "missing.npy"):
        done = CliRunner().invoke(app, [*said, str(tmp_path / name)])
        assert done.exit_code == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert name in done.stderr
    np.save(tmp_path / "share.npy", share)
    done = CliRunner().invoke(app, [*said, str(tmp_path / "share.npy"), "--memory", "2GB"])
    assert done.exit_code == 2
    assert "all rows at once" in done.stderr
