"""Groups among many rows: EM whose sums are folds ends where EM over all rows at once does."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from misnomer.engines import local
from misnomer.solvers.difficulty_fit import Margin
from misnomer.solvers.strata_all import Expected, _climbed
from misnomer.solvers.strata_columns import Members
from misnomer.solvers.strata_groups import Groups, regrouped
from misnomer.solvers.strata_search import Labels
from misnomer.table import Batch
from tests.solvers.test_strata import labels_of, shared


class Told:
    """Scores rows by what is told of them."""

    def __init__(self, share):
        self.logs = np.log(share)

    def scores(self, batch):
        return self.logs[batch.start : batch.start + len(batch)]


@pytest.mark.parametrize(("own", "tied"), [(False, True), (True, False), (True, None)])
def test_passes_over_batches_end_where_all_rows_at_once_do(own, tied):
    n, size = 6000, 12
    group = np.random.default_rng(2).integers(0, size, n)
    share, given, _ = shared(n, np.linspace(0.05, 0.4, size)[group], sure=2.0)
    labels, count = labels_of(share, given), size + 1
    empty = np.zeros(0, np.intp)
    margin = Margin("group", 0.0, 0.0, 0.0, empty)
    kind = Groups(np.zeros((count, 2, 2)), np.ones((count, 2)), margin, own, tied, empty, 0.0)
    few = Labels(share[:900], given[:900], np.ones(900), labels.fold[:900], labels.channel)
    begin, want = regrouped(kind, few, group[:900]), regrouped(kind, labels, group)
    rows = [
        Batch((), given[a:b].astype(np.int32), start=a, group=group[a:b].astype(np.int32))
        for a, b in pairwise([0, 1, 2000, 2001, 6000])
    ]
    task = SimpleNamespace(batches=rows, fold=local.fold)
    step = Expected.of(begin, Members("group", count), Told(share), labels)
    got, (right, wrong, joint, usual) = _climbed(task, step)
    np.testing.assert_allclose(got.channels[:size], want.channels[:size], atol=0.01)
    np.testing.assert_allclose(got.ratio, want.ratio, atol=0.02)
    off = [np.abs(one.channels[:size] - want.channels[:size]).max() for one in (begin, got)]
    assert tied is None or off[1] < 0.2 * off[0]
    np.testing.assert_allclose(joint.sum(axis=0), (right + wrong).sum(axis=0))
    np.testing.assert_allclose(usual, share.sum(axis=0))
