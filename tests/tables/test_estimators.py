"""TableRegressor and TableClassifier: exact by column, and in scikit-learn's world."""

import copy
import io

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from frames import messy
from houses import TARGETS, fitted, houses
from locallinear import (
    FALLClassifier,
    FALLClassifierCV,
    FALLEnsembleClassifier,
    FALLEnsembleRegressor,
    FALLRegressor,
    FALLRegressorCV,
    TableClassifier,
    TableRegressor,
    load,
)
from locallinear.tables import answers
from locallinear.tables.importances import importances_of
from locallinear.tables.table import TableError

FEW = {"n_neighbors": [3, 8], "n_anchors": [5], "neighborhood": ["euclidean", "learned"]}


# --- Explanations are exact, by column -----------------------------------------------------------


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
@pytest.mark.parametrize("targets", TARGETS, ids=" ".join)
def test_contributions_of_columns_and_constant_are_the_prediction(targets, scaling):
    model, frame = fitted(targets, scaling=scaling), houses(seed=1)
    explanation = model.explain(frame)
    assert explanation.feature_names == ["size (m²)", "rooms", "district"]
    total = explanation.contributions.sum(axis=1) + explanation.intercept
    scores = model.estimator.predict_numeric(model.encode(frame))
    assert_allclose(total, scores, rtol=1e-9, atol=1e-9)
    assert_allclose(explanation.prediction.reshape(total.shape), total)
    models = np.concatenate([explanation.coef, explanation.intercept[:, None]], axis=1)
    assert_allclose(explanation.anchor_part + explanation.correction_part, models, atol=1e-9)


@pytest.mark.parametrize("scale", ["logs", "units"])
def test_all_kinds_of_columns_sum_to_the_prediction_in_units(scale, request):
    model, new = request.getfixturevalue(scale)
    why, predicted = model.explain(new), model.predict(new)[:, None]
    assert why.feature_names == ["size", "district", "sold", "share", "grade", "remark"]
    assert_allclose(why.contributions.sum(axis=1) + why.intercept, predicted)
    layers = why.baseline + why.neighborhood_part + why.difference_parts.sum(axis=1)
    assert_allclose(layers, predicted)
    assert_allclose(why.baseline, messy()[1].mean())
    assert why.encoded.contributions.shape[1] == len(model.encode(new).columns)
    assert why.coef_std.shape == why.coef.shape


def test_coefficients_of_numbers_are_those_of_features_and_other_cells_have_value_one():
    model, frame = fitted(), houses(seed=1)
    explanation, raw = model.explain(frame), model.estimator.explain(model.encode(frame))
    assert_allclose(explanation.coef[:, :2], raw.coef[:, :2])
    assert_allclose(explanation.coef[:, 2], explanation.contributions[:, 2])


def test_samples_are_explained_without_themselves(units):
    model, _ = units
    why = model.explain_samples([4, 7])
    assert_allclose(why.prediction, model.loo_prediction_[[4, 7]])
    assert why.X["district"].tolist() == messy()[0]["district"][[4, 7]].tolist()


# --- One judgement -------------------------------------------------------------------------------


def test_the_judgement_is_of_rows_that_no_model_had_seen():
    frame, price = messy()
    noise = np.random.default_rng(0).permutation(price)  # nothing to learn
    model = TableRegressor(FALLRegressorCV(FEW), target="identity", random_state=0)
    model.fit(frame, noise)
    assert model.score(frame, noise) > 0.9  # its own rows
    assert model.cv_score_ < 0.2
    assert model.cv_score_ == r2_score(noise, model.cv_prediction_)


def test_the_judgement_is_a_loop_of_fits_where_there_is_no_search():
    frame, price = messy()
    inner = FALLRegressor(5, n_neighbors=4, random_state=0)
    model = TableRegressor(inner, target="identity", random_state=0).fit(frame, price)
    X, (unseen, folds) = model.encode(frame), model.table_model.out_of_fold
    for k in range(3):
        again = clone(model.estimator_).fit(X[folds != k], price[folds != k])
        assert_array_equal(unseen[folds == k], again.predict(X[folds == k]))


def test_groups_are_in_one_fold():
    frame, price = messy()
    groups = np.arange(len(frame)) // 4
    model = TableRegressor(FALLRegressor(5), target="identity", random_state=0)
    folds = model.fit(frame, price, groups=groups).table_model.out_of_fold[1]
    assert all(len(set(folds[groups == g])) == 1 for g in set(groups))


def test_a_judgement_is_forgotten_with_the_rows_that_it_was_of():
    frame, price = messy()
    model = TableRegressor(FALLRegressor(5), target="identity", random_state=0)
    model.partial_fit(frame[:100], price[:100]).partial_fit(frame[100:], price[100:])
    assert model.n_samples_fit_ == 120
    assert model.cv_prediction_ is None
    assert np.isnan(model.cv_score_)
    assert model.forget([0, 1]).n_samples_fit_ == 118
    assert_allclose(model.predict(frame[105:108]), price[105:108], rtol=0.05)


# --- Rows that differ from those of the fit ------------------------------------------------------


def test_the_order_of_columns_does_not_matter_and_others_are_not_read(units):
    model, new = units
    turned = new[new.columns[::-1]].assign(other="x")
    assert_array_equal(model.predict(turned), model.predict(new))


def test_new_levels_gaps_and_dates_are_predicted_and_noted(units):
    model, new = units
    assert model.notes(new) == []
    odd = new.assign(district="moon", grade="D", share=None, sold=pd.Timestamp("2040-01-01"))
    assert np.isfinite(model.predict(odd)).all()
    notes = " ".join(model.notes(odd))
    for words in ("'moon' in row 1", "none of its levels", "'share' has no value", "2040-01-01"):
        assert words in notes


def test_a_missing_column_is_one_sentence(units):
    model, new = units
    with pytest.raises(TableError, match=r"has no column 'district', which the model takes"):
        model.predict(new.drop(columns="district"))
    assert len(model.predict(new.drop(columns="id"))) == len(new)  # was left out


def test_the_target_among_the_inputs_is_left_out():
    frame, price = messy()
    model = TableRegressor(FALLRegressor(5), target="identity", random_state=0)
    by_name = clone(model).fit(frame.assign(price=price), "price")
    given = clone(model).fit(frame.assign(price=price), price)
    assert given.encoding_.set_index("column").loc["price", "reason"] == "it is the target"
    assert_array_equal(by_name.predict(frame), given.predict(frame))


def test_frames_of_polars_and_files_give_the_same_model(units):
    model, _ = units
    frame, price = messy()
    again = clone(model).fit(polars.from_pandas(frame.astype({"grade": str})), price)
    text = frame.astype({"grade": str})
    as_text = clone(model).fit(text, price)
    assert_allclose(again.predict(text), as_text.predict(text))
    csv = pd.read_csv(io.StringIO(text.to_csv(index=False)))
    assert_allclose(clone(model).fit(csv, price).predict(csv), as_text.predict(text), rtol=1e-6)


def test_a_fit_that_fails_leaves_the_model_that_was_there():
    frame = pd.DataFrame({"a": np.linspace(0, 1, 80)})
    few = FALLRegressor(5, n_neighbors=30, random_state=0)
    model = TableRegressor(few, target="log", random_state=0).fit(frame, np.exp(3 * frame["a"]))
    before, names = model.predict(frame), model.target_names_
    with pytest.raises(ValueError, match="n_neighbors"):
        model.set_params(target="identity").fit(frame[:20], frame["a"][:20].rename("other"))
    assert_array_equal(model.predict(frame), before)
    assert model.target_names_ == names


def test_rows_for_another_target_or_without_a_log_are_refused():
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": 1.0, "price": np.linspace(5, 9, 60)})
    few = FALLRegressor(5, random_state=0)
    model = TableRegressor(few, target="log", random_state=0).fit(frame, "price")
    with pytest.raises(ValueError, match="the model's target is price, not b"):
        model.partial_fit(frame, "b")
    with pytest.raises(TableError, match="price"):
        model.partial_fit(frame.drop(columns="price"), "price")
    with pytest.raises(ValueError, match=r"never negative; that of row 1 is -5;"):
        model.partial_fit(frame.drop(columns="price"), -frame["price"])


# --- scikit-learn's world ------------------------------------------------------------------------


def test_a_lazy_frame_is_the_frame_that_it_stands_for(units):
    model, frame = units
    price = messy(30, seed=1)[1]
    eager = polars.from_pandas(frame.assign(price=price))
    lazy = eager.lazy()
    assert_allclose(model.predict(lazy), model.predict(frame), rtol=1e-12)
    assert model.score(lazy, "price") == pytest.approx(r2_score(price, model.predict(frame)))
    again = clone(model).fit(lazy, "price")
    assert again.target_names_ == ["price"]
    assert_array_equal(again.predict(eager), clone(model).fit(eager, "price").predict(lazy))


def test_a_score_takes_the_name_of_the_target(units):
    model, frame = units
    price = messy(30, seed=1)[1]
    assert model.score(frame.assign(price=price), "price") == model.score(frame, price)
    with pytest.raises(ValueError, match="the model's target is price, not size"):
        model.score(frame, "size")
    kinds = np.array(["a", "b"])[np.arange(30) % 2]
    classes = TableClassifier(FALLClassifier(3), random_state=0).fit(frame, kinds)
    named = TableClassifier(FALLClassifier(3), random_state=0).fit(frame.assign(k=kinds), "k")
    assert named.score(frame.assign(k=kinds), "k") == classes.score(frame, kinds)


def test_pipelines_searches_and_scores_take_raw_frames():
    frame, price = messy(60)
    model = TableRegressor(FALLRegressor(3), target="identity", random_state=0)
    scores = cross_val_score(make_pipeline(FunctionTransformer(), model), frame, price, cv=2)
    assert np.isfinite(scores).all()
    search = GridSearchCV(model, {"model__n_neighbors": [2, 5], "target": ["log"]}, cv=2)
    assert search.fit(frame, price).best_params_["target"] == "log"


def test_classifiers_have_labels_of_any_type():
    frame, price = messy()
    for labels in (
        (price > 60).to_numpy(),
        np.where(price > 60, "dear", "cheap"),
        price.gt(60) * 7,
    ):
        model = TableClassifier(FALLClassifier(5), random_state=0).fit(frame, labels)
        assert_array_equal(model.classes_, np.unique(labels))
        assert_allclose(model.predict_proba(frame[:5]).sum(axis=1), 1)
        assert model.predict_set(frame[:5]).shape == (5, 2)
        assert 0.5 < model.cv_score_ <= 1
        assert set(model.predict(frame)) <= set(model.classes_)


CLASSIFIERS = [
    FALLClassifier(5),
    FALLClassifierCV(FEW),
    FALLClassifierCV(FEW, time_budget=60.0),
    FALLEnsembleClassifier(2, search=None),
    FALLEnsembleClassifier(2, search=FEW),
]


@pytest.mark.parametrize("inside", CLASSIFIERS, ids=str)
def test_classes_of_the_first_partial_fit_may_occur_later(inside, path):
    frame, price = messy(60)
    labels, late = np.where(price > 60, "dear", "cheap"), frame[:5]
    model = TableClassifier(inside, random_state=0)
    model.partial_fit(frame[5:], labels[5:], classes=["none", "dear", "cheap"])
    assert model.classes_.tolist() == ["cheap", "dear", "none"]
    assert model.cv_prediction_.shape == (55, 3)
    assert model.predict_proba(late)[:, 2].max() < 0.4
    model.partial_fit(late, ["none"] * 5, classes=["cheap", "dear", "none"])
    assert model.predict(late).tolist() == ["none"] * 5
    model.save(path)
    assert_array_equal(load(path).predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("inside", CLASSIFIERS, ids=str)
def test_other_classes_than_those_of_the_first_call_are_refused(inside):
    frame, price = messy(60)
    labels = np.where(price > 60, "dear", "cheap")
    model = TableClassifier(inside, random_state=0)
    with pytest.raises(ValueError, match="classes must name every class, but y has 'dear'"):
        model.partial_fit(frame, labels, classes=["cheap", "none"])
    assert not model.__sklearn_is_fitted__()
    model.partial_fit(frame, labels, classes=["dear", "cheap"])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(frame, labels, classes=["cheap", "dear", "none"])
    with pytest.raises(ValueError, match="y has the class 'none'"):
        model.partial_fit(frame[:1], ["none"])


def test_arrays_of_numbers_are_tables_too():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[::7, 0] = np.nan
    model = TableRegressor(FALLRegressor(5), random_state=0).fit(X, X[:, 1])
    assert model.encoding_["kind"].tolist() == ["number"] * 3
    assert model.feature_importances_.argmax() == 1
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 2 features, but TableRegressor is expecting 3"):
        model.predict(X[:, :2])


def test_importances_are_of_all_columns_of_the_frame(units):
    model, _ = units
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["id"] == 0
    assert max(shares, key=shares.get) in {"size", "district"}


def test_importances_are_of_the_rows_of_now_also_where_rows_came_meanwhile(monkeypatch):
    rng = np.random.default_rng(0)
    X, more = rng.normal(size=(2, 60, 3))
    model = TableRegressor(FALLRegressor(5), target="identity", random_state=0).fit(X, X[:, 1])
    before = copy.deepcopy(model).feature_importances_

    def while_rows_come(encoding, estimator):
        model.partial_fit(more, 9 * more[:, 0])
        return importances_of(encoding, estimator)

    with monkeypatch.context() as patch:
        patch.setattr(answers, "importances_of", while_rows_come)
        assert_array_equal(model.feature_importances_, before)
    after = copy.deepcopy(model).feature_importances_
    assert np.abs(after - before).max() > 0.1
    assert_array_equal(model.feature_importances_, after)


def test_the_model_inside_is_chosen():
    frame, price = messy(60)
    quick = FALLEnsembleRegressor(3, search=None, estimator=FALLRegressor(4))
    many = TableRegressor(quick, target="identity", random_state=0).fit(frame, price)
    assert len(many.estimator_.estimators_) == 3
    assert all(member.indicators for member in many.estimator_.estimators_)
    why = many.explain(frame[:4])
    assert_allclose((why.contributions.sum(axis=1) + why.intercept)[:, 0], many.predict(frame[:4]))
    with pytest.raises(ValueError, match="'model' parameter of TableRegressor must be"):
        TableRegressor(FALLClassifier()).fit(frame, price)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y to be passed"),
        (np.ones(3), "X has 20 rows, but y has 3 targets"),
        (np.full(20, np.nan), "sample 0 has none"),
        ("prise", "no column 'prise', the target"),
        (["a"] * 20, "y must hold numbers, but holds text, such as 'a'; for classes use .*Table"),
        (pd.Series([pd.NaT] * 20), "y must hold numbers, but holds times"),
    ],
)
def test_wrong_targets_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableRegressor(FALLRegressor(2)).fit(messy(20)[0], y)


def test_a_model_that_was_not_fitted_says_so():
    for method in ("predict", "explain", "predict_interval", "novelty"):
        with pytest.raises(NotFittedError, match="This TableRegressor instance is not fitted"):
            getattr(TableRegressor(), method)(messy(5)[0])


def test_masked_cells_in_place_of_a_table_are_refused():
    rows = np.ma.array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])
    for table in (rows, list(rows)):
        with pytest.raises(ValueError, match=r"X must have .* entry \(1, 1\) is masked"):
            TableRegressor().fit(table, [1.0, 2.0, 3.0])
