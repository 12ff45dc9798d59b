"""Numbers and dates as people write them: read where there is one way to, said where not."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from misnomer import NoisyLabelNB
from misnomer.rows import read, read_like
from misnomer.rows.files.cells import cast_cells, without_words
from misnomer.rows.notation import find_notation, plain, read_notation
from misnomer.rows.scan import read_table, scan
from misnomer.store import load_model, save_model
from misnomer.table import Batch
from tests.audit.rows import in_memory

MARCH = 19_783.0  # the first of March 2024, in days since 1970


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["01.03.2024", "31.12.2023"], [MARCH, MARCH - 61]),
        (["13/03/2024", "1/3/2024"], [MARCH + 12, MARCH]),
        (["03/13/2024", "3/1/2024"], [MARCH + 12, MARCH]),
        (["2024/03/01", "2024-03-01 12:00"], [MARCH, MARCH + 0.5]),
        (["01.03.2024 6:00", "01.03.2024 18:00:00"], [MARCH + 0.25, MARCH + 0.75]),
        (["2024-03-01T12:00:00Z", "2024-03-01T12:00:00+02:00"], [MARCH + 0.5, MARCH + 5 / 12]),
        (["$1,234.50", "-$7", "$ 0.25"], [1234.5, -7, 0.25]),
        (["1.234,50 €", "7,00 €"], [1234.5, 7]),
        (["12 %", "7.5%"], [12, 7.5]),
        (["1,234.50", "12"], [1234.5, 12]),
        (["1.234,50", "12"], [1234.5, 12]),
        (["12,345,678", "1,234"], [12_345_678, 1234]),
        (["1,2", "3,45"], [1.2, 3.45]),
        (["0,500", "1,250"], [0.5, 1.25]),
        (["1'234.50", "7"], [1234.5, 7]),
        (["6 months", "1 month"], [6, 1]),
        (["5.5 mg/l", "<0.5", "7"], [5.5, 0.5, 7]),
        (["1.5", "?", "NA", "2"], [1.5, None, None, 2]),
        (["1.5", "#N/A", "#DIV/0!"], [1.5, None, None]),
        (["1.5", "<NA>", "\u2013", "#NV"], [1.5, None, None, None]),
        (["\u22121.5", "2"], [-1.5, 2]),
        (["(1.50)", "2.50", "($ 7)"], [-1.5, 2.5, -7]),
        (["(80)", "120"], [-80, 120]),
        (["1,5-", "2"], [-1.5, 2]),
        (["US$ 1.50", "2.50"], [1.5, 2.5]),
        (["3,50 zł", "12 zł"], [3.5, 12]),
        (["24.5 kg/m^2", "31 kg/m^2"], [24.5, 31]),
        (["1\u2009234,5", "7"], [1234.5, 7]),
        (["6:00", "18:30", "?"], [0.25, 18.5 / 24, None]),
        (["0:00:30", "25:00:00.5"], [30 / 86_400, 90_000.5 / 86_400]),
        (["5 %", "0"], [5, 0]),
    ],
)
def test_what_has_one_reading(cells, numbers):
    found = find_notation(pa.array(cells))
    assert read_notation("x", pa.array(cells), found.form).to_pylist() == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["03/01/2024", "04/02/2024"], "'03/01/2024' may begin with the day or with the month"),
        (["1,234", "5"], "'1,234' may be a thousand or a part of one"),
        (["6 months", "2 years"], r"several units \('month' and 'year'\)"),
        (["$5", "€7"], "several units"),
        (["1.3.24", "31.12.23"], "'1.3.24' looks like a date in a form of its own"),
        (["01-Mar-2024", "31-Dec-2023"], "looks like a date"),
        (["2024-03", "2023-12"], "looks like a date"),
        (["43.9 %", "0.12"], "'0.12' may be percent, as others are, or a share of one"),
    ],
)
def test_what_has_two_readings_is_said(cells, why):
    with pytest.warns(UserWarning, match=rf"column 'x': .*{why}"):
        schema, _ = read(pa.table({"x": cells}))
    assert schema.columns[0].kind == "categorical"


@pytest.mark.parametrize("cells", [["Mar 1, 2024"], ["1. März 2024", "31. Dezember 2023"]])
def test_dates_with_names_of_months_are_told(cells):
    assert "looks like a date in a form of its own" in find_notation(pa.array(cells)).unclear
    assert not find_notation(pa.array(["Mars 2, tall", "10-20-30"])).unclear


@pytest.mark.parametrize(
    "cells", [["1", "2"], ["007.5", "1.5"], ["A12", "B7"], ["1.2.3"], ["12:70"], ["1st", "x"]]
)
def test_what_is_no_number_stays_a_word(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_notation(pa.array(cells)).form == ""


def prices(n=200):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, n)
    cost = 1000 + 400 * true + rng.normal(size=n) * 30
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame = pd.DataFrame(
        {
            "price": [f"€ {one:,.2f}" for one in cost],
            "when": when.strftime("%d.%m.%Y"),
            "y": np.where(true, "b", "a"),
        }
    )
    return frame, cost


def test_a_model_remembers_the_form(tmp_path):
    frame, cost = prices()
    X, y = frame[["price", "when"]], frame["y"]
    classifier = NoisyLabelNB(channel="identity").fit(X, y)
    assert [column.form for column in classifier.model_.schema.columns] == ["point", "dotted"]
    plain = X.assign(price=cost.round(2))
    same = NoisyLabelNB(channel="identity").fit(plain, y)
    np.testing.assert_allclose(classifier.predict_proba(X), same.predict_proba(plain), rtol=1e-6)
    again = load_model(save_model(classifier, tmp_path / "model.safetensors"))
    few = pd.DataFrame({"price": ["1,500"], "when": ["01.02.2024"]})  # alone, it would be unclear
    np.testing.assert_array_equal(again.predict_proba(few), classifier.predict_proba(few))
    with pytest.raises(ValueError, match="column 'price' holds 'cheap', where the model knows num"):
        again.predict(few.assign(price="cheap"))


def test_numbers_and_dates_that_come_as_texts_later():
    stamps = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-08", "2024-01-09"] * 9)
    X = pd.DataFrame({"size": [1.25, 1.5, 7.5, 7.25] * 9, "when": stamps})
    classifier = NoisyLabelNB(channel="identity").fit(X, ["a", "a", "b", "b"] * 9)
    same = pd.DataFrame({"size": ["1,25", "7,5"], "when": ["01.01.2024", "31.01.2024"]})
    dates = np.array(["2024-01-01", "2024-01-31"], "datetime64[ns]")
    want = classifier.predict_proba(pd.DataFrame({"size": [1.25, 7.5], "when": dates}))
    np.testing.assert_array_equal(classifier.predict_proba(same), want)
    with pytest.raises(ValueError, match=r"column 'when': .* may begin with the day or"):
        classifier.predict(same.assign(when=["03/01/2024", "03/02/2024"]))
    with pytest.raises(ValueError, match=r"column 'size' holds '01.01.2024', which is no number"):
        classifier.predict(same.assign(size=["01.01.2024", "31.01.2024"]))
    with pytest.raises(
        ValueError, match=r"'size' holds 'large', which is no number: leave it empt"
    ):
        classifier.predict(same.assign(size=["1,25", "large"]))
    with pytest.raises(ValueError, match=r"column 'when' holds 'soon', which is no date"):
        classifier.predict(same.assign(when=["01.01.2024", "soon"]))


@pytest.mark.parametrize("written", [lambda x: x, lambda x: x.strftime("%d.%m.%Y")])
def test_evidence_shows_dates_as_dates(written, tmp_path):
    days = pd.to_datetime(["2023-10-13", "2024-03-01", "2024-05-17", "2022-01-31"] * 9)
    X = pd.DataFrame({"when": [written(day) for day in days]})
    classifier = NoisyLabelNB(channel="identity").fit(X, ["a", "b", "b", "a"] * 9)
    model = load_model(save_model(classifier, tmp_path / "model.safetensors")).model_
    batch = Batch(read_like(X, model.schema), np.zeros(36, np.int32))
    assert model.evidence(batch)[0].values == ("2023-10-13",)


def test_every_reader_agrees(tmp_path):
    frame, _ = prices()
    frame.to_csv(tmp_path / "t.csv", index=False)
    schema, blocks = read(read_table(tmp_path / "t.csv").select(["price", "when"]))
    from misnomer.classifiers.terms import understand

    for found in (scan(tmp_path / "t.csv"), in_memory(pa.Table.from_pandas(frame), 17)):
        terms = understand(found, "y", NoisyLabelNB())
        assert terms.schema == schema
        got = np.concatenate(
            [batch.blocks[0].values for part in found.parts for batch in terms.batches(part)]
        )
        np.testing.assert_array_equal(got, blocks[0].values)


def test_few_whole_numbers_are_categories_with_a_unit_or_without():
    schema, _ = read(pa.table({"rating": ["1 star", "2 stars", "5 stars"] * 4}))
    assert schema.columns[0].categories == ("1 star", "2 stars", "5 stars")


def test_limits_and_stray_words_are_said():
    with pytest.warns(UserWarning, match="limits such as '<0.5': the number itself is taken"):
        read(pa.table({"crp": ["<0.5", "0.75", "1.25"]}))
    ages = [str(age) for age in range(30, 60)] + ["unknown", "n.d."]
    with pytest.warns(UserWarning, match=r"column 'age': 'n.d.', 'unknown' cannot be read"):
        read(pa.table({"age": ages * 2}))
    weights = [f"{weight} kg" for weight in range(40, 70)] + ["not weighed"]
    with pytest.warns(UserWarning, match=r"'weight': 'not weighed' cannot be read where"):
        read(pa.table({"weight": weights * 2}))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([f"{i}/{i - 40}" for i in range(100, 130)], r"'100/60' is no number or date that can be"),
        ([f"{i % 12}:{i} PM" for i in range(10, 60)], r"'0:12 PM' is no number or date"),
        ([f"ca. {i / 8}" for i in range(30)], r"'ca. 0.0' is no number"),
        ([f"{i},00,000.50" for i in range(10, 40)], r"'10,00,000.50' is no number"),
        ([f"{i:02d}/02/2024" for i in range(1, 31)], r"'30/02/2024' is no number or date"),
        ([f"2024-01-{i:02d}" for i in range(1, 32)] + ["0000-00-00"], "'0000-00-00' is no number"),
        (
            [f"2024-01-{i:02d}" for i in range(1, 32)] + ["31.12.2023"],
            r"in several forms \('2024-01-01', '31.12.2023'\)",
        ),
    ],
)
def test_what_looks_like_numbers_and_is_not_read_is_said(cells, said):
    with pytest.warns(UserWarning, match=rf"column 'x': .*{said}.*until then it is taken for cat"):
        schema, _ = read(pa.table({"x": cells * 2}))
    assert schema.columns[0].kind == "categorical"
    with pytest.warns(UserWarning, match=r"column 'x': .*until then it is ignored") as said:
        read(pa.table({"x": [f"{i}/{i + 9}" for i in range(60)]}))
    assert len(said) == 1  # not called an identifier beside


@pytest.mark.parametrize(
    "cells",
    [
        [f"E{i}.{i % 7}" for i in range(30)],  # a diagnosis
        [f"0{i}-55{i}" for i in range(30)],  # a telephone number
        [f"{i}/ward {'abcd'[i % 4]}" for i in range(30)],
        [f"{i}/{i + 9}" for i in range(0, 100, 10)],  # few: groups
    ],
)
def test_codes_and_groups_are_categories_without_a_word(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema, _ = read(pa.table({"x": cells * 2}))
    assert schema.columns[0].kind == "categorical"


def test_times_are_read_where_there_are_many(tmp_path):
    X = pd.DataFrame({"at": [f"{hour}:{minute:02d}" for hour in range(24) for minute in (0, 30)]})
    y = ["night" if i < 12 else "day" for i in range(48)]
    made = NoisyLabelNB(channel="identity").fit(X, y)
    classifier = load_model(save_model(made, tmp_path / "model.safetensors"))
    assert classifier.predict(pd.DataFrame({"at": ["3:15", "15:15:30"]})).tolist() == y[::47]
    clock = pa.table({"at": pa.array([11_700, 54_930], pa.time32("s"))})  # of a workbook
    assert classifier.predict(clock).tolist() == y[::47]
    batch = Batch(read_like(X[7:8], classifier.model_.schema), np.zeros(1, np.int32))
    assert classifier.model_.evidence(batch)[0].values == ("3:30",)
    schema, _ = read(pa.table({"shift": ["6:00", "14:00", "22:00"] * 4}))
    assert schema.columns[0].kind == "categorical"


def test_asked_for_by_name():
    X = pa.table({"cost": ["$5", "$7", "$5"]})
    schema, blocks = read(X, {"cost": "gaussian"})
    assert blocks[0].values[:, 0].tolist() == [5.0, 7.0, 5.0]
    assert read_like(X, schema)[0].values[:, 0].tolist() == [5.0, 7.0, 5.0]


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
