"""Models in files: what is saved comes back, and nothing else is ever let in."""

import io
import json
import stat

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from archives import members, peak_of
from locallinear import FALLClassifier, FALLRegressor, load
from locallinear.io import encoding


def data(n=40, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, -1]


MODELS = {
    "plain": (FALLRegressor, {}),
    "raw": (FALLRegressor, {"scaling": None, "weights": "uniform"}),
    "quantile": (FALLRegressor, {"scaling": "quantile", "assignment_neighbors": 3}),
    "anchors": (FALLRegressor, {"anchor_selection": data()[0][:4]}),
    "models": (FALLRegressor, {"anchor_models": np.ones((2, 4, 1)), "alpha": np.float32(0.5)}),
    "lists": (FALLRegressor, {"anchor_selection": data()[0][:4].tolist()}),
}


def assert_same(one, other, X):
    assert type(one) is type(other)
    assert_array_equal(one.predict(X), other.predict(X))
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.local_models(), other.local_models())
    assert_array_equal(one.anchor_points_, other.anchor_points_)
    told, expected = one.explain(X), other.explain(X)
    assert_array_equal(told.neighbors, expected.neighbors)
    assert told.feature_names == expected.feature_names
    assert told.target_names == expected.target_names


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_loaded_model_is_the_saved_one_and_goes_on_like_it(path, kind, weighted):
    estimator, options = MODELS[kind]
    X, y = data()
    weight = np.resize([0.0, 1.0, 2.5], 40) if weighted else None
    model = estimator(random_state=0, **options).fit(X, y, weight).forget([3])
    model.save(path)
    loaded = load(str(path))
    assert_same(loaded, model, X)
    for one in (loaded, model):
        one.partial_fit(X[:9] + 0.1, y[:9]).forget([0, 5])
    assert_same(loaded, model, X)
    assert loaded.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-7, 7]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_and_names_come_back_as_they_were(path, labels):
    import pandas as pd

    X, y = data()
    frame = pd.DataFrame(X, columns=["length", "größe", "(x)"])
    model = FALLClassifier(random_state=0).fit(frame, labels[(y > 0).astype(int)])
    model.save(path)
    loaded = load(path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    assert_same(loaded, model, frame)
    assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def test_what_may_be_set_after_a_fit_comes_back(path):
    X, y = data()
    model = FALLRegressor(random_state=0).fit(X, y).set_params(alpha=np.inf)
    model.save(path)
    assert_same(load(path), model, X)


def test_several_targets_and_their_shape_come_back(path):
    X, y = data()
    for Y in (y[:, None], np.column_stack([y, -y])):
        model = FALLRegressor(random_state=0).fit(X, Y)
        model.save(path)
        assert load(path).predict(X).shape == Y.shape


def test_a_file_holds_plain_arrays_and_one_page(saved):
    contents = members(saved)
    page = json.loads(contents.pop("model.json"))
    assert (page["format"], page["version"]) == ("locallinear model", 5)
    for content in contents.values():
        np.load(io.BytesIO(content), allow_pickle=False)


def test_saving_twice_writes_the_same_arrays(saved, tmp_path):
    load(saved).save(tmp_path / "again.model")
    assert members(tmp_path / "again.model") == members(saved)


def test_loading_takes_memory_in_proportion_to_the_file(path):
    X = np.random.default_rng(0).normal(size=(4000, 60))
    FALLRegressor(5, scaling=None).fit(X, X[:, 0]).save(path)
    assert path.stat().st_size < 1.2 * X.nbytes
    assert peak_of(load, path) < 3 * path.stat().st_size


def test_a_save_that_fails_leaves_the_old_file_and_no_other(saved, monkeypatch):
    before = saved.read_bytes()
    model = load(saved)

    def full_disk(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(OSError, match="no space left"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_save_replaces_the_old_file_and_is_readable_as_other_files_are(saved):
    X, y = data()
    model = FALLRegressor(random_state=0).fit(X, y)
    model.save(saved)
    assert_same(load(saved), model, X)
    (saved.parent / "other").touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(
        (saved.parent / "other").stat().st_mode
    )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"weights": np.ones_like}, "weights"),
        ({"anchor_selection": pd.DataFrame(data()[0][:4])}, "anchor_selection"),
    ],
)
def test_what_cannot_be_written_is_named_and_nothing_is_left(path, options, name):
    X, y = data()
    with pytest.raises(ValueError, match=rf"numbers, words and arrays, but parameter-{name}"):
        FALLRegressor(**options).fit(X, y).save(path)
    assert list(path.parent.iterdir()) == []


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.model")
    X, y = data()
    with pytest.raises(FileNotFoundError):
        FALLRegressor().fit(X, y).save(tmp_path / "no folder" / "one.model")


@pytest.mark.parametrize("low", [0, -1, -(2**7), -(2**15), -(2**40)])
@pytest.mark.parametrize("high", [1, 2**7, 2**8 - 1, 2**16 - 1, 2**31 - 1, 2**40])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_whole_numbers_take_few_bytes_and_come_back_as_they_were(low, high, dtype):
    bounds = np.iinfo(dtype)
    array = np.array([max(low, bounds.min), min(high, bounds.max), 0], dtype=dtype)
    arrays = {}
    described = encoding.encode(array, "numbers", arrays)
    found = encoding.decode(described, arrays)
    assert found.dtype == array.dtype
    assert_array_equal(found, array)
    assert arrays["numbers"].itemsize <= array.itemsize
    if low >= -128 and high <= 127:
        assert arrays["numbers"].itemsize == 1


def test_a_widened_array_of_an_unknown_type_is_refused():
    with pytest.raises(ValueError, match="is of the type 'object'"):
        encoding.decode({"widened": ["numbers", "object"]}, {"numbers": np.zeros(3, dtype=np.int8)})
