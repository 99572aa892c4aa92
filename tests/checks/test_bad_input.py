"""Wrong inputs, weights and calls raise an error that says what is wrong."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from locallinear import FALLRegressor
from refusals import ESTIMATORS, data, message


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize(
    ("scale", "words"), [(1e160, "divide by a power"), (1e-160, "multiply by a power")]
)
def test_inputs_whose_squares_overflow_or_vanish_are_refused(estimator, scaling, scale, words):
    X, y = data()
    text = message(estimator, X * [1.0, 1.0, scale], y, options={"scaling": scaling})
    assert "X must hold numbers of at" in text
    assert words in text


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_later_samples_and_queries_must_not_be_huge_but_may_be_tiny(estimator):
    X, y = data()
    model = estimator(random_state=0).fit(X, y)
    for call in (model.predict, model.explain, lambda X: model.partial_fit(X, y[:2])):
        with pytest.raises(ValueError, match="X must hold numbers of at most"):
            call(1e160 * X[:2])
        call(1e-160 * X[:2])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_named(estimator, value):
    X, y = data()
    broken = X.copy()
    broken[3, 1] = value
    if np.isnan(value):
        words = r"no gaps, but column {} has one \(NaN\) in sample 3; fill it.*SimpleImputer"
    else:
        words = f"finite numbers, but column {{}} has {value} in sample 3; replace it"
    model = estimator().fit(X, y)
    for call in (lambda Q: estimator().fit(Q, y), model.predict, model.explain):
        with pytest.raises(ValueError, match=words.format(1)):
            call(broken)
    frame = pd.DataFrame(broken, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=words.format("'b'")):
        estimator().fit(frame, y)
    weights = np.ones(40)
    weights[2] = value
    text = message(estimator, X, y, sample_weight=weights)
    if np.isnan(value):
        assert "sample_weight must have a number for every sample, but sample 2 has none" in text
    else:
        assert f"sample_weight must hold finite numbers, but entry 2 is {value}; replace" in text


def test_missing_cells_of_a_frame_of_objects_are_named():
    X, y = data()
    for nothing in (None, pd.NA):
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype(object)
        frame.loc[5, "c"] = nothing
        assert "column 'c' has one (NaN) in sample 5" in message(FALLRegressor, frame, y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_column_of_text_is_named_with_what_to_do(estimator):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b="north")
    words = "column 'b' holds text, such as 'north'; turn it .*OneHotEncoder.*TableRegressor"
    with pytest.raises(ValueError, match=words):
        estimator().fit(frame, y)
    model = estimator().fit(frame.assign(b=1.0), y)
    for method in (model.predict, model.explain):
        with pytest.raises(ValueError, match=words):
            method(frame)
    with pytest.raises(ValueError, match="column 1 holds text, such as 'north'"):
        estimator().fit(frame.to_numpy(), y)
    numbers_as_text = frame.assign(b=["1.5"] * len(frame)).to_numpy()
    assert estimator().fit(numbers_as_text, y).n_features_in_ == 3


@pytest.mark.parametrize("kind", ["datetime64[ns]", object])
def test_a_column_of_times_is_named_with_what_to_do(kind):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["when"] = pd.Series(pd.date_range("2020-02-01", periods=len(X))).astype(kind)
    with pytest.raises(ValueError, match=r"column 'when' holds times, such as 2020-02-01.*days"):
        FALLRegressor().fit(frame, y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_shapes_are_named(estimator):
    X, y = data()
    assert "minimum of 1 is required" in message(estimator, X[:0], y[:0])
    assert "0 feature(s)" in message(estimator, X[:, :0], y)
    assert "Expected 2D array, got 1D array" in message(estimator, X[:, 0], y)
    assert "inconsistent numbers of samples" in message(estimator, X, y[:-1])
    model = estimator().fit(X, y)
    for method in (model.predict, model.explain):
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
            method(X[:, :2])
    for method in (model.partial_fit, model.assign):
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
            method(X[:, :2], y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_inputs_are_refused_with_what_to_do(estimator):
    X, y = data()
    with pytest.raises(TypeError, match=r"[Ss]parse data was passed.*dense"):
        estimator().fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_failed_fit_leaves_the_model_that_was_there(estimator):
    X, y = data()
    model = estimator(random_state=0)
    for bad, words in [(100 * X[:4], "n_neighbors=5"), (X[:4, :2] * 1e200, "squares are finite")]:
        with pytest.raises(ValueError, match=words):
            model.fit(bad, y[:4])
        with pytest.raises(NotFittedError):
            model.predict(X)
    before = model.fit(X, y).predict(X)
    for bad in (100 * X[:4], X[:4, :2] * 1e200):
        with pytest.raises(ValueError, match=r"n_neighbors=5|squares are finite"):
            model.fit(bad, y[:4])
        assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_sample_weights_are_named(estimator):
    X, y = data()
    text = message(estimator, X, y, sample_weight=np.r_[1.0, -2.0, np.ones(38)])
    assert "sample_weight must not be negative, but entry 1 is -2.0; use 0" in text
    text = message(estimator, X, y, sample_weight=np.ones(39))
    assert "sample_weight must have one entry per sample" in text
    assert "zero for every sample" in message(estimator, X, y, sample_weight=np.zeros(40))


def test_forgetting_unknown_or_all_samples_is_refused_and_changes_nothing():
    X, y = data()
    model = FALLRegressor(random_state=0).fit(X, y)
    before = model.predict(X)
    for indices, words in [
        ([40], "samples from 0 to 39, or from -1 to -40 counted from the end, but one is 40"),
        ([-41], "samples from 0 to 39, or from -1 to -40 counted from the end, but one is -41"),
        ([0.5], "indices must be whole numbers"),
        ([[0, 1]], "indices must be whole numbers"),
        (np.ones(40, dtype=bool), "indices must be whole numbers .* np.flatnonzero"),
        (range(40), "forget would remove all 40 samples"),
        (
            range(36),
            "n_neighbors=5 samples are needed per prediction, but there are only n_samples=4",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            model.forget(indices)
        with pytest.raises(ValueError, match="indices must"):
            model.local_models([99])
        assert_array_equal(model.predict(X), before)
        assert model.n_samples_fit_ == 40


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_model_that_is_not_fitted_says_so(estimator, tmp_path):
    X, y = data()
    failed = estimator(anchor_models=np.zeros((1, 1, 1)))
    message(lambda: failed, X, y)
    for model in (estimator(), failed):
        for call in [
            lambda m: m.predict(X),
            lambda m: m.explain(X),
            lambda m: m.local_models(),
            lambda m: m.forget([0]),
            lambda m: m.assign(X, y),
            lambda m: m.save(tmp_path / "model"),
        ]:
            with pytest.raises(NotFittedError, match="not fitted yet"):
                call(model)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_or_a_folder_in_place_of_a_file_is_named(tmp_path):
    X, y = data()
    model = FALLRegressor().fit(X, y)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none; make it"):
        model.save(tmp_path / "none" / "one.model")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none; make it"):
        model.explain(X).to_html(tmp_path / "none" / "why.html")
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file in it"):
        model.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
