"""misnomer predict: empty cells say nothing, unseen categories are said, files are files."""

from datetime import UTC, date, datetime, time

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from misnomer import NoisyLabelNB
from misnomer.channel import identity
from misnomer.cli import actions, app
from misnomer.model import Model
from misnomer.rows import read
from misnomer.rows.files.excel import write_workbook
from misnomer.store import save_model
from misnomer.table import Batch


@pytest.fixture
def model(tmp_path):
    city = ["Bonn", "Köln"] * 20
    age = [30 + i % 7 for i in range(40)]
    rows = pd.DataFrame({"city": city, "age": age})
    classifier = NoisyLabelNB(channel="identity").fit(rows, ["a", "b", "b", "b"] * 10)
    return save_model(classifier, tmp_path / "model.safetensors")


def predicted(model, text, *options):
    file = model.with_name("new.csv")
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["predict", str(model), str(file), *options])


@pytest.mark.parametrize("large", [False, True])
def test_unseen_categories_and_empty_rows_are_said(model, monkeypatch, large):
    monkeypatch.setattr(actions, "is_large", lambda file: large)
    result = predicted(model, "city,age\nUlm,31\nBonn,31\nHof,\n,\n")
    assert result.exit_code == 0
    assert "2 cells hold a category that the model has not seen (such as 'Ulm', 'Hof')" in (
        result.output
    )
    assert "2 rows hold no value that the model knows" in result.output
    assert "note" not in predicted(model, "city,age\nBonn,31\n").output


def test_a_workbook_is_a_workbook(model):
    out = model.with_name("p.xlsx")
    assert predicted(model, "city,age\nBonn,31\n", "--out", str(out)).exit_code == 0
    lines = list(openpyxl.load_workbook(out).active.iter_rows(values_only=True))
    assert lines[0] == ("city", "age", "predicted_class", "probability")
    assert lines[1][:2] == ("Bonn", 31)


def test_dates_of_a_workbook_stay_dates(tmp_path):
    day, noon = datetime(2024, 3, 1), time(12, 30)
    zoned = datetime(2024, 3, 1, tzinfo=UTC)
    cells = {"day": [day], "at": [noon], "born": [date(1870, 1, 2)], "zoned": [zoned]}
    write_workbook(pa.table(cells), tmp_path / "t.xlsx")
    lines = list(openpyxl.load_workbook(tmp_path / "t.xlsx").active.iter_rows(values_only=True))
    assert lines[1] == (day, noon, "1870-01-02", "2024-03-01 00:00:00+00:00")


@pytest.mark.parametrize("name", ["p.docx", "p", "p.xlsm"])
def test_no_file_under_a_name_of_another_form(model, name):
    done = predicted(model, "city,age\nBonn,31\n", "--out", str(model.with_name(name)))
    assert done.exit_code == 2 and "let the name end in .csv or .parquet or .xlsx" in done.output
    assert not model.with_name(name).exists()
    model.with_name(name).write_text("mine")
    again = predicted(model, "city,age\nBonn,31\n", "--force", "--out", str(model.with_name(name)))
    assert again.exit_code == 2 and model.with_name(name).read_text() == "mine"


def test_a_large_file_is_no_workbook(model, monkeypatch):
    monkeypatch.setattr(actions, "is_large", lambda file: True)
    out = model.with_name("p.xlsx")
    done = predicted(model, "city,age\nBonn,31\n", "--out", str(out))
    assert done.exit_code == 2 and "let the name end in .csv or .parquet" in done.output
    assert not out.exists()


def test_a_folder_that_is_not_there_is_named(model):
    done = predicted(model, "city,age\nBonn,31\n", "--out", str(model.parent / "no" / "p.csv"))
    assert done.exit_code == 2 and "there is no folder" in done.output
    assert ".part" not in done.output


@pytest.mark.parametrize("header", ["town,years", "town,years,sex"])
def test_other_columns_are_not_taken_for_the_models(model, header):
    cells = ",".join(["Bonn", "31", "f"][: header.count(",") + 1])
    done = predicted(model, f"{header}\n{cells}\n")
    assert done.exit_code == 2
    said = "X has none of the columns of the training data ('city', 'age'): it has 'town', 'years'"
    assert said in " ".join(done.output.split())


def test_an_empty_row_has_the_shares_whatever_the_bias():
    X = np.array([[np.nan, np.nan], [1.5, np.nan], [0.2, 0.3]])
    schema, blocks = read(X)
    weights = np.random.default_rng(0).normal(size=(2, schema.statistics))
    biased = Model(np.array([0.6, 0.4]), identity(2), weights, schema, np.array([0.0, 1.5]))
    batch = Batch(blocks, np.full(3, 2, np.int32))
    np.testing.assert_allclose(biased.posterior(batch)[0], [0.6, 0.4])
    assert abs(biased.posterior(batch)[1] - [0.6, 0.4]).max() > 0.01
    totals = [one.total for one in biased.evidence(batch)]
    np.testing.assert_allclose(totals, biased.log_joint(batch))
