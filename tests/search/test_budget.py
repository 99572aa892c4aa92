"""Searches that end early, by a budget or from the keyboard, and what they print."""

import re
import signal
import subprocess
import sys
import types

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from locallinear import FALLRegressorCV
from locallinear.runtime import budgets as _budgets
from locallinear.runtime import progress as _progress
from locallinear.search import folds as _folds
from locallinear.search import grids as _grids
from locallinear.search import search as _search
from locallinear.search.spread import spread_order
from searches import GRID, SIZE, SMALL, STEP

# Time budget


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a second whenever it is read."""
    seconds = iter(range(10**9))
    clock = types.SimpleNamespace(monotonic=lambda: float(next(seconds)))
    for module in (_search, _progress, _budgets):
        monkeypatch.setattr(module, "time", clock)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_tiny_budget_still_scores_something(samples, n_jobs):
    model = FALLRegressorCV(GRID, time_budget=1e-9, n_jobs=n_jobs, random_state=0).fit(*samples)
    assert STEP <= model.n_configurations_ <= n_jobs * STEP
    assert model.predict(samples[0]).shape == (90,)


def test_the_time_is_looked_at_between_penalties_where_a_scorer_may_be_slow(samples):
    calls = []

    def slow(model, X, y):
        calls.append(1)
        return 0.0

    grid = GRID | {"anchor_alpha": [10.0**p for p in range(-4, 4)]}
    model = FALLRegressorCV(grid, cv=3, scoring=slow, time_budget=1e-9, random_state=0)
    model.fit(*samples)
    assert len(calls) == 3 * 2 * 3 * 2  # splits, n_anchors, n_neighbors, alpha


def test_scores_under_a_budget_are_those_without(fitted_search, samples, ticking):
    model = FALLRegressorCV(GRID, time_budget=60, random_state=0).fit(*samples)
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    assert STEP < model.n_configurations_ < SIZE
    assert np.count_nonzero(scored) == model.n_configurations_
    for name in ("mean_test_score", "split1_test_score"):
        whole, part = fitted_search.cv_results_[name], model.cv_results_[name]
        assert_array_equal(part[scored], whole[scored])
        assert np.isnan(part[~scored]).all()
    assert model.best_score_ == fitted_search.cv_results_["mean_test_score"][scored].max()
    assert (model.cv_results_["reason"][scored] == "").all()
    assert set(model.cv_results_["reason"][~scored]) == {_search.STOPPED}


def test_what_a_budget_allows_covers_the_grid(samples, ticking):
    grid = GRID | {"n_anchor_neighbors": [5, 8, 10, 15, 20], "scaling": [None, "standard"]}
    model = FALLRegressorCV(grid, time_budget=220, random_state=0).fit(*samples)
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    assert scored.mean() < 0.7
    for name, values in grid.items():
        seen = model.cv_results_[f"param_{name}"][scored]
        assert set(seen) == set(values), name


def test_no_split_is_begun_when_the_time_is_up(samples, ticking, monkeypatch):
    made = []

    class Noted(_folds.Fold):
        def __init__(self, *given):
            made.append(given)
            super().__init__(*given)

    monkeypatch.setattr(_folds, "Fold", Noted)
    grid = {"scaling": [None, "standard", "quantile"], "neighborhood": ["euclidean", "learned"]}
    with pytest.warns(_budgets.BudgetWarning, match="time_budget is 20 s"):
        model = FALLRegressorCV(grid, time_budget=20, random_state=0).fit(*samples)
    assert model.n_configurations_ == 1
    assert len(made) == 4  # the time was up after the first split of the second feature space


@pytest.mark.parametrize("sizes", [[1, 1], [7], [1, 10, 2, 11], [3, 1, 4, 5], [2] * 7, [9] * 4])
def test_the_order_of_cells_visits_each_once(sizes):
    order = spread_order(sizes)
    assert len(order) == len(set(order)) == np.prod(sizes)
    assert all(0 <= i < size for cell in order for i, size in zip(cell, sizes, strict=True))


def test_every_beginning_of_the_order_is_even():
    sizes = [10, 1, 2, 11, 1, 1]
    order = np.array(spread_order(sizes))
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
def test_an_interrupt_keeps_the_best_so_far(fitted_search, samples, n_jobs):
    scorer = Interrupting(3 * STEP * 4)
    model = FALLRegressorCV(GRID, scoring=scorer, n_jobs=n_jobs, random_state=0)
    with pytest.warns(UserWarning, match="interrupted; the best of") as warned:
        model.fit(*samples)
    assert warned[0].filename == __file__  # where fit was called
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    assert STEP <= model.n_configurations_ == np.count_nonzero(scored) < SIZE
    assert_allclose(
        model.best_score_, fitted_search.cv_results_["mean_test_score"][scored].max(), rtol=1e-9
    )
    assert set(model.cv_results_["reason"][~scored]) == {_search.STOPPED}
    assert model.predict(samples[0]).shape == (90,)


def test_an_interrupt_before_the_first_score_is_an_interrupt(samples):
    with pytest.raises(KeyboardInterrupt):
        FALLRegressorCV(GRID, scoring=Interrupting(1), random_state=0).fit(*samples)


SIGNALLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
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
            letter = process.stderr.read(1)
            assert letter, seen  # the process ended
            seen += letter
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    n, shape = out.split(maxsplit=1)
    assert 0 < int(n) < 1_078_000
    assert shape.strip() == "(300,)"


# What is shown


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_says_how_many_how_good_and_how_long(samples, capfd, monkeypatch, with_tqdm):
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model = FALLRegressorCV(GRID, verbose=1, random_state=0).fit(*samples)
    out, err = capfd.readouterr()
    assert out == ""
    last, edges = re.split(r"[\r\n]+", err.strip())[-2:]
    n = f"{SIZE}(/|.*of ){SIZE}"
    assert re.search(f"{n} configurations, best score {model.best_score_:.4g}, took .* s", last)
    assert edges == "Best at the edge of the grid: n_neighbors=2 is the smallest that was tried."


def test_progress_shows_the_time_left(capfd, monkeypatch, ticking):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    progress = _progress.Progress(1000, np.inf, verbose=1)
    progress.advance(10, -3.5)
    assert "10 of 1,000 configurations, best score -3.5, 1:39 min left" in capfd.readouterr().err
    progress = _progress.Progress(1000, 12.0, verbose=1)
    progress.advance(10, -3.5)
    assert re.search(r"best score -3\.5, \d s left", capfd.readouterr().err)


def test_silence_is_the_default(samples, capfd):
    FALLRegressorCV(SMALL, random_state=0).fit(*samples)
    assert capfd.readouterr() == ("", "")


def test_a_best_value_at_the_end_of_a_range_of_numbers_is_at_the_edge():
    grid = {
        "alpha": [10, 1, 100],
        "n_anchors": [5, 10, 20],
        "n_neighbors": [1, 5, 9],
        "anchor_alpha": [0.1, 1.0],
        "anchor_l1_ratio": [0.0, 0.5, 1.0],
        "weights": ["uniform", "distance"],
        "fit_intercept": [True, False],
    }
    best = {name: values[-1] for name, values in grid.items()}
    assert list(_grids.edges(grid, best)) == [
        "alpha=100 is the largest",
        "n_anchors=20 is the largest",
        "n_neighbors=9 is the largest",
    ]
    best |= {"alpha": 10, "n_anchors": 5, "n_neighbors": 1}
    assert list(_grids.edges(grid, best)) == ["n_anchors=5 is the smallest"]
