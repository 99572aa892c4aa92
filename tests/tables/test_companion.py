"""The simple companion of a table's model: found once, kept, saved, and of the rows of now."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from archives import forge, members
from locallinear import FALLClassifier, FALLRegressor, TableClassifier, TableRegressor, load
from locallinear.explain import report_data
from locallinear.io import ModelFileError
from locallinear.search import companion as _companion
from locallinear.tables import answers


def two_laws(n=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return frame.assign(y=np.where(frame["a"] > 0, 4, -4) * frame["b"])


def fitted(n_anchors=40, **options):
    inside = FALLRegressor(n_anchors, random_state=0, **options)
    return TableRegressor(inside, target="identity", random_state=0).fit(two_laws(), "y")


@pytest.fixture(scope="module")
def model():
    """A model of many regimes, which keeps a companion of three."""
    model = fitted()
    model.companion(3)
    return model


@pytest.fixture
def no_search(monkeypatch):
    """A companion that is not kept would be looked for here."""

    def search(*_, **__):
        raise AssertionError("a companion was looked for")

    monkeypatch.setattr(answers, "companion_of", search)


@pytest.mark.usefixtures("no_search")
def test_a_companion_is_found_once_and_kept(model, path):
    kept = model.companion(time_budget=None)
    assert len(kept.model.anchor_models_) == 3
    assert model.companion(3) is kept
    assert model.at_this_moment().companion() is kept
    assert len(report_data(model, max_rows=5)["regimes"]) == 3
    model.save(path)
    again = load(path).companion()
    assert again.explained == kept.explained
    assert_array_equal(again.model.anchor_models_, kept.model.anchor_models_)
    assert_array_equal(again.model.labels_, kept.model.labels_)
    for name, column in kept.simplicity.items():
        assert_array_equal(again.simplicity[name], column)


def test_another_number_of_regimes_replaces_the_companion():
    model = fitted()
    assert len(model.companion(2).model.anchor_models_) == 2
    other = model.companion(4)
    assert len(other.model.anchor_models_) == 4
    assert model.companion() is other


@pytest.mark.parametrize("change", ["partial_fit", "forget", "inside", "parameter", "fit"])
def test_a_companion_of_other_rows_is_never_shown(change, path, monkeypatch):
    model, frame = fitted(), two_laws()
    old = model.companion(2)
    before = model.at_this_moment()
    if change == "partial_fit":
        model.partial_fit(frame[:5], "y")
    elif change == "forget":
        model.forget([0])
    elif change == "inside":
        model.estimator_.forget([0])
    elif change == "parameter":
        model.estimator_.n_neighbors = 9
    else:
        model.fit(frame[:100], "y")
    assert before.companion() is old
    model.save(path)
    found = []
    monkeypatch.setattr(answers, "companion_of", lambda *_, **__: found.append(1) or old)
    model.companion()
    load(path).companion()
    assert found == [1, 1]


def test_a_model_of_few_regimes_is_its_own_companion_in_a_file_too(path, tmp_path):
    model = fitted(5)
    model.save(path)
    assert model.companion().is_own
    model.save(tmp_path / "kept.model")
    assert (tmp_path / "kept.model").stat().st_size < 1.1 * path.stat().st_size
    again = load(tmp_path / "kept.model")
    assert again.companion().model.labels_.tolist() == model.estimator_.labels_.tolist()
    page = report_data(again, max_rows=5)
    assert not page["regime_model"]["is_simpler"]
    assert len(page["regimes"]) == len(np.unique(model.estimator_.labels_))


@pytest.mark.parametrize("n_anchors", [5, 40])
def test_classes_that_do_not_occur_yet_are_those_of_the_companion_and_its_page(n_anchors):
    frame = two_laws()
    labels = np.where(frame.pop("y") > 0, "high", "low")
    model = TableClassifier(FALLClassifier(n_anchors), random_state=0)
    model.partial_fit(frame, labels, classes=["high", "low", "none"])
    assert model.companion(2).model.classes_.tolist() == ["high", "low", "none"]
    page = report_data(model, frame, labels, max_rows=5)
    assert page["targets"] == ["high", "low", "none"]


def test_an_interrupted_companion_is_not_kept(model, monkeypatch):
    fresh = fitted()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_companion.FALLRegressorCV, "fit_within", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fresh.companion(3)
    found, expected = (each.companion(3, time_budget=None) for each in (fresh, model))
    assert_array_equal(found.model.anchor_models_, expected.model.anchor_models_)


def test_a_page_shows_a_companion_of_a_part_of_the_rows(monkeypatch):
    monkeypatch.setattr(_companion, "MOST_FITTED", 60)
    model = fitted()
    kept = model.companion(2, time_budget=60)
    assert kept.model.n_samples_fit_ == 60
    page = report_data(model, max_rows=20)
    assert page["regime_model"]["n_samples"] == 60
    labels = {regime["label"] for regime in page["regimes"]}
    assert {sample["regime"] for sample in page["samples"].values()} <= labels
    # A new row of the same values has the same regime.
    new = report_data(model, Xq=two_laws().drop(columns="y")[:20])
    assert set(new["rows"]["regime"]) <= labels


def altered(path, change):
    """The file with something else in its companion."""
    content = members(path)
    page = json.loads(content["model.json"])
    change(page["state"]["dict"]["companion"]["dict"])
    content["model.json"] = json.dumps(page).encode()
    forge(path, content)


def curve_of(companion):
    return companion["simplicity"]["dict"]


def renamed(model):
    return json.loads(json.dumps(model).replace('"a"', '"z"'))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("explained"), "its companion has other parts"),
        (lambda c: c.update(more=1), "its companion has other parts"),
        (lambda c: c.update(explained=1.5), "what its companion explains is no share"),
        (lambda c: c.update(explained=float("nan")), "what its companion explains is no share"),
        (lambda c: c.update(model=None), "its companion has no model"),
        (lambda c: c.update(model=3), "its companion is of another table"),
        (lambda c: c.update(model={"dict": {}}), "its companion is of another table"),
        (lambda c: c.update(simplicity=None), "the price of simplicity"),
        (lambda c: curve_of(c).pop("score"), "the price of simplicity"),
        (lambda c: curve_of(c).update(score=curve_of(c)["index"]), "the price of simplicity"),
        (lambda c: c.update(own_score=None), "the score of its companion"),
        (lambda c: c.update(own_score=[0.5, float("nan")]), "the score of its companion"),
        (lambda c: curve_of(c).update(tried=curve_of(c)["index"]), "the price of simplicity"),
        (lambda c: c.update(model=renamed(c["model"])), "its companion is of another table"),
    ],
)
def test_a_file_with_another_companion_is_refused(model, path, change, said):
    model.save(path)
    altered(path, change)
    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_a_companion_of_classes_is_saved_and_one_of_other_classes_refused(path):
    frame = two_laws()
    few = FALLClassifier(40, random_state=0)
    labels = np.where(frame.pop("y") > 0, "up", "down")
    model = TableClassifier(few, random_state=0).fit(frame, labels)
    kept = model.companion(2)
    model.save(path)
    assert_array_equal(load(path).companion().model.anchor_models_, kept.model.anchor_models_)
    content = members(path)
    page = content["model.json"].decode()
    assert page.count('"up"') >= 2
    before, _, after = page.rpartition('"companion"')
    content["model.json"] = (before + '"companion"' + after.replace('"up"', '"on"')).encode()
    forge(path, content)
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("value", ["abc", [2], pd.NA, True, 10**30, 0, 2.5])
def test_what_is_no_number_of_regimes_is_refused(model, value):
    with pytest.raises(ValueError, match="The 'n_regimes' parameter of companion must be None or"):
        model.companion(value)


@pytest.mark.parametrize("value", ["x", -5, 0, np.nan, True, [1], pd.NA])
def test_what_is_no_time_budget_of_a_companion_is_refused(model, value):
    for n_regimes in (None, 5):
        with pytest.raises(ValueError, match="The 'time_budget' parameter of companion must be"):
            model.companion(n_regimes, time_budget=value)
