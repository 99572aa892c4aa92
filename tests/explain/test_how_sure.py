"""How sure explained rows are: pictures, pages and text say what the model says."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from houses import fitted, houses
from locallinear import FALLClassifier, FALLEnsembleRegressor, FALLRegressor
from locallinear.explain import ContributionDisplay, report_data
from locallinear.explain.how_sure import DEVIATIONS, how_sure, pulls_on, slope_errors
from locallinear.explain.row_text import row_lines
from locallinear.explain.view import view_of

matplotlib.use("agg")


@pytest.fixture(scope="module")
def problem():
    """A model of a feature that counts and one that does not, and new rows; the last is far."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = 3 * X[:, 0] + 0.3 * rng.normal(size=200)
    Q = np.vstack([rng.uniform(-1, 1, size=(9, 2)), [[50.0, 50.0]]])
    return FALLRegressor(12, n_neighbors=10, random_state=0).fit(X, y), Q


def test_intervals_and_novelty_are_those_of_the_model(problem):
    model, Q = problem
    found = how_sure(view_of(model), model.explain(Q))
    assert_allclose(found.interval[:, 0], model.predict_interval(Q))
    assert_allclose(found.novelty, model.novelty(Q))
    assert found.possible is None


@pytest.mark.parametrize("members", [1, 3])
def test_samples_have_intervals_around_their_predictions_without_themselves(problem, members):
    model, _ = problem
    if members > 1:
        X, Y = model.training_samples()
        settings = {"search": None, "estimator": FALLRegressor(12), "random_state": 0}
        model = FALLEnsembleRegressor(members, **settings).fit(X, Y[:, 0])
    numbers = np.arange(200)[::-1]
    found = how_sure(view_of(model), model.explain_samples(numbers))
    known, levels = model.conformal(), np.array([0.05, 0.95])
    around = known.sample_quantiles(levels) - known.prediction[:, :, None]
    expected = model.loo_prediction_[numbers, None, None] + around[numbers]
    assert_allclose(found.interval, expected)
    low, high = found.interval[:, 0].T
    assert (low < model.loo_prediction_[numbers]).all()
    assert (model.loo_prediction_[numbers] < high).all()


def test_novelties_of_samples_without_themselves_are_spread_from_zero_to_one(problem):
    model, _ = problem
    novelty = how_sure(view_of(model), model.explain_samples()).novelty
    assert_allclose(np.sort(novelty), np.arange(200) / 200)


def test_classes_have_the_sets_of_the_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    model = FALLClassifier(8, random_state=0).fit(X, np.where(X[:, 0] > 0, "a", "b"))
    found = how_sure(view_of(model), model.explain(X + 0.1))
    assert_array_equal(found.possible, model.predict_set(X + 0.1))
    assert found.interval is None


def test_slopes_of_numbers_have_errors_and_texts_have_none():
    model = fitted()
    why = model.explain(houses(seed=1))
    errors = slope_errors(view_of(model), why)[:, :, 0]
    assert_allclose(errors[:, :2], why.slopes_std[:, :2, 0])
    assert np.isnan(errors[:, 2]).all()


@pytest.mark.parametrize("members", [1, 3])
def test_the_pulls_of_all_samples_and_the_mean_are_the_prediction(problem, members):
    model, Q = problem
    if members > 1:
        X, Y = model.training_samples()
        model = FALLEnsembleRegressor(members, search=None, estimator=model, random_state=0)
        model.fit(X, Y[:, 0])
    why = model.explain(Q)
    near = [row[:2] for row in why.neighbors]
    for i, of_row in enumerate(pulls_on(view_of(model), why, near, limit=200)):
        assert len(of_row.pulls) == 2 + len(of_row.others)
        assert not set(of_row.others) & set(near[i])
        sizes = np.abs(of_row.pulls[2:, 0])
        assert (np.diff(sizes) <= 0).all()
        assert why.baseline[0] + of_row.pulls.sum() == pytest.approx(why.prediction[i])


def test_a_report_says_why_it_does_not_know_how_sure_it_is():
    X = np.random.default_rng(0).normal(size=(5, 2))
    data = report_data(FALLRegressor(n_neighbors=5).fit(X, X[:, 0]), Xq=X + 0.1)
    assert "are needed to predict a sample without itself" in data["sure"]["missing"]
    assert data["coverage"] == {"missing": data["sure"]["missing"]}
    lasso = FALLRegressor(n_neighbors=2, anchor_l1_ratio=1.0).fit(X, X[:, 0])
    assert "influence needs ridge anchors" in report_data(lasso, Xq=X + 0.1)["sure"]["no_pulls"]


def test_coverage_is_counted_on_new_rows_with_targets_and_else_on_samples(problem):
    model, _ = problem
    X = np.random.default_rng(1).uniform(-1, 1, size=(60, 2))
    (held_out,) = report_data(model, Xq=X, yq=3 * X[:, 0])["coverage"]
    assert (held_out["source"], held_out["n_rows"]) == ("held-out rows", 60)
    (own,) = report_data(model, Xq=X)["coverage"]
    assert (own["source"], own["n_rows"]) == ("samples without themselves", 200)


def test_the_waterfall_has_the_interval_and_hatches_what_may_be_zero(problem):
    model, Q = problem
    why = model.explain(Q)
    found = set()
    for row in range(9):
        shown = ContributionDisplay.from_explanation(why, row=row).plot()
        assert_allclose(shown.interval, model.predict_interval(Q[[row]])[0])
        for bar, (_, _, j) in zip(shown.bars_, shown.steps(), strict=True):
            within = j is not None and abs(why.slopes[row, j, 0]) <= (
                DEVIATIONS * why.slopes_std[row, j, 0]
            )
            assert (bar.get_hatch() == "////") == within
            found.add((j, within))
        assert not shown.is_unlike_anything
    assert {(0, False), (1, True)} <= found


def test_a_row_unlike_anything_seen_is_called_so_in_picture_and_text(problem):
    model, Q = problem
    shown = ContributionDisplay.from_estimator(model, Q, row=9).plot()
    assert "unlike anything seen" in shown.ax_.get_title(loc="left")
    assert any("unlike anything seen" in line for line in row_lines(shown))


def test_lines_of_text_add_up_and_name_slopes_whose_interval_contains_zero(problem):
    model, Q = problem
    why = model.explain(Q)
    row = next(i for i in range(9) if abs(why.slopes[i, 1, 0]) < why.slopes_std[i, 1, 0])
    shown = ContributionDisplay.from_explanation(why, row=row)
    lines = row_lines(shown)
    low, high = shown.interval
    assert f"between {low:.3g} and {high:.3g}".replace("-", "−") in lines[0]
    (zero,) = [line for line in lines if line.startswith("  x1")]
    assert zero.endswith(", an interval that contains zero")
    (counts,) = [line for line in lines if line.startswith("  x0")]
    assert "slope" in counts
    assert "zero" not in counts


def test_without_how_sure_the_model_is_asked_for_nothing_more(problem):
    fitted_before, Q = problem
    X, Y = fitted_before.training_samples()
    model = FALLRegressor(12, n_neighbors=10, random_state=0).fit(X, Y[:, 0])
    shown = ContributionDisplay.from_explanation(model.explain(Q), sure=False)
    assert shown.interval is None
    assert shown.slopes_std is None
    assert "_known_errors" not in vars(model)
