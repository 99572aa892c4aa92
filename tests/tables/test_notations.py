"""Notations of other programs: each is read in a whole column, or refused in a clear sentence."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal

from commands import refused_fit
from locallinear import FALLRegressor, TableRegressor
from locallinear.tables.cells import EXCEL_ERRORS, durations
from locallinear.tables.encoding import Encoding, fit_encoding
from locallinear.tables.read import read_table
from locallinear.tables.table import TableError, as_table
from locallinear.tables.wanted import check_types

N = 400
ROWS = np.arange(N)


def understood(cells, types=None, name="v"):
    """The encoding of one column beside another one, its line, and the table."""
    table = as_table(pd.DataFrame({name: cells, "other": ROWS[: len(cells)] * 1.7 % 11}))
    encoding = fit_encoding(table, types)
    return encoding, encoding.to_frame().iloc[0], table


def numbers_in(cells, types=None):
    encoding, line, table = understood(cells, types)
    assert line["kind"] == "number", line["reason"]
    return encoding.columns[0].shown(table)


# --- Durations -----------------------------------------------------------------------------------


def test_durations_of_iso_8601_are_hours():
    cells = ["PT2H15M", "PT45M", "P12D", "P1DT2H", "P2W", "PT1.5S", "2h30", "2 h 05", "2h 15m"]
    hours = [2.25, 0.75, 288, 26, 336, 1.5 / 3600, 2.5, 2 + 1 / 12, 2.25]
    assert_allclose(durations(pd.Series(cells)), hours)
    assert_allclose(numbers_in(cells), hours)


@pytest.mark.parametrize("cell", ["P", "PT", "P1DT", "P1Y", "P2M", "P12", "2h75", "2h5"])
def test_what_is_no_duration_of_a_fixed_length_is_none(cell):
    assert np.isnan(durations(pd.Series([cell]))).all()


@pytest.mark.parametrize("form", ["PT{}M", "PT0H{}M", "{}h30"])
def test_a_column_of_such_durations_has_their_unit(form):
    encoding, line, _ = understood([form.format(10 + i % 50) for i in ROWS])
    assert line["encoding"] == "one number (durations in hours)"
    with pytest.raises(TableError, match="could be hours, minutes or seconds"):
        encoding.inputs(as_table(pd.DataFrame({"v": [90], "other": [1.0]})))


# --- Gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", sorted(EXCEL_ERRORS))
@pytest.mark.parametrize("values", [["1.5", "2.5"], ["a", "b"], ["2024-01-31", "2024-02-29"]])
def test_errors_of_excel_are_gaps_in_files_and_frames(error, values, tmp_path):
    cells = [*(values * N)[:N], error.upper()]
    frame = pd.DataFrame({"v": cells, "w": "1"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame["v"] = [*cells[:-1], None]
    empty = fit_encoding(as_table(frame))
    for table in (as_table(frame.assign(v=cells)), read_table(tmp_path / "a.csv")):
        assert fit_encoding(table) == empty
        assert fit_encoding(table).inputs(table).equals(empty.inputs(as_table(frame)))


# --- Bounds, and text among numbers --------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1.5", "2.25", "<0.5"], [1.5, 2.25, 0.5]),
        (["20", "35", "65+"], [20, 35, 65]),
        (["1,5", "2,25", "≤ 0,5"], [1.5, 2.25, 0.5]),
        (["900", "850", ">= 1,000"], [900, 850, 1000]),
        (["-3", "4", ">-5"], [-3, 4, -5]),
    ],
    ids=str,
)
def test_a_bound_among_numbers_is_its_number(cells, numbers):
    assert numbers_in(cells).tolist() == numbers


def test_bounds_are_said_in_the_encoding_and_in_notes():
    encoding, line, _ = understood([str(i % 65) if i % 6 else "65+" for i in ROWS])
    assert line["encoding"].startswith("one number (numbers, with bounds such as <5 and 65+ read")
    encoding = Encoding.from_dict(encoding.to_dict())
    new = pd.DataFrame({"v": ["65+", "7", "< 3"], "other": 1.0})
    assert encoding.inputs(as_table(new)).iloc[:, 0].tolist() == [65, 7, 3]
    assert "bounds, such as <5 or 65+, in 2 of 3 rows" in encoding.unseen(as_table(new))[0]
    assert encoding.unseen(as_table(new.assign(v=[5, 7, 3]))) == []


@pytest.mark.parametrize(
    "cells", [["<18", "18+", "65+"], ["1+", "A+", "B"], ["<10", "10-20", ">20"], ["C++", "C"]]
)
def test_classes_and_grades_are_no_bounds(cells):
    assert understood((cells * N)[:N])[1]["kind"] == "category"


NOT_SAID = ["k.A." if i % 9 == 0 else "ca. 120" if i == 1 else str(i % 65) for i in ROWS]


def test_text_among_numbers_is_refused_with_its_count_and_what_to_do(tmp_path):
    pd.DataFrame({"age": NOT_SAID}).to_csv(tmp_path / "a.csv", index=False)
    said = r"row 1, column 'age': expected a number, but found 'k.A.'. This text is in 45 of 400 "
    said += (
        r"rows, and there is no number in 1 more. If it means no value, {}. If the column is no "
    )
    said += r"numbers, {}.$"
    with pytest.raises(TableError) as caught:
        fit_encoding(read_table(tmp_path / "a.csv"))
    assert caught.match(said.format("pass --missing k.A. to fit", "pass --types age=text"))
    with pytest.raises(TableError) as caught:
        understood(NOT_SAID, name="age")
    assert caught.match(said.format("replace it with None", "fit with types={'age': 'text'}"))


def test_a_target_is_refused_with_the_count_of_its_cells_that_are_no_numbers(tmp_path):
    pd.DataFrame({"x": ROWS * 1.7 % 11, "price": NOT_SAID}).to_csv(tmp_path / "a.csv", index=False)
    sentence = refused_fit(tmp_path / "a.csv")
    assert "but found 'k.A.'. 46 of 400 rows of the target hold no number: correct" in sentence
    assert "name it with --missing" in sentence


def test_a_refusal_says_nothing_of_the_column_that_is_not_so():
    with pytest.raises(TableError, match=r"400 of 400 rows hold no number\. If the column is no"):
        understood([f"about {i}" for i in ROWS], {"v": "number"})


# --- Codes and numbers that name rows ------------------------------------------------------------

SHUFFLED = np.random.default_rng(0).permutation(N)


def test_codes_that_differ_in_each_row_name_the_rows():
    codes = [f"{i:06}" for i in SHUFFLED]
    assert understood(codes)[1]["reason"] == "its codes are different in each row, like names"
    assert understood(codes, name="postcode")[1]["kind"] == "text"
    assert understood([f"{i % 300:06}" for i in SHUFFLED])[1]["kind"] == "text"


def test_long_numbers_that_differ_from_row_to_row_get_a_remark():
    accounts = 4 * 10**9 + SHUFFLED * 7919 * 1009
    for cells in (accounts, accounts.astype(str), [*accounts[1:], accounts[1]]):
        assert "if they only name the rows, as account numbers do" in understood(cells)[1]["reason"]
    for cells in (accounts // 10**6, accounts + 0.5, 10 ** (SHUFFLED % 3) * (accounts // 10**3)):
        assert understood(cells)[1]["reason"] == "it holds numbers"


# --- Levels, and true and false ------------------------------------------------------------------


def test_levels_that_hold_the_sign_between_levels_are_given_as_a_list():
    levels = ["< 20", "20 - 40", "> 40"]
    encoding, _, table = understood((levels * N)[:N], {"v": levels})
    assert encoding.inputs(table).iloc[:3, 0].tolist() == [0, 1, 2]
    assert encoding.columns[0].levels == tuple(levels)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("ordered: < 20 < 20 - 40 < > 40", "a level is empty; '<' separates levels: give those"),
        ("ordered: low <", "a level is empty"),
        ("ordered: low < high < low", "the level 'low' is there twice"),
        (["", "high"], "a level is empty"),
    ],
)
def test_empty_levels_and_equal_ones_are_refused(wanted, said):
    with pytest.raises(ValueError, match=said):
        check_types({"v": wanted}, ["v"])


@pytest.mark.parametrize("training", [[True, False], ["yes", "no"], ["Y", "N"], ["1", "0"]])
@pytest.mark.parametrize("new", [["yes", "No"], ["Y", "n"], ["t", "f"], [True, False], [1, 0]])
def test_yes_and_no_are_true_and_false(training, new):
    encoding, _, table = understood(pd.Series((training * N)[:N], dtype=object), {"v": "category"})
    table = table.take(np.arange(2))
    other = as_table(table.frame.assign(v=pd.Series(new, dtype=object)))
    assert encoding.inputs(other).equals(encoding.inputs(table))
    assert encoding.unseen(other) == []


def test_other_words_beside_yes_and_no_keep_what_they_are():
    encoding, _, _ = understood((["yes", "no", "1"] * N)[:N])
    assert encoding.columns[0].categories == ("1", "no", "yes")
    new = as_table(pd.DataFrame({"v": ["true"], "other": [1.0]}))
    assert encoding.inputs(new).iloc[0, :3].tolist() == [0, 0, 0]


# --- A minus behind the number, and several units -------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["5.0-", "2.5"], [-5, 2.5]),
        (["1.263,56-", "7,00"], [-1263.56, 7]),
        (["6.37- €", "2.70 €"], [-6.37, 2.7]),
        (["$6.37-", "$2.70"], [-6.37, 2.7]),
        (["120-", "85", "7-"], [-120, 85, -7]),
    ],
    ids=str,
)
def test_a_minus_behind_a_number_is_its_sign(cells, numbers):
    assert numbers_in(cells).tolist() == numbers


@pytest.mark.parametrize("cells", [["1", "1-", "2", "2-"], ["1+", "2-", "3"], ["4-door", "2-door"]])
def test_a_minus_behind_a_grade_is_none(cells):
    assert understood((cells * N)[:N])[1]["kind"] == "category"


def test_a_minus_behind_some_texts_does_not_make_them_numbers():
    cells = [f"{i}.5-" if i % 2 else f"{i}.5" for i in ROWS]
    with pytest.raises(TableError, match="row 400, column 'v': expected a number as in 1"):
        understood([*cells[1:], "x-"])


def test_amounts_in_two_units_of_one_kind_get_a_remark():
    hint = "it looks like amounts in g and kg, which are not converted"
    cells = [f"{1 + i / 10:.1f} kg" if i % 2 else f"{500 + i} g" for i in ROWS]
    assert hint in understood(cells)[1]["reason"]
    for others in (["12A", "13B"], ["3 m", "5 min"], ["3 kg", "5 g", "none at all"]):
        assert "amounts in" not in understood((others * N)[:N])[1]["reason"]


# --- Months and quarters -------------------------------------------------------------------------

MONTHS = pd.date_range("2010-01-01", periods=N, freq="MS").to_series(index=ROWS)


@pytest.mark.parametrize("form", ["%b-%y", "%b-%Y", "%b %Y", "%B %Y", "%m/%Y", "%Y-%m"])
def test_months_in_text_are_dates(form):
    encoding, line, table = understood(MONTHS[:200].dt.strftime(form))
    assert line["kind"] == "date"
    assert encoding.columns[0].cycles == ("time of year",)
    expected = MONTHS[:200].dt.strftime("%Y-%m-%d").tolist()
    assert encoding.columns[0].shown(table).tolist() == expected


@pytest.mark.parametrize("form", ["Q{1} {0}", "{0} Q{1}", "{0}-Q{1}", "{0}Q{1}", "Q{1}/{0}"])
def test_quarters_in_text_are_dates(form):
    cells = [form.format(2000 + i // 4, i % 4 + 1) for i in range(40)]
    encoding, line, table = understood([*cells, None])
    assert "read as quarters such as 2003 Q1" in line["encoding"]
    assert encoding.columns[0].cycles == ("time of year",)
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    assert encoding.columns[0].shown(table).tolist()[-3:] == ["2009-07-01", "2009-10-01", None]
    new = pd.DataFrame({"v": ["Q5 2003"], "other": [1.0]})
    with pytest.raises(TableError, match="expected a quarter such as 2003 Q1, but found 'Q5 2003'"):
        encoding.inputs(as_table(new))


@pytest.mark.parametrize("cells", [["Q1", "Q2"], ["1/2", "3/4"], ["abc-01", "abc-02"], ["Q1000"]])
def test_what_is_like_months_and_quarters_is_none(cells):
    assert understood(([*cells, "x"] * N)[:N])[1]["kind"] == "category"


def test_quarters_of_pandas_are_read_as_their_file_is(tmp_path):
    rng = np.random.default_rng(0)
    months = pd.date_range("2015-01-01", periods=120, freq="MS")[rng.integers(0, 120, 200)]
    quarters = pd.Series(pd.PeriodIndex(months, freq="Q"))
    frame = pd.DataFrame({"z": rng.normal(size=200), "c": quarters})
    frame["y"] = frame["z"] + np.sin(months.month / 2)
    frame[["y", "z"]] = frame[["y", "z"]].round(3)  # so that pandas reads the same numbers
    frame.loc[3, "c"] = pd.NaT
    frame.to_csv(tmp_path / "quarters.csv", index=False)
    file = pd.read_csv(tmp_path / "quarters.csv")
    few = FALLRegressor(9, random_state=0)
    model, of_file = (TableRegressor(few).fit(data, "y") for data in (frame, file))
    assert_frame_equal(model.encoding_, of_file.encoding_)
    expected = of_file.predict(file)
    for rows in (frame, file, frame.astype({"c": object})):
        assert_array_equal(model.predict(rows), expected)
