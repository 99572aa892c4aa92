"""KNN that is tuned in one search for neighbours per fold chooses what GridSearchCV chooses."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from locallinear.explain.tuned_knn import WEIGHTS, TunedKNN


def searched(X, y, counts, classify):
    """The same by scikit-learn, whose default score R² is not defined where a fold has one row."""
    search = GridSearchCV(
        KNeighborsClassifier() if classify else KNeighborsRegressor(),
        {"n_neighbors": counts, "weights": list(WEIGHTS)},
        cv=KFold(min(3, len(X)), shuffle=True, random_state=0),
        scoring="accuracy" if classify else "neg_mean_squared_error",
    )
    return search.fit(X, y)


@pytest.mark.parametrize("targets", ["one", "two", "numbers of classes", "names of classes"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_and_the_predictions_are_those_of_a_grid_search(targets, seed):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(60, 2)), rng.normal(size=(30, 2))
    Y = np.sin((1 + seed) * X) + 0.3 * rng.normal(size=X.shape)
    X[:6], Y[:6] = X[6:12], Y[6:12]  # at the same place, where either may come first
    y = {
        "one": Y[:, 0],
        "two": Y,
        "numbers of classes": np.digitize(Y[:, 0], [-0.5, 0.5]),
        "names of classes": np.where(Y[:, 0] > 0, "up", "down"),
    }[targets]
    counts, classify = [1, 3, 5, 10], "classes" in targets
    ours, theirs = TunedKNN(counts, classify).fit(X, y), searched(X, y, counts, classify)
    assert {name: getattr(ours.best_, name) for name in theirs.best_params_} == theirs.best_params_
    assert_array_equal(ours.predict(Q), theirs.predict(Q))


@pytest.mark.parametrize("classify", [False, True])
def test_two_rows_are_enough(classify):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    assert_array_equal(TunedKNN([1], classify).fit(X, y).predict(X), y)
