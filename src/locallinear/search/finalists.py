"""The choice among a classifier's most accurate configurations, by the loss of their probabilities.

Accuracies of many configurations differ by few samples, so chance decides which is the highest.
Those that are nearly as accurate as the best are finalists, and the one whose calibrated
probabilities lose the least on samples that were left out is taken.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.local.probabilities import class_probabilities
from ..models.calibration import calibration_of, scores_of_all
from .preference import Results, results_without, standard_errors
from .splits import Split

Array = NDArray[np.float64]

# How stiff a model is: from local means of classes to nearly one linear model of all samples.
STIFFNESS = ("param_alpha", "param_n_anchor_neighbors")


class Finalists:
    """Configurations by their row in the results, and what their probabilities lose.

    Parameters
    ----------
    groups : list of lists of rows
        The finalists by all splits, then those by all splits but each one.

    Attributes
    ----------
    maps : dict
        The map from scores to probabilities of each row that was judged.
    losses : dict
        The sum of its log losses on the samples of each split, (s,).
    """

    def __init__(self, groups: list[list[int]]):
        self._groups = groups
        self.maps: dict[int, dict[str, float]] = {}
        self.losses: dict[int, Array] = {}

    @property
    def rows(self) -> list[int]:
        """All of them, those by all splits first."""
        return list(dict.fromkeys(row for group in self._groups for row in group))

    def judge(
        self,
        row: int,
        predictions: list[Array],
        y: NDArray[Any],
        weights: Array | None,
        splits: list[Split],
        classes: NDArray[Any],
    ) -> None:
        """Fit the map of a row to its predictions of each split's test samples, and sum losses.

        `classes` are all that there are; y may lack some.
        """
        tests = [test for _, test in splits]
        parts = zip(predictions, splits, strict=True)
        scores = np.concatenate(
            [scores_of_all(part, y[train], classes) for part, (train, _) in parts]
        )
        tested = np.concatenate(tests)
        Y = (y[tested, None] == classes).astype(np.float64)
        v = np.ones(len(tested)) if weights is None else weights[tested]
        found = calibration_of(scores, Y, v)
        lost = -v * np.log((class_probabilities(scores, **found) * Y).sum(axis=1))
        edges = np.cumsum([0] + [len(test) for test in tests[:-1]])
        self.maps[row], self.losses[row] = found, np.add.reduceat(lost, edges)

    def best(self, without: int | None = None) -> int:
        """The row that loses least; by all splits, or by all but one, of the finalists by these."""
        group = self._groups[0 if without is None else 1 + without]
        known = [row for row in group if row in self.losses]  # there may be no time for all
        left_out = [] if without is None else [without]
        return min(
            known or self.losses, key=lambda row: np.delete(self.losses[row], left_out).sum()
        )


def find_finalists(results: Results, sizes: list[float]) -> Finalists:
    """The finalists by all splits, and by all but each one.

    So the choice without a split knows nothing of the samples that it tests. `sizes` are the
    numbers of samples that the splits test, each as often as its weight says.
    """
    n, total = len(sizes), sum(sizes)
    groups = [finalists(results, n, total)]
    for k in range(n):
        others = results_without(results, n, k) if n > 1 else None
        groups.append([] if others is None else finalists(others, n - 1, total - sizes[k]))
    return Finalists(groups)


def finalists(results: Results, n_splits: int, n_tested: float) -> list[int]:
    """The most accurate configuration of each stiffness, if it is nearly as accurate as the best.

    The standard error is at least that of a share of `n_tested` samples: accuracies of few splits
    can be equal by chance. The most accurate one is the first.
    """
    mean, best = results["mean_test_score"], int(np.argmin(results["rank_test_score"]))
    of_share = np.sqrt(mean[best] * (1.0 - mean[best]) / n_tested)
    least = mean[best] - max(standard_errors(results, n_splits)[best], of_share)
    near = np.flatnonzero(np.isfinite(mean) & (mean >= least))
    near = near[np.argsort(results["rank_test_score"][near], kind="stable")]
    found: dict[tuple, int] = {}
    for row in near.tolist():
        found.setdefault(tuple(results[name][row] for name in STIFFNESS), row)
    return list(found.values())
