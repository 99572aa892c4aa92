"""Pictures of explanations, and the report.

Data goes one way: a fitted model returns a `LocalExplanation`; a Display or `report_data` takes
from it what it shows, as arrays or lists; `plot` draws it, `write_report` puts it into a page.
Nothing is computed while drawing, so that what is seen can be tested as numbers. `interface` says
what is read of models, `view` puts it into the columns that a user knows. matplotlib is imported
by `plot`, and jinja2 and plotly by `write_report`, when they are called.
"""

from .alpha_path_display import AlphaPathDisplay
from .coefficient_display import CoefficientDisplay
from .contribution_display import ContributionDisplay
from .coverage import interval_coverage
from .effect_display import EffectDisplay
from .page import write_report
from .prediction_display import PredictionDisplay
from .regime_display import RegimeDisplay
from .report import data_of_explanation, report_data

__all__ = [
    "AlphaPathDisplay",
    "CoefficientDisplay",
    "ContributionDisplay",
    "EffectDisplay",
    "PredictionDisplay",
    "RegimeDisplay",
    "data_of_explanation",
    "interval_coverage",
    "report_data",
    "write_report",
]
