"""Sample weights count samples, in all that is learned from them: fits, errors, tables, pages."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
from locallinear.cli.summary import regime_lines
from locallinear.explain import RegimeDisplay, report_data, sections
from locallinear.explain.coverage import interval_coverage, parts_in_order
from locallinear.explain.judging import judge
from locallinear.explain.level_shares import level_shares, samples_in_general
from locallinear.explain.own_samples import count_equal
from locallinear.explain.page import render
from locallinear.explain.regimes import regimes_of
from locallinear.explain.reliability import probability_scores, reliability
from locallinear.explain.text import plural
from locallinear.explain.view import Samples, view_of
from locallinear.grids import SIMPLE
from locallinear.kernels.local.spread import mean_growth
from locallinear.kernels.quantiles import weighted_quantiles
from locallinear.models import conformal
from locallinear.search import companion
from locallinear.search.companion import Companion, companion_of
from locallinear.tables.scale import LogScale, may_be_log
from locallinear.tables.table import TableError
from problems import KINDS

RNG = np.random.default_rng(0)
N, N_WILD = 90, 100
X, Q = RNG.normal(size=(N, 3)), RNG.normal(size=(12, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=N)
LABELS = np.where(Y > 0, "up", "down")
GROUPS = np.arange(N) // 9

# Rows that are far away, in a range of their own, and whose targets are anything.
WILD_X, WILD_Y = 1e4 + 1e3 * RNG.normal(size=(N_WILD, 3)), 1e6 * RNG.normal(size=N_WILD)
WILD_LABELS = RNG.choice(["up", "down"], N_WILD)
ALL_GROUPS = np.concatenate([GROUPS, RNG.integers(0, 30, N_WILD)])
WEIGHTS = np.repeat([1.0, 0.0], [N, N_WILD])


def table(inputs, *, wild):
    """Columns of all kinds; wild ones have other categories, levels, words and years, and gaps."""
    rng, n = np.random.default_rng(wild), len(inputs)
    days = pd.to_timedelta(rng.integers(0, 700, n) + 9000 * wild, unit="D")
    frame = pd.DataFrame(
        {
            "size": inputs[:, 0],
            "colour": rng.choice(list("xyzw" if wild else "abc"), n),
            "sold": pd.Timestamp("2021-01-01") + days,
            "grade": rng.choice(list("789" if wild else "123"), n),
            "text": [f"far {i}" if wild else f"word{i % 5} thing{i % 40}" for i in range(n)],
            "area": inputs[:, 1],
        }
    )
    frame.loc[frame.index[:: 1 if wild else 9], "area"] = np.nan
    return frame


TYPES = {"grade": "ordered", "text": "text"}
TABLE, NEW_ROWS = table(X, wild=False), table(Q, wild=False)
ALL_ROWS = pd.concat([TABLE, table(WILD_X, wild=True)], ignore_index=True)
PRICES, WILD_PRICES = np.exp(Y), -np.abs(WILD_Y)  # which have no log


def assert_equal(one, other):
    """Numbers are equal up to rounding, and texts are the same, at all depths."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
        return
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind in "biuf":
        assert_allclose(other, one, rtol=1e-6, atol=1e-9)
    else:
        assert_array_equal(other, one)


@pytest.fixture(autouse=True)
def few_refits(monkeypatch):
    monkeypatch.setattr(conformal, "N_FOLDS", 4)


def small(**options):
    given = {"n_anchors": 8, "n_neighbors": 6, "n_anchor_neighbors": 20, "random_state": 0}
    return FALLRegressor(**given | options)


def of_table(model=None, target="identity"):
    model = small() if model is None else model
    return TableRegressor(model, target=target, types=TYPES, random_state=0)


GRID = {"n_neighbors": [3, 8], "n_anchors": [5], "scaling": ["standard", "quantile"]}
MEMBERS = {"search": KINDS, "n_neighborhoods": 2, "random_state": 0}
MODELS = {
    "euclidean": small,
    "learned": lambda: small(neighborhood="learned", scaling=None),
    "forest": lambda: small(neighborhood="forest", scaling="quantile"),
    "boosted": lambda: small(neighborhood="boosted"),
    "piecewise": lambda: small(neighborhood="piecewise"),
    "classes": lambda: FALLClassifier(8, n_neighbors=6, neighborhood="boosted", random_state=0),
    "many anchors": lambda: small(n_anchors=30),
    "ensemble": lambda: FALLEnsembleRegressor(4, **MEMBERS),
    "drawn ensemble": lambda: FALLEnsembleRegressor(4, max_samples=60, **MEMBERS),
    "ensemble of classes": lambda: FALLEnsembleClassifier(4, **MEMBERS),
    "table by an ensemble": lambda: of_table(FALLEnsembleRegressor(4, **MEMBERS)),
    "table": of_table,
    "table of logs": lambda: of_table(target="log"),
    "searched table": lambda: of_table(FALLRegressorCV(GRID), "auto"),
    "table of classes": lambda: TableClassifier(
        FALLClassifierCV(GRID), types=TYPES, random_state=0
    ),
}


@cache
def fitted(name):
    """The model fitted without and with the wild rows, which have weight 0."""
    is_table = "table" in name
    rows, all_rows = (TABLE, ALL_ROWS) if is_table else (X, np.vstack([X, WILD_X]))
    y, wild = (PRICES, WILD_PRICES) if is_table else (Y, WILD_Y)
    if "classes" in name:
        y, wild = LABELS, WILD_LABELS
    both = all_rows, np.concatenate([y, wild])
    return MODELS[name]().fit(rows, y), MODELS[name]().fit(*both, sample_weight=WEIGHTS)


def interval(model, groups):
    return model.predict_interval(Q, 0.8), model.predict_interval(Q, 0.8, groups=groups)


def with_a_guarantee(model, groups):
    options = {"method": "cv+", "groups": groups}
    return model.predict_interval(Q, 0.8, method="cv+"), model.predict_interval(Q, 0.8, **options)


def extremes(model, groups):
    with pytest.warns(UserWarning, match="needs more samples"):
        return model.predict_quantiles(Q, [1e-3, 0.999])


def novelty(model, groups):
    return model.novelty(Q)


def errors_of_coefficients(model, groups):
    why = model.explain(Q)
    return why.coef_std, why.slopes_std, why.baseline


def influence(model, groups):
    own = model.degrees_of_freedom(without_itself=True)
    return model.influence(Q).toarray()[:, :N], model.degrees_of_freedom(), own


def sets(model, groups):
    return model.predict_set(Q, 0.8), model.predict_proba(Q), model.novelty(Q)


def coverage(model, groups):
    return interval_coverage(model), interval_coverage(model, Q, Q[:, 0])


def regimes(model, groups):
    view = view_of(model)
    found, shown = regimes_of(view), RegimeDisplay.from_estimator(model)
    equations = found.sizes, found.models, found.errors, found.target_means
    places = found.offsets, found.low, found.high, found.lowest, found.highest
    section = sections.regimes_section(view, view.target_names)
    return equations, places, section, shown.names, shown.equations


def space(model, groups):
    view = view_of(model)
    inputs = np.linspace(X[0], X[1], 50) + 1e-4
    about = sections.space_section(view), sections.model_section(view, model.explain(Q))
    return about, count_equal(view, inputs)


def levels(model, groups):
    return level_shares(view_of(model), model.explain(Q))


def scores(model, groups):
    view = view_of(model)
    targets = np.asarray(view.sample_targets)
    return sections.scores_section(view, view.samples.inputs, targets, n_jobs=1)


def page(model, groups):
    """All but what may take less than all rows, where time is short."""
    data = report_data(model, row_names=[f"row {i}" for i in range(len(model.labels_))])
    return {name: data[name] for name in data.keys() - {"drivers", "effects"}}


def page_of_table(model, groups):
    view = view_of(model)
    about = sections.regimes_section(view, ["price"]), sections.space_section(view)
    lines = regime_lines(model, Companion(model.estimator_, 1.0, None))
    return about, scores(model, groups), lines


def choice(model, groups):
    kinds = [kind["n_members"] for kind in model.kinds_]
    return kinds, model.best_params_, model.cv_score_, model.cv_prediction_[:N]


def ensemble_predictions(model, groups):
    return model.predict(Q), model.predict_interval(Q, 0.8), model.novelty(Q)


def ensemble_probabilities(model, groups):
    return model.predict_proba(Q), model.calibration_, model.predict_set(Q, 0.8)


def columns(model, groups):
    return model.encoding_.to_dict("list"), model.feature_importances_


def table_predictions(model, groups):
    return model.predict(NEW_ROWS), model.predict_interval(NEW_ROWS, 0.8), model.novelty(NEW_ROWS)


def judgement(model, groups):
    return model.cv_score_, model.cv_prediction_[:N], model.folds_[:N], model.best_params_


def classes_of_table(model, groups):
    return model.predict_proba(NEW_ROWS), model.predict_set(NEW_ROWS)


def in_units(model, groups):
    why = model.explain(NEW_ROWS)
    return model.is_log_, why.baseline, why.prediction, why.coef_std


# What to ask of which models; `groups` are those of their samples.
ANSWERS = [
    *(
        (name, ask)
        for name in ("euclidean", "learned", "forest", "boosted", "piecewise")
        for ask in (interval, novelty)
    ),
    *(("euclidean", ask) for ask in (with_a_guarantee, extremes, influence)),
    *(("euclidean", ask) for ask in (coverage, regimes, space, levels, page)),
    *(("learned", ask) for ask in (errors_of_coefficients, space)),
    *(("classes", ask) for ask in (sets, regimes, scores)),
    *(("ensemble", ask) for ask in (coverage, scores)),
    *((name, page_of_table) for name in ("table of logs", "table of classes")),
    *(("ensemble", ask) for ask in (choice, ensemble_predictions)),
    ("drawn ensemble", choice),
    *(("ensemble of classes", ask) for ask in (choice, ensemble_probabilities)),
    ("table by an ensemble", judgement),
    *(("table", ask) for ask in (columns, table_predictions, judgement)),
    *(("table of logs", ask) for ask in (table_predictions, judgement, in_units)),
    *(("searched table", ask) for ask in (judgement, in_units)),
    *(("table of classes", ask) for ask in (columns, judgement, classes_of_table)),
]


@pytest.mark.parametrize(("name", "ask"), ANSWERS)
def test_rows_of_weight_zero_change_nothing(name, ask):
    alone, both = fitted(name)
    assert_equal(ask(alone, GROUPS), ask(both, ALL_GROUPS))


def test_a_file_keeps_which_samples_are_in_no_fold(path):
    for name in ("ensemble", "table by an ensemble"):
        _, both = fitted(name)
        both.save(path)
        again, folds = load(path), "folds_" if "table" in name else "_cv_folds"
        assert_array_equal(getattr(again, folds), getattr(both, folds))
        assert_array_equal(getattr(again, folds) >= 0, WEIGHTS > 0)


def test_a_search_by_some_of_many_samples_draws_those_with_weight():
    search = FALLRegressorCV(GRID, max_samples=N, random_state=0)
    alone = search.fit(X, Y).cv_results_["mean_test_score"]
    search.fit(np.vstack([WILD_X, X]), np.concatenate([WILD_Y, Y]), np.repeat([0, 1], [N_WILD, N]))
    assert_allclose(search.cv_results_["mean_test_score"], alone)


def test_rows_of_weight_zero_change_no_companion(monkeypatch):
    few = SIMPLE | {"n_anchor_neighbors": [40], "anchor_selection": ["random"], "n_neighbors": [5]}
    monkeypatch.setattr(companion, "SIMPLE", few)
    alone, both = (companion_of(model, 4) for model in fitted("many anchors"))
    for name in ("explained", "n_scored", "is_thinned"):
        assert_equal(getattr(alone, name), getattr(both, name))
    assert_equal(alone.model.anchor_models_, both.model.anchor_models_)
    assert_equal(alone.simplicity["score"], both.simplicity["score"])


def growth(v, errors, larger):
    return mean_growth(np.abs(errors), np.abs(larger), v)


def quantiles(v, values, others):
    return weighted_quantiles(np.column_stack([values, others]), v, np.linspace(0, 1, 9))


def smear(v, errors, logs):
    return LogScale().with_errors(np.exp(logs), logs - 0.3 * errors, v).smear


def mean_of_log(v, inputs, logs):
    model = TableRegressor(small(n_anchors=3), target="log", random_state=0)
    return model.fit(inputs[:, None], np.exp(logs), v).explain([[0.0]]).baseline


def of_regimes(v, inputs, targets):
    rows = np.column_stack([inputs, np.sin(inputs)])
    model = small().fit(rows, targets, v)
    view = view_of(model)
    found = regimes_of(view)
    places = found.low, found.high, found.lowest, found.highest, found.offsets
    equations = RegimeDisplay.from_estimator(model).equations
    return found.sizes, found.errors, places, equations, view.center, view.spread, view.n_samples


def in_general(v, inputs, targets):
    samples = Samples(inputs[:, None], targets[:, None], v)
    return inputs[samples_in_general(samples, 8)]


def fifths(v, values, others):
    parts = parts_in_order(values, v, 5)
    return parts.sum(axis=1), parts @ values


def of_probabilities(v, scores, others):
    classes, p = np.array([False, True]), 1 / (1 + np.exp(-scores))
    both = np.column_stack([1 - p, p])
    curve = reliability(others > 0, both, classes, sample_weight=v)
    errors = probability_scores(others > 0, both, classes, v)
    return errors, curve.counts, curve.predicted, curve.observed, curve.low


def other_models(v, inputs, targets):
    train = np.flatnonzero(targets > 0)
    splits = [(train, np.flatnonzero(targets <= 0))]
    models = {"mean": DummyRegressor(), "ridge": make_pipeline(StandardScaler(), Ridge())}
    found = judge(models, inputs[:, None], targets, splits, classify=False, weights=v)
    return [np.unique(one.predicted[targets <= 0].round(9)) for one in found]


def wide(v, values, others):
    return [may_be_log(np.exp(scale * values), v) for scale in np.linspace(0.3, 1.2, 30)]


TWICE = [growth, quantiles, smear, mean_of_log, wide, of_regimes, in_general, fifths]


@pytest.mark.parametrize("what", [*TWICE, of_probabilities, other_models])
def test_a_weight_of_two_is_the_row_twice(what):
    counts = np.random.default_rng(1).integers(0, 4, N)
    kept, repeated = np.flatnonzero(counts), np.repeat(np.arange(N), counts)
    first, second = Y, X[:, 0]
    weighted = what(counts[kept].astype(float), first[kept], second[kept])
    twice = what(np.ones(len(repeated)), first[repeated], second[repeated])
    assert_equal(weighted, twice)


def test_quantiles_of_weights_of_one_are_those_of_numpy():
    levels = np.linspace(0, 1, 11)
    assert_allclose(weighted_quantiles(X, np.ones(N), levels), np.quantile(X, levels, axis=0))
    assert_allclose(weighted_quantiles(X, np.full(N, 0.1), levels), np.quantile(X, levels, axis=0))


def test_sums_of_weights_are_shown_as_numbers():
    weights = np.random.default_rng(0).random(N)
    model, total = small().fit(X, Y, weights), weights.sum()
    data = report_data(model, Xq=Q)
    assert data["model"]["n_samples"] == data["coverage"][0]["n_rows"] == total
    assert_allclose(sum(regime["size"] for regime in data["regimes"]), total)
    assert f"of {total:.1f} samples with" in render(data)
    assert [plural(n, "row") for n in (1.0, 1200.0, 12.5)] == ["1 row", "1,200 rows", "12.5 rows"]


def test_rows_without_weight_need_no_log():
    _, both = fitted("table of logs")
    with pytest.raises(ValueError, match="a target is never negative; that of row 1 is -1"):
        both.partial_fit(TABLE[:1], [-1.0], [1.0])
    more = pickle.loads(pickle.dumps(both)).partial_fit(TABLE[:1], [-1.0], [0.0])
    assert more.n_samples_fit_ == both.n_samples_fit_ + 1
    assert_allclose(more.predict(NEW_ROWS), both.predict(NEW_ROWS))


def test_messages_name_rows_as_the_whole_table_counts_them():
    frame = pd.DataFrame({"rooms": [*range(1, 41), "three"]})
    with pytest.raises(TableError, match="row 41, column 'rooms': expected a number"):
        TableRegressor(small()).fit(frame, np.arange(41.0), np.arange(41) > 9)


def test_groups_of_samples_without_weight_are_none():
    _, both = fitted("euclidean")
    with pytest.raises(ValueError, match=r"at least two groups, but all samples \(with"):
        both.predict_interval(Q, 0.8, groups=WEIGHTS)


def test_intervals_with_a_guarantee_need_only_as_many_samples_as_have_weight():
    weights = np.zeros(400)
    weights[::10] = 1.0
    x = np.random.default_rng(0).normal(size=(400, 2))
    model = small().fit(x, x[:, 0], sample_weight=weights)
    alone = small().fit(x[::10], x[::10, 0])
    found = model.predict_interval(Q[:, :2], 0.8, method="cv+")
    assert_allclose(found, alone.predict_interval(Q[:, :2], 0.8, method="cv+"))
