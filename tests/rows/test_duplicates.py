"""Equal rows: found whatever the types, in the order of the rows, conflicts told apart."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from misnomer.rows.neighbors import duplicates

ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.5, None, 1.0]), st.booleans()),
    max_size=30,
)


@given(ROWS)
def test_groups_are_the_equal_rows(rows):
    table = pa.table(
        {name: pa.array([row[j] for row in rows], kind) for j, (name, kind) in enumerate(KINDS)}
    )
    labels = [i % 3 for i in range(len(rows))]
    found = duplicates(table, labels)
    for i, one in enumerate(rows):
        equal = [j for j, other in enumerate(rows) if other == one]
        assert (found.group[i] >= 0) == (len(equal) > 1)
        if len(equal) > 1:
            assert np.flatnonzero(found.group == found.group[i]).tolist() == equal
            several = len({labels[j] for j in equal}) > 1
            assert found.conflicting[found.group[i]] == several
    assert found.repeated == len(rows) - len(set(rows))


KINDS = (("word", pa.string()), ("number", pa.float64()), ("flag", pa.bool_()))


def test_a_missing_label_is_no_conflict():
    found = duplicates(pa.table({"x": [1, 1, 2, 2]}), ["a", None, "a", "b"])
    assert found.conflicting.tolist() == [False, True]
    assert found.group.tolist() == [0, 0, 1, 1]


def test_lists_and_no_columns():
    lists = pa.table({"e": [[1.0, 2.0], [1.0, 2.0], None]})
    assert duplicates(lists, ["a", "b", "a"]).group.tolist() == [0, 0, -1]
    assert duplicates(pa.table({"x": pa.array([], pa.int64())}), []).repeated == 0
