"""Numbers in text: one decision for a column, from all of its cells, that its model remembers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from commands import call, refused, written
from locallinear import FALLRegressor, TableRegressor, load
from locallinear.tables.amounts import amount, how_written
from locallinear.tables.encoding import Encoding, fit_encoding
from locallinear.tables.kinds import understand
from locallinear.tables.read import read_table
from locallinear.tables.table import TableError, as_table

N = 400
ROWS = np.arange(N)


def numbers_in(cells, types=None):
    """What the cells of a column are as numbers."""
    table = as_table(pd.DataFrame({"v": cells}))
    (column,) = fit_encoding(table, types).columns
    assert column.kind == "number"
    return column.shown(table).tolist()


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3 %", "3.125 %", "3.25 %"], [3, 3.125, 3.25]),
        (["8,125 %", "3 %"], [8.125, 3]),
        (["€1.729", "€1.75"], [1.729, 1.75]),
        (["€1.729", "€3.400"], [1729, 3400]),
        (["$1,200", "$850.50"], [1200, 850.5]),
        (["1.234,50 €", "1.234 €", "7,00 €"], [1234.5, 1234, 7]),
        (["0,125", "1,250", "0,500"], [0.125, 1.25, 0.5]),
        (["1,100", "2,350"], [1100, 2350]),
        (["853", "1.991"], [853, 1991]),
        (["113", "2.308"], [113, 2308]),
        (["5", "2.308", "7.125"], [5, 2.308, 7.125]),
        (["1.234.567", "1.234"], [1234567, 1234]),
        (["5.734,47", "153,67"], [5734.47, 153.67]),
        (["1 234.5", "1'000", "-7"], [1234.5, 1000, -7]),
        (["₹12,34,567", "₹5,000"], [1234567, 5000]),
        (["3,45", "0,0"], [3.45, 0]),
        (["(1,234.00)", "55.50"], [-1234, 55.5]),
        (["($20)", "$30"], [-20, 30]),
        (["−5", "3"], [-5, 3]),
        (["3.4k", "850", "1.2M"], [3400, 850, 1.2e6]),
        (["72.5 kg", "80 kg"], [72.5, 80]),
        (["5 lb", "7,5 lb"], [5, 7.5]),
        (["100 m", "5 m"], [100, 5]),
        (["30 m", "2 h"], [0.5, 2]),
    ],
    ids=str,
)
def test_all_cells_decide_together_what_a_mark_means(cells, numbers):
    assert numbers_in(cells) == numbers


def test_a_column_of_text_is_a_number_by_the_users_word():
    assert numbers_in(["0,0", "1,5", "0,0"], {"v": "number"}) == [0, 1.5, 0]


def test_a_number_is_read_to_the_last_digit():
    assert amount("0.1", ".") == 0.1
    assert amount("1,234,567.891", ".") == 1234567.891
    assert np.isnan(amount("1.234", ""))
    assert amount("1.23", "") == 1.23
    assert np.isnan(amount("1-2", "."))


SLIPS = {
    "a percentage without its sign": ([f"{i / 8:.2f} %" for i in ROWS], "12.5", "12.5"),
    "words among money": ([f"${i}.25" for i in ROWS], "about 5", "about 5"),
    "words among durations": ([f"{i + 3} min" for i in ROWS], "ninety", "ninety"),
    "another mark": ([f"{1 + i % 9},{100 + i}" for i in ROWS], "1,5", "1,5"),
    "another unit": ([f"{i + 3} kg" for i in ROWS], "70 lb", "70 lb"),
    "no date": ([f"{d:%d.%m.%Y}" for d in pd.date_range("2020", periods=N)], "31.02.2020", "31.02"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_one_odd_cell_is_refused_by_row_and_column(name):
    cells, odd, shown = SLIPS[name]
    with pytest.raises(TableError, match=rf"row {N + 1}, column 'v': expected .*'{shown}"):
        fit_encoding(as_table(pd.DataFrame({"v": [*cells, odd]})))


def test_zero_needs_no_sign_of_percent():
    assert numbers_in([*(f"{i} %" for i in ROWS), "0"])[-1] == 0


@pytest.mark.parametrize(
    "cells", [["12A", "13B", "14A"] * 10, ["A1", "B2"] * 10, ["1st", "2nd", "3rd"] * 10], ids=str
)
def test_codes_are_no_numbers_with_units(cells):
    assert understand(pd.Series(cells)).kind == "category"


def test_a_unit_is_the_same_in_any_case_and_number():
    assert numbers_in(["1 Room", "3 rooms", "5 Rooms", "3 rooms"]) == [1, 3, 5, 3]
    cells = pd.DataFrame({"v": ["5 kWh", "7 kWh", "3 KWH"]})
    assert fit_encoding(as_table(cells)).columns[0].unit == "kWh"


def test_the_encoding_says_how_numbers_are_written():
    table = as_table(pd.DataFrame({"a": ["853", "1.991"], "b": ["5 kg", "7 kg"]}))
    encoding = fit_encoding(table)
    assert encoding.to_frame()["encoding"].tolist() == [
        "one number (numbers with marks, as in 1.234,5)",
        "one number (numbers in kg)",
    ]
    assert [column.unit for column in encoding.columns] == ["", "kg"]


def read(tmp_path, content, **options):
    path = tmp_path / "data.csv"
    path.write_text(content)
    return read_table(path, **options)


def test_points_between_thousands_do_not_hide_a_decimal_comma(tmp_path):
    table = read(tmp_path, "menge;preis\n853;4,50\n1.991;3,25\n")
    columns = fit_encoding(table).columns
    assert [column.shown(table).tolist() for column in columns] == [[853, 1991], [4.5, 3.25]]


@pytest.mark.parametrize(("decimal", "size"), [(None, 1.991), (".", 1.991), (",", 1991)])
def test_the_option_decides_what_the_cells_leave_open(tmp_path, decimal, size):
    table = read(tmp_path, "menge;x\n2.853;a\n1.991;b\n", decimal=decimal)
    assert fit_encoding(table).columns[0].shown(table)[1] == size


def test_a_new_cell_is_read_as_the_column_was():
    german = as_table(pd.DataFrame({"v": ["1.234,50 €", "7,25 €"]}))
    encoding = Encoding.from_dict(fit_encoding(german).to_dict())
    new = as_table(pd.DataFrame({"v": ["1.234"]}))
    assert encoding.inputs(new).to_numpy().tolist() == [[1234]]


def test_a_mark_that_training_did_not_show_is_not_guessed():
    encoding = fit_encoding(as_table(pd.DataFrame({"v": ["$120", "$850"]})))
    assert encoding.inputs(as_table(pd.DataFrame({"v": ["$12.50"]}))).iloc[0, 0] == 12.5
    with pytest.raises(TableError, match="could begin decimals or stand between thousands"):
        encoding.inputs(as_table(pd.DataFrame({"v": ["$1.234"]})))


def test_a_refused_mark_is_explained():
    cells = [*SLIPS["another mark"][0], "1,5"]
    with pytest.raises(TableError, match="If ',' begins decimals here, its kind is 'number: ,'"):
        fit_encoding(as_table(pd.DataFrame({"v": cells})))
    assert numbers_in(cells, {"v": "number: ,"})[-1] == 1.5


def test_a_model_remembers_the_marks_of_its_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"rate": rng.uniform(0, 1, 60).round(2), "menge": rng.integers(5, 9999, 60)}
    )
    texts = frame.assign(
        rate=[f"{x:.2f}".replace(".", ",") for x in frame["rate"]],
        menge=[f"{x:,}".replace(",", ".") for x in frame["menge"]],
    )
    texts.assign(y=frame["rate"].map("{:.2f}".format)).to_csv(
        tmp_path / "a.csv", sep=";", index=False
    )
    table = read_table(tmp_path / "a.csv", decimal=",")
    few = FALLRegressor(2, random_state=0)
    model = TableRegressor(few, target="identity", random_state=0)
    model.fit(table.without(["y"]), frame["rate"])
    model.save(tmp_path / "a.model")
    # One row shows no mark of its own that could be told.
    for row in range(3):
        texts[row : row + 1].to_csv(tmp_path / "new.csv", sep=";", index=False)
        printed = call("predict", tmp_path / "a.model", tmp_path / "new.csv").stdout
        assert_allclose(float(printed.split()[-1]), load(tmp_path / "a.model").predict(frame)[row])


def test_numbers_in_other_units_are_refused_and_bare_ones_noted(tmp_path):
    frame = pd.DataFrame({"mass": [f"{x} kg" for x in range(30)]})
    model = TableRegressor(FALLRegressor(2, random_state=0), target="identity", random_state=0)
    model.fit(frame, np.arange(30.0))
    model.save(tmp_path / "a.model")
    pounds = written(tmp_path, pd.DataFrame({"mass": ["5 lb"]}))
    assert "expected an amount in kg, as in training" in refused(
        "predict", tmp_path / "a.model", pounds
    )
    (note,) = model.notes(pd.DataFrame({"mass": [5.0]}))
    assert "numbers without a unit in 1 of 1 rows" in note


def test_plain_numbers_are_the_first_way_of_writing():
    assert how_written(pd.Series(["1", "2.5", "1e3"])).cells == "numbers"
