"""Encoding of tables: which columns are kept, which targets are refused, and what notes say."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from houses import fitted, houses
from locallinear import FALLRegressor
from locallinear.tables.encoding import MAX_CATEGORIES, fit_encoding
from locallinear.tables.table import TableError, as_table


def test_a_text_that_was_not_in_the_training_data_adds_nothing_and_is_noted():
    model, frame = fitted(), houses(seed=1)
    frame.loc[4, "district"] = "east"
    assert model.explain(frame).contributions[4, 2] == 0
    (note,) = model.encoding.unseen(as_table(frame))
    assert "'district'" in note
    assert "1 of 60 rows, such as 'east' in row 5" in note


def test_rare_categories_beyond_the_most_frequent_count_as_unseen():
    frame = pd.DataFrame({"code": [f"c{i % 40}" for i in range(200)], "y": np.arange(200.0)})
    encoding, _, notes = fit_encoding(frame, ("y",))
    assert len(encoding.columns[0].categories) == MAX_CATEGORIES
    assert "most frequent values" in notes[0]


def test_columns_without_information_are_left_out_with_a_reason():
    frame = houses().assign(empty=np.nan, same=3.0)
    encoding, _, notes = fit_encoding(frame, ("price",), ignore=("rent", "kind"))
    assert encoding.names == ["size (m²)", "rooms", "district"]
    reasons = " ".join(notes)
    for text in ("'id' is left out: it counts", "60 different texts", "no values", "are equal"):
        assert text in reasons


def test_rows_without_a_target_are_left_out():
    frame = houses()
    frame.loc[:4, "price"] = np.nan
    encoding, table, notes = fit_encoding(frame, ("price",))
    assert len(encoding.inputs(table)) == len(encoding.outputs(table)) == 55
    assert notes[0] == "Rows without a target are left out: 5 of 60."


def test_a_count_of_the_rows_is_left_out_where_some_rows_have_no_target():
    frame = houses()
    frame.loc[7, "price"] = np.nan
    encoding, _, notes = fit_encoding(frame, ("price",))
    assert "id" not in encoding.names
    assert any("'id' is left out: it counts" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "targets", "sentence"),
    [
        ({"price": 7.0}, ("price",), "'price' is 7.0 in every row"),
        ({"price": np.nan}, ("price",), "no row has a value"),
        ({}, ("price", "kind"), "A class is one column"),
        ({}, ("price", "price"), "names a column twice"),
        ({}, ("name",), "60 different texts in 60 rows, too many for classes"),
        ({}, ("prise",), "Did you mean 'price'"),
    ],
)
def test_targets_that_cannot_be_learnt_are_refused(change, targets, sentence):
    with pytest.raises(TableError, match=sentence):
        fit_encoding(houses().assign(**change), targets)


@pytest.mark.parametrize("column", ["rooms", "price"])
def test_a_slip_in_a_column_of_numbers_is_named_by_row_and_column(column):
    frame = houses()
    frame[column] = frame[column].astype(str)
    frame.loc[6, column] = "three"
    with pytest.raises(TableError, match=f"row 7, column '{column}': expected a number.*'three'"):
        fit_encoding(frame, ("price",))


def test_a_column_of_mixed_codes_is_text_on_request():
    frame = houses()
    frame["rooms"] = frame["rooms"].astype(int).astype(str)
    frame.loc[6, "rooms"] = "5+"
    encoding, *_ = fit_encoding(frame, ("price",), categorical=("rooms",))
    assert "5+" in encoding.columns[1].categories


def test_a_table_with_nothing_but_the_target_is_refused():
    with pytest.raises(TableError, match="no column to learn from beside price"):
        fit_encoding(houses()[["price"]], ("price",))


def test_a_frame_and_the_table_of_it_have_the_same_encoding():
    options = {"categorical": ("rooms",), "missing": ("south",)}
    from_frame, *_ = fit_encoding(houses(), ("price",), **options)
    table = as_table(houses(), text=("rooms",), missing=("south",))
    assert fit_encoding(table, ("price",), **options)[0] == from_frame
    assert "4" in dict(zip(from_frame.names, from_frame.columns, strict=True))["rooms"].categories


def test_numbers_of_a_frame_are_classes_on_request():
    encoding, table, _ = fit_encoding(houses(), ("rooms",), classify=True)
    assert encoding.classify
    assert set(encoding.outputs(table)) == {str(n) for n in range(1, 7)}


@pytest.mark.parametrize("targets", [("price",), ("price", "rent")], ids=" ".join)
def test_named_outputs_give_an_estimator_the_names_of_the_targets(targets):
    encoding, table, _ = fit_encoding(houses(), targets)
    X, y = encoding.inputs(table), encoding.outputs(table)
    named = FALLRegressor(5, random_state=0).fit(X, encoding.named_outputs(y))
    assert named.explain(X).target_names == list(targets)
    plain = FALLRegressor(5, random_state=0).fit(X, y)
    assert_array_equal(named.predict(X), plain.predict(X))
