"""Checks of what users pass beside X and y: weights, graphs, indices, features and anchors."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from ..arrays import from_device
from .inputs import LARGEST, finite_numbers
from .values import check_even, check_no_gaps, check_not_masked, sortable

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def _array(values: Any, name: str, **options: Any) -> Array:
    """Numbers of a user as an array of his own; errors name the argument."""
    if not issparse(values):  # these are refused with a sentence of scikit-learn's
        values = finite_numbers(values, name)
    return check_array(values, dtype=np.float64, copy=True, input_name=name, **options)


def check_sample_weights(sample_weight: ArrayLike | None, n_samples: int) -> Array | None:
    """Sample weights as an array (n,); None if none are given."""
    if sample_weight is None:
        return None
    sample_weight = from_device(sample_weight)
    check_no_gaps(sample_weight, "sample_weight", "a number")
    weights = _array(sample_weight, "sample_weight", ensure_2d=False)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per sample, so shape ({n_samples},), but has shape "
            f"{weights.shape}"
        )
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight must not be negative, but entry {np.argmax(weights < 0)} is "
            f"{weights[np.argmax(weights < 0)]}; use 0 to leave a sample out"
        )
    odd = (weights > LARGEST) | ((weights > 0) & (weights < 1 / LARGEST))
    if odd.any():
        raise ValueError(
            f"sample_weight must be 0 or from {1 / LARGEST} to {LARGEST}, so that sums of squares "
            f"are finite, but entry {np.argmax(odd)} is {weights[odd][0]:.3g}; only ratios of "
            "weights count"
        )
    return weights


def check_some_weight(weights: Array | None) -> None:
    """Refuse to fit on samples that all have weight zero."""
    if weights is not None and not weights.any():
        raise ValueError(
            "sample_weight must be positive for at least one sample, but is zero for every sample; "
            "leave it out to give all samples the same weight"
        )


def check_enough_samples(n_neighbors: int, n_samples: int | np.integer) -> None:
    """Refuse to average more neighbours than there are samples."""
    if n_neighbors > n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} samples are needed per prediction, but there are only "
            f"n_samples={n_samples} (with sample_weight above zero); give more samples or reduce "
            "n_neighbors"
        )


def check_enough_others(n_neighbors: int, n_samples: int | np.integer) -> None:
    """Refuse to average more neighbours than a sample has beside itself."""
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} other samples are needed to predict a sample without "
            f"itself, but there are only {n_samples - 1} (with sample_weight above zero); give "
            "more samples or reduce n_neighbors"
        )


def check_groups(groups: ArrayLike | None, n_samples: int) -> NDArray | None:
    """Groups of samples as an array (n,), none of them missing; None if none are given."""
    if groups is None:
        return None
    check_no_gaps(groups, "groups", "a group")
    found = sortable(groups, "groups")
    if found.shape != (n_samples,):
        raise ValueError(
            f"groups must have one entry per training sample, so shape ({n_samples},), but has "
            f"shape {found.shape}"
        )
    return found


def check_anchor_points(points: ArrayLike, n_features: int) -> Array:
    """Anchor points as an array (k, d)."""
    found = _array(points, "anchor_selection", ensure_min_samples=0)
    if found.shape[1] != n_features or not len(found):
        raise ValueError(
            f"anchor_selection must hold points with the {n_features} features of X, at least one "
            f"point, but has shape {found.shape}"
        )
    return found


def check_anchor_models(models: ArrayLike, n_features: int, n_targets: int) -> Array:
    """Anchor models as an array (k, d + 1, m)."""
    found = _array(models, "anchor_models", allow_nd=True, ensure_min_samples=0)
    if found.ndim != 3 or found.shape[1:] != (n_features + 1, n_targets) or not len(found):
        raise ValueError(
            "anchor_models must have shape (n_anchors, n_features + 1, n_targets) with the "
            f"intercept last, so (k, {n_features + 1}, {n_targets}), but has shape {found.shape}"
        )
    return found


def check_graph(graph: Any, n_samples: int) -> csr_array:
    """The graph as a sparse matrix (n, n) without stored zeros."""
    if not issparse(graph):
        raise ValueError(
            f"graph must be a sparse matrix (scipy.sparse), but is a {type(graph).__name__}; "
            "sklearn.neighbors.kneighbors_graph makes one"
        )
    if graph.shape != (n_samples, n_samples):
        raise ValueError(
            f"graph must have a row and a column for each of the {n_samples} samples, but has "
            f"shape {graph.shape}"
        )
    graph = csr_array(graph, copy=True)
    if graph.dtype.kind not in "biuf" or not np.isfinite(graph.data).all():
        raise ValueError(
            "graph must hold finite real numbers, but holds "
            f"{_first_odd(graph.data)}; use 0, or no entry, where two samples are no neighbours"
        )
    check_not_negative(graph)
    graph.sum_duplicates()
    graph.eliminate_zeros()
    return graph


def check_not_negative(graph: csr_array) -> None:
    """Refuse negative weights, which no neighbours have."""
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(
            f"graph must hold weights that are not negative, but one is {graph.data.min():g}; use "
            "0 for no edge, and turn distances into 1/distance"
        )


def _first_odd(values: NDArray) -> Any:
    """The first value that is no finite real number."""
    if values.dtype.kind not in "biuf":
        return f"values of type {values.dtype}"
    return values[~np.isfinite(values)][0]


def check_indices(indices: ArrayLike, n_samples: int) -> Rows:
    """Sample numbers as an array of integers from 0 to n - 1; negative ones count from the end."""
    check_not_masked(indices, "indices")
    check_even(indices, "indices")
    indices = np.atleast_1d(np.asarray(indices))
    if indices.ndim != 1 or not (indices.dtype.kind in "iu" or indices.size == 0):
        hint = "; np.flatnonzero turns a mask into them" if indices.dtype == bool else ""
        raise ValueError(
            "indices must be whole numbers that name samples, but are values of type "
            f"{indices.dtype} in shape {indices.shape}{hint}"
        )
    if indices.size == 0:
        return indices.astype(np.intp)
    # Compared as they are: numbers that are too large for an index would become others.
    unknown = (indices < -n_samples) | (indices >= n_samples)
    if unknown.any():
        raise ValueError(
            f"indices must name samples from 0 to {n_samples - 1}, or from -1 to {-n_samples} "
            f"counted from the end, but one is {indices[unknown][0]}"
        )
    indices = indices.astype(np.intp)
    return np.where(indices < 0, indices + n_samples, indices)


def check_features(
    features: ArrayLike | None,
    n_features: int,
    argument: str = "neighborhood_features",
    otherwise: str = "use None for all features",
) -> Rows | None:
    """Feature numbers as an array in ascending order; None where none are given.

    `otherwise` says in the error what None would mean.
    """
    if features is None:
        return None
    check_even(features, argument)
    given = np.asarray(features)
    found = np.unique(given) if given.dtype.kind in "iu" else np.empty(0)
    if given.ndim != 1 or not len(found) or not 0 <= found[0] <= found[-1] < n_features:
        raise ValueError(
            f"{argument} must be numbers of features, at least one and each from 0 to "
            f"{n_features - 1}, but is {features!r}; {otherwise}"
        )
    return found.astype(np.intp)


def check_coverage(coverage: Any) -> float:
    """The share of targets that intervals or sets contain."""
    if not isinstance(coverage, Real) or not coverage > 0 or not coverage < 1:  # type: ignore[operator]
        raise ValueError(
            f"coverage must be above 0 and below 1, but is {_short(coverage)}; 0.9 means nine of "
            "ten targets"
        )
    return float(coverage)


def check_levels(quantiles: ArrayLike) -> Array:
    """Levels of quantiles as an array (l,)."""
    levels = np.empty(0)
    if not issparse(quantiles):
        levels = np.atleast_1d(
            _array(quantiles, "quantiles", ensure_2d=False, allow_nd=True, ensure_min_samples=0)
        )
    if levels.ndim != 1 or not len(levels) or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"quantiles must be levels above 0 and below 1, at least one, but are "
            f"{_short(quantiles)}; 0.5 is the median"
        )
    return levels


def _short(value: Any) -> str:
    """A value as messages show it, cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def check_name(value: Any, names: Sequence[str], argument: str) -> str:
    """One of these names, and nothing that only compares like one."""
    if not isinstance(value, str) or value not in names:
        quoted = " or ".join(f'"{name}"' for name in names)
        raise ValueError(f"{argument} must be {quoted}, but is {_short(value)}")
    return value


def check_several_groups(
    groups: ArrayLike | None, n_samples: int, weights: Array | None
) -> NDArray | None:
    """At least two groups of samples with weight as numbers (n,); None if none are given."""
    found = check_groups(groups, n_samples)
    if found is None:
        return None
    numbers = np.unique(found, return_inverse=True)[1].reshape(-1)
    if np.ptp(numbers if weights is None else numbers[weights > 0]) == 0:
        raise ValueError(
            "groups must name at least two groups, but all samples (with sample_weight above "
            "zero) are in one; leave groups out"
        )
    return numbers


def check_neighbor_weights(weights: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The weights (q, K) that a user's function returned for distances of this shape."""
    weights = from_device(weights)
    returned = np.asarray(weights)
    if returned.dtype.kind not in "biuf":
        raise ValueError(
            f"weights must return real numbers, but returned values of type {returned.dtype}"
        )
    check_not_masked(weights, "what weights returns")
    found = returned.astype(np.float64)
    if found.shape != shape:
        raise ValueError(
            f"weights must return one weight per distance, so shape {shape}, but "
            f"returned shape {found.shape}"
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(
            "weights must return finite numbers that are not negative, but returned "
            f"{found[~np.isfinite(found) | (found < 0)][0]}"
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(found.sum(axis=-1)).all()
    if not finite:
        found = found / found.max()  # only ratios count, and sums of these are finite
    return found
