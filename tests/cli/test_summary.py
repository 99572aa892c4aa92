"""The summary of a model on the command line: effects and equations of its regimes."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from houses import fitted, houses
from locallinear import FALLRegressor, TableModel
from locallinear.cli.summary import regime_lines
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
