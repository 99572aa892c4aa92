"""The log of a target: predictions, intervals and explanations are in units."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from frames import messy
from locallinear import FALLRegressor, TableRegressor
from locallinear.explain import ContributionDisplay
from locallinear.explain.row_text import row_lines
from locallinear.explain.text import factor
from locallinear.explain.view import view_of


def test_a_log_scale_says_by_what_a_column_multiplies(logs):
    model, new = logs
    why = model.explain(new)
    assert_allclose(why.times, np.exp(why.log.difference_parts))
    lines = why.to_frame()
    assert_allclose(lines["times"].dropna(), why.times[:, :, 0].ravel())
    # A square metre more makes a price of the table one percent larger.
    given = new["size"].notna().to_numpy()
    assert abs(np.median(why.times_per_unit[given, 0, 0]) - np.exp(0.01)) < 0.003


def test_shapley_values_of_a_log_scale_are_in_units(logs):
    model, new = logs
    background = messy(20, seed=2)[0]
    values = model.explain(new[:3]).shapley(background, random_state=0)
    total = values.sum(axis=1)[:, 0] + model.predict(background).mean()
    assert_allclose(total, model.predict(new[:3]))


def test_what_would_change_if_forgotten_is_in_units_of_a_log_scale(logs):
    model, new = logs
    samples, changes = model.explain(new).if_forgotten(1)
    before = model.predict(new)[1]
    for sample, change in zip(samples[:2], changes[:2], strict=True):
        without = deepcopy(model)
        without.estimator_.forget([sample])
        assert_allclose(without.predict(new)[1] - before, change[0], atol=1e-9)
    assert abs(changes[0, 0]) > 0.01


def test_a_row_in_words_says_times_per_unit_and_has_neighbours_in_units(logs):
    model, new = logs
    shown = ContributionDisplay.from_explanation(model.explain(new), row=3)
    assert_allclose(shown.times_per_unit, np.exp(model.explain(new).log.slopes[3, :, 0]))
    prices = messy()[1].to_numpy()
    assert_allclose(shown.neighbor_targets, prices[shown.neighbors])
    text = "\n".join(row_lines(shown))
    assert f"times {factor(shown.times_per_unit[0])} per unit" in text
    assert f"pulls times {factor(shown.neighbor_pulls[0])}" in text


def test_predictions_and_intervals_of_a_log_scale_stay_in_range(logs):
    model, new = logs
    far = new.assign(size=-5000.0)
    assert (model.predict(far) >= 0).all()
    ends = model.predict_interval(new, 0.8)
    assert (ends[:, 0] >= 0).all()
    assert (ends[:, 0] <= ends[:, 1]).all()
    middle = model.predict_quantiles(new, [0.1, 0.5, 0.9])
    assert_allclose(middle[:, [0, 2]], ends)


def test_counts_with_zeros_have_logs_too():
    frame, price = messy()
    counts = np.round(price / 10 - 3).clip(lower=0)
    assert (counts == 0).any()
    model = TableRegressor(FALLRegressor(5), target="log", random_state=0).fit(frame, counts)
    why = model.explain(frame[:9])
    assert_allclose(
        why.contributions.sum(axis=1)[:, 0] + why.intercept[:, 0], model.predict(frame[:9])
    )
    assert (model.predict(frame) >= 0).all()


def test_auto_takes_the_log_where_it_is_better_and_not_elsewhere():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    few = FALLRegressor(10, n_neighbors=8)
    by_shares = np.exp(2 * X["a"] + X["b"] + 0.1 * rng.normal(size=150))
    assert TableRegressor(few, random_state=0).fit(X, by_shares).is_log_
    by_amounts = np.maximum(0, 3 * X["a"] + X["b"] + rng.normal(size=150) + 2)
    assert not TableRegressor(few, random_state=0).fit(X, by_amounts).is_log_
    assert not TableRegressor(few, random_state=0).fit(X, X["a"] + X["b"]).is_log_


def test_the_log_of_negative_targets_is_refused():
    frame, price = messy()
    with pytest.raises(ValueError, match="target='log' needs targets of 0 or more, but one is -"):
        TableRegressor(target="log").fit(frame, -price)


def test_a_log_scale_says_which_target_has_no_log():
    X = np.arange(40.0)[:, None]
    model = TableRegressor(FALLRegressor(5), target="log").fit(X, 1.0 + X[:, 0])
    with pytest.raises(ValueError, match=r"all targets of the fit were above 0.* row 2 is 0;"):
        model.partial_fit(X[:2], [1.0, 0.0])


def test_the_baseline_is_the_mean_of_the_rows_that_the_model_has_now():
    X = np.arange(40.0)[:, None]
    y = 1.0 + X[:, 0]
    model = TableRegressor(FALLRegressor(5), target="log").fit(X[:30], y[:30])
    assert_allclose(model.explain(X[:1]).baseline, y[:30].mean())
    before = model.at_this_moment()
    model.partial_fit(X[30:], y[30:], np.full(10, 2.0))
    weights = np.repeat([1.0, 2.0], [30, 10])
    assert_allclose(model.explain(X[:1]).baseline, np.average(y, weights=weights))
    assert_allclose(before.explain(X[:1]).baseline, y[:30].mean())
    model.forget(np.arange(12))
    why = model.explain(X[20:21])
    assert_allclose(why.baseline, np.average(y[12:], weights=weights[12:]))
    layers = why.baseline + why.neighborhood_part + why.difference_parts.sum(axis=1)
    assert_allclose(layers[:, 0], why.prediction)


@pytest.mark.parametrize("lowest", [0.0, 1.0])
def test_targets_of_pictures_are_refused_as_those_of_partial_fit_are(lowest):
    X = np.arange(40.0)[:, None]
    model = TableRegressor(FALLRegressor(5), target="log").fit(X, lowest + X[:, 0])
    view, rows = view_of(model), [2.0, np.nan, -1.0, 1e300]
    assert_array_equal(np.isnan(view.on_model_scale(rows[:2])), [False, True])
    assert_allclose(model.table_model.targets_in_units(view.on_model_scale(rows[:2])), rows[:2])
    for refused, why in [
        (rows, "so a target is never negative; that of row 3 is -1"),
        (rows[3:], "so a target is at most 1.9e[+]130; that of row 1 is 1e[+]300"),
    ]:
        with pytest.raises(ValueError, match=why):
            view.on_model_scale(refused)
        with pytest.raises(ValueError, match=why):
            model.to_model_scale(np.array(refused))


def test_predictions_of_a_log_scale_are_finite_far_from_the_rows():
    X = np.arange(40.0)[:, None]
    model = TableRegressor(FALLRegressor(5), target="log").fit(X, np.exp(X[:, 0]))
    far = model.explain([[1e6]])
    assert np.isfinite(far.prediction).all()
    assert np.isfinite(far.contributions).all()
    for factors in (far.times, far.times_per_unit):
        assert np.isfinite(factors).all()
        assert (factors > 0).all()
    assert_allclose(np.log(far.times), np.log(far.growth)[:, None], atol=1.0)  # one bound for both
