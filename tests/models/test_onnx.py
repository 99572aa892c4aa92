"""ONNX graphs of fitted models say what the models do, in another program."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from locallinear import FALLClassifier, FALLClassifierCV, FALLRegressor, FALLRegressorCV

REASON = "onnx and onnxruntime are not installed"
onnx = pytest.importorskip("onnx", reason=REASON)
runtime = pytest.importorskip("onnxruntime", reason=REASON)


def session(graph):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def outputs(model, Q):
    return session(model.to_onnx()).run(None, {"X": np.ascontiguousarray(Q, dtype=np.float64)})


def check_same(model, Q):
    (found,) = outputs(model, Q)
    expected = model.predict(Q)
    assert found.shape == expected.shape
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.fixture
def problem():
    """Samples with two targets, and queries near them, far from them and equal to some."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2])
    return X, Y, np.concatenate([rng.normal(size=(30, 4)), 50 * rng.normal(size=(5, 4)), X[:5]])


# --- The graph predicts as the model does --------------------------------------------------------


@pytest.mark.parametrize("weights", ["distance", "uniform"])
@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_every_scaling_distance_and_weight_is_exact(problem, scaling, neighborhood, weights):
    X, Y, Q = problem
    options = {"scaling": scaling, "neighborhood": neighborhood, "weights": weights}
    check_same(FALLRegressor(10, **options, random_state=0).fit(X, Y), Q)


@pytest.mark.parametrize(
    "options",
    [
        {"fit_intercept": False},
        {"neighborhood_features": [2, 0]},
        {"neighborhood_features": [2, 0], "neighborhood": "learned"},
        {"indicators": [1], "scaling": "quantile"},
        {"anchor_l1_ratio": 1.0, "anchor_alpha": 0.1, "alpha": 1e-3},
        {"n_neighbors": 200},
        {"n_neighbors": 1},
    ],
    ids=lambda options: ", ".join(options),
)
def test_other_parameters_are_exact(problem, options):
    X, Y, Q = problem
    check_same(FALLRegressor(10, **options, random_state=0).fit(X, Y[:, 0]), Q)


def test_equally_far_samples_are_chosen_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(300, 5)) / 10  # many are equally far, up to the order of sums
    y = rng.normal(size=300)
    for scaling in (None, "standard", "quantile"):
        model = FALLRegressor(10, scaling=scaling, n_neighbors=4, random_state=0).fit(X, y)
        check_same(model, np.concatenate([X[:100], rng.integers(3, size=(100, 5)) / 10]))


def test_weights_of_samples_count_and_those_without_are_no_neighbours(problem):
    X, Y, Q = problem
    weights = np.random.default_rng(0).choice([0.0, 0.5, 3.0], 200)
    check_same(FALLRegressor(10, random_state=0).fit(X, Y, weights), Q)


def test_samples_that_came_and_went_are_as_in_the_model(problem):
    X, Y, Q = problem
    model = FALLRegressor(10, random_state=0).fit(X[:150], Y[:150])
    model.partial_fit(X[150:], Y[150:]).forget([3, 160])
    check_same(model, Q)
    check_same(model.forget(range(60)), Q)


@pytest.mark.parametrize("classes", [["b", "a", "ü"], [7, -1, 3], [True, False, True]], ids=repr)
def test_classes_and_their_probabilities_are_exact(problem, classes):
    X, Y, Q = problem
    y = np.array(classes)[np.digitize(Y[:, 0], [-0.5, 0.5])]
    single = FALLClassifier(10, random_state=0).fit(X, y)
    search = FALLClassifierCV({"n_neighbors": [5, 9]}, random_state=0).fit(X, y)
    assert search.best_estimator_.calibration_["slope"] > 0
    for model in (single, search):
        label, probabilities = outputs(model, Q)
        assert_array_equal(label, model.predict(Q))
        assert_allclose(probabilities, model.predict_proba(Q), rtol=1e-12, atol=1e-12)


def test_a_search_exports_its_best_model(problem):
    X, Y, Q = problem
    check_same(FALLRegressorCV({"n_neighbors": [3, 8]}, random_state=0).fit(X, Y[:, 0]), Q)


def test_a_file_needs_nothing_but_itself(problem, tmp_path):
    X, Y, Q = problem
    model = FALLRegressor(10, random_state=0).fit(X, Y)
    onnx.save(model.to_onnx(), tmp_path / "model.onnx")
    found = session(onnx.load(tmp_path / "model.onnx"))
    assert [(each.name, each.shape) for each in found.get_inputs()] == [("X", ["q", 4])]
    assert [(each.name, each.shape) for each in found.get_outputs()] == [("prediction", ["q", 2])]
    one_by_one = [found.run(None, {"X": row[None]})[0][0] for row in Q]
    assert_array_equal(one_by_one, found.run(None, {"X": Q})[0])


# --- What has no graph ---------------------------------------------------------------------------


def test_trees_functions_and_too_many_samples_are_refused_with_a_sentence(problem, monkeypatch):
    X, Y, _ = problem
    forest = FALLRegressor(10, neighborhood="forest", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="'euclidean' or 'learned', but this model has 'forest'"):
        forest.to_onnx()
    with pytest.raises(ValueError, match="weights 'distance' or 'uniform', but this model's are"):
        FALLRegressor(10, weights=np.ones_like).fit(X, Y).to_onnx()
    with pytest.raises(NotFittedError):
        FALLRegressor().to_onnx()
    monkeypatch.setattr("locallinear.models.onnx_graph.MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="holds 2 GB at most, but this model needs"):
        FALLRegressor(10, random_state=0).fit(X, Y).to_onnx()


def test_more_neighbours_than_samples_are_refused_as_in_predict(problem):
    X, Y, _ = problem
    model = FALLRegressor(random_state=0).fit(X, Y).set_params(n_neighbors=300)
    with pytest.raises(ValueError, match="n_neighbors") as by_predict:
        model.predict(X)
    with pytest.raises(ValueError, match="n_neighbors") as by_export:
        model.to_onnx()
    assert str(by_export.value) == str(by_predict.value)


def test_without_the_package_the_error_says_how_to_install_it(problem, monkeypatch):
    X, Y, _ = problem
    model = FALLRegressor(10, random_state=0).fit(X, Y)

    def missing(name, *others):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("locallinear.runtime.extras.import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="ONNX graphs need onnx: pip install onnx"):
        model.to_onnx()
