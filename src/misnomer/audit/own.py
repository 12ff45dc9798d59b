"""Your own model in an audit: what goes with it, and what does not."""

from __future__ import annotations

from typing import Any

from misnomer.classifiers.noisy import named_learners

_ALONE = "do not go with annotators, long, noise_groups, knowledge or classifier: leave one out"


def check_own(learners: Any, pred_probs: Any, *, alone: bool) -> list[str]:
    """Name what the user brings: learners that are no names, probabilities.

    Parameters
    ----------
    learners, pred_probs
        As in `audit`.
    alone : bool
        Whether nothing else was said that would decide who is asked.

    Examples
    --------
    >>> check_own(["trees"], None, alone=True), check_own(None, [[0.5, 0.5]], alone=True)
    ([], ['pred_probs'])
    """
    if learners is not None and not alone:
        raise ValueError(f"learners {_ALONE}")
    if pred_probs is not None and not alone:
        raise ValueError(f"pred_probs {_ALONE}")
    found = []
    if learners is not None and not all(isinstance(one, str) for one in named_learners(learners)):
        found.append("learners")
    return [*found, "pred_probs"] if pred_probs is not None else found


def refuse_batches(own: list[str]) -> None:
    """Refuse what must see all rows at once where they are read by batches or on a cluster."""
    if own == ["learners"]:
        raise ValueError(
            'of rows that are read by batches or on a cluster, learners are names ("logistic", '
            '"trees"): a classifier of your own needs all rows in memory'
        )
    if own:
        raise ValueError(
            "pred_probs need all rows at once: leave memory, skip_bad, checkpoint and cluster out, "
            "and pass a frame or a file that fits into memory"
        )
