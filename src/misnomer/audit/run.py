"""audit(): from a table with doubtful labels to an Audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from misnomer.audit.origin import remembering

if TYPE_CHECKING:
    from misnomer.audit.result import Audit
    from misnomer.classifiers.base import NoisyLabelEstimator

Said = ParamSpec("Said")
Found = TypeVar("Found")


def concluding(audit: Callable[Said, Found]) -> Callable[Said, Found]:
    """Let an audit take checked rows in, and end in a verdict with a next step."""

    @wraps(audit)
    def audited(*said: Said.args, **named: Said.kwargs) -> Found:
        found = audit(*said, **named)
        from misnomer.audit.checked import finished

        told: Found = finished(found, named.get("checked"))
        return told

    return audited


@remembering
@concluding
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
        Read a file by batches and use at most so much, such as "4GB"; a file that is large for
        this machine is read so anyway.
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
        Who is asked beside naive Bayes: "logistic", "trees", or classifiers of scikit-learn, which
        are handed the rows as they came.
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
    from misnomer.audit import learn
    from misnomer.audit.checked import known_labels
    from misnomer.audit.inputs import described, gather, given_labels
    from misnomer.audit.own import check_own, refuse_batches

    label = given_labels(label, y, labels)
    if reading is not None:
        data = described(data, reading)
    crowd = annotators is not None or long is not None
    who: dict[str, Any] = {"annotators": annotators, "long": long}
    how: dict[str, Any] = {
        "memory": memory, "skip_bad": skip_bad, "checkpoint": checkpoint, "cluster": cluster,
    }  # fmt: skip
    said: dict[str, Any] = {
        "text": text, "families": families, "ignore": ignore, "id": id, "trusted": trusted,
        "random_state": random_state, "classifier": classifier, "noise_groups": noise_groups,
        "knowledge": knowledge, "ignore_case": ignore_case,
    }  # fmt: skip
    grouped = noise_groups is not None and not crowd
    own = check_own(
        learners, pred_probs, alone=not (crowd or grouped or knowledge or classifier is not None)
    )
    if grouped and not (knowledge is None and classifier is None):
        from misnomer.audit.known import refuse_large

        refuse_large(data, *how.values())
    elif is_large(data, *how.values()):
        refuse_batches(own)
        if crowd:
            from misnomer.audit.crowd_large import audit_crowd_large

            return audit_crowd_large(data, label, **who, **said, **how)
        from misnomer.audit.large import audit_large

        return audit_large(data, label, progress=progress, learners=learners, **said, **how)
    if crowd or grouped:
        from misnomer.audit.several import audit_sources

        return audit_sources(data, label, **who, **said)
    started = perf_counter()
    inputs = gather(
        data, label, ignore=ignore, id=id, trusted=trusted, ignore_case=ignore_case,
        pred_probs=pred_probs,
    )  # fmt: skip
    if checked is not None:
        known, design = known_labels(checked, inputs.y)
        inputs = replace(inputs, checked=known, design=design)
    texts = [text] if isinstance(text, str) else list(text)
    wanted = learn.with_texts(families, texts, inputs.features)
    fresh = learn.prepared(classifier, wanted, random_state, progress, learners)
    if knowledge is not None:
        from misnomer.audit.known import knowing, noted

        fresh = knowing(fresh, knowledge, inputs.y)
        return noted(learn.learned(inputs, fresh, started), knowledge)
    if own:
        return learn.learned(inputs, fresh, started)
    from misnomer.audit.wide import found_wide

    wide: Any = found_wide(inputs, fresh, started)
    return learn.learned(inputs, fresh, started) if wide is None else wide


def is_large(data: Any, *said: Any) -> bool:
    """Tell what is better not read at once: what the user says is, a Dask collection, a big file.

    Examples
    --------
    >>> is_large([[1.0]]), is_large("small.csv", "4GB")
    (False, True)
    """
    if type(data).__module__.startswith("dask"):
        return True
    if not isinstance(data, str | Path) or str(data) == "-":
        return False
    if any(said):
        return True
    from misnomer.audit.streaming import too_large

    return too_large(data)
