"""Columns become features: what each kind of cell is, what gaps and new cells are, and back."""

from datetime import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from locallinear.tables.cells import cell_texts, durations
from locallinear.tables.columns import LEAST_GAPS
from locallinear.tables.encoding import Encoding, by_column, fit_encoding
from locallinear.tables.table import TableError, as_table


def encoded(values, kind=None, new=None):
    """The column that training cells make, and the features of these or of new cells."""
    table = as_table(pd.DataFrame({"a": values}))
    encoding = fit_encoding(table, None if kind is None else {"a": kind})
    (column,) = encoding.columns
    rows = table if new is None else as_table(pd.DataFrame({"a": new}))
    return column, encoding.inputs(rows).to_numpy()


# --- Numbers -------------------------------------------------------------------------------------


def test_few_gaps_are_filled_and_many_have_a_feature_of_their_own():
    few = [1.0, 2.0, 6.0] * 10 + [np.nan]
    many = [1.0, 2.0, 6.0] * 10 + [np.nan] * LEAST_GAPS
    assert encoded(few)[1][-1].tolist() == [2.0]
    assert encoded(many)[1][-1].tolist() == [2.0, 1.0]
    assert encoded(many)[1][0].tolist() == [1.0, 0.0]


def test_durations_are_hours():
    cells = pd.Series(["1:30", "0:45:00", "2 days 03:00", "90 min", "1 h 30 min", "soon", None])
    assert_allclose(durations(cells), [1.5, 0.75, 51, 1.5, 1.5, np.nan, np.nan])


@given(
    st.lists(
        st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9),
        min_size=2,
        max_size=30,
        unique=True,
    )
)
@settings(max_examples=30, deadline=None)
def test_written_numbers_are_the_numbers(values):
    texts = [repr(value) for value in values]
    assert_array_equal(encoded(texts, "number")[1][:, 0], values)


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_numbers_that_cannot_be_squared_are_refused(value):
    with pytest.raises(TableError, match=r"row 3, column 'a': the number"):
        encoded([1.0, 2.0, value])


# --- Categories ----------------------------------------------------------------------------------


def test_a_category_has_one_feature_and_gaps_are_one():
    column, features = encoded(["x", "y", None, "x"] * 3, "category")
    assert column.texts == (None, "x", "y")
    assert features[:4].tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_a_new_category_is_none_of_the_known_ones_and_is_noted():
    column, features = encoded(["x", "y"] * 5, "category", new=["z", "x"])
    assert features.tolist() == [[0, 0], [1, 0]]
    note = column.unseen(as_table(pd.DataFrame({"a": ["x", "z"]})))
    assert "1 of 2 rows, such as 'z' in row 2" in note


@pytest.mark.parametrize(
    "new", [[1, 0], [1.0, 0.0], ["TRUE", "false"], ["1", "0"], [True, False]], ids=str
)
def test_true_and_false_are_known_however_they_are_written(new):
    for training in ([True, False], ["true", "false"], [True, False, None]):
        column, features = encoded(training * 5, new=new)
        assert features[:, -2:].tolist() == [[0, 1], [1, 0]]
        assert column.unseen(as_table(pd.DataFrame({"a": new}))) is None
    numbers = encoded([1.0, 0.0, 0.5] * 5, new=pd.Series([True, False, None], dtype=object))[1]
    assert numbers[:, 0].tolist() == [1.0, 0.0, 0.5]


def test_codes_are_equal_however_they_are_typed():
    assert cell_texts(pd.Series([7, 8])).tolist() == ["7", "8"]
    assert cell_texts(pd.Series([7.0, np.nan])).tolist() == ["7", None]
    assert cell_texts(pd.Series(["7", " NA "])).tolist() == ["7", None]


@pytest.mark.parametrize("levels", [["low", "mid", "high"], "ordered: low < mid < high"], ids=str)
def test_levels_have_the_order_that_the_user_gives(levels):
    column, features = encoded(["mid", "high", "low"] * 3, levels)
    assert features[:3, 0].tolist() == [1, 2, 0]
    assert column.became().endswith("3 levels, low < mid < high")
    with pytest.raises(TableError, match="row 4, column 'a': expected one of low, mid, high"):
        encoded(["mid", "high", "low", "hihg"], levels)


def test_levels_keep_the_order_of_their_type_and_others_that_of_numbers():
    typed = pd.Categorical(["hi", "lo"] * 4, categories=["lo", "mid", "hi"], ordered=True)
    column, features = encoded(typed, new=["mid", "new"])
    assert column.levels == ("lo", "mid", "hi")
    assert features.tolist() == [[1.0], [1.0]]
    assert encoded([2.0, 10.0, 1.0] * 3, "ordered")[0].levels == ("1", "2", "10")


# --- Dates ---------------------------------------------------------------------------------------


def test_a_date_is_a_trend_and_the_cycles_that_it_covers():
    hours = pd.date_range("2020-01-01", "2022-01-01", freq="5h")
    column, features = encoded(hours)
    assert column.cycles == ("time of year", "weekday", "time of day")
    assert features.shape[1] == 7
    assert_allclose(np.diff(features[:, 0]) * 365.2425 * 24, 5)
    assert_allclose(features[:, 1] ** 2 + features[:, 2] ** 2, 1)
    days, _ = encoded(pd.date_range("2020-01-01", periods=60))
    assert days.cycles == ("weekday",)
    weeks, _ = encoded(pd.date_range("2020-01-06", periods=60, freq="7D"))
    assert weeks.cycles == ("time of year",)


def test_ends_of_a_cycle_are_near():
    column, _ = encoded(pd.date_range("2020-01-01", "2022-01-01", freq="5h"))
    table = as_table(pd.DataFrame({"a": pd.to_datetime(["2021-12-31 23:30", "2021-01-01 00:30"])}))
    features = column.encode(table)
    circles = features[:, [1, 2, 5, 6]]  # of the year and of the day
    assert np.abs(circles[0] - circles[1]).max() < 0.3


def test_dates_out_of_range_go_on_as_a_line_and_are_noted():
    column, features = encoded(pd.date_range("2020-01-01", periods=400), new=["2030-01-01"])
    assert features[0, 0] == pytest.approx(10, abs=0.01)
    assert "outside those of the training data in 1 of 1 rows, such as 2030-01-01" in column.unseen(
        as_table(pd.DataFrame({"a": ["2030-01-01"]}))
    )


def test_a_cell_that_is_no_date_is_refused():
    column, _ = encoded(["31.12.2020", "01.02.2021"] * 6)
    with pytest.raises(TableError, match=r"row 2, column 'a': expected a date as in %d.%m.%Y"):
        column.encode(as_table(pd.DataFrame({"a": ["01.01.2021", "soon"]})))


EVENINGS = pd.Series(pd.date_range("2023-01-01 20:00", periods=300, freq="7h", tz="US/Pacific"))


def test_a_time_in_a_zone_is_what_clocks_show_there():
    clocks, _ = encoded(EVENINGS.dt.tz_localize(None))
    column, features = encoded(EVENINGS)
    assert_array_equal(features, clocks.encode(as_table(pd.DataFrame({"a": EVENINGS}))))
    assert column.shown(as_table(pd.DataFrame({"a": EVENINGS})))[0] == "2023-01-01 20:00"
    assert column.became().endswith("; clocks in US/Pacific")


@pytest.mark.parametrize(
    "new",
    [
        EVENINGS.dt.tz_convert("UTC"),
        EVENINGS.dt.tz_localize(None),
        EVENINGS.map(str),
        EVENINGS.dt.tz_convert("Asia/Tokyo").map(lambda time: time.isoformat()),
    ],
    ids=["UTC", "clocks", "text", "text of another zone"],
)
def test_times_of_other_zones_are_converted_and_bare_ones_are_clocks_of_the_zone(new):
    fitted = fit_encoding(as_table(pd.DataFrame({"a": EVENINGS})))
    (column,) = Encoding.from_dict(fitted.to_dict()).columns
    table = as_table(pd.DataFrame({"a": new}))
    assert_array_equal(column.encode(table), encoded(EVENINGS)[1])
    assert column.unseen(table) is None


def test_texts_of_one_zone_and_of_its_summer_time_are_clocks():
    texts = EVENINGS.map(lambda time: time.isoformat())
    assert_array_equal(encoded(texts)[1], encoded(EVENINGS)[1])
    utc, _ = encoded(EVENINGS.dt.tz_convert("UTC").map(str))
    assert utc.zone == "UTC"
    assert encoded(["2020-01-31", "2020-02-29"] * 3)[0].zone == ""


def test_times_in_a_zone_are_noted_where_training_had_none():
    column, _ = encoded(EVENINGS.dt.tz_localize(None))
    assert "times in the zone US/Pacific" in column.unseen(as_table(pd.DataFrame({"a": EVENINGS})))


DAY_FIRST = ["01/02/2022", "03/04/2022", "05/06/2022", "12/11/2022"]


def test_days_that_could_be_months_are_said_and_chosen():
    column, _ = encoded(DAY_FIRST)
    assert "read as %m/%d/%Y, or is it %d/%m/%Y? Then its kind is 'date: %d/%m/%Y'" in (
        column.became()
    )
    chosen, features = encoded(DAY_FIRST, "date: %d/%m/%Y")
    assert chosen.shown(as_table(pd.DataFrame({"a": DAY_FIRST})))[1] == "2022-04-03"
    assert encoded(DAY_FIRST, "date: %d/%m/%Y", new=["15/03/2022"])[1].shape == features[:1].shape
    with pytest.raises(TableError, match=r"%m/%d/%Y, but found '15/03/2022'.*'date: %d/%m/%Y'"):
        column.encode(as_table(pd.DataFrame({"a": ["15/03/2022"]})))
    assert "or is it" not in encoded(["01/02/2022", "13/04/2022"] * 3)[0].became()


def test_years_of_two_digits_are_years():
    column, _ = encoded(["01.01.22", "15.01.22", "03.02.22"] * 3)
    assert column.form == "%d.%m.%y"


@pytest.mark.parametrize(
    "cells",
    [
        [time(i % 24, 5) for i in range(48)],
        [f"{i % 24:02}:05" for i in range(48)],
        [f"{i % 12 or 12}:05 {'ap'[i % 24 // 12]}m" for i in range(48)],
    ],
    ids=["time", "24 hours", "12 hours"],
)
def test_a_time_of_day_is_a_circle(cells):
    column, features = encoded(cells)
    table = as_table(pd.DataFrame({"a": cells}))
    assert column.cycles == ("time of day",)
    assert (features[:, 0] == 0).all()
    assert_allclose(features[0], features[24])
    assert np.abs(features[0] - features[23]).max() < 0.3  # 00:05 and 23:05
    assert column.shown(table)[13] == "13:05"
    assert column.cells_of(features)[13] == "13:05"
    assert encoded(cells, new=["9:30"])[1].shape == (1, 3)


ONE_DAY = pd.Series(pd.date_range("2024-03-01 06:00", periods=200, freq="3min"))


@pytest.mark.parametrize(
    "times",
    [ONE_DAY, ONE_DAY.dt.strftime("%d.%m.%Y %H:%M"), ONE_DAY.dt.tz_localize("Europe/Berlin")],
    ids=["type", "text", "zone"],
)
def test_times_of_one_day_are_a_circle_without_a_trend(times):
    column, features = encoded(times)
    table = as_table(pd.DataFrame({"a": times}))
    assert "circle for the time of day, as all its times are of one day" in column.became()
    assert (features[:, 0] == 0).all()
    assert column.unseen(table) is None
    assert column.cells_of(features) == column.shown(table).tolist()
    later = encoded(times, new=pd.to_datetime(["2050-01-01 06:00"]))[1]
    assert_allclose(later[0], features[0], atol=1e-12)
    stored = fit_encoding(table)
    assert Encoding.from_dict(stored.to_dict()) == stored


def test_times_of_two_days_have_a_trend():
    assert "a trend in years" in encoded([*ONE_DAY, pd.Timestamp("2024-03-02")])[0].became()


def test_what_times_of_day_have_in_common_is_an_hour_and_no_year():
    column, features = encoded([f"{i % 24:02}:05" for i in range(48)])
    assert column.in_common(features[8:11], np.ones(3)) == "8:00 to 10:00"
    assert column.in_common(features, np.ones(48)) == "different times of day"


def test_short_times_are_durations_unless_the_user_says_so():
    cells = ["0:45", "1:30", "12:20"] * 3
    assert encoded(cells)[0].kind == "number"
    assert encoded(cells, "date")[0].cycles == ("time of day",)
    assert encoded([f"{i % 24:02}:30" for i in range(48)], "number")[1][13, 0] == 13.5


@pytest.mark.parametrize(
    "months",
    [
        [f"{2000 + i // 12}-{i % 12 + 1:02}" for i in range(60)],
        pd.period_range("2000-01", periods=60, freq="M"),
    ],
    ids=["text", "type"],
)
def test_months_have_no_weekday(months):
    assert encoded(months)[0].cycles == ("time of year",)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pd.date_range("2020-01-01", periods=40), None),
        (["low", "mid", "high", "mid"] * 10, ["low", "mid", "high"]),
    ],
    ids=["date", "ordered"],
)
def test_a_gap_that_training_did_not_have_is_noted(cells, kind):
    column, _ = encoded(cells, kind)
    gap = pd.DataFrame({"a": [cells[0], None]})
    assert "no value in 1 of 2 rows, but always had one" in column.unseen(as_table(gap))
    often, _ = encoded([*cells, None], kind)
    assert often.unseen(as_table(gap)) is None


# --- Texts with many values ----------------------------------------------------------------------


def test_many_texts_are_frequent_ones_and_groups_and_none_is_dropped():
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in ("north", "south", "berg") for b in ("ham", "ton", "dorf", "stadt")]
    texts = [f"{rng.choice(words)} {rng.integers(30)}" for _ in range(400)] + ["London"] * 50
    column, features = encoded(texts, "text")
    assert "London" in column.frequent
    assert_array_equal(features.sum(axis=1), 1)
    assert len(column.texts) <= 31


def test_a_new_text_belongs_to_the_group_that_is_like_it():
    texts = [f"{kind} number {i}" for i in range(60) for kind in ("carpenter", "zookeeper")]
    _, features = encoded(texts, "text", new=["carpenter 999", "zookeeper 999"])
    _, known = encoded(texts, "text", new=[t for t in texts if t.startswith("carpenter")])
    assert known.mean(axis=0)[features[0].argmax()] > 0
    assert features[0].argmax() != features[1].argmax()


# --- All kinds -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "category": rng.choice(["a", "b", None], n),
            "ordered": pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "hi"], ordered=True),
            "date": pd.date_range("2020", periods=n, freq="5D"),
            "text": [f"{w} {i}" for i, w in enumerate(rng.choice(["fine", "poor", "late"], n))],
        }
    )
    return as_table(frame)


def test_an_encoding_is_the_one_that_its_plain_values_describe(table):
    encoding = fit_encoding(table)
    assert [column.kind for column in encoding.columns] == table.columns
    again = Encoding.from_dict(encoding.to_dict())
    assert again == encoding
    assert_array_equal(again.inputs(table), encoding.inputs(table))


def test_indicators_are_the_features_that_are_zero_or_one(table):
    encoding = fit_encoding(table)
    X = encoding.inputs(table).to_numpy()
    binary = [j for j in range(X.shape[1]) if set(np.unique(X[:, j])) <= {0.0, 1.0}]
    ordered = encoding.feature_names.index("ordered")  # two levels, but numbers
    assert sorted([*encoding.indicators, ordered]) == binary


def test_settings_are_the_features_of_texts(table):
    encoding = fit_encoding(table)
    for column in encoding.columns:
        if column.texts and column.kind != "text":
            frame = pd.DataFrame({column.name: [*column.texts]}, dtype=object)
            assert_array_equal(column.encode(as_table(frame)), column.settings[:-1])


def test_cells_are_found_again_from_features(table):
    encoding = fit_encoding(table)
    numbers, dates = encoding.columns[0], encoding.columns[3]
    found = [np.nan if x is None else x for x in numbers.cells_of(numbers.encode(table))]
    assert_array_equal(found, table.frame["number"])
    assert dates.cells_of(dates.encode(table)) == dates.shown(table).tolist()


def test_parts_of_features_are_summed_by_column(table):
    encoding = fit_encoding(table)
    parts = np.random.default_rng(0).normal(size=(4, len(encoding.owners), 2))
    for j in range(len(encoding.columns)):
        assert_allclose(
            by_column(parts, encoding.owners)[:, j], parts[:, encoding.owners == j].sum(axis=1)
        )


def test_features_of_different_columns_have_different_names():
    frame = pd.DataFrame({"a": ["x", "y"] * 10, "a is x": np.arange(20.0) % 7})
    inputs = fit_encoding(as_table(frame)).inputs(as_table(frame))
    assert inputs.columns.is_unique


def test_messages_count_rows_as_the_whole_table_does():
    table = as_table(pd.DataFrame({"a": [1.0, np.nan, 1e200, 2.0], "y": [1.0, 2.0, 3.0, 4.0]}))
    part = table.take(np.array([0, 2, 3])).without(["y"]).take(np.array([1, 2]))
    with pytest.raises(TableError, match=r"row 3, column 'a': the number 1e[+]200 is above"):
        fit_encoding(part)
    assert "row 4, column 'a'" in str(part.refuse("a", 1, "a number", ""))
