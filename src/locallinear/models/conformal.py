"""How far targets lie from an estimator's predictions, learned from samples without themselves.

Each sample is predicted without itself (see `surroundings.predict_samples`). What surrounds it then
tells how large its error usually is (`error_scale`); scores are errors in that scale.

Where who is near was learned from the targets, leaving a sample out of the neighbours does not
undo that its target helped to choose them, and errors look too small. A few refits measure by how
much (`held_out`).
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..kernels.local.spread import conformal_quantiles, mean_growth
from .error_scale import ErrorScale
from .folds import folds_of
from .member_views import Part, Views, mean_alone, refitted
from .moments import same_states
from .surroundings import Member

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Refits that measure it: of this many members, until so many samples are tested. The error of fewer
# members grows more than that of their mean. Each refit leaves out one of N_FOLDS parts: with fewer
# samples left, errors would grow for that reason too.
N_REFITTED, N_TESTED, N_FOLDS = 30, 300, 20
# The share of errors that says how large noise is.
WIDE = 0.9
# Folds of refits where whole groups are left out.
N_GROUP_FOLDS = 5


class Conformal:
    """Errors of the samples of an estimator, and what tells their size; each computed when needed.

    Parameters
    ----------
    members : the fitted models whose mean the estimator is
    n_jobs : threads over the members
    groups : (n,) or None
        With groups, a sample is predicted by models that were fitted without its whole group.
    """

    def __init__(self, members: list[Member], n_jobs: int | None, groups: NDArray | None = None):
        self.members, self.n_jobs, self.groups = members, n_jobs, groups
        self._states = [member.state_key for member in members]

    def holds_for(self, members: list[Member], groups: NDArray | None) -> bool:
        """Whether nothing has changed since."""
        same = same_states(members, self._states)
        if groups is None or self.groups is None:
            return same and groups is self.groups
        return same and np.array_equal(groups, self.groups)

    # --- The samples without themselves -------------------------------------------------------

    @cached_property
    def _alone(self) -> tuple[Array, list[Array]]:
        """Predictions of the samples without themselves, (n, m), and each member's distances."""
        return mean_alone(self.members, self.n_jobs)

    @cached_property
    def whole(self) -> Part:
        """All members, which test all their samples."""
        numbers = np.arange(self.members[0].n_samples_fit_)
        return Part(self.members, numbers, numbers, self._alone[1])

    @cached_property
    def _parts(self) -> list[Part]:
        """The members refitted without some groups, and the samples of these groups.

        The first part has the samples without weight as well, whose errors count nowhere.
        """
        assert self.groups is not None
        uncounted = np.flatnonzero(self.weights == 0)
        parts: list[Part] = []
        for kept, left_out in folds_of(self.counted, N_GROUP_FOLDS, self.groups):
            members = refitted(self.members, kept)
            tested = left_out if parts else np.concatenate([left_out, uncounted])
            parts.append(Part(members, kept, tested, mean_alone(members, self.n_jobs)[1]))
        return parts

    @cached_property
    def prediction(self) -> Array:
        """Of each sample without itself, or without its group, (n, m)."""
        if self.groups is None:
            return self._alone[0]
        X, out = self._inputs, np.empty_like(self.targets)
        for part in self._parts:
            out[part.tested] = np.mean([m.predict_checked(X[part.tested]) for m in part.members], 0)
        return out

    @cached_property
    def targets(self) -> Array:
        """Numeric targets of the samples, (n, m)."""
        return self.members[0].targets()

    @property
    def _inputs(self) -> Array:
        return self.members[0].training_samples()[0]

    @cached_property
    def weights(self) -> Array:
        """How often each sample counts, (n,)."""
        weights = self.members[0].training_weights()
        return np.ones(len(self.targets)) if weights is None else weights

    @cached_property
    def counted(self) -> Rows:
        """The numbers of the samples with weight."""
        return np.flatnonzero(self.weights > 0)

    @cached_property
    def errors(self) -> Array:
        """Targets minus predictions, (n, m)."""
        return self.targets - self.prediction

    @cached_property
    def views(self) -> Views:
        """What surrounds the samples, without themselves or their groups."""
        absolute = np.abs(self.errors)
        if self.groups is None:
            return self.whole.views(None, absolute, self.n_jobs)
        parts = self._parts
        order = np.argsort(np.concatenate([part.tested for part in parts]))
        found = [part.views(self._inputs[part.tested], absolute, self.n_jobs) for part in parts]

        def joined(name: str) -> Any:
            columns = [getattr(each, name) for each in found]
            return None if columns[0] is None else np.concatenate(columns)[order]

        return Views(*map(joined, Views._fields))

    # --- Errors in their scale ----------------------------------------------------------------

    @cached_property
    def _error_scale(self) -> ErrorScale:
        return ErrorScale(self.errors, self.views, self.weights)

    def scale_of(self, seen: Views) -> Array:
        """The scale of the errors of what was seen so, (q, m): see `ErrorScale.of`."""
        return self._error_scale.of(seen)

    @cached_property
    def scores(self) -> Array:
        """Errors of the samples in their scale, (n, m), as if their targets had chosen nothing."""
        scale = self.scale_of(self.views)
        scores = self.errors / scale
        tested, held, alone = self.held_out
        if self.groups is not None or not len(tested):
            return scores
        by_refits, by_closed_form = (
            np.abs(self.targets[tested] - each) / scale[tested] for each in (held, alone)
        )
        for t in range(scores.shape[1]):
            v = self.weights[tested]
            scores[:, t] *= mean_growth(by_closed_form[:, t], by_refits[:, t], v)
        if len(self.members) <= N_REFITTED:
            # Refits of all members are the estimator itself without these samples.
            scores[tested] = (self.targets[tested] - held) / scale[tested]
        return scores

    @property
    def targets_if_new(self) -> Array:
        """Where the samples' targets would lie if they had chosen nothing of the model, (n, m)."""
        return self.prediction + self.scores * self.scale_of(self.views)

    @cached_property
    def held_out(self) -> tuple[Rows, Array, Array]:
        """Samples, their predictions by models refitted without them, and those without themselves.

        By some members only, of samples with weight. No samples where nothing depends on the
        targets in an unknown way, or where the rest would be too few.
        """
        counted, m = self.counted, self.targets.shape[1]
        n_members = len(self.members)
        # Siblings are next to each other, and members of other geometries tell more.
        spread = np.linspace(0, n_members - 1, min(N_REFITTED, n_members)).round().astype(int)
        some = [self.members[i] for i in spread]
        nothing = np.empty(0, dtype=np.intp), np.empty((0, m)), np.empty((0, m))
        n_folds = min(N_FOLDS, len(counted))
        least = max(member.n_neighbors for member in some) + 1
        too_few = len(counted) * (n_folds - 1) // n_folds <= least
        if too_few or not any(member.has_seen_targets for member in some):
            return nothing
        alone = self._alone[0] if len(some) == len(self.members) else mean_alone(some, None)[0]
        X, rows, held = self._inputs, [], []
        for kept, tested in folds_of(counted, n_folds):
            members = refitted(some, kept)
            rows.append(tested)
            held.append(np.mean([member.predict_checked(X[tested]) for member in members], axis=0))
            if sum(map(len, rows)) >= N_TESTED:
                break
        numbers = np.concatenate(rows)
        return numbers, np.concatenate(held), alone[numbers]

    # --- Queries ------------------------------------------------------------------------------

    def at(self, X: Array) -> tuple[Array, Array]:
        """Predictions of queries and the scale of their errors, both (q, m)."""
        seen = self.whole.views(X, np.abs(self.errors), self.n_jobs)
        return seen.prediction, self.scale_of(seen)

    def quantiles(self, X: Array, levels: Array) -> Array:
        """Quantiles of the targets of queries, (q, m, l)."""
        return self._around(*self.at(X), levels)

    def sample_quantiles(
        self, levels: Array, samples: Rows | None = None, prediction: Array | None = None
    ) -> Array:
        """Quantiles of the targets of samples without themselves, (q, m, l); of all by default.

        They are around a prediction (q, m) of these samples, or that of `prediction`.
        """
        some = slice(None) if samples is None else samples
        centre = self.prediction[some] if prediction is None else prediction
        return self._around(centre, self.scale_of(self.views)[some], levels)

    def _around(self, prediction: Array, scale: Array, levels: Array) -> Array:
        out = np.empty((*prediction.shape, len(levels)))
        for t, scores in enumerate(self.scores.T):
            found = conformal_quantiles(scores, self.weights, levels)
            out[:, t] = prediction[:, t, None] + scale[:, t, None] * found
        return out

    def deviation_of(self, scale: Array) -> Array:
        """The standard deviation of errors with this scale, (q, m)."""
        v = self.weights / self.weights.sum()
        return scale * np.sqrt(v @ self.scores**2)

    @cached_property
    def noise(self) -> Array:
        """The standard deviation of each sample's target around the function, (n, m).

        It fits the interval that contains 90 % of the errors, so that a few large ones, where the
        model is wrong, do not count as noise.
        """
        scale, level = self.scale_of(self.views), np.array([WIDE])
        sizes = np.abs(self.errors) / scale
        found = [conformal_quantiles(size, self.weights, level)[0] for size in sizes.T]
        return scale * np.array(found) / ndtri((1 + WIDE) / 2)

    def quantiles_and_novelty(self, X: Array, levels: Array) -> tuple[Array, Array]:
        """Both of queries, (q, m, l) and (q,), by one look at what surrounds them."""
        seen = self.whole.views(X, np.abs(self.errors), self.n_jobs)
        found = self._around(seen.prediction, self.scale_of(seen), levels)
        return found, self._less_unusual(seen.ratio)

    def novelty(self, X: Array) -> Array:
        """The share of samples that are less unusual than each query, (q,)."""
        nothing = np.zeros(self.targets.shape)
        return self._less_unusual(self.whole.views(X, nothing, self.n_jobs).ratio)

    def sample_novelty(self) -> Array:
        """The same of the samples without themselves, (n,)."""
        return self._less_unusual(self._ratios)

    def _less_unusual(self, ratio: Array) -> Array:
        """The share of samples whose ratio is smaller, (q,)."""
        order = np.argsort(self._ratios)
        counts = np.append(0.0, np.cumsum(self.weights[order]))
        # Equal up to rounding is equal.
        below = np.searchsorted(self._ratios[order], ratio * (1 - 1e-9))
        return counts[below] / counts[-1]

    @cached_property
    def _ratios(self) -> Array:
        """How unusual the samples are, without themselves, (n,)."""
        nothing = np.zeros(self.targets.shape)
        return self.whole.views(None, nothing, self.n_jobs).ratio
