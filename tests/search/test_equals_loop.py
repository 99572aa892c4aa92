"""The search scores what a loop of fit and predict scores: scikit-learn's GridSearchCV."""

from functools import partial

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import get_scorer, make_scorer, median_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from locallinear import FALLClassifier, FALLClassifierCV, FALLRegressor, FALLRegressorCV
from locallinear.kernels.local.anchors import elastic_net_path, ridge_path

RTOL = 1e-9
D = 3


def gaussian(distances):
    return np.exp(-(distances**2))


def rank_weights(distances):
    """Depends on how many neighbours there are, not only on how far they are."""
    return np.linspace(1.0, 0.0, distances.shape[1], endpoint=False) + 0 * distances


def values_of(n_targets):
    """What random grids are drawn from: every parameter that can be searched."""
    rng = np.random.default_rng(0)
    return {
        "n_anchors": [1, 2, 5, 12, 30, 1000],
        "anchor_selection": ["random", "kmeans", rng.normal(size=(4, D))],
        "anchor_models": [None, rng.normal(size=(3, D + 1, n_targets))],
        "n_anchor_neighbors": [1, 2, 7, 15, 1000],
        "anchor_alpha": [0.0, 1e-6, 1e-3, 0.1, 1.0, 100],
        "anchor_l1_ratio": [0.0, 0.1, 0.5, 0.9, 1.0],
        "alpha": [1e-6, 1e-2, 1, 10.0, 1e4],
        "n_neighbors": [1, 2, 3, 7, 20],
        "weights": ["distance", "uniform", gaussian, rank_weights],
        "fit_intercept": [True, False],
        "scaling": [None, "standard", "quantile"],
        "assignment_neighbors": [1, 2, 6, 25],
    }


def random_grid(seed, n_targets=1, size=16):
    """Values of most parameters, together no more than `size` configurations."""
    rng = np.random.default_rng(seed)
    values = values_of(n_targets)
    grid, room = {}, size
    for i in rng.permutation(len(values)):
        name = list(values)[i]
        if name == "anchor_models" and rng.random() < 0.7:
            continue  # given models leave most other parameters without a meaning
        n = min(int(rng.integers(1, 4)), room, len(values[name]))
        room //= n
        chosen = rng.permutation(len(values[name]))[:n]
        grid[name] = [values[name][j] for j in chosen]
    return grid


def problem(n=60, m=1, seed=0, kind="smooth"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    if kind == "ties":  # few distinct points, so equal distances, exact matches and duplicates
        X = rng.integers(0, 3, size=(n, D)).astype(float)
    if kind == "offset":
        X = X * [1e3, 1.0, 1e-2] + [1e4, 0.0, 5.0]
    turn = rng.normal(size=(D, m))
    Y = np.sin(2 * (X - X.mean(0)) / X.std(0) @ turn) + 0.3 * rng.normal(size=(n, m))
    if kind == "ties":
        Y = Y.round()
    return X, (Y[:, 0] if m == 1 else Y)


def labels(n=60, seed=0, classes=("a", "b", "c"), **options):
    X, y = problem(n, seed=seed, **options)
    return X, np.array(classes)[np.digitize(y, np.quantile(y, [0.4, 0.7]))]


def assert_equals(search, loop):
    """Scores of all configurations and splits, their order, and which is best."""
    ours, theirs = search.cv_results_, loop.cv_results_
    for name in theirs:
        if name.endswith("test_score") and not name.startswith(("rank", "std")):
            assert_allclose(ours[name], theirs[name], rtol=RTOL, atol=1e-14, err_msg=name)
    assert_allclose(ours["std_test_score"], theirs["std_test_score"], rtol=1e-6, atol=RTOL)
    for name in search.grid:
        for a, b in zip(ours[f"param_{name}"], theirs[f"param_{name}"], strict=True):
            assert a is b or np.array_equal(a, b)
    scores = theirs["mean_test_score"]
    assert search.n_configurations_ == np.count_nonzero(np.isfinite(scores))
    # Configurations that differ in nothing that matters are tied, up to rounding.
    assert_allclose(scores[search.best_index_], loop.best_score_, rtol=RTOL, atol=1e-14)
    assert_allclose(search.best_score_, loop.best_score_, rtol=RTOL, atol=1e-14)
    tied = np.isclose(scores, loop.best_score_, rtol=RTOL, atol=1e-14)
    if np.count_nonzero(tied) == 1:
        assert search.best_index_ == loop.best_index_
        for name, value in loop.best_params_.items():
            assert_array_equal(search.best_params_[name], value)


def compare(search, X, y, **fit):
    """Fit both, and hold one to the other; returns the search."""
    kind = FALLClassifier if isinstance(search, FALLClassifierCV) else FALLRegressor
    loop = GridSearchCV(
        kind(random_state=search.random_state),
        search.grid,
        cv=search.cv,
        scoring=search.scoring,
        error_score="raise",
    )
    loop.fit(X, y, **fit)
    search.fit(X, y, **fit)
    assert_equals(search, loop)
    return search, loop


def compare_weighted(search, X, y, sample_weight):
    """As `compare`, where weights count in the fits and in the scores."""
    kind = FALLClassifier if isinstance(search, FALLClassifierCV) else FALLRegressor
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind(random_state=search.random_state).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        scoring = search.scoring
        if scoring is not None:
            scoring = get_scorer(scoring).set_score_request(sample_weight=True)
        loop = GridSearchCV(model, search.grid, cv=search.cv, scoring=scoring, error_score="raise")
        loop.fit(X, y, sample_weight=sample_weight)
    search.fit(X, y, sample_weight=sample_weight)
    assert_equals(search, loop)
    return search, loop


@pytest.mark.parametrize("seed", range(12))
def test_random_grids_of_a_regressor(seed):
    scoring = [None, "neg_mean_squared_error", "neg_mean_absolute_error"][seed % 3]
    X, y = problem(seed=seed)
    compare(FALLRegressorCV(random_grid(seed), scoring=scoring, random_state=seed), X, y)


@pytest.mark.parametrize("seed", range(20, 24))
def test_random_grids_where_features_differ_by_orders_of_magnitude(seed):
    X, y = problem(seed=seed, kind="offset")
    grid = random_grid(seed) | {"scaling": [None]}
    compare(FALLRegressorCV(grid, scoring="neg_mean_squared_error", random_state=0), X, y)


@pytest.mark.parametrize("seed", range(40, 48))
def test_random_grids_on_discrete_data_with_many_ties(seed):
    X, y = problem(seed=seed, kind="ties")
    compare(FALLRegressorCV(random_grid(seed), random_state=seed), X, y)


@pytest.mark.parametrize("seed", range(60, 66))
def test_random_grids_with_several_targets(seed):
    scoring = ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"][seed % 3]
    X, Y = problem(m=2, seed=seed)
    grid = random_grid(seed, n_targets=2)
    compare(FALLRegressorCV(grid, scoring=scoring, random_state=seed), X, Y)


@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro"])
@pytest.mark.parametrize("kind", ["smooth", "ties"])
def test_random_grids_of_a_classifier(scoring, kind):
    X, y = labels(kind=kind)
    for seed in (1, 2):
        grid = random_grid(seed, n_targets=3, size=8)
        compare(FALLClassifierCV(grid, scoring=scoring, random_state=seed), X, y)


def test_the_squared_error_of_class_scores_is_that_of_a_regression_on_the_classes():
    X, y = labels()
    Y = (y[:, None] == np.unique(y)).astype(float)
    grid, folds = random_grid(3, n_targets=3, size=8), list(KFold(3).split(X))
    scoring = {"scoring": "neg_mean_squared_error", "cv": folds, "random_state": 0}
    ours = FALLClassifierCV(grid, **scoring).fit(X, y).cv_results_["mean_test_score"]
    assert_allclose(ours, FALLRegressorCV(grid, **scoring).fit(X, Y).cv_results_["mean_test_score"])


@pytest.mark.parametrize("seed", range(80, 86))
def test_random_grids_with_sample_weights(seed):
    rng = np.random.default_rng(seed)
    X, y = problem(seed=seed, kind=["smooth", "ties"][seed % 2])
    weight = [
        rng.integers(0, 4, len(X)).astype(float),
        rng.random(len(X)),
        np.where(rng.random(len(X)) < 0.2, 0.0, 3 * rng.random(len(X))),
    ][seed % 3]
    scoring = [None, "neg_mean_squared_error", "neg_median_absolute_error"][seed % 3]
    search = FALLRegressorCV(random_grid(seed), scoring=scoring, random_state=seed)
    compare_weighted(search, X, y, weight)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_random_grids_of_a_classifier_with_sample_weights(scoring):
    X, y = labels(seed=3)
    weight = np.random.default_rng(3).integers(0, 3, len(X))
    search = FALLClassifierCV(random_grid(7, n_targets=3), scoring=scoring, random_state=0)
    compare_weighted(search, X, y, weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_of_very_many_samples_some_decide_as_in_the_loop(weighted, monkeypatch):
    monkeypatch.setattr("locallinear.models.assignment.MAX_DECIDING", 100)
    X, y = problem(600)
    grid = {
        "assignment_neighbors": [1, 4, 15],
        "n_anchors": [5, 12],
        "neighborhood": ["euclidean", "forest"],
    }
    search = FALLRegressorCV(grid, scoring="neg_mean_squared_error", random_state=0)
    if weighted:
        weight = np.random.default_rng(0).integers(0, 4, len(X))
        compare_weighted(search, X, y, weight)
    else:
        compare(search, X, y)


def wide_grid(n_alphas):
    """Many choices of anchors, and many values of λ."""
    return {
        "alpha": np.logspace(-4, 4, n_alphas).tolist(),
        "n_anchors": [1, 2, 3, 4, 5, 7, 9, 11, 13, 17, 19, 23, 29, 40],
        "n_neighbors": [2, 4],
        "anchor_l1_ratio": [0.5],
    }


@pytest.mark.parametrize(("m", "n_alphas"), [(1, 13), (2, 8)])
@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_mean_absolute_error"])
def test_many_choices_of_anchors_and_many_lambdas(m, n_alphas, scoring):
    grid = wide_grid(n_alphas)
    compare(FALLRegressorCV(grid, cv=2, scoring=scoring, random_state=0), *problem(60, m))


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_median_absolute_error"])
def test_many_choices_of_anchors_with_sample_weights(scoring):
    X, y = problem(60)
    search = FALLRegressorCV(wide_grid(5), cv=2, scoring=scoring, random_state=0)
    compare_weighted(search, X, y, np.random.default_rng(0).integers(0, 4, len(X)))


def test_weights_that_lie_in_memory_by_columns():
    def by_columns(distances):
        return np.asfortranarray(1 / (1 + distances))

    grid = {"weights": [by_columns, "uniform"], "n_neighbors": [2, 5]}
    compare(FALLRegressorCV(grid, scoring="r2", random_state=0), *problem())


def test_weights_of_test_samples_do_not_blur_exact_predictions():
    X, _ = problem()
    grid = {"n_neighbors": [1], "n_anchors": [3]}
    search = FALLRegressorCV(grid, scoring="r2", random_state=0)
    search.fit(X, np.full(60, 2.5), sample_weight=np.full(60, 2.0))
    assert_array_equal(search.cv_results_["mean_test_score"], 1.0)


def test_errors_that_overflow_leave_the_first_anchor():
    X, y = problem()
    models = np.full((2, D + 1, 1), 1e200)
    grid = {"anchor_models": [models], "scaling": [None], "n_neighbors": [3]}
    with np.errstate(over="ignore"):
        compare(FALLRegressorCV(grid, scoring="neg_mean_absolute_error", random_state=0), X, y)


def test_weights_of_whole_numbers_score_as_repeated_rows():
    X, y = problem(40, seed=9)
    weight = np.random.default_rng(9).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    fold = np.arange(len(X)) % 3
    grid = random_grid(9) | {"n_neighbors": [1, 4], "anchor_selection": ["random"]}
    grid["weights"] = ["distance", "uniform", gaussian]
    make = partial(FALLRegressorCV, grid, random_state=0)
    weighted = make(cv=PredefinedSplit(fold)).fit(X, y, weight)
    repeated = make(cv=PredefinedSplit(fold[rows])).fit(X[rows], y[rows])
    assert_allclose(
        weighted.cv_results_["mean_test_score"],
        repeated.cv_results_["mean_test_score"],
        rtol=1e-7,
    )


GRID = {
    "n_anchors": [3, 10],
    "n_neighbors": [2, 6],
    "anchor_alpha": [0.01, 1.0],
    "anchor_l1_ratio": [0.0, 0.5],
}


@pytest.mark.parametrize(
    "scoring",
    [
        "r2",
        "explained_variance",
        "neg_max_error",
        "neg_mean_absolute_percentage_error",
        make_scorer(median_absolute_error, greater_is_better=False),
        lambda model, X, y: -np.abs(model.predict(X) - y).max() + X[0, 0],
    ],
    ids=["r2", "explained variance", "largest error", "percentage", "median", "callable"],
)
def test_any_scorer_of_a_regressor(scoring):
    X, y = problem(seed=5)
    compare(FALLRegressorCV(GRID, scoring=scoring, random_state=0), X, y)


@pytest.mark.parametrize(
    "cv",
    [
        2,
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(3, test_size=0.2, random_state=0),
        TimeSeriesSplit(3),
        [(np.arange(30), np.arange(30, 60)), (np.arange(10, 60), np.arange(5))],
        [(np.arange(60) % 2 == 0, np.arange(60) % 2 == 1)],
    ],
    ids=["2", "KFold", "ShuffleSplit", "TimeSeriesSplit", "unequal", "masks"],
)
def test_any_splitter(cv):
    X, y = problem(seed=6)
    search, loop = compare(FALLRegressorCV(GRID, cv=cv, random_state=0), X, y)
    assert search.n_splits_ == loop.n_splits_


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()], ids=["fold", "leave-one"])
def test_groups_reach_the_splitter(cv):
    X, y = problem(seed=7)
    groups = np.random.default_rng(7).integers(0, 5, len(X))
    compare(FALLRegressorCV(GRID, cv=cv, random_state=0), X, y, groups=groups)
    X, y = labels(seed=7)
    compare(FALLClassifierCV(GRID, cv=cv, random_state=0), X, y, groups=groups)


@pytest.mark.parametrize(
    "cv", [3, StratifiedKFold(4), RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)]
)
def test_splits_of_a_classifier_are_stratified_where_scikit_learn_stratifies(cv):
    X, y = labels(seed=8, classes=(1, -1, 7))
    compare(FALLClassifierCV(GRID, cv=cv, random_state=0), X, y)


def test_a_class_that_is_in_one_part_alone_is_never_predicted_there():
    X, y = labels(seed=10)
    y[:4] = "rare"
    compare(FALLClassifierCV(GRID, cv=KFold(3), random_state=0), X, y)


def test_a_configuration_that_cannot_be_is_missing_in_both():
    X, y = problem(30, seed=11)
    grid = GRID | {"n_neighbors": [2, 20, 21, 400]}
    search = FALLRegressorCV(grid, random_state=0)
    with (
        pytest.warns(sklearn.exceptions.FitFailedWarning),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3).fit(X, y)
    assert_equals(search.fit(X, y), loop)
    assert search.n_configurations_ == 16


@pytest.mark.parametrize("constant", [0.0, 3.0, 0.1])
def test_a_constant_target_has_no_error_in_any_configuration(constant):
    X, _ = problem(seed=12)
    y = np.full(len(X), constant)
    grid = GRID | {"fit_intercept": [True], "scaling": [None, "standard", "quantile"]}
    search = FALLRegressorCV(grid, scoring="neg_mean_squared_error", random_state=0).fit(X, y)
    assert_allclose(search.cv_results_["mean_test_score"], 0.0, atol=1e-26)
    assert_allclose(search.predict(X), constant, rtol=1e-12)


def test_a_target_that_is_constant_in_a_test_part_scores_as_scikit_learn_says():
    X, y = problem(seed=13)
    y[:20] = 0.1
    compare(FALLRegressorCV(GRID, random_state=0), X, y)


def test_integers_floats_and_repeated_values_in_a_grid():
    X, y = problem(seed=14)
    grid = {
        "n_neighbors": [5, 2, 5],
        "alpha": [1, 0.5, 1.0],
        "n_anchors": [8, 3, 8],
        "anchor_selection": ["kmeans", "random"],
    }
    compare(FALLRegressorCV(grid, random_state=0), X, y)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_anchor_neighbors", [2, 15])
def test_no_penalty_is_least_squares_of_smallest_norm_whatever_the_ratio(
    l1_ratio, n_anchor_neighbors
):
    X, y = problem(seed=17)
    grid = {
        "anchor_alpha": [0.1, 0.0, 1e-3],
        "anchor_l1_ratio": [l1_ratio],
        "n_anchor_neighbors": [n_anchor_neighbors],
        "fit_intercept": [True, False],
    }
    compare(FALLRegressorCV(grid, random_state=0), X, y)


def test_arrays_of_numpy_are_lists_of_values():
    X, y = problem(seed=15)
    grid = {"alpha": np.logspace(-2, 2, 5), "n_neighbors": np.arange(1, 4), "scaling": [None]}
    compare(FALLRegressorCV(grid, random_state=0), X, y)


def test_the_estimator_with_the_best_parameters_has_the_best_score():
    X, y = problem(seed=16)
    search = FALLRegressorCV(random_grid(16), random_state=3).fit(X, y)
    model = FALLRegressor(**search.best_params_, random_state=3)
    scores = sklearn.model_selection.cross_val_score(model, X, y, cv=3)
    assert_allclose(scores.mean(), search.best_score_, rtol=RTOL)
    assert_array_equal(model.fit(X, y).predict(X), search.predict(X))


def test_features_that_hardly_vary_give_the_mean_and_overflow_nowhere():
    X, Y = np.random.default_rng(0).normal(size=(2, 4, 7, 2))
    models = ridge_path(1e-306 * X, Y, np.ones((4, 7)), [1e3], True)[0]
    assert_allclose(models[:, :-1] * 1e-306, 0.0, atol=1e-300)
    assert_allclose(models[:, -1], Y.mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("l1_ratio", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_near", [5, 25])
@pytest.mark.parametrize("d", [20, 40])
def test_a_path_of_penalties_passes_where_each_penalty_alone_ends(l1_ratio, n_near, d):
    # Many features of very different size that follow a few: nearly collinear neighbourhoods, in
    # which many supports are nearly as good as the best one.
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(40, n_near, 4)) + 5
    X = (hidden @ rng.normal(size=(4, d)) + 0.1 * rng.normal(size=(40, n_near, d))) * 10.0 ** (
        rng.integers(-2, 4, d)
    )
    Y = hidden[:, :, :1] ** 2 + 20
    alphas = [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0]
    weights = np.ones((40, n_near))
    path = elastic_net_path(X, Y, weights, alphas, l1_ratio, False)
    alone = [elastic_net_path(X, Y, weights, [a], l1_ratio, False)[0] for a in alphas]
    far = rng.normal(size=(50, d + 1)) * np.append(X.std(axis=(0, 1)), 0.0)
    for a, b in zip(path, alone, strict=True):
        a, b = (np.einsum("nd,kdm->nkm", far, models) for models in (a, b))
        assert_allclose(a, b, atol=1e-10 * np.abs(b).max())
