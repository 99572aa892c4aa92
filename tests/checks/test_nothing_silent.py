"""What numpy would take without a word is refused by name; raw errors become sentences."""

from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    LocalizedLassoRegressor,
    NetworkLassoRegressor,
)

N = 40
X = np.random.default_rng(0).normal(size=(N, 3))
y = X[:, 0]
LABELS = (y > 0).astype(int)
GRID = {"n_neighbors": [2]}
DATES = pd.date_range("2020-01-01", periods=N)
HUGE = 10**400
THIRD = np.arange(N) == 2

REGRESSORS = {
    "single": lambda: FALLRegressor(5, random_state=0),
    "search": lambda: FALLRegressorCV(GRID, random_state=0),
    "ensemble": lambda: FALLEnsembleRegressor(2, search=None, random_state=0),
    "network": NetworkLassoRegressor,
    "localized": LocalizedLassoRegressor,
}
CLASSIFIERS = {
    "single": lambda: FALLClassifier(5, random_state=0),
    "search": lambda: FALLClassifierCV(GRID, random_state=0),
    "ensemble": lambda: FALLEnsembleClassifier(2, search=None, random_state=0),
}


def with_third(values, value, dtype=object):
    """The values with another third one."""
    changed = np.array(values, dtype=dtype)
    changed[2] = value
    return changed


TARGETS = {
    "masked": (np.ma.array(y, mask=THIRD), "y must have a value in every place, but entry 2 is"),
    "masked pair": (np.ma.array(X[:, :2], mask=np.c_[THIRD, THIRD]), r"entry \(2, 0\) is masked"),
    "NaT": (with_third(y, pd.NaT), "y must have a number for every sample, but sample 2"),
    "NA": (pd.Series(with_third(y, pd.NA), dtype="Float64"), "but sample 2 has none"),
    "None in a list": (list(with_third(y, None)), "but sample 2 has none"),
    "huge": (with_third(range(N), HUGE), "y must hold finite numbers, but sample 2 has inf"),
    "dates": (DATES.to_numpy(), "y must hold numbers, but holds times, such as 2020-01-01"),
    "dates of pandas": (pd.Series(DATES), "y must hold numbers, but holds times"),
    "durations": ((DATES - DATES[0]).to_numpy(), "y must hold numbers, but holds times"),
    "dates in a list": (list(DATES.to_numpy()), "y must hold numbers, but holds times, such as 20"),
    "durations in a list": (list((DATES - DATES[0]).to_numpy()), "holds times, such as 0"),
    "days in a list": ([datetime(2020, 1, 1)] * N, "holds times, such as 2020-01-01"),
    "one date": (with_third(y, DATES[0]), "y must hold numbers, but holds times, such as 2020"),
    "date of a frame": (pd.DataFrame({"a": y, "b": DATES}), "holds times, such as 2020"),
    "months": (pd.Series(pd.period_range("2020", periods=N)), r"entry 0 is Period.*of type Period"),
    "text of a gap": (np.array(["nan", *y[1:].astype(str)]), "sample 0 has none"),
    "bytes of a gap": (np.array(["nan", *y[1:].astype(str)]).astype("S"), "sample 0 has none"),
    "text of an infinity": (
        ["inf", *y[1:].astype(str)],
        "y must hold finite numbers, but sample 0",
    ),
    "masked rows in a list": (
        [np.ma.array([v, v], mask=[i == 3, False]) for i, v in enumerate(y)],
        r"entry \(3, 0\) is masked",
    ),
    "records": (np.zeros(N, dtype=[("a", float)]), "entry 0 is .* of type void"),
    "complex": (y + 1j, "Complex data not supported: y must hold real numbers, but holds"),
    "one complex": (with_third(y, 1j), "Complex data not supported: y must hold real numbers"),
    "Decimal": (with_third(y, Decimal("sNaN")), "but sample 2 has none"),
    "a list": (with_third(y, {}), "y must hold numbers, but entry 2 is {}, of type dict"),
    "uneven": ([[1.0, 2.0]] * (N - 1) + [[1.0]], "y must have rows of one length.* of 1 and of 2"),
    "generator": ((v for v in y), "y must be an array, a list or a frame, but is a generator"),
    "dict": (dict.fromkeys(range(N), 1.0), "y must be an array, a list or a frame, but is a dict"),
    "set": (set(y), "y must be an array, a list or a frame, but is a set"),
    "NA alone": (pd.NA, "y must be an array, a list or a frame, but is a NAType"),
    "two of a name": (
        pd.DataFrame(X[:, :2], columns=["a", "a"]),
        "y must name each column once, but has two columns 'a'; rename one",
    ),
}


@pytest.mark.parametrize("estimator", REGRESSORS)
@pytest.mark.parametrize(("targets", "words"), TARGETS.values(), ids=TARGETS)
def test_targets_without_a_number_are_refused(estimator, targets, words):
    with pytest.raises(ValueError, match=words):
        REGRESSORS[estimator]().fit(X, targets)


@pytest.mark.parametrize("estimator", ["single", "ensemble"])
@pytest.mark.parametrize(("targets", "words"), TARGETS.values(), ids=TARGETS)
def test_later_targets_without_a_number_are_refused(estimator, targets, words):
    several = getattr(targets, "ndim", 1) == 2
    fitted = REGRESSORS[estimator]().fit(X, X[:, :2] if several else y)
    for model in (REGRESSORS[estimator](), fitted):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, targets)


CLASSES = {
    "masked": np.ma.array(LABELS, mask=THIRD),
    "masked text": np.ma.array(LABELS.astype(str), mask=THIRD),
    "None": with_third(LABELS, None),
    "NaT": with_third(LABELS, pd.NaT),
    "NA": with_third(LABELS, pd.NA),
    "NaN beside text": [*"ab", np.nan, *"ab" * 18, "a"],
    "missing category": pd.Categorical([*"ab", None, *"ab" * 18, "a"]),
    "missing date": pd.Series([*DATES[:2], pd.NaT, *list(DATES[:2]) * 18, DATES[0]]),
    "NaN": with_third(LABELS, np.nan, float),
}


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("labels", CLASSES.values(), ids=CLASSES)
def test_samples_without_a_class_are_refused(estimator, labels):
    words = r"y must have a (class for every sample, but sample 2|value in every .* entry 2)"
    with pytest.raises(ValueError, match=words):
        CLASSIFIERS[estimator]().fit(X, labels)


NO_LABELS = {
    "uneven": ([[1, [2, 3]], *[[1, 2]] * (N - 1)], "y must have rows of one length, but has sing"),
    "records": (np.zeros(N, [("a", int)]), "y must hold one label per sample, .* records of a; pa"),
    "two of a name": (pd.DataFrame(X[:, :2], columns=["a", "a"]), "y must name each column once"),
}


@pytest.mark.parametrize("estimator", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize(("labels", "words"), NO_LABELS.values(), ids=NO_LABELS)
def test_what_is_no_label_per_sample_is_refused(estimator, labels, words):
    with pytest.raises((ValueError, TypeError), match=words):
        estimator().fit(X, labels)


INPUTS = {
    "masked": (np.ma.array(X, mask=np.c_[THIRD, THIRD, THIRD]), r"X must .* entry \(2, 0\) is mas"),
    "dates": (np.c_[[DATES.to_numpy()] * 3].T, "X must hold numbers, but holds times, such as 2"),
    "dates of objects": (
        np.array([[datetime(2020, 1, 1), 1.0, 2.0]] * N, dtype=object),
        "column 0 holds times, such as 2020",
    ),
    "dates of a frame": (
        pd.DataFrame({"a": y, "b": DATES, "c": y}),
        "column 'b' holds times, such as 2020.*days since the first date",
    ),
    "months": (
        pd.DataFrame({"a": y, "b": pd.period_range("2020", periods=N), "c": y}),
        r"column 'b' has Period\('2020-01-01', 'D'\) in sample 0, of type Period",
    ),
    "NaT": (with_third(X, pd.NaT), "X must have no gaps, but column 0 has one .* sample 2"),
    "huge": (with_third(np.zeros((N, 3)), HUGE), "column 0 has inf in sample 2"),
    "dates in lists": ([[v] * 3 for v in DATES.to_numpy()], "column 0 holds times, such as 2020"),
    "durations in lists": ([[np.timedelta64(1, "D")] * 3] * N, "column 0 holds times, such as 1"),
    "masked rows in a list": (
        [np.ma.array(row, mask=[False, i == 2, False]) for i, row in enumerate(X)],
        r"X must .* entry \(2, 1\) is masked",
    ),
    "records": (np.zeros((N, 3), dtype=[("a", float)]), r"X must hold numbers.* of type void"),
    "complex": (X + 1j, "Complex data not supported: X must hold real numbers"),
    "lists": (with_third(X, [[1]]), r"column 0 has \[1\] in sample 2, of type list"),
    "uneven": ([[1.0, 2.0, 3.0]] * (N - 1) + [[1.0]], "X must have rows of one length"),
    "two of a name": (
        pd.DataFrame(X, columns=["a", "b", "b"]),
        "X must name each column once, but has two columns 'b'; rename one",
    ),
    "generator": ((row for row in X), "X must be an array, a list or a frame, but is a generator"),
    "dict": ({"a": y}, "X must be an array, a list or a frame, but is a dict"),
    "NA alone": (pd.NA, "X must be an array, a list or a frame, but is a NAType"),
}


@pytest.mark.parametrize(("inputs", "words"), INPUTS.values(), ids=INPUTS)
def test_inputs_that_are_no_numbers_are_refused(inputs, words):
    for make in REGRESSORS.values():
        with pytest.raises((ValueError, TypeError), match=words):
            make().fit(inputs, y)
    model = REGRESSORS["single"]().fit(X, y)
    if isinstance(inputs, pd.DataFrame) and inputs.columns.is_unique:
        inputs, words = inputs.to_numpy(), words.replace("'b'", "1")
    for call in (model.predict, model.explain, lambda Q: model.partial_fit(Q, y)):
        with pytest.raises((ValueError, TypeError), match=words):
            call(inputs)


def test_a_masked_array_without_a_masked_entry_is_an_array():
    model = REGRESSORS["single"]().fit(np.ma.array(X), np.ma.array(y), np.ma.array(np.ones(N)))
    assert_allclose(model.predict(X), REGRESSORS["single"]().fit(X, y, np.ones(N)).predict(X))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ma.array(np.ones(N), mask=THIRD), "sample_weight must .* entry 2 is masked"),
        (DATES.to_numpy(), "sample_weight must hold numbers, but holds times"),
        (with_third(np.ones(N), None), "sample_weight must have a number .* sample 2 has none"),
        (with_third(np.ones(N), pd.NA), "sample_weight must have a number .* sample 2 has none"),
        (with_third(np.ones(N), HUGE), "sample_weight must hold finite numbers"),
        (list(DATES.to_numpy()), "sample_weight must hold numbers, but holds times"),
        (list((DATES - DATES[0]).to_numpy()), "sample_weight must hold numbers, but holds times"),
        (np.ones(N, complex), "Complex data not supported: sample_weight must hold real"),
        ((1.0 for _ in y), "sample_weight must be an array, a list or a frame, but is a generator"),
        (
            with_third(np.ones(N), 1e300, float),
            r"0 or from 1e-140 to 1e\+140, .* entry 2 is 1e\+300",
        ),
        (
            np.full((N, 2), pd.NA),
            r"sample_weight must hold finite .* entry \(0, 0\) is nan",
        ),
        (np.full((N, 2), Decimal("sNaN")), "sample_weight must hold finite numbers, but entry"),
        (
            pd.DataFrame(np.ones((N, 2)), columns=["a", "a"]),
            r"sample_w.* has shape \(40, 2\)",
        ),
        (pd.NA, "sample_weight must be an array, a list or a frame, but is a NAType"),
        (np.full(N, 1e-320), r"sample_weight must be 0 or from 1e-140 to 1e\+140, .* entry 0 is 1"),
    ],
)
def test_sample_weights_that_are_no_numbers_are_refused(weights, words):
    for name in ("single", "search", "ensemble"):
        with pytest.raises(ValueError, match=words):
            REGRESSORS[name]().fit(X, y, sample_weight=weights)
    model = REGRESSORS["single"]().fit(X, y, np.ones(N))
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X, y, weights)


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned", "forest", "boosted", "piecewise"])
def test_weights_of_any_size_that_is_taken_give_a_finite_model(neighborhood):
    for weights in (with_third(np.ones(N), 1e140, float), np.where(THIRD, 1.0, 1e-140)):
        model = FALLRegressor(5, neighborhood=neighborhood, n_neighbors=1, random_state=0)
        model.fit(X, y, weights).partial_fit(X, y, weights)
        explanation = model.explain(X)
        for found in (explanation.baseline, explanation.coef, explanation.prediction):
            assert np.isfinite(found).all()


@pytest.mark.parametrize("estimator", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_text_of_any_length_names_classes(estimator):
    labels = np.where(y > 0, "high", "low")
    texts = labels.astype(np.dtypes.StringDType())
    assert list(estimator().fit(X, texts).predict(X)) == list(estimator().fit(X, labels).predict(X))


@pytest.mark.parametrize("estimator", ["single", "ensemble"])
@pytest.mark.parametrize(
    ("labels", "classes", "words"),
    [
        (LABELS, [0, 1, np.nan], "classes must be a list of all classes, .* without gaps"),
        (LABELS.astype(str), ["0", "1", None], "classes must be a list of all classes"),
        (LABELS.astype(str), ["0", "1", np.nan], "classes must be a list of all classes"),
        (LABELS, np.ma.array([0, 1, 2], mask=[0, 0, 1]), "classes must .* entry 2 is masked"),
        (LABELS, [], "classes must be a list of all classes, at least one"),
        (LABELS, [[0, 1]], "classes must be a list of all classes"),
        (LABELS, [0], "classes must name every class, but y has 1, which is not among"),
        (LABELS, [{}, 0, 1], "classes must hold labels of one kind.* dict and int"),
    ],
)
def test_classes_that_are_none_are_refused(estimator, labels, classes, words):
    fitted = CLASSIFIERS[estimator]().fit(X, labels)
    for model in (CLASSIFIERS[estimator](), fitted):
        words = words if model is not fitted else words.split(", but y has")[0].split(" name")[0]
        with pytest.raises((ValueError, TypeError), match=words):
            model.partial_fit(X, labels, classes=classes)


@pytest.mark.parametrize(
    "indices",
    [
        [2**64 - 1],
        np.array([2**64 - 1], np.uint64),
        [2**70],
        [np.timedelta64(3, "D")],
        [[1], [2, 3]],
    ],
)
def test_numbers_of_no_sample_are_refused(indices):
    model = REGRESSORS["single"]().fit(X, y)
    for call in (model.forget, model.local_models, model.explain_samples):
        with pytest.raises(ValueError, match="indices must"):
            call(indices)
    assert model.n_samples_fit_ == N


@pytest.mark.parametrize(
    "levels",
    [
        np.ma.array([0.5], mask=[True]),
        [HUGE],
        "a",
        [],
        [[0.5]],
        [0.5, [0.5]],
        sparse.csr_array([[0.5]]),
        [np.nan],
        None,
        [1j],
        pd.NA,
        [0.5, pd.NA],
    ],
)
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(ValueError, match="quantiles"):
        REGRESSORS["single"]().fit(X, y).predict_quantiles(X, levels)


@pytest.mark.parametrize("coverage", [HUGE, -HUGE, np.nan, "0.9", None, [0.9], 1j, True, 0])
def test_coverages_that_are_none_are_refused(coverage):
    with pytest.raises(ValueError, match="coverage must be above 0 and below 1"):
        REGRESSORS["single"]().fit(X, y).predict_interval(X, coverage)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NaT, pd.NA])
@pytest.mark.parametrize("name", ["search", "ensemble"])
def test_samples_without_a_group_are_refused(name, nothing):
    model = REGRESSORS[name]()
    if name == "ensemble":
        model.set_params(search=GRID)
    with pytest.raises(ValueError, match="groups must have a group for every sample, but sample 2"):
        model.fit(X, y, groups=with_third(np.arange(N) % 4, nothing))
    with pytest.raises(ValueError, match="groups must have a value in every place, but entry 2"):
        model.fit(X, y, groups=np.ma.array(np.arange(N) % 4, mask=THIRD))
    with pytest.raises(ValueError, match="groups must have one entry per training sample"):
        model.fit(X, y, groups=[1, 2])


def test_groups_without_an_order_are_refused():
    with pytest.raises(TypeError, match=r"groups must hold labels of one kind.* but holds dict"):
        REGRESSORS["search"]().fit(X, y, groups=[{}] * N)
    with pytest.raises(ValueError, match="groups must have rows of one length"):
        REGRESSORS["search"]().fit(X, y, groups=[[1]] * (N - 1) + [[1, 2]])


@pytest.mark.parametrize("features", [[[0], [1, 2]], [np.timedelta64(1, "D")], [2**64 - 1], ["a"]])
@pytest.mark.parametrize("name", ["indicators", "neighborhood_features"])
def test_numbers_of_no_feature_are_refused(name, features):
    with pytest.raises(ValueError, match=f"{name} must"):
        FALLRegressor(5, **{name: features}).fit(X, y)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: FALLRegressorCV(GRID, cv=np.array(3.0)),
            r"cv must be .* but is array\(3.\)",
        ),
        (lambda: FALLRegressor(alpha=HUGE), "The 'alpha' parameter"),
        (lambda: FALLRegressor(anchor_alpha=HUGE), "The 'anchor_alpha' parameter"),
        (lambda: FALLRegressor(anchor_selection=[[HUGE] * 3]), "anchor_selection must hold finite"),
        (lambda: FALLRegressor(anchor_models=[[[HUGE]] * 4]), "anchor_models must hold finite"),
        (lambda: FALLRegressorCV(GRID, time_budget=HUGE), "The 'time_budget' parameter"),
        (lambda: FALLRegressorCV(GRID, cv=[]), "cv must give at least one split, but gives none"),
        (lambda: FALLRegressorCV(GRID, cv=iter([])), "cv must give at least one split"),
        (lambda: FALLRegressorCV(GRID, cv=[([], [])]), r"at least one of each, but one part is \["),
        (lambda: FALLRegressorCV(GRID, cv=[(0, 1)]), "at least one of each, but one part is 0"),
        (lambda: FALLRegressorCV(GRID, cv=[([0, 1], [99])]), "from 0 to 39.* but one is 99"),
        (lambda: FALLRegressorCV(GRID, cv=[([0.5], [1])]), "must be whole numbers"),
        (
            lambda: FALLRegressorCV(GRID, cv=(i for i in (3, 4))),
            "cv must give pairs .* but gives 3",
        ),
        (lambda: FALLRegressorCV(GRID, cv=[([[0]], [[1], [2, 3]])]), "cv must"),
        (lambda: FALLRegressor(n_jobs=0), "The 'n_jobs' parameter"),
        (lambda: FALLRegressor(n_jobs=2**31 - 1), "The 'n_jobs' parameter"),
        (lambda: FALLEnsembleRegressor(2, n_jobs=0), "The 'n_jobs' parameter"),
        (lambda: NetworkLassoRegressor(HUGE), "The 'alpha' parameter"),
        (lambda: NetworkLassoRegressor(tol=HUGE), "The 'tol' parameter"),
        (lambda: LocalizedLassoRegressor(exclusive_alpha=HUGE), "The 'exclusive_alpha' parameter"),
    ],
)
def test_parameters_beyond_all_measure_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make().fit(X, y)


def test_a_mask_makes_a_split_too():
    test = np.arange(N) % 4 == 0
    masks = FALLRegressorCV(GRID, cv=[(~test, test)], random_state=0).fit(X, y)
    rows = [(np.flatnonzero(~test), np.flatnonzero(test))]
    assert masks.best_score_ == FALLRegressorCV(GRID, cv=rows, random_state=0).fit(X, y).best_score_


@pytest.mark.parametrize("rows", [HUGE, [HUGE], None, "a", [0.5], [3], [-4], slice(2)])
def test_queries_of_an_explanation_that_do_not_exist_are_refused(rows):
    explanation = FALLRegressor(5).fit(X, y).explain(X[:3])
    with pytest.raises(ValueError, match="indices must"):
        explanation.take(rows)


@pytest.mark.parametrize("scale", [1e-110, 1e-139])
@pytest.mark.parametrize("target_scale", [1e110, 1e139])
def test_an_explanation_is_finite_wherever_the_prediction_is(scale, target_scale):
    model = FALLRegressor(5, alpha=1e-300, fit_intercept=False, scaling=None, random_state=0)
    model.fit(X * scale, y * target_scale)
    explanation = model.explain(X * scale * 1.3)
    assert_allclose(explanation.prediction, model.predict(X * scale * 1.3), rtol=1e-9)
    assert np.isfinite(model.local_models()).all()


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        *((FALLRegressor, name) for name in ("n_neighbors", "n_anchors", "n_anchor_neighbors")),
        *((FALLRegressor, name) for name in ("alpha", "anchor_alpha", "anchor_l1_ratio", "n_jobs")),
        *(
            (FALLEnsembleRegressor, name)
            for name in ("n_estimators", "max_features", "time_budget")
        ),
        *((FALLEnsembleRegressor, name) for name in ("n_neighborhoods", "max_samples")),
        *((FALLRegressorCV, name) for name in ("time_budget", "n_jobs", "max_samples")),
        *((NetworkLassoRegressor, name) for name in ("alpha", "n_neighbors", "max_iter", "tol")),
        (LocalizedLassoRegressor, "exclusive_alpha"),
    ],
)
def test_true_is_no_number_of_anything(estimator, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter .* Got True"):
        estimator(**{name: True}).fit(np.eye(9), np.arange(9.0))


def test_threads_that_cannot_be_are_refused_after_the_fit_as_well():
    model = FALLRegressor(5).fit(X, y).set_params(n_jobs=0)
    with pytest.raises(ValueError, match="The 'n_jobs' parameter"):
        model.predict(X)


@pytest.mark.parametrize("seed", [-1, "x", 2**40])
def test_seeds_that_are_none_are_refused(seed):
    explanation = FALLRegressor(5).fit(X, y).explain(X[:1])
    with pytest.raises(ValueError, match="The 'random_state' parameter of shapley must be"):
        explanation.shapley(random_state=seed)
    with pytest.raises(ValueError, match="n_permutations must be a whole number"):
        explanation.shapley(n_permutations=True)


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
@pytest.mark.parametrize("method", ["predict", "explain", "predict_interval", "novelty"])
def test_a_query_whose_distance_has_no_square_is_refused(scaling, method):
    model = FALLRegressor(5, scaling=scaling, random_state=0).fit(X * 1e-30, y)
    with pytest.raises(ValueError, match=r"X must be within 1e\+140 times the spread of the samp"):
        getattr(model, method)(np.full((1, X.shape[1]), 1e139))
