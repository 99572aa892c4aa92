"""TableModel: contributions sum to the prediction by column, and files restore the model."""

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from archives import forge, members
from houses import fitted, houses
from locallinear import FALLRegressor, TableModel, load
from locallinear.io import ModelFileError
from locallinear.tables.encoding import fit_encoding
from locallinear.tables.table import TableError, as_table

TARGETS = [("price",), ("price", "rent"), ("kind",)]


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize("targets", TARGETS, ids=" ".join)
def test_contributions_of_columns_and_constant_are_the_prediction(targets, scaling):
    model, frame = fitted(targets, scaling=scaling), houses(seed=1)
    explanation = model.explain(frame)
    assert explanation.feature_names == ["size (m²)", "rooms", "district"]
    total = explanation.contributions.sum(axis=1) + explanation.intercept
    scores = model.estimator.predict_numeric(model.encode(frame))
    assert_allclose(total, scores, rtol=1e-9, atol=1e-9)
    assert_allclose(explanation.prediction.reshape(total.shape), total)
    assert_allclose(
        explanation.anchor_part + explanation.correction_part, _models(explanation), atol=1e-9
    )


def _models(explanation):
    return np.concatenate([explanation.coef, explanation.intercept[:, None]], axis=1)


def test_coefficients_of_numbers_are_those_of_the_estimator_and_text_has_value_one():
    model, frame = fitted(), houses(seed=1)
    explanation, raw = model.explain(frame), model.estimator.explain(model.encode(frame))
    assert_allclose(explanation.coef[:, :2], raw.coef[:, :2])
    assert_allclose(explanation.coef[:, 2], explanation.contributions[:, 2])


def test_ranks_are_those_of_numbers_and_text_has_value_one():
    model, frame = fitted(scaling="quantile"), houses(seed=1)
    explanation, raw = model.explain(frame), model.estimator.explain(model.encode(frame))
    assert_allclose(explanation.ranks[:, :2], raw.ranks[:, :2])
    assert (explanation.ranks[:, 2] == 1).all()
    assert_allclose(
        explanation.contributions, explanation.coef * explanation.ranks[:, :, None], atol=1e-9
    )
    assert fitted().explain(frame).ranks is None


def test_an_explanation_by_column_holds_that_by_feature_of_the_estimator():
    model, frame = fitted(("price", "rent"), scaling="quantile"), houses(seed=1)
    encoded, raw = model.explain(frame).encoded, model.estimator.explain(model.encode(frame))
    assert_array_equal(encoded.coef, raw.coef)
    assert_array_equal(encoded.regressors, raw.ranks)
    assert encoded.encoded is None


def test_learned_weights_are_summed_by_column():
    explanation = fitted(neighborhood="learned").explain(houses())
    assert explanation.feature_weights.shape == (3,)
    assert_allclose(explanation.feature_weights.sum(), 1)


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


def test_cells_that_mean_no_value_do_so_in_frames_too():
    frame = houses().fillna({"size (m²)": -999.0, "district": "none"})
    encoding, table, _ = fit_encoding(
        as_table(frame, missing=("-999", "none")), ("price",), missing=("-999", "none")
    )
    assert encoding.columns[0].fill == houses()["size (m²)"].median()
    X = encoding.inputs(table)
    model = TableModel(encoding, FALLRegressor(5).fit(X, encoding.outputs(table)))
    assert_array_equal(model.encode(frame), X)
    assert_array_equal(model.encode(houses()), X)


def test_frames_of_polars_are_tables_too():
    model, frame = fitted(), houses(seed=1)
    other = polars.from_pandas(frame)
    assert_array_equal(model.predict(other), model.predict(frame))
    assert_array_equal(model.explain(other).contributions, model.explain(frame).contributions)


def test_data_without_columns_are_refused():
    with pytest.raises(TypeError, match=r"expected a DataFrame, .* but got a ndarray"):
        fitted().predict(np.ones((2, 3)))


def test_the_error_for_a_frame_of_one_column_names_no_option_of_the_command_line():
    with pytest.raises(TableError, match=r"It has a single column, 'a'\.$"):
        fitted().predict(pd.DataFrame({"a": [1]}))


def test_an_empty_model_says_that_it_is_empty():
    for method in (TableModel().predict, TableModel().predict_proba, TableModel().explain):
        with pytest.raises(NotFittedError, match="This TableModel is empty; the command `local"):
            method(houses())
    with pytest.raises(NotFittedError, match="This TableModel is empty"):
        TableModel().explain_samples()
