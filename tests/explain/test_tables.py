"""Pictures and reports of a raw table speak of its own columns, and add up."""

import json
import re

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier

from houses import fitted, houses
from locallinear import FALLRegressor, TableRegressor
from locallinear.explain import (
    AlphaPathDisplay,
    CoefficientDisplay,
    ContributionDisplay,
    PredictionDisplay,
    RegimeDisplay,
    report_data,
)
from locallinear.explain.view import view_of

matplotlib.use("agg")

COLUMNS = ["size (m²)", "rooms", "district"]
CASES = [
    (("price",), "standard"),
    (("price", "rent"), "quantile"),
    (("price", "rent"), None),
    (("kind",), "standard"),
    (("kind",), "quantile"),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{' and '.join(case[0])}, {case[1]}")
def model(request):
    targets, scaling = request.param
    return fitted(targets, scaling=scaling)


@pytest.fixture
def frame():
    """Rows with gaps, and one with a district that no model has seen."""
    frame = houses(seed=1)
    frame.loc[5, "district"] = "<b>moon</b>"
    return frame.set_index("name")


def scores(model, frame):
    """What the model behind a table model says, without any explanation."""
    return model.estimator.predict_numeric(model.encode(frame))


def data_in(path):
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.S)
    return json.loads(found[1])


# --- Displays ------------------------------------------------------------------------------------


def test_contributions_of_columns_fall_to_the_prediction(model, frame):
    for row in (0, 1, 5, 17):
        for target, name in enumerate(model.target_names):
            shown = ContributionDisplay.from_estimator(model, frame, row=row, target=target)
            expected = scores(model, frame)[row, target]
            assert shown.feature_names == COLUMNS
            assert shown.target_name == name
            assert shown.contributions.sum() + shown.intercept == pytest.approx(expected)
            for reference in ("baseline", "mean", "zero"):
                lines = shown.waterfall(10, reference)
                assert sum(step for _, _, step in lines[:-1]) == pytest.approx(expected)


def test_the_waterfall_starts_at_the_average_sample(model, frame):
    shown = model.explain(frame).plot(3)
    raw = model.estimator.explain(model.encode(frame))
    X, _ = model.estimator.training_samples()
    average = model.estimator.feature_space.regressors(X.mean(axis=0)[None])[0]
    expected = average @ raw.coef[3, :, 0] + raw.intercept[3, 0]
    assert shown.waterfall(reference="mean")[0][2] == pytest.approx(expected)


def test_values_are_those_of_the_table(model, frame):
    lines = ContributionDisplay.from_estimator(model, frame).waterfall(reference="zero")
    labels = [label for label, _, _ in lines]
    assert {"size (m²) missing", "district missing"} <= set(labels)
    shown = ContributionDisplay.from_estimator(model, frame, row=5)
    assert shown.values[2] == "<b>moon</b>"
    lines = shown.waterfall(reference="zero")
    assert "district = <b>moon</b>" in {label for label, _, _ in lines}


def test_the_effect_of_a_column_of_text_is_against_the_average_category(model, frame):
    shown = CoefficientDisplay.from_estimator(model, frame, "district")
    why = model.explain(frame)
    assert_allclose(shown.contributions, why.contributions[:, 2, 0])
    assert shown.values[0] == "missing"
    view = view_of(model)
    effects = view.effects(why.encoded.coef, 2)[..., 0]
    average = effects @ view.shares(2)
    assert_allclose(shown.coef, shown.contributions - average, atol=1e-9)
    numbers = CoefficientDisplay.from_estimator(model, frame, "size (m²)")
    assert_allclose(numbers.coef, why.coef[:, 0, 0])
    assert np.isnan(numbers.values[0])


def test_regimes_name_the_column_and_what_its_categories_add():
    model = fitted(("price",), anchor_alpha=0.001, n_anchor_neighbors=60)
    shown = RegimeDisplay.from_estimator(model)
    assert shown.feature_names[2:] == [
        "district: missing", "district: north", "district: old town", "district: south"
    ]  # fmt: skip
    assert shown.sizes.sum() == 60
    text = shown.equations[0]
    assert "district is" not in text
    coef, adds = shown.models[0], {}
    for name in ("old town", "north"):
        found = re.search(rf"{name} ([+−][\d.]+)", text)
        adds[name] = float(found[1].replace("−", "-"))
    # What categories add against each other: the rest of it is part of the constant.
    assert adds["old town"] - adds["north"] == pytest.approx(coef[4] - coef[3], rel=0.01)


def test_the_path_of_alpha_adds_up_by_column(model, frame):
    path = AlphaPathDisplay.from_estimator(model, frame, row=3, alphas=[0.1, 1.0, 100.0])
    assert path.contributions.shape == (3, 3)
    assert_allclose(path.contributions.sum(axis=1) + path.intercepts, path.predictions)
    assert path.predictions[1] == pytest.approx(scores(model, frame)[3, 0])


def test_predictions_stand_against_the_targets_of_the_table(model, frame):
    last = len(model.target_names) - 1
    shown = PredictionDisplay.from_estimator(model, frame, target=last)
    if is_classifier(model.estimator):
        assert_allclose(shown.y_true, frame["kind"] == "small")
        assert_allclose(shown.y_pred, model.predict_proba(frame)[:, 1])
        with pytest.raises(ValueError, match="y has the class 'huge'"):
            PredictionDisplay.from_estimator(model, frame, ["huge"] * len(frame))
    else:
        assert_allclose(shown.y_true, frame[model.target_names[last]])


def test_pictures_of_a_log_model_take_targets_in_units_and_draw_logs():
    frame = houses()
    X, price = frame[["size (m²)", "district"]], frame["price"]
    model = TableRegressor(FALLRegressor(5), target="log", random_state=0).fit(X, price)
    for y in (price, None):
        shown = PredictionDisplay.from_estimator(model, X if y is not None else frame, y)
        assert_allclose(shown.y_true, np.log(price))
        assert shown.target_name == "log of price"
    assert AlphaPathDisplay.from_estimator(model, X, price, row=3).label == np.log(price[3])


def test_each_display_of_a_table_draws(model, frame):
    displays = [
        ContributionDisplay.from_estimator(model, frame, row=5),
        CoefficientDisplay.from_estimator(model, frame, "district"),
        CoefficientDisplay.from_estimator(model, frame, 0),
        RegimeDisplay.from_estimator(model),
        AlphaPathDisplay.from_estimator(model, frame, row=5),
        PredictionDisplay.from_estimator(model, frame),
    ]
    for display in displays:
        display.plot().figure_.canvas.draw()
    start = "score of large" if is_classifier(model.estimator) else "price"
    assert displays[0].ax_.get_xlabel() == displays[4].ax_.get_ylabel() == start


# --- The report ----------------------------------------------------------------------------------


def test_columns_and_constant_are_the_prediction_in_the_file(model, frame, tmp_path):
    model.explain(frame).to_html(tmp_path / "why.html")
    data = data_in(tmp_path / "why.html")
    rows = data["rows"]
    assert data["features"] == COLUMNS
    assert data["targets"] == model.target_names
    assert rows["names"][:2] == ["house 0", "house 1"]
    total = np.sum(rows["contributions"], axis=2) + rows["intercept"]
    assert_allclose(total, rows["prediction"], atol=1e-7)
    assert_allclose(rows["prediction"], scores(model, frame), rtol=1e-8, atol=1e-8)
    layers = np.add(rows["baseline"], rows["level"]) + np.sum(rows["differences"], axis=2)
    assert_allclose(layers, rows["prediction"], atol=1e-7)


def test_another_category_changes_the_prediction_as_the_model_says(model, frame):
    """The page's "what if" of a category is the row's own model on the row with that category."""
    data = report_data(model, Xq=frame)
    choices = data["choices"][2]
    assert data["choices"][:2] == [None, None]
    assert choices == ["missing", "north", "old town", "south", "another value"]
    raw = model.estimator.explain(model.encode(frame))
    for k, category in enumerate([None, "north", "old town", "south", "elsewhere"]):
        moved = model.encode(frame.assign(district=category)).to_numpy()
        there = model.estimator.feature_space.regressors(moved)
        expected = np.einsum("qd,qdm->qm", there, raw.coef) + raw.intercept
        for i in (0, 5, 20):
            here = data["rows"]["positions"][i][2]
            for t in range(len(model.target_names)):
                adds = data["rows"]["coef"][i][t][2]
                predicted = data["rows"]["prediction"][i][t] + adds[k] - adds[int(here)]
                assert predicted == pytest.approx(expected[i, t], rel=1e-6, abs=1e-6)


def test_rows_and_neighbors_hold_what_the_table_holds(model, frame):
    data = report_data(model, Xq=frame)
    values = data["rows"]["values"]
    assert values[0][0] is None
    assert values[0][2] is None
    assert values[5][2] == "<b>moon</b>"
    assert data["rows"]["positions"][5][2] == 4
    districts = houses()["district"].fillna("missing")
    for number, sample in data["samples"].items():
        assert (sample["values"][2] or "missing") == districts[int(number)]
        assert sample["name"] == f"sample {int(number) + 1}"


def test_samples_that_the_model_keeps_need_not_be_given(model):
    data = report_data(model)
    assert data["rows"]["n_total"] == 60
    expected = model.loo_prediction_.reshape(60, -1)
    assert_allclose(data["rows"]["prediction"], expected, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match="X and y must both be given"):
        report_data(model, houses())


def test_what_sets_a_regime_apart_may_be_a_category():
    data = report_data(fitted(("price",), anchor_alpha=0.01))
    tags = [tag for regime in data["regimes"] for tag in regime["distinguishing"]]
    categories = [tag for tag in tags if "category" in tag]
    assert {tag["feature"] for tag in categories} == {"district"}
    assert all(0 <= tag["share"] <= 1 and 0 <= tag["overall"] <= 1 for tag in categories)
    assert all(len({tag["feature"] for tag in regime["distinguishing"]})
               == len(regime["distinguishing"]) for regime in data["regimes"])  # fmt: skip
