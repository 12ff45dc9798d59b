"""A column of texts -> words: scikit-learn's rule, each word once per document.

Texts are lowercased and split into runs of two or more letters, digits or underscores, of any
script (``CountVectorizer``'s pattern). A word counts once per document, and must occur in two
documents to enter the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

_WORDS = 3.0  # words per cell, in the mean, that make a column of strings a text
_OWN = 0.5  # share of cells with a value of their own


def looks_like_text(values: pa.Array, distinct: int) -> bool:
    """Tell texts from categories: mostly different, and several words long.

    Examples
    --------
    >>> looks_like_text(pa.array(["see you at noon", "call me this evening"]), 2)
    True
    >>> looks_like_text(pa.array(["red", "green"]), 2)
    False
    """
    seen = len(values) - values.null_count
    if distinct < _OWN * seen:
        return False
    spaces = pc.mean(pc.count_substring_regex(values, r"\s+")).as_py()
    return bool(spaces is not None and spaces + 1 >= _WORDS)


def vocabulary(documents: Sequence[str | None]) -> tuple[str, ...]:
    """Collect the words that occur in two documents or more, sorted."""
    from sklearn.feature_extraction.text import CountVectorizer

    analyze = CountVectorizer().build_analyzer()
    often: dict[str, int] = {}
    for document in documents:
        for word in set(analyze(document or "")):
            often[word] = often.get(word, 0) + 1
    return tuple(sorted(word for word, count in often.items() if count > 1))


def words(documents: Sequence[str | None], known: tuple[str, ...]) -> sparse.csr_array:
    """Mark which known words each document holds, (n, V); unknown words are ignored.

    Examples
    --------
    >>> words(["so it goes, so", None], ("goes", "so")).toarray().tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if not known:
        return sparse.csr_array((len(documents), 0), dtype=np.float64)
    vectorizer: Any = CountVectorizer(vocabulary=list(known), binary=True, dtype=np.float64)
    return sparse.csr_array(vectorizer.transform([document or "" for document in documents]))
