"""A raw table as people have them: text, gaps, a counter, names, several things to predict."""

import numpy as np
import pandas as pd

from locallinear import FALLClassifier, FALLRegressor, TableClassifier, TableRegressor

TARGETS = [("price",), ("price", "rent"), ("kind",)]
PER_SQUARE_METRE = {"north": 2.5, "south": 4.0, "old town": 6.0}


def houses(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "size (m²)": rng.uniform(30, 150, n).round(1),
            "rooms": rng.integers(1, 7, n).astype(float),
            "district": rng.choice(list(PER_SQUARE_METRE), n).astype(object),
            "name": [f"house {i}" for i in range(n)],
        }
    )
    rate = frame["district"].map(PER_SQUARE_METRE).astype(float)
    frame["price"] = (frame["size (m²)"] * rate + rng.normal(size=n)).round(2)
    frame["rent"] = (frame["price"] / 20 + frame["rooms"]).round(2)
    frame["kind"] = np.where(frame["size (m²)"] > 90, "large", "small")
    frame.loc[::13, "size (m²)"] = np.nan
    frame.loc[::17, "district"] = None
    return frame


def fitted(targets=("price",), **options):
    """The encoded model of the table, as pictures and reports take it."""
    return table_estimator(targets, **options).table_model


def table_estimator(targets=("price",), **options):
    """A model of the table, with parameters of FALL."""
    frame = houses()
    others = [name for name in ("price", "rent", "kind") if name not in targets]
    y = frame[targets[0]] if len(targets) == 1 else frame[list(targets)]
    settings = {"n_anchors": 10, "random_state": 0, **options}
    X = frame.drop(columns=[*targets, *others])
    if targets == ("kind",):
        return TableClassifier(FALLClassifier(**settings), random_state=0).fit(X, y)
    model = TableRegressor(FALLRegressor(**settings), target="identity", random_state=0)
    return model.fit(X, y)
