"""A channel counted out by the rows that scores are sure of; it needs no search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.pool_rows import Rows

Array = NDArray[np.float64]


def confident_joint(rows: Rows, chance: Array) -> Array:
    """Count rows above the mean self-confidence of a class; columns sum to one, (K, K).

    ``chance`` is P(given | x), (n, K), out of fold. The count (given, likely) is scaled to the
    number of given labels.
    """
    at, K = rows.labeled, rows.classes
    label, weight, chance = rows.label[at], rows.weight[at], chance[at]
    count = np.bincount(label, weight, minlength=K)
    own = np.bincount(label, weight * chance[np.arange(len(at)), label], minlength=K)
    level = np.where(count > 0, own / np.maximum(count, 1e-9), 1.0)
    above = chance >= level - 1e-9
    sure = above.any(axis=1)
    likely = np.where(above, chance, -1.0).argmax(axis=1)
    joint = np.zeros((K, K))
    np.add.at(joint, (label[sure], likely[sure]), weight[sure])
    np.fill_diagonal(joint, np.maximum(np.diag(joint), 1.0))
    joint *= (np.maximum(count, 1e-9) / joint.sum(axis=1))[:, None]
    return joint / joint.sum(axis=0)
