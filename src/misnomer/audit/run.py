"""audit(): from a table with doubtful labels to an Audit."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.classifiers.base import NoisyLabelNB


def audit(
    data: Any,
    label: Any = None,
    *,
    text: Any = (),
    families: str | Mapping[Any, str] = "auto",
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
    random_state: Any = 0,
    classifier: NoisyLabelNB | None = None,
    progress: Any = None,
) -> Audit:
    """Find out how many labels are wrong, and which ones.

    Parameters
    ----------
    data : frame, array, sparse matrix or path
        The rows. A path names a CSV, TSV, Parquet, Arrow, Feather or JSON lines file (.gz too), or
        a folder of Parquet files.
    label : str or array
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
    classifier : NoisyLabelNB
        An unfitted classifier to use instead of the default one.
    progress : callable
        Called as ``progress(pass, objective)`` while the model is fitted.

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
    from misnomer.audit import learn
    from misnomer.audit.inputs import gather

    started = perf_counter()
    inputs = gather(data, label, ignore=ignore, id=id, trusted=trusted)
    texts = [text] if isinstance(text, str) else list(text)
    wanted = learn.with_texts(families, texts, inputs.features)
    return learn.learned(
        inputs,
        learn.prepared(classifier, wanted, random_state, progress),
        started,
    )
