"""LocalExplanation as data: parts of it are the explanations of those queries."""

from dataclasses import fields, replace

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose

from houses import fitted, houses
from locallinear import FALLRegressor
from locallinear.models.explanation import ARRAYS, ROWS

ROWS_TAKEN = [7, 2, 2]
ABOUT_THE_MODEL = {"baseline", "feature_weights", "feature_names", "target_names", "model"}


def assert_same(one, other):
    for name in ARRAYS:
        assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)
    for name in ROWS:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert pandas.DataFrame(ours).equals(pandas.DataFrame(theirs))


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_taking_queries_is_explaining_them_alone(make_problem, scaling):
    X, y, Q = make_problem(m=2)
    model = FALLRegressor(scaling=scaling, random_state=0).fit(X, y)
    assert_same(model.explain(Q).take(ROWS_TAKEN), model.explain(Q[ROWS_TAKEN]))
    assert_same(model.explain(Q).take(3), model.explain(Q[[3]]))


def test_the_text_of_an_explanation_says_what_it_holds(make_problem):
    X, y, Q = make_problem()
    why = FALLRegressor(n_neighbors=8, random_state=0).fit(X, y).explain(Q[:2])
    assert repr(why) == (
        f"LocalExplanation of 2 predictions: {X.shape[1]} features, 1 target, 8 neighbours; see "
        "to_frame, plot, to_html"
    )


def test_taking_rows_of_a_table_takes_them_by_column_and_by_feature():
    model, frame = fitted(), houses(seed=1).set_index("name")
    taken, expected = model.explain(frame).take(ROWS_TAKEN), model.explain(frame.iloc[ROWS_TAKEN])
    assert_same(taken.encoded, expected.encoded)
    assert_same(replace(taken, X=taken.X.reset_index(drop=True)), expected)
    assert taken.index.tolist() == ["house 7", "house 2", "house 2"]


def test_each_field_belongs_to_the_queries_or_to_the_model(make_problem):
    X, y, Q = make_problem()
    why = FALLRegressor(random_state=0).fit(X, y).explain(Q)
    of_tables = {"encoded", "log", "growth"}
    known = {*ARRAYS, *ROWS, *ABOUT_THE_MODEL, *of_tables}
    assert {field.name for field in fields(why)} == known
    assert all(len(getattr(why, name)) == len(Q) for name in ARRAYS)
    assert np.shares_memory(why.regressors, why.X)
