"""A column of texts -> words: scikit-learn's rule, each word once per document.

Texts are lowercased and split into runs of two or more letters, digits or underscores, of any
script (``CountVectorizer``'s pattern). A word counts once per document, and must occur in two
documents to enter the vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

_WORDS = 3.0  # words per cell, in the mean, that make a column of strings a text
_OWN = 0.5  # share of cells with a value of their own


def spaces(values: pa.Array) -> int:
    """Count the runs of white space between words, over all cells.

    Examples
    --------
    >>> spaces(pa.array(["see you at noon", "red", None]))
    3
    """
    return int(pc.sum(pc.count_substring_regex(values, r"\s+")).as_py() or 0)


def looks_like_text(seen: int, distinct: int, gaps: int) -> bool:
    """Tell texts from categories: mostly different, and several words long.

    Examples
    --------
    >>> looks_like_text(seen=2, distinct=2, gaps=6), looks_like_text(seen=2, distinct=2, gaps=0)
    (True, False)
    """
    return distinct >= _OWN * seen and gaps + seen >= _WORDS * seen


def words_of(values: pa.Array) -> Counter[str]:
    """Count in how many texts each word occurs.

    Examples
    --------
    >>> sorted(words_of(pa.array(["so it goes, so", "it is"])).items())
    [('goes', 1), ('is', 1), ('it', 2), ('so', 1)]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    analyze = CountVectorizer().build_analyzer()
    often: Counter[str] = Counter()
    for text in values.to_pylist():
        if text is not None:
            often.update(sorted(set(analyze(text))))
    return often


def vocabulary(often: Counter[str]) -> tuple[str, ...]:
    """Keep the words that occur in two documents or more, sorted."""
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
