"""Columns become features: what each kind of cell is, what gaps and new cells are, and back."""

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


def test_zones_are_one_time():
    zoned = pd.Series(pd.date_range("2020-01-01", periods=50, freq="7h", tz="Europe/Berlin"))
    assert_allclose(encoded(zoned)[1], encoded(zoned.dt.tz_convert("UTC"))[1])


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
