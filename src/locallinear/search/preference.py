"""Which configuration of a search is taken: the best, or one that is nearly as good.

Nearly as good is a mean score within one standard error of the best one's. The standard error is
that of the best configuration's mean over the splits. With three splits it is rough, as everywhere
where this rule is used; more splits by `cv` make it finer. Of those that are nearly as good, the
simplest is taken where a user prefers it; for classes see `finalists`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Results = dict[str, NDArray[Any]]

# Fewest anchors first, then the strongest penalties.
# The sign makes the simplest value the smallest.
SIMPLEST = {"n_anchors": 1, "anchor_alpha": -1, "alpha": -1}


def preferred(results: Results, n_splits: int, prefer: str) -> int:
    """The number of the configuration to take: the first of the best, or the simplest near them.

    Of equally simple configurations it is the one with the best score.
    """
    mean = results["mean_test_score"]
    best = int(np.argmin(results["rank_test_score"]))
    if prefer == "accurate":
        return best
    least = mean[best] - standard_errors(results, n_splits)[best]
    near = np.flatnonzero(np.isfinite(mean) & (mean >= least))
    keys = [-mean[near]]  # the last key counts most
    for name, sign in reversed(SIMPLEST.items()):
        if f"param_{name}" in results:
            keys.append(sign * results[f"param_{name}"][near])
    return int(near[np.lexsort(keys)[0]])


def results_without(results: Results, n_splits: int, left_out: int) -> Results | None:
    """The results by the scores of all splits but one; None where no configuration has a score."""
    scores = np.array([results[f"split{i}_test_score"] for i in range(n_splits) if i != left_out])
    mean = scores.mean(axis=0)
    if not np.isfinite(mean).any():
        return None
    return results | {
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": np.where(np.isfinite(mean), -mean, np.inf),
    }


def without_split(results: Results, n_splits: int, left_out: int, prefer: str) -> int | None:
    """The number of the configuration to take by the scores of all splits but one, or None."""
    others = results_without(results, n_splits, left_out)
    return None if others is None else preferred(others, n_splits - 1, prefer)


def standard_errors(results: Results, n_splits: int) -> Array:
    """Of the mean scores over the splits; 0 where there is one split."""
    # The standard deviations are those of GridSearchCV, which divides by the number of splits.
    return results["std_test_score"] / np.sqrt(max(n_splits - 1, 1))


def price_of_simplicity(results: Results, n_splits: int) -> Results:
    """The best score for each number of anchors, in increasing order.

    Returns
    -------
    dict of arrays
        ``n_anchors``, ``score`` and its ``standard_error``, and the ``index`` of the configuration
        in `cv_results_`. A number of anchors that has no score is left out.
    """
    mean, errors = results["mean_test_score"], standard_errors(results, n_splits)
    counts = results["param_n_anchors"]
    top = []
    for count in np.unique(counts[np.isfinite(mean)]):
        place = np.flatnonzero((counts == count) & np.isfinite(mean))
        top.append(place[np.argmax(mean[place])])
    index = np.array(top)
    return {
        "n_anchors": counts[index],
        "score": mean[index],
        "standard_error": errors[index],
        "index": index,
    }
