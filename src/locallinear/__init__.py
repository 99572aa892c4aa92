"""Local linear models that are accurate and readable at once."""

from ._cv import FALLClassifierCV, FALLRegressorCV
from ._ensemble_estimators import FALLEnsembleClassifier, FALLEnsembleRegressor
from ._estimators import FALLClassifier, FALLRegressor
from ._explanation import LocalExplanation
from ._localized_lasso import LocalizedLassoRegressor
from ._network_lasso import NetworkLassoRegressor
from ._search_display import SearchDisplay
from ._tabular import TableModel
from .io import load

__version__ = "0.1.0"

__all__ = [
    "FALLClassifier",
    "FALLClassifierCV",
    "FALLEnsembleClassifier",
    "FALLEnsembleRegressor",
    "FALLRegressor",
    "FALLRegressorCV",
    "LocalExplanation",
    "LocalizedLassoRegressor",
    "NetworkLassoRegressor",
    "SearchDisplay",
    "TableModel",
    "load",
]
