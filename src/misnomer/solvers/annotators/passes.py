"""Passes over the answers: add up what a row's annotators say, and take one of them back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misnomer.answers import Answers
from misnomer.kernels.reference import softmax

Array = NDArray[np.float64]
_CHUNK = 1 << 17  # answers whose left-out posteriors are spelled out at a time


def evidence(answers: Answers, channels: Array) -> Array:
    """Add up ``log channel_a[y, z]`` over the answers of each row, (n, K).

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> said = from_table([["x", "x"], ["y", None]])
    >>> both = np.array([[[0.8, 0.2], [0.2, 0.8]]] * 2)
    >>> np.exp(evidence(said, both)).round(2).tolist()
    [[0.64, 0.04], [0.2, 0.8]]
    """
    return answers.matrix @ np.log(channels).reshape(-1, channels.shape[2])


def confusions(answers: Answers, share: Array) -> Array:
    """Count each annotator's answers by label and (expected) true class, (A, L, K)."""
    flat = answers.matrix.T @ share
    return flat.reshape(answers.n_annotators, answers.n_labels, share.shape[1])


def left_out(answers: Answers, total: Array, channels: Array) -> tuple[Array, Array]:
    """Predict every answer from the rest of its row.

    Answer j by annotator a about row i: ``rest[j] = softmax(total[i] - log channel_a[y_j])`` is
    the posterior without it, ``right[j] = rest[j, y_j]`` and
    ``chance[j] = sum_z rest[j, z] channel_a[y_j, z]``.

    Parameters
    ----------
    answers : Answers
        N of them.
    total : (n, K) array
        The log joint of each row, all its answers included.
    channels : (A, L, K) array
        P(label | true) of each annotator.

    Returns
    -------
    right, chance : (N,) arrays
        P(the answer is right) and P(the answer), both without it.
    """
    table = channels.reshape(-1, channels.shape[2])
    right, chance = np.empty(len(answers)), np.empty(len(answers))
    for at in range(0, len(answers), _CHUNK):
        piece = slice(at, at + _CHUNK)
        own = table[answers.code[piece]]
        rest = softmax(total[answers.row[piece]] - np.log(own))[0]
        right[piece] = rest[np.arange(len(rest)), answers.label[piece]]
        chance[piece] = np.einsum("jk,jk->j", rest, own)
    return right, chance


def first_shares(answers: Answers, n_classes: int, hold: float) -> Array:
    """Begin with the shares of the votes, (n, K); a row without any is open.

    A row with a single answer holds to it by ``hold`` only: votes of one would leave no doubt,
    and EM cannot leave a channel without doubt.
    """
    votes = answers.votes()
    total = votes.sum(axis=1, keepdims=True)
    open_row = np.full(n_classes, 1.0 / n_classes)
    share = np.where(total > 0, votes / np.maximum(total, 1.0), open_row)
    return np.where(total == 1, hold * share + (1.0 - hold) * open_row, share)


def known(total: Array, truth: NDArray[np.int32] | None) -> Array:
    """Leave the rows whose true class is known no other class."""
    if truth is None or not (truth >= 0).any():
        return total
    sure = np.flatnonzero(truth >= 0)
    out = total.copy()
    out[sure] = -1e3
    out[sure, truth[sure]] = total[sure, truth[sure]].clip(min=-500.0)
    return out
