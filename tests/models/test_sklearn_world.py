"""The estimators among others: scikit-learn's checks and tools, frames, other libraries."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from mapie.regression import SplitConformalRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops import io as skops_io

from locallinear import FALLClassifier, FALLRegressor
from sklearn_checks import check_all


@pytest.mark.parametrize("name", ["FALLRegressor", "FALLClassifier"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scaling": None, "weights": "uniform"},
        {"anchor_selection": "kmeans", "anchor_alpha": 0.01, "anchor_l1_ratio": 0.5},
        {"assignment_neighbors": 3, "scaling": "quantile", "n_neighbors": 3},
    ],
    ids=["default", "paper", "kmeans", "quantile"],
)
def test_scikit_learns_checks_all_pass_and_none_is_skipped(name, options):
    check_all(name, options)


@pytest.fixture(scope="module")
def frame():
    return load_diabetes(return_X_y=True, as_frame=True)


def small_regressor(**options):
    return FALLRegressor(10, **{"random_state": 0, **options})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_the_results_of_arrays_and_their_names(frame, library):
    X, y = frame
    table, target = (X, y) if library == "pandas" else (pl.from_pandas(X), pl.from_pandas(y))
    model, plain = small_regressor().fit(table, target), small_regressor().fit(X.values, y.values)
    assert_array_equal(model.feature_names_in_, X.columns)
    assert_allclose(model.predict(table), plain.predict(X.values), rtol=1e-12)
    assert model.explain(table[:2]).feature_names == list(X.columns)
    model.partial_fit(table[:5], target[:5])
    assert model.n_samples_fit_ == len(X) + 5
    assert_array_equal(model.assign(table[:5], target[:5]), model.labels_[:5])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_words_in_frames_are_classes(library):
    X, y = load_iris(return_X_y=True, as_frame=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    table, target = X, pd.Series(words)
    if library == "polars":
        table, target = pl.from_pandas(X), pl.Series(words.tolist())
    model = FALLClassifier(10, random_state=0).fit(table, target)
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert (model.predict(table) == words).mean() > 0.95


def test_other_feature_names_are_refused(frame):
    X, y = frame
    model = small_regressor().fit(X, y)
    renamed = X.rename(columns={"age": "years"})
    for method in (model.predict, model.explain):
        with pytest.raises(ValueError, match="feature names should match"):
            method(renamed)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(renamed, y)


def test_explanation_as_a_frame_adds_up_to_the_predictions(frame):
    X, y = frame
    rows = X[:4].set_axis(["a", "b", "c", "d"], axis=0)
    told = small_regressor().fit(X, y).explain(rows)
    table = told.to_frame()
    assert table.index.names == ["query", "target", "feature"]
    assert len(table) == 4 * 13
    for column in ("part", "contribution"):
        assert_allclose(table[column].groupby("query").sum(), told.prediction)
    assert_allclose(table["part"].xs("(baseline)", level="feature"), y.mean())
    age = table.loc[("c", y.name, "age")]
    assert age["value"] == X["age"].iloc[2]
    assert_allclose(age["contribution"], age["coef"] * age["value"])
    plain = small_regressor().fit(X.to_numpy(), y).explain(X[:4].to_numpy()).to_frame()
    assert plain.index.get_level_values("query").tolist() == np.repeat(range(4), 13).tolist()


def test_a_frame_has_the_ranks_that_coefficients_multiply_in_quantile_space(frame):
    X, y = frame
    told = small_regressor(scaling="quantile").fit(X, y).explain(X[:4])
    table = told.to_frame()
    assert list(table) == ["value", "slope", "part", "rank", "coef", "contribution"]
    assert_allclose(told.contributions[:, :, 0], told.coef[:, :, 0] * told.ranks)
    features = table.drop(["(baseline)", "(neighborhood)", "(intercept)"], level="feature")
    assert_allclose(features["slope"], told.slopes.ravel())
    assert_allclose(features["contribution"], features["coef"] * features["rank"])
    assert_allclose(features["rank"], told.ranks.ravel())
    assert np.abs(told.ranks).max() < np.sqrt(3)
    assert small_regressor().fit(X, y).explain(X[:4]).ranks is None


def test_pipelines_and_predictions_of_the_default_space_agree(frame):
    X, y = frame
    pipeline = make_pipeline(StandardScaler(), small_regressor(scaling=None)).fit(X, y)
    assert_allclose(pipeline.predict(X), small_regressor().fit(X, y).predict(X), rtol=1e-8)


def test_grid_search_finds_the_configuration_with_the_best_score(frame):
    X, y = frame
    grid = {"alpha": [0.1, 100.0], "n_neighbors": [1, 20], "anchor_selection": ["random", "kmeans"]}
    search = GridSearchCV(small_regressor(), grid, cv=3).fit(X, y)
    chosen = small_regressor(**search.best_params_)
    assert_allclose(cross_val_score(chosen, X, y, cv=3).mean(), search.best_score_)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert_array_equal(search.predict(X), chosen.fit(X, y).predict(X))


def test_cross_validated_scores_beat_chance_and_linear_regression_on_a_curve():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(300, 1))
    y = np.sin(2 * X[:, 0])
    model, line = small_regressor(anchor_alpha=0.01), LinearRegression()
    assert cross_val_score(model, X, y).mean() > 0.95 > cross_val_score(line, X, y).mean()


def copies(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    skops = skops_io.dumps(model)
    trusted = skops_io.get_untrusted_types(data=skops)
    return {
        "pickle": pickle.loads(pickle.dumps(model)),
        "joblib": joblib.load(buffer),
        "skops": skops_io.loads(skops, trusted=trusted),
    }


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_copies_predict_explain_and_go_on_learning_as_the_original(frame, scaling, neighborhood):
    X, y = frame[0].values, frame[1].values
    model = small_regressor(scaling=scaling, neighborhood=neighborhood)
    model.fit(X[:300], y[:300]).forget([3, 5])
    twins = copies(model)
    model.partial_fit(X[300:], y[300:]).forget(range(50))
    for copy in twins.values():
        copy.partial_fit(X[300:], y[300:]).forget(range(50))
        assert_array_equal(copy.predict(X), model.predict(X))
        assert_array_equal(copy.explain(X[:9]).neighbors, model.explain(X[:9]).neighbors)
        assert_array_equal(copy.labels_, model.labels_)


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
def test_copies_search_where_the_original_does(frame, neighborhood):
    X, y = frame[0].values, frame[1].values
    model = small_regressor(neighborhood=neighborhood).fit(X[:300], y[:300])
    for twin in copies(model).values():
        assert_array_equal(twin.predict(X[300:]), model.predict(X[300:]))


@pytest.mark.parametrize("scaling", [None, "standard"])
def test_a_pickle_holds_the_data_once(scaling):
    X = np.random.default_rng(0).normal(size=(2000, 50))
    model = FALLRegressor(5, scaling=scaling).fit(X, X[:, 0])
    model.predict(X[:5])
    assert len(pickle.dumps(model)) < 1.2 * X.nbytes
    assert len(pickle.dumps(model.partial_fit(X[:5], X[:5, 0]))) < 1.2 * X.nbytes


def test_clones_are_unfitted_and_equal(frame):
    X, y = frame
    model = small_regressor(anchor_selection=X.values[:3], weights="uniform").fit(X, y)
    twin = clone(model)
    assert not hasattr(twin, "anchor_models_")
    assert not hasattr(twin, "labels_")
    assert_array_equal(twin.fit(X, y).predict(X), model.predict(X))


def test_an_instance_of_random_state_is_used_up_and_a_number_is_not(frame):
    X, y = frame
    rng = np.random.RandomState(0)
    first, second = (small_regressor(random_state=rng).fit(X, y) for _ in range(2))
    assert (first.anchor_points_ != second.anchor_points_).any()
    assert_array_equal(first.predict(X), small_regressor(random_state=0).fit(X, y).predict(X))


def test_split_conformal_intervals_cover_as_often_as_they_promise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(900, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=900)
    model = small_regressor().fit(X[:300], y[:300])
    conformal = SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    conformal.conformalize(X[300:600], y[300:600])
    point, interval = conformal.predict_interval(X[600:])
    assert_allclose(point, model.predict(X[600:]))
    covered = (interval[:, 0, 0] <= y[600:]) & (y[600:] <= interval[:, 1, 0])
    assert 0.84 < covered.mean() < 0.96


def test_targets_keep_the_names_of_a_series_or_frame():
    X = np.random.default_rng(0).normal(size=(40, 3))
    named = pd.DataFrame({"strength": X[:, 0], "slump": X[:, 1]})
    assert FALLRegressor().fit(X, named["strength"]).explain(X[:1]).target_names == ["strength"]
    assert FALLRegressor().fit(X, named).explain(X[:1]).target_names == ["strength", "slump"]
    assert FALLRegressor().fit(X, named.to_numpy()).explain(X[:1]).target_names == ["y0", "y1"]
