"""Groups of rows and errors known beforehand on a cluster: the answer that they have in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("distributed")

import dask.bag as db
import dask.dataframe as dd

from misnomer import audit
from tests.audit.crowds.test_groups import GROUPS, check_same, messy_sites, written
from tests.audit.rows import planted
from tests.crowds import sites

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def test_groups_of_a_dask_frame(cluster):
    frame = messy_sites()
    want = audit(frame, trusted="ok", **GROUPS)
    lazy = dd.from_pandas(frame, npartitions=4)
    got = audit(lazy, trusted="ok", cluster=cluster, **GROUPS)
    check_same(got, want)
    rows = got.rows.compute()
    np.testing.assert_allclose(rows["error_probability"], want.error_probability, atol=1e-9)
    assert (rows["suggested_label"] == want.rows["suggested_label"]).all()


def test_many_rows_of_groups_on_a_cluster(cluster, tmp_path):
    frame, given, *_ = planted(10_500)
    frame["y"] = given
    path = written(frame, tmp_path / "t.parquet", 3_001)
    said = {"label": "y", "noise_groups": "ward"}
    check_same(audit(path, cluster=cluster, **said), audit(frame, **said), close=1e-6)


def test_knowledge_on_a_cluster(cluster):
    frame = sites(n=300)[0].drop(columns="site")
    said = {"label": "y", "knowledge": {"rates": {"yes": 0.15}, "most": 0.3}}
    want = audit(frame, **said)
    parts = [pa.Table.from_pandas(frame[a : a + 100], preserve_index=False) for a in (0, 100, 200)]
    for data in (dd.from_pandas(frame, npartitions=3), db.from_sequence(parts, npartitions=3)):
        got = audit(data, cluster=cluster, **said)
        np.testing.assert_allclose(got.posterior, want.posterior, atol=1e-9)
        assert got.fitted.notes == want.fitted.notes
        assert got.verdict.sentences == want.verdict.sentences


def test_bad_groups_of_a_dask_frame_get_one_sentence(cluster):
    frame = sites(n=90)[0]
    frame.loc[70, "site"] = None
    lazy = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match="row 70 has a label but no group in 'site'"):
        audit(lazy, cluster=cluster, **GROUPS)
    with pytest.raises(ValueError, match="noise_groups must name a column"):
        audit(lazy, label="y", noise_groups=frame["site"], cluster=cluster)
    with pytest.raises(ValueError, match="need all rows at once"):
        audit(lazy, cluster=cluster, knowledge={"most": 0.3}, **GROUPS)
