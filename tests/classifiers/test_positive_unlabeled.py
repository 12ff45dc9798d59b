"""PUClassifier: the share of positives, both designs, names, and what it says of bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from misnomer import PUClassifier
from misnomer.papers import PUNB
from misnomer.store import load_model, save_model


def rows(seed, n=1200, prior=0.4, found=0.3):
    """Draw two classes that no single column tells apart, and label some of the positives."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < prior
    side = rng.integers(2, size=n)
    X = np.stack([side, side ^ ill], axis=1) * 3.0 + 0.5 * rng.normal(size=(n, 2))
    return np.c_[X, rng.normal(size=n)], ill, (ill & (rng.random(n) < found)).astype(int)


def test_columns_that_act_together_are_used():
    X, ill, labeled = rows(0)
    found = PUClassifier(design="one-sample", random_state=0).fit(X, labeled)
    assert abs(found.class_prior_[1] - ill.mean()) < 0.05
    assert found.score(X, ill.astype(int)) > 0.9
    assert abs(PUNB(design="one-sample").fit(X, labeled).class_prior_[1] - ill.mean()) > 0.1


def test_the_doubts_add_up_to_the_share():
    X, ill, labeled = rows(1)
    found = PUClassifier(design="one-sample", random_state=0).fit(X, labeled)
    rest = labeled == 0
    share = found.fit_.details.positives_among_unlabeled
    assert found.fit_.details.posterior[rest, 1].mean() == pytest.approx(share, abs=1e-6)
    assert found.class_prior_[1] == pytest.approx((labeled.sum() + share * rest.sum()) / len(X))
    assert found.noise_matrix_[1, 0] == 0
    assert found.noise_matrix_[1, 1] == pytest.approx(labeled.mean() / found.class_prior_[1])
    assert abs(found.error_probability(X[rest], labeled[rest]).mean() - ill[rest].mean()) < 0.05


def test_two_samples_ask_about_the_population():
    X, ill, _ = rows(2)
    more, positive, _ = rows(3, prior=1.0, n=300)
    both, source = np.concatenate([more, X]), np.r_[np.ones(300, int), np.zeros(len(X), int)]
    found = PUClassifier(random_state=0).fit(both, source)
    assert positive.all()
    assert abs(found.class_prior_[1] - ill.mean()) < 0.05
    assert abs(found.predict_proba(X)[:, 1].mean() - ill.mean()) < 0.05


def test_names_in_any_order_give_the_same_answer():
    X, _, labeled = rows(4)
    first, last = (
        PUClassifier(design="one-sample", positive=name, random_state=0).fit(
            X, np.where(labeled == 1, name, "m")
        )
        for name in ("a", "z")
    )
    assert first.classes_.tolist() == ["a", "m"] and last.classes_.tolist() == ["m", "z"]
    np.testing.assert_allclose(first.predict_proba(X)[:, 0], last.predict_proba(X)[:, 1], atol=1e-9)
    assert first.noise_matrix_[0, 1] == last.noise_matrix_[1, 0] == 0


def test_a_row_of_weight_two_counts_as_two_for_the_share():
    X, _, labeled = rows(5, n=700)
    twice = PUClassifier(random_state=0).fit(X, labeled, np.full(len(X), 2.0)).class_prior_
    copied = PUClassifier(random_state=0).fit(np.repeat(X, 2, axis=0), np.repeat(labeled, 2))
    np.testing.assert_allclose(twice, copied.class_prior_, atol=0.03)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_row_of_weight_two_is_the_same_row_twice_and_one_of_none_is_absent(form):
    rng = np.random.default_rng(0)
    X, labeled, times = rng.random((15, 30)), rng.integers(0, 2, 15), rng.integers(0, 5, 15)
    order = rng.permutation(15)
    weighted = PUClassifier(random_state=0).fit(form(X[order]), labeled[order], times[order])
    repeated = PUClassifier(random_state=0).fit(
        form(np.repeat(X, times, axis=0)), np.repeat(labeled, times)
    )
    np.testing.assert_allclose(
        weighted.predict_proba(form(X)), repeated.predict_proba(form(X)), rtol=1e-6
    )


def test_the_model_is_stored_and_read(tmp_path):
    X, _, labeled = rows(6)
    found = PUClassifier(random_state=0).fit(X, labeled)
    save_model(found, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_allclose(again.predict_proba(X), found.predict_proba(X), atol=1e-6)


#: What cannot hold, and why.
CANNOT = {
    "check_classifiers_classes": "two words do not say which of them is positive",
    "check_sample_weight_equivalence_on_sparse_data": "of two classes it exchanges the labels of "
    "the repeated rows, whose first row is another: ours below does not",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PUClassifier(random_state=0)], expected_failed_checks=lambda _: CANNOT)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        ([0, 0, 0], {}, "one class only, not the positive one"),
        ([1, 1, 1], {}, "one class only, the positive one"),
        (["a", "b", "a"], {}, "which of 'a' and 'b' is positive"),
        ([0, 1, 2], {}, "Only binary classification"),
        ([0, 1, 0], {"design": "three"}, "two-sample"),
    ],
)
def test_bad_input_gets_a_sentence(labels, options, words):
    with pytest.raises(ValueError, match=words):
        PUClassifier(**options).fit([[0.0], [1.0], [2.0]], labels)
