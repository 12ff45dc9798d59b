"""Channels: structure survives, columns sum to one, bad matrices are refused."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from misnomer.channel import (
    checked_matrix,
    fixed,
    flips,
    free,
    identity,
    positive_unlabeled,
    uniform,
    unlabeled,
)

MAKERS = [identity(3), uniform(3), flips([0.1, 0.2, 0.3]), free(3), fixed(np.full((3, 3), 1 / 3))]


@example([0.0] * 8 + [5e-324], 1)  # a mass that cannot be divided by
@given(st.lists(st.floats(0, 100), min_size=9, max_size=9), st.sampled_from(range(len(MAKERS))))
def test_columns_sum_to_one_after_any_refit(mass, which):
    channel = MAKERS[which].refit(np.array(mass).reshape(3, 3))
    np.testing.assert_allclose(channel.matrix.sum(axis=0), 1.0, rtol=1e-12)


def test_structural_zeros_and_fixed_cells_survive():
    channel = free(3).restrict([(2, 0)]).restrict([(0, 1)], 0.25)
    after = channel.refit(np.ones((3, 3)) * 7)
    assert after.matrix[2, 0] == 0.0
    assert after.matrix[0, 1] == 0.25
    np.testing.assert_allclose(after.matrix.sum(axis=0), 1.0)
    assert positive_unlabeled().refit(np.ones((2, 2))).matrix[1, 0] == 0.0


def test_fixed_never_moves():
    matrix = np.array([[0.9, 0.2], [0.1, 0.8]])
    assert (fixed(matrix).refit(np.ones((2, 2))).matrix == matrix).all()


def test_uniform_keeps_one_rate_and_flips_one_per_class():
    mass = np.array([[8.0, 1.0, 0.0], [1.0, 4.0, 2.0], [1.0, 0.0, 3.0]])
    one = uniform(3).refit(mass).matrix
    np.testing.assert_allclose(np.diag(one), 15 / 20)
    np.testing.assert_allclose(one[~np.eye(3, dtype=bool)], 5 / 40)
    per_class = flips([0.2] * 3).refit(mass).matrix
    np.testing.assert_allclose(np.diag(per_class), [0.8, 0.8, 0.6])
    np.testing.assert_allclose(per_class[1, 0], per_class[2, 0])


def test_prior_counts_are_virtual_rows():
    channel = free(2, counts=np.array([[9.0, 1.0], [1.0, 9.0]])).refit(np.zeros((2, 2)))
    np.testing.assert_allclose(channel.matrix, [[0.9, 0.1], [0.1, 0.9]])


def test_reverse_is_bayes_rule():
    reverse = fixed([[0.8, 0.5], [0.2, 0.5]]).reverse(np.array([0.5, 0.5]))
    np.testing.assert_allclose(reverse, [[8 / 13, 5 / 13], [2 / 7, 5 / 7]])


def test_table_has_a_row_for_every_kind_of_evidence():
    table = np.exp(free(2, 0.9).table(np.array([0.25, 0.75])))
    np.testing.assert_allclose(table[2], [0.25, 0.75])  # no label
    np.testing.assert_allclose(table[3:], [[0.25, 0], [0, 0.75]])  # trusted
    assert unlabeled(4).table(np.full(4, 0.25)).shape == (5, 4)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.9, 0.2], [0.2, 0.8]], "column 0 of the channel sums to 1.1"),
        ([[-0.1, 0.2], [1.1, 0.8]], "probabilities"),
        ([0.5, 0.5], "table"),
        ([[np.nan, 1.0], [1.0, 0.0]], "probabilities"),
    ],
)
def test_a_bad_matrix_is_refused(matrix, words):
    with pytest.raises(ValueError, match=words):
        checked_matrix(matrix)


def test_a_column_that_cannot_sum_to_one_is_refused():
    with pytest.raises(ValueError, match="column 1"):
        free(2).restrict([(0, 1), (1, 1)])


def test_a_rate_outside_the_unit_interval_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        uniform(3, 1.5)
