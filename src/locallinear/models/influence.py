"""Because of whom: predictions as weighted sums of the training targets, on every FALL estimator.

Single models, searches and ensembles are all means of members (`members`, one or several), and the
mean of linear smoothers is one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack
from sklearn.utils.validation import check_is_fitted

from ..checks.devices import check_on_processor
from ..checks.inputs import check_queries
from ..kernels.local.smoother import anchor_loads, neighbor_gains
from ..runtime.chunks import row_chunks
from .anchor_samples import AnchorMaps
from .moments import Moments

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Member = Any  # a FALL model, whose module imports this one


class Influence(Moments):
    """What all estimators say about the part of each training sample in a prediction."""

    @property
    def members(self) -> list[Member]:
        """The fitted single models whose mean the estimator is."""
        raise NotImplementedError

    def influence(self, X: Any) -> csr_array:
        """How much each training target counts in each prediction.

        ``influence(X) @ y`` is ``predict(X)``, to rounding: for a classifier, the linear scores
        for one-hot targets. The neighbours' own targets count, and those of the samples that the
        neighbours' anchors were fitted on. Who is near, each sample's anchor and the feature space
        depend on the targets too; they are taken as they are. So if one target moved by δ and
        these stayed, the prediction would move by influence · δ.

        Samples that `partial_fit` added count as neighbours: no anchor was fitted on them. A
        forgotten sample is gone as a neighbour, but anchors that it helped to fit still carry its
        target, which no row stands for any more. A prediction that uses such an anchor is refused.

        Parameters
        ----------
        X : array-like (q, d)

        Returns
        -------
        scipy.sparse.csr_array (q, n)
            The same for all targets. With an intercept, rows sum to one.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from locallinear import FALLRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = FALLRegressor(random_state=0).fit(X, y)
        >>> np.allclose(model.influence(X[:3]) @ y, model.predict(X[:3]))
        True
        """
        now = self.at_this_moment()
        return now.influence_checked(check_queries(now.members[0], X))

    def influence_checked(self, X: Array, without: Rows | None = None) -> csr_array:
        """The same for an array of queries that are known to be valid.

        `without` (q,) are numbers of samples: each query is predicted without that sample.
        """
        members = self.members
        check_on_processor(self, members[0].model_array, "the influence of samples")
        total = csr_array((len(X), members[0].n_samples_fit_))
        for member in members:
            Z = member.feature_space.transform(X)
            of_prediction = np.column_stack([Z, np.full(len(Z), member.constant)])[:, None]
            total = total + smoother_rows(member, Z, of_prediction, without)
        return csr_array(total / len(members))

    def degrees_of_freedom(self, *, without_itself: bool = False) -> float:
        """The effective number of parameters: the trace of the smoother over the samples.

        It is the sum of the parts that the samples' own targets have in their predictions. Models
        that interpolate have as many as there are samples.

        Parameters
        ----------
        without_itself : bool, default=False
            Whether samples are predicted without themselves, as in `loo_prediction_`. What is left
            is the part that they have through the anchors.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        now = self.at_this_moment()
        X, _ = now.members[0].training_samples()
        numbers, total = np.arange(len(X)), 0.0
        for chunk in row_chunks(len(X), 2**12):
            own = numbers[chunk]
            part = now.influence_checked(X[chunk], own if without_itself else None)
            total += float(part[np.arange(len(own)), own].sum())
        return total


def smoother_rows(
    member: Member, Z: Array, functionals: Array, without: Rows | None = None, *, exact: bool = True
) -> csr_array:
    """Functionals of queries' models as weighted sums of the targets, (q p, n).

    Parameters
    ----------
    member : FALL
    Z : (q, d) queries in its feature space
    functionals : (q, p, d + 1) of the models in that space
    without : (q,) numbers of samples that are no neighbours of the query, or None
    exact : whether to refuse where anchors are no known function of the targets that are left;
        otherwise such anchors are taken as known, and add nothing
    """
    check_on_processor(member, member.model_array, "the influence of samples")
    sets = member.anchor_samples
    shares, near = member.shares(Z, without)
    if exact:
        _check_linear(member)
        _check_none_lost(sets.lost, member.samples["labels"][near], shares)
    maps = None if sets is None else AnchorMaps(sets, member.samples)
    q, p, size = functionals.shape
    parts = [csr_array((0, member.n_samples_fit_))]
    for chunk in row_chunks(q, 2 * p * near.shape[1] * size * 8):
        given = functionals[chunk], near[chunk], shares[chunk]
        parts.append(_rows_of_chunk(member, maps, *given))
    return csr_array(vstack(parts, format="csr"))


def _rows_of_chunk(
    member: Member, maps: AnchorMaps | None, f: Array, near: Rows, shares: Array
) -> csr_array:
    """`smoother_rows` of a few queries, with neighbours `near` and their shares (q, K)."""
    (q, p, size), n = f.shape, member.n_samples_fit_
    x, labels = member.samples["Z"][near], member.samples["labels"][near].astype(np.intp)
    gains = neighbor_gains(f, x, shares, member.alpha, member.constant)
    lines = np.arange(q * p).reshape(q, p, 1)
    found = [_entries(lines, member.samples.numbers(near)[:, None, :], gains)]
    if maps is not None:
        loads = anchor_loads(f, x, gains, shares, member.constant).reshape(-1, p * size)
        # The loads of neighbours with the same anchor are added before the anchor's map.
        pairs, inverse = np.unique(
            np.arange(q)[:, None] * maps.n_anchors + labels, return_inverse=True
        )
        ones = np.ones(len(loads)), (inverse.ravel(), np.arange(len(loads)))
        summed = (coo_array(ones).tocsr() @ loads).reshape(-1, p, size)
        queries, anchors = np.divmod(pairs, maps.n_anchors)
        for anchor in np.unique(anchors):
            if anchor not in maps.lost:
                here = anchors == anchor
                weights = summed[here] @ maps[anchor]
                found.append(_entries(lines[queries[here]], maps.shaped_by(anchor), weights))
    line, column, value = (np.concatenate(each) for each in zip(*found, strict=True))
    return coo_array((value, (line, column)), (q * p, n)).tocsr()


def _entries(lines: Rows, columns: Rows, values: Array) -> tuple[Rows, Rows, Array]:
    """Entries of a sparse matrix, without zeros."""
    line, column = np.broadcast_to(lines, values.shape), np.broadcast_to(columns, values.shape)
    used = values != 0
    return line[used], column[used], values[used]


def _check_linear(member: Member) -> None:
    """Refuse models whose anchors are no linear function of the targets."""
    if member.anchor_samples is not None:
        return
    if np.isnan(member.anchor_points_).any():
        raise ValueError(
            "influence needs anchors that were fitted on the targets, but this model's were given "
            "by anchor_models: its predictions are no weighted sums of the targets; fit without "
            "anchor_models, or read neighbors and neighbor_weights of explain"
        )
    raise ValueError(
        "influence needs ridge anchors, which are linear in the targets, but this model's were "
        "fitted with a penalty on absolute values; fit with anchor_l1_ratio=0, or read neighbors "
        "and neighbor_weights of explain"
    )


def _check_none_lost(lost: NDArray[np.bool_], labels: Rows, shares: Array) -> None:
    """Refuse queries, of neighbours with labels and shares (q, K), that use lost anchors."""
    refused = np.flatnonzero((lost[labels] & (shares > 0)).any(axis=1))
    if len(refused):
        raise ValueError(
            f"influence needs all samples that shaped the anchors, but the anchors behind query "
            f"{refused[0]} were fitted with samples that are forgotten since; fit again on the "
            "samples that are left"
        )
