"""Effects: predictions as a feature moves, and the right summary of them."""

import calendar
import json
from dataclasses import dataclass
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.inspection import partial_dependence

from houses import fitted, houses
from locallinear import (
    FALLClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableRegressor,
)
from locallinear.explain import EffectDisplay
from locallinear.explain.effect_parts import MOST_VALUES, number_grid
from locallinear.explain.effects import (
    DEPENDENT,
    MOST_ROWS,
    accumulate_texts,
    effect_of,
    effects_section,
)
from locallinear.explain.view import ModelView, NumberColumn, view_of

matplotlib.use("agg")

# One linear model for all: every sample is in the one anchor's neighbourhood.
LINEAR = {"n_anchors": 1, "n_anchor_neighbors": 400, "anchor_alpha": 1e-9, "alpha": 1e9}


@dataclass
class Known:
    """A function in place of a model: `effect_of` asks a view for predictions and slopes."""

    function: object
    d: int

    def explain(self, X):
        step = 1e-6
        moved = [self.function(X + step * e) - self.function(X - step * e) for e in np.eye(self.d)]
        coef = np.stack(moved, axis=1)[:, :, None] / (2 * step)
        return SimpleNamespace(coef=coef, slopes=coef)

    def predict(self, X):
        return self.function(X)

    @property
    def regime_model(self):
        return SimpleNamespace(
            feature_space=SimpleNamespace(has_units=True), target_names=["y"], one_target=True
        )

    def __sklearn_tags__(self):
        return FALLRegressor().__sklearn_tags__()


def known_effect(function, X, j, kind="auto"):
    names = [NumberColumn(f"x{i}") for i in range(X.shape[1])]
    return effect_of(ModelView(Known(function, X.shape[1]), names), X, j, kind)


def centred(line):
    return line - line.mean()


# --- Oracles -------------------------------------------------------------------------------------


def test_the_curves_are_predictions_with_the_value_put_in(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    shown = EffectDisplay.from_estimator(model, Q, 1)
    for row in (0, 7):
        for k in (0, 11, len(shown.grid) - 1):
            query = Q[row].copy()
            query[1] = shown.grid[k]
            assert shown.curves[row, k] == pytest.approx(model.predict([query])[0])


def test_the_mean_is_scikit_learn_s_partial_dependence(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    shown = EffectDisplay.from_estimator(model, Q, 2)
    theirs = partial_dependence(model, Q, [2], custom_values={2: shown.grid}, method="brute")
    assert_allclose(shown.mean, theirs["average"][0])


def test_a_linear_model_has_parallel_curves_with_its_slope():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] += X[:, 0]
    model = FALLRegressor(**LINEAR).fit(X, X @ [2.0, -3.0, 0.5])
    shown = EffectDisplay.from_estimator(model, rng.normal(size=(50, 3)), 1)
    for line in (*shown.curves, shown.mean, shown.accumulated):
        assert_allclose(np.diff(line) / np.diff(shown.grid), -3.0, rtol=1e-4)
    assert_allclose(shown.slopes, -3.0, rtol=1e-4)


def test_accumulated_effects_of_a_sum_are_its_component_though_features_depend():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[:, 2] = X[:, 0] + 0.3 * X[:, 2]
    effect = known_effect(lambda X: np.sin(2 * X[:, 0]) + X[:, 2] ** 2, X, 0)
    component = np.sin(2 * effect.grid)
    assert effect.kind == "accumulated"
    assert_allclose(centred(effect.accumulated[:, 0]), centred(component), atol=1e-12)


def test_accumulated_effects_do_not_ask_where_no_rows_are():
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, 400)
    X = np.column_stack([first, first + rng.normal(0, 0.01, 400)])
    # Where the two features agree, the function is their mean; elsewhere it is absurd.
    effect = known_effect(lambda X: X.mean(axis=1) + 100 * (abs(X[:, 0] - X[:, 1]) > 0.5), X, 0)
    rise = effect.accumulated[-1, 0] - effect.accumulated[0, 0]
    assert rise == pytest.approx(0.5 * np.ptp(effect.grid))
    assert np.ptp(effect.mean) > 10


def test_accumulated_effects_and_the_mean_agree_for_independent_features():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    effect = known_effect(lambda X: X[:, 0] ** 2 * X[:, 1], X, 0)
    assert effect.kind == "mean"
    assert_allclose(effect.accumulated[:, 0], centred(effect.mean[:, 0]), atol=0.03)
    assert_allclose(centred(effect.mean[:, 0]), centred(effect.grid**2 / 2), atol=0.03)


def test_slopes_are_the_derivative_of_the_row_s_own_curve():
    X = np.random.default_rng(0).uniform(1, 2, size=(60, 2))
    effect = known_effect(lambda X: X[:, 0] ** 2 * X[:, 1], X, 0)
    assert_allclose(effect.slopes[:, 0], 2 * X[:, 0] * X[:, 1], rtol=1e-6)


def test_slopes_are_those_of_the_explanation_in_units(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(scaling="quantile", random_state=0).fit(X, y)
    shown = EffectDisplay.from_estimator(model, Q, 1)
    assert_array_equal(shown.slopes, model.explain(Q).slopes[:, 1, 0])


# --- Limits --------------------------------------------------------------------------------------


def test_a_constant_feature_has_one_value_the_mean_prediction_and_no_change(make_problem):
    X, y, Q = make_problem()
    X[:, 1] = Q[:, 1] = 3.0
    model = FALLRegressor(random_state=0).fit(X, y)
    shown = EffectDisplay.from_estimator(model, Q, 1).plot()
    assert shown.grid.tolist() == [3.0]
    assert shown.dependence == 0
    assert_allclose(shown.mean, model.predict(Q).mean())
    assert_allclose(shown.accumulated, 0)
    (summary,) = [line for line in shown.ax_.lines if line.get_label() == "mean prediction"]
    assert summary.get_marker() == "o"  # a line through one value would not be seen
    assert f"followed for {len(Q)} rows, which all have the same x1: there" in shown.sentence
    assert "explain" not in shown.sentence


def test_one_row_has_one_curve(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    shown = EffectDisplay.from_estimator(model, Q[:1], 0).plot()
    assert_allclose(shown.mean, model.predict(Q[:1]))


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=200))
def test_each_value_of_the_grid_is_a_row_s_and_the_ends_are_among_them(values):
    values = np.array(values, dtype=float)
    grid = number_grid(values)
    assert len(grid) <= MOST_VALUES
    assert (np.diff(grid) > 0).all()
    assert set(grid) <= set(values)
    assert (grid[0], grid[-1]) == (values.min(), values.max())


def test_rows_and_values_are_bounded():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    model = FALLRegressor(random_state=0).fit(X, X[:, 0])
    assert EffectDisplay.from_estimator(model, X, 0).curves.shape == (MOST_ROWS, MOST_VALUES)
    assert EffectDisplay.from_estimator(model, X, 0, max_rows=40).curves.shape[0] == 40


# --- Invariances ---------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
def test_accumulated_effects_are_changes_whose_mean_over_the_rows_is_zero(seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    effect = known_effect(lambda X: 5 + X[:, 0] * X[:, 1], X, 0)
    at_rows = np.interp(X[:, 0], effect.grid, effect.accumulated[:, 0])
    assert at_rows.mean() == pytest.approx(0, abs=1e-12)


def test_dependence_is_found_whatever_its_form():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 300)
    X = np.column_stack([x**2, x, rng.normal(size=300)])
    dependences = [known_effect(lambda X: X[:, 0], X, j).dependence for j in range(3)]
    assert dependences[0] > 0.8
    assert dependences[2] < 0.05 < DEPENDENT


# --- Tables, classes, ensembles ------------------------------------------------------------------


def test_a_column_of_text_moves_from_text_to_text():
    model, frame = fitted(), houses(seed=1)
    shown = EffectDisplay.from_estimator(model, frame, "district")
    assert set(shown.grid) == {"north", "south", "old town", "missing"}
    for k, text in enumerate(shown.grid):
        moved = frame.assign(district=None if text == "missing" else text)
        assert_allclose(shown.curves[:, k], model.predict(moved))
    own = shown.grid == shown.values[:, None]
    assert_allclose(shown.slopes[own], 0, atol=1e-9)
    assert_array_equal(shown.values == "missing", frame["district"].isna())


def test_what_other_texts_add_is_what_the_row_s_linear_model_says():
    model, frame = fitted(), houses(seed=1)
    shown = EffectDisplay.from_estimator(model, frame, "district")
    coef = model.explain(frame).encoded.coef[:, :, 0]
    names = list(model.encode(frame).columns)
    south, north = (names.index(f"district is {text}") for text in ("south", "north"))
    row = int(np.flatnonzero(frame["district"] == "north")[0])
    said = shown.slopes[row, shown.grid.tolist().index("south")]
    assert said == pytest.approx(coef[row, south] - coef[row, north])


def test_accumulated_effects_of_texts_take_rows_of_the_two_texts_alone():
    curves = np.array([[1.0, 2, 9], [5, 7, 9], [0, 0, 4]])[:, :, None]
    added = accumulate_texts(curves, np.array([0, 1, 2]))
    assert_allclose(added[:, 0], [0, (1 + 2) / 2, 1.5 + (2 + 4) / 2])


def test_a_column_of_numbers_of_a_table_is_in_its_units():
    model, frame = fitted(), houses(seed=1)
    shown = EffectDisplay.from_estimator(model, frame, "size (m²)")
    assert shown.grid[0] == frame["size (m²)"].min()
    moved = frame.assign(**{"size (m²)": shown.grid[3]})
    assert_allclose(shown.curves[:, 3], model.predict(moved))
    assert_allclose(shown.slopes, model.explain(frame).coef[:, 0, 0])


def seasons(n=400, seed=0):
    """Warm summers: the temperature tells the season, and only the season and the trend matter."""
    rng = np.random.default_rng(seed)
    days = pd.to_datetime("2018-01-01") + pd.to_timedelta(rng.integers(0, 4 * 365 * 24, n), "h")
    year = 2 * np.pi * days.day_of_year / 365.25
    frame = pd.DataFrame({"time": days.strftime("%Y-%m-%d %H:%M"), "wind": rng.normal(size=n)})
    frame["temperature"] = -10 * np.cos(year) + rng.normal(size=n)
    return frame.assign(y=5 * np.cos(year) + 2 * (days.year - 2018 + days.day_of_year / 365.25))


def test_parts_of_a_date_move_by_themselves_and_depend_on_the_season_s_columns():
    frame = seasons()
    model = TableRegressor(FALLRegressor(**LINEAR), target="identity").fit(frame, "y")
    year = EffectDisplay.from_estimator(model, frame, "time: time of year")
    trend = EffectDisplay.from_estimator(model, frame, "time")
    hour = EffectDisplay.from_estimator(model, frame, "time: time of day")
    assert list(year.grid) == list(calendar.month_name)[1:]
    assert year.kind == "accumulated"
    assert year.dependence > 0.45  # of two places on the circle, the temperature tells one
    assert hour.dependence < DEPENDENT
    middle = 2 * np.pi * (np.arange(12) + 0.5) / 12
    assert_allclose(centred(year.mean), 5 * np.cos(middle), atol=0.3)
    assert_allclose(np.diff(trend.mean) / np.diff(trend.grid), 2.0, rtol=0.02)
    assert_allclose(trend.slopes, 2.0, rtol=0.02)
    assert_allclose(centred(hour.mean), 0, atol=0.1)
    assert "of the variance of time: time of year" in year.sentence
    assert year.plot().ax_.get_xticklabels()[0].get_text() == "January"


def test_linear_models_say_what_other_months_would_add():
    frame = seasons()
    model = TableRegressor(FALLRegressor(**LINEAR), target="identity").fit(frame, "y")
    year = EffectDisplay.from_estimator(model, frame, "time: time of year")
    assert_allclose(year.predictions[:, None] + year.slopes, year.curves, atol=1e-6)


def test_the_section_has_an_effect_per_part_of_a_date_with_days_on_the_axis_of_the_trend():
    frame = seasons(100)
    frame.loc[:20, "time"] = None
    model = TableRegressor(FALLRegressor(10, random_state=0), target="identity").fit(frame, "y")
    why = model.explain(frame)
    j = why.feature_names.index("time")
    section = effects_section(view_of(model), why, [j])
    assert {one["part"].split(": ")[1] for one in section} == {
        "trend",
        "time of year",
        "weekday",
        "time of day",
    }
    assert {one["column"] for one in section} == {j}
    (trend,) = (one for one in section if not one["is_text"])
    assert trend["label"] == "time"
    assert trend["grid"] == sorted(trend["grid"])
    assert all(text.startswith("20") for text in trend["grid"])
    assert all(min(one["rows"]) > 20 for one in section)
    largest = [np.ptp(one["summary"]) for one in section]
    assert largest == sorted(largest, reverse=True)


def test_effects_on_classes_are_probabilities_that_sum_to_one(make_problem):
    X, y, Q = make_problem()
    model = FALLClassifier(random_state=0).fit(X, np.digitize(y, [-1, 1]))
    shown = [EffectDisplay.from_estimator(model, Q, 0, target=t) for t in range(3)]
    assert_allclose(sum(one.curves for one in shown), 1)
    assert_allclose(sum(one.accumulated for one in shown), 0, atol=1e-12)
    assert shown[0].slopes is None
    assert "the probability of 1" in shown[1].plot().sentence


def test_the_effect_on_an_ensemble_is_the_mean_of_its_members(make_problem):
    X, y, Q = make_problem()
    base = FALLRegressor(n_anchors=5)
    model = FALLEnsembleRegressor(3, search=None, estimator=base, random_state=0).fit(X, y)
    shown = EffectDisplay.from_estimator(model, Q, 0)
    members = [EffectDisplay.from_estimator(one, Q, 0) for one in model.estimators_]
    for name in ("curves", "mean", "accumulated", "slopes"):
        mean = np.mean([getattr(one, name) for one in members], axis=0)
        assert_allclose(getattr(shown, name), mean, atol=1e-9)


def test_a_search_with_named_columns_and_several_targets_is_shown(make_problem):
    X, y, Q = make_problem(m=2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    search = FALLRegressorCV({"alpha": [1.0, 10.0]}, random_state=0).fit(frame, y)
    queries = pd.DataFrame(Q, columns=frame.columns)
    shown = EffectDisplay.from_estimator(search, queries, "b", target=1)
    assert_allclose(shown.predictions, search.predict(queries)[:, 1])


# --- What is drawn and said ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["auto", "mean", "accumulated"])
@pytest.mark.parametrize("feature", ["size (m²)", "district"])
def test_the_summary_is_drawn_on_the_given_axes_as_the_user_chose(kind, feature):
    from matplotlib.figure import Figure

    shown = EffectDisplay.from_estimator(fitted(), houses(seed=1), feature, kind=kind)
    ax = Figure().subplots()
    assert shown.plot(ax=ax) is shown
    assert shown.ax_ is ax
    assert kind in {"auto", shown.kind}
    label = "mean prediction" if shown.kind == "mean" else "accumulated local effects"
    (line,) = [line for line in ax.lines if line.get_label() == label]
    assert_allclose(np.sort(line.get_ydata()), np.sort(getattr(shown, shown.kind)))
    assert ax.get_ylabel().startswith("prediction" if shown.kind == "mean" else "change in pred")


def test_strokes_of_slopes_are_drawn_around_zero_where_changes_are():
    shown = EffectDisplay.from_estimator(
        fitted(), houses(seed=1), "size (m²)", kind="accumulated"
    ).plot(max_curves=60)
    color = next(line.get_color() for line in shown.ax_.lines if "slopes" in line.get_label())
    strokes = [line.get_ydata().mean() for line in shown.ax_.lines if line.get_color() == color]
    assert_allclose(np.sort(strokes), np.sort(centred(shown.predictions)))


def test_the_sentence_says_which_summary_it_is_and_why():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    model = FALLRegressor(random_state=0).fit(X, X[:, 0])
    said = [EffectDisplay.from_estimator(model, X, j).sentence for j in (0, 2)]
    assert "accumulated local effects" in said[0]
    assert "would include rows that do not occur" in said[0]
    assert "the mean prediction of y if all 300 rows had the same x2" in said[1]
    assert "such rows can occur" in said[1]
    forced = EffectDisplay.from_estimator(model, X, 0, kind="mean").sentence
    assert "some of these rows do not occur" in forced


def test_of_too_few_rows_nothing_is_said_of_what_other_columns_explain(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    for n, said in (
        (1, "Predictions were followed for one row only: there is no other value to compare with."),
        (5, "5 rows are too few to know whether such rows can occur."),
    ):
        for kind in ("mean", "accumulated"):
            shown = EffectDisplay.from_estimator(model, Q[:n], 0, kind=kind)
            assert shown.dependence is None
            assert said in shown.sentence
            assert "explain" not in shown.sentence


def test_the_section_is_json_with_what_the_display_draws():
    model, frame = fitted(("price", "rent")), houses(seed=1)
    view = view_of(model)
    section = effects_section(view, model.explain(frame), range(len(view.columns)))
    assert json.loads(json.dumps(section, allow_nan=False)) == section
    assert [one["feature"] for one in section] == view.names
    for one in section:
        shown = EffectDisplay.from_estimator(model, frame, one["feature"], target=1)
        assert one["kind"] == shown.kind
        assert_allclose(one["summary"][1], shown.summary, rtol=1e-4)
        assert len(one["curves"][0][1]) == len(one["grid"])
        assert shown.sentence.startswith(one["sentences"][1])


# --- Errors --------------------------------------------------------------------------------------


def test_a_summary_or_feature_that_is_not_there_is_named(make_problem):
    X, y, _ = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r'kind must be "auto" or .*, but is .median'):
        EffectDisplay.from_estimator(model, X, 0, kind="median")
    with pytest.raises(ValueError, match="feature must be below 3"):
        EffectDisplay.from_estimator(model, X, "age")
