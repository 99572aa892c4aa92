"""Shapley values of a model's predictions: `explain.shapley_paths` says how."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..checks.inputs import check_queries
from ..checks.parameters import POSITIVE_COUNT, check_seed
from ..explain.shapley_paths import draw_orders, shapley_values

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Training samples that stand for all, at most.
BACKGROUND = 100


def shapley_of(why: Any, background: Any, n_permutations: int, random_state: Any) -> Array:
    """Shapley values (q, d, m) of a LocalExplanation: see its method `shapley`."""
    if why.model is None or why.X is None:
        raise ValueError(
            "shapley needs the model and the queries, which this explanation does not hold; call "
            "explain of a fitted model"
        )
    if not POSITIVE_COUNT.is_satisfied_by(n_permutations):
        raise ValueError(
            f"n_permutations must be a whole number of at least 1, but is {n_permutations!r}"
        )
    check_seed(random_state, "shapley")
    rng = check_random_state(random_state)
    by_feature = why if why.encoded is None else why.encoded
    model, samples = by_feature.model, why.samples
    predicting = why.model  # of a table with a log scale, in units
    if background is None:
        rows = model.regime_model.draw_samples(BACKGROUND, rng)
    else:
        is_table = why.encoded is not None
        rows = check_queries(model, why.model.encode(background) if is_table else background)
    # The features of one column of a table are replaced together.
    groups = np.arange(rows.shape[1]) if why.encoded is None else why.model.column_numbers

    def predict(X: Array, query: Rows) -> Array:
        return predicting.predict_checked(X, None if samples is None else samples[query])

    orders = draw_orders(len(rows), int(n_permutations), int(groups[-1]) + 1, rng)
    return shapley_values(predict, by_feature.X, rows, groups, orders)
