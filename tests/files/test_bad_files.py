"""Files that are truncated, foreign, newer or forged: one error, no code, no memory."""

import copy
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.model_selection import KFold

from archives import forge, members, npy, peak_of
from frames import fitted_table
from locallinear import (
    FALLClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    TableRegressor,
    load,
)
from locallinear.io import ModelFileError


def refuse(path, match=None):
    """Loading must fail with the one error, without much memory."""

    def attempt(path):
        with pytest.raises(ModelFileError, match=match) as caught:
            load(path)
        assert str(path) in str(caught.value)

    assert peak_of(attempt, path) < 20 * path.stat().st_size + 2**20


def test_a_truncated_file_is_refused_wherever_it_was_cut(saved):
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 64), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        refuse(saved)
    saved.write_bytes(whole + b"x")
    refuse(saved)


@pytest.mark.parametrize("mask", [0x01, 0x08, 0x20, 0xFF])
def test_a_file_with_a_changed_byte_is_refused(saved, mask):
    whole = saved.read_bytes()
    # Every byte of the headers at the end, and some of all others.
    places = sorted({*range(0, len(whole), 23), *range(len(whole) - 400, len(whole))})
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= mask
        saved.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"one\.model"):
            load(saved)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^There is no model file nix\.model$"):
        load("nix.model")
    with pytest.raises(IsADirectoryError, match=r"is a folder, not a model file$"):
        load(tmp_path)


def test_files_of_other_kinds_are_refused(path):
    path.write_bytes(b"")
    refuse(path, "not a model file")
    path.write_text("a,b\n1,2\n")
    refuse(path, "not a model file")
    path.write_bytes(pickle.dumps({"a": 1}))
    refuse(path, "not a model file")
    forge(path, {"photo.jpg": b"123"})
    refuse(path, "is an archive, but not of a model")
    for page in [b"[]", b"{}", b"not json", b"\xff\xfe", b"[" * 100_000, b'{"format": 1}']:
        forge(path, {"model.json": page})
        refuse(path)
    np.savez(path.with_suffix(".npz"), a=np.ones(3))
    refuse(path.with_suffix(".npz"), "not of a model")


def changed_page(saved, **changes):
    contents = members(saved)
    page = {**json.loads(contents["model.json"]), **changes}
    forge(saved, {**contents, "model.json": json.dumps(page)})


def test_a_newer_file_says_to_update(saved):
    changed_page(saved, version=9)
    refuse(saved, r"newer version of locallinear \(file format 9, .*update locallinear")


@pytest.mark.parametrize("name", ["load", "LocalExplanation", "os.system", "FALL", "", None, 3])
def test_only_estimators_of_the_library_are_made(saved, name):
    changed_page(saved, **{"class": name})
    refuse(saved)


@pytest.mark.parametrize(
    "parameters",
    [{"dict": {"alpha": -1.0}}, {"dict": {"unknown": 1}}, {"list": []}, 3, {"array": "none"}],
)
def test_parameters_from_a_file_are_checked(saved, parameters):
    changed_page(saved, parameters=parameters)
    refuse(saved)


class Bomb:
    """An object whose unpickling leaves a trace."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("position", [-1, 625, 10**9, "here"])
def test_a_generator_that_would_read_beyond_its_numbers_is_refused(path, position):
    X, y = np.eye(6), np.arange(6.0)
    FALLRegressor(random_state=np.random.RandomState(0)).fit(X, y).save(path)
    load(path)
    contents = members(path)
    page = json.loads(contents["model.json"])
    state = page["parameters"]["dict"]["random_state"]["chance"]["dict"]["state"]["dict"]
    assert 0 <= state["pos"] <= 624
    state["pos"] = position
    forge(path, contents | {"model.json": json.dumps(page)})
    refuse(path, "no whole model file")


def test_only_splitters_of_scikit_learn_are_made(path):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    FALLEnsembleRegressor(1, search={"n_neighbors": [3]}, cv=KFold(3)).fit(X, y).save(path)
    contents = members(path)
    page = json.loads(contents["model.json"])
    page["parameters"]["dict"]["cv"]["splitter"][0] = "GridSearchCV"
    forge(path, contents | {"model.json": json.dumps(page)})
    refuse(path, "has the splitter 'GridSearchCV'")


def test_pickled_objects_inside_are_not_opened(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = np.empty(12, dtype=object)
    array[:] = [Bomb()] * 12
    contents = members(saved)
    for name in [name for name in contents if name.endswith(".npy")]:
        forge(saved, {**contents, name: npy(array, allow_pickle=True)})
        refuse(saved)
    forge(saved, {**contents, "extra.npy": pickle.dumps(Bomb())})
    refuse(saved)
    assert not (tmp_path / "exploded").exists()


def header(shape, descr="<f8"):
    """A .npy file that says this about itself and holds eight bytes."""
    stream = io.BytesIO()
    about = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, about)
    return stream.getvalue() + b"12345678"


@pytest.mark.parametrize("shape", [(10**9,), (2**40, 2**40), (10**30,), (-1,), (1, 10**18, 0), ()])
def test_an_array_that_claims_another_size_is_refused(saved, shape):
    contents = members(saved)
    forge(saved, {**contents, "state-samples-Z.npy": header(shape)})
    refuse(saved)


@pytest.mark.parametrize("descr", ["|O", "<U2000000000", "|V0", "nonsense", [("a", "<f8")]])
def test_an_array_of_another_type_is_refused(saved, descr):
    contents = members(saved)
    forge(saved, {**contents, "state-samples-Z.npy": header((12, 2), descr)})
    refuse(saved)


def test_compressed_and_overlapping_archives_are_refused_before_they_are_unpacked(saved):
    contents = members(saved)
    bomb = npy(np.zeros(10_000_000))
    forge(saved, {**contents, "state-samples-Z.npy": bomb}, zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 200_000
    refuse(saved, "holds more than its own size")
    forge(saved, contents)
    with zipfile.ZipFile(saved, "a") as archive:
        entry = archive.getinfo("state-samples-Z.npy")
        archive.filelist += [copy.copy(entry) for _ in range(1000)]
        archive.comment = b"0" * 64
    refuse(saved, "holds more than its own size")


def test_arrays_that_do_not_fit_each_other_are_refused(saved):
    contents = members(saved)
    for name, array in {
        "state-samples-Z": np.zeros((11, 2)),
        "state-samples-residuals": np.zeros((12, 3)),
        "state-samples-labels": np.full(12, 99, dtype=np.int32),
        "state-attributes-_models": np.zeros((3, 4, 2)),
        "state-space-shift": np.zeros(3),
    }.items():
        assert f"{name}.npy" in contents
        forge(saved, {**contents, f"{name}.npy": npy(array)})
        refuse(saved, "do not fit each other")
        forge(saved, {n: c for n, c in contents.items() if n != f"{name}.npy"})
        refuse(saved)


# --- Parts that fit each other, and that no fit makes --------------------------------------------

X = np.random.default_rng(0).normal(size=(30, 3))
FEW = {"n_anchors": 4, "random_state": 0}
MODELS = {
    "numbers": lambda: FALLRegressor(**FEW).fit(X, X[:, 0], np.ones(30)),
    "quantiles": lambda: FALLRegressor(scaling="quantile", **FEW).fit(X, X[:, 0]),
    "classes": lambda: FALLClassifier(**FEW).fit(X, X[:, 0] > 0),
    "ensemble": lambda: FALLEnsembleRegressor(2, search={"n_neighbors": [3]}, random_state=0).fit(
        X, X[:, 0]
    ),
    "table": lambda: fitted_table(TableRegressor, FALLRegressor(**FEW)),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each of these models."""
    folder = tmp_path_factory.mktemp("whole")
    for name, make in MODELS.items():
        make().save(folder / name)
    return folder


def refuse_altered(files, name, path, *, arrays=(), page=None, match="no whole model file"):
    """A file with all values of some arrays replaced, or with another page, must not load."""
    contents = members(files / name)
    for ending, value in dict(arrays).items():
        (found,) = (member for member in contents if member.endswith(f"{ending}.npy"))
        whole = np.load(io.BytesIO(contents[found]))
        contents[found] = npy(value if np.ndim(value) else np.full_like(whole, value))
    if page is not None:
        content = json.loads(contents["model.json"])
        page(content)
        contents["model.json"] = json.dumps(content).encode()
    forge(path, contents)
    with pytest.raises(ModelFileError, match=match):
        load(path)


@pytest.mark.parametrize(
    ("name", "ending", "value"),
    [
        ("numbers", "samples-Z", 1e141),
        ("numbers", "samples-residuals", 1e141),
        ("numbers", "attributes-_models", 1e145),
        ("numbers", "samples-weights", 1e141),
        ("numbers", "samples-weights", 1e-300),
        ("numbers", "space-shift", 1e145),
        ("numbers", "space-scale", 1e145),
        ("numbers", "space-scale", 1e-144),
        ("quantiles", "space-knots", 1e145 * np.arange(1.0, 91.0)),
        ("classes", "samples-residuals", 1e290),
        ("classes", "attributes-_models", 1e290),
        ("classes", "attributes-_models", 0.0),
        ("ensemble", "cv_prediction_", np.nan),
        ("ensemble", "cv_prediction_", 1e300),
        ("ensemble", "cv_prediction_", np.zeros((30, 7))),
        ("ensemble", "_cv_folds", 100),
        ("ensemble", "_cv_folds", 0),
    ],
)
def test_numbers_that_no_fit_makes_are_refused(files, path, name, ending, value):
    load(files / name)
    refuse_altered(files, name, path, arrays={ending: value})


@pytest.mark.parametrize("parameter", [("n_neighbors", 31), ("n_jobs", 2**31 - 1), ("n_jobs", 0)])
def test_parameters_with_which_nothing_could_be_predicted_are_refused(files, path, parameter):
    def change(page):
        page["parameters"]["dict"][parameter[0]] = parameter[1]

    refuse_altered(files, "numbers", path, page=change)


def test_a_file_that_does_not_say_what_y_was_is_refused(files, path):
    def change(page):
        del page["state"]["dict"]["attributes"]["dict"]["_one_target"]

    refuse_altered(files, "numbers", path, page=change, match="of classes and of numbers, or neit")


def test_a_table_whose_model_knows_other_features_is_refused(files, path):
    def change(page):
        model = page["state"]["dict"]["estimator"]["estimator"]
        attributes = model["state"]["dict"]["attributes"]["dict"]
        attributes["feature_names_in_"]["objects"][0] = "another"

    refuse_altered(files, "table", path, page=change, match="features of other names than its tab")
