"""Ensembles with little time: budgets, interrupts, and what is shown meanwhile."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLEnsembleRegressor, FALLRegressor
from locallinear.runtime.budgets import Budget
from problems import KINDS, few


def test_the_shortest_time_gives_an_ensemble_of_one_member(make_samples):
    X, y, Q = make_samples
    model = FALLEnsembleRegressor(search=KINDS, time_budget=1e-3, random_state=0).fit(X, y)
    assert len(model.estimators_) == 1
    assert sum(kind["n_members"] for kind in model.kinds_) == 1
    assert_allclose(model.predict(Q), model.estimators_[0].predict(Q))


def test_much_time_gives_what_no_budget_gives(make_samples, searched):
    X, y, Q = make_samples
    model = FALLEnsembleRegressor(6, search=KINDS, time_budget=1e6, random_state=0).fit(X, y)
    assert_allclose(model.predict(Q), searched.predict(Q))


def test_control_c_keeps_the_members_fitted_so_far(make_samples, monkeypatch):
    X, y, Q = make_samples
    fit, calls = FALLRegressor.fit_together, []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(self, *given)

    monkeypatch.setattr(FALLRegressor, "fit_together", interrupted)
    with pytest.warns(UserWarning, match="interrupted; the ensemble has 2 of 5 members"):
        model = few(5).fit(X, y)
    assert len(model.estimators_) == 2
    assert np.isfinite(model.predict(Q)).all()


def test_control_c_before_the_first_member_ends_the_fit(make_samples, monkeypatch):
    X, y, _ = make_samples

    def interrupted(self, *given):
        raise KeyboardInterrupt

    monkeypatch.setattr(FALLRegressor, "fit_together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        few(5).fit(X, y)


def test_verbose_shows_how_many_members_are_fitted(make_samples, capsys):
    X, y, _ = make_samples
    few(3, verbose=1).fit(X, y)
    assert "3 of 3 members" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "n_members"), [(0.0, 12), (5.0, 12), (10.0, 4), (33.0, 4), (40.0, 2), (200.0, 1)]
)
def test_how_many_members_there_are_follows_from_the_time_of_one_group(seconds, n_members):
    model = FALLEnsembleRegressor(12, n_neighborhoods=4)
    assert model._n_members(Budget(100.0), seconds) == n_members
    assert model._n_members(Budget(None), seconds) == 12
    assert model._n_members(Budget(0.0), seconds) == 1


@pytest.mark.parametrize(
    ("seconds", "judging", "kept"), [(0, 0, 40), (2, 0, 8), (2, 1, 16), (20, 0, 40), (50, 0.5, 75)]
)
def test_members_get_a_part_of_the_budget_but_at_least_one_group(seconds, judging, kept):
    model = FALLEnsembleRegressor(12, n_neighborhoods=4)
    assert model._members_seconds(Budget(100.0, judging), seconds) == kept
