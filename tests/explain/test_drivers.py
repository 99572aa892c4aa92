"""What drives predictions, and for whom it is different: on data whose truth is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLRegressor, TableRegressor
from locallinear.datasets import make_rentals
from locallinear.explain.drivers import drivers_section, shapley_values
from locallinear.explain.groups import best_cut, split_rows
from locallinear.explain.view import ModelView, NumberColumn, view_of


def naive_cut(values, key, least):
    best = 0.0, 0
    for cut in range(1, key.max() + 1):
        left, right = values[key < cut], values[key >= cut]
        if min(len(left), len(right)) >= least:
            before = ((values - values.mean()) ** 2).sum()
            after = sum(((part - part.mean()) ** 2).sum() for part in (left, right))
            best = max(best, (before - after, cut))
    return best


def test_the_best_cut_saves_most_of_the_squares():
    rng = np.random.default_rng(0)
    for _ in range(20):
        key = np.unique(rng.integers(0, 9, 40), return_inverse=True)[1]
        values = rng.normal(size=40)
        gain, cut = best_cut(values, key, 5)
        expected = naive_cut(values, key, 5)
        assert cut == expected[1]
        assert gain == pytest.approx(expected[0])


def numbers_view(d):
    return ModelView(None, [NumberColumn(f"x{j}") for j in range(d)])


def test_groups_are_the_conditions_that_made_the_values(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    monkeypatch.setattr(ModelView, "positions", lambda self, inputs: inputs)
    values = np.where(X[:, 1] < 0.3, 1.0, np.where(X[:, 2] < 0.5, 5.0, 9.0))
    groups, explained = split_rows(numbers_view(3), X, values, [0, 1, 2])
    assert explained == pytest.approx(1.0)
    sizes = {tuple(np.unique(values[group.rows])) for group in groups}
    assert sizes == {(1.0,), (5.0,), (9.0,)}
    assert all("x0" not in group.name for group in groups)
    between = np.where((X[:, 1] > 0.3) & (X[:, 1] < 0.7), 9.0, 1.0)
    names = {group.name for group in split_rows(numbers_view(3), X, between, [1])[0]}
    assert any(" and " in name for name in names)


def test_noise_makes_no_groups(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(ModelView, "positions", lambda self, inputs: inputs)
    X, values = rng.uniform(size=(400, 5)), rng.normal(size=400)
    groups, explained = split_rows(numbers_view(5), X, values, list(range(5)))
    assert len(groups) == 1
    assert explained == 0.0
    assert split_rows(numbers_view(5), X, np.ones(400), [0])[1] == 0.0


@pytest.fixture(scope="module")
def rentals():
    frame = make_rentals(1200, random_state=0).frame
    model = FALLRegressor(
        200, anchor_alpha=0.001, alpha=0.1, n_neighbors=8, assignment_neighbors=15,
        neighborhood="learned", random_state=0,
    )  # fmt: skip
    return TableRegressor(model, target="identity", random_state=0).fit(frame, "rentals")


def test_the_drivers_of_the_rentals_are_those_of_the_laws(rentals):
    view, why = view_of(rentals), rentals.explain_samples()
    section = drivers_section(view, why)
    sizes = dict(zip(view.names, section["importance"][0], strict=True))
    assert max(sizes, key=sizes.get) == "hour"
    # The law does not know the humidity, and knows the wind on two days of seven.
    assert max(sizes["humidity"], sizes["wind"]) < 0.5 * min(sizes["weekday"], sizes["temperature"])
    (found,) = [one for one in section["groups"][0] if one["feature"] == "temperature"]
    slopes = {group["name"]: group["slope"] for group in found["groups"]}
    steep = max(slopes, key=slopes.get)
    assert "Saturday" in steep
    assert "Sunday" in steep
    assert slopes[steep] == pytest.approx(9, abs=2)


def test_the_feature_whose_slopes_differ_most_between_groups_comes_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 2] = np.sign(X[:, 2])
    y = 10 * X[:, 0] + X[:, 2] * X[:, 0] + 4 * X[:, 2] * X[:, 1]  # x0 counts most, x1 differs most
    model = FALLRegressor(
        2, anchor_selection="kmeans", n_anchor_neighbors=250, anchor_alpha=0.01, alpha=100.0,
        n_neighbors=5, scaling="standard", neighborhood_features=[2], random_state=0,
    ).fit(X, y)  # fmt: skip
    section = drivers_section(view_of(model), model.explain_samples())
    assert np.argmax(section["importance"][0]) == 0
    assert [one["feature"] for one in section["groups"][0]] == ["x1", "x0"]


def test_importance_counts_a_level_that_no_slope_shows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    X[:, 0] = np.sign(X[:, 0]) * (3 + 0.1 * X[:, 0])  # two groups that differ in their level
    y = 10.0 * (X[:, 0] > 0) + X[:, 1]
    model = FALLRegressor(
        2, anchor_selection="kmeans", n_anchor_neighbors=150, anchor_alpha=1.0, alpha=10.0,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    view, why = view_of(model), model.explain_samples()
    level, other = drivers_section(view, why)["importance"][0]
    assert level == pytest.approx(5, abs=0.7)
    assert other < 1
    usual = np.abs(why.slopes[:, :, 0]).mean(axis=0) * X.std(axis=0)
    assert usual[0] < 1


def test_shapley_values_of_some_rows_stop_when_the_time_is_over(make_problem):
    X, y, _ = make_problem()
    why = FALLRegressor(4, random_state=0).fit(X, y).explain_samples()
    assert len(shapley_values(why)) == 60
    some = shapley_values(why, seconds=-1.0)
    assert len(some) == 10
    assert_allclose(some, shapley_values(why)[:10])


def test_columns_that_cancel_are_told_of():
    rng = np.random.default_rng(0)
    first = rng.normal(size=300)
    X = np.column_stack([first, first + 0.1 * rng.normal(size=300)])
    model = FALLRegressor(1, n_anchor_neighbors=300, anchor_alpha=1e-9, alpha=1e9)
    for slopes, farther in (([9.0, -9.0], True), ([9.0, 9.0], False)):
        model.fit(X, X @ slopes)
        found = drivers_section(view_of(model), model.explain(X[:60]))
        assert found["farther"] == [farther]
