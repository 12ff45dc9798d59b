"""Columns that matter together, and errors that follow a column: trees are asked for the first."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from misnomer import NoisyLabelClassifier, audit, make_noisy_labels
from misnomer.simulate import pair_noise, uniform_noise
from tests.head.test_one_posterior import spoiled_town

RULES = np.random.default_rng(3).integers(3, size=(4, 3, 4))  # a label for each triple of values


def decided_together(n=1200, seed=0):
    """Three categories decide the class together, two more say nothing."""
    rng = np.random.default_rng(seed)
    cells = np.stack([rng.integers(size, size=n) for size in (4, 3, 4, 3, 2)], axis=1)
    true = RULES[cells[:, 0], cells[:, 1], cells[:, 2]]
    return pd.DataFrame(cells.astype(str)).rename(columns=lambda j: f"c{j}"), true


@pytest.mark.parametrize("noise", [uniform_noise(3, 0.2), pair_noise(3, 0.2)])
def test_columns_that_decide_together_are_seen_together_behind_noise(noise):
    """Naive Bayes alone is right in two thirds of such rows."""
    X, true = decided_together()
    given = make_noisy_labels(true, noise, random_state=1)
    model = NoisyLabelClassifier().fit(X, given)
    assert "trees" in [scorer.name for _, scorer in model.model_.others]
    assert model.score(*decided_together(seed=9)) > 0.95
    after = model.fit_.details.posterior
    doubt = 1.0 - after[np.arange(len(given)), given]
    assert average_precision_score(given != true, doubt) > 0.95


def test_trees_do_not_learn_the_errors_of_a_town():
    """Where a column tells who is mislabeled, trees would call the errors classes."""
    frame, given, true = spoiled_town(1000)
    model = NoisyLabelClassifier().fit(frame, given)
    assert model.model_.strata.name == "town"
    assert not model.model_.others
    after, place = model.fit_.details.posterior, np.searchsorted(model.classes_, given)
    doubt = 1.0 - after[np.arange(len(given)), place]
    assert abs(doubt.mean() - (given != true).mean()) < 0.04


def test_trees_that_know_a_row_by_heart_say_what_they_say_without_it():
    """No term for "judged without itself" beside a term of trees that takes it back."""
    X, true = decided_together(700)
    given = make_noisy_labels(true, uniform_noise(3, 0.15), random_state=2)
    found = audit(X, given.astype(str))
    row = int(found.ranking[0])
    why = found.explain(row)
    assert "columns together" in why.names and "judged without itself" not in why.names


@pytest.mark.parametrize("apart", [4, 6, 12])
def test_errors_between_classes_far_apart_are_all_found(apart):
    """Two clouds that nobody could confuse, and 30 rows of one that are called the other."""
    rng = np.random.default_rng(0)
    true = np.repeat([0, 1], 300)
    frame = pd.DataFrame(rng.normal(size=(600, 4)) + apart * true[:, None])
    given = np.where(np.arange(600) // 30 == 10, 0, true)
    found = audit(frame, given)
    assert set(found.issues["row"]) == set(range(300, 330))
    assert found.error_rate.low > 0


def test_the_interval_follows_the_rate_of_strata():
    """Errors strike in one town: its channel moves the rate, and the interval moves with it."""
    held = 0
    for seed in range(5):
        frame, given, true = spoiled_town(1000, seed)
        rate = audit(frame, given).error_rate
        assert rate.low < 0.8 * rate.value and rate.high > 1.2 * rate.value
        held += (given != true).mean() in rate
    assert held >= 4
