"""An explanation as a frame: one line per query, target and feature."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.extras import extra

if TYPE_CHECKING:
    import pandas


def frame_of(why: Any) -> "pandas.DataFrame":
    """The frame of a LocalExplanation: see its method `to_frame`."""
    pandas = extra("pandas", "report", "Frames")
    q, _, m = why.contributions.shape
    queries = range(q) if why.index is None else why.index
    lines = [
        (query, target, feature)
        for query in queries
        for target in why.target_names
        for feature in ["(baseline)", "(neighborhood)", *why.feature_names, "(intercept)"]
    ]
    no_line = np.full((q, 1, m), np.nan)
    baseline = np.broadcast_to(why.baseline, no_line.shape)
    level, constant = why.neighborhood_part[:, None], why.intercept[:, None]
    columns = {
        "slope": [no_line, no_line, why.slopes, no_line],
        "part": [baseline, level, why.difference_parts, no_line],
        "coef": [no_line, no_line, why.coef, constant],
        "contribution": [no_line, no_line, why.contributions, constant],
    }
    frame = pandas.DataFrame(
        {
            name: np.concatenate(blocks, axis=1).swapaxes(1, 2).ravel()
            for name, blocks in columns.items()
        },
        index=pandas.MultiIndex.from_tuples(lines, names=["query", "target", "feature"]),
    )
    if why.times is not None:
        nothing = np.full((q, 1, m), np.nan)
        each = np.concatenate([nothing, nothing, why.times, nothing], axis=1)
        frame.insert(2, "times", each.swapaxes(1, 2).ravel())
    for name, position, of_queries in [("value", 0, why.X), ("rank", 3, why.ranks)]:
        if of_queries is not None:
            values = np.asarray(of_queries)
            nothing = np.full((q, 1), np.nan, dtype=values.dtype)
            each = np.concatenate([nothing, nothing, values, nothing], axis=1)
            frame.insert(position, name, np.repeat(each, m, axis=0).ravel())
    return frame
