"""Frames of awkward types, columns that name rows, and targets with gaps or written as text."""

import uuid

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from commands import call, refused_fit, written
from locallinear import FALLClassifier, FALLRegressor, TableClassifier, TableRegressor, load
from locallinear.tables.encoding import fit_encoding
from locallinear.tables.kinds import understand
from locallinear.tables.table import TableError, as_table

N = 60
ROWS = np.arange(N)


def regressor():
    return TableRegressor(FALLRegressor(3, n_neighbors=5), target="identity", random_state=0)


# --- Columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (ROWS + 1960, "number"),
        (ROWS + 1, "skip"),
        (np.delete(ROWS, [0, 1, 30]), "skip"),
        ([str(uuid.UUID(int=7919 * int(i) ** 19)) for i in ROWS], "skip"),
        ([[i, 1] for i in ROWS], "skip"),
        ([{"a": i} for i in ROWS], "skip"),
        ([bytes([i]) for i in ROWS], "skip"),
    ],
    ids=["years", "count", "count with gaps", "UUIDs", "lists", "dicts", "bytes"],
)
def test_a_column_is_what_its_values_are(values, kind):
    found = understand(pd.Series(values, name="v"))
    assert found.kind == kind, found.reason


def test_complex_numbers_are_refused():
    with pytest.raises(TableError, match="column 'v' holds complex numbers; make columns"):
        understand(pd.Series(ROWS * 1j, name="v"))


def test_all_categories_that_a_user_asks_for_have_a_feature():
    codes = pd.DataFrame({"postcode": [f"{10000 + i % 80}" for i in range(400)]})
    encoding = fit_encoding(as_table(codes), {"postcode": "category"})
    assert_array_equal(encoding.inputs(as_table(codes)).sum(axis=1), 1)
    assert encoding.unseen(as_table(codes)) == []
    many = pd.DataFrame({"postcode": [f"{10000 + i}" for i in range(600)]})
    with pytest.raises(TableError, match=r"600 different values are too many .* the kind text"):
        fit_encoding(as_table(many), {"postcode": "category"})


# --- Tables of Arrow -----------------------------------------------------------------------------


def test_a_table_of_arrow_is_the_frame_that_it_came_from():
    arrow = pytest.importorskip("pyarrow", reason="tables of Arrow need pyarrow")
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=N, freq="31h", tz="Europe/Berlin"),
            "size": np.where(ROWS % 7 == 0, np.nan, ROWS * 1.7 % 11),
            "kind": pd.Categorical(["a", "b", None] * (N // 3)),
            "day": pd.date_range("2020-01-01", periods=N).date,
            "start": pd.date_range("2020-01-01", periods=N, freq="31h").time,
            "wait": pd.to_timedelta(ROWS * 90, unit="s"),
            "yes": [True, False, None] * (N // 3),
            "lists": [[1, 2], [3]] * (N // 2),
        }
    )
    table = arrow.Table.from_pandas(frame)
    model = regressor().fit(frame, ROWS)
    for same in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        other = regressor().fit(same, ROWS)
        assert other.encoding_.equals(model.encoding_)
        assert_array_equal(other.predict(same), model.predict(frame))
        assert_array_equal(model.predict(same), model.predict(frame))


# --- Targets -------------------------------------------------------------------------------------


def test_labels_may_be_called_as_columns_are():
    labels = ["yes", "no"] * (N // 2)
    frame = pd.DataFrame({"yes": ROWS * 1.7 % 11, "no": ROWS % 2 + 0.1 * ROWS})
    model = TableClassifier(FALLClassifier(3), random_state=0).fit(frame, labels)
    assert set(model.classes_) == {"yes", "no"}
    assert (
        regressor().fit(frame.assign(x=ROWS % 5), ["yes", "no"]).predict(frame.assign(x=1)).ndim
        == 2
    )


def test_rows_without_a_named_target_are_left_out_with_a_warning():
    frame = pd.DataFrame({"size": ROWS * 1.7 % 11, "price": ROWS * 1.7 % 11 + 1})
    gaps = frame.assign(price=frame["price"].mask(ROWS % 10 == 3))
    weights = 1.0 + ROWS % 3
    with pytest.warns(UserWarning, match="rows without a target are left out: 6 of 60"):
        model = regressor().fit(gaps, "price", sample_weight=weights)
    known = gaps["price"].notna()
    same = regressor().fit(frame[known], "price", sample_weight=weights[known])
    assert_array_equal(model.predict(frame), same.predict(frame))
    assert len(model.cv_prediction_) == known.sum()
    with pytest.raises(ValueError, match="sample_weight"):
        regressor().fit(gaps, "price", sample_weight=1.0 * known[:9])
    with pytest.raises(ValueError, match=r"NaN|missing"):
        regressor().fit(frame[["size"]], gaps["price"])


PRICES = (ROWS * 1.7 % 11 + 1).round(2)
WRITTEN = {
    "amounts of money in USD": [f"${1000 * x:,.2f}" for x in PRICES],
    "percentages": [f"{1000 * x:.2f} %" for x in PRICES],
    "numbers with marks, as in 1.234,5": [
        f"{1000 * x:,.2f}".translate(str.maketrans(",.", ".,")) for x in PRICES
    ],
}


@pytest.mark.parametrize("words", WRITTEN)
def test_targets_in_text_are_read_as_columns_are(words, tmp_path):
    frame = pd.DataFrame({"size": PRICES, "other": ROWS % 5})
    texts = frame.assign(price=WRITTEN[words])
    model = regressor().fit(texts, "price")
    expected = regressor().fit(frame, 1000 * PRICES)
    assert_allclose(model.predict(frame), expected.predict(frame))
    assert model.score(texts, "price") == expected.score(frame, 1000 * PRICES)
    with pytest.raises(ValueError, match="y must hold numbers, but holds text"):
        model.partial_fit(texts[:3], "price")  # a few rows may leave open what a mark means
    data, out = written(tmp_path, texts), tmp_path / "a.model"
    printed = call(
        "fit", data, "--target", "price", "--time-budget", 0.2, "--quick", "--jobs", 1, "--out", out
    )
    assert f"The target 'price' is read as {words}." in printed.stdout
    assert isinstance(load(out), TableRegressor)


def test_a_slip_in_a_target_is_named_by_its_row(tmp_path):
    data = written(
        tmp_path, pd.DataFrame({"size": PRICES, "price": [*WRITTEN["percentages"][1:], "x"]})
    )
    assert "row 60, column 'price': expected a number, but found 'x'" in refused_fit(data)


# --- Codes, and what a model of tables does not have ----------------------------------------------


@pytest.mark.parametrize("n_codes", [12, 45])
def test_a_code_without_its_zeros_is_the_code(n_codes):
    codes = pd.DataFrame({"code": [f"{i % n_codes:04}" for i in range(200)]})
    encoding = fit_encoding(as_table(codes))
    bare = as_table(codes.astype({"code": int}))
    assert_array_equal(encoding.inputs(bare), encoding.inputs(as_table(codes)))
    assert encoding.unseen(bare) == []


def test_a_number_that_could_be_two_codes_is_none_of_them():
    codes = pd.DataFrame({"code": ["06", "006", "7"] * 9})
    encoding = fit_encoding(as_table(codes), {"code": "category"})
    assert encoding.inputs(as_table(pd.DataFrame({"code": [6, 7]}))).sum(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("kind", "name", "remedy"),
    [
        (TableRegressor, "to_onnx", r"model\.estimator_\.to_onnx\(\)"),
        (TableClassifier, "to_onnx", r"model\.estimator_\.to_onnx\(\)"),
        (TableClassifier, "predict_interval", "use predict_set"),
        (TableRegressor, "predict_set", "use predict_interval"),
    ],
)
def test_what_a_model_does_not_have_is_said_with_what_to_use(kind, name, remedy):
    with pytest.raises(AttributeError, match=remedy):
        getattr(kind(), name)
    assert not hasattr(kind(), name)


@pytest.mark.parametrize("rows", [None, 5, "ab", pd.NA, sparse.eye_array(3)], ids=repr)
def test_a_score_of_what_is_no_table_is_refused_as_predict_refuses_it(rows):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = TableRegressor(FALLRegressor(3), random_state=0).fit(X, X[:, 0])
    for ask in (model.predict, lambda X: model.score(X, [1.0])):
        with pytest.raises((ValueError, TypeError), match=r"Expected 2D array|X is sparse, but a"):
            ask(rows)


def test_rows_without_a_column_get_the_same_sentence_from_all_methods():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
    model = TableRegressor(FALLRegressor(3), random_state=0).fit(frame, frame["a"] * 2)
    for ask in (model.predict, model.explain, model.notes, lambda X: model.score(X, frame["a"])):
        with pytest.raises(TableError, match="has no column 'c', which the model takes"):
            ask(frame[["a", "b"]])


@pytest.mark.parametrize("rows", [[[1.0, 2], [3]], [[1.0, [2, 3]], [3, 4]]])
def test_rows_of_several_lengths_are_no_table(rows):
    with pytest.raises(ValueError, match="X must have rows of one length, but has"):
        TableRegressor().fit(rows, [1, 2])
