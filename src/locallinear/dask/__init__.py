"""FALL on Dask: samples in many partitions, on the workers of a cluster or in this process.

`FALLRegressor` and `FALLClassifier` are the estimators of `locallinear` for Dask arrays and frames.
For the same samples, they are the same models, whatever the partitions. `FALLRegressorCV` and
`FALLClassifierCV` choose parameters on a sample, and fit the best model on all samples. The way of
the data in a fit:

    collections ─ inputs ─▶ tables         partitions, each checked by a task
                  spaces ─▶ geometry       sums over blocks of rows, distinct values
               partition ─▶ parts          samples in the feature space, with a search
                   order ─▶ anchors        drawn from the distinct samples of all partitions
       cells ─ neighbors ─▶ anchor models  near samples of all partitions, merged
              assignment ─▶ parts          labels and residuals in place of targets
   predictor ─ neighbors ─▶ prediction     of queries, lazily

Parts stay where they are. `docs/scale.md` says what each step costs in time, memory and traffic.
"""

from ..runtime.extras import extra

extra("dask.array", "dask", "Models on a cluster")

from .estimators import FALLClassifier, FALLRegressor  # noqa: E402
from .search import FALLClassifierCV, FALLRegressorCV  # noqa: E402

__all__ = ["FALLClassifier", "FALLClassifierCV", "FALLRegressor", "FALLRegressorCV"]
