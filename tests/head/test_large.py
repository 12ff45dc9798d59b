"""How many rows explain the labels of a large table."""

from types import SimpleNamespace

import pytest

from misnomer.head import large
from misnomer.table import Column, Schema


def task(rows, columns, classes):
    schema = Schema(tuple(Column(f"x{j}", "gaussian") for j in range(columns)))
    channel = SimpleNamespace(n_classes=classes)
    return SimpleNamespace(schema=schema, extent=(rows, rows * columns), channel=channel)


@pytest.mark.parametrize(
    ("columns", "classes", "rows"),
    [
        (20, 5, large.SAMPLE_ROWS),  # a table, not an embedding
        (200, 20, large.EMBEDDED_ROWS),
        (384, 20, 13_020),  # as many as a search can look at
        (1536, 100, large.SAMPLE_ROWS),
    ],
)
def test_embeddings_are_explained_by_more_rows(columns, classes, rows):
    assert large.sample_rows(task(50_000, columns, classes)) == rows


@pytest.mark.parametrize(("rows", "is_large"), [(19_000, False), (21_000, True)])
def test_embeddings_of_so_many_rows_take_part_whole(rows, is_large):
    assert large.is_large(task(rows, 200, 20)) == is_large
