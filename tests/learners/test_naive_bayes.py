"""Rows shared out: rounds end where they move nothing."""

import numpy as np
import pandas as pd

from misnomer.learners import naive_bayes
from misnomer.learners.learner import View
from misnomer.learners.naive_bayes import SharedNaiveBayes
from tests.learners.tables import K, as_rows


def test_rounds_that_would_move_no_row_are_left_out(monkeypatch):
    """Classes far apart settle at once: one more round or none, scores are the same."""
    rng = np.random.default_rng(0)
    z = np.arange(120) % K
    frame = pd.DataFrame(rng.normal(size=(120, 6)) + 3.0 * z[:, None])
    label = np.where(rng.random(120) < 0.1, (z + 1) % K, z)
    rows, view = as_rows(frame, label), View(0.9 * np.eye(K) + 0.1 / K, 1.0)
    asked = []
    whole = naive_bayes._Chains._round
    monkeypatch.setattr(
        naive_bayes._Chains, "_round", lambda *some: asked.append(1) or whole(*some)
    )
    early = SharedNaiveBayes().cross_fit(rows, view)[0].scores
    few, _ = len(asked), asked.clear()
    monkeypatch.setattr(naive_bayes, "SETTLED", 0.0)
    late = SharedNaiveBayes().cross_fit(rows, view)[0].scores
    assert few < len(asked)
    assert np.abs(early - late).max() < 0.05 * np.abs(late).max()
