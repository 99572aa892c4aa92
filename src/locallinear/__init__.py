"""Local linear models that are accurate and readable at once."""

from .ensemble.estimators import FALLEnsembleClassifier, FALLEnsembleRegressor
from .io import load
from .models.estimators import FALLClassifier, FALLRegressor
from .models.explanation import LocalExplanation
from .network.localized_lasso import LocalizedLassoRegressor
from .network.network_lasso import NetworkLassoRegressor
from .search.display import SearchDisplay
from .search.estimators import FALLClassifierCV, FALLRegressorCV
from .tables.estimators import TableClassifier, TableRegressor

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
    "TableClassifier",
    "TableRegressor",
    "load",
]
