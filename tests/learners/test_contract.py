"""What every learner must satisfy: each of them by each law."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from misnomer.learners import trees
from misnomer.learners.kernel import Kernel
from misnomer.learners.learner import View
from misnomer.learners.logistic import Logistic
from misnomer.learners.naive_bayes import NaiveBayes, SharedNaiveBayes
from misnomer.learners.trees import Trees
from misnomer.rows import read_like
from misnomer.table import Batch
from tests.learners.tables import K, as_rows, mixed_frame

LEARNERS = [NaiveBayes(), SharedNaiveBayes(), Logistic(), Kernel(), Trees()]
counting = pytest.mark.parametrize(  # leaves of trees count rows, whatever they weigh
    "learner", LEARNERS[:4], ids=lambda one: one.name
)
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)

CHANNEL = np.array([[0.8, 0.1, 0.05], [0.15, 0.8, 0.1], [0.05, 0.1, 0.85]])


@pytest.fixture(autouse=True)
def few_trees(monkeypatch, request):
    """Laws of trees are laws of ten trees on a hundred rows."""
    if "trees" not in request.node.name:
        return
    monkeypatch.setattr(trees, "TREES", 10)
    monkeypatch.setattr(trees, "ROUNDS", 5)
    monkeypatch.setattr(trees, "FEWEST_ROWS", 100)
    monkeypatch.setattr(trees, "CLASS_ROWS", 10)


def scores(learner, rows, channel=CHANNEL):
    found = learner.cross_fit(rows, View(channel, 0.5))
    assert found
    return np.stack([one.scores for one in found])


def same(found, wanted, learner):
    """Sums in another order round differently, and a long search magnifies that.

    Logistic regression of a weak penalty ends anywhere within its tolerance: there the first
    strength is compared, whose searches are short.
    """
    if isinstance(learner, Logistic):
        np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-9 * np.abs(wanted[0]).max())
    else:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@every_learner
def test_own_label_does_not_matter(learner):
    frame, y = mixed_frame()
    rows = as_rows(frame, y)
    rows = replace(rows, deals=rows.deals[:1])
    for place in (0, 7, 100):
        other = y.copy()
        other[place] = (y[place] + 1) % K
        flipped = replace(as_rows(frame, other), deals=rows.deals)
        fold = rows.deals[0]
        left_out = np.flatnonzero(fold == fold[place])
        before, after = scores(learner, rows), scores(learner, flipped)
        alone = np.setdiff1d(np.arange(len(y)), left_out)
        np.testing.assert_allclose(after[:, place], before[:, place], rtol=0, atol=1e-12)
        assert (before[:, alone] != after[:, alone]).any()  # the others did learn from it


@every_learner
def test_names_of_classes_do_not_matter(learner):
    frame, y = mixed_frame()
    order = np.array([2, 0, 1])
    wanted = scores(learner, as_rows(frame, y))
    channel = np.empty_like(CHANNEL)
    channel[np.ix_(order, order)] = CHANNEL
    found = scores(learner, as_rows(frame, order[y]), channel)
    same(found[..., order], wanted, learner)


@every_learner
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_order_of_columns_does_not_matter(learner, kind):
    frame, y = mixed_frame()
    rng = np.random.default_rng(1)
    reals = rng.normal(size=(len(y), 9)) + 0.4 * y[:, None]
    table = frame.to_numpy(object) if kind == "frame" else reals
    names = list(frame) if kind == "frame" else None

    def found(order):
        cells = table[:, order]
        if names is None:
            return scores(learner, as_rows(cells, y))
        return scores(learner, as_rows(frame[[names[j] for j in order]], y))

    wanted = found(np.arange(table.shape[1]))
    for _ in range(3):
        moved = found(rng.permutation(table.shape[1]))
        if isinstance(learner, Trees | Logistic | Kernel):  # these put columns into an order
            np.testing.assert_array_equal(moved, wanted)
        else:
            same(moved, wanted, learner)


@every_learner
@pytest.mark.filterwarnings("ignore:column .* has the same value in every row:UserWarning")
def test_constant_columns_do_not_matter(learner):
    frame, y = mixed_frame()
    more = frame.assign(one=1.5, same="x", always=True)
    same(scores(learner, as_rows(more, y)), scores(learner, as_rows(frame, y)), learner)


@every_learner
@pytest.mark.parametrize("copied", ["height", "color", "wet"])
def test_duplicated_columns_do_not_matter(learner, copied):
    frame, y = mixed_frame()
    more = frame.assign(again=frame[copied], third=frame[copied])
    same(scores(learner, as_rows(more, y)), scores(learner, as_rows(frame, y)), learner)


@counting
def test_weight_two_is_a_row_twice(learner):
    frame, y = mixed_frame()
    frame = frame.dropna(ignore_index=True)  # reading fills gaps by means of its own
    y = y[: len(frame)]
    twice = np.arange(0, len(y), 3)
    weight = np.ones(len(y))
    weight[twice] = 2.0
    wanted = scores(learner, as_rows(frame, y, weight))
    longer = pd.concat([frame, frame.iloc[twice]], ignore_index=True)
    found = scores(learner, as_rows(longer, np.concatenate([y, y[twice]])))
    same(found[:, : len(y)], wanted, learner)
    np.testing.assert_array_equal(found[:, len(y) :], found[:, twice])


@counting
def test_weight_zero_teaches_nothing(learner):
    """A label of weight zero may be any: no score changes."""
    frame, y = mixed_frame()
    weight = np.ones(len(y))
    weight[:30] = 0.0
    rows = as_rows(frame, y, weight)
    other = y.copy()
    other[:30] = (y[:30] + 1) % K
    flipped = replace(as_rows(frame, other, weight), deals=rows.deals)
    np.testing.assert_array_equal(scores(learner, flipped), scores(learner, rows))


@every_learner
def test_rows_without_a_label_are_scored(learner):
    frame, y = mixed_frame()
    true = y.copy()
    y[:40] = -1
    found = scores(learner, as_rows(frame, y))
    assert ((found[:, :40].argmax(axis=2) == true[:40]).mean(axis=1) > 0.6).all()


@every_learner
def test_a_scorer_read_from_its_arrays_scores_alike(learner):
    frame, y = mixed_frame()
    rows = as_rows(frame, y)
    new, _ = mixed_frame(40, seed=5)
    batch = Batch(read_like(new, rows.schema), np.full(40, K, np.int32))
    for one in learner.cross_fit(rows, View(CHANNEL, 0.5)):
        kept = {name: np.array(value) for name, value in one.scorer.arrays().items()}
        again = replace(one.scorer, **kept)
        np.testing.assert_array_equal(again.scores(batch), one.scorer.scores(batch))
        fitted = one.scorer.scores(rows.batch)
        assert (fitted.argmax(axis=1) == y).mean() > 0.6  # it has learned something
        np.testing.assert_allclose(fitted.mean(axis=1), 0.0, atol=1e-9)


def test_equal_rows_share_a_fold():
    frame, y = mixed_frame()
    longer = pd.concat([frame, frame.iloc[::-1]], ignore_index=True)
    rows = as_rows(longer, np.concatenate([y, (y[::-1] + 1) % K]))
    assert len(rows.deals) == 3
    for fold in rows.deals:
        np.testing.assert_array_equal(fold[: len(y)], fold[len(y) :][::-1])
        sizes = np.bincount(fold[: len(y)])
        assert sizes.max() - sizes.min() <= 1
    assert (rows.deals[0] != rows.deals[1]).any()


def test_strict_chains_and_one_chain_agree_on_what_is_plain(monkeypatch):
    """Beyond STRICT_ROWS one chain serves all folds: nearly the same scores, for less work."""
    from misnomer.learners import naive_bayes

    frame, y = mixed_frame()
    strict = scores(SharedNaiveBayes(), as_rows(frame, y))
    monkeypatch.setattr(naive_bayes, "STRICT_ROWS", 0)
    quick = scores(SharedNaiveBayes(), as_rows(frame, y))
    assert np.abs(strict - quick).max() > 0
    assert (strict.argmax(axis=2) == quick.argmax(axis=2)).mean() > 0.97
