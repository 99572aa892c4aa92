"""Interrupts from the keyboard stay interrupts, and end what they should end."""

import signal
import sys
import threading
import warnings

import numpy as np
import pytest

from locallinear import FALLEnsembleRegressor, FALLRegressorCV
from locallinear.explain.judging import judge
from locallinear.runtime.interrupts import InterruptedWarning, interruptible, interrupts_end_it


def test_an_interrupt_that_compiled_code_hides_is_an_interrupt():
    hidden, of_caller = SystemError("returned a result with an exception set"), SystemError("too")
    hidden.__cause__, of_caller.__cause__ = KeyboardInterrupt(), hidden
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise of_caller


def test_other_errors_of_the_interpreter_stay_what_they_are():
    with pytest.raises(SystemError, match="bad call"), interruptible():
        raise SystemError("bad call")


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to a thread")
def test_an_interrupt_while_a_tree_grows_is_an_interrupt():
    from locallinear.kernels.trees.piecewise import grow_tree

    rng = np.random.default_rng(0)
    n, d, n_nodes = 60_000, 4, 511
    columns = np.column_stack([np.ones(n), rng.normal(size=(n, d))])
    given = rng.integers(0, 256, size=(n, d)).astype(np.float32), columns, np.ones(n)
    orders = rng.permuted(np.tile(np.arange(d), (n_nodes, 1)), axis=1)
    chance = orders, rng.random((n_nodes, 4))
    grow_tree(*(array[:100] for array in given), 4, 2, 8, 1.0, *chance)  # compiles
    main = threading.main_thread().ident
    caught = 0
    for _ in range(3):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        killer = threading.Timer(0.005, signal.pthread_kill, (main, signal.SIGINT))
        try:
            killer.start()
            with interruptible():
                grow_tree(*given, 4, 2, 8, 1.0, *chance)
                killer.join()
        except KeyboardInterrupt:
            caught += 1
        finally:
            signal.signal(signal.SIGINT, before)
    assert caught == 3


def test_a_fit_whose_best_so_far_is_no_result_ends():
    with pytest.raises(KeyboardInterrupt), interrupts_end_it():
        warnings.warn("kept the best", InterruptedWarning, stacklevel=1)


def interrupted_after(n_scores):
    """A scorer that is interrupted from the keyboard in its n-th call."""
    left = iter(range(n_scores))

    def score(model, X, y):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return -float(np.mean((model.predict(X) - y) ** 2))

    return score


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    return X, X.sum(axis=1)


def test_judging_does_not_go_on_after_an_interrupt(samples):
    X, y = samples
    grid = {"n_neighbors": [2, 3, 5], "n_anchor_neighbors": [5, 10, 20]}
    models = {"FALL": FALLRegressorCV(grid, scoring=interrupted_after(12), random_state=0)}
    with pytest.raises(KeyboardInterrupt):
        judge(models, X, y, [(np.arange(40), np.arange(40, 60))], classify=False)


def test_an_ensemble_whose_search_is_interrupted_is_one_member_of_the_best_kind(samples):
    class Search(FALLRegressorCV):
        def run_search(self, *given):
            self.scoring = interrupted_after(24)  # of which the first cell needs 18, in 6 folds
            return super().run_search(*given)

    class Ensemble(FALLEnsembleRegressor):
        _search_class = Search

    grid = {"n_neighbors": [2, 3, 5], "n_anchor_neighbors": [5, 10, 20]}
    model = Ensemble(5, search=grid, random_state=0)
    with pytest.warns(InterruptedWarning, match="search was interrupted"):
        model.fit(*samples)
    assert len(model.estimators_) == 1
    best = {name: getattr(model.estimators_[0], name) for name in grid}
    assert best == model.best_params_
