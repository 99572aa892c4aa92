"""The choice of a classifier: finalists by accuracy, and the best of them by probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from locallinear import FALLClassifierCV, TableClassifier
from locallinear.grids import CLASSES, DEFAULT, SIMPLE
from locallinear.models.calibration import calibration_of
from locallinear.runtime.interrupts import InterruptedWarning
from locallinear.search import estimators
from locallinear.search.finalists import Finalists, finalists
from locallinear.search.grids import GRIDS, is_for_classes, named_grid

# A part of the library's values, so that the search is short.
PART = {name: values[:1] for name, values in CLASSES.items()} | {
    "alpha": [1e-1, 1e4],
    "n_anchor_neighbors": [40, 1000],
    "n_neighbors": [5, 20],
    "neighborhood": ["euclidean"],
}
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def samples(n=150):
    return make_classification(n, 5, n_clusters_per_class=1, flip_y=0.2, random_state=1)


def fitted(grid=PART, **options):
    return FALLClassifierCV(grid, cv=FOLDS, random_state=0, **options).fit(*samples())


def made_up(mean, alpha, near, std=0.0):
    mean = np.array(mean)
    return {
        "mean_test_score": mean,
        "std_test_score": np.full(len(mean), std),
        "rank_test_score": (mean[:, None] < mean).sum(axis=1) + 1,
        "param_alpha": np.array(alpha),
        "param_n_anchor_neighbors": np.array(near),
    }


def loss_out_of_fold(search, row):
    """The log loss of a row's calibrated probabilities, by a loop of fit and predict."""
    X, y = samples()
    params = {name: search.cv_results_[f"param_{name}"][row] for name in PART}
    scores = np.empty((len(y), 2))
    for train, test in FOLDS.split(X, y):
        model = clone(search.best_estimator_).set_params(**params).fit(X[train], y[train])
        scores[test] = model.predict_scores(X[test])
    model.calibration_ = calibration_of(scores, np.eye(2)[y], None)
    return log_loss(y, model.probabilities_of(scores))


def test_the_best_is_the_finalist_whose_probabilities_lose_the_least_out_of_fold():
    search = fitted()
    rows = finalists(search.cv_results_, 3, 150)
    losses = [loss_out_of_fold(search, row) for row in rows]
    assert len(rows) > 1
    assert search.best_index_ == rows[int(np.argmin(losses))]
    assert search.best_score_ == search.cv_results_["mean_test_score"][search.best_index_]
    for name, value in search.best_params_.items():
        assert getattr(search.best_estimator_, name) == value


def test_a_finalist_is_the_most_accurate_of_its_stiffness_and_the_first_of_all_is_the_best():
    results = made_up([0.90, 0.97, 0.96, 0.95, 0.97], [1, 1, 9, 9, 1], [40, 40, 40, 40, 80], 0.1)
    assert finalists(results, 3, 100) == [1, 4, 2]


def test_finalists_are_within_one_standard_error_of_the_best():
    results = made_up([0.96, 0.92, 0.95], [1, 2, 3], [40, 40, 40])
    # Equal splits still leave the error of a share: sqrt(0.96 * 0.04 / 100) is 0.0196.
    assert finalists(results, 3, 100) == [0, 2]
    assert finalists(results, 3, 10_000) == [0]
    apart = results | {"std_test_score": np.full(3, 0.08)}
    assert finalists(apart, 3, 10_000) == [0, 2, 1]


def test_configurations_without_a_score_are_no_finalists():
    results = made_up([0.9, -np.inf], [1, 2], [40, 40], 0.1)
    results["mean_test_score"][1] = np.nan
    assert finalists(results, 3, 10) == [0]


@pytest.mark.parametrize("options", [{"scoring": "accuracy"}, {"prefer": "simple"}])
def test_a_scoring_or_preference_that_a_user_names_decides_alone(options):
    search = fitted(**options)
    mean = search.cv_results_["mean_test_score"]
    if "scoring" in options:
        assert search.best_index_ == mean.argmax()
    assert search._finalists is None


def test_the_best_score_decides_alone_in_a_grid_of_the_users_own():
    search = fitted(PART | {"n_neighbors": [5, 21]})
    assert search.best_index_ == search.cv_results_["mean_test_score"].argmax()


def test_without_a_split_only_the_others_say_who_is_a_finalist_and_who_loses_least():
    search = fitted()
    results, losses = search.cv_results_, search._finalists.losses
    for split in range(3):
        others = [results[f"split{i}_test_score"] for i in range(3) if i != split]
        mean = np.mean(others, axis=0)
        part = results | {
            "mean_test_score": mean,
            "std_test_score": np.std(others, axis=0),
            "rank_test_score": -mean,
        }
        rows = finalists(part, 2, 100)
        row = min(rows, key=lambda row: np.delete(losses[row], split).sum())
        expected = {name: results[f"param_{name}"][row] for name in PART}
        assert search.params_without(split) == expected


def test_classes_without_a_law_are_judged_to_be_predicted_by_chance():
    right = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(90, 3)), rng.permutation(np.arange(90) % 2)
        model = TableClassifier(FALLClassifierCV(PART), random_state=seed).fit(X, y)
        right.append(np.mean(model.cv_prediction_.argmax(axis=1) == y))
    assert np.mean(right) < 0.5 + 2 * 0.5 / np.sqrt(8 * 90)


def test_an_interrupt_between_finalists_keeps_the_best_so_far(monkeypatch):
    calls = []

    def judge(self, row, *arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(row)
        judged(self, row, *arguments)

    judged = Finalists.judge
    monkeypatch.setattr(Finalists, "judge", judge)
    with pytest.warns(InterruptedWarning, match="the best of 1 configurations is kept, of"):
        search = fitted()
    assert search.best_index_ == calls[0]
    assert search.predict(samples()[0]).shape == (150,)


def test_tested_samples_count_as_often_as_their_weights_say(monkeypatch):
    found = []
    monkeypatch.setattr(
        estimators, "find_finalists", lambda results, sizes: found.append(sizes) or Finalists([[0]])
    )
    X, y = samples()
    weights = np.arange(150) % 3 + 0.5
    FALLClassifierCV(PART, cv=FOLDS, random_state=0).fit(X, y, weights)
    assert_allclose(found, [[weights[test].sum() for _, test in FOLDS.split(X, y)]])


def test_a_weighted_accuracy_is_one_at_most():
    X, y = make_blobs(40, centers=2, cluster_std=0.1, random_state=0)
    for seed in range(10):
        weights = np.random.default_rng(seed).random(40)
        search = FALLClassifierCV(PART, cv=FOLDS, random_state=0).fit(X, y, weights)
        assert search.cv_results_["mean_test_score"].max() <= 1.0


def test_without_a_split_the_best_mean_score_of_the_others_decides():
    search = fitted(scoring="accuracy")
    results = search.cv_results_
    mean = (results["split0_test_score"] + results["split2_test_score"]) / 2
    expected = {name: results[f"param_{name}"][mean.argmax()] for name in PART}
    assert search.params_without(1) == expected


def test_the_default_grid_depends_on_targets_and_preference():
    assert named_grid("default", prefer="accurate", classify=False) == DEFAULT
    assert named_grid("default", prefer="accurate", classify=True) == CLASSES
    assert named_grid("default", prefer="simple", classify=True) == SIMPLE
    for name in set(GRIDS) - {"default"}:
        assert named_grid(name, prefer="simple", classify=True) == GRIDS[name]


def test_a_part_of_the_grid_for_classes_is_still_the_librarys():
    assert is_for_classes(CLASSES | {"indicators": [(0,)]})
    assert is_for_classes(PART)
    assert not is_for_classes(CLASSES | {"alpha": [0.5]})
    assert not is_for_classes({"alpha": CLASSES["alpha"]})


def test_a_table_gives_a_search_of_classes_the_same_choice():
    X, y = samples()
    model = TableClassifier(FALLClassifierCV(PART, random_state=0), random_state=0).fit(X, y)
    folds = [
        (np.flatnonzero(model.folds_ != k), np.flatnonzero(model.folds_ == k)) for k in (0, 1, 2)
    ]
    alone = FALLClassifierCV(PART, cv=folds, random_state=0).fit(model.encode(X), y)
    assert model.best_params_ == alone.best_params_


@pytest.mark.parametrize("weights", [None, np.arange(150) % 20 + 1.0])
@pytest.mark.parametrize("n_near", [120, 1000])
def test_scores_are_those_of_a_loop_where_neighbourhoods_hold_all_samples(weights, n_near):
    X, y = samples()
    grid = PART | {"n_anchors": [1, 30], "n_anchor_neighbors": [n_near]}
    search = FALLClassifierCV(grid, cv=FOLDS, scoring="accuracy", random_state=0)
    results = search.fit(X, y, weights).cv_results_
    for row, score in enumerate(results["mean_test_score"]):
        params = {name: results[f"param_{name}"][row] for name in grid}
        loop = []
        for train, test in FOLDS.split(X, y):
            some = [None, None] if weights is None else [weights[train], weights[test]]
            model = (
                clone(search.best_estimator_).set_params(**params).fit(X[train], y[train], some[0])
            )
            loop.append(model.score(X[test], y[test], some[1]))
        assert_allclose(score, np.mean(loop))
