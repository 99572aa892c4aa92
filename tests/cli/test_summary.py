"""The summary of a model on the command line: effects and equations of its regimes."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from houses import fitted, houses
from locallinear import FALLRegressor, TableModel
from locallinear.cli.summary import MEANING, parameter_lines, regime_lines
from locallinear.tables.encoding import fit_encoding


@pytest.mark.parametrize("neighborhood", ["euclidean", "learned"])
def test_what_a_column_changes_is_its_coefficient_times_the_difference_of_ranks(neighborhood):
    model = fitted(scaling="quantile", neighborhood=neighborhood, n_anchors=1)
    text = " ".join(line.strip() for line in regime_lines(model))
    pattern = r"([+−][\d.]+) as size \(m²\) goes from ([\d.]+) to ([\d.]+)"
    change, *ends = (float(x.replace("−", "-")) for x in re.search(pattern, text).groups())
    frame = houses().iloc[[0, 0]].assign(**{"size (m²)": ends})
    ranks = model.explain(frame).ranks[:, 0]
    slope = model.estimator.anchor_models_[0, 0, 0]
    assert_allclose(change, slope * (ranks[1] - ranks[0]), rtol=0.02)


def test_constants_are_explained_where_terms_are_left_out():
    rng = np.random.default_rng(0)
    X = 1970 + rng.normal(size=(60, 7))
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(y=X @ np.arange(7.0))
    encoding, table, _ = fit_encoding(frame, ("y",))
    fall = FALLRegressor(1, scaling="standard", random_state=0)
    model = TableModel(encoding, fall.fit(encoding.inputs(table), encoding.outputs(table)))
    text = " ".join(regime_lines(model))
    assert "+ 3 smaller terms" in text
    assert text.endswith("Constants hold what the smaller terms add in an average row.")
    assert "smaller" not in " ".join(regime_lines(fitted(scaling="standard")))


def test_one_regime_is_said_to_hold_all_rows():
    lines = regime_lines(fitted(scaling="standard", n_anchors=1))
    assert lines[0] == "All rows form one regime, with one linear equation:"


def test_a_regime_with_one_value_of_a_column_shows_that_value_once():
    rng = np.random.default_rng(0)
    group = np.repeat([1.0, 4.0], 40)
    frame = pd.DataFrame({"a": group, "b": rng.normal(size=80)})
    frame["y"] = np.where(group == 4, 5, -5) * frame["b"]
    encoding, table, _ = fit_encoding(frame, ("y",))
    fall = FALLRegressor(2, anchor_selection=[[1.0, 0.0], [4.0, 0.0]], n_anchor_neighbors=30)
    model = TableModel(encoding, fall.fit(encoding.inputs(table), encoding.outputs(table)))
    text = " ".join(regime_lines(model))
    assert "high a (mostly 4)" in text
    assert "low a (mostly 1)" in text


def test_parameters_come_in_the_order_of_the_algorithm():
    lines = parameter_lines({"weights": "uniform", "alpha": 1, "n_anchors": 10})
    assert [line.split()[0] for line in lines] == ["n_anchors", "alpha", "weights"]
    assert lines[0].endswith(MEANING["n_anchors"])
