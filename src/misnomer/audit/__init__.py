"""How many labels are wrong, which ones, and why.

Light on purpose: the package binds ``misnomer.audit`` to the function as it is imported, lest this
folder of the same name hide it; whatever is heavy is imported on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from misnomer.audit.files.folder import load_audit, save_audit
    from misnomer.audit.numbers import Fitted
    from misnomer.audit.result import Audit
    from misnomer.classifiers import NoisyLabelEstimator
    from misnomer.evidence import Explanation

__all__ = ["Audit", "Explanation", "Fitted", "audit", "load_audit", "save_audit"]

_HOMES = {
    "Audit": "audit.result",
    "Explanation": "evidence",
    "Fitted": "audit.numbers",
    "load_audit": "audit.files.folder",
    "save_audit": "audit.files.folder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'misnomer.audit' has no attribute {name!r}")
    return getattr(import_module(f"misnomer.{_HOMES[name]}"), name)


def audit(
    data: Any = None,
    label: Any = None,
    *,
    text: Any = (),
    families: str | Mapping[Any, str] = "auto",
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
    random_state: Any = 0,
    classifier: NoisyLabelEstimator | None = None,
    progress: Any = None,
    memory: str | int | None = None,
    skip_bad: bool = False,
    checkpoint: Any = None,
    cluster: Any = None,
    annotators: Any = None,
    long: Any = None,
    noise_groups: Any = None,
    knowledge: Any = None,
    y: Any = None,
    reading: Mapping[str, Any] | None = None,
    ignore_case: bool = False,
    checked: Any = None,
    learners: Any = None,
    pred_probs: Any = None,
    labels: Any = None,
) -> Audit:
    """Find out how many labels are wrong, and which ones.

    Parameters
    ----------
    data : frame, array, sparse matrix, dict of columns, list of dicts or of texts, or path
        The rows; a Series, a Hugging Face Dataset or a record batch, too. A column of lists of
        numbers is an embedding. A path names a CSV, TSV, Parquet, Arrow, Feather, Excel or
        JSON file (.gz too), or a folder of them.
    label : str, int or array
        The label column of a frame or a file, or the labels themselves: ``audit(X, y)``. A missing
        label (None, NaN, an empty cell) is no error: such a row only helps to learn.
    text : str or list of str
        Columns to be read as texts; columns that look like texts are found without it.
    families : "auto", str or mapping
        The family of every column, or of each by name: "categorical", "bernoulli", "gaussian",
        "count", "text", "ignored".
    ignore : str or list of str
        Columns that must not be learned from.
    id : str
        The column that names the rows: shown, never learned from.
    trusted : str or array (n,) of bool
        Rows whose label is known to be right, as a mask or a column of yes and no.
    random_state : int, RandomState or None
        The seed of what is random; the same seed gives the same audit.
    classifier : NoisyLabelEstimator
        An unfitted classifier to use instead of the default one.
    progress : callable
        Called as ``progress(pass, objective)`` while the model is fitted.
    memory : str or int
        Read a file by batches and use at most so much, such as "4GB"; a file of more than 250 MB
        is read so anyway.
    skip_bad : bool
        Leave out the parts of a file that cannot be read.
    checkpoint : path
        A folder: the same call goes on there after a crash.
    cluster : Client, str or Cluster
        A Dask cluster to compute on; Dask frames, bags and arrays are computed where they are.
    annotators : list of str
        Label columns, one per annotator, in place of ``label``; an empty cell was not asked. The
        given label of a row is its most frequent answer, in a tie the first annotator's.
    long : (row, annotator, label)
        The same for a table with a line per answer: three columns of it. Columns that are the same
        in all lines of a row describe the row.
    noise_groups : str or array (n,)
        The column of the group that each row belongs to; each group errs in its own way.
    knowledge : Knowledge or mapping
        What is known of the errors beforehand, by the parts of `Knowledge`: rates, never, most...
    y : array
        The labels, by the name that scikit-learn gives them.
    reading : mapping
        How a file is to be read, where it does not show: "encoding", "sep", "header" (False where
        there is none), "missing" (words that mean an empty cell), "sheet" of a workbook.
    ignore_case : bool
        Take labels that differ in case only for one.
    checked : frame, mapping or path
        Rows that a person has checked: ``row`` (its position) and ``true_label``, with the columns
        of the design where they come from `Audit.draw_checks`; or a file of them, or the folder of
        an audit. Rows drawn by the design tell the rate whatever the noise; others are known, and
        tell of themselves only.
    learners : "auto" or list
        Who is asked beside naive Bayes: "logistic", "kernel", "trees", or classifiers of
        scikit-learn, which are handed the rows as they came.
    pred_probs : array (n, K), frame or path
        Probabilities of the labels by a model of yours, each row scored without its own label
        (``cross_val_predict``). The columns of a frame are the classes, those of an array their
        sorted order. With them the table may be left out: ``audit(labels=y, pred_probs=P)``.
    labels : array
        The labels, where there is no table beside them.

    Returns
    -------
    Audit
        The rate, the matrix, the ranked rows, the verdict.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> true = np.repeat(["cat", "dog"], 100)
    >>> X = rng.normal(size=(200, 4)) + 3 * (true == "dog")[:, None]
    >>> y = true.copy()
    >>> y[:10] = "dog"
    >>> found = audit(X, y)
    >>> len(found.issues), round(found.error_count.value)
    (10, 10)
    """
    from misnomer.audit.request import request_of, run

    said = {
        "text": text, "families": families, "ignore": ignore, "id": id, "trusted": trusted,
        "random_state": random_state, "classifier": classifier, "progress": progress,
        "memory": memory, "skip_bad": skip_bad, "checkpoint": checkpoint, "cluster": cluster,
        "annotators": annotators, "long": long, "noise_groups": noise_groups,
        "knowledge": knowledge, "y": y, "reading": reading, "ignore_case": ignore_case,
        "checked": checked, "learners": learners, "pred_probs": pred_probs, "labels": labels,
    }  # fmt: skip
    return run(request_of(data, label, **said))
