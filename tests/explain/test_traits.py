"""What the neighbours of a query have in common, and what that adds to their level."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from houses import fitted, houses
from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor, TableRegressor
from locallinear.explain.contribution_display import ContributionDisplay
from locallinear.explain.level_shares import MOST_SAMPLES, level_shares, samples_in_general
from locallinear.explain.row_text import in_words
from locallinear.explain.text import number
from locallinear.explain.traits import Trait, common_traits, neighbor_means, neighbor_texts
from locallinear.explain.view import Samples, view_of


def rentals(n=600, seed=0):
    """Rentals by hour: many in the day, few at night; the wind does nothing."""
    rng = np.random.default_rng(seed)
    hour, wind = rng.integers(0, 24, n), rng.normal(10, 3, n)
    return np.column_stack([hour, wind]).astype(float), 200.0 * ((hour > 6) & (hour < 22)) + wind


def in_general(view):
    """The samples that stand for all, where there are few columns."""
    return view.samples.inputs[samples_in_general(view.samples, MOST_SAMPLES)]


def test_share_and_difference_of_a_column_are_its_shapley_value():
    X, y = rentals()
    model = FALLRegressor(n_neighbors=12, random_state=0).fit(X, y)
    view, x = view_of(model), np.array([2.0, 10.0])
    why, background = model.explain([x]), in_general(view)

    def worth(*columns):
        return model.predict(np.where(np.isin([0, 1], columns), x, background)).mean()

    first = np.array([worth(0) - worth(), worth(1) - worth()])
    second = np.array([worth(0, 1) - worth(1), worth(0, 1) - worth(0)])
    shares = level_shares(view, why)[0, :, 0]
    level = abs(why.neighborhood_part[0, 0])
    assert_allclose(shares + why.difference_parts[0, :, 0], (first + second) / 2, atol=0.05 * level)


def test_shares_of_a_linear_model_are_slopes_times_the_difference_of_neighbours_from_all():
    X, _ = rentals()
    model = FALLRegressor(1, n_anchor_neighbors=600, anchor_alpha=0.0, alpha=1e9, random_state=0)
    model.fit(X, X @ [3.0, -2.0])
    view, why = view_of(model), model.explain([[2.5, 17.0], [40.0, 3.0]])
    apart = neighbor_means(X, why) - in_general(view).mean(axis=0)
    shares = [3.0, -2.0] * apart
    rest = why.neighborhood_part - shares.sum(axis=1, keepdims=True)
    expected = shares + rest * np.abs(shares) / np.abs(shares).sum(axis=1, keepdims=True)
    assert_allclose(level_shares(view, why)[:, :, 0], expected, rtol=1e-6)


def test_samples_in_general_have_all_levels_and_classes_and_the_mean_inputs_of_all():
    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 1e6]
    Y = X[:, :1] + X[:, 1:] / 1e6
    chosen = samples_in_general(Samples(X, Y, np.ones(len(X))), 8)
    ranks = Y[:, 0].argsort().argsort()
    assert_allclose(ranks[chosen] // 5, np.arange(8))
    assert (np.abs(X[chosen].mean(axis=0) - X.mean(axis=0)) < 0.1 * X.std(axis=0)).all()
    assert len(samples_in_general(Samples(X[:3], Y[:3], np.ones(3)), 8)) == 3
    classes = np.eye(4)[np.repeat([2, 0, 3, 1], 10)]
    assert_allclose(
        classes[samples_in_general(Samples(X, classes, np.ones(len(X))), 8)].sum(axis=0), 2
    )


def test_shares_of_all_columns_are_what_the_level_adds(make_problem):
    X, y, Q = make_problem(n=120, m=2)
    single = FALLRegressor(8, n_neighbors=6, random_state=0).fit(X, y)
    few = FALLEnsembleRegressor(3, search=None, estimator=single, random_state=0).fit(X, y)
    classes = FALLClassifier(8, random_state=0).fit(X, np.digitize(y[:, 0], [-1, 1]))
    for model, rows in ((single, Q), (few, Q), (classes, Q), (fitted(), houses(seed=1))):
        view, why = view_of(model), model.explain(rows)
        assert_allclose(level_shares(view, why).sum(axis=1), why.neighborhood_part, atol=1e-9)


def test_an_hour_that_matters_on_some_days_only_has_its_part():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 2)) * 1.0
    y = 100.0 * (X[:, 0] == X[:, 1])  # neither matters without the other
    model = FALLRegressor(20, n_neighbors=10, random_state=0).fit(X, y)
    shares = level_shares(view_of(model), model.explain([[1.0, 1.0]]))[0, :, 0]
    assert_allclose(shares, 25, atol=4)


def test_a_row_has_the_same_shares_whatever_rows_are_explained_with_it(make_problem):
    X, y, _ = make_problem(n=600)
    model = FALLRegressor(8, n_neighbors=6, random_state=0).fit(X, y)
    view, many = view_of(model), model.explain(X)
    alone = level_shares(view, model.explain(X[:1]))
    assert_allclose(level_shares(view, many)[:1], alone, rtol=1e-9, atol=1e-12)


def test_shares_are_in_the_units_of_the_target(make_problem):
    X, y, Q = make_problem(n=120)
    models = [FALLRegressor(8, random_state=0).fit(X, target) for target in (y, 50 + 3 * y)]
    first, second = (level_shares(view_of(model), model.explain(Q)) for model in models)
    assert_allclose(second, 3 * first, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_at_night_the_neighbours_have_the_hour_in_common(kind):
    X, y = rentals()
    single = FALLRegressor(n_neighbors=12, neighborhood="boosted", random_state=0)
    few = FALLEnsembleRegressor(3, search=None, estimator=single, max_features=1.0, random_state=0)
    model = (single if kind == "single" else few).fit(X, y)
    why = model.explain([[2.0, 10.0]])
    ((traits,),) = common_traits(view_of(model), why)
    assert [trait.name for trait in traits] == ["x0"]
    assert traits[0].adds == pytest.approx(why.neighborhood_part[0, 0], rel=0.1)
    mean = (why.neighbor_weights[0] * X[why.neighbors[0], 0]).sum()
    assert traits[0].value == pytest.approx(mean)


def test_traits_come_by_what_they_add_and_tell_of_their_target(make_problem):
    X, y, Q = make_problem(n=200, d=5, m=2)
    model = FALLRegressor(n_neighbors=10, random_state=0).fit(X, y)
    view, why = view_of(model), model.explain(Q)
    shares = level_shares(view, why)
    for i, of_row in enumerate(common_traits(view, why)):
        for t, traits in enumerate(of_row):
            adds = [abs(trait.adds) for trait in traits]
            assert adds == sorted(adds, reverse=True)
            assert adds[0] == np.abs(shares[i, :, t]).max()
            assert 1 <= len(traits) <= 3
    assert all(len(traits) == 1 for (traits, _) in common_traits(view, why, limit=1))


def test_a_constant_feature_is_no_trait(make_problem):
    X, y, Q = make_problem()
    X[:, 1] = Q[:, 1] = 5.0
    model = FALLRegressor(random_state=0).fit(X, y)
    found = common_traits(view_of(model), model.explain(Q))
    assert "x1" not in {trait.name for (traits,) in found for trait in traits}


def test_where_all_targets_are_equal_nothing_is_told(make_problem):
    X, _, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, np.full(len(X), 7.0))
    assert common_traits(view_of(model), model.explain(Q[:2])) == [[[]], [[]]]


def test_columns_of_text_are_named_with_the_text_that_most_neighbours_have():
    model, frame = fitted(neighborhood="boosted"), houses(seed=1)
    view, why = view_of(model), model.explain(frame)
    named = 0
    for i, (traits,) in enumerate(common_traits(view, why)):
        theirs = [row[2] for row in view.sample_values(view.samples[0][why.neighbors[i]])]
        for trait in traits:
            if trait.name == "district":
                have = np.array([text == trait.value for text in theirs])
                assert trait.part == pytest.approx(why.neighbor_weights[i] @ have)
                named += 1
    assert named > 10
    shares = neighbor_texts(view, why)
    for i in range(5):
        theirs = view.sample_values(view.samples[0][why.neighbors[i]])
        same = [row[2] == view.values(why)[i][2] for row in theirs]
        assert_allclose(
            float(shares[i][2].rstrip("%")) / 100, why.neighbor_weights[i] @ same, atol=0.0051
        )


def test_traits_read_as_their_value_and_what_they_add():
    assert str(Trait("hour", 2.0, 1.0, -120.4)) == "hour 2 (−120)"
    assert str(Trait("city_mpg", 19.1, 1.0, 1093.0)) == "city_mpg 19.1 (+1100)"
    assert str(Trait("weekday", "Sunday", 1.0, 35.0)) == "weekday Sunday (+35)"
    assert str(Trait("weekday", "Sunday", 0.6, 35.0)) == "weekday mostly Sunday (+35)"
    assert str(Trait("weekday", None, 0.3, 1.0)) == "weekday often missing (+1)"


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (
            ["2011-11-20 04:00", "2012-12-30 03:00"],
            "November to December, 2011 to 2012, 3:00 to 4:00",
        ),
        (
            ["2011-12-30 23:00", "2013-01-02 01:00"],
            "December to January, 2011 to 2013, 23:00 to 1:00",
        ),
        (["2011-01-01 05:00", "2012-07-01 17:00"], "2011 to 2012"),
        (["2012-05-03 08:00", "2012-05-08 09:00"], "2012-05-03 to 2012-05-08, 8:00 to 9:00"),
        (["2012-05-03 08:00", "2012-12-08 20:00"], "2012-05-03 to 2012-12-08"),
    ],
)
def test_dates_have_in_common_the_parts_of_the_year_and_the_day_that_hold_them(times, words):
    hours = pd.date_range("2010-01-01", "2014-01-01", freq="7h").strftime("%Y-%m-%d %H:%M")
    frame = pd.DataFrame({"time": hours, "y": np.arange(len(hours)) * 1.0})
    model = TableRegressor(FALLRegressor(1), target="identity").fit(frame, "y")
    (column,) = model.table_model.columns
    assert "weekday" in column.cycles
    column = replace(column, cycles=("time of year", "time of day"))
    features = model.encode(pd.DataFrame({"time": [*times, "2013-06-01 12:00"]})).to_numpy()
    features = features[:, [0, 1, 2, 5, 6]]
    assert column.in_common(features, np.array([0.5, 0.46, 0.04])) == words


def test_a_winter_night_has_neighbours_of_winter_nights_and_not_of_their_mean_date():
    hours = pd.date_range("2010-01-01", "2013-12-31", freq="29h")
    cold = np.isin(hours.month, [12]) * 10.0 + (hours.hour < 6) * 5.0
    frame = pd.DataFrame({"time": hours.strftime("%Y-%m-%d %H:%M"), "y": cold})
    single = FALLRegressor(20, n_neighbors=12, neighborhood="boosted", random_state=0)
    model = TableRegressor(single, target="identity").fit(frame, "y")
    why = model.explain(pd.DataFrame({"time": ["2012-12-15 02:00"]}))
    near = hours[why.neighbors[0][why.neighbor_weights[0] > 0]]
    assert near.year.nunique() > 1
    ((text,),) = neighbor_texts(view_of(model), why)
    (((trait,),),) = common_traits(view_of(model), why)
    assert text == trait.value
    assert text.startswith("December, 20")


def test_gaps_of_neighbours_are_told_beside_the_mean_of_the_others():
    rng = np.random.default_rng(0)
    age, size = rng.uniform(20, 60, 200), rng.uniform(size=200)
    frame = pd.DataFrame({"age": np.where(size < 0.5, age, np.nan), "size": size, "y": size})
    single = FALLRegressor(n_neighbors=100, weights="uniform", random_state=0)
    model = TableRegressor(single, target="identity").fit(frame, "y")
    why = model.explain(frame[:1])
    ages, weights = frame["age"].to_numpy()[why.neighbors[0]], why.neighbor_weights[0]
    gaps = weights[np.isnan(ages)].sum()
    assert 0.2 < gaps < 0.8
    mean = np.nansum(ages * weights) / (1 - gaps)
    words = f"{gaps:.0%} missing, else {number(mean)}"
    assert neighbor_texts(view_of(model), why)[0][0] == words
    assert str(Trait("age", mean, 1.0, 2.0, gaps)) == f"age {words} (+2)"
    assert str(Trait("age", None, 1.0, 2.0, 1.0)) == "age missing (+2)"


def test_the_layers_read_as_one_sentence():
    X, y = rentals()
    model = FALLRegressor(n_neighbors=12, neighborhood="boosted", random_state=0).fit(X, y)
    why = model.explain([[2.0, 10.0]])
    shown = ContributionDisplay.from_explanation(why)
    level = number(why.baseline[0] + why.neighborhood_part[0, 0])
    text = in_words(shown)
    start = f"Rows in general {number(why.baseline[0])}; those like this one {level}: x0 "
    assert text.startswith(start)
    assert f"; this one {number(why.prediction[0], 4)}: " in text
    farther = in_words(ContributionDisplay.from_explanation(model.explain([[2.0, 25.0]])))
    assert "x1 = 25 (they: " in farther
