"""Small raw tables, and models of them."""

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


def messy(n=120, seed=0):
    """A table with all kinds of columns, and a positive target that grows by shares."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.15, np.nan, rng.uniform(30, 150, n)),
            "district": rng.choice(["north", "south", "old town"], n),
            "sold": pandas.date_range("2020-01-01", periods=n, freq="81h"),
            "share": [f"{x:.1f} %" for x in rng.uniform(0, 100, n)],
            "grade": pandas.Categorical(rng.choice(["C", "B", "A"], n), list("CBA"), ordered=True),
            "remark": [f"{w} state {i}" for i, w in enumerate(rng.choice(["good", "poor"], n))],
            "id": np.arange(n),
        }
    )
    log = 0.01 * frame["size"].fillna(90) + 0.5 * (frame["district"] == "south")
    price = np.exp(3 + log + 0.2 * frame["grade"].cat.codes + 0.02 * rng.normal(size=n))
    return frame, pandas.Series(price, name="price")
