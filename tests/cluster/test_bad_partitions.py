"""One clear sentence for what models on Dask cannot use, with the partition that it is in."""

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
import locallinear as ll  # noqa: E402
from locallinear import dask as on_dask  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def arrays():
    X = np.random.default_rng(0).normal(size=(30, 2))
    return X, X.sum(axis=1)


def model(**options):
    return on_dask.FALLRegressor(**{"n_anchors": 3, "random_state": 0} | options)


def cut(values):
    return da.from_array(values, chunks=(10, *values.shape[1:]))


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        (1, np.nan, "Partition 2, with rows counted from 0: X must have no gaps, but column 1 has"),
        (0, np.inf, "Partition 2, .* X must hold finite numbers, but column 0 has inf in sample 4"),
        (0, 1e200, "Partition 2, .* X must hold numbers of at most 1e[+]140 in size"),
    ],
)
def test_a_cell_that_cannot_be_used_is_named_with_its_partition(arrays, column, value, sentence):
    X, y = arrays
    X[24, column] = value
    with pytest.raises(ValueError, match=sentence):
        model().fit(cut(X), cut(y))


def test_a_target_that_is_missing_is_named_with_its_partition(arrays):
    X, y = arrays
    y[11] = np.nan
    with pytest.raises(ValueError, match=r"Partition 1, .* sample 1 has none"):
        model().fit(cut(X), cut(y))


def test_weights_below_zero_are_named_with_their_partition(arrays):
    X, y = arrays
    with pytest.raises(ValueError, match=r"Partition 2, .* sample_weight must not be negative"):
        model().fit(cut(X), cut(y), cut(np.where(np.arange(30) < 20, 1.0, -1.0)))


def frames(*parts):
    each = range(len(parts))
    return dd.from_map(parts.__getitem__, each, meta=parts[0], enforce_metadata=False)


@pytest.fixture
def frame(arrays):
    X, y = arrays
    return pd.DataFrame(X, columns=["size", "age"]).assign(price=y)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.rename(columns={"age": "year"}), "Partition 1, .*feature names"),
        (lambda f: f.assign(age="old"), "Partition 1, .* column 'age' holds text, such as 'old'"),
        (lambda f: f.assign(age="1.5"), "Partition 1, .* column 'age' holds text, such as '1.5'"),
        (lambda f: f.iloc[:0].drop(columns="age"), "Partition 1, .*feature names"),
    ],
)
def test_a_partition_with_other_columns_or_types_is_named(frame, change, sentence):
    inputs = frame[["size", "age"]]
    X = frames(inputs[:15], change(inputs[15:]))
    y = frames(frame["price"][:15], frame["price"][15 : 15 + len(change(inputs[15:]))])
    with pytest.raises(ValueError, match=sentence):
        model().fit(X, y)


@pytest.mark.parametrize("kind", [str, object])
def test_numbers_in_text_are_named_wherever_the_other_partitions_have_numbers(frame, kind):
    def halves(columns, changes):
        text = frame[columns][15:].astype(str).astype(kind)
        return frames(frame[columns][:15], text if changes else frame[columns][15:])

    inputs, weights = ["size", "age"], frame["price"] ** 2
    parts = frames(weights[:15], weights[15:].astype(str).astype(kind))
    X, y = halves(inputs, False), halves("price", False)
    fitted = model().fit(X, y)
    for call, name in [
        (lambda: model().fit(X, halves("price", True)), "y"),
        (lambda: model().fit(X, y, parts), "sample_weight"),
        (lambda: fitted.partial_fit(halves(inputs, True), y), "X"),
        (lambda: fitted.predict(halves(inputs, True)).compute(), "X"),
        (lambda: fitted.score(X, halves("price", True)), "y"),
    ]:
        words = f"Partition 1, .* {name} must hold numbers in every partition, but .*holds text"
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("kind", [int, bool, "float32", "Float64"])
def test_other_types_of_numbers_give_the_model_of_the_joined_frames(frame, kind):
    inputs = frame[["size", "age"]] * 3
    parts = [inputs[:15], (inputs[15:] // 1).astype(kind)]
    targets = [frame["price"][:15], (frame["price"][15:] // 1).astype(kind)]
    fitted = model().fit(frames(*parts), frames(*targets))
    local = ll.FALLRegressor(3, random_state=0)
    local.fit(pd.concat(parts).astype(float), pd.concat(targets).astype(float))
    found = fitted.predict(dd.from_pandas(inputs, npartitions=2)).compute()
    np.testing.assert_allclose(found, local.predict(inputs), rtol=1e-9)


def test_queries_that_cannot_be_used_are_named_with_their_partition(arrays):
    X, y = arrays
    fitted = model().fit(cut(X), cut(y))
    X[29, 0] = np.nan
    with pytest.raises(ValueError, match=r"Partition 2, .* sample 9"):
        fitted.explain(cut(X)).coef.compute()


def test_a_wrong_width_is_not_blamed_on_a_partition(arrays):
    X, y = arrays
    fitted, wide = model().fit(cut(X), cut(y)), cut(np.zeros((30, 3)))
    for call in (fitted.predict, fitted.explain, lambda X: fitted.partial_fit(X, cut(y))):
        with pytest.raises(ValueError, match=r"^X has 3 features, but FALLRegressor is expecting"):
            call(wide)
    with pytest.raises(ValueError, match=r"^y must have the 1 targets of the fitted model, but"):
        fitted.partial_fit(cut(X), cut(X))
    with pytest.raises(ValueError, match=r"^y must hold one label per sample, but has 2 columns"):
        on_dask.FALLClassifier().fit(cut(X), cut(X > 0))
    assert fitted.n_samples_fit_ == 30


def test_partitions_of_unequal_lengths_are_named(arrays):
    X, y = arrays
    X, y = cut(X), cut(y[:-1])
    X, y = X[X[:, 0] < np.inf], y[y < np.inf]  # now Dask does not know the sizes
    with pytest.raises(ValueError, match=r"Partition 2, .* equally many rows, but have 10 and 9"):
        model().fit(X, y)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda X, y: (X, cut(y)), TypeError, "X must be a Dask array or .* but is a ndarray"),
        (lambda X, y: (cut(X), y), TypeError, "y must be a Dask array or .* but is a ndarray"),
        (lambda X, y: (cut(y), cut(y)), ValueError, "X must have two dimensions, but has 1"),
        (lambda X, y: (cut(X), cut(y[:-1])), ValueError, "one entry per row of X, so 30, but has"),
        (lambda X, y: (cut(X[:0]), cut(y[:0])), ValueError, "at least one row"),
        (lambda X, y: (cut(X[:2]), cut(y[:2])), ValueError, "n_neighbors=5 samples are needed"),
        (lambda X, y: (cut(X), cut(y), cut(0 * y)), ValueError, "positive for at least one sample"),
        (lambda X, y: (cut(X * 1e-200), cut(y)), ValueError, "column 0 of X must hold numbers of"),
    ],
)
def test_collections_that_cannot_be_used_are_refused(arrays, call, error, sentence):
    with pytest.raises(error, match=sentence):
        model().fit(*call(*arrays))


def test_a_delayed_value_is_no_collection(arrays):
    X, y = map(cut, arrays)
    fitted, delayed = model().fit(X, y), dask.delayed(3)
    calls = fitted.fit, fitted.score, lambda X, _: fitted.predict(X), lambda X, _: fitted.explain(X)
    for call in calls:
        with pytest.raises(TypeError, match="X must be a Dask array or a Dask frame, but is a Del"):
            call(delayed, y)


def test_partitions_of_x_and_y_that_cannot_be_matched_are_refused(frame):
    parts = [dd.from_pandas(frame, npartitions=n) for n in (2, 3)]
    with pytest.raises(ValueError, match="must have the partitions of X, which are 2, but has 3"):
        model().fit(parts[0][["size", "age"]], parts[1]["price"])


def test_trees_and_k_means_of_many_samples_are_refused(arrays, monkeypatch):
    X, y = arrays
    with pytest.raises(ValueError, match="neighborhood must be 'euclidean' or 'learned'"):
        model(neighborhood="forest").fit(cut(X), cut(y))
    monkeypatch.setattr("locallinear.dask.fall.MAX_SAMPLES", 20)
    with pytest.raises(ValueError, match=r'"kmeans" has to see all samples .* at most 20'):
        model(anchor_selection="kmeans").fit(cut(X), cut(y))


def test_labels_of_two_kinds_are_refused_with_their_partitions(arrays):
    X, _ = arrays
    labels = [np.arange(10), np.repeat("a", 20)]
    parts = [da.from_delayed(dask.delayed(p), (len(p),), dtype=object) for p in labels]
    with pytest.raises(
        TypeError, match="Partition 1: y must hold labels of one kind, but holds text"
    ):
        on_dask.FALLClassifier().fit(cut(X), da.concatenate(parts))


def test_a_class_that_comes_too_late_is_refused_with_its_partition(arrays):
    X, y = arrays
    classifier = on_dask.FALLClassifier(3, random_state=0).fit(cut(X), cut(np.sign(y)))
    with pytest.raises(ValueError, match=r"Partition 1: y has the class 7.0"):
        classifier.partial_fit(cut(X), cut(np.where(np.arange(30) == 12, 7.0, 1.0)))


def test_a_fit_that_fails_leaves_the_model_that_was_there(arrays):
    X, y = arrays
    fitted = model().fit(cut(X), cut(y))
    before = fitted.predict(cut(X)).compute()
    with pytest.raises(ValueError, match="Partition"):
        fitted.fit(cut(np.column_stack([X * np.nan, X])), cut(y))
    np.testing.assert_array_equal(fitted.predict(cut(X)).compute(), before)


def test_forget_refuses_to_leave_too_few_samples(arrays):
    X, y = arrays
    fitted = model().fit(cut(X), cut(y))
    with pytest.raises(ValueError, match="remove all 30 samples"):
        fitted.forget(range(30))
    with pytest.raises(ValueError, match="n_neighbors=5"):
        fitted.forget(range(28))
    assert fitted.n_samples_fit_ == 30
