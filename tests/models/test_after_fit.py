"""What parameters mean that are set on a fitted model."""

import pickle

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import locallinear
from locallinear import FALLClassifier, FALLRegressor


@pytest.mark.parametrize("later", [{"alpha": 30.0}, {"n_neighbors": 9}, {"weights": "uniform"}])
def test_what_makes_a_prediction_can_be_set_after_the_fit(make_problem, later):
    X, y, Q = make_problem()
    model = FALLRegressor(10, random_state=0).fit(X, y)
    before = model.predict(Q)
    fresh = FALLRegressor(10, random_state=0, **later).fit(X, y)
    assert_array_equal(model.set_params(**later).predict(Q), fresh.predict(Q))
    assert_array_equal(model.explain(Q).coef, fresh.explain(Q).coef)
    assert_array_equal(model.local_models(), fresh.local_models())
    assert (model.predict(Q) != before).any()


@pytest.mark.parametrize(
    "later",
    [
        {"n_anchors": 3},
        {"anchor_selection": "kmeans"},
        {"n_anchor_neighbors": 5},
        {"anchor_alpha": 100.0},
        {"anchor_l1_ratio": 0.7},
        {"fit_intercept": False},
        {"scaling": "quantile"},
        {"neighborhood": "learned"},
        {"assignment_neighbors": 4},
        {"random_state": 1},
    ],
    ids=lambda later: next(iter(later)),
)
@pytest.mark.parametrize("kind", [FALLRegressor, FALLClassifier])
def test_all_other_parameters_stay_as_they_were_fitted(make_problem, path, kind, later):
    X, y, Q = make_problem()
    y = y if kind is FALLRegressor else y > 0
    model = kind(10, random_state=0).fit(X, y)
    prediction, own = model.predict(Q), model.local_models()
    model.set_params(**later)
    model.save(path)
    for same in (model, pickle.loads(pickle.dumps(model)), locallinear.load(path)):
        assert_array_equal(same.predict(Q), prediction)
        assert_array_equal(same.local_models(), own)
        explanation = same.explain(Q)
        terms = explanation.contributions.sum(axis=1) + explanation.intercept
        assert_allclose(terms.reshape(explanation.prediction.shape), explanation.prediction)


def test_samples_that_are_added_have_the_constant_of_the_fit(make_problem):
    X, y, Q = make_problem()
    models = [FALLRegressor(10, fit_intercept=False, random_state=0).fit(X, y) for _ in range(2)]
    models[0].set_params(fit_intercept=True)
    ours, theirs = (model.partial_fit(Q, Q[:, 0]).predict(Q + 0.1) for model in models)
    assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("name", "value"),
    [("weights", "foo"), ("alpha", -5), ("alpha", "a"), ("n_neighbors", 0), ("n_neighbors", 2.5)],
)
def test_what_fit_refuses_is_refused_after_it_too(make_problem, name, value):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y).set_params(**{name: value})
    for ask in (model.predict, model.explain):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of FALLRegressor must be"):
            ask(Q)
