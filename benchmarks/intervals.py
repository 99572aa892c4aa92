"""How often prediction intervals contain the truth, and how wide they are, ours beside others.

The paper's five sets (three splits each: a tenth of the rows for the test) and eight of the league
(three folds each); the same splits for all. Methods give intervals of ten coverages. `covered` is
the share of test targets within those of 50, 80, 90 and 95 %; `worst fifth` the coverage of 90 %
intervals in the fifth of the predictions, ordered by their middle, that is furthest from 90 %;
`Winkler` the mean interval score of 90 % intervals, and `CRPS` twice the mean pinball loss over the
ends of all intervals and the middle, both in standard deviations of the target (less is better).

Peers: MAPIE's split conformal, jackknife+ (as CV+ with ten folds) and conformalised quantile
regression, all with LightGBM (500 trees at a rate of 0.05); crepes with LightGBM, normalised by
neighbours; quantile-forest and NGBoost as they come. Each finished run is a row of
benchmarks/intervals.csv, so that the command goes on where it was stopped.
"""

import argparse
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks._rows import append_row, read_rows
from benchmarks._run import RESULTS, Parts, Table, commit, computer, keep
from benchmarks.accuracy import lightgbm
from benchmarks.league import load
from locallinear import FALLEnsembleRegressor, FALLRegressorCV, datasets

LONG = True  # hours: only run when asked for by name
ROWS = Path(__file__).parent / "intervals.csv"
FIELDS = ("set", "split", "method", *(f"covered {c}" for c in (50, 80, 90, 95)))
FIELDS += ("worst fifth", "Winkler", "CRPS", "fit_s", "interval_s", "n_train", "commit", "machine")

COVERAGES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
SHOWN = (0.5, 0.8, 0.9, 0.95)
PAPER = {
    "concrete": datasets.fetch_concrete,
    "aquatic": datasets.fetch_qsar_aquatic_toxicity,
    "fish": datasets.fetch_qsar_fish_toxicity,
    "parkinsons": datasets.fetch_parkinsons,
    "superconductivity": datasets.fetch_superconductivity,
}
LEAGUE = ("autompg", "forest", "stock", "gas", "skillcraft", "sml", "pol", "elevators")
SETS = (*PAPER, *LEAGUE)
N_SPLITS = 3

# A function that fits, and returns a function from inputs (q, d) to intervals (q, c, 2).
Fitted = Callable[[NDArray], NDArray]
Method = Callable[[NDArray, NDArray], Fitted]


def ours(make: Callable[[], Any], X: NDArray, y: NDArray) -> Fitted:
    model = make().fit(X, y)
    model.predict_interval(X[:1])  # what is computed once belongs to the fit
    levels = np.concatenate([(1 - COVERAGES) / 2, (1 + COVERAGES) / 2])
    return lambda Q: np.stack(np.split(model.predict_quantiles(Q, levels), 2, axis=1), axis=2)


def split_conformal(X: NDArray, y: NDArray) -> Fitted:
    from mapie.regression import SplitConformalRegressor

    fit, rest = train_test_split(np.arange(len(X)), test_size=0.25, random_state=0)
    model = SplitConformalRegressor(lightgbm(2), confidence_level=list(COVERAGES), prefit=False)
    model.fit(X[fit], y[fit]).conformalize(X[rest], y[rest])
    return lambda Q: model.predict_interval(Q)[1].swapaxes(1, 2)


def jackknife_plus(X: NDArray, y: NDArray) -> Fitted:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        lightgbm(2), confidence_level=list(COVERAGES), method="plus", cv=10
    ).fit_conformalize(X, y)
    return lambda Q: model.predict_interval(Q)[1].swapaxes(1, 2)


def quantile_conformal(X: NDArray, y: NDArray) -> Fitted:
    from mapie.regression import ConformalizedQuantileRegressor

    logging.getLogger().setLevel(logging.WARNING)  # it says of each model that quantiles cross
    fit, rest = train_test_split(np.arange(len(X)), test_size=0.25, random_state=0)
    models = [
        ConformalizedQuantileRegressor(
            lightgbm(2, objective="quantile", alpha=0.5), confidence_level=c, prefit=False
        )
        .fit(X[fit], y[fit])
        .conformalize(X[rest], y[rest])
        for c in COVERAGES
    ]
    return lambda Q: np.stack([model.predict_interval(Q)[1][:, :, 0] for model in models], axis=1)


def normalised_conformal(X: NDArray, y: NDArray) -> Fitted:
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    fit, rest = train_test_split(np.arange(len(X)), test_size=0.25, random_state=0)
    scaler = StandardScaler().fit(X[fit])  # for the distances to neighbours
    X = scaler.transform(X)
    model = WrapRegressor(lightgbm(2))
    model.fit(X[fit], y[fit])
    # Residuals of the fit itself are near zero; those of folds are what new rows meet.
    residuals = y[fit] - cross_val_predict(lightgbm(2), X[fit], y[fit], cv=5)
    difficulty = DifficultyEstimator()
    difficulty.fit(X[fit], residuals=residuals, scaler=True)
    model.calibrate(X[rest], y[rest], de=difficulty)

    def intervals(Q: NDArray) -> NDArray:
        located = scaler.transform(Q)
        return np.stack([model.predict_int(located, confidence=c) for c in COVERAGES], axis=1)

    return intervals


def quantile_forest(X: NDArray, y: NDArray) -> Fitted:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=0, n_jobs=2).fit(X, y)
    levels = [*((1 - COVERAGES) / 2), *((1 + COVERAGES) / 2)]
    return lambda Q: np.stack(np.split(model.predict(Q, quantiles=levels), 2, axis=1), axis=2)


def natural_gradient_boosting(X: NDArray, y: NDArray) -> Fitted:
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=0).fit(X, y)

    def intervals(Q: NDArray) -> NDArray:
        found = model.pred_dist(Q)
        ends = [[found.ppf((1 - c) / 2), found.ppf((1 + c) / 2)] for c in COVERAGES]
        return np.array(ends).transpose(2, 0, 1)

    return intervals


METHODS: dict[str, Method] = {
    "FALLEnsembleRegressor": partial(ours, partial(FALLEnsembleRegressor, random_state=0)),
    "FALLRegressorCV": partial(ours, partial(FALLRegressorCV, random_state=0)),
    "LightGBM, split": split_conformal,
    "LightGBM, jackknife+": jackknife_plus,
    "LightGBM, CQR": quantile_conformal,
    "LightGBM, normalised": normalised_conformal,
    "quantile-forest": quantile_forest,
    "NGBoost": natural_gradient_boosting,
}


def parts_of(name: str, split: int) -> Parts:
    """Training and test part of a split."""
    if name in PAPER:
        X, y = PAPER[name](return_X_y=True)
        y = y[:, 0] if y.ndim == 2 else y
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=split)
        return X_train, y_train, X_test, y_test
    X, y, fold = load(name)
    train = fold != split
    return X[train], y[train], X[~train], y[~train]


def judged(intervals: NDArray, y: NDArray, unit: float) -> dict[str, str]:
    """What is measured of intervals (q, c, 2)."""
    low, high = np.moveaxis(intervals, 2, 0)
    inside = (low <= y[:, None]) & (y[:, None] <= high)
    at = {c: int(np.flatnonzero(np.isclose(COVERAGES, c))[0]) for c in SHOWN}
    found = {f"covered {c:.0%}"[:-1]: f"{inside[:, at[c]].mean():.4f}" for c in SHOWN}
    middle = (low[:, 0] + high[:, 0]) / 2
    fifths = [inside[rows, at[0.9]].mean() for rows in np.array_split(np.argsort(middle), 5)]
    l90, h90 = low[:, at[0.9]], high[:, at[0.9]]
    missed = np.maximum(l90 - y, 0) + np.maximum(y - h90, 0)
    losses = [
        mean_pinball_loss(y, ends[:, i], alpha=(1 + sign * c) / 2)
        for ends, sign in ((low, -1), (high, 1))
        for i, c in enumerate(COVERAGES)
    ]
    losses.append(mean_pinball_loss(y, middle, alpha=0.5))
    return found | {
        "worst fifth": f"{max(fifths, key=lambda share: abs(share - 0.9)):.4f}",
        "Winkler": f"{np.mean(h90 - l90 + 20 * missed) / unit:.5g}",
        "CRPS": f"{2 * np.mean(losses) / unit:.5g}",
    }


def one_run(name: str, split: int, method: str) -> dict[str, Any]:
    X, y, X_test, y_test = parts_of(name, split)
    warnings.filterwarnings("ignore")
    start = time.perf_counter()
    fitted = METHODS[method](X, y)
    middle = time.perf_counter()
    intervals = np.asarray(fitted(X_test))
    end = time.perf_counter()
    row = {"set": name, "split": split, "method": method}
    row |= judged(intervals, y_test, float(np.std(y)))
    row |= {"fit_s": f"{middle - start:.3g}", "interval_s": f"{end - middle:.3g}"}
    return row | {"n_train": len(y), "commit": commit(), "machine": computer()}


def make_rows(sets: Sequence[str], methods: Sequence[str], splits: Sequence[int], to: Path) -> None:
    done = {(row["set"], int(row["split"]), row["method"]) for row in read_rows(to)}
    for task in ((s, i, m) for s in sets for i in splits for m in methods):
        if task not in done:
            row = one_run(*task)
            append_row(to, FIELDS, row)
            print(*(row[name] for name in FIELDS[:-3]), sep="  ", flush=True)


def tables(path: Path = ROWS) -> Iterator[Table]:
    """Means over the splits of each set, and how many sets each method is best on."""
    rows = read_rows(path)
    names = list(dict.fromkeys(row["set"] for row in rows))
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]

    def mean(field: str, method: str, name: str) -> float:
        chosen = [r for r in rows if r["method"] == method and r["set"] == name]
        return float(np.mean([float(r[field]) for r in chosen])) if chosen else np.nan

    shown = [f"covered {c:.0%}"[:-1] for c in SHOWN]
    overall = Table("All sets", ["method", *shown, "worst set at 90", "worst fifth"])
    for method in methods:
        values = {f: [mean(f, method, name) for name in names] for f in [*shown, "worst fifth"]}
        at_90 = values["covered 90"]
        overall.rows.append(
            [method]
            + [f"{np.nanmean(values[f]):.1%}" for f in shown]
            + [f"{max(at_90, key=lambda v: -1 if np.isnan(v) else abs(v - 0.9)):.1%}"]
            + [f"{np.nanmean(values['worst fifth']):.1%}"]
        )
    yield overall
    for field in ("Winkler", "CRPS"):
        table = Table(f"{field}, in standard deviations of the target", ["set", *methods])
        best = dict.fromkeys(methods, 0)
        for name in names:
            values = {method: mean(field, method, name) for method in methods}
            best[min(values, key=lambda m: np.nan_to_num(values[m], nan=np.inf))] += 1
            table.rows.append([name, *(f"{v:.3g}" for v in values.values())])
        table.rows.append(["best on", *map(str, best.values())])
        yield table


def run() -> Iterator[Table]:
    make_rows(SETS, list(METHODS), range(N_SPLITS), ROWS)
    yield from tables()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", nargs="+", type=int, default=range(N_SPLITS))
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the finished runs")
    given = parser.parse_args()
    make_rows(given.sets, given.methods, given.splits, given.rows)
    beside = RESULTS if given.rows == ROWS else given.rows.with_suffix(".md")
    keep(beside, "intervals", __doc__, tables(given.rows))
