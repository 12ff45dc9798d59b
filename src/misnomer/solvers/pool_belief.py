"""When the joint model of columns and labels is believed: its clusters are the classes.

Where the columns really are independent given the class, the joint model knows more than the labels
do. Clusters that pass are as good as classes: within them columns vary, alone and in pairs, as
independent columns would, and without them they do not; they bear the names of their classes; and
labels that had no part in them agree with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from misnomer.solvers.pool_generative import dispersion
from misnomer.solvers.pool_pairs import pairs_z
from misnomer.solvers.pool_rows import Rows

Array = NDArray[np.float64]

INDEPENDENT = 2.0  # standard errors of the dispersion, and of the correlations of pairs
_CONFIRMED = 0.68  # two-sided: a standard error


def independent(rows: Rows, share: Array) -> bool:
    """Tell whether columns vary within clusters, alone and in pairs, as independent ones would.

    Over all rows they must not: columns that are independent anyway hold no clusters, and what
    they make of the labels is no more than the labels say.
    """
    if abs(dispersion(rows, share).z) >= INDEPENDENT:
        return False
    return pairs_z(rows, share) < INDEPENDENT < pairs_z(rows, share, together=True)


def named_alike(joint: Array) -> bool:
    """Tell whether clusters bear the names of their classes: no two were better called in reverse.

    ``joint`` is the weight of (given, cluster), (K, K); with a row added to each cell,
    ``joint[k, k] joint[l, l] >= joint[k, l] joint[l, k]`` for all k and l.

    Examples
    --------
    >>> named_alike(np.array([[54.0, 19.0], [18.0, 9.0]]))
    True
    >>> named_alike(np.array([[3.0, 6.0], [6.0, 3.0]]))
    False
    """
    cells = np.log(joint + 1.0)
    own = np.diag(cells)
    return bool((own[:, None] + own >= cells + cells.T - 1e-9).all())


def confirmed(joint: Array) -> bool:
    """Tell whether labels have to do with clusters that were found without them.

    ``joint`` is the weight of (label, cluster), (K, K); twice its mutual information in nats is
    chi-squared with (K - 1)^2 degrees of freedom by chance.

    Examples
    --------
    >>> confirmed(np.array([[9.0, 1.0], [2.0, 8.0]])), confirmed(np.array([[6.0, 4.0], [5.0, 5.0]]))
    (True, False)
    """
    total = max(float(joint.sum()), 1e-300)
    chance = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / total
    known = float((joint * np.log(np.maximum(joint, 1e-300) / np.maximum(chance, 1e-300))).sum())
    return bool(known > chdtri((len(joint) - 1) ** 2, 1.0 - _CONFIRMED) / 2.0)
