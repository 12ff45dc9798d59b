"""A value and its interval."""

from __future__ import annotations

import math

import pytest

from misnomer.estimate import Estimate, normal_quantile


def test_it_prints_and_converts():
    found = Estimate(0.8123, 0.79, 0.8345, confidence=0.95)
    assert str(found) == "0.812 (95% interval 0.790 to 0.835)"
    assert f"{found:.1%}" == "81.2% (95% interval 79.0% to 83.5%)"
    assert float(found) == 0.8123
    assert 0.8 in found
    assert 0.84 not in found


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.5, 0.6, 0.7), "does not hold the value 0.5"),
        ((math.nan, 0, 1), "does not hold the value nan"),
        ((0.5, math.nan, 1), "does not hold the value"),
        ((0.5, 0, 1, 90), "confidence is 90"),
    ],
)
def test_bad_input_is_named(numbers, message):
    with pytest.raises(ValueError, match=message):
        Estimate(*numbers)


def test_complement_turns_the_interval_round():
    risk = Estimate(0.75, 0.5, 0.875, confidence=0.8).complement()
    assert risk == Estimate(0.25, 0.125, 0.5, confidence=0.8)


@pytest.mark.parametrize(
    ("confidence", "z"), [(0.90, 1.644854), (0.95, 1.959964), (0.99, 2.575829)]
)
def test_normal_quantiles(confidence, z):
    assert normal_quantile(confidence) == pytest.approx(z, abs=1e-6)
