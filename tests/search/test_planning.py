"""Plans of searches within a time budget: the last fit is kept back, and each kind is tried."""

import types

import numpy as np
import pytest
from sklearn.model_selection import KFold

from locallinear import FALLClassifierCV, FALLRegressor, FALLRegressorCV
from locallinear.models import pilot as _pilot
from locallinear.models.pilot import GROWTH, Pilot, pilot_size, run_pilot
from locallinear.runtime import budgets as _budgets
from locallinear.runtime.budgets import Budget, Schedule
from locallinear.search import planning as _planning
from locallinear.search import search as _search
from locallinear.search.planning import FEWEST, affordable_samples
from locallinear.search.splits import Folds, may_thin, thinned

KINDS = ["euclidean", "learned", "forest", "boosted", "piecewise"]
SMALL = {"n_anchors": [3], "n_anchor_neighbors": [5, 10, 20], "n_neighbors": [3, 5]}


class Clock:
    """A clock that a test sets; `step` seconds pass whenever it is read."""

    now, step = 0.0, 0.0

    def monotonic(self):
        """The time."""
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of budgets, plans and searches."""
    made = Clock()
    for module in (_budgets, _planning, _search):
        monkeypatch.setattr(module, "time", types.SimpleNamespace(monotonic=made.monotonic))
    return made


@pytest.fixture
def costs(monkeypatch):
    """Seconds that pilots expect of each kind of neighbourhood; a test sets them."""
    given = {}

    def injected(estimator, X, y, weights, rows):
        return Pilot(len(rows), 0.01, given.get(estimator.neighborhood, 0.0))

    monkeypatch.setattr(_planning, "run_pilot", injected)
    monkeypatch.setattr(_planning, "FEWEST", 20)
    return given


@pytest.fixture(scope="module")
def many():
    """Samples that a plan is made for, where at least 20 choose parameters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X[:, 0] + rng.normal(size=120)


def tried(model, name):
    """The values of a parameter that have scores."""
    scored = np.isfinite(model.cv_results_["mean_test_score"])
    return set(model.cv_results_[f"param_{name}"][scored])


def test_a_pilot_on_all_samples_expects_what_it_took(many, monkeypatch):
    ticks = iter([0.0, 3.0])
    monkeypatch.setattr(_pilot, "time", types.SimpleNamespace(monotonic=lambda: next(ticks)))
    made = run_pilot(FALLRegressor(3), *many, None, np.arange(120))
    assert made == Pilot(120, 3.0, 3.0)


def test_a_pilot_adds_the_search_for_neighbours_among_all_samples(many, monkeypatch):
    # A fit of 30 samples takes 3 s, the neighbours of 30 among themselves 1 s, those of 120 8 s.
    ticks = iter([0.0, 3.0, 5.0, 6.0, 10.0, 18.0])
    monkeypatch.setattr(_pilot, "time", types.SimpleNamespace(monotonic=lambda: next(ticks)))
    made = run_pilot(FALLRegressor(3, assignment_neighbors=5), *many, None, np.arange(30))
    assert made.expected == pytest.approx((3 - 1) * 4**GROWTH + 8)


@pytest.mark.parametrize(("n", "size"), [(100, 100), (3000, 500), (15_000, 750), (10**6, 1000)])
def test_a_pilot_takes_few_samples(n, size):
    assert pilot_size(n) == size


def test_each_kind_is_tried_before_any_is_tried_twice(many):
    grid = SMALL | {"neighborhood": KINDS, "scaling": ["standard", "quantile"]}
    for K in ([5], [5, 10, 15, 20, 25, 30, 35, 40]):
        search = FALLRegressorCV(grid | {"n_anchor_neighbors": K}, cv=2)
        scored, _ = search.run_search(
            _planning.SearchSamples(*many, None, 0),
            list(KFold(2).split(many[0])),
            Budget(None),
            float,
            thin=False,
        )
        order = [cell["neighborhood"] for cell in scored.cells()]
        assert sorted(order[:5]) == [0, 1, 2, 3, 4]
        assert len(order) == 5 * 2 * len(K)


def test_the_search_ends_early_enough_for_the_last_fit(many, clock, costs):
    clock.step = 1.0
    numbers = []
    for seconds in (0.0, 60.0, 80.0):
        costs["euclidean"] = seconds
        model = FALLRegressorCV(SMALL | {"alpha": [0.1, 1.0]}, time_budget=100, random_state=0)
        started = clock.now
        model.fit(*many)
        assert clock.now - started < 100 - seconds + 10
        numbers.append(model.n_configurations_)
    assert numbers[0] == 12
    assert 12 > numbers[1] > numbers[2] > 0


def test_a_kind_that_could_not_be_fitted_in_time_is_not_tried(many, clock, costs):
    costs |= {"euclidean": 5.0, "learned": 5.0, "forest": 50.0}
    grid = SMALL | {"neighborhood": ["forest", "euclidean", "learned"]}
    model = FALLRegressorCV(grid, time_budget=20, random_state=0).fit(*many)
    assert tried(model, "neighborhood") == {"euclidean", "learned"}
    left_out = model.cv_results_["param_neighborhood"] == "forest"
    assert set(model.cv_results_["reason"][left_out]) == {_search.NO_TIME}
    assert set(model.cv_results_["reason"][~left_out]) == {""}


def test_where_no_kind_can_be_fitted_in_time_the_quickest_is_tried(many, clock, costs):
    costs |= {"euclidean": 50.0, "learned": 40.0, "forest": 60.0}
    grid = SMALL | {"neighborhood": ["forest", "euclidean", "learned"]}
    clock.step = 0.01  # so that the search ends after its first score
    model = FALLRegressorCV(grid, time_budget=20, random_state=0).fit(*many)
    assert tried(model, "neighborhood") == {"learned"}


def test_kinds_without_time_are_tried_where_no_other_has_a_score(many, clock, costs, monkeypatch):
    costs |= {"forest": 50.0}
    asked = []
    # No cell gets a score.
    monkeypatch.setattr(_search.Search, "_score_cell", lambda self, cell: asked.append(cell))
    grid = {"neighborhood": ["forest", "euclidean", "learned"]}
    with pytest.raises(ValueError, match="not scored"):
        FALLRegressorCV(grid, time_budget=20, random_state=0).fit(*many)
    assert sorted(cell["neighborhood"] for cell in asked) == [0, 1, 2]
    assert asked[-1]["neighborhood"] == 0


def test_a_late_fit_is_said_with_the_place_where_fit_was_called(many, clock, costs):
    costs["euclidean"] = 50.0
    clock.step = 1.0
    with pytest.warns(_budgets.BudgetWarning, match="time_budget is 5 s") as warned:
        FALLRegressorCV(SMALL, time_budget=5, random_state=0).fit(*many)
    assert warned[0].filename == __file__


def test_the_samples_that_choose_are_as_many_as_a_round_of_all_kinds_has_time_for(clock):
    pilots = {kind: Pilot(500, 0.5, 10.0) for kind in KINDS}
    schedule = Schedule(70.0, dict.fromkeys(KINDS, 10.0))
    # Five kinds in three splits take 15 ms per sample, and half of 60 s is for them.
    assert affordable_samples(schedule, pilots, 3, workers=1) == 2000
    assert affordable_samples(schedule, pilots, 3, workers=2) == 4000
    assert affordable_samples(Schedule(5.0, schedule.expected), pilots, 3, 1) == FEWEST


def test_a_kind_that_leaves_little_time_does_not_make_the_samples_few(clock):
    pilots = {kind: Pilot(500, 0.5, 0.0) for kind in KINDS}
    schedule = Schedule(70.0, {"boosted": 65.0})
    assert affordable_samples(schedule, pilots, 3, workers=1) > 2000


@pytest.mark.parametrize("search", [FALLRegressorCV, FALLClassifierCV])
def test_a_short_budget_chooses_on_fewer_samples(search, many, clock, costs, monkeypatch):
    monkeypatch.setattr(_planning, "affordable_samples", lambda *given: 60)
    X, y = many
    y = y > 0 if search is FALLClassifierCV else y
    sizes = []
    learn_from = search._learn_from

    def noted(self, scored, y, weights, splits):
        sizes.append(sum(len(test) for _, test in splits))
        return learn_from(self, scored, y, weights, splits)

    monkeypatch.setattr(search, "_learn_from", noted)
    model = search(SMALL, time_budget=20, random_state=0).fit(X, y)
    assert 60 <= sizes[0] <= 62  # with a sample of each class
    assert model.best_estimator_.n_samples_fit_ == 120
    search(SMALL, time_budget=20, max_samples=None, random_state=0).fit(X, y)
    given = list(KFold(3).split(X))
    search(SMALL, cv=given, time_budget=20, random_state=0).fit(X, y)
    assert sizes[1:] == [120, 120]


def test_folds_that_are_drawn_with_the_same_seed_are_thinned_evenly():
    y = np.arange(300.0)
    folds = list(KFold(3, shuffle=True, random_state=0).split(y))
    parts = thinned(folds, y, 90, 0, classifier=False)
    assert {len(train) + len(test) for train, test in parts} == {90}
    assert min(len(test) for _, test in parts) > 15
    assert not set(parts[0][0]) & set(parts[0][1])
    assert thinned(folds, y, 300, 0, classifier=False) is folds


def test_splits_of_users_are_used_whole():
    rows = [(np.arange(5), np.arange(5, 9))]
    assert not may_thin(rows, 5000)
    assert not may_thin(3, None)
    assert may_thin(3, 5000)
    assert may_thin(Folds(rows), None)
