"""All rows of a page in short: what is packed is what the model says."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from houses import houses, table_estimator
from locallinear import FALLClassifier, FALLRegressor
from locallinear.explain import data_of_explanation, report, report_data, rows
from locallinear.explain.packing import Packer


def unpacked(section, place):
    """An array or texts of a section, as the page reads them."""
    content = zlib.decompress(base64.b64decode(section["packed"]))
    kind, first, n = place
    if kind == "text":
        return content[first : first + n].decode().split("\n")
    size = np.dtype(kind).itemsize
    planes = np.frombuffer(content[first : first + n * size], np.uint8).reshape(size, n)
    return np.ascontiguousarray(planes.T).view(f"<{kind}")[:, 0].astype(np.float64)


def scaled(section, part):
    return part["scale"] * unpacked(section, part["part"])


def cells(section, column):
    if "numbers" in column:
        return [None if v != v else v for v in unpacked(section, column["numbers"]).tolist()]
    codes = unpacked(section, column["codes"]).astype(int)
    values = (
        [None, *unpacked(section, column["texts"])]
        if "texts" in column
        else [None if v != v else v for v in unpacked(section, column["values"]).tolist()]
    )
    return [values[code] for code in codes]


@pytest.fixture
def few_detailed(monkeypatch):
    monkeypatch.setattr(rows, "MOST_DETAILED", 7)


@pytest.mark.usefixtures("few_detailed")
@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_each_row_has_its_cells_prediction_interval_and_layers(scaling):
    estimator, table = table_estimator(("price", "rent"), scaling=scaling), houses(80, seed=1)
    model = estimator.table_model
    data = report_data(model, Xq=table, yq=table[["price", "rent"]])
    assert len(data["rows"]["names"]) == 7
    section, why = data["all_rows"], model.explain(table)
    assert section["n"] == 80
    found = [cells(section, column) for column in section["columns"]]
    for name, column in zip(data["features"], found, strict=True):
        expected = [None if v != v else v for v in table[name]]
        assert column == [pytest.approx(v) if isinstance(v, float) else v for v in expected]
    interval = estimator.predict_interval(table)
    for t in range(2):
        predicted = unpacked(section, section["prediction"][t])
        assert_allclose(predicted, why.prediction[:, t], rtol=1e-6)
        parts = np.column_stack([scaled(section, part) for part in section["differences"][t]])
        close = {"rtol": 1e-3, "atol": 1e-6 * np.abs(parts).max()}
        assert_allclose(parts, why.difference_parts[:, :, t], **close)
        ends = np.column_stack([scaled(section, end) for end in section["interval"][t]])
        assert_allclose(ends, interval[:, t] - why.prediction[:, t, None], rtol=1e-3)
        true = cells(section, section["true"][t])
        assert_allclose(true, table[["price", "rent"][t]], rtol=1e-5)


@pytest.mark.usefixtures("few_detailed")
def test_detailed_rows_are_among_all_rows_at_their_places(make_problem):
    X, y, Q = make_problem(n=60)
    model = FALLRegressor(6, random_state=0).fit(X, y)
    for data in (report_data(model, Xq=Q), data_of_explanation(model.explain(Q))):
        names = unpacked(data["all_rows"], data["all_rows"]["names"])
        assert len(names) == len(Q)
        assert [names[i] for i in data["all_rows"]["detailed"]] == data["rows"]["names"]


@pytest.mark.usefixtures("few_detailed")
def test_training_rows_are_held_without_themselves(make_problem):
    X, y, _ = make_problem(n=60)
    model = FALLRegressor(6, random_state=0).fit(X, y)
    section = report_data(model)["all_rows"]
    assert_allclose(unpacked(section, section["prediction"][0]), model.loo_prediction_, rtol=1e-6)


@pytest.mark.usefixtures("few_detailed")
def test_classes_have_their_probabilities(make_problem):
    X, y, Q = make_problem(n=60)
    model = FALLClassifier(6, random_state=0).fit(X, np.where(y > 0, "a", "b"))
    section = report_data(model, Xq=Q)["all_rows"]
    found = np.column_stack([unpacked(section, place) for place in section["probability"]])
    assert_allclose(found, model.predict_proba(Q), atol=1e-6)


@pytest.mark.usefixtures("few_detailed")
def test_where_not_all_rows_fit_some_are_held_and_the_detailed_are_among_them(
    make_problem, monkeypatch
):
    X, y, _ = make_problem(n=60)
    model = FALLRegressor(6, random_state=0).fit(X, y)
    Q = np.random.default_rng(0).normal(size=(500, X.shape[1]))
    whole = len(report_data(model, Xq=Q)["all_rows"]["packed"])
    monkeypatch.setattr(report, "MOST_CHARACTERS", whole // 2)
    data = report_data(model, Xq=Q)
    section = data["all_rows"]
    assert 100 < section["n"] < 300
    assert len(section["packed"]) <= whole // 2
    names = unpacked(section, section["names"])
    assert [names[i] for i in section["detailed"]] == data["rows"]["names"]
    assert data["rows"]["n_total"] == 500


CELLS = st.none() | st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6, width=32)
TEXTS = st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]))


@given(st.lists(CELLS, min_size=1) | st.lists(TEXTS, min_size=1))
def test_cells_come_back_as_they_were(column):
    pack = Packer()
    place = pack.add_cells(column)
    assert cells({"packed": pack.text()}, place) == column
