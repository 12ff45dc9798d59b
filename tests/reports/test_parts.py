"""The numbers that the renderings share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from misnomer.audit import audit
from misnomer.reports.concentration import by_label, by_value
from misnomer.reports.figures import calibration, histogram, interval
from misnomer.reports.html import summary_html, to_html
from misnomer.reports.json import calibration as curve_of
from misnomer.reports.json import histogram as counts_of
from misnomer.reports.json import to_json
from misnomer.reports.tables import suspects
from tests.reports.audits import small_audit


@pytest.fixture(scope="module")
def careless():
    """600 animals in a mixed table; nearly all wrong labels are Ben's."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 600)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=600) + 3 * true,
            "color": np.array(["gray", "brown", "red"])[true],
            "observer": rng.choice(["Ann", "Ben", "Cleo"], 600),
            "wild": true == 2,
        },
        index=[f"#{i}" for i in range(600)],
    )
    ben = (frame["observer"] == "Ben").to_numpy()
    wrong = ben & (rng.random(600) < 0.5)
    frame["animal"] = np.array(["cat", "dog", "fox"])[(true + wrong) % 3]
    return audit(frame, label="animal")


def test_errors_are_found_where_they_are(careless):
    worst = next(one for one in by_value(careless)[:3] if one.column == "observer")
    assert worst.value == "Ben"
    assert worst.lift > 2 and worst.errors <= careless.error_count.value + 1e-9


def test_lift_is_the_ratio_of_rates(careless):
    for spot in by_label(careless):
        assert spot.rate == pytest.approx(spot.errors / spot.rows)
        assert spot.lift == pytest.approx(spot.rate / careless.error_rate.value)


def test_rows_are_named_by_their_index(careless):
    first = suspects(careless, 1)[0]
    assert first.name == f"#{first.position}"
    assert ("observer", "Ben") in first.cells
    assert all(name != "animal" for name, _ in first.cells)


def test_words_concentrate_too():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 2, 400)
    counts = rng.poisson(0.5, (400, 6))
    counts[:, :2] += 4 * np.eye(2, dtype=int)[true]
    careless = rng.random(400) < 0.2
    counts[:, 5] = careless
    wrong = careless & (rng.random(400) < 0.5)
    found = audit(sparse.csr_array(counts), np.where(wrong, 1 - true, true))
    assert "has" in by_value(found)[0].value
    assert "5" in by_value(found)[0].value
    assert to_json(found)["issues"] and "<h1>" in to_html(found)


def test_figures_stay_on_their_canvas(careless):
    for figure in (histogram(counts_of(careless)), calibration(curve_of(careless))):
        for mark in figure.marks:
            assert 44 <= mark.x <= 352 and 12 - 1e-9 <= mark.y <= 192 + 1e-9
    place = interval(careless.error_rate)
    assert 0 <= place["low"] <= place["value"] <= 100
    assert place["low"] + place["width"] <= 100


def test_a_summary_for_notebooks():
    small = small_audit()
    assert "About 20.7%" in summary_html(small)
    assert small._repr_html_() == summary_html(small)
    assert len(summary_html(small)) < 3000


def test_nothing_flagged_is_said():
    page = to_html(small_audit_without_issues())
    assert "No row is flagged" in page


def small_audit_without_issues():
    found = small_audit()
    keep = found.posterior.argmax(axis=1)
    found.given[:] = np.where(found.given < 0, -1, keep)
    return found
