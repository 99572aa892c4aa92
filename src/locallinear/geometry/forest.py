"""Grown trees as arrays: which leaf a point falls into.

Trees split where the target changes, or where its relation to the inputs changes. Samples that
share many leaves are alike in what matters for the target, even if they are far apart in features
that do not matter. The trees predict nothing here: their leaves find and weigh neighbours
(`leaf_neighbors`). `trees` grows them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..runtime.threads import in_threads, thread_parts

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Codes = NDArray[np.uint8] | NDArray[np.uint16]

# Shared leaves are counted in one byte, and leaves are numbered in two. A feature has at most so
# many cuts, so that a value is one of 256 bins.
MAX_TREES, MAX_TREE_LEAVES, MAX_CUTS = 255, 2**16, 255

# Of a node that splits feature f at its cut number c, `split` is 256 f + c; it is -1 for a leaf.
# Points with values up to the cut go on to the next node, all others to the node `right`. For a
# leaf, `right` is its number within its tree.
NODE = np.dtype([("split", np.int32), ("right", np.int32)])


@dataclass(frozen=True, eq=False)
class Forest:
    """Grown trees.

    Parameters
    ----------
    splits : what each node splits, one tree after the other, each in preorder (see `NODE`)
    cuts : the increasing cuts of each feature, one feature after the other
    cut_starts : (d + 1,) where the cuts of each feature begin
    feature_weights : (d,) how much the splits of each feature improve the trees; they sum to one
    min_distance : the distance of two points that share all leaves
    """

    splits: NDArray[np.int32]
    cuts: Array
    cut_starts: Rows
    feature_weights: Array
    min_distance: float

    @classmethod
    def from_arrays(
        cls,
        splits: NDArray,
        inner: NDArray,
        n_nodes: NDArray,
        cuts: NDArray,
        cut_starts: NDArray,
        feature_weights: NDArray,
        min_distance: NDArray,
    ) -> "Forest":
        """The forest that `arrays` described."""
        every = _with_leaves(splits, inner, int(n_nodes))
        return cls(every, cuts, cut_starts.astype(np.intp), feature_weights, float(min_distance))

    def arrays(self) -> dict[str, NDArray]:
        """The arrays that define the forest, for a file.

        Half of the nodes are leaves: one bit per node says which are not, and only these are
        there.
        """
        inner = self.splits >= 0
        return {
            "splits": self.splits[inner],
            "inner": np.packbits(inner),
            "n_nodes": np.array(len(inner)),
            "cuts": self.cuts,
            "cut_starts": self.cut_starts.astype(np.int32),
            "feature_weights": self.feature_weights,
            "min_distance": np.array(self.min_distance),
        }

    @cached_property
    def _walks(self) -> tuple[Rows, NDArray[np.void], bool]:
        """The first node of each tree, the nodes of all trees, and whether all trees end."""
        from ..kernels.trees.leaves import right_children  # compiled: loaded when needed

        right, roots, ends = right_children(self.splits)
        nodes = np.empty(len(self.splits), dtype=NODE)
        nodes["split"], nodes["right"] = self.splits, right
        return roots, nodes, bool(ends)

    @property
    def roots(self) -> Rows:
        """The first node of each tree, (T,)."""
        return self._walks[0]

    @property
    def nodes(self) -> NDArray[np.void]:
        """The nodes of all trees, see `NODE`."""
        return self._walks[1]

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves of the tree with the most leaves."""
        return int(self.nodes["right"][self.splits < 0].max()) + 1

    def points(self, Z: Array) -> Array:
        """The points that stand for inputs Z in the neighbour search: Z itself."""
        return Z

    def leaves(self, Z: Array, n_threads: int = 1) -> Codes:
        """The leaf of each of n inputs in each of T trees, (n, T)."""
        from ..kernels.trees.leaves import bin_numbers, leaf_numbers  # compiled

        codes = np.empty(
            (len(Z), len(self.roots)), dtype=np.uint8 if self.n_leaves <= 256 else np.uint16
        )

        def fill(rows: slice) -> None:
            bins = bin_numbers(np.ascontiguousarray(Z[rows]), self.cut_starts, self.cuts)
            leaf_numbers(bins, self.roots, self.nodes, codes[rows])

        in_threads(fill, thread_parts(len(Z), n_threads), n_threads)
        return codes

    def fits(self, d: int) -> bool:
        """Whether these are valid trees on d features: compiled code does not check them."""
        return self._arrays_fit(d) and self._splits_fit() and self._trees_fit()

    def _arrays_fit(self, d: int) -> bool:
        numbers = np.diff(self.cut_starts) if self.cut_starts.shape == (d + 1,) else np.array([-1])
        return bool(
            self.splits.dtype == np.int32
            and self.splits.ndim == 1
            and len(self.splits)
            and self.cuts.dtype == np.float64
            and self.cuts.ndim == 1
            and ((numbers >= 0) & (numbers <= MAX_CUTS)).all()
            and self.cut_starts[0] == 0
            and self.cut_starts[-1] == len(self.cuts)
            and np.isfinite(self.cuts).all()
            and self.feature_weights.dtype == np.float64
            and self.feature_weights.shape == (d,)
            and bool(((self.feature_weights >= 0) & (self.feature_weights <= 1)).all())
            and 0 <= self.min_distance <= 1
        )

    def _splits_fit(self) -> bool:
        """Whether each inner node has a feature, and a cut that the feature has."""
        inner = self.splits[self.splits != -1]
        feature, cut = inner >> 8, inner & MAX_CUTS
        known = (feature >= 0) & (feature < len(self.feature_weights))
        n_cuts = np.diff(self.cut_starts)
        return bool(known.all() and (cut < n_cuts[feature]).all())

    def _trees_fit(self) -> bool:
        roots, _, ends = self._walks
        return ends and len(roots) <= MAX_TREES and self.n_leaves <= MAX_TREE_LEAVES


def _with_leaves(splits: NDArray, inner: NDArray, n_nodes: int) -> NDArray[np.int32]:
    """The splits of all nodes, from those of inner nodes and one bit per node."""
    fit = inner.dtype == np.uint8 and inner.ndim == 1 and len(inner) == -(-n_nodes // 8)
    is_inner = np.unpackbits(inner, count=n_nodes).astype(bool) if fit else np.empty(0, dtype=bool)
    if splits.dtype != np.int32 or splits.shape != (np.count_nonzero(is_inner),):
        raise ValueError("its arrays do not fit each other")
    out = np.full(len(is_inner), -1, dtype=np.int32)
    out[is_inner] = splits
    return out
