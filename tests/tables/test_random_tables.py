"""Random tables of all kinds of columns fit, predict, explain and sum."""

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from locallinear import FALLClassifier, FALLRegressor, TableClassifier, TableRegressor

# Names and cells as hostile as files have them.
TEXTS = st.sampled_from(
    ["a", "b", "=1+1", "\x1b[31m", "<script>", "", "NA", "  ", "7", "ü", "nan", "0012", "a is b"]
)
GAPS = st.floats(0, 0.4)


@st.composite
def columns(draw, n):
    """A column of n cells of one kind, some of them gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["number", "whole", "text", "many", "date", "bool", "ordered"]))
    scale = draw(st.sampled_from([1e-6, 1.0, 1e9]))
    cells = {
        "number": lambda: pd.Series(rng.normal(size=n) * scale),
        "whole": lambda: pd.Series(rng.integers(0, 4, n)),
        "text": lambda: pd.Series(rng.choice(draw(st.lists(TEXTS, min_size=1, max_size=5)), n)),
        "many": lambda: pd.Series([f"{w} {i}" for i, w in enumerate(rng.choice(list("xyz"), n))]),
        "date": lambda: pd.Series(pd.Timestamp("2020") + pd.to_timedelta(rng.random(n) * 900, "D")),
        "bool": lambda: pd.Series(rng.random(n) < 0.5),
        "ordered": lambda: pd.Series(
            pd.Categorical(rng.choice(list("ABC"), n), list("ABC"), ordered=True)
        ),
    }[kind]()
    gaps = rng.random(n) < draw(GAPS)
    return cells.astype(object).mask(gaps) if kind == "bool" else cells.mask(gaps)


@st.composite
def tables(draw):
    n = draw(st.integers(12, 40))
    names = draw(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
    frame = pd.DataFrame({name: draw(columns(n)) for name in names})
    frame["x"] = np.random.default_rng(0).normal(size=n)  # something to learn from
    return frame


RANDOM = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)


@given(tables(), st.sampled_from(["identity", "log"]), st.sampled_from(["standard", "quantile"]))
@RANDOM
def test_random_tables_sum_to_predictions_of_values(frame, target, scaling):
    y = np.exp(frame["x"]) + np.arange(len(frame)) % 3
    fall = FALLRegressor(3, n_neighbors=3, scaling=scaling)
    model = TableRegressor(fall, target=target, random_state=0).fit(frame, y)
    assert len(model.encoding_) == frame.shape[1]
    new = frame.iloc[::-1].assign(x=frame["x"] + 0.1)
    why, predicted = model.explain(new), model.predict(new)
    size = 1e-9 * (1 + np.abs(why.contributions).max())
    total = why.contributions.sum(axis=1) + why.intercept
    assert_allclose(total[:, 0], predicted, rtol=1e-7, atol=size)
    layers = why.baseline + why.neighborhood_part + why.difference_parts.sum(axis=1)
    assert_allclose(layers[:, 0], predicted, rtol=1e-7, atol=size)


@given(tables())
@RANDOM
def test_random_tables_sum_to_scores_of_classes(frame):
    y = np.array(["=no", "yes\x07", "maybe"])[np.arange(len(frame)) % 3]
    fall = FALLClassifier(3, n_neighbors=3)
    model = TableClassifier(fall, random_state=0).fit(frame, y)
    why = model.explain(frame)
    total = why.contributions.sum(axis=1) + why.intercept
    size = 1e-9 * (1 + np.abs(why.contributions).max())
    assert_allclose(total, model.estimator_.predict_scores(model.encode(frame)), atol=size)
    assert_allclose(model.predict_proba(frame).sum(axis=1), 1)
