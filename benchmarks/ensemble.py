"""FALLEnsembleRegressor: the time of a fit with its search, and of predictions beside KNN's.

Two cores, `n_jobs=2`, 30 members. KNN (weights="distance", 5 neighbours, its defaults) gets the
feature space that the ensemble chose; its time is multiplied by the number of members. Peak
memory is that of the process, which also had the sets before.
"""

import resource
from collections.abc import Iterator
from functools import partial

from benchmarks._run import Table, duration, interleaved, seconds, split, verdict
from benchmarks.fall import knn
from locallinear import FALLEnsembleRegressor

LONG = True  # a quarter of an hour: only run when asked for by name
SETS = {"concrete": 60, "parkinsons": None, "superconductivity": 600}  # most seconds of a fit


def run() -> Iterator[Table]:
    fits = Table("fit", ("set", "samples", "features", "time", "peak memory", "target", ""))
    predictions = Table(
        "predict", ("set", "queries", "ensemble", "KNN", "members x KNN", "ratio", "target", "")
    )
    warm_up()
    for name, limit in SETS.items():
        parts = split(name)
        if parts is None:
            continue
        X, y, Q, _ = parts
        model = FALLEnsembleRegressor(n_jobs=2, random_state=0)
        taken = seconds(partial(model.fit, X, y))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        goal = ("", "") if limit is None else (f"≤ {limit} s", verdict(taken, limit))
        shape = f"{len(X):,}", str(X.shape[1])
        fits.rows.append((name, *shape, duration(taken), f"{peak:.2f} GB", *goal))
        space = model.estimators_[0]._space
        neighbors, Z = knn().fit(space.transform(X), y), space.transform(Q)
        ours, theirs, ratio = interleaved(
            partial(model.predict, Q),
            partial(neighbors.predict, Z),
            repetitions=31,
        )
        ratio /= model.n_estimators
        times = (ours, theirs, model.n_estimators * theirs)
        row = (name, f"{len(Q):,}", *map(duration, times), f"{ratio:.2f}", "≤ 1")
        predictions.rows.append((*row, verdict(ratio, 1)))
    yield fits
    yield predictions


def warm_up() -> None:
    """Compile and load all that a fit and a prediction need."""
    parts = split("concrete")
    if parts is not None:
        X, y, Q, _ = parts
        FALLEnsembleRegressor(n_estimators=2, n_jobs=2).fit(X[:200], y[:200]).predict(Q)
