"""A small raw table, and models of it."""

import numpy as np
import pandas

from locallinear import TableClassifier


def as_frame(X):
    """The same rows as a raw table: text with gaps, dates, categories and a number."""
    days = pandas.Timestamp("2024-01-01") + pandas.to_timedelta((400 * X[:, 1]).round(), "D")
    words = np.array(["low", "mid", "=1+1", None], dtype=object)
    return pandas.DataFrame(
        {
            "size": X[:, 0],
            "day": days,
            "kind": words[(4 * X[:, 2]).astype(int) % 4],
            "level": pandas.Categorical(np.where(X[:, 2] > 0.5, "b", "a"), ordered=True),
        }
    )


def fitted_table(kind, model, **parameters):
    X = np.random.default_rng(0).uniform(size=(60, 3))
    y = 1 + X.sum(axis=1)
    if kind is TableClassifier:
        y = np.where(y > 2.5, "high", "low")
    return kind(model, random_state=0, **parameters).fit(as_frame(X), y)
