"""FALLEnsembleRegressor: its fit beside LightGBM's, search included, and predictions beside KNN's.

Two cores, `n_jobs=2`, 30 members. LightGBM has 500 trees at a rate of 0.05 and two threads. KNN
(weights="distance", 5 neighbours, its defaults) gets the feature space that the ensemble chose; its
time is multiplied by the number of members. Peak memory is that of the process, which also had the
sets before.
"""

import resource
from collections.abc import Iterator
from functools import partial

from benchmarks._run import Table, duration, interleaved, seconds, split, verdict
from benchmarks.fall import knn
from locallinear import FALLEnsembleRegressor

LONG = True  # a quarter of an hour: only run when asked for by name
SETS = ("concrete", "parkinsons", "superconductivity")
MOST = 30  # times LightGBM's fit


def run() -> Iterator[Table]:
    from lightgbm import LGBMRegressor  # of the group `bench`

    fits = Table(
        "fit",
        ("set", "samples", "features", "time", "LightGBM", "ratio", "target", "", "peak memory"),
    )
    predictions = Table(
        "predict", ("set", "queries", "ensemble", "KNN", "members x KNN", "ratio", "target", "")
    )
    warm_up()
    for name in SETS:
        parts = split(name)
        if parts is None:
            continue
        X, y, Q, _ = parts
        model = FALLEnsembleRegressor(n_jobs=2, random_state=0)
        taken = seconds(partial(model.fit, X, y))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        boosted = LGBMRegressor(n_estimators=500, learning_rate=0.05, n_jobs=2, verbose=-1)
        ratio = taken / (other := seconds(partial(boosted.fit, X, y)))
        goal = f"{ratio:.1f}", f"≤ {MOST}", verdict(ratio, MOST)
        shape = f"{len(X):,}", str(X.shape[1])
        fits.rows.append((name, *shape, duration(taken), duration(other), *goal, f"{peak:.2f} GB"))
        space = model.regime_model.feature_space
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
