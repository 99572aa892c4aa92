"""How models are judged: the same folds and baselines for reports and the command line."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from houses import houses
from locallinear import FALLEnsembleRegressor, FALLRegressor, TableRegressor
from locallinear.explain import judging, report_data, sections, write_report
from locallinear.explain.judging import (
    CLASSIFICATION,
    REGRESSION,
    Judged,
    UnseenRows,
    baselines,
    folds_of,
    judge,
    pooled_scores,
    resampled_errors,
    row_errors,
    tuning_sentence,
    typical_error,
)


def test_each_row_is_predicted_by_the_model_fitted_without_its_fold(make_problem):
    X, y, _ = make_problem(m=2)
    folds = folds_of(y, 4, classify=False, seed=3)
    (judged,) = judge({"ridge": Ridge()}, X, y, list(folds.split(X)), classify=False)
    assert_allclose(judged.predicted, cross_val_predict(Ridge(), X, y, cv=folds))
    assert judged.seconds > 0


def test_numbers_are_predicted_as_numbers_where_the_targets_are_whole(make_problem):
    X, y, _ = make_problem()
    y = y.round().astype(int)
    splits = list(folds_of(y, 3, classify=False).split(X))
    (judged,) = judge({"ridge": Ridge()}, X, y, splits, classify=False)
    assert (judged.predicted % 1 != 0).any()


def test_the_scores_of_a_report_are_those_of_the_command_line_s_baselines(make_problem):
    X, y, _ = make_problem()
    splits = list(folds_of(y, 5, classify=False).split(X))
    models = baselines(min(len(train) for train, _ in splits), classify=False)
    reported = report_data(FALLRegressor(random_state=0).fit(X, y), X, y)["scores"]["models"]
    for judged, entry in zip(
        judge(models, X, y, splits, classify=False), reported[1:], strict=True
    ):
        expected = pooled_scores(judged, y, classify=False)
        assert entry == {"name": judged.name} | expected


@pytest.mark.parametrize("n", [4, 5, 7, 9, 30])
@pytest.mark.parametrize("classify", [False, True])
def test_baselines_fit_on_as_few_rows_as_folds_leave(n, classify, make_problem):
    X, y, _ = make_problem(n=n)
    y = np.where(np.arange(n) % 2, "odd", "even") if classify else y
    splits = list(folds_of(y, 5, classify=classify).split(X, y))
    assert min(len(test) for _, test in splits) >= 2
    models = baselines(min(len(train) for train, _ in splits), classify=classify)
    for judged in judge(models, X, y, splits, classify=classify):
        scores = pooled_scores(judged, y, classify=classify)
        assert np.isfinite([list(score.values()) for score in scores.values()]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_models_the_log_where_the_model_does(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.exp(2 + X[:, 0] + 0.1 * rng.normal(size=300))
    frame = pd.DataFrame(X, columns=["a", "b"])
    few = FALLRegressor(9, n_neighbors=20, random_state=0)
    splits = [(np.arange(200), np.arange(200, 300))]
    weights = np.repeat([1.0, 3.0], 150) if weighted else None
    scores = {}
    for scale in ("log", "identity"):
        model = TableRegressor(few, target=scale).fit(frame, y)
        ridge = {"ridge": baselines(200, classify=False, table=model.table_model)["ridge"]}
        (found,) = judge(ridge, X, y, splits, classify=False, weights=weights)
        scores[scale] = r2_score(y[200:], found.predicted[200:])
    assert scores["log"] > 0.95 > 0.8 > scores["identity"]


def test_folds_are_stratified_where_each_class_has_a_row_for_each():
    y = np.repeat(["many", "few"], [30, 5])
    assert isinstance(folds_of(y, 5, classify=True), StratifiedKFold)
    assert isinstance(folds_of(y, 6, classify=True), KFold)
    assert isinstance(folds_of(y, 5, classify=False), KFold)
    with pytest.raises(ValueError, match="needs 4 samples, but there are 3"):
        folds_of(y[:3], 2, classify=True)


def test_typical_errors_are_in_the_units_of_the_target_or_shares_of_wrong_rows():
    y, judged = (
        np.array([[1.0, 2.0], [3.0, 5.0]]),
        Judged("one", np.array([[1.0, 1.0], [1.0, 5.0]])),
    )
    errors = row_errors(judged, y, classify=False)
    expected = [root_mean_squared_error(y[:, t], judged.predicted[:, t]) for t in range(2)]
    assert_allclose(typical_error(errors, classify=False), expected)
    wrong = row_errors(Judged("one", np.array(["a", "b"])), np.array(["a", "a"]), classify=True)
    assert_array_equal(typical_error(wrong, classify=True), [0.5])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classify", [False, True])
def test_half_widths_are_those_of_the_metrics_on_rows_drawn_with_repetition(classify, weighted):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60) if classify else rng.normal(size=(60, 2))
    said = rng.integers(3, size=60) if classify else y + 0.5 * rng.normal(size=(60, 2))
    weights = rng.random(60) if weighted else None
    found = pooled_scores(Judged("one", said), y, classify=classify, weights=weights)
    draws = np.random.default_rng(0).integers(60, size=(400, 60))
    for name, metric in (CLASSIFICATION if classify else REGRESSION).items():
        scores = [
            metric(y[rows], said[rows], sample_weight=None if weights is None else weights[rows])
            for rows in draws
        ]
        assert found[name]["value"] == metric(y, said, sample_weight=weights)
        low, high = np.quantile(scores, [0.025, 0.975])
        assert found[name]["half_width"] == pytest.approx((high - low) / 2)


def test_models_are_resampled_on_the_same_rows():
    errors = np.random.default_rng(0).random((40, 1))
    one, twice = resampled_errors([errors, 4 * errors], classify=False)
    assert_allclose(twice, 2 * one)
    assert one.std() > 0


def test_judging_leaves_the_models_unfitted(make_problem):
    X, y, _ = make_problem()
    model = clone(Ridge())
    judge({"ridge": model}, X, y, list(KFold(2).split(X)), classify=False)
    assert not hasattr(model, "coef_")


# --- The judgement that a model brings along -----------------------------------------------------


def test_only_rows_that_the_model_predicted_unseen_are_predicted_by_the_others(make_problem):
    X, y, _ = make_problem(n=60)
    folds, said = np.arange(60) % 3, y + 0.1
    said[folds == 1] = np.nan  # a fold without time, and half of another one
    said[folds == 2] = np.where(np.arange(20) < 10, said[folds == 2], np.nan)
    unseen = UnseenRows.of(said, folds)
    assert unseen.n_folds == 3
    assert unseen.n_train == 40
    asked = []

    class Counting(Ridge):
        def predict(self, X):
            asked.append(len(X))
            return super().predict(X)

    ours, other = unseen.judge(Judged("FALL", said), {"ridge": Counting()}, X, y, classify=False)
    assert asked == [20, 10]
    assert_allclose(ours.predicted, y[unseen.rows] + 0.1)
    known = np.flatnonzero(folds == 0)
    expected = Ridge().fit(X[folds != 0], y[folds != 0]).predict(X[known])
    assert_allclose(other.predicted[np.isin(unseen.rows, known)], expected)


def test_rows_in_no_fold_are_neither_fitted_nor_predicted():
    folds = np.array([-1, 0, 1, 0, 1, -1])
    unseen = UnseenRows.of(np.array([np.nan, 1, 2, 3, 4, np.nan]), folds)
    assert unseen.n_folds == 2
    assert [(a.tolist(), b.tolist()) for a, b in unseen.splits] == [
        ([2, 4], [1, 3]),
        ([1, 3], [2, 4]),
    ]


@pytest.fixture
def page_of(tmp_path):
    """The scores of a model's page, and its text."""

    def write(model):
        data = report_data(model, max_rows=3)
        write_report(tmp_path / "page.html", data)
        text = (tmp_path / "page.html").read_text("utf-8")
        return data["scores"], " ".join(text.split())

    return write


def test_the_page_says_of_tuning_what_the_terminal_says(page_of):
    frame = houses().drop(columns=["rent", "kind"])
    one = TableRegressor(FALLRegressor(5), random_state=0).fit(frame, "price")
    two = FALLEnsembleRegressor(2, search={"n_neighbors": [3]}, random_state=0)
    for model in (one, TableRegressor(two, random_state=0).fit(frame, "price")):
        said = tuning_sentence(is_ensemble=model is not one)
        page = page_of(model)[1].replace("&#39;", "'")
        assert page.count(said) == 2  # in its data too


def straight_but_for(bend, n=60, seed=0):
    """Rows whose target is linear, with noise, but for a bend of this size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + bend * np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)


def test_a_page_says_which_rows_are_scored_and_where_knn_is_left_out(page_of, monkeypatch):
    frame = houses().drop(columns=["rent", "kind"])
    given = FALLRegressor(5, random_state=0)
    model = TableRegressor(given, target="identity", random_state=0).fit(frame, "price")
    text = page_of(model)[1]
    assert "time budget left time for" not in text
    assert "KNN is left out" not in text
    model.cv_prediction_[model.folds_ == 0] = np.nan
    monkeypatch.setattr(judging, "MOST_FOR_KNN", 30)
    scores, text = page_of(model)
    assert "all 40 rows at once, which are those that the time budget left time for" in text
    assert scores["n_folds"] == 3
    assert "KNN is left out" in text
    monkeypatch.setattr(sections, "MOST_SCORED", 50)
    scores, text = page_of(given.fit(*straight_but_for(0.0)))
    assert "all 50 rows at once, which are drawn at random" in text
    assert "The parameters of ridge were chosen inside each training fold" in text


# --- Against one linear model for all rows -------------------------------------------------------


AS_GOOD = "Ridge, one linear model for all rows, is as good or better on unseen rows"
UNCLEAR = "it is not clear that this model is better than ridge, one linear model for all rows"


@pytest.mark.parametrize(
    ("bend", "found", "said"),
    [(0.0, "as good", AS_GOOD), (0.8, "unclear", UNCLEAR), (3.0, "better", None)],
)
def test_a_page_says_whether_ridge_is_better_or_nobody_knows(page_of, bend, found, said):
    model = FALLRegressor(10, n_neighbors=5, random_state=0).fit(*straight_but_for(bend))
    scores, text = page_of(model)
    assert scores["against_ridge"] == found
    ours, ridge = (scores["models"][i]["R²"]["value"] for i in (0, 2))
    assert (ours > ridge) == (found != "as good")
    for sentence in (AS_GOOD, UNCLEAR):
        assert text.count(sentence) == (2 if sentence == said else 0)


def test_weights_that_scores_count_also_count_against_ridge(page_of):
    X, y = straight_but_for(3.0, n=200)
    rng = np.random.default_rng(1)
    y[100:] = X[100:, 0] + 0.5 * rng.normal(size=100)  # where few weigh, ridge is right
    few = FALLRegressor(10, n_neighbors=5, random_state=0)
    found = {}
    for bent, weights in {True: [1, 1e-3], False: [1e-3, 1]}.items():
        fitted = few.fit(X, y, np.repeat(weights, 100))
        found[bent] = page_of(fitted)[0]["against_ridge"]
    assert found == {True: "better", False: "as good"}
