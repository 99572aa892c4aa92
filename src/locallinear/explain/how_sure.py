"""How sure explained predictions are, and because of which samples they are what they are.

Intervals, sets of classes and novelty come from the errors of samples without themselves, and so
need more samples than a prediction has neighbours. Axis letters as in `interface`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.chunks import row_chunks
from .interface import Explanation
from .json_values import SAMPLE_DIGITS, rounded
from .view import ModelView, by_feature

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

# The share of targets within the intervals of pictures and pages, and half the width of such an
# interval in standard deviations of a normal error.
COVERAGE, DEVIATIONS = 0.9, 1.645
# A row whose novelty is above this is called unlike anything seen.
UNSEEN = 0.99
# Samples that are listed beside a row's neighbours because of their pull.
MOST_PULLERS = 3


@dataclass(frozen=True, eq=False)
class RowUncertainty:
    """How sure q explained predictions are.

    Attributes
    ----------
    interval : array (q, m, 2) or None
        The ends of intervals that contain `COVERAGE` of the targets; None for classes.
    possible : array (q, m) of bool or None
        The classes that are possible with this coverage; None for other targets. Of samples that
        were explained without themselves it is not known: then no class is.
    novelty : array (q,)
    """

    interval: Array | None
    possible: NDArray[np.bool_] | None
    novelty: Array


def how_sure(view: ModelView, why: Explanation, coverage: float = COVERAGE) -> RowUncertainty:
    """How sure explained predictions are; a ValueError where there are too few samples to know."""
    estimator: Any = view.estimator
    X = np.asarray(by_feature(why).X, dtype=np.float64)
    known = estimator.conformal()
    levels = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
    samples = np.full(len(X), -1) if why.samples is None else why.samples
    own, new = samples >= 0, samples < 0
    interval = None if view.is_classifier else np.empty((*why.neighborhood_part.shape, 2))
    possible = np.zeros(why.neighborhood_part.shape, bool) if view.is_classifier else None
    novelty = np.empty(len(X))
    if own.any():
        novelty[own] = known.sample_novelty()[samples[own]]
        if interval is not None:
            # Around the prediction that is explained, which is by the anchors of all samples.
            explained = (why.log or why).prediction.reshape(len(X), -1)[own]
            interval[own] = known.sample_quantiles(levels, samples[own], explained)
    if new.any() and interval is not None:
        interval[new], novelty[new] = known.quantiles_and_novelty(X[new], levels)
    elif new.any() and possible is not None:
        novelty[new] = known.novelty(X[new])
        possible[new] = estimator.predict_set(view.named_inputs(X[new]), coverage)
    if interval is not None and why.log is not None:  # the estimator's intervals are of logs
        interval = why.model.quantiles_in_units(interval)
    return RowUncertainty(interval, possible, novelty)


def slope_errors(view: ModelView, why: Explanation) -> Array:
    """Standard deviations of slopes, (q, c, m); NaN for columns that have none."""
    has_slope = np.array([view.has_slope(j) for j in range(len(view.columns))])
    return np.where(has_slope[:, None], why.slopes_std, np.nan)


@dataclass(frozen=True, eq=False)
class RowPulls:
    """The samples that pull one prediction: its neighbours in their order, then the strongest.

    Attributes
    ----------
    others : array (r,)
        Numbers of samples that are none of the listed neighbours, strongest pull first.
    pulls : array (k + r, m)
        How far each of the k listed neighbours and of the others pulls the prediction away from
        the mean of all targets, in their units.
    """

    others: Numbers
    pulls: Array


def pulls_on(
    view: ModelView, why: Explanation, neighbors: list[Numbers], limit: int = MOST_PULLERS
) -> list[RowPulls]:
    """The pulls on each of q predictions; a ValueError where anchors are not linear in targets.

    Parameters
    ----------
    view : the model
    why : an explanation of q rows
    neighbors : q arrays
        The neighbours that are listed of each row.
    limit : how many other samples a row has at most
    """
    why = why.log or why  # as the samples' targets are
    estimator: Any = view.estimator
    X, Y = np.asarray(by_feature(why).X, dtype=np.float64), view.samples.targets
    found = []
    for chunk in row_chunks(len(X), 2**16):
        left_out = None if why.samples is None else why.samples[chunk]
        weights = estimator.influence_checked(X[chunk], left_out)
        for i, near in enumerate(neighbors[chunk]):
            part = slice(weights.indptr[i], weights.indptr[i + 1])
            samples = weights.indices[part]
            pulls = weights.data[part, None] * (Y[samples] - why.baseline)
            of_sample = dict(zip(samples.tolist(), pulls, strict=True))
            nothing = np.zeros(Y.shape[1])
            order = np.argsort(-np.abs(pulls).max(axis=1, initial=0.0), kind="stable")
            listed = set(near.tolist())
            others = [s for s in samples[order].tolist() if s not in listed][:limit]
            lines = [of_sample.get(s, nothing) for s in [*near.tolist(), *others]]
            found.append(RowPulls(np.array(others, dtype=np.intp), np.array(lines)))
    return found


def sure_section(view: ModelView, why: Explanation, neighbors: list[list[int]]) -> dict[str, Any]:
    """How sure the rows of a report are, by row and target; the reason where that is unknown.

    ``pulls`` are those of the row's listed neighbours and of its ``pullers``, samples by number.
    """
    section: dict[str, Any] = {"coverage": COVERAGE, "deviations": DEVIATIONS, "unseen": UNSEEN}
    try:
        sure = how_sure(view, why)
    except ValueError as error:
        section |= {"missing": str(error)}
    else:
        section |= {
            "interval": None if sure.interval is None else rounded(sure.interval, SAMPLE_DIGITS),
            "possible": None
            if sure.possible is None
            else [line if any(line) else None for line in sure.possible.tolist()],
            "novelty": rounded(sure.novelty, SAMPLE_DIGITS),
            "slopes_std": rounded(slope_errors(view, why).swapaxes(1, 2), SAMPLE_DIGITS),
        }
    try:
        pulls = pulls_on(view, why, [np.array(near, dtype=np.intp) for near in neighbors])
    except ValueError as error:
        return section | {"no_pulls": str(error)}
    return section | {
        "pullers": [one.others.tolist() for one in pulls],
        "pulls": [rounded(one.pulls.T, SAMPLE_DIGITS) for one in pulls],
    }
