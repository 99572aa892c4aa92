"""Scores on Dask are the scores of the local model, or one sentence that names the partition."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
from locallinear import dask as on_dask  # noqa: E402

N = 30
X = np.random.default_rng(0).normal(size=(N, 2))
y = np.sin(X[:, 0]) + X[:, 1]
LABELS = np.where(y > 0, "high", "low")
WEIGHTS = np.arange(N) % 3.0
GRID = {"n_anchors": [2, 3]}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(values, chunks=10):
    values = np.asanyarray(values)
    return da.from_array(values, chunks=(chunks, *values.shape[1:]), asarray=False)


def unknown(values):
    """Partitions of ten rows whose sizes Dask does not know."""
    parts = cut(values).to_delayed().ravel()
    shape = (np.nan, *values.shape[1:])
    return da.concatenate([da.from_delayed(p, shape, dtype=values.dtype) for p in parts])


def framed(values):
    names = ["size", "age"] if values.ndim == 2 and values.shape[1] == 2 else ["price"]
    frame = pd.DataFrame(values, columns=names)
    return dd.from_pandas(frame if values.ndim == 2 else frame["price"], npartitions=3)


MODELS = {
    "regressor": (on_dask.FALLRegressor(3, random_state=0), y),
    "regressor search": (on_dask.FALLRegressorCV(GRID, random_state=0), y),
    "two targets": (on_dask.FALLRegressor(3, random_state=0), np.column_stack([y, X[:, 0]])),
    "classifier": (on_dask.FALLClassifier(3, random_state=0), LABELS),
    "classifier search": (on_dask.FALLClassifierCV(GRID, random_state=0), LABELS),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("make", [cut, unknown, framed])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_scores_equal_those_of_the_local_model(name, make, weights):
    model, targets = MODELS[name]
    model.fit(make(X), make(targets))
    Q, T = X + 0.3, targets[::-1]
    inputs = pd.DataFrame(Q, columns=["size", "age"]) if make is framed else Q
    expected = model.to_local().score(inputs, T, weights)
    given = None if weights is None else make(weights)
    assert model.score(make(Q), make(T), given) == pytest.approx(expected, rel=1e-9)


def test_a_column_of_targets_is_not_compared_with_every_prediction():
    model = MODELS["regressor"][0].fit(cut(X), cut(y))
    expected = model.to_local().score(X, y)
    for column in (cut(y[:, None]), unknown(y[:, None])):
        assert model.score(cut(X), column) == pytest.approx(expected)


def test_targets_of_a_large_mean_keep_their_score():
    far = y + 1e8
    model = on_dask.FALLRegressor(3, random_state=0).fit(cut(X), cut(far))
    assert model.score(cut(X), cut(far)) == pytest.approx(model.to_local().score(X, far), rel=1e-6)


def test_a_score_of_one_row_is_none_as_in_scikit_learn():
    model = MODELS["regressor"][0].fit(cut(X), cut(y))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(model.score(cut(X[:1]), cut(y[:1])))


def changed(values, value):
    return np.where(np.arange(N) == 24, value, values)


MASKED = np.ma.array(y, mask=np.arange(N) == 24)

REFUSED = {
    "another length": (lambda: (cut(X), cut(y[:-1])), "^y must have one entry per row of X, so 30"),
    "length 1": (lambda: (cut(X), cut(y[:1])), "^y must have one entry per row of X, so 30, but"),
    "empty": (lambda: (cut(X), cut(y[:0])), "^y must have one entry per row of X, so 30, but has"),
    "unknown length": (
        lambda: (unknown(X), unknown(y)[unknown(y) < y.max()]),
        r"^Partition \d, .* equally many rows, but have 10 and 9",
    ),
    "NaN": (lambda: (cut(X), cut(changed(y, np.nan))), "Partition 2, .* y .* sample 4 has none"),
    "masked": (lambda: (cut(X), cut(MASKED)), "Partition 2, .* y .* entry 4 is masked"),
    "two columns": (lambda: (cut(X), cut(X)), "^y must have the 1 targets of the fitted model"),
    "negative weight": (
        lambda: (cut(X), cut(y), cut(changed(WEIGHTS, -1))),
        "Partition 2, .* sample_weight must not be negative, but entry 4",
    ),
    "no weight": (lambda: (cut(X), cut(y), cut(0 * y)), "^sample_weight must be positive for at"),
    "weights of another length": (
        lambda: (cut(X), cut(y), cut(WEIGHTS[1:])),
        "^sample_weight must have one entry per row of X, so 30, but has 29",
    ),
    "other partitions": (
        lambda: (unknown(X), framed(y).repartition(npartitions=2)),
        "^y must have the partitions of X, which are 3, but has 2",
    ),
    "text": (lambda: (cut(X.astype(str).astype(object)), cut(y)), None),
    "words": (
        lambda: (cut(np.full(X.shape, "old")), cut(y)),
        r"Partition \d, .* text, such as 'old'",
    ),
    "not Dask": (lambda: (cut(X), y), "^y must be a Dask array or a Dask frame, but is a ndarray"),
    "delayed": (lambda: (cut(X), dask.delayed(3)), "^y must be a Dask array .* but is a Delayed"),
    "no rows": (lambda: (cut(X[:0]), cut(y[:0])), "^X must have at least one row"),
}


@pytest.mark.parametrize("name", ["regressor", "regressor search"])
@pytest.mark.parametrize(("given", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_fit_refuses_is_refused_by_the_score(name, given, sentence):
    model = MODELS[name][0].fit(cut(X), cut(y))
    if sentence is None:  # numbers in text are numbers, as for the local model
        assert model.score(*given()) == model.score(cut(X), cut(y))
        return
    with pytest.raises((TypeError, ValueError), match=sentence):
        model.score(*given())


@pytest.mark.parametrize("name", ["classifier", "classifier search"])
def test_classes_that_cannot_be_compared_are_refused_by_the_score(name):
    model = MODELS[name][0].fit(cut(X), cut(LABELS))
    for labels, sentence in [
        (changed(LABELS.astype(object), None), "Partition 2, .* y .* but sample 4 has none"),
        (
            np.zeros(N, int),
            r"Partition \d, .* y must hold labels of the kind .* text, but",
        ),
        (np.column_stack([LABELS, LABELS]), "^y must hold one label per sample, but has 2 columns"),
        (LABELS[1:], "^y must have one entry per row of X, so 30, but has 29"),
    ]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            model.score(cut(X), cut(labels))
