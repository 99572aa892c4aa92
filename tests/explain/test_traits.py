"""What the neighbours of a query have in common that other samples have not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from houses import fitted, houses
from locallinear import FALLEnsembleRegressor, FALLRegressor
from locallinear.explain.traits import Trait, common_traits, neighbor_moments, neighbor_texts
from locallinear.explain.view import view_of


def rentals(n=600, seed=0):
    """Rentals by hour: many in the day, few at night; the wind does nothing."""
    rng = np.random.default_rng(seed)
    hour, wind = rng.integers(0, 24, n), rng.normal(10, 3, n)
    return np.column_stack([hour, wind]).astype(float), 200.0 * ((hour > 6) & (hour < 22)) + wind


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_at_night_the_neighbours_have_the_hour_in_common(kind):
    X, y = rentals()
    single = FALLRegressor(n_neighbors=12, neighborhood="boosted", random_state=0)
    few = FALLEnsembleRegressor(3, search=None, estimator=single, max_features=1.0, random_state=0)
    model = (single if kind == "single" else few).fit(X, y)
    why = model.explain([[2.0, 10.0]])
    (traits,) = common_traits(view_of(model), why)
    assert [trait.name for trait in traits] == ["x0"]
    assert traits[0].value < 7 < traits[0].usual == pytest.approx(X[:, 0].mean())
    mean = (why.neighbor_weights[0] * X[why.neighbors[0], 0]).sum()
    assert traits[0].value == pytest.approx(mean)


def test_a_trait_lies_outside_the_neighbours_own_spread(make_problem):
    X, y, Q = make_problem(n=200)
    model = FALLRegressor(n_neighbors=30, random_state=0).fit(X, y)
    view, why = view_of(model), model.explain(Q)
    means, spreads = neighbor_moments(view.samples[0], why)
    for i, traits in enumerate(common_traits(view, why)):
        outside = np.abs(means[i] - X.mean(axis=0)) > spreads[i] + 0.1 * X.std(axis=0)
        assert {trait.name for trait in traits} == {f"x{j}" for j in np.flatnonzero(outside)}
        assert [t.distance for t in traits] == sorted((t.distance for t in traits), reverse=True)
    assert all(len(traits) <= 1 for traits in common_traits(view, why, limit=1))
    assert any(common_traits(view, why))


def test_neighbours_that_are_all_samples_have_nothing_in_common_that_others_have_not(make_problem):
    X, y, Q = make_problem(n=20)
    model = FALLRegressor(4, n_neighbors=20, weights="uniform", random_state=0).fit(X, y)
    assert common_traits(view_of(model), model.explain(Q[:2])) == [[], []]


def test_a_constant_feature_is_no_trait(make_problem):
    X, y, Q = make_problem()
    X[:, 1] = Q[:, 1] = 5.0
    model = FALLRegressor(random_state=0).fit(X, y)
    found = common_traits(view_of(model), model.explain(Q))
    assert "x1" not in {trait.name for traits in found for trait in traits}


def test_columns_of_text_are_named_with_the_text_that_neighbours_have_more_often():
    model, frame = fitted(neighborhood="boosted"), houses(seed=1)
    view, why = view_of(model), model.explain(frame)
    found = [trait for traits in common_traits(view, why) for trait in traits]
    texts = {trait.value for trait in found if trait.name == "district"}
    assert texts
    assert texts <= {"north", "south", "old town", None}
    assert all(0 < trait.usual < 1 for trait in found if trait.name == "district")
    shares = neighbor_texts(view, why)
    for i in range(5):
        theirs = view.sample_values(view.samples[0][why.neighbors[i]])
        same = [row[2] == view.values(why)[i][2] for row in theirs]
        assert_allclose(
            float(shares[i][2].rstrip("%")) / 100, why.neighbor_weights[i] @ same, atol=0.0051
        )


def test_traits_read_as_their_value_and_the_usual_one():
    assert str(Trait("hour", 2.0, 11.52, 1.4)) == "hour 2 (11.5)"
    assert str(Trait("weekday", "Sunday", 1 / 7, 2.0)) == "weekday Sunday (14%)"
    assert str(Trait("weekday", None, 0.5, 1.0)) == "weekday missing (50%)"
