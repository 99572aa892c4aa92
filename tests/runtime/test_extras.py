"""Where an optional package is missing, a sentence says how to install it."""

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from houses import houses, table_estimator
from locallinear import FALLRegressor, FALLRegressorCV, SearchDisplay
from locallinear.__main__ import main
from locallinear.explain import (
    AlphaPathDisplay,
    CoefficientDisplay,
    ContributionDisplay,
    PredictionDisplay,
    RegimeDisplay,
    report_data,
    write_report,
)


@pytest.fixture
def without(monkeypatch):
    """Make packages look as if they were not installed."""

    def hide(*names):
        for name in [*names, *(m for m in sys.modules if m.split(".")[0] in names)]:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


@pytest.fixture
def model(make_problem):
    X, y, _ = make_problem(n=40)
    return FALLRegressor(n_anchors=4, random_state=0).fit(X, y), X, y


def test_every_picture_names_matplotlib(model, without):
    model, X, y = model
    search = FALLRegressorCV({"alpha": [1.0, 10.0]}, random_state=0).fit(X, y)
    displays = [
        ContributionDisplay.from_estimator(model, X),
        CoefficientDisplay.from_estimator(model, X, 0),
        RegimeDisplay.from_estimator(model),
        AlphaPathDisplay.from_estimator(model, X),
        PredictionDisplay.from_estimator(model, X, y),
        SearchDisplay.from_estimator(search, "alpha"),
    ]
    without("matplotlib")
    for display in displays:
        with pytest.raises(ModuleNotFoundError, match=r"matplotlib: pip install 'locallinear\[pl"):
            display.plot()


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_the_report_names_what_it_needs(model, without, tmp_path, package):
    data = report_data(*model)
    without(package)
    with pytest.raises(ModuleNotFoundError, match=rf"{package}: pip install 'locallinear\[report"):
        write_report(tmp_path / "why.html", data)
    assert list(tmp_path.iterdir()) == []


def test_a_frame_names_pandas(model, without):
    explanation = model[0].explain(np.zeros((1, 3)))
    without("pandas")
    with pytest.raises(ModuleNotFoundError, match=r"pandas: pip install 'locallinear\[report\]'"):
        explanation.to_frame()


def test_what_no_extra_installs_is_named_itself(model, without):
    explanation = model[0].explain(np.zeros((1, 3)))
    without("shap")
    with pytest.raises(ModuleNotFoundError, match=r"shap need shap: pip install shap$"):
        explanation.to_shap()


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("plotly", ["explain", "one.model", "new.csv", "--out", "why.html"]),
        ("pandas", ["predict", "one.model", "new.csv"]),
        ("pyarrow", ["predict", "one.model", "new.csv", "--out", "predicted.parquet"]),
        ("pyarrow", ["predict", "one.model", "new.parquet"]),
    ],
    ids=["report", "table", "parquet out", "parquet in"],
)
def test_a_command_ends_with_the_sentence_and_status_two(
    tmp_path, without, monkeypatch, package, arguments
):
    monkeypatch.chdir(tmp_path)
    table_estimator().save("one.model")
    houses(seed=1).to_csv("new.csv", index=False)
    houses(seed=1).to_parquet("new.parquet")
    without(package, *(["fastparquet"] if package == "pyarrow" else []))
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert package in result.stderr
    assert "pip install" in result.stderr
    assert "locallinear[" in result.stderr
    assert len(result.stderr.splitlines()) == 1
