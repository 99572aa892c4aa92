"""Models of raw tables: they add up by column, and come back from files."""

import re

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from archives import forge, members
from houses import fitted, houses
from locallinear import FALLRegressor, TableModel, load
from locallinear.cli.summary import regime_lines
from locallinear.io import ModelFileError
from locallinear.tables.encoding import MAX_CATEGORIES, fit_encoding
from locallinear.tables.table import TableError, as_table

TARGETS = [("price",), ("price", "rent"), ("kind",)]


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize("targets", TARGETS, ids=" ".join)
def test_contributions_of_columns_and_constant_are_the_prediction(targets, scaling):
    model, frame = fitted(targets, scaling=scaling), houses(seed=1)
    told = model.explain(frame)
    assert told.feature_names == ["size (m²)", "rooms", "district"]
    total = told.contributions.sum(axis=1) + told.intercept
    scores = model.estimator._predict(model.encode(frame))
    assert_allclose(total, scores, rtol=1e-9, atol=1e-9)
    assert_allclose(told.prediction.reshape(total.shape), total)
    assert_allclose(told.anchor_part + told.correction_part, _models(told), atol=1e-9)


def _models(told):
    return np.concatenate([told.coef, told.intercept[:, None]], axis=1)


def test_coefficients_of_numbers_are_those_of_the_estimator_and_text_has_value_one():
    model, frame = fitted(), houses(seed=1)
    told, raw = model.explain(frame), model.estimator.explain(model.encode(frame))
    assert_allclose(told.coef[:, :2], raw.coef[:, :2])
    assert_allclose(told.coef[:, 2], told.contributions[:, 2])


def test_ranks_are_those_of_numbers_and_text_has_value_one():
    model, frame = fitted(scaling="quantile"), houses(seed=1)
    told, raw = model.explain(frame), model.estimator.explain(model.encode(frame))
    assert_allclose(told.ranks[:, :2], raw.ranks[:, :2])
    assert (told.ranks[:, 2] == 1).all()
    assert_allclose(told.contributions, told.coef * told.ranks[:, :, None], atol=1e-9)
    assert fitted().explain(frame).ranks is None


def test_learned_weights_are_summed_by_column():
    told = fitted(neighborhood="learned").explain(houses())
    assert told.feature_weights.shape == (3,)
    assert_allclose(told.feature_weights.sum(), 1)


@pytest.mark.parametrize("targets", TARGETS, ids=" ".join)
def test_a_loaded_model_is_the_saved_one(targets, path):
    model, frame = fitted(targets), houses(seed=1)
    model.save(path)
    again = load(path)
    assert again.encoding == model.encoding
    assert_array_equal(again.predict(frame), model.predict(frame))
    assert_array_equal(again.explain(frame).contributions, model.explain(frame).contributions)
    if targets == ("kind",):
        assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_file_whose_columns_do_not_fit_its_model_is_refused(path):
    fitted().save(path)
    content = members(path)
    content["model.json"] = content["model.json"].replace(b'"old town", ', b"")
    forge(path, content)
    with pytest.raises(ModelFileError, match="its table has 5 inputs, and its model 6"):
        load(path)


def test_the_order_of_columns_does_not_matter_and_others_are_not_read():
    model, frame = fitted(), houses(seed=1)
    turned = frame[["district", "rooms", "size (m²)"]].assign(other="x")
    assert_array_equal(model.predict(turned), model.predict(frame))


def test_missing_numbers_count_as_the_median_and_missing_text_as_a_category():
    model, frame = fitted(), houses()
    X = model.encode(frame)
    gaps = frame["size (m²)"].isna()
    assert (X.loc[gaps, "size (m²)"] == frame["size (m²)"].median()).all()
    assert_array_equal(X["district is (missing)"] == 1, frame["district"].isna())


def test_what_means_no_value_does_so_in_frames_too():
    frame = houses().fillna({"size (m²)": -999.0, "district": "none"})
    encoding, table, _ = fit_encoding(
        as_table(frame, missing=("-999", "none")), ("price",), missing=("-999", "none")
    )
    assert encoding.columns[0].fill == houses()["size (m²)"].median()
    X = encoding.inputs(table)
    model = TableModel(encoding, FALLRegressor(5).fit(X, encoding.outputs(table)))
    assert_array_equal(model.encode(frame), X)
    assert_array_equal(model.encode(houses()), X)


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
def test_what_a_column_changes_is_its_coefficient_times_the_difference_of_ranks(neighborhood):
    model = fitted(scaling="quantile", neighborhood=neighborhood, n_anchors=1)
    said = " ".join(line.strip() for line in regime_lines(model))
    pattern = r"([+−][\d.]+) as size \(m²\) goes from ([\d.]+) to ([\d.]+)"
    change, *ends = (float(x.replace("−", "-")) for x in re.search(pattern, said).groups())
    frame = houses().iloc[[0, 0]].assign(**{"size (m²)": ends})
    ranks = model.explain(frame).ranks[:, 0]
    slope = model.estimator.anchor_models_[0, 0, 0]
    assert_allclose(change, slope * (ranks[1] - ranks[0]), rtol=0.02)


def test_constants_are_explained_where_terms_are_left_out():
    rng = np.random.default_rng(0)
    X = 1970 + rng.normal(size=(60, 7))
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(y=X @ np.arange(7.0))
    encoding, table, _ = fit_encoding(as_table(frame), ("y",))
    fall = FALLRegressor(1, scaling="standard", random_state=0)
    model = TableModel(encoding, fall.fit(encoding.inputs(table), encoding.outputs(table)))
    said = " ".join(regime_lines(model))
    assert "+ 3 smaller terms" in said
    assert said.endswith("Constants hold what the smaller terms add in an average row.")
    assert "smaller" not in " ".join(regime_lines(fitted(scaling="standard")))


def test_frames_of_polars_are_tables_too():
    model, frame = fitted(), houses(seed=1)
    other = polars.from_pandas(frame)
    assert_array_equal(model.predict(other), model.predict(frame))
    assert_array_equal(model.explain(other).contributions, model.explain(frame).contributions)


def test_what_has_no_columns_is_refused():
    with pytest.raises(TypeError, match=r"expected a DataFrame, .* but got a ndarray"):
        fitted().predict(np.ones((2, 3)))


def test_a_frame_of_one_column_is_not_sent_to_the_command_line():
    with pytest.raises(TableError, match=r"It has a single column, 'a'\.$"):
        fitted().predict(pd.DataFrame({"a": [1]}))


def test_a_text_that_fitting_did_not_see_adds_nothing_and_is_noted():
    model, frame = fitted(), houses(seed=1)
    frame.loc[4, "district"] = "east"
    assert model.explain(frame).contributions[4, 2] == 0
    (note,) = model.encoding.unseen(as_table(frame))
    assert "'district'" in note
    assert "1 of 60 rows, such as 'east' in row 5" in note


def test_rare_categories_beyond_the_most_frequent_count_as_unseen():
    frame = pd.DataFrame({"code": [f"c{i % 40}" for i in range(200)], "y": np.arange(200.0)})
    encoding, _, notes = fit_encoding(as_table(frame), ("y",))
    assert len(encoding.columns[0].categories) == MAX_CATEGORIES
    assert "most frequent values" in notes[0]


def test_columns_that_teach_nothing_are_left_out_with_a_reason():
    frame = houses().assign(empty=np.nan, same=3.0)
    encoding, _, notes = fit_encoding(as_table(frame), ("price",), ignore=("rent", "kind"))
    assert encoding.names == ["size (m²)", "rooms", "district"]
    reasons = " ".join(notes)
    for text in ("'id' is left out: it counts", "60 different texts", "no values", "are equal"):
        assert text in reasons


def test_rows_without_a_target_are_left_out():
    frame = houses()
    frame.loc[:4, "price"] = np.nan
    encoding, table, notes = fit_encoding(as_table(frame), ("price",))
    assert len(encoding.inputs(table)) == len(encoding.outputs(table)) == 55
    assert notes[0] == "Rows without a target are left out: 5 of 60."


def test_a_count_of_the_rows_is_left_out_where_some_rows_have_no_target():
    frame = houses()
    frame.loc[7, "price"] = np.nan
    encoding, _, notes = fit_encoding(as_table(frame), ("price",))
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
        fit_encoding(as_table(houses().assign(**change)), targets)


@pytest.mark.parametrize("column", ["rooms", "price"])
def test_a_slip_in_a_column_of_numbers_is_named_by_row_and_column(column):
    frame = houses()
    frame[column] = frame[column].astype(str)
    frame.loc[6, column] = "three"
    with pytest.raises(TableError, match=f"row 7, column '{column}': expected a number.*'three'"):
        fit_encoding(as_table(frame), ("price",))


def test_a_column_of_mixed_codes_is_text_where_it_is_asked_for():
    frame = houses()
    frame["rooms"] = frame["rooms"].astype(int).astype(str)
    frame.loc[6, "rooms"] = "5+"
    encoding, *_ = fit_encoding(as_table(frame), ("price",), categorical=("rooms",))
    assert "5+" in encoding.columns[1].categories


def test_a_table_with_nothing_but_the_target_is_refused():
    with pytest.raises(TableError, match="no column to learn from beside price"):
        fit_encoding(as_table(houses()[["price"]]), ("price",))
