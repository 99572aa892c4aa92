"""The regimes of a model: the errors of their equations, and what sets them apart."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from locallinear import FALLRegressor, FALLRegressorCV, TableRegressor
from locallinear.cli.summary import regime_lines, simplicity_lines
from locallinear.explain import report_data
from locallinear.explain.regimes import distinguishing, regime_names, regimes_of
from locallinear.explain.view import view_of
from locallinear.grids import SIMPLE
from locallinear.search.companion import companion_of
from locallinear.tables.dates import _densest_arc


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(200, 6))


def of_anchors(X, y, points, **params):
    """The view of a model whose anchors are at these points."""
    params = {"n_anchor_neighbors": 80, "assignment_neighbors": 20} | params
    return view_of(FALLRegressor(anchor_selection=points, random_state=0, **params).fit(X, y))


def regimes_by_name(frame, points, **params):
    """The regimes of a table's model on its page, by name."""
    few = FALLRegressor(len(points), anchor_selection=points, n_anchor_neighbors=60, **params)
    model = TableRegressor(few, target="identity", random_state=0).fit(frame, "y")
    return {regime["name"]: regime for regime in report_data(model, max_rows=5)["regimes"]}


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_the_error_of_an_equation_is_that_in_the_samples_of_its_regime(rows, scaling):
    y = np.column_stack([np.abs(rows[:, 0]), rows[:, 1] ** 2])
    model = FALLRegressor(4, scaling=scaling, n_anchor_neighbors=50, random_state=0).fit(rows, y)
    found = regimes_of(view_of(model))
    for label, errors in zip(found.labels, found.errors, strict=True):
        inside = model.labels_ == label
        equation = model.anchor_models_[label]
        regressors = model.feature_space.regressors(rows[inside])
        off = y[inside] - regressors @ equation[:-1] - equation[-1]
        assert_allclose(errors, np.sqrt((off**2).mean(axis=0)))


def test_a_regime_is_named_by_what_sets_it_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[:, 0] = np.repeat([0.0, 5.0], 100)
    y = np.where(X[:, 0] > 2, 5, -5) * X[:, 1]
    seen = of_anchors(X, y, [[0.0, 0.0], [5.0, 0.0]])
    assert sorted(regime_names(seen, regimes_of(seen))) == ["high x0", "low x0"]


def test_a_regime_that_nothing_sets_apart_is_spread_over_all_rows(rows):
    seen = view_of(FALLRegressor(1, n_anchor_neighbors=200, random_state=0).fit(rows, rows[:, 0]))
    assert regime_names(seen, regimes_of(seen)) == ["spread over all rows"]


def test_regimes_that_would_have_one_name_are_told_apart_by_a_range():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (300, 1))
    y = np.select([X[:, 0] < 0.5, X[:, 0] < 1], [5 * X[:, 0], 50 - 9 * X[:, 0]], 3.0)
    points = [[0.25], [0.75], [6.0]]
    model = FALLRegressor(3, anchor_selection=points, anchor_alpha=0.0, random_state=0).fit(X, y)
    seen = view_of(model)
    names = regime_names(seen, regimes_of(seen))
    assert len(set(names)) == 3
    assert sum(name.startswith("low x0 (x0 ") for name in names) == 2


def test_a_regime_among_the_others_is_neither_high_nor_low():
    x = np.random.default_rng(0).uniform(0, 10, (600, 1))
    inside = (x[:, 0] > 5) & (x[:, 0] < 8)
    y = np.where(inside, 40 - 4 * x[:, 0], 4 * x[:, 0])
    seen = of_anchors(x, y, [[6.5], [1.5]], scaling=None, anchor_alpha=1e-3)
    found = regimes_of(seen)
    middle = int(found.labels.tolist().index(0))
    (apart,) = distinguishing(seen, found, middle, 2)
    assert apart["side"] == "mostly"
    assert regime_names(seen, found)[middle] == f"x0 {apart['range']}"


def test_a_category_sets_a_regime_apart_only_if_its_share_differs_clearly():
    rng = np.random.default_rng(0)
    size = rng.uniform(0, 10, 400)
    # "rare" is in 4 % of the large rows alone: 0.3 standard deviations, but hardly a finding.
    kind = np.where((size > 5) & (rng.uniform(size=400) < 0.04), "rare", "usual")
    frame = pd.DataFrame({"size": size, "kind": kind, "y": np.where(size > 5, 90 - 9 * size, size)})
    assert columns_that_set_apart(frame) == {"size"}
    clearly = frame.assign(kind=np.where(size > 5, "large", "small"))
    assert columns_that_set_apart(clearly) == {"size", "kind"}


def columns_that_set_apart(frame):
    points = [[2.0, 0.0, 0.0], [8.0, 0.0, 0.0]]
    regimes = regimes_by_name(frame, points, assignment_neighbors=20).values()
    return {tag["feature"] for regime in regimes for tag in regime["distinguishing"]}


def dated(days, **columns):
    return pd.DataFrame({"day": days.strftime("%Y-%m-%d %H:%M"), **columns})


def test_regimes_in_parts_of_the_year_are_named_by_months():
    days = pd.date_range("2018-01-01", "2020-12-31", freq="D")
    rng = np.random.default_rng(0)
    load, warm = rng.uniform(0, 10, len(days)), days.month.isin([5, 6, 7, 8])
    frame = dated(days, load=load, y=np.where(warm, 8.0, -3.0) * load)
    summer, winter = [1.5, -1.0, 0.0, 0, 0, 5.0], [1.5, 1.0, 0.0, 0, 0, 5.0]
    names = regimes_by_name(frame, [summer, winter], assignment_neighbors=20)
    assert any("day: time of year May to August" in name for name in names), list(names)


@pytest.mark.parametrize(
    ("every", "cycle", "part", "where"),
    [
        ("h", "time of day", lambda t: t.hour.isin(range(3)), "0:00 to 2:00"),
        ("h", "time of day", lambda t: (t.hour >= 22) | (t.hour < 2), "22:00 to 1:00"),
        ("D", "weekday", lambda t: t.day_of_week == 0, "Monday"),
        ("D", "weekday", lambda t: t.day_of_week >= 5, "Saturday to Sunday"),
        ("MS", "time of year", lambda t: t.month == 3, "March"),
        ("MS", "time of year", lambda t: t.month.isin([12, 1]), "December to January"),
    ],
)
def test_a_part_of_a_cycle_is_said_in_words(every, cycle, part, where):
    times = pd.date_range("1990-01-01", periods=600, freq=every)
    frame = dated(times, y=np.arange(600.0))
    model = TableRegressor(FALLRegressor(1), target="identity").fit(frame, "y")
    column = model.table_model.encoding.columns[0]
    features = model.encode(frame.drop(columns="y")).to_numpy()
    feature, ones = 1 + 2 * column.cycles.index(cycle), np.ones(600)
    inside, all_rows = np.asarray(part(times)), ones > 0
    assert column.on_circle(feature, features, ones, inside) == (cycle, where)
    assert column.on_circle(feature, features, ones * inside, all_rows) == (cycle, where)
    assert column.on_circle(feature, features, ones, all_rows) == (cycle, "")
    assert column.on_circle(0, features, ones, all_rows) is None


def test_two_seasons_and_more_than_half_of_the_year_have_no_name():
    rng = np.random.default_rng(0)
    days = pd.date_range("2018-01-01", "2020-12-31", freq="D")
    model = TableRegressor(FALLRegressor(1), target="identity")
    frame = dated(days, y=rng.normal(size=len(days)))
    column = model.fit(frame, "y").table_model.encoding.columns[0]
    features = model.encode(frame.drop(columns="y")).to_numpy()
    year, ones = 1 + 2 * column.cycles.index("time of year"), np.ones(len(days))
    # Many in late summer, some in early winter, and next to none between.
    often = np.select([days.month.isin([8, 9]), days.month == 12], [0.9, 0.7], 0.02)
    for rows, where in (
        (rng.random(len(days)) < often, ""),
        (days.month.isin([8, 9, 10, 11, 12, 1, 2, 3]), ""),
        (days.month.isin([8, 9, 10]), "August to October"),
        (days.month.isin([8, 9, 10]) & (rng.random(len(days)) < 0.3), "August to October"),
    ):
        assert column.on_circle(year, features, ones, rows) == ("time of year", where)


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=30))
def test_no_shorter_arc_holds_four_fifths_of_the_positions(turns):
    turns = np.array(turns)
    low, high = _densest_arc(turns, np.ones(len(turns)))
    n_held = int(np.ceil(0.8 * len(turns)))
    lengths = [np.sort((turns - start) % 1.0)[n_held - 1] for start in turns]
    assert high - low == pytest.approx(min(lengths), abs=1e-12)


def test_the_terminal_says_the_error_of_each_equation():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame["y"] = np.abs(frame["a"]) + rng.normal(size=300)
    few = FALLRegressor(2, n_anchor_neighbors=100, random_state=0)
    model = TableRegressor(few, target="identity", random_state=0).fit(frame, "y")
    lines = regime_lines(model, model.companion())
    shown = [line for line in lines if "(error " in line]
    assert len(shown) == len(np.unique(model.estimator_.labels_))
    assert lines[-1].strip() == "The error is that of the whole equation in the rows of the regime."
    regimes = report_data(model, max_rows=5)["regimes"]
    for line, regime in zip(shown, regimes, strict=True):
        assert f"(error {regime['equations'][0]['error']:.2g})" in line


def test_the_equations_of_a_simple_model_make_its_predictions(make_problem):
    X, y, _ = make_problem(n=300)
    few = FALLRegressorCV(prefer="simple", random_state=0).fit(X, y).best_estimator_
    why = few.explain(X[:20])
    assert_allclose(why.correction_part, 0, atol=1e-6)
    assert few.alpha == SIMPLE["alpha"][0]


def test_one_regime_may_be_the_linear_model_of_all_samples(make_problem):
    X, _, _ = make_problem(n=300)
    y = X @ [3.0, -2.0, 1.0] + 5
    companion = companion_of(FALLRegressor(50, scaling="quantile", random_state=0).fit(X, y))
    assert len(companion.model.anchor_models_) == 1
    assert_allclose(companion.model.anchor_models_[0, :, 0], [3, -2, 1, 5], atol=0.05)


def test_the_price_of_simplicity_says_by_how_many_rows_it_was_found(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame["y"] = np.abs(frame["a"])
    few = FALLRegressor(50, scaling="quantile", random_state=0)
    model = TableRegressor(few, target="identity", random_state=0).fit(frame, "y")
    all_rows = " ".join(simplicity_lines(model, companion_of(model.estimator_)))
    assert "too good" in all_rows
    assert "drawn at random" not in all_rows
    monkeypatch.setattr("locallinear.search.companion.MOST_SAMPLES", 100)
    some_rows = " ".join(" ".join(simplicity_lines(model, companion_of(model.estimator_))).split())
    assert "by 100 rows drawn at random" in some_rows
