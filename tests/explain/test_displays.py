"""Displays: what a picture shows is what the model says."""

from dataclasses import replace
from itertools import product

import matplotlib
import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from locallinear import FALLClassifier, FALLRegressor, FALLRegressorCV
from locallinear.explain import (
    AlphaPathDisplay,
    CoefficientDisplay,
    ContributionDisplay,
    PredictionDisplay,
    RegimeDisplay,
)
from locallinear.explain.equations import short_equation
from locallinear.explain.text import largest, number, shorten
from locallinear.explain.view import view_of

matplotlib.use("agg")

HOSTILE = ["<script>alert(1)</script>", '"quo\'ted"', "שלום עולם", "long name " * 30, "$x^", "a\nb"]


@pytest.fixture(params=["one target", "three targets", "classes", "quantile", "paper"])
def problem(request, make_problem):
    """A fitted model with its samples and queries, and its number of targets or classes."""
    m = 3 if request.param == "three targets" else 1
    X, y, Q = make_problem(n=90, d=4, m=m)
    scaling = {"quantile": "quantile", "paper": None}.get(request.param, "standard")
    settings = {"n_anchors": 5, "n_neighbors": 4, "scaling": scaling, "random_state": 0}
    if request.param == "classes":
        y, m = np.digitize(y, [-1, 1]), 3
        return FALLClassifier(**settings).fit(X, y), X, y, Q, m
    return FALLRegressor(**settings).fit(X, y), X, y, Q, m


def scores(model, X):
    return model.explain(X).prediction.reshape(len(X), -1)


def test_contributions_and_intercept_are_the_prediction(problem):
    model, _, _, Q, m = problem
    for target in range(m):
        shown = ContributionDisplay.from_estimator(model, Q, row=3, target=target)
        expected = scores(model, Q)[3, target]
        assert shown.contributions.sum() + shown.intercept == pytest.approx(expected)
        assert shown.prediction == pytest.approx(expected)


def test_layers_are_the_prediction_and_those_of_the_explanation(problem):
    model, _, _, Q, m = problem
    shown = ContributionDisplay.from_estimator(model, Q, row=3, target=m - 1)
    why = model.explain(Q)
    total = shown.baseline + shown.neighborhood_part + shown.difference_parts.sum()
    assert total == pytest.approx(scores(model, Q)[3, m - 1])
    np.testing.assert_allclose(shown.difference_parts, why.difference_parts[3, :, m - 1])


@pytest.mark.parametrize("reference", ["baseline", "mean", "zero"])
@pytest.mark.parametrize("max_features", [1, 2, 10])
def test_the_waterfall_falls_from_its_start_to_the_prediction(problem, reference, max_features):
    model, _, _, Q, m = problem
    shown = ContributionDisplay.from_estimator(model, Q, row=-1, target=m - 1)
    lines = shown.waterfall(max_features, reference)
    at = lines[0][2]
    for _, start, step in lines[1:-1]:
        assert start == pytest.approx(at)
        at += step
    assert at == pytest.approx(lines[-1][2]) == pytest.approx(scores(model, Q)[-1, m - 1])


def test_the_waterfall_starts_where_the_row_s_model_puts_the_average_sample(make_problem):
    X, y, Q = make_problem()
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    shown = ContributionDisplay.from_explanation(why, row=5)
    expected = X.mean(axis=0) @ why.coef[5, :, 0] + why.intercept[5, 0]
    assert shown.waterfall(reference="mean")[0][2] == pytest.approx(expected)


def test_the_waterfall_goes_from_all_rows_over_those_like_this_one_to_this_one(make_problem):
    X, y, Q = make_problem()
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    first, level, *features, last = ContributionDisplay.from_explanation(why, row=5).waterfall()
    assert first == ("rows in general", 0.0, pytest.approx(y.mean()))
    assert level[0].startswith("those like this one")
    assert level[2] == pytest.approx(why.neighborhood_part[5, 0])
    assert all("(they: " in label for label, _, _ in features)
    assert {round(step, 9) for _, _, step in features} == set(
        why.difference_parts[5, :, 0].round(9).tolist()
    )
    assert last == ("prediction", 0.0, pytest.approx(why.prediction[5]))


def test_differences_too_small_to_be_seen_are_one_bar():
    X = np.random.default_rng(0).normal(size=(80, 4))
    y = np.where(X[:, 0] > 0, 100.0, 0.0)
    model = FALLRegressor(anchor_models=[[[0.0]] * 4 + [[v]] for v in (0.0, 100.0)]).fit(X, y)
    bars = model.explain(X + 1e-3).plot(3).waterfall()
    assert [label.split("\n")[0] for label, _, _ in bars] == [
        "rows in general",
        "those like this one:",
        "how it differs from them",
        "prediction",
    ]


def test_neighbors_are_shown_with_their_own_targets(problem):
    model, _, y, Q, m = problem
    shown = ContributionDisplay.from_estimator(model, Q, row=2, target=m - 1)
    numeric = y == m - 1 if hasattr(model, "classes_") else y.reshape(len(y), -1)[:, m - 1]
    np.testing.assert_allclose(shown.neighbor_targets, numeric[shown.neighbors], atol=1e-9)
    assert shown.neighbor_weights.sum() == pytest.approx(1)


def test_coefficients_are_those_of_the_explanation(problem):
    model, _, _, Q, m = problem
    why = model.explain(Q)
    shown = CoefficientDisplay.from_estimator(model, Q, 2, target=m - 1)
    np.testing.assert_array_equal(shown.coef, why.coef[:, 2, m - 1])
    np.testing.assert_array_equal(shown.values, Q[:, 2])
    np.testing.assert_array_equal(shown.contributions, why.contributions[:, 2, m - 1])


def test_a_row_belongs_to_the_regime_with_the_most_weight(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(n_anchors=6, random_state=0).fit(X, y)
    why = model.explain(Q)
    shown = CoefficientDisplay.from_estimator(model, Q, 0)
    for i, regime in enumerate(shown.regimes):
        weight = np.bincount(why.neighbor_labels[i], why.neighbor_weights[i])
        assert weight[regime] == pytest.approx(weight.max())


def test_regimes_are_all_samples_largest_first(problem):
    model, X, _, _, m = problem
    shown = RegimeDisplay.from_estimator(model, target=m - 1)
    assert shown.sizes.sum() == len(X)
    assert (np.diff(shown.sizes) <= 0).all()
    np.testing.assert_array_equal(shown.sizes, np.bincount(model.labels_)[shown.labels])
    np.testing.assert_array_equal(shown.models, model.anchor_models_[shown.labels, :, m - 1])
    inside = X[model.labels_ == shown.labels[0]].mean(axis=0)
    np.testing.assert_allclose(shown.offsets[0], (inside - X.mean(axis=0)) / X.std(axis=0))


@pytest.mark.parametrize(("scaling", "in_ranks"), [("standard", False), ("quantile", True)])
def test_regimes_say_where_their_equations_are_in_ranks(make_problem, scaling, in_ranks):
    X, y, _ = make_problem()
    model = FALLRegressor(n_anchors=4, scaling=scaling, random_state=0).fit(X, y)
    shown = RegimeDisplay.from_estimator(model).plot()
    assert ("in ranks" in shown.ax_.get_title("left")) == in_ranks


def test_the_path_goes_from_the_label_to_the_anchors(problem):
    model, X, y, _, m = problem
    path = AlphaPathDisplay.from_estimator(model, X, y, row=4, target=m - 1)
    total = path.contributions.sum(axis=1) + path.intercepts
    np.testing.assert_allclose(path.predictions, total, atol=1e-9)
    assert path.predictions[0] == pytest.approx(path.label, abs=0.01)
    assert path.predictions[-1] == pytest.approx(path.anchor_prediction, abs=0.01)
    assert path.prediction == pytest.approx(scores(model, X)[4, m - 1])


def test_the_path_leaves_the_model_as_it_is(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(alpha=2.5, random_state=0).fit(X, y)
    before = model.predict(Q)
    path = AlphaPathDisplay.from_estimator(model, Q, row=1, alphas=[2.5, 10.0])
    assert model.alpha == 2.5
    np.testing.assert_array_equal(model.predict(Q), before)
    assert path.predictions[0] == pytest.approx(before[1])


def test_the_path_keeps_the_learned_neighborhood(make_problem):
    X, y, Q = make_problem(d=5)
    model = FALLRegressor(neighborhood="learned", random_state=0).fit(X, y)
    path = AlphaPathDisplay.from_estimator(model, Q, row=2, alphas=[model.alpha])
    assert path.predictions[0] == pytest.approx(model.predict(Q)[2])


def test_the_path_ends_at_the_model_fitted_with_that_alpha(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    path = AlphaPathDisplay.from_estimator(model, Q, row=1, alphas=[0.3, 30.0])
    for alpha, predicted in zip(path.alphas, path.predictions, strict=True):
        other = FALLRegressor(alpha=alpha, random_state=0).fit(X, y)
        assert predicted == pytest.approx(other.predict(Q[1:2])[0])


def test_predicted_against_true_is_predict_and_y(problem):
    model, X, y, _, m = problem
    shown = PredictionDisplay.from_estimator(model, X, y, target=m - 1)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(shown.y_pred, model.predict_proba(X)[:, m - 1])
        np.testing.assert_array_equal(shown.y_true, y == model.classes_[m - 1])
    else:
        np.testing.assert_array_equal(shown.y_pred, model.predict(X).reshape(len(X), -1)[:, m - 1])


def every_display(model, X, y, target):
    yield ContributionDisplay.from_estimator(model, X, row=1, target=target)
    yield CoefficientDisplay.from_estimator(model, X, 0, target=target)
    yield RegimeDisplay.from_estimator(model, target=target)
    yield AlphaPathDisplay.from_estimator(model, X, y, row=1, target=target)
    yield PredictionDisplay.from_estimator(model, X, y, target=target)


def test_each_display_draws_on_the_axes_it_is_given_and_returns_itself(problem):
    from matplotlib.figure import Figure

    model, X, y, _, m = problem
    for display in every_display(model, X, y, m - 1):
        ax = Figure().subplots()
        assert display.plot(ax=ax) is display
        assert display.ax_ is ax
        assert ax.has_data()


def test_each_display_makes_axes_of_its_own_without_being_given_any(make_problem):
    X, y, _ = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    for display in every_display(model, X, y, 0):
        display.plot().figure_.canvas.draw()


def test_many_features_with_hostile_names_are_drawn_as_a_few_bars(make_problem):
    X, y, _ = make_problem(n=100, d=81)
    names = HOSTILE + [f"feature {j}" for j in range(81 - len(HOSTILE))]
    frame = pandas.DataFrame(X, columns=names)
    model = FALLRegressor(n_anchors=4, random_state=0).fit(frame, y)
    for display in every_display(model, frame, y, 0):
        display.plot().figure_.canvas.draw()
    shown = ContributionDisplay.from_estimator(model, frame + 0.1).plot(max_features=80)
    shown.figure_.canvas.draw()
    assert len(shown.plot().bars_) == 1 + 10 + 1
    assert len(shown.plot(reference="mean").bars_) == 10 + 1


def test_an_explanation_draws_itself(make_problem):
    X, y, Q = make_problem(m=2)
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    shown = why.plot(4, target=1)
    assert shown.prediction == pytest.approx(why.prediction[4, 1])


def test_an_explanation_without_its_model_draws_what_it_holds(make_problem):
    X, y, Q = make_problem()
    why = replace(FALLRegressor(random_state=0).fit(X, y).explain(Q), model=None)
    shown = why.plot(4)
    assert shown.values is None
    assert [label for label, _, _ in shown.waterfall()[:2]] == [
        "rows in general",
        "those like this one",
    ]
    assert shown.waterfall(reference="mean")[0][0] == "intercept"
    assert shown.prediction == pytest.approx(why.prediction[4])


def test_a_search_is_drawn_as_its_best_estimator(make_problem):
    X, y, Q = make_problem()
    search = FALLRegressorCV({"alpha": [1.0, 10.0]}, random_state=0).fit(X, y)
    shown = ContributionDisplay.from_estimator(search, Q)
    assert shown.prediction == pytest.approx(search.predict(Q)[0])


def test_samples_that_were_added_and_removed_are_known(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(n_anchors=5, random_state=0).fit(X[:80], y[:80])
    model.partial_fit(X[80:], y[80:]).forget([0, 5, 90])
    left = np.delete(y, [0, 5, 90])
    shown = ContributionDisplay.from_estimator(model, Q)
    np.testing.assert_allclose(shown.neighbor_targets, left[shown.neighbors], atol=1e-9)


def test_where_no_feature_counts_the_level_speaks_and_the_linear_model_says_so():
    X = np.r_[np.zeros((30, 2)), np.full((30, 2), 9.0)] + np.random.default_rng(0).normal(
        size=(60, 2), scale=0.1
    )
    model = FALLClassifier(4, random_state=0).fit(X, np.repeat(["far", "near"], 30))
    shown = ContributionDisplay.from_estimator(model, X[:3] + 0.01).plot()
    assert shown.is_constant
    assert len(shown.bars_) == 1
    assert shown.neighborhood_part == pytest.approx(0.5)
    shown.plot(reference="mean")
    assert "No feature counts here" in shown.ax_.texts[-1].get_text()
    X, y = X[:, :1], X[:, 0]
    assert not ContributionDisplay.from_estimator(FALLRegressor(4).fit(X, y), X + 0.01).is_constant


def test_text_is_short_and_keeps_both_ends():
    assert shorten("short") == "short"
    assert len(shorten("x" * 500, 20)) == 20
    assert shorten("begin" + "x" * 50 + "end", 12).startswith("begin")
    assert shorten("begin" + "x" * 50 + "end", 12).endswith("end")
    assert number(-1234567.0) == "−1,234,567"
    assert (number(2021), number(9999.4), number(9999.6)) == ("2021", "9999", "10,000")
    assert number(0.000123456) == "0.000123"


def test_the_rest_is_never_a_single_feature():
    assert largest([1, -5, 3], 2) == ([1, 2, 0], [])
    assert largest([1, -5, 3, 2], 2) == ([1, 2], [3, 0])


def equation_of(*coef, spread=(1.0, 1.0, 1.0), limit=4):
    """The equation of a model, of features that spread so far; the intercept is 3."""
    X = np.array(list(product([-1.0, 1.0], repeat=len(coef)))) * spread
    names = list("abcdefgh")[: len(coef)]
    model = FALLRegressor(n_neighbors=1).fit(pandas.DataFrame(X, columns=names), X[:, 0])
    return short_equation(view_of(model), np.array([*coef, 3.0]), X, "y", limit)


def test_an_equation_names_what_matters_first():
    assert equation_of(0.1, -20.0, 0.0, spread=(1000.0, 1.0, 1.0)) == "y = 3 + 0.1 · a − 20 · b"


def test_an_equation_has_no_terms_that_only_rounding_made():
    assert equation_of(0.1, -3e-16, 2e-17, limit=1) == "y = 3 + 0.1 · a"
    assert equation_of(4e-16, 0.0, -2e-16) == "y = 3"


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_samples_come_back_from_the_feature_space_with_their_zeros(scaling, neighborhood):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 4)) < 0.5, 0.0, rng.gamma(2, 100, (200, 4)))
    model = FALLRegressor(scaling=scaling, neighborhood=neighborhood).fit(X, X[:, 0] + X[:, 1])
    inputs = view_of(model).samples.inputs
    assert_array_equal(inputs == 0, X == 0)
    assert_allclose(inputs, X, rtol=1e-12)


def test_a_column_that_is_constant_in_the_samples_is_part_of_the_constant():
    X = np.array([[0.0, 7.0], [1.0, 7.0], [3.0, 7.0]])
    seen = view_of(FALLRegressor(n_neighbors=1).fit(X, [0.0, 1.0, 3.0]))
    text = short_equation(seen, np.array([2.0, 5.0, 3.0]), X, "y")
    assert text == "y = 38 + 2 · x0"  # 3 + 5 · 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row": 99}, "row must be below 30"),
        ({"row": "a"}, "row must be below 30.*'a'"),
        ({"target": 1}, "target must be below 1"),
        ({"target": "x"}, r"target must be below 1 or one of \['y'\], but is 'x'"),
    ],
)
def test_a_row_or_target_that_is_not_there_is_named(make_problem, options, message):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        ContributionDisplay.from_estimator(model, Q, **options)


def test_a_target_can_be_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    why = FALLClassifier(random_state=0).fit(X, y.map(str)).explain(X[:3])
    named = ContributionDisplay.from_explanation(why, row=1, target="2")
    assert named.target_name == "2"
    assert named.prediction == why.prediction[1, 2]


def test_other_estimators_are_refused_by_name(make_problem):
    from sklearn.linear_model import Ridge

    X, y, _ = make_problem()
    with pytest.raises(TypeError, match="but got Ridge"):
        RegimeDisplay.from_estimator(Ridge().fit(X, y))


def test_a_feature_that_is_not_there_is_named(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"feature must be below \d+ or one of .*'cement'"):
        CoefficientDisplay.from_estimator(model, Q, "cement")
