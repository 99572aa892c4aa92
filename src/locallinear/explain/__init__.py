"""See why: pictures of explanations, and the report.

Data walks one way: a fitted model gives a `LocalExplanation`; a Display or `report_data` takes from
it what it shows, as plain arrays or lists; `plot` draws it, `write_report` puts it into a page.
Nothing is computed while drawing, so that what is seen can be tested as numbers. matplotlib is
imported by `plot` and jinja2 and plotly by `write_report`, when they are called.
"""

from .alpha_path import AlphaPathDisplay
from .coefficients import CoefficientDisplay
from .contributions import ContributionDisplay
from .predictions import PredictionDisplay
from .regimes import RegimeDisplay
from .report import data_of_explanation, report_data, write_report

__all__ = [
    "AlphaPathDisplay",
    "CoefficientDisplay",
    "ContributionDisplay",
    "PredictionDisplay",
    "RegimeDisplay",
    "data_of_explanation",
    "report_data",
    "write_report",
]
