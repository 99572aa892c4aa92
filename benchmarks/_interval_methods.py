"""Ways to predict intervals: ours, and those of other packages.

A way is a function that fits to X and y, and returns a function from queries (q, d) to the ends of
their intervals (q, c, 2), one interval per coverage in COVERAGES. All run in one thread.
"""

import logging
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy import lightgbm
from locallinear import FALLEnsembleRegressor, FALLRegressorCV

COVERAGES = np.array([0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 0.95])
LEVELS = np.concatenate([(1 - COVERAGES) / 2, (1 + COVERAGES) / 2])

Fitted = Callable[[NDArray], NDArray]


class Method(NamedTuple):
    """How to fit, the packages that it needs, and roughly how long it takes beside the others."""

    fit: Callable[[NDArray, NDArray], Fitted]
    packages: tuple[str, ...] = ()
    cost: float = 1.0

    @property
    def missing(self) -> list[str]:
        return [name for name in self.packages if find_spec(name) is None]


def ours(make: Callable[[], Any], X: NDArray, y: NDArray) -> Fitted:
    model = make().fit(X, y)
    model.predict_interval(X[:1])  # what is computed once belongs to the fit
    return lambda Q: _paired(model.predict_quantiles(Q, LEVELS))


def split_conformal(X: NDArray, y: NDArray) -> Fitted:
    from mapie.regression import SplitConformalRegressor

    fit, rest = _parts(len(X))
    model = SplitConformalRegressor(lightgbm(1), confidence_level=list(COVERAGES), prefit=False)
    model.fit(X[fit], y[fit]).conformalize(X[rest], y[rest])
    return lambda Q: model.predict_interval(Q)[1].swapaxes(1, 2)


def jackknife_plus(X: NDArray, y: NDArray) -> Fitted:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        lightgbm(1), confidence_level=list(COVERAGES), method="plus", cv=10
    ).fit_conformalize(X, y)
    return lambda Q: model.predict_interval(Q)[1].swapaxes(1, 2)


def quantile_conformal(X: NDArray, y: NDArray) -> Fitted:
    from mapie.regression import ConformalizedQuantileRegressor

    logging.disable(logging.INFO)  # it says of each model that quantiles cross
    fit, rest = _parts(len(X))

    def quantile(level: float) -> Any:
        return lightgbm(1, objective="quantile", alpha=level).fit(X[fit], y[fit])

    middle = quantile(0.5)  # the same for all coverages
    models = [
        ConformalizedQuantileRegressor(
            [quantile((1 - c) / 2), quantile((1 + c) / 2), middle], confidence_level=c, prefit=True
        ).conformalize(X[rest], y[rest])
        for c in COVERAGES
    ]
    return lambda Q: np.stack([model.predict_interval(Q)[1][:, :, 0] for model in models], axis=1)


def normalised_conformal(X: NDArray, y: NDArray) -> Fitted:
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    fit, rest = _parts(len(X))
    scaler = StandardScaler().fit(X[fit])  # for the distances to neighbours
    X = scaler.transform(X)
    model = WrapRegressor(lightgbm(1))
    model.fit(X[fit], y[fit])
    # Residuals of the fit itself are near zero; those of folds are what new rows meet.
    residuals = y[fit] - cross_val_predict(lightgbm(1), X[fit], y[fit], cv=5)
    difficulty = DifficultyEstimator()
    difficulty.fit(X[fit], residuals=residuals, scaler=True)
    model.calibrate(X[rest], y[rest], de=difficulty)

    def intervals(Q: NDArray) -> NDArray:
        located = scaler.transform(Q)
        return np.stack([model.predict_int(located, confidence=c) for c in COVERAGES], axis=1)

    return intervals


def quantile_forest(X: NDArray, y: NDArray) -> Fitted:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=0, n_jobs=1).fit(X, y)
    return lambda Q: _paired(model.predict(Q, quantiles=list(LEVELS)))


def natural_gradient_boosting(X: NDArray, y: NDArray) -> Fitted:
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=0).fit(X, y)

    def intervals(Q: NDArray) -> NDArray:
        found = model.pred_dist(Q)
        return _paired(np.column_stack([found.ppf(level) for level in LEVELS]))

    return intervals


def _paired(quantiles: NDArray) -> NDArray:
    """Ends of intervals (q, c, 2) from the quantiles of LEVELS."""
    return np.stack(np.split(quantiles, 2, axis=1), axis=2)


def _parts(n: int) -> list[NDArray[np.intp]]:
    """Rows that fit a model, and rows that measure its errors."""
    return train_test_split(np.arange(n), test_size=0.25, random_state=0)


OURS = {
    "FALLEnsembleRegressor": partial(FALLEnsembleRegressor, random_state=0),
    "FALLRegressorCV": partial(FALLRegressorCV, random_state=0),
}
BOOSTED = ("lightgbm", "mapie")
METHODS = {
    "FALLEnsembleRegressor": Method(partial(ours, OURS["FALLEnsembleRegressor"]), cost=12),
    "FALLRegressorCV": Method(partial(ours, OURS["FALLRegressorCV"]), cost=4),
    "LightGBM, split": Method(split_conformal, BOOSTED),
    "LightGBM, jackknife+": Method(jackknife_plus, BOOSTED, 11),
    "LightGBM, CQR": Method(quantile_conformal, BOOSTED, 15),
    "LightGBM, normalised": Method(normalised_conformal, ("lightgbm", "crepes", "pandas"), 5),
    "quantile-forest": Method(quantile_forest, ("quantile_forest",), 4),
    "NGBoost": Method(natural_gradient_boosting, ("ngboost",), 15),
}
