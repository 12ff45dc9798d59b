"""One posterior: rate, matrix, shares, doubts, counts and evidence are the same numbers."""

import numpy as np
import pandas as pd
import pytest

from misnomer import NoisyLabelClassifier, audit
from misnomer.head import large
from tests.head.tables import planted


def spoiled_town(n=400, seed=0):
    """Labels that go wrong on one value of a column only."""
    frame, _, true = planted(n, 0.0, seed, classes=2, apart=2.0)
    rng = np.random.default_rng(seed + 1)
    names = np.unique(true)
    other = np.where(true == names[0], names[1], names[0])
    wrong = rng.random(n) < np.where(frame["town"] == "a", 0.4, 0.01)
    return frame, np.where(wrong, other, true), true


def with_checked():
    frame, given, true = planted(300)
    seen = np.arange(0, 300, 11)
    checked = pd.DataFrame({"row": seen, "true_label": true[seen]})
    return audit(frame, given, checked=checked)


def with_groups():
    frame, given, true = planted(300)
    group = np.where(np.arange(300) % 3 == 0, "north", "south")
    rng = np.random.default_rng(5)
    spoiled = np.where((group == "north") & (rng.random(300) < 0.4), rng.permutation(true), given)
    return audit(frame, spoiled, noise_groups=group)


def with_strata():
    frame, given, _ = spoiled_town()
    found = audit(frame, given)
    assert found.classifier.model_.strata.name == "town"
    return found


AUDITS = {
    "in memory": lambda: audit(*planted(300)[:2]),
    "unlabeled": lambda: audit(planted(300)[0], np.r_[planted(300)[1][:250], [None] * 50]),
    "checked": with_checked,
    "groups": with_groups,
    "strata": with_strata,
}


def check_one_posterior(found):
    labeled = found.given >= 0
    doubt = np.asarray(found.error_probability)[labeled]
    share = np.asarray(found.prior)
    right = np.diagonal(np.asarray(found.matrix))
    assert found.error_rate.value == pytest.approx(doubt.mean(), abs=1e-9)
    assert found.error_rate.value == pytest.approx(1.0 - share @ right, abs=1e-9)
    assert found.error_count.value == pytest.approx(doubt.sum(), abs=1e-9 * len(doubt))
    np.testing.assert_allclose(np.asarray(found.matrix).sum(axis=0), 1.0, atol=1e-9)
    after = found.posterior[labeled]
    np.testing.assert_allclose(share, after.mean(axis=0), atol=1e-9)
    own = after[np.arange(len(after)), found.given[labeled]]
    np.testing.assert_allclose(1.0 - own, doubt, atol=1e-12)
    assert found.error_rate.low <= found.error_rate.value <= found.error_rate.high


@pytest.mark.parametrize("name", AUDITS)
def test_rate_is_mean_doubt_is_share_times_matrix(name):
    found = AUDITS[name]()
    check_one_posterior(found)
    for at in (0, 11, 50, 299):
        said = found.explain_at(at)
        one, two = (found.classes.index(c) for c in (said.suggested, said.against))
        if (found.posterior[at, [one, two]] > 0).all():  # a checked row has no odds
            odds = np.log(found.posterior[at, one]) - np.log(found.posterior[at, two])
            total = said.weights.sum() + said.prior + said.label
            assert total == pytest.approx(odds, abs=1e-9 * max(1.0, abs(odds)))
        assert one == found.posterior[at].argmax()


def test_streamed(tmp_path, monkeypatch):
    """Many rows in batches of a file: counted over all, explained by a sample."""
    monkeypatch.setattr(large, "MOST_ROWS", 400)
    monkeypatch.setattr(large, "SAMPLE_ROWS", 300)
    frame, given, _ = planted(900)
    frame.assign(tree=given).to_csv(tmp_path / "trees.csv", index=False)
    found = audit(tmp_path / "trees.csv", label="tree", memory="1GB")
    rows = found.rows.to_pandas() if hasattr(found.rows, "to_pandas") else found.rows
    doubt = rows["error_probability"].to_numpy()
    assert found.error_rate.value == pytest.approx(doubt.mean(), abs=1e-9)
    assert found.error_count.value == pytest.approx(doubt.sum(), abs=1e-6)
    right = np.diagonal(np.asarray(found.matrix))
    assert found.error_rate.value == pytest.approx(1 - np.asarray(found.prior) @ right, abs=1e-9)
    memory = audit(frame.assign(tree=given), label="tree")
    np.testing.assert_allclose(doubt, memory.error_probability, atol=1e-9)


@pytest.mark.parametrize("name", ["in memory", "strata"])
def test_the_classifier_judges_new_rows_by_the_same_head(name):
    found = AUDITS[name]()
    model = found.classifier.model_
    frame, given, _ = spoiled_town(60, 3) if name == "strata" else planted(60, seed=3)
    clf = found.classifier
    batch = clf._batch(frame, given)
    after = model.posterior(batch)
    code = np.array([list(clf.classes_).index(one) for one in given])
    wanted = 1.0 - after[np.arange(60), code]
    np.testing.assert_allclose(clf.error_probability(frame, given), wanted, atol=1e-12)
    plain = clf.predict_proba(frame)
    channel = np.asarray(model.channel.matrix)[None].repeat(60, axis=0)
    if name == "strata":
        channel = model.strata.channels[model.strata.of(batch, model.without_label(batch))]
        assert len(np.unique(channel, axis=0)) == 3
    joint = plain * channel[np.arange(60), code]
    np.testing.assert_allclose(joint / joint.sum(axis=1, keepdims=True), after, atol=1e-12)


def test_the_audit_fits_the_classifier():
    frame, given, _ = planted(300)
    found = audit(frame, given)
    clf = NoisyLabelClassifier(random_state=0).fit(frame, given)
    np.testing.assert_array_equal(found.posterior, clf.fit_.details.posterior)
    np.testing.assert_array_equal(np.asarray(found.matrix), clf.noise_matrix_)
