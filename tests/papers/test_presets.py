"""The presets: scikit-learn's checks, the papers' numbers, and what each promises."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.estimator_checks import check_estimator

from misnomer import NoisyLabelNB, papers
from misnomer.papers import (
    INB,
    NBCCCN,
    NBCCCNEM,
    NBUNL,
    PUNB,
    VBNB,
    Bayes1,
    Bayes2,
    Bayes3,
    BayesANIL,
    GaussianMixtureNB,
    NoiseFilterNB,
    text_classifier,
)
from misnomer.simulate import all_cells, draw_zeng, make_noisy_labels, matched_target
from misnomer.smoothing import m_estimate
from misnomer.solvers.counts import m_estimate_probability

NOISE = [[0.8, 0.5], [0.2, 0.5]]
TARGET = matched_target(0.899, f_value=0.903)
NO_EQUATION = {"accuracy_against_m"}  # a measurement
PRESETS = [INB(), VBNB(tol=1e-4), NBCCCN(), NBCCCNEM(tol=1e-4), Bayes1(), Bayes2(), Bayes3()]


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: type(preset).__name__)
def test_scikit_learn_accepts_it(preset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(preset)


def noisy(n, seed):
    X, true = TARGET.draw(n, random_state=seed)
    return X, make_noisy_labels(true, NOISE, random_state=seed + 10_000)


@pytest.mark.parametrize(
    "preset, least, draws",
    [(NBCCCN(), 0.86, 20), (NBCCCNEM(), 0.885, 8), (NBUNL(), 0.87, 20), (VBNB(), 0.888, 8)],
    ids=lambda value: type(value).__name__,
)
def test_table_1_of_denis_at_500_rows(preset, least, draws):
    cells = all_cells(10)
    found = [clone(preset).fit(*noisy(500, seed)).predict(cells) for seed in range(draws)]
    assert np.mean([TARGET.accuracy(cell) for cell in found]) > least


def test_one_run_from_the_closed_form_is_as_good_as_many_random_ones():
    X, given = noisy(200, 3)
    one = NBCCCNEM(families="bernoulli").fit(X, given)
    many = NBCCCNEM(init="random", n_init=6, random_state=0, families="bernoulli").fit(X, given)
    assert len(many.objectives_) == 6
    assert one.lower_bound_ > many.objectives_.max() - 0.5
    assert many.flip_rates_.sum() < 1


def test_flip_rates_and_their_reverse_agree():
    clf = NBCCCNEM().fit(*noisy(500, 1))
    p, (from_0, from_1) = clf.class_prior_[1], clf.flip_rates_
    alpha = p * (1 - from_1) / (p * (1 - from_1) + (1 - p) * from_0)  # equation (6)
    beta = p * from_1 / (p * from_1 + (1 - p) * (1 - from_0))
    np.testing.assert_allclose([clf.alpha_, clf.beta_], [alpha, beta])


def test_labels_only_name_the_classes_of_nbunl():
    X, given = noisy(1000, 2)
    names = np.array(["sick", "well"])[given]
    with_names, without = NBUNL().fit(X, names), NBUNL().fit(X)
    assert set(with_names.predict(X)) == {"sick", "well"}
    same = (with_names.predict(X) == names).mean()
    assert same > 0.5
    np.testing.assert_allclose(
        np.sort(with_names.predict_proba(X)), np.sort(without.predict_proba(X))
    )


def test_positive_unlabeled_gives_probabilities():
    X, true = TARGET.draw(3000, random_state=0)
    rows = np.concatenate([X[true == 1][:500], X[-500:]])
    y = np.concatenate([np.ones(500), np.full(500, np.nan)])
    clf = PUNB().fit(rows, y)
    assert clf.classes_.tolist() == [0, 1]
    assert abs(clf.class_prior_[1] - TARGET.prior) < 0.05
    proba = clf.predict_proba(X)
    assert proba.min() >= 0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert clf.score(X, true) > 0.85


def test_inb_beats_naive_bayes_under_noise_and_ties_on_clean_labels():
    run = draw_zeng(1500, random_state=1)
    train, test = slice(0, 400), slice(500, 1500)
    plain = NoisyLabelNB(channel="identity", smoothing="laplace")
    noisy_nb = plain.fit(run.X[train], run.given[train]).score(run.X[test], run.true[test])
    inb = INB().fit(run.X[train], run.given[train])
    assert inb.dominant_
    assert inb.score(run.X[test], run.true[test]) > noisy_nb + 0.1
    clean = clone(plain).fit(run.X[train], run.true[train])
    same = INB().fit(run.X[train], run.true[train])
    gap = same.score(run.X[test], run.true[test]) - clean.score(run.X[test], run.true[test])
    assert abs(gap) < 0.005


@pytest.mark.parametrize("vote", ["classification", "majority", "consensus"])
def test_a_filter_drops_wrong_labels(vote):
    rng = np.random.default_rng(0)
    true = rng.integers(3, size=400)
    X = (rng.random((400, 12)) < 0.15 + 0.7 * (np.arange(12) % 3 == true[:, None])).astype(int)
    given = make_noisy_labels(true, 0.7 * np.eye(3) + 0.1, random_state=1)
    clf = NoiseFilterNB(vote=vote, families="bernoulli").fit(X, given)
    wrong = given != true
    assert wrong[clf.kept_].mean() < 0.5 * wrong.mean()
    assert clf.kept_[~wrong].mean() > 0.8
    assert clf.score(X, true) > 0.9
    kept = clf.kept_
    plain = NoisyLabelNB(channel="identity", smoothing="laplace", families="bernoulli")
    np.testing.assert_allclose(
        clf.predict_proba(X), plain.fit(X[kept], given[kept]).predict_proba(X)
    )
    with pytest.raises(ValueError, match='vote must be one of "classification"'):
        NoiseFilterNB(vote="all").fit(X, given)


def test_bayesanil_weighs_rows_by_what_their_cells_say():
    rng = np.random.default_rng(0)
    true = rng.integers(3, size=400)
    X = (rng.random((400, 12)) < 0.15 + 0.7 * (np.arange(12) % 3 == true[:, None])).astype(int)
    given = make_noisy_labels(true, 0.55 * np.eye(3) + 0.15, random_state=1)
    clf = BayesANIL(families="bernoulli").fit(X, given)
    share = clf.fit_.shares
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    wrong = given != true
    own = share[np.arange(400), given]
    assert own[~wrong].mean() > own[wrong].mean() + 0.2
    assert clf.score(X, true) > 0.9
    with pytest.raises(ValueError, match="holds reals"):
        BayesANIL().fit(rng.normal(size=(50, 2)), given[:50])


def test_a_search_that_was_cut_names_its_solver():
    run = draw_zeng(300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="The solver em_from_diagonal has not converged"):
        INB(max_iter=2).fit(run.X, run.given)


def test_inb_refuses_the_absorbing_diagonal():
    with pytest.raises(ValueError, match="never leaves the identity"):
        INB(diagonal=1.0).fit(*noisy(100, 0))


def test_bayes_by_hand():
    X = np.array([["a"], ["a"], ["a"], ["b"]], dtype=object)
    y = np.array([0, 0, 1, 1])
    new = np.array([["a"], ["b"], ["c"]], dtype=object)
    one, two, three = (
        rule().fit(X, y).predict_proba(new)[:, 1] for rule in (Bayes1, Bayes2, Bayes3)
    )
    np.testing.assert_allclose(one, [1 / 3, 1, 1 / 2])
    np.testing.assert_allclose(two, [2 / 5, 2 / 3, 1 / 2])  # (n + 1) / (N + 2), both priors 1/2
    np.testing.assert_allclose(three, [2 / 5, 2 / 3, 1 / 2])


def test_a_value_never_seen_speaks_for_rare_classes_in_bayes2_alone():
    X = np.array([["a"], ["b"]] * 5, dtype=object)
    y = np.array([0] * 8 + [1] * 2)
    new = np.array([["never seen"], [None]], dtype=object)
    rare = Bayes2().fit(X, y).predict_proba(new)[:, 1]
    np.testing.assert_allclose(rare, [0.5, 0.25])  # P(C) / 2 P(C) for each; and P(1) = 3 / 12
    np.testing.assert_allclose(Bayes3().fit(X, y).predict_proba(new)[:, 1], [0.25, 0.25])


def test_bayes3_is_virtual_examples_but_for_the_class_prior():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)  # equal classes: Laplace's prior is the relative frequency
    X = np.array(["a", "b", "c"], dtype=object)[(rng.integers(3, size=(200, 4)) + y[:, None]) % 3]
    factors = Bayes3(m=2.0).fit(X, y).predict_joint_log_proba(X)
    smoothed = NoisyLabelNB(channel="identity", smoothing=m_estimate(2.0, "class"))
    joint = smoothed.fit(X, y).predict_joint_log_proba(X)
    np.testing.assert_allclose(np.diff(factors), np.diff(joint), atol=1e-9)


def test_the_estimate_has_a_variance():
    mean, variance = m_estimate_probability([3, 30], [4, 40], prior=0.5, m=2)
    np.testing.assert_allclose(mean, [4 / 6, 31 / 42])
    np.testing.assert_allclose(variance, mean * (1 - mean) / [7, 43])
    with pytest.raises(ValueError, match="m must be positive"):
        m_estimate_probability(1, 2, m=0)


def test_text_classifier_is_multinomial_naive_bayes():
    texts = ["good film good", "bad film", "good plot", "bad bad acting"]
    y = ["+", "-", "+", "-"]
    clf = text_classifier().fit(texts, y)
    words = clf[0].transform(texts)
    ours = clf.predict_proba(texts)
    np.testing.assert_allclose(ours, MultinomialNB().fit(words, y).predict_proba(words))


def test_a_mixture_with_no_variance_is_k_means():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, size=(80, 2)) for m in (-3.0, 0.0, 3.0)])
    found = GaussianMixtureNB(3, variance=1e-4, n_init=10, random_state=0).fit(X)
    centers = KMeans(3, n_init=10, random_state=0).fit(X).cluster_centers_
    order = np.argsort(found.means_[:, 0]), np.argsort(centers[:, 0])
    np.testing.assert_allclose(found.means_[order[0]], centers[order[1]], atol=1e-3)


def test_solvers_by_name():
    X, given = noisy(500, 0)
    by_name = NoisyLabelNB(channel="flips", smoothing="none", solver="moments").fit(X, given)
    np.testing.assert_allclose(by_name.noise_matrix_, NBCCCN().fit(X, given).noise_matrix_)
    with pytest.raises(ValueError, match="use INB"):
        NoisyLabelNB(solver="moments").fit(X[:300], np.arange(300) % 3)


def test_the_positive_label_may_have_any_name():
    rng = np.random.default_rng(0)
    ill = rng.random(600) < 0.4
    X = rng.normal(size=(600, 4)) + 1.5 * ill[:, None]
    known = ill & (rng.random(600) < 0.5)
    number = PUNB(design="one-sample").fit(X, known.astype(int))
    word = PUNB(design="one-sample").fit(X, np.where(known, "ill", None))
    turned = PUNB(design="one-sample", positive="a").fit(X, np.where(known, "a", "b"))
    assert word.classes_.tolist() == ["(not ill)", "ill"]
    assert turned.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(word.predict_proba(X), number.predict_proba(X))
    np.testing.assert_allclose(turned.predict_proba(X)[:, ::-1], number.predict_proba(X))
    np.testing.assert_allclose(turned.noise_matrix_[::-1, ::-1], number.noise_matrix_)
    with pytest.raises(ValueError, match="which of 'a' and 'b' is positive"):
        PUNB().fit(X, np.where(known, "a", "b"))


@pytest.mark.parametrize("name", papers.__all__)
def test_every_preset_has_an_example_and_an_equation(name):
    doc = inspect.getdoc(getattr(papers, name))
    assert ">>>" in doc
    stated = re.findall(r"``([^`]*)``|^    (.*)", doc.split("Parameters\n")[0], re.MULTILINE)
    stated = ["".join(pair) for pair in stated]
    assert name in NO_EQUATION or any(re.search(r"[=~>]", one) for one in stated), stated
