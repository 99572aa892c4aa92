"""The report: its data is the model, and its file is whole, safe and small."""

import json
import re

import numpy as np
import pandas
import polars
import pytest

from houses import fitted, houses
from locallinear import FALLClassifier, FALLRegressor
from locallinear.explain import data_of_explanation, report_data, sections, write_report
from locallinear.explain.text import REVERSING
from locallinear.runtime import files as _files
from locallinear.search.companion import companion_of
from pages import data_in

HOSTILE = ["<script>alert(1)</script>", '"quo\'ted" & more', "שלום עולם", "long name " * 30]


def assert_rows_add_up(rows, expected):
    prediction, intercept = np.array(rows["prediction"]), np.array(rows["intercept"])
    contributions = np.array(rows["contributions"])
    assert contributions.shape[:2] == prediction.shape
    np.testing.assert_allclose(contributions.sum(axis=2) + intercept, prediction, atol=1e-7)
    level = np.array(rows["baseline"]) + rows["level"]
    layers = level + np.array(rows["differences"]).sum(axis=2)
    np.testing.assert_allclose(layers, prediction, atol=1e-7)
    np.testing.assert_allclose(prediction, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scaling", ["standard", "quantile", None])
@pytest.mark.parametrize(
    ("m", "neighborhood"), [(1, "euclidean"), (3, "euclidean"), (1, "learned")]
)
def test_contributions_and_intercept_are_the_prediction_in_the_file(
    make_problem, tmp_path, scaling, m, neighborhood
):
    X, y, Q = make_problem(m=m)
    model = FALLRegressor(6, scaling=scaling, neighborhood=neighborhood, random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    write_report(path, report_data(model, X, y, Xq=Q))
    rows = data_in(path)["rows"]
    assert_rows_add_up(rows, model.predict(Q).reshape(len(Q), -1))
    why = model.explain(Q)
    np.testing.assert_allclose(rows["coef"], why.coef.swapaxes(1, 2), rtol=1e-8, atol=1e-12)
    slopes = rows["coef"] if rows["slopes"] is None else rows["slopes"]
    np.testing.assert_allclose(slopes, why.slopes.swapaxes(1, 2), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
def test_sliders_run_over_ranks_and_tell_the_values_that_have_them(make_problem, neighborhood):
    X, y, _ = make_problem()
    model = FALLRegressor(6, scaling="quantile", neighborhood=neighborhood, random_state=0)
    model.fit(X, y)
    knots = report_data(model, X, y)["space"]["knots"]
    for values, ranks, column in zip(knots["units"], knots["scaled"], X.T, strict=True):
        np.testing.assert_allclose([values[0], values[-1]], [column.min(), column.max()], rtol=1e-6)
        expected = np.sqrt(3) * (2 * np.arange(len(X)) + 1 - len(X)) / len(X)
        np.testing.assert_allclose(np.interp(values, np.sort(column), expected), ranks, atol=1e-4)


def test_classes_add_up_and_have_the_probabilities_of_predict_proba(make_problem, tmp_path):
    X, y, Q = make_problem()
    labels = np.array(["low", "middle", "<b>high</b>"])[np.digitize(y, [-1, 1])]
    model = FALLClassifier(n_anchors=6, random_state=0).fit(X, labels)
    path = tmp_path / "report.html"
    model.explain(Q).to_html(path)
    data = data_in(path)
    assert data["targets"] == list(model.classes_)
    assert_rows_add_up(data["rows"], model.explain(Q).prediction)
    np.testing.assert_allclose(data["rows"]["probability"], model.predict_proba(Q), atol=1e-9)


def test_neighbors_are_the_samples_with_their_weights_and_values(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(n_neighbors=4, random_state=0).fit(X, y)
    data = report_data(model, X, y, Xq=Q)
    why = model.explain(Q)
    assert data["rows"]["neighbors"] == why.neighbors.tolist()
    np.testing.assert_allclose(data["rows"]["neighbor_weights"], why.neighbor_weights, atol=1e-5)
    for number, sample in data["samples"].items():
        np.testing.assert_allclose(sample["values"], X[int(number)], rtol=1e-4)
        assert sample["true"][0] == pytest.approx(y[int(number)], rel=1e-4)
        assert sample["regime"] == model.labels_[int(number)]


def test_feature_weights_are_listed_the_heaviest_first(make_problem, tmp_path):
    X, y, Q = make_problem()
    path = tmp_path / "report.html"
    for neighborhood in ("euclidean", "learned"):
        model = FALLRegressor(neighborhood=neighborhood, random_state=0).fit(X, y)
        model.explain(Q).to_html(path)
        page, listed = path.read_text("utf-8"), data_in(path)["model"]["feature_weights"]
        if neighborhood == "euclidean":
            assert listed is None
            assert "All features have the same weight in deciding which samples are near." in page
        else:
            weights = {part["feature"]: part["weight"] for part in listed}
            assert list(weights.values()) == sorted(weights.values(), reverse=True)
            for j, weight in enumerate(model.feature_weights_):
                assert weights.get(f"x{j}", 0.0) == pytest.approx(weight)
            first = listed[0]
            assert f"<bdi>{first['feature']}</bdi> ({100 * first['weight']:.0f}%)" in page


def test_scores_are_those_of_cross_validation(make_problem):
    from sklearn.base import clone
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold, cross_val_predict

    X, y, _ = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    scores = report_data(model, X, y)["scores"]
    predicted = cross_val_predict(clone(model), X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert scores["models"][0]["R²"]["value"] == pytest.approx(r2_score(y, predicted))
    assert [entry["name"] for entry in scores["models"][1:]] == ["KNN", "ridge", "mean"]


def test_regimes_are_the_labels_and_equations_are_near_those_of_their_anchors(make_problem):
    X, y, _ = make_problem(d=7)
    model = FALLRegressor(n_anchors=6, random_state=0).fit(X, y)
    regimes = report_data(model, X, y)["regimes"]
    assert sum(regime["size"] for regime in regimes) == len(X)
    for regime in regimes:
        anchor = model.anchor_models_[regime["label"], :, 0]
        equation, inside = regime["equations"][0], X[model.labels_ == regime["label"]]
        assert 1 <= len(equation["terms"]) <= 4
        short = np.full(len(inside), equation["constant"])
        for term in equation["terms"]:
            short += term["coef"] * inside[:, int(term["feature"][1:])]
        away = np.abs(inside @ anchor[:-1] + anchor[-1] - short)
        assert np.quantile(away, 0.95) == pytest.approx(equation["left_out"], abs=1e-6)


def test_hostile_names_are_text_everywhere(make_problem, tmp_path):
    X, y, Q = make_problem(d=4, m=2)
    frame = pandas.DataFrame(X, columns=HOSTILE)
    targets = pandas.DataFrame(y, columns=["</script><script>alert(2)</script>", "-->\u2028"])
    model = FALLRegressor(random_state=0).fit(frame, targets)
    path = tmp_path / "report.html"
    names = [f"<img src=x onerror=alert(3)> {i}" for i in range(len(Q))]
    data = report_data(
        model,
        frame,
        targets,
        Xq=pandas.DataFrame(Q, columns=HOSTILE),
        row_names=names,
        title="</title><script>alert(4)</script>",
    )
    write_report(path, data)
    assert data_in(path) == data
    assert data["features"] == HOSTILE
    assert data["targets"] == list(targets.columns)
    assert data["rows"]["names"] == names
    text = path.read_text("utf-8")
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert text.count("</script>") == 3
    assert "<title>&lt;/title&gt;&lt;script&gt;" in text


def test_a_file_of_many_rows_and_twenty_features_holds_them_all_below_ten_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(400, 20)), rng.normal(size=(20_000, 20)).round(3)
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = FALLRegressor(n_anchors=20, n_neighbors=20, random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    data = report_data(model, X, y, Xq=Q)
    write_report(path, data)
    assert data["all_rows"]["n"] == 20_000
    text = path.read_text("utf-8")
    assert "each of the 20,000 rows can be found" in text
    assert "Rows are sampled" not in text
    assert 3_000_000 < path.stat().st_size < 10_000_000


def test_more_rows_or_numbers_are_sampled_and_the_page_says_so(make_problem, tmp_path):
    X, y, _ = make_problem(n=120)
    model = FALLRegressor(random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    data = report_data(model, X, y, max_rows=50)
    write_report(path, data)
    text = path.read_text("utf-8")
    assert len(data["rows"]["names"]) == 50
    assert re.search(r"Rows are sampled: this page holds 50 of\s+120 rows", text)
    names = [int(name.split()[1]) for name in data["rows"]["names"]]
    np.testing.assert_allclose(data["rows"]["values"], X[names], rtol=1e-8)
    np.testing.assert_allclose(np.ravel(data["rows"]["true"]), y[names], rtol=1e-4)


def test_wide_problems_keep_the_bound_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 100))
    labels = rng.integers(0, 8, size=150)
    model = FALLClassifier(n_anchors=2, n_neighbors=3, random_state=0).fit(X, labels)
    path = tmp_path / "report.html"
    data = report_data(model, X, labels)
    write_report(path, data)
    assert len(data["rows"]["names"]) < 150 == data["rows"]["n_total"] == data["all_rows"]["n"]
    assert path.stat().st_size < 10_000_000


def test_an_explanation_s_report_is_that_of_its_model_and_samples(make_problem, tmp_path):
    X, y, Q = make_problem()
    names = ["a", "b", "c"]
    X, Q = pandas.DataFrame(X, columns=names), pandas.DataFrame(Q, columns=names)
    model = FALLRegressor(random_state=0).fit(X, y)
    path = tmp_path / "report.html"
    model.explain(Q).to_html(path, title="mine")
    data, expected = data_in(path), report_data(model, X, y, Xq=Q, title="mine")
    assert_rows_add_up(data["rows"], model.predict(Q)[:, None])
    assert data["regimes"] == expected["regimes"]
    ours, theirs = data["scores"]["models"][0], expected["scores"]["models"][0]
    assert ours["R²"]["value"] == pytest.approx(theirs["R²"]["value"])


@pytest.fixture
def explained(monkeypatch):
    """How many rows each call of `explain` had."""
    calls = []
    explain = FALLRegressor.explain

    def counted(self, X):
        calls.append(len(X))
        return explain(self, X)

    monkeypatch.setattr(FALLRegressor, "explain", counted)
    return calls


def test_rows_are_explained_once_for_a_report_and_never_again(make_problem, explained, tmp_path):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    report_data(model, X, y, Xq=Q, max_rows=20)
    assert explained == [20]
    why = model.explain(Q)
    why.to_html(tmp_path / "report.html", max_rows=20)
    why.plot(3, max_neighbors=0)
    assert explained == [20, 30]


def test_rows_of_a_table_are_explained_once_for_a_report_and_never_again(explained, tmp_path):
    model, frame = fitted(), houses(seed=1)
    report_data(model, Xq=frame)
    assert explained == [60]
    why = model.explain(frame)
    why.to_html(tmp_path / "report.html")
    why.plot(3, max_neighbors=0)
    assert explained == [60, 60]


def test_a_sample_of_an_explanation_s_rows_is_reported_with_its_names(make_problem, tmp_path):
    X, y, Q = make_problem()
    names = [f"mix {i}" for i in range(len(Q))]
    X, Q = (pandas.DataFrame(rows, columns=["a", "b", "c"]) for rows in (X, Q))
    model = FALLRegressor(random_state=0).fit(X, y)
    data = data_of_explanation(model.explain(Q.set_axis(names, axis=0)), yq=Q["a"], max_rows=7)
    shown = [names.index(name) for name in data["rows"]["names"]]
    assert len(shown) == 7
    assert data["rows"]["n_total"] == len(Q)
    np.testing.assert_allclose(data["rows"]["values"], Q.iloc[shown], rtol=1e-8)
    np.testing.assert_allclose(np.ravel(data["rows"]["true"]), Q["a"].iloc[shown], rtol=1e-4)
    assert_rows_add_up(data["rows"], model.predict(Q.iloc[shown])[:, None])


def test_frames_of_polars_and_indices_of_pandas_are_understood(make_problem):
    X, y, Q = make_problem()
    names = ["a", "b", "c"]
    frame = polars.DataFrame(X, schema=names)
    model = FALLRegressor(random_state=0).fit(frame, y)
    data = report_data(model, frame, y, Xq=polars.DataFrame(Q, schema=names))
    assert data["rows"]["names"][3] == "row 3"
    indexed = pandas.DataFrame(Q, columns=names, index=[f"mix {i}" for i in range(len(Q))])
    assert report_data(model, frame, y, Xq=indexed)["rows"]["names"][3] == "mix 3"


def test_too_few_samples_to_split_is_said_not_raised(tmp_path):
    model = FALLRegressor(n_neighbors=3).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    path = tmp_path / "report.html"
    write_report(path, report_data(model, [[0.0], [1.0], [2.0]], np.array([0.0, 1.0, 2.0])))
    assert "could not be cross-validated" in path.read_text("utf-8")


@pytest.mark.parametrize("n", [4, 5, 7, 11])
def test_few_samples_are_scored_in_fewer_folds(n, make_problem):
    X, y, _ = make_problem(n=n)
    model = FALLRegressor(n_neighbors=1, random_state=0).fit(X, y)
    scores = report_data(model, X, y)["scores"]
    assert scores["n_folds"] == min(5, n // 2)
    assert np.isfinite([entry["R²"]["value"] for entry in scores["models"]]).all()
    labels = np.arange(n) % 3
    classifier = FALLClassifier(n_neighbors=1, random_state=0).fit(X, labels)
    json.dumps(report_data(classifier, X, labels), allow_nan=False)


@pytest.mark.parametrize("scaling", [None, "standard", "quantile"])
def test_rows_add_up_with_a_feature_that_is_constant_in_the_samples(make_problem, scaling):
    X, y, Q = make_problem()
    X[:, 1] = 7.0
    model = FALLRegressor(n_anchors=6, scaling=scaling, random_state=0).fit(X, y)
    assert_rows_add_up(report_data(model, X, y, Xq=Q)["rows"], model.predict(Q)[:, None])


def test_the_confusion_of_classes_counts_all_rows_as_the_score_does(make_problem, monkeypatch):
    monkeypatch.setattr(sections, "MOST_DRAWN", 10)
    X, y, _ = make_problem()
    labels = np.where(y > 1, "high", "low")
    scores = report_data(FALLClassifier(n_anchors=6, random_state=0).fit(X, labels))["scores"]
    counts = np.array(scores["confusion"])
    assert counts.sum() == scores["n_scored"] == len(X)
    assert counts.sum(axis=1).tolist() == [(labels == c).sum() for c in ("high", "low")]
    shares = np.diag(counts) / counts.sum(axis=1)
    assert shares.mean() == pytest.approx(scores["models"][0]["balanced accuracy"]["value"])
    assert not scores["is_drawn"]


def test_what_rounding_leaves_of_zeros_is_zero():
    X = np.random.default_rng(0).normal(size=(60, 3), scale=0.1)
    X[30:] += 9.0
    model = FALLClassifier(4, random_state=0).fit(X, np.repeat(["far", "near"], 30))
    rows = report_data(model, Xq=X[:5] + 0.01)["rows"]
    assert_rows_add_up(rows, model.explain(X[:5] + 0.01).prediction)
    for name in ("coef", "contributions", "differences"):
        assert not np.any(rows[name])


def test_a_class_with_one_sample_and_a_constant_feature_are_no_obstacle(tmp_path, make_problem):
    X, y, _ = make_problem(n=40)
    X[:, 1] = 7.0
    labels = np.where(y > 0, "up", "down")
    labels[0] = "alone"
    model = FALLClassifier(n_anchors=3, random_state=0).fit(X, labels)
    write_report(tmp_path / "report.html", report_data(model, X, labels))


def test_a_file_is_whole_or_absent(make_problem, tmp_path, monkeypatch):
    X, y, _ = make_problem(n=30)
    data = report_data(FALLRegressor(random_state=0).fit(X, y), X, y)
    path = tmp_path / "report.html"
    write_report(path, data)
    before = path.read_bytes()
    monkeypatch.setattr(_files.os, "replace", _fail)
    with pytest.raises(OSError, match="disk"):
        write_report(path, data)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def _fail(*_):
    raise OSError("the disk is full")


def test_the_file_asks_for_nothing_from_elsewhere(make_problem, tmp_path):
    X, y, _ = make_problem(n=30)
    path = tmp_path / "report.html"
    write_report(path, report_data(FALLRegressor(random_state=0).fit(X, y), X, y))
    text = path.read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", text)


def test_a_name_cannot_reverse_the_text_around_it(tmp_path):
    X = np.random.default_rng(0).uniform(size=(30, 2))
    frame = pandas.DataFrame(X, columns=["price \u202eevil", "b"])
    model = FALLRegressor(3, random_state=0).fit(frame, X.sum(axis=1))
    write_report(tmp_path / "page.html", report_data(model, frame, X.sum(axis=1)))
    page = (tmp_path / "page.html").read_text()
    assert "price [U+202E]evil" in page
    assert not REVERSING & set(page)


def test_samples_that_are_not_the_fitted_ones_are_refused(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X must be the 120 samples"):
        report_data(model, X[:50], y[:50], Xq=Q)
    with pytest.raises(ValueError, match="row_names must name the 30 rows"):
        report_data(model, X, y, Xq=Q, row_names=["a"])


def test_an_explanation_of_a_model_that_changed_is_refused(make_problem, tmp_path):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    why = model.explain(Q)
    why.model.set_params(n_neighbors=1)
    with pytest.raises(ValueError, match="the model has changed"):
        why.to_html(tmp_path / "report.html")


def test_an_explanation_reports_the_model_that_gave_it_whatever_that_forgot_since(make_problem):
    X, y, Q = make_problem()
    model = FALLRegressor(random_state=0).fit(X, y)
    why = model.explain(Q)
    model.forget(range(60))
    data = data_of_explanation(why)
    assert data["rows"]["prediction"] == [[pytest.approx(p)] for p in why.prediction]
    assert why.model.n_samples_fit_ == len(X)


def test_samples_explained_without_themselves_can_be_reported(make_problem):
    X, y, _ = make_problem(n=40)
    why = FALLRegressor(4, random_state=0).fit(X, y).explain_samples([3, 8])
    data = data_of_explanation(why)
    assert data["rows"]["prediction"] == [[pytest.approx(p)] for p in why.prediction]
    assert 3 not in data["rows"]["neighbors"][0]


def test_a_companion_gives_its_regimes_and_says_how_much_it_explains(make_problem, tmp_path):
    X, y, Q = make_problem()
    model = FALLRegressor(40, random_state=0).fit(X, y)
    companion = companion_of(model, 3)
    path = tmp_path / "report.html"
    data = report_data(model, X, y, Xq=Q, companion=companion)
    write_report(path, data)
    assert len(data["regimes"]) <= 3
    labels = {regime["label"] for regime in data["regimes"]}
    assert set(data["rows"]["regime"]) <= labels
    for number, sample in data["samples"].items():
        assert sample["regime"] == companion.model.labels_[int(number)]
    assert_rows_add_up(data["rows"], model.predict(Q)[:, None])
    said = f"{100 * companion.explained:.0f}% of the variance in what the model that predicts"
    assert said in " ".join(path.read_text("utf-8").split())
    own = report_data(model, X, y, companion=companion)["rows"]
    assert own["n_own"] == own["n_total"]
    assert set(own["regime"]) <= labels
