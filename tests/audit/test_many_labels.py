"""Many labels: audit() keeps what occurs, by itself where dense weights would be too large."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from typer.testing import CliRunner

from misnomer import NoisyLabelNB
from misnomer.audit import audit, collector, load_audit
from misnomer.audit.result import Audit
from misnomer.classifiers import inputs
from misnomer.cli import actions, app
from misnomer.review import load_for_review
from misnomer.review.large import LargeRows
from misnomer.rows.scan import read_table
from misnomer.solvers import sparse as sparse_model
from misnomer.solvers.sparse import SparseModel
from misnomer.store import load_model, model_bytes, model_from
from tests.audit.rows import audit_stream, save_stream


@pytest.fixture
def always(monkeypatch):
    """Take everything for wide."""
    monkeypatch.setattr(sparse_model, "_MIN_LABELS", 2)
    monkeypatch.setattr(sparse_model, "_MAX_DENSE_CELLS", 0)


def rows(n=400, K=8, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, K, n)
    topic = rng.integers(0, 60, (K, 12))
    words = topic[z[:, None], rng.integers(0, 12, (n, 10))]
    y = np.where(rng.random(n) < 0.1, (z + 1) % K, z)
    return words, np.array([f"label {k}" for k in y], object), np.array([f"label {k}" for k in z])


def is_sparse(found):
    """Any audit is an Audit; of many labels its model keeps what occurs."""
    return type(found) is Audit and isinstance(found.classifier.model_, SparseModel)


def counted(words):
    n = len(words)
    place = np.repeat(np.arange(n), words.shape[1])
    return sparse.csr_array((np.ones(words.size), (place, words.ravel())), shape=(n, 60))


def test_a_sparse_matrix(always):
    words, y, z = rows()
    y[5] = None
    found = audit(counted(words), y)
    assert is_sparse(found)
    wrong = np.array([a is not None and a != b for a, b in zip(y, z, strict=True)])
    flagged = found.is_label_issue
    assert (flagged & wrong).sum() > 0.9 * wrong.sum()
    assert (flagged & wrong).sum() > 0.9 * flagged.sum()
    assert np.nansum(found.error_probability) == pytest.approx(found.error_count.value)
    assert np.isnan(found.error_probability[5])
    assert found.rows["suggested_label"].tolist()[5] == z[5]
    assert found.issues["row"].tolist() == found.ranking.tolist()
    assert found.error_rate.low < found.error_rate.value < found.error_rate.high
    top = found.noise_pairs.iloc[0]
    assert int(top["given"][-1]) == (int(top["true"][-1]) + 1) % 8
    assert found.class_prior["true_share"].sum() == pytest.approx(1.0)
    assert "Audit(399 labels" in repr(found)


def test_small_tables_and_chosen_solvers_stay_as_they_were(monkeypatch):
    words, y, _ = rows()
    assert not is_sparse(audit(counted(words), y))
    monkeypatch.setattr(sparse_model, "_MIN_LABELS", 2)
    monkeypatch.setattr(sparse_model, "_MAX_DENSE_CELLS", 0)
    chosen = audit(counted(words), y, classifier=NoisyLabelNB(solver="counts", channel="identity"))
    assert not is_sparse(chosen)


def test_a_text_column_in_memory_by_batches_and_on_the_command_line(always, tmp_path):
    words, y, _ = rows()
    text = [" ".join(f"word{w}" for w in line) + f" own{i}" for i, line in enumerate(words)]
    table = pa.table({"note": text, "size": np.arange(400) % 7 * 0.5, "label": y.tolist()})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    whole = audit(path, "label")
    parts = audit_stream(path, "label", memory="1GB")
    assert is_sparse(whole)
    assert is_sparse(parts)
    np.testing.assert_allclose(parts.error_probability, whole.error_probability, atol=1e-12)
    for more in ([], ["--memory", "1GB"]):
        out = tmp_path / f"out{len(more)}"
        said = ["audit", str(path), "-l", "label", "-o", str(out), *more]
        result = CliRunner().invoke(app, said)
        assert result.exit_code == 0, result.output
        assert "Largest confusions" in result.output
        every, issues = read_table(out / "rows.parquet"), read_table(out / "issues.csv")
        assert every["note"].to_pylist() == text
        np.testing.assert_allclose(every["error_probability"], whole.error_probability, atol=1e-12)
        assert issues["row"].to_pylist() == whole.ranking.tolist()
        assert issues["note"].to_pylist() == [text[i] for i in whole.ranking]
        numbers = json.loads((out / "audit.json").read_text())
        assert numbers["rows"]["flagged"] == len(whole.ranking)
        assert len(read_table(out / "confusions.csv")) > 0
    plain = CliRunner().invoke(app, ["audit", str(path), "-l", "label", "--json"])
    assert len(json.loads(plain.output)["classes"]) == 8


def test_trusted_rows_of_a_frame(always):
    words, y, z = rows()
    frame = pd.DataFrame(words[:, :4].astype(str), columns=list("abcd")).assign(label=y)
    sure = (y == z) & (np.arange(400) % 3 == 0)
    found = audit(frame, "label", trusted=sure)
    assert (found.error_probability[sure] == 0).all()
    for row in (0, *found.ranking[:5].tolist()):
        why = found.explain(row)
        assert why.log_odds == pytest.approx(why.prior + sum(why.weights) + why.label)
        one, two = (found.classes.index(name) for name in (why.suggested, why.against))
        share = found.posterior[row]
        if share[two] > 0 and not sure[row]:
            assert why.log_odds == pytest.approx(np.log(share[one] / share[two]), abs=1e-6)


def notes(n=1200):
    words, y, z = rows(n)
    text = [" ".join(f"word{w}" for w in line) for line in words]
    return pd.DataFrame({"note": text, "label": y}), z


def test_checked_rows_of_a_frame_say_how_many(always):
    frame, z = notes()
    first = audit(frame, "label")
    sheet = first.draw_checks(60, random_state=0)
    sheet["true_label"] = z[sheet["row"]]
    drawn = sheet["row"].to_numpy()
    hidden = int(drawn[first.error_probability[drawn] < 0.5][0])
    sheet.loc[sheet["row"] == hidden, "true_label"] = "label 99"  # a class that no row has
    found = audit(frame, "label", checked=sheet)
    wrong = (frame["label"] != z).to_numpy()
    assert found.verdict.level == "checked" and wrong.mean() in found.error_rate
    assert found.checks.counts["wrong"] == wrong[drawn].sum() + 1
    assert np.nansum(found.error_probability) == pytest.approx(found.error_count.value)
    assert (found.error_probability[drawn] == (wrong[drawn] | (drawn == hidden))).all()
    assert found.is_label_issue[hidden] and not first.is_label_issue[hidden]
    right = drawn[~wrong[drawn] & (drawn != hidden)]
    assert (found.suggested[right] == found.given[right]).all()
    fixed = drawn[wrong[drawn]]
    assert [found.labels[k] for k in found.suggested[fixed]] == z[fixed].tolist()
    assert any("label 99" in one for one in found.warnings)


def test_checked_rows_on_the_command_line_in_memory_or_by_batches(always, tmp_path):
    frame, z = notes()
    data, out, sheet = tmp_path / "t.csv", tmp_path / "out", tmp_path / "sheet.csv"
    frame.to_csv(data, index=False)

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    run("audit", data, "-l", "label", "-o", out, "-q")
    run("check", out, "--rows", 40, "--seed", 1, "--sheet", sheet)
    filled = pd.read_csv(sheet)
    filled["true_label"] = z[filled["row"]]
    filled.to_csv(sheet, index=False)
    assert "of 40 checked rows are wrong" in run("check", out, "--answers", sheet)
    for more in ([], ["--memory", "1GB"]):
        said = run("audit", data, "-l", "label", "-o", out, "--force", *more)
        assert "holds whatever the noise" in said and "of 40 wrong" in said
        told = json.loads((out / "audit.json").read_text())
        rate = told["error_rate"]
        wrong = read_table(out / "rows.parquet")["error_probability"].to_numpy()
        assert told["verdict"]["level"] == "checked" and told["checks"]["counts"]["counted"] == 40
        assert wrong.mean() == pytest.approx(rate["value"], abs=1e-6)
        assert rate["low"] < (frame["label"] != z).mean() < rate["high"]
        page = (out / "report.html").read_text()
        assert "Share of wrong labels, checked" in page and "What the checked rows say" in page


def test_the_classifier_says_what_to_do_instead(monkeypatch):
    words, y, _ = rows()
    monkeypatch.setattr(inputs.os, "sysconf", lambda _: 10)
    with pytest.raises(ValueError, match=r"8 classes times 60 .* call audit\(\)"):
        NoisyLabelNB().fit(counted(words), y)


def test_the_page_is_small_and_safe_and_the_model_predicts(always, tmp_path):
    words, y, _ = rows(3000, K=200)
    y = np.array([f"<b>{name}</b>" for name in y], object)
    text = [" ".join(f"word{w}" for w in line) for line in words]
    table = pa.table({"note": text, "size": np.arange(3000) % 7 * 0.5, "label": y.tolist()})
    found = audit(table, "label")
    folder = tmp_path / "audit"
    written = found.save(folder)
    assert {path.name for path in folder.iterdir()} == set(written)
    page = (folder / "report.html").read_text()
    plain = found.to_html(tmp_path / "page.html")
    assert plain == (tmp_path / "page.html").read_text()
    assert page == re.sub(", or draw_checks.[0-9]+.", "", plain).replace(" FOLDER", f" {folder}")
    assert len(page) < 1 << 20
    assert "<b>label" not in page and "&lt;b&gt;label" in page
    assert f"{len(found.ranking):,} flagged" in page
    assert f"{found.confusions.num_rows - 40:,} more confusions are in" in page
    worst = str(table["note"][int(found.ranking[0])])
    assert f"<dd>{worst}</dd>" in page
    assert "<script" not in page and "http:" not in page.replace("http-equiv", "")
    same = load_model(folder / "model.safetensors")
    share = found.classifier.predict_proba(table)
    np.testing.assert_allclose(same.predict_proba(table), share, rtol=1e-12)
    best = share.max(axis=1)
    assert ((best > 0) & (best <= 1)).all() and (share.sum(axis=1) <= 1 + 1e-9).all()
    assert same.predict(table).tolist() == [found.labels[k] for k in share.argmax(axis=1)]


def test_predict_with_the_model_of_an_audit(always, tmp_path, monkeypatch):
    words, y, z = rows()
    text = [" ".join(f"word{w}" for w in line) for line in words]
    real = np.where(np.arange(400) % 9, np.arange(400) % 7 * 0.5, np.nan)
    table = pa.table({"note": text, "size": real, "label": y.tolist()})
    found = audit(table, "label")
    found.save(tmp_path / "audit")
    new = pa.table({"size": real[:50], "note": text[:50], "row": range(50)})
    pq.write_table(new, tmp_path / "new.parquet")
    out = tmp_path / "out.csv"
    said = ["predict", str(tmp_path / "audit"), str(tmp_path / "new.parquet")]
    result = CliRunner().invoke(app, [*said, "-o", str(out)])
    assert result.exit_code == 0, result.output
    answer = read_table(out)
    assert (np.array(answer["predicted_class"].to_pylist()) == z[:50]).mean() > 0.9
    assert answer["row"].to_pylist() == list(range(50))
    monkeypatch.setattr(actions, "_MAX_PROBA", 7)
    result = CliRunner().invoke(app, [*said, "--proba"])
    assert result.exit_code != 0
    assert "leave --proba out" in result.output


def test_a_model_that_was_tampered_with_is_refused(always, tmp_path):
    words, y, _ = rows()
    classifier = audit(counted(words), y).classifier
    good, model = model_bytes(classifier), classifier.model_
    again = model_from(good, "m")
    assert again.predict(counted(words)).tolist() == classifier.predict(counted(words)).tolist()
    np.testing.assert_allclose(again.noise_matrix_, classifier.noise_matrix_)
    np.testing.assert_allclose(again.noise_matrix_.sum(axis=0), 1.0)
    bad = bytearray(good)
    bad[-3] ^= 1
    (tmp_path / "bad").write_bytes(bytes(bad))
    with pytest.raises(ValueError, match="damaged"):
        load_model(tmp_path / "bad")
    noise = replace(model.noise, given=model.noise.given[::-1])
    twisted = replace(noise, true=noise.true[:-1], given=noise.given[:-1], value=noise.value[:-1])
    parts = ({"prior": -model.prior}, {"scale": float("nan")}, {"cuts": np.zeros((1, 9))})
    for part in (*parts, {"noise": twisted}):
        classifier.model_ = replace(model, **part)
        with pytest.raises(ValueError):
            model_from(model_bytes(classifier), "m")


def test_the_review_of_a_sample_carries_decisions_over_to_all_rows(always, monkeypatch, tmp_path):
    words, y, z = rows(900, K=40)
    text = [" ".join(f"word{w}" for w in line) for line in words]
    pd.DataFrame({"note": text, "label": y}).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(collector, "SAMPLE", 600)
    save_stream(str(tmp_path / "t.csv"), "label", tmp_path / "out")
    found = load_for_review(tmp_path / "out")
    assert isinstance(found, LargeRows) and is_sparse(found.sample) and len(found) == 900
    assert len(found.sample.given) == 600
    assert not any("unique classes" in note for note in found.sample.warnings)
    first = found.ranking()
    monkeypatch.setattr(sparse_model, "solve", None)  # sums add: nothing is fitted anew
    worst = [int(row) for row in first.orders["probability"][0][:12]]
    names = {name: k for k, name in enumerate(found.audit.classes)}
    assert found.shares(worst[0]).shape == (40,)
    again, after = found.refit(0.05)({row: names[z[row]] for row in worst}, 1)
    assert [found.audit.classes[after.suggested[row]] for row in worst] == z[worst].tolist()
    assert again.explain_at(worst[0]).suggested == z[worst[0]]
    np.testing.assert_array_equal(again.classifier.noise_matrix_, found.classifier.noise_matrix_)
    assert 0 < after.wrong.sum() < 1.2 * first.wrong.sum()


def test_a_saved_audit_is_read_back_reviewed_and_fitted_anew(always, tmp_path):
    from misnomer.review import Review

    words, y, z = rows(900, K=40)
    text = [" ".join(f"word{w}" for w in line) for line in words]
    table = pa.table({"note": text, "label": y.tolist()})
    found = audit(table, "label")
    assert not found.shares.is_whole and not found.noise.is_whole
    found.save(tmp_path / "out")
    loaded = load_audit(tmp_path / "out")
    np.testing.assert_array_equal(loaded.error_probability, found.error_probability)
    assert loaded.confusions.equals(found.confusions)
    row = int(found.ranking[0])
    assert str(loaded.explain(row)) == str(found.explain(row))
    review = Review(loaded, tmp_path / "decisions", refit=False)
    try:
        assert review.first.flagged.sum() == len(found.issues)
        assert review.judged.shares(row).shape == (40,)
        names = {name: k for k, name in enumerate(found.classes)}
        decided = {int(row): names[z[row]] for row in found.ranking[:20]}
        again, ranking = review.judged.refit(0.05)(decided, 1)
    finally:
        review.close()
    assert (
        is_sparse(again.audit)
        and not again.audit.shares.is_whole
        and np.isfinite(ranking.wrong).all()
    )
    agreed = [ranking.suggested[row] == code for row, code in decided.items()]
    assert np.mean(agreed) > 0.9
