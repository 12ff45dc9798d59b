"""audit(), the command line and predict choose batches where they must, and say the same."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from misnomer.audit import audit
from misnomer.audit.request import is_large
from misnomer.audit.result import Audit
from misnomer.cli import app
from misnomer.rows.scan import read_table
from tests.audit.rows import table


@pytest.fixture
def path(tmp_path):
    pq.write_table(table(300), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_audit_takes_an_amount_of_memory(path):
    whole, parts = audit(path, "label"), audit(path, "label", memory="1GB")
    assert type(parts) is type(whole) is Audit
    np.testing.assert_array_equal(parts.posterior, whole.posterior)
    assert not is_large(path)
    assert is_large(f"{path.parent}/*.parquet")


def test_the_command_line_goes_by_batches(path, tmp_path):
    out = tmp_path / "out"
    said = [str(path), "--label", "label", "--quiet"]
    for more in (["--memory", "1GB"], []):
        result = CliRunner().invoke(app, ["audit", *said, "--out", str(out), *more, "--force"])
        assert result.exit_code == 0, result.output
        rows = read_table(out / "rows.parquet")["error_probability"]
        (tmp_path / "kept").mkdir(exist_ok=True)
        first = tmp_path / "kept" / "rows.parquet"
        if not first.exists():
            pq.write_table(pa.table({"p": rows}), first)
        assert read_table(first)["p"].equals(rows)


def test_predictions_by_batches(path, tmp_path, monkeypatch):
    run = CliRunner().invoke
    assert run(app, ["audit", str(path), "-l", "label", "-q", "-o", f"{tmp_path}/o"]).exit_code == 0
    got = []
    for large in (False, True):
        monkeypatch.setattr("misnomer.cli.actions.is_large", lambda _, large=large: large)
        for suffix in ("csv", "parquet"):
            out = tmp_path / f"p.{suffix}"
            done = run(app, ["predict", f"{tmp_path}/o", str(path), "-o", str(out), "--force"])
            assert done.exit_code == 0, done.output
            got.append(read_table(out))
    assert got[0].equals(got[2])
    assert got[1].equals(got[3].combine_chunks())


def test_standard_input_cannot_be_read_twice():
    result = CliRunner().invoke(app, ["audit", "-", "-l", "label", "--memory", "1GB"])
    assert result.exit_code == 2
