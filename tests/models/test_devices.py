"""Models on arrays of other kinds than NumPy's: equal to NumPy's, and where the arrays are."""

import pickle

import array_api_strict
import numpy as np
import pytest
import sklearn
from sklearn.utils.estimator_checks import check_array_api_input_and_values

import locallinear
from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.arrays import device_of, namespace, to_numpy

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(150, 4)), RNG.normal(size=(25, 4))
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3]])
WEIGHTS = np.where(np.arange(150) % 7 == 0, 0.0, RNG.uniform(0.2, 2.0, 150))
CLASSES = np.digitize(Y[:, 0], [-0.5, 0.7])
FIELDS = ["prediction", "coef", "intercept", "contributions", "anchor_part", "correction_part"]
FIELDS += ["baseline", "neighborhood_part", "difference_parts", "slopes", "neighbor_weights"]
PARAMETERS = {
    "defaults": {},
    "the paper's": {"scaling": None},
    "quantile": {"scaling": "quantile"},
    "learned": {"neighborhood": "learned"},
    "some features": {"neighborhood_features": [0, 2], "scaling": "quantile"},
    "smooth": {"assignment_neighbors": 6},
    "lasso": {"anchor_alpha": 0.01, "anchor_l1_ratio": 0.5},
    "k-means": {"anchor_selection": "kmeans"},
    "points": {"anchor_selection": X[:7] + 0.1},
    "given models": {"anchor_models": np.arange(3 * 5 * 2).reshape(3, 5, 2) / 10},
    "uniform": {"weights": "uniform", "fit_intercept": False},
    "callable": {"weights": lambda distances: 1 / (1 + distances)},
}


@pytest.fixture(params=["array-api-strict", "torch"])
def asarray(request, monkeypatch):
    """Makes arrays that are not NumPy's, while scikit-learn leaves arrays where they are."""
    if request.param == "torch":
        make = pytest.importorskip("torch", reason="torch is not installed").as_tensor
    else:
        make = array_api_strict.asarray
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or scikit-learn refuses to dispatch
    with sklearn.config_context(array_api_dispatch=True):
        yield make


def regressor(**parameters):
    return FALLRegressor(12, **{"random_state": 0, "n_neighbors": 4} | parameters)


def assert_equal_to(model, other, asarray):
    """Labels and neighbours are the same, all numbers of an explanation nearly so."""
    np.testing.assert_array_equal(to_numpy(other.labels_), model.labels_)
    expected, found = model.explain(Q), other.explain(asarray(Q))
    for name in ("neighbors", "neighbor_labels"):
        np.testing.assert_array_equal(to_numpy(getattr(found, name)), getattr(expected, name))
    for name in FIELDS:
        pair = to_numpy(getattr(found, name)), getattr(expected, name)
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-9, err_msg=name)
    prediction = other.predict(asarray(Q))
    np.testing.assert_allclose(to_numpy(prediction), model.predict(Q), rtol=1e-9, atol=1e-9)
    assert namespace(prediction) is namespace(asarray(Q))


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_model_is_the_same_in_arrays_of_any_kind(name, asarray):
    weights = WEIGHTS if name in ("defaults", "quantile", "smooth") else None
    model = regressor(**PARAMETERS[name]).fit(X, Y, weights)
    moved = None if weights is None else asarray(weights)
    other = regressor(**PARAMETERS[name]).fit(asarray(X), asarray(Y), moved)
    assert_equal_to(model, other, asarray)
    for attribute in ("anchor_points_", "anchor_models_"):
        pair = to_numpy(getattr(other, attribute)), getattr(model, attribute)
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["defaults", "learned", "smooth"])
def test_samples_come_and_go_in_arrays_of_any_kind(name, asarray):
    model, other = (regressor(**PARAMETERS[name]) for _ in range(2))
    model.fit(X[:100], Y[:100])
    other.fit(asarray(X[:100]), asarray(Y[:100]))
    for gone in ([3, 5], list(range(30))):  # few are kept as unsearchable, many are dropped
        rows = slice(100, 125) if len(gone) == 2 else slice(125, 150)
        model.partial_fit(X[rows], Y[rows], WEIGHTS[rows]).forget(gone)
        other.partial_fit(asarray(X[rows]), asarray(Y[rows]), asarray(WEIGHTS[rows])).forget(gone)
        assert_equal_to(model, other, asarray)


def test_samples_without_themselves_are_the_same(asarray):
    model = regressor().fit(X, Y[:, 0])
    other = regressor().fit(asarray(X), asarray(Y[:, 0]))
    np.testing.assert_allclose(to_numpy(other.loo_prediction_), model.loo_prediction_, rtol=1e-9)
    pair = other.explain_samples([1, 4]).coef, model.explain_samples([1, 4]).coef
    np.testing.assert_allclose(to_numpy(pair[0]), pair[1], rtol=1e-9)
    np.testing.assert_allclose(to_numpy(other.local_models([2])), model.local_models([2]))
    labels = other.assign(asarray(Q), asarray(Y[:25, 0]))
    np.testing.assert_array_equal(to_numpy(labels), model.assign(Q, Y[:25, 0]))


def test_ties_between_anchors_go_to_the_first_one(asarray):
    twice = {"anchor_models": np.repeat(PARAMETERS["given models"]["anchor_models"], 2, axis=0)}
    labels = to_numpy(regressor(**twice).fit(asarray(X), asarray(Y)).labels_)
    assert set(labels) <= {0, 2, 4}


@pytest.mark.parametrize("labels", [CLASSES, np.array(["no", "maybe", "yes"])[CLASSES]])
def test_a_classifier_is_the_same_in_arrays_of_any_kind(labels, asarray):
    model = FALLClassifier(12, random_state=0).fit(X, labels)
    y = labels if labels.dtype.kind == "U" else asarray(labels)
    other = FALLClassifier(12, random_state=0).fit(asarray(X), y)
    np.testing.assert_array_equal(to_numpy(other.predict(asarray(Q))), model.predict(Q))
    found = other.predict_proba(asarray(Q))
    np.testing.assert_allclose(to_numpy(found), model.predict_proba(Q), rtol=1e-9)
    is_text = labels.dtype.kind == "U"  # only NumPy has arrays of text
    assert isinstance(other.predict(asarray(Q)), np.ndarray) == is_text


def test_a_score_is_the_same_in_arrays_of_any_kind(asarray):
    of_numbers, of_classes = regressor(), FALLClassifier(12, random_state=0)
    for model, targets in ((of_numbers, Y), (of_classes, CLASSES)):
        expected = model.fit(X, targets).score(X + 0.1, targets, WEIGHTS)
        model.fit(asarray(X), asarray(targets))
        for given in (targets, asarray(targets)):
            found = model.score(asarray(X + 0.1), given, asarray(WEIGHTS))
            assert found == pytest.approx(expected, rel=1e-9)


def test_single_precision_stays_single(asarray):
    small = X.astype(np.float32), Y.astype(np.float32), Q.astype(np.float32)
    other = regressor().fit(asarray(small[0]), asarray(small[1]))
    prediction = to_numpy(other.predict(asarray(small[2])))
    assert prediction.dtype == np.float32
    np.testing.assert_allclose(prediction, regressor().fit(X, Y).predict(Q), rtol=1e-4, atol=1e-4)


def test_targets_and_weights_follow_the_inputs(asarray):
    expected = regressor().fit(X, Y, WEIGHTS).predict(Q)
    other = regressor().fit(asarray(X), Y.tolist(), WEIGHTS).predict(asarray(Q))
    np.testing.assert_allclose(to_numpy(other), expected, rtol=1e-9, atol=1e-9)
    numpy_again = regressor().fit(X, asarray(Y), asarray(WEIGHTS)).predict(Q)
    np.testing.assert_array_equal(numpy_again, expected)


@pytest.mark.parametrize("estimator", [regressor(n_neighbors=3), FALLClassifier(5, random_state=0)])
def test_scikit_learn_finds_the_same_values(estimator, asarray):
    if namespace(asarray(X)) is not array_api_strict:
        pytest.skip("one kind is enough for a check that is not ours")
    check_array_api_input_and_values(type(estimator).__name__, estimator, "array_api_strict")


def test_a_file_does_not_care_where_the_model_is(asarray, path):
    model, other = regressor().fit(X, Y), regressor().fit(asarray(X), asarray(Y))
    other.save(path)
    loaded = locallinear.load(path)
    np.testing.assert_allclose(loaded.predict(Q), model.predict(Q), rtol=1e-9, atol=1e-9)


def test_a_model_moves_and_comes_back():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = regressor(neighborhood="learned", scaling="quantile").fit(X, Y)
    expected = model.predict(Q)
    assert model.to(torch.device("cpu")) is model
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        with sklearn.config_context(array_api_dispatch=True):
            there = model.predict(torch.as_tensor(Q))
            copied = pickle.loads(pickle.dumps(model)).predict(torch.as_tensor(Q))
            single = model.to(torch.device("cpu"), "float32").anchor_models_
    np.testing.assert_allclose(there.numpy(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(copied.numpy(), there.numpy())
    assert single.dtype == torch.float32
    back = model.to("cpu")
    assert back.anchor_models_.dtype == np.float64
    np.testing.assert_allclose(back.predict(Q), expected, rtol=1e-3, atol=1e-3)


def test_a_model_on_numpy_arrays_stays_when_it_is_moved_to_the_processor():
    model = regressor().fit(X, Y)
    expected = model.predict(Q)
    np.testing.assert_array_equal(model.to("cpu").predict(Q), expected)


def test_a_model_has_one_of_two_precisions():
    model = regressor().fit(X, Y)
    with pytest.raises(ValueError, match=r'dtype must be "float32" or "float64", .*but is .half'):
        model.to("cpu", "half")


REFUSED = {
    "an interval": lambda model, Q: model.predict_interval(Q),
    "novelty": lambda model, Q: model.novelty(Q),
    "influence": lambda model, Q: model.influence(Q),
    "a frame": lambda model, Q: model.explain(Q).to_frame(),
    "Shapley values": lambda model, Q: model.explain(Q).shapley(),
    "errors of coefficients": lambda model, Q: model.explain(Q).coef_std,
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_the_processor_says_so(what, asarray):
    model = regressor().fit(asarray(X), asarray(Y[:, 0]))
    with pytest.raises(ValueError, match=r'model of NumPy arrays.*call model.to\("cpu"\) first'):
        REFUSED[what](model, asarray(Q))


def test_trees_say_that_they_grow_on_the_processor(asarray):
    with pytest.raises(ValueError, match=r'neighborhood "forest" grows trees.*use neighborhood'):
        regressor(neighborhood="forest").fit(asarray(X), asarray(Y))


def test_inputs_of_another_kind_than_the_model_are_refused(asarray):
    message = "must use the same namespace and device .* move X, or the model"
    with pytest.raises(ValueError, match=message):
        regressor().fit(asarray(X), asarray(Y)).predict(Q)
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, Y).predict(asarray(Q))
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, Y).partial_fit(asarray(X), asarray(Y))


def test_inputs_on_another_device_than_the_model_are_refused(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    elsewhere = array_api_strict.asarray(Q, device=array_api_strict.Device("device1"))
    with sklearn.config_context(array_api_dispatch=True):
        model = regressor().fit(array_api_strict.asarray(X), array_api_strict.asarray(Y))
        with pytest.raises(ValueError, match="same namespace and device"):
            model.predict(elsewhere)


def test_a_model_stays_on_a_device_that_only_the_standard_knows(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    device = array_api_strict.Device("device1")
    there = [array_api_strict.asarray(x, device=device) for x in (X, Y, Q)]
    with sklearn.config_context(array_api_dispatch=True):
        prediction = regressor().fit(*there[:2]).predict(there[2])
    assert device_of(prediction) == device
    np.testing.assert_allclose(to_numpy(prediction), regressor().fit(X, Y).predict(Q), rtol=1e-9)


def test_an_ensemble_says_that_it_takes_numpy_arrays(asarray):
    with pytest.raises(ValueError, match=r"FALLEnsembleRegressor takes NumPy arrays.*single model"):
        FALLEnsembleRegressor(2).fit(asarray(X), asarray(Y[:, 0]))


def test_a_device_array_needs_dispatch():
    there = array_api_strict.asarray(X, device=array_api_strict.Device("device1"))
    with pytest.raises(ValueError, match=r"only after sklearn.set_config.array_api_dispatch=True"):
        regressor().fit(there, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gap_is_named(bad, asarray):
    holes = X.copy()
    holes[3, 1] = bad
    with pytest.raises(ValueError, match=r"X must .* column 1 .* in sample 3"):
        regressor().fit(asarray(holes), asarray(Y))
    targets = Y[:, 0].copy()
    targets[5] = bad
    with pytest.raises(ValueError, match=r"y must .* sample 5"):
        regressor().fit(asarray(X), asarray(targets))


def test_targets_of_another_length_are_refused(asarray):
    with pytest.raises(ValueError, match=r"y must have one entry or one row per sample, so 150"):
        regressor().fit(asarray(X), asarray(Y[:10]))
