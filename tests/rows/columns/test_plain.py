"""Columns in their simplest form."""

import pyarrow as pa
import pytest

from misnomer.rows.columns.plain import plain
from misnomer.rows.files.cells import cast_cells, without_words


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_slice_of_texts_is_sound(start, length):
    texts = pa.array(["a", None, " ", "?", "word"]).slice(start, length)
    words = texts.to_pylist()
    for simple, blank in (
        (plain(texts), (" ",)),
        (cast_cells(texts, "text"), (" ",)),
        (without_words(texts, ("?",)), ("?",)),
    ):
        simple.validate(full=True)  # Arrow 16 answers with texts that lie outside of its memory
        assert simple.to_pylist() == [None if word in blank else word for word in words]
