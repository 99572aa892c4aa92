"""What a column is: as a person would say it, for awkward columns, from files and from frames."""

import io

import numpy as np
import pandas as pd
import polars
import pytest

from locallinear.tables.encoding import fit_encoding
from locallinear.tables.kinds import understand
from locallinear.tables.read import read_table
from locallinear.tables.table import TableError, as_table
from locallinear.tables.wanted import KINDS, check_types

N = 60
ROWS = np.arange(N)
DAYS = pd.date_range("2023-02-27", periods=N)

# A column, and what a person would call it.
AWKWARD = {
    "size": (ROWS * 1.7 % 11, "number"),
    "price": ([f"${1000 + 37 * i:,}.50" for i in ROWS], "number"),
    "preis": ([f"{1 + i % 9}.{100 + i},00 €" for i in ROWS], "number"),
    "share": ([f"{i % 17}.5 %" for i in ROWS], "number"),
    "people": ([f"{1 + i % 7},{100 + i}" for i in ROWS], "number"),
    "length": ([f"{i % 5}:{i % 60:02}:30" for i in ROWS], "number"),
    "wait": ([f"{5 + i} min" for i in ROWS], "number"),
    "delay": (pd.to_timedelta(ROWS * 90, unit="s"), "number"),
    "score": ([str(i % 9) if i % 4 else "unknown" for i in ROWS], "number"),
    "day": ([f"{d:%d.%m.%Y}" for d in DAYS], "date"),
    "us day": ([f"{d:%m/%d/%Y}" for d in DAYS], "date"),
    "stamp": ([f"{d:%Y-%m-%d} 13:30" for d in DAYS], "date"),
    "month": (DAYS.to_period("M"), "date"),
    "compact": ([int(f"{d:%Y%m%d}") for d in DAYS], "date"),
    "colour": ([["red", "green", None][i % 3] for i in ROWS], "category"),
    "member": (ROWS % 2 == 0, "category"),
    "class": (pd.Categorical(ROWS % 4), "category"),
    "grade": (pd.Categorical([["C", "B", "A"][i % 3] for i in ROWS], list("CBA"), ordered=True),
              "ordered"),
    "postcode": (10000 + ROWS % 7, "category"),
    "branch": ([f"{i % 12:03}" for i in ROWS], "category"),
    "city": ([f"{['Bad', 'Neu', 'Alt'][i % 3]} {['burg', 'dorf'][i % 2]} {i % 45}" for i in ROWS],
             "text"),
    "remark": ([f"{['broken', 'late', 'fine'][i % 3]} delivery, note {i}" for i in ROWS], "text"),
    "customer id": (10**6 + ROWS * 7919 % 10007, "skip"),
    "number": (ROWS + 1, "skip"),
    "key": ([f"{i * 2654435761 % 2**32:08x}-x" for i in ROWS], "skip"),
    "version": (["1.0"] * N, "skip"),
    "empty": ([None] * N, "skip"),
}  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame({name: cells for name, (cells, _) in AWKWARD.items()})


@pytest.mark.parametrize("name", AWKWARD)
def test_a_column_is_what_a_person_would_call_it(frame, name):
    found = understand(frame[name])
    assert found.kind == AWKWARD[name][1], found.reason
    assert found.reason


# A file has no types: durations are written as text, and categories of numbers are numbers.
TYPED = {"class", "grade", "month"}


@pytest.mark.parametrize("name", sorted(AWKWARD.keys() - TYPED))
def test_a_column_from_a_file_is_what_it_is_from_a_frame(frame, tmp_path, name):
    path = tmp_path / "data.csv"
    frame[["size", name]].loc[:, ~frame[["size", name]].columns.duplicated()].to_csv(
        path, index=False
    )
    column = read_table(path).frame[name]
    assert understand(column).kind == AWKWARD[name][1], column.head()


def test_types_of_polars_mean_what_those_of_pandas_mean():
    levels = polars.Enum(["low", "high"])
    frame = polars.DataFrame(
        {
            "when": DAYS.to_pydatetime().tolist(),
            "how long": (DAYS - DAYS[0]).to_pytimedelta().tolist(),
            "grade": polars.Series(["low", "high"] * (N // 2), dtype=levels),
            "kind": polars.Series(["a", "b", "c"] * (N // 3), dtype=polars.Categorical),
            "whole": [None, *range(1, N)],
            "yes": [True, False] * (N // 2),
        }
    )
    kinds = [understand(as_table(frame).frame[name]).kind for name in frame.columns]
    assert kinds == ["date", "number", "ordered", "category", "number", "category"]


def test_the_users_word_replaces_the_guess(frame):
    types = {"size": "category", "postcode": "number", "colour": "skip", "customer id": "number"}
    encoding = fit_encoding(as_table(frame), types)
    lines = encoding.to_frame().set_index("column")
    assert lines.loc[list(types), "kind"].tolist() == list(types.values())
    assert (lines.loc[list(types), "reason"] == "types says so").all()
    assert lines.columns.tolist() == ["kind", "encoding", "reason"]
    assert lines.index.tolist() == list(AWKWARD)


@pytest.mark.parametrize(
    ("types", "sentence"),
    [
        ({"size": "float"}, "column 'size' is 'float', but a kind is one of number, category"),
        ({"sise": "number"}, "types names the column 'sise', which X does not have"),
        (["size"], "types must be a dict from columns to kinds, but is a list"),
        ({"size": "text: %d"}, "but a colon is used as in 'number: ,', 'date: %d/%m/%Y' or 'ord"),
        ({"size": "date: %q"}, "but a colon is used as in"),
        ({"size": ["low"]}, "levels are two or more texts, from the lowest to the highest"),
    ],
)
def test_wrong_types_are_refused(types, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_types(types, ["size"])
    assert set(check_types(dict.fromkeys(KINDS, "skip"), list(KINDS))) == set(KINDS)


def test_columns_with_numbers_for_names_are_named_so():
    assert check_types({0: "number"}, ["0", "b"]) == {"0": "number"}


@pytest.mark.parametrize(("mark", "numbers"), [(",", [1234, 5678]), (".", [1.234, 5.678])])
def test_the_user_says_which_mark_begins_decimals(mark, numbers):
    table = as_table(pd.DataFrame({"v": ["1.234", "5.678"]}))
    (column,) = fit_encoding(table, {"v": f"number: {mark}"}).columns
    assert column.shown(table).tolist() == numbers


def test_a_slip_among_numbers_is_named_by_row_and_column():
    column = pd.Series([*map(str, range(30)), "three"], name="rooms")
    assert understand(column).kind == "number"
    with pytest.raises(TableError, match=r"row 31, column 'rooms': expected a number.*'three'"):
        fit_encoding(as_table(column.to_frame()))


def test_a_table_without_information_is_refused_with_reasons():
    with pytest.raises(TableError, match=r"no column to learn from.*'a': all its values are equal"):
        fit_encoding(as_table(pd.DataFrame({"a": [1, 1, 1]})))


def test_reading_is_not_fooled_by_what_looks_alike():
    frame = pd.read_csv(io.StringIO("v,w\n1.2.3,12-34\n1.2.4,56-78\n" * 10))
    assert understand(frame["v"]).kind == "category"
    assert understand(frame["w"]).kind == "category"
