"""Models of raw tables in files, of this library and of others."""

import json
import pickle

import numpy as np
import pandas
import pytest
from numpy.testing import assert_array_equal

from archives import forge, members
from frames import messy
from houses import TARGETS, houses, table_estimator
from locallinear import FALLClassifierCV, FALLRegressor, TableClassifier, TableRegressor, load
from locallinear.io import ModelFileError

FEW = {"n_neighbors": [3, 8], "n_anchors": [5], "neighborhood": ["euclidean", "learned"]}


@pytest.mark.parametrize("targets", TARGETS, ids=" ".join)
def test_a_loaded_model_is_the_saved_one(targets, path):
    model, frame = table_estimator(targets), houses(seed=1)
    model.save(path)
    again = load(path)
    assert again.get_params()["model__n_anchors"] == 10
    assert_array_equal(again.predict(frame), model.predict(frame))
    assert_array_equal(again.explain(frame).contributions, model.explain(frame).contributions)
    assert_array_equal(again.cv_prediction_, model.cv_prediction_)
    assert again.encoding_.equals(model.encoding_)
    assert again.target_names_ == list(targets)


def test_a_file_keeps_the_log_scale_and_all_kinds_of_columns(logs, path):
    model, new = logs
    model.save(path)
    again = load(path)
    assert_array_equal(again.predict(new), model.predict(new))
    assert_array_equal(again.explain(new).times, model.explain(new).times)


def test_skops_and_pickle_keep_a_model_with_types_of_this_library_alone(logs):
    skops_io = pytest.importorskip("skops.io")
    model, new = logs
    content = skops_io.dumps(model)
    types = skops_io.get_untrusted_types(data=content)
    assert all(name.startswith("locallinear.") for name in types), types
    for again in (skops_io.loads(content, trusted=types), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict(new), model.predict(new))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["skops", "cloudpickle"])
def test_mlflow_keeps_a_model(logs, form, tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn", reason="mlflow is not installed")
    skops_io = pytest.importorskip("skops.io")
    model, new = logs
    types = skops_io.get_untrusted_types(data=skops_io.dumps(model)) if form == "skops" else None
    options = {"serialization_format": form, "skops_trusted_types": types}
    mlflow.save_model(model, tmp_path / "kept", pip_requirements=["locallinear"], **options)
    assert_array_equal(mlflow.load_model(tmp_path / "kept").predict(new), model.predict(new))


def test_a_file_can_hold_a_search_as_a_parameter(path):
    frame, price = messy(40)
    search = FALLClassifierCV(FEW)
    model = TableClassifier(search, random_state=0).fit(frame, price > price.median())
    model.save(path)
    assert load(path).model.grid == FEW


def test_a_file_whose_columns_do_not_fit_its_model_is_refused(path):
    table_estimator().save(path)
    content = members(path)
    content["model.json"] = content["model.json"].replace(b'"old town", ', b"")
    forge(path, content)
    with pytest.raises(ModelFileError, match="its table has 5 features, and its model 6"):
        load(path)


@pytest.fixture(scope="module")
def awkward():
    """A model of columns whose files hold how cells are written, and its rows."""
    n = np.arange(60)
    frame = pandas.DataFrame(
        {
            "mass": [f"{1000 * i + 1234:,} kg".replace(",", ".") for i in n],
            "rate": [f"{i / 8}".replace(".", ",") + " %" for i in n],
            "when": pandas.date_range("2020-01-01", periods=60, freq="31h", tz="Europe/Berlin"),
            "start": [f"{i % 24:02}:30" for i in n],
            "code": [f"{i * 7919 % 47:04}" for i in n],
            "mood": ["mid", "low", "high"] * 20,
        }
    )
    types = {"mass": "number: ,", "mood": ["low", "mid", "high"]}
    few = FALLRegressor(3, n_neighbors=4)
    return TableRegressor(few, types=types, random_state=0).fit(frame, n % 11), frame


def test_a_file_keeps_how_cells_are_written(awkward, path):
    model, frame = awkward
    model.save(path)
    again = load(path)
    assert again.encoding_.equals(model.encoding_)
    assert again.get_params()["types"] == model.types
    assert_array_equal(again.predict(frame), model.predict(frame))
    one = frame[:1].assign(mass="5.678", code=6, when="2020-01-01 20:00")
    assert again.encode(one)["mass"][0] == 5678
    assert_array_equal(again.predict(one), model.predict(one))


@pytest.mark.parametrize(
    ("kind", "attribute", "value"),
    [
        ("number", "cells", "words"),
        ("number", "decimal", ";"),
        ("number", "units", []),
        ("date", "zone", "Atlantis"),
        ("date", "cycles", ["moon"]),
        ("text", "n_digits", 10**9),
        ("ordered", "fill", 7),
    ],
)
def test_a_column_that_cannot_be_is_refused(awkward, path, kind, attribute, value):
    model, _ = awkward
    model.save(path)
    contents = members(path)
    page = json.loads(contents["model.json"])
    column = next(c for c in _columns(page) if c["kind"] == kind and attribute in c)
    column[attribute] = value
    forge(path, contents | {"model.json": json.dumps(page).encode()})
    with pytest.raises(ModelFileError):
        load(path)


def _columns(page):
    """The columns in a page of a file, wherever they are."""
    if isinstance(page, dict):
        if "kind" in page and "name" in page:
            yield page
        page = list(page.values())
    for part in page if isinstance(page, list) else []:
        yield from _columns(part)
