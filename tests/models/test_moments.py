"""Models that are read while they learn, and updates that are interrupted at any line.

More updates for the threads: LOCALLINEAR_UPDATES=3000 pytest tests/models/test_moments.py.
"""

import copy
import os
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

import locallinear
from locallinear import (
    FALLClassifier,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableClassifier,
    TableRegressor,
)
from locallinear.models.samples import Column

N_UPDATES = int(os.environ.get("LOCALLINEAR_UPDATES", "40"))
PACKAGE = Path(locallinear.__file__).parent
NEIGHBORHOODS = ["euclidean", "learned", "forest", "boosted", "piecewise"]


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, 1000 + 20 * np.sin(6 * X[:, 0]) * X[:, 1], rng.uniform(size=(7, 3))


def single(neighborhood):
    X, y, _ = problem()
    model = FALLRegressor(8, neighborhood=neighborhood, assignment_neighbors=3, random_state=0)
    return model.fit(X, y)


def ensemble(kind=FALLEnsembleRegressor):
    X, y, _ = problem()
    y = y if kind is FALLEnsembleRegressor else y > 1005
    return kind(4, n_neighborhoods=2, search=None, random_state=0).fit(X, y)


def classifier():
    X, y, _ = problem()
    return FALLClassifier(8, random_state=0).fit(X, y > 1005)


MAKERS = {name: lambda name=name: single(name) for name in NEIGHBORHOODS}
MAKERS |= {"ensemble": ensemble, "classifier": classifier}
MAKERS |= {"ensemble of classifiers": lambda: ensemble(FALLEnsembleClassifier)}


def table():
    X, y, _ = problem()
    return TableRegressor(FALLRegressor(8), target="log", random_state=0).fit(X, y)


MAKERS |= {"table": table}


def updates(model, number):
    """Updates that a model can go through, one after the other: each is a function of it."""
    rng = np.random.default_rng(1)
    classes = hasattr(model, "classes_")
    n = model.n_samples_fit_
    for _ in range(number):
        if n < 100 or rng.uniform() < 0.6:
            X = rng.uniform(size=(rng.integers(1, 30), 3))
            y = rng.uniform(900, 1100, size=len(X))
            n += len(X)
            given = X, y > 1000 if classes else y
            yield lambda model, given=given: model.partial_fit(*given)
        else:
            gone = rng.choice(n, rng.integers(1, 20), replace=False)
            n -= len(gone)
            yield lambda model, gone=gone: model.forget(gone)


def numbers_of(model, Q):
    return model.predict_proba(Q) if hasattr(model, "classes_") else model.predict(Q)


def answer(model, Q):
    """What belongs to one moment, as one row of numbers."""
    why = model.explain(Q)
    return np.hstack([why.prediction.ravel(), why.coef.ravel(), why.baseline, why.neighbors[:, 0]])


# --- Reading while others write ---------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_every_answer_is_that_of_one_moment_between_question_and_reply(name, tmp_path):
    model, Q = MAKERS[name](), problem()[2]
    alone = copy.deepcopy(model)
    states = [(numbers_of(alone, Q), answer(alone, Q))]
    steps = list(updates(model, N_UPDATES))
    for step in steps:
        step(alone)
        states.append((numbers_of(alone, Q), answer(alone, Q)))
    begun, done, wrong, n_answers = 0, 0, [], [0, 0, 0]

    def read(kind, ask, expected):
        try:
            while done < len(steps) and not wrong:
                first = done
                found = ask()
                possible = states[first : begun + 1]
                n_answers[kind] += 1
                if not any(np.array_equal(found, expected(state)) for state in possible):
                    wrong.append((name, kind, first, begun))
        except Exception as error:
            wrong.append(error)

    def saved():
        path = tmp_path / f"{threading.get_ident()}.model"
        model.save(path)
        return numbers_of(locallinear.load(path), Q)

    asked = [
        (0, lambda: numbers_of(model, Q), lambda state: state[0]),
        (1, lambda: answer(model, Q), lambda state: state[1]),
        (2, saved, lambda state: state[0]),
    ]
    readers = [threading.Thread(target=read, args=given) for given in asked]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        for step in steps:
            begun += 1
            step(model)
            done += 1
        done = len(steps)
        for reader in readers:
            reader.join()
    finally:
        sys.setswitchinterval(interval)
        done = len(steps)
    assert not wrong
    assert min(n_answers) > 0
    assert_array_equal(numbers_of(model, Q), states[-1][0])


def test_writers_take_turns():
    X, y, Q = problem()
    model = FALLRegressor(8, random_state=0).fit(X, y)
    new = np.random.default_rng(2).uniform(size=(4, 25, 3))

    def add(rows):
        for row in rows:
            model.partial_fit(row[None], [row.sum()])

    writers = [threading.Thread(target=add, args=(rows,)) for rows in new]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert model.n_samples_fit_ == len(X) + 100
    nearest = model.set_params(n_neighbors=1, alpha=1e-9).predict(new.reshape(-1, 3))
    assert_allclose(nearest, new.reshape(-1, 3).sum(axis=1), atol=1e-5)
    assert np.isfinite(model.predict(Q)).all()


UNFITTED = [FALLRegressor(8), FALLClassifier(8), TableRegressor(FALLRegressor(8))]
UNFITTED += [TableClassifier(FALLClassifier(8)), FALLEnsembleRegressor(2, search=None)]
UNFITTED += [FALLEnsembleClassifier(2, search=None)]


@pytest.mark.parametrize("unfitted", UNFITTED, ids=lambda model: type(model).__name__)
def test_the_first_partial_fits_of_several_threads_lose_no_sample(unfitted):
    model = clone(unfitted).set_params(random_state=0)
    rng, n_threads = np.random.default_rng(3), 3
    parts, together = rng.uniform(size=(n_threads, 40, 3)), threading.Barrier(n_threads)

    def add(X):
        together.wait()
        model.partial_fit(X, X[:, 0] > 0.5 if is_classifier(model) else X.sum(axis=1))

    writers = [threading.Thread(target=add, args=(X,)) for X in parts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert model.n_samples_fit_ == n_threads * 40


def test_intervals_and_explanations_belong_to_the_moment_of_the_question():
    X, y, Q = problem()
    model = FALLRegressor(8, random_state=0).fit(X, y)
    why, before = model.explain(Q), model.predict_interval(Q)
    expected = copy.deepcopy(why.model).explain(Q)
    model.partial_fit(Q + 1e-3, 1e4 + Q[:, 0]).forget(range(40))
    assert (np.abs(model.predict_interval(Q) - before) > 1).any()
    assert_allclose(why.model.predict(Q), why.prediction)
    assert_array_equal(why.coef_std, expected.coef_std)
    assert_array_equal(why.influence(0).samples, expected.influence(0).samples)


def test_a_search_answers_from_one_moment_of_its_best_estimator():
    X, y, Q = problem()
    search = FALLRegressorCV({"n_neighbors": [3, 5]}, random_state=0).fit(X, y)
    now = search.at_this_moment()
    before = search.predict(Q)
    search.best_estimator_.partial_fit(Q, np.zeros(len(Q)))
    assert_array_equal(now.predict(Q), before)
    assert (search.predict(Q) != before).any()


def test_a_moment_of_a_table_is_not_reached_by_later_rows():
    model, Q = table(), problem()[2]
    now, why = model.at_this_moment(), model.explain(Q)
    before = model.predict(Q)
    model.partial_fit(Q, 1100 + Q[:, 0]).forget([0])
    assert_array_equal(now.predict(Q), before)
    assert_array_equal(why.model.predict(Q), before)
    assert (model.predict(Q) != before).any()
    assert (now.n_samples_fit_, model.n_samples_fit_) == (150, 156)


def test_of_two_columns_made_from_one_only_the_first_is_in_its_memory():
    column = Column(np.arange(4.0)).append(np.array([4.0]))
    one, other = column.append(np.array([5.0])), column.append(np.array([-5.0]))
    assert np.may_share_memory(one.values, column.values)
    assert not np.may_share_memory(other.values, column.values)
    assert_array_equal(one.values, [0, 1, 2, 3, 4, 5])
    assert_array_equal(other.values, [0, 1, 2, 3, 4, -5])
    assert_array_equal(column.values, [0, 1, 2, 3, 4])


def test_copies_go_their_own_ways():
    X, y, Q = problem()
    model = FALLRegressor(8, random_state=0).fit(X, y).partial_fit(Q, Q[:, 0])
    before = model.predict(Q)
    copies = copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    for other in copies:
        other.partial_fit(Q, -1000 * np.ones(len(Q)))
        assert (other.predict(Q) != before).any()
    assert_array_equal(model.predict(Q), before)
    model.partial_fit(Q, 5000 * np.ones(len(Q)))
    for other in copies[1:]:
        assert_array_equal(other.predict(Q), copies[0].predict(Q))


# --- Interrupts -------------------------------------------------------------------------------


class Interrupt:
    """Raises KeyboardInterrupt at the n-th line of the package that runs within it; counts them.

    It leaves out the module of the lock: there an exception can be raised between the end of a
    `with` block and the release, where no signal ever is.
    """

    def __init__(self, n=None):
        self.n, self.lines = n, 0

    def __enter__(self):
        sys.settrace(self.call)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

    def call(self, frame, event, argument):
        file = Path(frame.f_code.co_filename)
        return self.line if PACKAGE in file.parents and file.name != "moments.py" else None

    def line(self, frame, event, argument):
        if event == "line":
            self.lines += 1
            if self.lines == self.n:
                raise KeyboardInterrupt
        return self.line


def known(model, Q):
    """All that tells whether two models are the same."""
    labels = getattr(model, "estimator_", model).labels_
    return [numbers_of(model, Q), answer(model, Q), labels, model.n_samples_fit_]


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def fit_again(model):
    X, y, _ = problem(90, seed=5)
    return model.fit(X, y > 1005 if hasattr(model, "classes_") else y)


def add(model):
    return next(updates(model, 1))(model)


def forget(model):
    return model.forget(range(0, model.n_samples_fit_, 5))


CASES = [
    (name, change)
    for name in ("euclidean", "forest", "ensemble", "table")
    for change in (add, forget)
]
CASES += [("euclidean", fit_again), ("classifier", fit_again)]


@pytest.mark.parametrize(
    ("name", "change"), CASES, ids=lambda case: getattr(case, "__name__", case)
)
def test_an_interrupted_change_leaves_the_model_as_before_or_as_after(name, change):
    model, Q = MAKERS[name](), problem()[2]
    other = copy.deepcopy(model)
    before = known(model, Q)
    with Interrupt() as whole:
        change(other)
    after = known(other, Q)
    assert not equal(before, after)
    rng = np.random.default_rng(0)
    for n in [*rng.integers(1, whole.lines + 1, 8).tolist(), whole.lines]:
        broken = copy.deepcopy(model)
        with pytest.raises(KeyboardInterrupt), Interrupt(n):
            change(broken)
        found = known(broken, Q)
        assert equal(found, before) or equal(found, after), n
        if equal(found, before):
            # Nobody holds the lock, and nothing of the first try is left.
            again = threading.Thread(target=change, args=(broken,))
            again.start()
            again.join(60)
            assert equal(known(broken, Q), after), n


def test_an_interrupted_save_leaves_the_old_file_or_the_new_one(path):
    X, y, Q = problem()
    model = FALLRegressor(8, random_state=0).fit(X, y)
    model.save(path)
    before = model.predict(Q)
    after = model.partial_fit(Q, Q[:, 0]).predict(Q)
    with Interrupt() as whole:
        model.save(path)
    rng = np.random.default_rng(0)
    for n in rng.integers(1, whole.lines + 1, 20).tolist():
        FALLRegressor(8, random_state=0).fit(X, y).save(path)
        with pytest.raises(KeyboardInterrupt), Interrupt(n):
            model.save(path)
        found = locallinear.load(path).predict(Q)
        assert np.array_equal(found, before) or np.array_equal(found, after), n
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
