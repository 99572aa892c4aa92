"""The searches as a user meets them: budgets, interrupts, missing scores, results, other tools."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import types
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from mapie.regression import SplitConformalRegressor
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    ParameterGrid,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import locallinear
from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLRegressor,
    FALLRegressorCV,
    _chunks,
    _cv,
    _folds,
    _grids,
    _progress,
    _search,
)

GRID = {
    "n_anchors": [3, 10],
    "n_neighbors": [2, 6, 11],
    "anchor_alpha": [0.01, 1.0],
    "anchor_l1_ratio": [0.0, 0.5],
    "n_anchor_neighbors": [5, 10, 20],
    "alpha": [0.1, 10.0],
}
SIZE = 2 * 3 * 2 * 2 * 3 * 2
STEP = 2 * 3 * 2  # configurations that are scored in one go


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=len(X))


@pytest.fixture(scope="module")
def fitted(data):
    return FALLRegressorCV(GRID, random_state=0).fit(*data)


def same_results(a, b, **tolerance):
    assert set(a.cv_results_) == set(b.cv_results_)
    for name, column in a.cv_results_.items():
        if column.dtype == object or not tolerance:
            assert_array_equal(column, b.cv_results_[name], err_msg=name)
        elif not name.startswith("rank"):
            assert_allclose(column, b.cv_results_[name], err_msg=name, **tolerance)
    assert a.best_params_ == b.best_params_
    assert a.n_configurations_ == b.n_configurations_


def quiet_loop(loop, X, y):
    """Fit a GridSearchCV that warns of configurations without a score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loop.fit(X, y)


# The named grids


def test_the_papers_grid_has_its_million_configurations_on_raw_features():
    assert len(ParameterGrid(_grids.PAPER)) == 1_078_000
    assert _grids.PAPER["scaling"] == [None]


@pytest.mark.parametrize("grid", ["paper", "default"])
@pytest.mark.parametrize("search", [FALLRegressorCV, FALLClassifierCV])
def test_a_named_grid_searches_its_own_values(grid, search):
    X, y = load_iris(return_X_y=True)
    model = search(grid, time_budget=1e-6, random_state=0).fit(X, y)
    expected = _grids.GRIDS[grid]
    assert set(model.best_params_) == set(expected)
    assert all(value in expected[name] for name, value in model.best_params_.items())
    assert len(model.cv_results_["mean_test_score"]) == len(ParameterGrid(expected))


def test_a_named_grid_cannot_be_changed_through_a_result(data):
    before = repr(_grids.GRIDS)
    model = FALLRegressorCV(time_budget=1e-6, random_state=0).fit(*data)
    model.best_params_.clear()
    assert repr(_grids.GRIDS) == before


def test_an_empty_grid_scores_the_estimator_as_it_is(data):
    model = FALLRegressorCV({}, random_state=0).fit(*data)
    assert model.best_params_ == {}
    scores = cross_val_score(FALLRegressor(random_state=0), *data, cv=3)
    assert_allclose(model.best_score_, scores.mean(), rtol=1e-9)


# Results


def test_results_have_the_columns_of_grid_search_and_a_reason(fitted):
    scores = ["split0_test_score", "split1_test_score", "split2_test_score"]
    scores += ["mean_test_score", "std_test_score", "rank_test_score", "reason"]
    assert set(fitted.cv_results_) == {f"param_{name}" for name in GRID} | set(scores)
    assert all(len(column) == SIZE for column in fitted.cv_results_.values())
    assert fitted.n_splits_ == 3
    assert fitted.n_configurations_ == SIZE
    assert (fitted.cv_results_["reason"] == "").all()


def test_results_are_in_the_order_of_parameter_grid(fitted):
    for name in GRID:
        expected = [parameters[name] for parameters in ParameterGrid(GRID)]
        assert_array_equal(fitted.cv_results_[f"param_{name}"], expected)


def test_the_best_is_the_first_of_the_highest_mean_scores(fitted):
    mean = fitted.cv_results_["mean_test_score"]
    assert fitted.best_index_ == np.argmax(mean)
    assert fitted.best_score_ == mean.max()
    assert fitted.cv_results_["rank_test_score"][fitted.best_index_] == 1
    assert list(ParameterGrid(GRID))[fitted.best_index_] == fitted.best_params_


def test_ranks_are_those_of_grid_search(data):
    grid = {"n_neighbors": [2, 40, 500], "n_anchors": [5, 1000, 2000]}
    search = FALLRegressorCV(grid, random_state=0).fit(*data)
    loop = quiet_loop(GridSearchCV(FALLRegressor(random_state=0), grid, cv=3), *data)
    assert_array_equal(search.cv_results_["rank_test_score"], loop.cv_results_["rank_test_score"])


def test_the_best_estimator_is_fitted_on_all_samples(fitted, data):
    model = FALLRegressor(**fitted.best_params_, random_state=0).fit(*data)
    assert fitted.best_estimator_.n_samples_fit_ == len(data[0])
    assert_array_equal(fitted.predict(data[0]), model.predict(data[0]))
    assert_array_equal(fitted.explain(data[0]).coef, model.explain(data[0]).coef)


def test_a_million_rows_make_a_frame():
    model = FALLRegressorCV("paper", time_budget=1e-6, random_state=0)
    frame = pd.DataFrame(model.fit(*load_diabetes(return_X_y=True)).cv_results_)
    assert len(frame) == 1_078_000
    assert frame["mean_test_score"].count() == model.n_configurations_
    # Numbers are columns of numbers, so that a frame can be sorted and grouped quickly.
    objects = {name for name in frame if frame[name].dtype.kind not in "ifb"}
    assert objects == {"param_scaling", "reason"}


def test_columns_keep_the_values_of_the_grid(data):
    points = np.zeros((2, 3))
    grid = {"anchor_selection": ["random", points], "fit_intercept": [True], "alpha": [1, 0.5]}
    results = FALLRegressorCV(grid, random_state=0).fit(*data).cv_results_
    assert list(results["param_anchor_selection"][:2]) == ["random", points] or (
        results["param_anchor_selection"][1] is points
    )
    assert results["param_fit_intercept"].dtype == bool
    assert results["param_alpha"].dtype == float


# Time budget


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a second whenever it is read."""
    seconds = iter(range(10**9))
    clock = types.SimpleNamespace(monotonic=lambda: float(next(seconds)))
    for module in (_cv, _search, _progress):
        monkeypatch.setattr(module, "time", clock)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_tiny_budget_still_scores_something(data, n_jobs):
    model = FALLRegressorCV(GRID, time_budget=1e-9, n_jobs=n_jobs, random_state=0).fit(*data)
    assert STEP <= model.n_configurations_ <= n_jobs * STEP
    assert model.predict(data[0]).shape == (90,)


def test_scores_under_a_budget_are_those_without(fitted, data, ticking):
    model = FALLRegressorCV(GRID, time_budget=12, random_state=0).fit(*data)
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    assert STEP < model.n_configurations_ < SIZE
    assert np.count_nonzero(scored) == model.n_configurations_
    for name in ("mean_test_score", "split1_test_score"):
        whole, part = fitted.cv_results_[name], model.cv_results_[name]
        assert_array_equal(part[scored], whole[scored])
        assert np.isnan(part[~scored]).all()
    assert model.best_score_ == fitted.cv_results_["mean_test_score"][scored].max()
    assert (model.cv_results_["reason"][scored] == "").all()
    assert set(model.cv_results_["reason"][~scored]) == {_search.STOPPED}


def test_what_a_budget_allows_covers_the_grid(data, ticking):
    grid = GRID | {"n_anchor_neighbors": [5, 8, 10, 15, 20], "scaling": [None, "standard"]}
    model = FALLRegressorCV(grid, time_budget=35, random_state=0).fit(*data)
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    assert scored.mean() < 0.7
    for name, values in grid.items():
        seen = model.cv_results_[f"param_{name}"][scored]
        assert set(seen) == set(values), name


@pytest.mark.parametrize("sizes", [[1, 1], [7], [1, 10, 2, 11], [3, 1, 4, 5], [2] * 7, [9] * 4])
def test_the_order_of_cells_visits_each_once(sizes):
    order = _search.spread_order(sizes)
    assert len(order) == len(set(order)) == np.prod(sizes)
    assert all(0 <= i < size for cell in order for i, size in zip(cell, sizes, strict=True))


def test_every_beginning_of_the_order_is_even():
    sizes = [10, 1, 2, 11, 1, 1]
    order = np.array(_search.spread_order(sizes))
    for n in range(1, len(order)):
        for axis, size in enumerate(sizes):
            visits = np.bincount(order[:n, axis], minlength=size)
            assert np.ptp(visits) <= 2, (n, axis)
    # As soon as can be, each value was visited, and each pair of values.
    assert len(set(order[:11, 3])) == 11
    assert len(set(map(tuple, order[:110, [0, 3]]))) == 110


# Interruption


class Interrupting:
    """A scorer that is interrupted from the keyboard in its n-th call."""

    def __init__(self, n):
        self.left = n

    def __call__(self, model, X, y):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return r2_score(y, model.predict(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_keeps_the_best_so_far(fitted, data, n_jobs):
    scorer = Interrupting(3 * STEP * 4)
    model = FALLRegressorCV(GRID, scoring=scorer, n_jobs=n_jobs, random_state=0).fit(*data)
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    assert STEP <= model.n_configurations_ == np.count_nonzero(scored) < SIZE
    assert_allclose(
        model.best_score_, fitted.cv_results_["mean_test_score"][scored].max(), rtol=1e-9
    )
    assert set(model.cv_results_["reason"][~scored]) == {_search.STOPPED}
    assert model.predict(data[0]).shape == (90,)


def test_an_interrupt_before_the_first_score_is_an_interrupt(data):
    with pytest.raises(KeyboardInterrupt):
        FALLRegressorCV(GRID, scoring=Interrupting(1), random_state=0).fit(*data)


SIGNALLED = """
import sys
import numpy as np
from locallinear import FALLRegressorCV
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
model = FALLRegressorCV("paper", random_state=0, verbose=1, n_jobs=int(sys.argv[1]))
model.fit(X, X[:, 0] ** 2)
print(model.n_configurations_, model.predict(X).shape)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals between processes")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_control_c_ends_the_search_and_keeps_the_best(n_jobs):
    command = [sys.executable, "-c", SIGNALLED, str(n_jobs)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        # The bar says that there are scores to keep.
        seen = ""
        while "best score" not in seen:
            seen += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    n, shape = out.split(maxsplit=1)
    assert 0 < int(n) < 1_078_000
    assert shape.strip() == "(300,)"


# Missing scores


def test_more_neighbours_than_a_split_has_are_missing_with_a_reason(data):
    grid = {"n_neighbors": [5, 60, 61, 1000], "weights": ["uniform", "distance"]}
    model = FALLRegressorCV(grid, random_state=0).fit(*data)
    n_neighbors, reason = (model.cv_results_[c] for c in ("param_n_neighbors", "reason"))
    missing = np.isnan(model.cv_results_["mean_test_score"])
    assert_array_equal(missing, n_neighbors > 60)
    assert model.n_configurations_ == 4
    assert set(reason[n_neighbors == 61]) == {
        "n_neighbors=61 is more than the 60 training samples of a split"
    }
    assert (reason[~missing] == "").all()


def test_samples_without_weight_are_none(data):
    weight = np.repeat([1.0, 0.0], [60, 30])
    model = FALLRegressorCV({"n_neighbors": [5, 40]}, cv=[(np.arange(90), np.arange(60))])
    model.fit(*data, sample_weight=weight)
    assert model.n_configurations_ == 2
    model.set_params(grid={"n_neighbors": [5, 61]}).fit(*data, sample_weight=weight)
    assert "n_neighbors=61 is more than the 60 training" in model.cv_results_["reason"][1]


def test_a_part_without_any_weight_is_refused(data):
    weight = np.repeat([0.0, 1.0], [30, 60])
    with pytest.raises(ValueError, match="sample_weight is zero for all samples of a part"):
        FALLRegressorCV(GRID).fit(*data, sample_weight=weight)


def test_a_grid_without_a_possible_configuration_is_refused_with_the_reason(data):
    with pytest.raises(ValueError, match=r"no configuration.*n_neighbors=70 is more than the 60"):
        FALLRegressorCV({"n_neighbors": [70, 80]}, random_state=0).fit(*data)


def test_a_scorer_that_fails_leaves_scores_missing_as_in_grid_search(data):
    X, y = data

    def fails_on_few_neighbours(model, X, y):
        if model.predict(X).std() > 0.9 * y.std():
            raise ArithmeticError("too high")
        return r2_score(y, model.predict(X))

    grid = {"n_neighbors": [1, 5, 40], "alpha": [1e-3, 1e3]}
    search = FALLRegressorCV(grid, scoring=fails_on_few_neighbours, random_state=0).fit(X, y)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3, scoring=fails_on_few_neighbours)
    quiet_loop(loop, X, y)
    theirs = loop.cv_results_["mean_test_score"]
    missing = np.isnan(theirs)
    assert 0 < np.count_nonzero(missing) < len(missing)
    assert_allclose(search.cv_results_["mean_test_score"], theirs, rtol=1e-9)
    assert set(search.cv_results_["reason"][missing]) == {
        "scoring failed with ArithmeticError: too high"
    }
    assert search.best_params_ == loop.best_params_


def test_a_scorer_that_always_fails_is_named(data):
    def broken(model, X, y):
        raise TypeError("nothing to see")

    with pytest.raises(ValueError, match=r"scoring failed with TypeError: nothing to see"):
        FALLRegressorCV({}, scoring=broken).fit(*data)


def test_a_weight_function_that_fails_leaves_scores_missing_as_in_grid_search(data):
    def infinite(distances):
        return np.full(distances.shape, np.inf)

    grid = {"weights": [infinite, "uniform"], "n_neighbors": [2, 5]}
    search = FALLRegressorCV(grid, random_state=0).fit(*data)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3)
    quiet_loop(loop, *data)
    theirs = loop.cv_results_["mean_test_score"]
    assert np.count_nonzero(np.isnan(theirs)) == 2
    assert_allclose(search.cv_results_["mean_test_score"], theirs, rtol=1e-9)
    (reason,) = set(search.cv_results_["reason"][np.isnan(theirs)])
    assert reason.startswith("weights failed with ValueError: weights must return finite numbers")


def test_a_weight_function_may_write_into_the_distances(data):
    def overwrites(distances):
        distances += 1.0
        return 1.0 / distances

    grid = {"weights": [overwrites, "distance"], "n_neighbors": [2, 3, 5]}
    search = FALLRegressorCV(grid, random_state=0).fit(*data)
    loop = GridSearchCV(FALLRegressor(random_state=0), grid, cv=3).fit(*data)
    theirs = loop.cv_results_["mean_test_score"]
    assert_allclose(search.cv_results_["mean_test_score"], theirs, rtol=1e-9)


def test_an_infinite_score_is_missing_and_never_the_best(data):
    X, y = data

    def infinite_for_few_neighbours(model, X, y):
        return np.inf if model.predict(X).std() > 0.9 * y.std() else r2_score(y, model.predict(X))

    grid = {"n_neighbors": [1, 40], "alpha": [1e-3]}
    search = FALLRegressorCV(grid, scoring=infinite_for_few_neighbours, random_state=0).fit(X, y)
    assert search.n_configurations_ == 1
    assert search.best_params_["n_neighbors"] == 40
    assert search.cv_results_["reason"].tolist() == ["the score is not a finite number", ""]


def test_r2_of_single_samples_is_refused_with_the_reason(data):
    X, y = data
    with pytest.raises(ValueError, match="R² needs at least two test samples"):
        FALLRegressorCV({}, cv=LeaveOneOut()).fit(X[:20], y[:20])
    model = FALLRegressorCV({}, cv=LeaveOneOut(), scoring="neg_mean_squared_error")
    assert model.fit(X[:20], y[:20]).n_splits_ == 20


# Bad grids


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"n_neighbours": [1]}, r"\['n_neighbours'\].*only these.*'n_neighbors'"),
        ({"random_state": [0, 1]}, r"\['random_state'\]"),
        ({"n_jobs": [1]}, r"\['n_jobs'\]"),
        ({"alpha": []}, r"grid\['alpha'\] is empty"),
        ({"weights": "uniform"}, r"grid\['weights'\] must be a list.*'uniform'"),
        ({"alpha": 1.0}, r"grid\['alpha'\] must be a list.*1\.0"),
        ({"alpha": [1.0, -1.0]}, r"grid\['alpha'\].*-1\.0"),
        ({"alpha": [0]}, r"grid\['alpha'\]"),
        ({"n_neighbors": [5, 2.5]}, r"grid\['n_neighbors'\].*2\.5"),
        ({"n_anchors": [0]}, r"grid\['n_anchors'\]"),
        ({"scaling": ["minmax"]}, r"grid\['scaling'\].*minmax"),
        ({"anchor_l1_ratio": [1.5]}, r"grid\['anchor_l1_ratio'\].*1\.5"),
        ({"anchor_alpha": [np.nan]}, r"grid\['anchor_alpha'\].*nan"),
        ({"anchor_alpha": [1.0, np.inf]}, r"grid\['anchor_alpha'\].*inf"),
        ({"anchor_selection": np.zeros((4, 3))}, r"grid\['anchor_selection'\].*put it in a list"),
        ({"anchor_models": np.zeros((4, 4, 1))}, r"grid\['anchor_models'\].*put it in a list"),
        ({"anchor_models": [np.zeros((4, 3, 1))]}, "anchor_models must have shape"),
        ({1: [2]}, r"\[1\]"),
        ({"alpha": {1.0: 2}}, r"grid\['alpha'\] must be a list"),
        ("everything", "grid"),
        ([{"alpha": [1]}], "grid"),
        (None, "grid"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [FALLRegressorCV, FALLClassifierCV])
def test_a_bad_grid_is_refused_by_name(data, kind, grid, words):
    X, y = data
    with pytest.raises(ValueError, match=words):
        kind(grid).fit(X, y > 0)


@pytest.mark.parametrize(
    "options",
    [{"time_budget": 0}, {"time_budget": -1}, {"scoring": "best"}, {"cv": 1}, {"n_jobs": 0}],
    ids=str,
)
def test_bad_options_are_refused(data, options):
    with pytest.raises(ValueError, match=r"time_budget|scoring|cv|n_jobs|number of folds|n_splits"):
        FALLRegressorCV(GRID, **options).fit(*data)


# The result does not depend on how the work is cut


def test_results_do_not_depend_on_n_jobs(fitted, data):
    for n_jobs in (2, 5, -1):
        same_results(fitted, FALLRegressorCV(GRID, n_jobs=n_jobs, random_state=0).fit(*data))


def test_results_do_not_depend_on_chunks(fitted, data, monkeypatch):
    with sklearn.config_context(working_memory=1e-3):
        other = FALLRegressorCV(GRID, random_state=0).fit(*data)
    same_results(fitted, other, rtol=1e-10)
    monkeypatch.setattr(_chunks, "CACHE_BYTES", 2000)
    monkeypatch.setattr(_search, "CACHE_BYTES", 2000)
    monkeypatch.setattr(_folds, "BLOCK_BYTES", 2000)
    same_results(fitted, FALLRegressorCV(GRID, random_state=0).fit(*data), rtol=1e-10)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_results_of_a_classifier_do_not_depend_on_how_the_work_is_cut(monkeypatch, scoring):
    X, y = load_iris(return_X_y=True)
    grid = {"n_neighbors": [2, 9], "assignment_neighbors": [1, 4], "alpha": [1, 10]}
    weight = np.random.default_rng(0).random(len(X))
    search = FALLClassifierCV(grid, scoring=scoring, random_state=0)
    whole = search.fit(X, y, weight)
    same_results(whole, clone(search).set_params(n_jobs=2).fit(X, y, weight))
    monkeypatch.setattr(_search, "CACHE_BYTES", 2000)
    monkeypatch.setattr(_folds, "BLOCK_BYTES", 2000)
    same_results(whole, clone(search).fit(X, y, weight), rtol=1e-10)


def test_two_searches_with_the_same_seed_are_the_same(fitted, data):
    same_results(fitted, FALLRegressorCV(GRID, random_state=0).fit(*data))
    a, b = (
        FALLRegressorCV(GRID, random_state=np.random.RandomState(3)).fit(*data) for _ in range(2)
    )
    same_results(a, b)
    assert isinstance(a.best_estimator_.random_state, int)


def test_without_a_seed_all_configurations_have_the_same_anchors(data):
    model = FALLRegressorCV({"alpha": [1.0, 1.0, 1.0]}).fit(*data)
    assert len(set(model.cv_results_["mean_test_score"])) == 1
    # The seed that was drawn is kept, so that the best can be made again.
    assert_array_equal(
        clone(model.best_estimator_).fit(*data).predict(data[0]), model.predict(data[0])
    )


# Among other tools


CHECK = """
import json, sys, warnings
import locallinear
from sklearn.utils.estimator_checks import check_estimator
warnings.simplefilter("error")
estimator = getattr(locallinear, sys.argv[1])()
results = check_estimator(estimator, on_fail=None, on_skip=None)
print(json.dumps([[r["check_name"], r["status"], repr(r["exception"])] for r in results]))
"""


@pytest.mark.parametrize("name", ["FALLRegressorCV", "FALLClassifierCV"])
def test_scikit_learns_checks_all_pass_and_none_is_skipped(name):
    # In a process of its own, since scipy reads the variable when it is imported; without it
    # scikit-learn skips its array API checks.
    done = subprocess.run(
        [sys.executable, "-c", CHECK, name],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert len(results) > 50
    assert [r for r in results if r[1] != "passed"] == []


SMALL = {"n_neighbors": [3, 6], "n_anchors": [5], "anchor_alpha": [0.01, 1.0]}


def test_it_nests_in_cross_validation(data):
    search = FALLRegressorCV(SMALL, random_state=0)
    scores = cross_val_score(search, *data, cv=3, error_score="raise")
    assert scores.mean() > 0.6
    groups = np.arange(90) // 3
    search.set_params(cv=sklearn.model_selection.GroupKFold(2))
    scores = cross_val_score(search, *data, cv=3, params={"groups": groups}, error_score="raise")
    assert scores.mean() > 0.6


def test_it_works_in_a_pipeline(data):
    pipeline = make_pipeline(StandardScaler(), FALLRegressorCV(SMALL, random_state=0))
    assert pipeline.fit(*data).score(*data) > 0.8
    pipeline.set_params(fallregressorcv__cv=4)
    assert pipeline.fit(*data)[-1].n_splits_ == 4


def test_it_works_under_conformal_intervals(data):
    X, y = data
    conformal = SplitConformalRegressor(
        FALLRegressorCV(SMALL, random_state=0), confidence_level=0.8, prefit=False
    )
    conformal.fit(X[:60], y[:60]).conformalize(X[60:], y[60:])
    points, intervals = conformal.predict_interval(X)
    assert ((intervals[:, 0, 0] <= points) & (points <= intervals[:, 1, 0])).all()


def test_a_grid_search_over_the_search(data):
    outer = GridSearchCV(FALLRegressorCV(random_state=0), {"grid": [SMALL, {}]}, cv=2)
    assert outer.fit(*data).best_params_["grid"] in (SMALL, {})


def test_probabilities_of_the_best_are_those_of_the_search():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = FALLClassifierCV(SMALL, random_state=0).fit(X, names)
    assert_array_equal(model.classes_, np.unique(names))
    best = FALLClassifier(**model.best_params_, random_state=0).fit(X, names)
    assert_array_equal(model.predict_proba(X), best.predict_proba(X))
    assert_array_equal(model.predict(X), best.predict(X))
    assert model.explain(X[:2]).target_names == list(model.classes_)
    assert_allclose(
        cross_val_predict(model, X, names, method="predict_proba", cv=2).sum(axis=1), 1.0
    )


def test_clones_and_pickles(fitted, data):
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict(data[0]), fitted.predict(data[0]))
    same_results(copy, fitted)
    fresh = clone(fitted)
    assert not hasattr(fresh, "best_params_")
    assert fresh.get_params() == fitted.get_params()
    assert fresh.grid == GRID


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_the_results_of_arrays_and_their_names(fitted, data, library):
    X, y = data
    columns = dict(zip("abc", X.T, strict=True))
    table = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    model = FALLRegressorCV(GRID, random_state=0).fit(table, y)
    same_results(model, fitted)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert_allclose(model.predict(table), fitted.predict(X), rtol=1e-12)
    assert model.explain(table[:2]).feature_names == ["a", "b", "c"]


def test_a_name_is_not_enough_to_predict_before_fitting():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        FALLRegressorCV().predict([[0.0]])


# What is shown


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_says_how_many_how_good_and_how_long(data, capfd, monkeypatch, with_tqdm):
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model = FALLRegressorCV(GRID, verbose=1, random_state=0).fit(*data)
    out, err = capfd.readouterr()
    assert out == ""
    last = re.split(r"[\r\n]+", err.strip())[-1]
    n = f"{SIZE}(/|.*of ){SIZE}"
    assert re.search(f"{n} configurations, best score {model.best_score_:.4g}, took .* s", last)
    assert err.endswith("\n")


def test_progress_shows_the_time_left(capfd, monkeypatch, ticking):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    progress = _progress.Progress(1000, np.inf, verbose=1)
    progress.advance(10, -3.5)
    assert "10 of 1,000 configurations, best score -3.5, 1:39 min left" in capfd.readouterr().err
    progress = _progress.Progress(1000, 12.0, verbose=1)
    progress.advance(10, -3.5)
    assert re.search(r"best score -3\.5, \d s left", capfd.readouterr().err)


def test_silence_is_the_default(data, capfd):
    FALLRegressorCV(SMALL, random_state=0).fit(*data)
    assert capfd.readouterr() == ("", "")


def test_a_search_shows_and_saves_its_best_estimator(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    search = FALLRegressorCV({"n_neighbors": [5, 10]}, random_state=0).fit(X, y)
    assert_array_equal(search.labels_, search.best_estimator_.labels_)
    assert_array_equal(search.local_models([3]), search.best_estimator_.local_models([3]))
    search.save(tmp_path / "model")
    assert_array_equal(locallinear.load(tmp_path / "model").predict(X), search.predict(X))
