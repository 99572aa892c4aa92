"""Members share the samples: as these come and go, in files and in pickles."""

import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, KFold

import locallinear
from locallinear import FALLEnsembleRegressor, FALLRegressor
from problems import few


def test_updates_reach_every_member_and_all_share_one_copy(make_samples):
    X, y, Q = make_samples
    model = few(estimator=FALLRegressor(neighborhood="forest")).fit(X, y)
    expected = model.predict(Q)
    model.partial_fit(Q, np.full(len(Q), 9.0))
    assert model.n_samples_fit_ == len(X) + len(Q)
    held = [member.samples["Z"] for member in model.estimators_]
    assert all(np.shares_memory(held[0], other) for other in held[1:])
    assert (model.predict(Q) > expected + 2).all()
    model.forget(range(len(X), len(X) + len(Q)))
    assert_allclose(model.predict(Q), expected, rtol=1e-12)
    assert_array_equal(few().partial_fit(X, y).predict(Q), few().fit(X, y).predict(Q))


def test_samples_are_forgotten_by_all_members_or_by_none(make_samples):
    X, y, _ = make_samples
    model = few(2).fit(X, y)
    model.estimators_[1].n_neighbors = 20
    with pytest.raises(ValueError, match="n_neighbors=20"):
        model.forget(range(10, 150))
    assert {member.n_samples_fit_ for member in model.estimators_} == {150}


def test_an_update_that_fails_in_a_later_group_is_taken_back_in_all(make_samples, monkeypatch):
    X, y, Q = make_samples
    model = few(6, n_neighborhoods=3).fit(X, y)
    before = model.predict(Q)
    append, calls = FALLRegressor.appended, []

    def failing(self, *given):
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError
        return append(self, *given)

    monkeypatch.setattr(FALLRegressor, "appended", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(Q, np.zeros(len(Q)))
    assert {member.n_samples_fit_ for member in model.estimators_} == {len(X)}
    assert_array_equal(model.predict(Q), before)


# Files and pickles -----------------------------------------------------------------------------


def test_a_file_holds_the_samples_once(make_samples, searched, path):
    _, _, Q = make_samples
    searched.save(path)
    loaded = locallinear.load(path)
    assert_array_equal(loaded.predict(Q), searched.predict(Q))
    assert loaded.cv_score_ == searched.cv_score_
    assert loaded.best_params_ == searched.best_params_
    with zipfile.ZipFile(path) as archive:
        assert [name for name in archive.namelist() if name.endswith("-Z.npy")] == [
            "state-members-0-state-samples-Z.npy"
        ]


def test_members_with_and_without_learned_weights_hold_the_samples_once_each(make_samples, path):
    X, y, Q = make_samples
    grid = {"neighborhood": ["forest", "learned"], "scaling": ["quantile"]}
    step = y + 2 * (X[:, 2] > 0)  # trees are better at the step, distances at the rest
    model = FALLEnsembleRegressor(6, search=grid, random_state=0).fit(X, step)
    kinds = {member.neighborhood for member in model.estimators_}
    assert kinds == {"forest", "learned"}
    model.partial_fit(Q, np.zeros(len(Q))).forget([0])
    model.save(path)
    loaded, copied = locallinear.load(path), pickle.loads(pickle.dumps(model))
    for same in (model, loaded, copied):
        assert len({id(member.feature_space) for member in same.estimators_}) == 2
        for kind in kinds:
            held = [m.samples["Z"] for m in same.estimators_ if m.neighborhood == kind]
            assert all(np.shares_memory(held[0], other) for other in held[1:])
        assert_array_equal(same.predict(Q), model.predict(Q))
    why = model.explain(Q)
    assert_allclose(why.contributions, why.coef * why.ranks[:, :, None], rtol=1e-12)
    assert_allclose(why.contributions[:, :, 0].sum(axis=1) + why.intercept[:, 0], why.prediction)
    assert_allclose(why.prediction, model.predict(Q), rtol=1e-9)


@pytest.mark.parametrize("cv", [GroupKFold(3), KFold(2, shuffle=True, random_state=1), 3])
def test_a_file_keeps_the_splitter_and_what_chance_and_grid_were(make_samples, cv, path):
    X, y, Q = make_samples
    grid = {"n_neighbors": range(3, 5)}
    chance = np.random.RandomState(0)
    model = FALLEnsembleRegressor(2, search=grid, cv=cv, random_state=chance)
    model.fit(X, y, groups=np.arange(len(X)) % 50 if isinstance(cv, GroupKFold) else None)
    model.save(path)
    loaded = locallinear.load(path)
    assert_array_equal(loaded.predict(Q), model.predict(Q))
    assert repr(loaded.cv) == repr(cv)
    assert loaded.search == {"n_neighbors": [3, 4]}
    assert loaded.random_state.randint(1 << 30) == chance.randint(1 << 30)


def test_a_file_keeps_what_the_members_were_made_of(make_samples, path):
    X, y, Q = make_samples
    model = few(2, estimator=FALLRegressor(n_neighbors=3)).fit(X, y, np.ones(len(X)))
    model.save(path)
    loaded = locallinear.load(path)
    assert loaded.estimator.n_neighbors == 3
    assert_array_equal(loaded.predict(Q), model.predict(Q))


def test_members_that_do_not_fit_each_other_are_refused(make_samples):
    X, y, _ = make_samples
    model, other = few(2).fit(X, y), few(2).fit(X[:, :2], y)
    state = model.fitted_state()
    state["members"][1] = other.fitted_state()["members"][0]
    with pytest.raises(ValueError, match="its members do not fit each other"):
        few(2).restore(state)


def test_pickles_hold_the_samples_once(make_samples):
    X, y, _ = make_samples
    X = np.tile(X, (1, 40))
    sizes = {n: len(pickle.dumps(few(n, max_features=1.0).fit(X, y))) for n in (1, 5)}
    assert sizes[5] < 5 * sizes[1] - 3.9 * X.nbytes
    model = pickle.loads(pickle.dumps(few(3).fit(X, y)))
    held = [member.samples["Z"] for member in model.estimators_]
    assert all(np.shares_memory(held[0], other) for other in held[1:])


def test_pickles_hold_the_samples_once_after_updates_too(make_samples):
    X, y, Q = make_samples
    X, Q = np.tile(X, (1, 40)), np.tile(Q, (1, 40))
    models = {n: few(n, max_features=1.0).fit(X, y).partial_fit(Q, y[:30]) for n in (1, 5)}
    sizes = {n: len(pickle.dumps(model)) for n, model in models.items()}
    assert sizes[5] < 5 * sizes[1] - 3.9 * (X.nbytes + Q.nbytes)
    expected = models[5].partial_fit(Q[:3], y[:3]).predict(Q + 0.1)
    assert_array_equal(pickle.loads(pickle.dumps(models[5])).predict(Q + 0.1), expected)
