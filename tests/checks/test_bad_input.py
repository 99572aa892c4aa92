"""Wrong input raises an error that says what is wrong; unusual input works."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    LocalizedLassoRegressor,
    NetworkLassoRegressor,
)

ESTIMATORS = [FALLRegressor, FALLClassifier]


def data(n=40, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.column_stack([X, np.full(len(X), 7.5)]),
        lambda X: np.column_stack([X, X[:, :1]]),
        lambda X: np.repeat(X[:10], 4, axis=0),
        lambda X: np.ones_like(X),
        lambda X: np.tile(X[:1], (len(X), 1)),
        lambda X: X * 1e100,
        lambda X: X * 1e-100,
        lambda X: X * [1e100, 1e-100, 1.0],
        lambda X: X + 1e9,
        lambda X: (10 * X).astype(np.int64),
        lambda X: X > 0,
        lambda X: X.astype(np.float16),
        lambda X: X[:, :1],
    ],
    ids=[
        "constant column",
        "repeated column",
        "repeated rows",
        "all ones",
        "one row repeated",
        "huge",
        "tiny",
        "mixed magnitudes",
        "large offset",
        "integers",
        "booleans",
        "half precision",
        "one column",
    ],
)
@pytest.mark.parametrize("selection", ["random", "kmeans"])
def test_odd_inputs_work(scaling, change, selection):
    X, y = data()
    X = change(X)
    for estimator in ESTIMATORS:
        for l1_ratio in [0.0, 0.5]:
            model = estimator(
                10,
                anchor_selection=selection,
                anchor_l1_ratio=l1_ratio,
                scaling=scaling,
                random_state=0,
            )
            model.fit(X, y)
            explanation = model.explain(X)
            assert np.isfinite(explanation.prediction).all()
            assert np.isfinite(explanation.contributions).all()
            assert np.isfinite(model.local_models()).all()
            assert_array_equal(model.predict(X).shape, y.shape)
            model.partial_fit(X[:3], y[:3]).forget([0])


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_targets_of_extreme_magnitude_are_predicted_in_proportion(scale):
    X, _ = data()
    plain = FALLRegressor(random_state=0).fit(X, X[:, 0])
    extreme = FALLRegressor(random_state=0).fit(X, scale * X[:, 0])
    assert_allclose(extreme.predict(X) / scale, plain.predict(X), rtol=1e-9)


def test_more_anchors_and_anchor_neighbours_than_samples_are_capped():
    X, y = data(8)
    model = FALLRegressor(500, n_anchor_neighbors=500, n_neighbors=8).fit(X, y)
    assert model.anchor_models_.shape == (8, 4, 1)


def test_one_sample_is_enough_for_one_neighbour():
    for estimator in ESTIMATORS:
        model = estimator(n_neighbors=1).fit([[1.0, 2.0]], [3])
        assert_allclose(model.predict([[1.0, 2.0], [9.0, 9.0]]), 3)


def message(estimator, X, y, method="fit", options=None, **arguments):
    """The error message of fitting with these options."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        getattr(estimator(**(options or {})), method)(X, y, **arguments)
    return str(caught.value)


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


@pytest.mark.parametrize("estimator", [FALLRegressor, FALLRegressorCV])
@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_targets_whose_squares_overflow_or_vanish_are_refused(estimator, scale):
    X, _ = data()
    assert "y must hold numbers of at" in message(estimator, X, scale * X[:, 0])


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
        assert "Input sample_weight contains infinity" in text


def test_nan_targets_are_named():
    X, y = data()
    text = message(FALLClassifier, X, np.where(np.arange(40) == 3, np.nan, y))
    assert "y must have a class for every sample, but sample 3 has none (nan); leave" in text


@pytest.mark.parametrize("nothing", [None, pd.NA, np.nan, np.inf])
@pytest.mark.parametrize("dtype", [object, float])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_sample_without_a_number_as_target_is_named(nothing, dtype, n_targets):
    X, _ = data()
    known = X[:, :n_targets].astype(dtype) if n_targets > 1 else X[:, 0].astype(dtype)
    y = known.copy()
    if dtype is float and (nothing is None or nothing is pd.NA):
        nothing = np.nan
    y[2] = nothing
    if nothing is np.inf:
        words = "y must hold finite numbers, but sample 2 has inf; leave such samples out"
    else:
        words = r"a number for every sample, but sample 2 has none \(NaN\); leave such samples out"
    regressors = [
        FALLRegressor(),
        FALLRegressorCV({"n_neighbors": [2]}),
        FALLEnsembleRegressor(2, search=None),
        NetworkLassoRegressor(),
        LocalizedLassoRegressor(),
    ]
    for model in regressors:
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    for model in (FALLRegressor(), FALLEnsembleRegressor(2, search=None)):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, y)
        model.fit(X, known.astype(float))
        before = model.predict(X)
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, y)
        assert_array_equal(model.predict(X), before)


def test_missing_cells_of_a_frame_of_objects_are_named():
    X, y = data()
    for nothing in (None, pd.NA):
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype(object)
        frame.loc[5, "c"] = nothing
        assert "column 'c' has one (NaN) in sample 5" in message(FALLRegressor, frame, y)


@pytest.mark.parametrize("estimator", [FALLClassifier, FALLClassifierCV])
@pytest.mark.parametrize(("other", "kinds"), [(1, "int and str"), (1.5, "float and str")])
def test_labels_of_several_kinds_are_named(estimator, other, kinds):
    X, _ = data()
    with pytest.raises(TypeError, match=f"y must hold labels of one kind.*but holds {kinds}"):
        estimator().fit(X, np.array(["a", other] * 20, dtype=object))


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
def test_more_neighbours_than_samples_are_refused(estimator):
    X, y = data(4)
    expected = "n_neighbors=5 samples are needed per prediction, but there are only n_samples=4"
    assert expected in message(estimator, X, y)
    X, y = data(10)
    weights = np.r_[np.ones(4), np.zeros(6)]
    assert expected in message(estimator, X, y, sample_weight=weights)


@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_more_neighbours_than_samples_are_refused_after_the_fit_as_well(weights):
    X, y = data()
    model = FALLRegressor(weights=weights, random_state=0).fit(X, y).forget([0])
    model.set_params(n_neighbors=40)
    for method in (model.predict, model.explain):
        with pytest.raises(ValueError, match=r"n_neighbors=40 .* only n_samples=39"):
            method(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_failed_fit_leaves_the_model_that_was_there(estimator):
    X, y = data()
    model = estimator(random_state=0)
    for bad, message in [(100 * X[:4], "n_neighbors=5"), (X[:4, :2] * 1e200, "squares are finite")]:
        with pytest.raises(ValueError, match=message):
            model.fit(bad, y[:4])
        with pytest.raises(NotFittedError):
            model.predict(X)
    before = model.fit(X, y).predict(X)
    for bad in (100 * X[:4], X[:4, :2] * 1e200):
        with pytest.raises(ValueError, match=r"n_neighbors=5|squares are finite"):
            model.fit(bad, y[:4])
        assert_array_equal(model.predict(X), before)


WRONG = {
    "n_anchors": [0, -1, 2.5, "many"],
    "anchor_selection": ["nearest", 3],
    "n_anchor_neighbors": [0, 1.5],
    "anchor_alpha": [-1.0, "auto"],
    "anchor_l1_ratio": [-0.1, 1.1],
    "alpha": [0.0, -1.0, None],
    "n_neighbors": [0, -3, 2.0],
    "weights": ["cosine", None, [1.0]],
    "fit_intercept": ["yes", 1.0],
    "scaling": ["minmax", 1],
    "neighborhood": ["manhattan", None],
    "metric_iterations": [0],
    "assignment_neighbors": [0, 1.5],
    "n_jobs": [1.5, "all", 10**400],
    "random_state": ["seed", -1],
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in WRONG.items() for v in vs])
def test_unknown_words_and_values_out_of_range_are_named(estimator, name, value):
    X, y = data()
    for method in ("fit", "partial_fit"):
        text = message(estimator, X, y, method, {name: value})
        assert f"The '{name}' parameter of {estimator.__name__} must be" in text


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["alpha", "anchor_alpha"])
def test_penalties_that_are_nan_or_infinite_are_refused(name, value):
    X, y = data()
    assert f"The '{name}' parameter" in message(FALLRegressor, X, y, options={name: value})


def test_anchors_of_the_wrong_size_are_named():
    X, y = data()
    text = message(FALLRegressor, X, y, options={"anchor_selection": np.zeros((4, 2))})
    assert "anchor_selection must hold points with the 3 features of X" in text
    assert "(4, 2)" in text
    text = message(FALLRegressor, X, y, options={"anchor_selection": np.zeros((0, 3))})
    assert "anchor_selection must hold points" in text
    text = message(FALLRegressor, X, y, options={"anchor_selection": np.full((4, 3), np.nan)})
    assert "Input anchor_selection contains NaN" in text
    for shape in [(4, 3, 1), (4, 4, 2), (4, 4), (0, 4, 1)]:
        text = message(FALLRegressor, X, y, options={"anchor_models": np.zeros(shape)})
        assert "anchor_models must have shape (n_anchors, n_features + 1, n_targets)" in text
    text = message(FALLRegressor, X, y, options={"anchor_models": np.full((1, 4, 1), np.inf)})
    assert "Input anchor_models contains infinity" in text


def test_graphs_of_the_wrong_kind_are_named():
    X, y = data()
    assert "graph must be a sparse matrix" in message(FALLRegressor, X, y, graph=np.eye(40))
    text = message(FALLRegressor, X, y, graph=sparse.eye_array(39, format="csr"))
    assert "graph must have a row and a column for each of the 40 samples" in text
    graph, options = (
        sparse.eye_array(40, format="csr"),
        {"n_anchors": 5, "anchor_selection": "kmeans"},
    )
    assert "no row of X" in message(FALLRegressor, X, y, options=options, graph=graph)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_sample_weights_are_named(estimator):
    X, y = data()
    text = message(estimator, X, y, sample_weight=np.r_[1.0, -2.0, np.ones(38)])
    assert "sample_weight must not be negative, but entry 1 is -2.0; use 0" in text
    text = message(estimator, X, y, sample_weight=np.ones(39))
    assert "sample_weight must have one entry per sample" in text
    assert "zero for every sample" in message(estimator, X, y, sample_weight=np.zeros(40))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda d: d[:, :1], "must return one weight per distance"),
        (lambda d: -d, "finite numbers that are not negative"),
        (lambda d: d * np.inf, "finite numbers that are not negative"),
    ],
)
def test_invalid_results_of_a_weight_function_are_named(rule, words):
    X, y = data()
    model = FALLRegressor(weights=rule).fit(X, y)
    for method in (model.predict, model.explain):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=words):
            method(X + 0.1)


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


# --- Text where numbers are expected -------------------------------------------------------------


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


@pytest.mark.parametrize("nothing", [None, pd.NA, np.nan])
@pytest.mark.parametrize("words", [False, True])
def test_a_sample_without_a_class_is_named(nothing, words):
    X, y = data()
    labels = pd.Series(["no", "yes"] if words else [0, 1], dtype=object)[y]
    labels.iloc[7] = nothing
    for estimator in (FALLClassifier(), FALLClassifierCV(), FALLEnsembleClassifier(2)):
        with pytest.raises(ValueError, match="sample 7 has none"):
            estimator.fit(X, labels)


@pytest.mark.parametrize(
    "model", [FALLClassifier(), FALLEnsembleClassifier(2, search=None, random_state=0)]
)
def test_other_classes_in_a_later_call_are_refused(model):
    X, y = data()
    model.partial_fit(X, y, classes=[0, 1, 2])
    model.partial_fit(X, y, classes=[2, 1, 0])
    with pytest.raises(ValueError, match=r"those of the first call, \[0, 1, 2\], but are \[0, 1\]"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"the class 4, .* fit again, or begin with partial_fit"):
        model.partial_fit(X, np.full(len(X), 4))


def test_text_as_a_regression_target_points_to_the_classifier():
    X, y = data()
    words = np.where(y, "up", "down")
    for labels in (words, words.tolist(), words.astype(object), pd.Series(words)):
        with pytest.raises(ValueError, match="text, such as 'up'; for classes use FALLClassifier"):
            FALLRegressor().fit(X, labels)


def test_a_misspelt_parameter_of_a_grid_is_answered_with_the_right_name():
    X, y = data()
    with pytest.raises(ValueError, match="did you mean 'n_neighbors'"):
        FALLClassifierCV({"n_neighbours": [1, 2]}).fit(X, y)


@pytest.mark.parametrize("name", ["n_neighbors", "n_anchors", "alpha"])
def test_true_in_place_of_a_number_in_a_grid_is_refused(name):
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(ValueError, match=f"holds True, which is no value of {name}"):
        FALLRegressorCV({name: [True]}).fit(X, y)


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
