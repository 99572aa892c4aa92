"""The three layers of a prediction, and slopes in units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1

from houses import fitted, houses
from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableClassifier,
    TableRegressor,
)
from locallinear.ensemble.mean import MEANS
from searches import GRID

SCALINGS = [None, "standard", "quantile"]
FEW = {"search": None, "random_state": 0}

MAKERS = {
    "single": lambda **o: FALLRegressor(random_state=0, **o),
    "no intercept": lambda **o: FALLRegressor(fit_intercept=False, random_state=0, **o),
    "learned": lambda **o: FALLRegressor(neighborhood="learned", random_state=0, **o),
    "forest": lambda **o: FALLRegressor(neighborhood="forest", random_state=0, **o),
    "lasso, smooth": lambda **o: FALLRegressor(
        anchor_l1_ratio=0.5, anchor_alpha=0.1, assignment_neighbors=7, random_state=0, **o
    ),
    "search": lambda scaling: FALLRegressorCV(GRID | {"scaling": [scaling]}, random_state=0),
    "ensemble": lambda **o: FALLEnsembleRegressor(3, estimator=FALLRegressor(**o), **FEW),
    "classes": lambda **o: FALLClassifier(random_state=0, **o),
    "classes, search": lambda scaling: FALLClassifierCV(
        GRID | {"scaling": [scaling]}, random_state=0
    ),
    "classes, ensemble": lambda **o: FALLEnsembleClassifier(
        3, estimator=FALLClassifier(**o), **FEW
    ),
}


def target_of(name, y):
    return np.digitize(y[:, 0], [100.0, 103.0]) if name.startswith("classes") else y


def hard_problem(make_problem):
    """Inputs in units that differ by a million and are far from zero; targets far from zero."""
    X, Y, Q = make_problem(n=90, d=3, m=2)
    scale, shift = np.array([1e-3, 1.0, 1e3]), np.array([0.0, 2000.0, -5e4])
    return X * scale + shift, 100 + 5 * Y, Q * scale + shift


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", MAKERS)
def test_the_layers_add_up_to_the_prediction(make_problem, name, scaling):
    X, Y, Q = hard_problem(make_problem)
    model = MAKERS[name](scaling=scaling).fit(X, target_of(name, Y))
    numeric = getattr(model, "best_estimator_", model).predict_checked
    scale = 1.0 if name.startswith("classes") else Y.std()
    own = np.arange(len(X))
    for why, queries, without in (
        (model.explain(Q), Q, None),
        (model.explain(X), X, None),
        (model.explain_samples(), X, own),
    ):
        total = why.baseline + why.neighborhood_part + why.difference_parts.sum(axis=1)
        assert_allclose(total, why.prediction, rtol=0, atol=1e-10 * scale)
        assert_allclose(total, numeric(queries, without), rtol=0, atol=1e-10 * scale)
        old = why.contributions.sum(axis=1) + why.intercept
        assert_allclose(old, why.prediction, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("targets", [("price",), ("price", "rent"), ("kind",)], ids=" ".join)
def test_the_layers_of_a_table_add_up_to_the_prediction(targets, scaling):
    model = fitted(targets, scaling=scaling)
    for why in (model.explain(houses(seed=1)), model.explain_samples([0, 3, 13])):
        assert why.difference_parts.shape[1] == len(why.feature_names)
        assert_layers_add_up(why, model.predict_checked(why.encoded.X, why.samples))
    scale = np.abs(model.loo_prediction_).max()
    assert_allclose(model.loo_prediction_[[0, 3, 13]], why.prediction, rtol=0, atol=1e-10 * scale)
    assert why.X["district"].tolist()[1] == houses()["district"][3]


def assert_layers_add_up(why, prediction):
    total = why.baseline + why.neighborhood_part + why.difference_parts.sum(axis=1)
    old = why.contributions.sum(axis=1) + why.intercept
    scale = max(1.0, np.abs(prediction).max())
    for found in (total, old, why.prediction.reshape(total.shape)):
        assert_allclose(found, prediction.reshape(total.shape), rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kind", ["search", "ensemble", "log target", "classes, ensemble"])
def test_the_layers_of_every_model_of_a_table_add_up_to_the_prediction(kind, scaling):
    frame, new = (houses(seed=seed).drop(columns=["rent", "kind"]) for seed in (0, 1))
    y = frame.pop("price")
    made = {
        "search": FALLRegressorCV(GRID | {"scaling": [scaling]}),
        "ensemble": FALLEnsembleRegressor(3, estimator=FALLRegressor(scaling=scaling), **FEW),
        "log target": FALLRegressor(scaling=scaling),
        "classes, ensemble": FALLEnsembleClassifier(
            3, estimator=FALLClassifier(scaling=scaling), **FEW
        ),
    }[kind]
    if kind.startswith("classes"):
        model = TableClassifier(made, random_state=0).fit(frame, np.where(y > 200, "dear", "cheap"))
    else:
        target = "log" if kind.startswith("log") else "identity"
        model = TableRegressor(made, target=target, random_state=0).fit(frame, y)
    for why in (model.explain(new), model.explain_samples([0, 3, 13])):
        assert_layers_add_up(why, model.predict_checked(why.encoded.X, why.samples))


def test_the_layers_are_those_of_their_definition(make_problem):
    X, y, Q = make_problem(m=2)
    model = FALLRegressor(random_state=0).fit(X, y)
    why, own = model.explain(Q), model.local_models()
    for i, x in enumerate(Q):
        near, shares = why.neighbors[i], why.neighbor_weights[i]
        at_home = np.einsum("jd,jdm->jm", X[near], own[near, :-1]) + own[near, -1]
        assert_allclose(why.baseline + why.neighborhood_part[i], shares @ at_home)
        differences = np.einsum("j,jdm,jd->dm", shares, own[near, :-1], x - X[near])
        assert_allclose(why.difference_parts[i], differences, atol=1e-12)


@pytest.mark.parametrize("kind", [FALLEnsembleRegressor, FALLEnsembleClassifier])
def test_the_layers_of_an_ensemble_are_the_mean_of_its_members(make_problem, kind):
    X, y, Q = make_problem()
    model = kind(4, **FEW).fit(X, y if kind is FALLEnsembleRegressor else y > 0)
    for ours, theirs in (
        (model.explain(Q), [member.explain(Q) for member in model.estimators_]),
        (model.explain_samples(), [member.explain_samples() for member in model.estimators_]),
    ):
        for name in MEANS:
            mean = np.mean([getattr(member, name) for member in theirs], axis=0)
            assert_allclose(getattr(ours, name), mean, atol=1e-12)


# --- The baseline --------------------------------------------------------------------------------


def test_the_baseline_is_the_weighted_mean_of_the_targets_as_samples_come_and_go(make_problem):
    X, y, Q = make_problem(n=80)
    v = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    model = FALLRegressor(random_state=0).fit(X, y, v)
    assert_allclose(model.explain(Q).baseline, [np.average(y, weights=v)])
    model.partial_fit(Q, Q[:, 0])
    everything, weights = np.append(y, Q[:, 0]), np.append(v, np.ones(len(Q)))
    assert_allclose(model.explain(Q).baseline, [np.average(everything, weights=weights)])
    model.forget([2, 85])
    left = np.delete(everything, [2, 85]), np.delete(weights, [2, 85])
    assert_allclose(model.explain(Q).baseline, [np.average(left[0], weights=left[1])])


def test_the_baseline_of_classes_is_their_shares(make_problem):
    X, y, Q = make_problem()
    why = FALLClassifier(random_state=0).fit(X, y > 0).explain(Q)
    assert_allclose(why.baseline, [(y <= 0).mean(), (y > 0).mean()])


def test_writing_into_a_baseline_does_not_reach_the_model(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    model.explain(Q).baseline[:] = 1e9
    assert_allclose(model.explain(Q).baseline, [y.mean()])


# --- Slopes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
@pytest.mark.parametrize("scaling", [None, "standard"])
def test_slopes_are_the_coefficients_where_these_have_units(make_problem, scaling, neighborhood):
    X, y, Q = make_problem()
    options = {"scaling": scaling, "neighborhood": neighborhood, "random_state": 0}
    why = FALLRegressor(**options).fit(X, y).explain(Q)
    assert_array_equal(why.slopes, why.coef)


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
def test_slopes_through_ranks_are_differences_of_the_contributions_over_near_ranks(
    make_problem, neighborhood
):
    X, y, Q = make_problem(n=40)
    Q = np.vstack([Q, [[9.0, -9.0, 9.0]]])  # outside the data as well
    model = FALLRegressor(scaling="quantile", neighborhood=neighborhood, random_state=0).fit(X, y)
    why, space = model.explain(Q), model.feature_space
    high, low = (space.from_regressors(space.regressors(Q) + reach) for reach in (0.1, -0.1))
    assert_allclose(why.slopes, why.coef * (0.2 / (high - low))[:, :, None], rtol=1e-9)
    assert_allclose(why.slopes, why.coef * why.slope_factors[:, :, None], rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_slopes_are_exact_where_ranks_are_linear_in_the_values(scale):
    X = np.arange(200.0)[:, None] * scale
    model = FALLRegressor(scaling="quantile", random_state=0).fit(X, 3 * X[:, 0])
    why = model.explain(np.array([[20.0], [99.5], [180.0]]) * scale)
    assert_allclose(why.slopes / why.coef, 2 * np.sqrt(3) / 200 / scale, rtol=1e-9)


def test_slopes_of_continuous_features_are_as_steady_in_ranks_as_in_units():
    X, y = make_friedman1(1500, 5, noise=0.0, random_state=0)
    errors = {}
    for scaling in ("standard", "quantile"):
        model = FALLRegressor(scaling=scaling, n_neighbors=10, random_state=0).fit(
            X[:1000], y[:1000]
        )
        slopes = model.explain(X[1000:]).slopes[:, 3, 0]  # the true one is 10
        errors[scaling] = np.mean((slopes - 10) ** 2)
    assert errors["quantile"] < 2 * errors["standard"]
    # Between two single samples, the map says nothing: their gap is chance.
    step, space = 1e-7, model.feature_space
    ends = (space.regressors(X[1000:] + sign * step)[:, 3] for sign in (1, -1))
    at_point = model.explain(X[1000:]).coef[:, 3, 0] * np.subtract(*ends) / (2 * step)
    assert at_point.std() > 3 * slopes.std()


def test_a_constant_feature_has_no_slope_in_ranks(make_problem):
    X, y, Q = make_problem()
    X[:, 1] = 7.0
    why = FALLRegressor(scaling="quantile", random_state=0).fit(X, y).explain(Q)
    assert_array_equal(why.slopes[:, 1], 0.0)
