"""Inverses of the small dense blocks of the network lasso's nodes.

Node g has a few rows R_g (samples). Its block is M_g + δ_g I with M_g = R_gᵀR_g + diag(k_g) and δ_g
the sum of its edges' weights. With fewer rows than columns, the inverse comes from Woodbury's
identity, with Q from the orthonormal columns [Qᵀ; .] of [(R S)ᵀ; I], S² = (δ + k)⁻¹. Otherwise it
is Q Qᵀ / δ from the orthonormal columns [.; Q] of [R; √k; √δ I]. Nodes without edges get the
pseudo-inverse from the singular values of their rows. Gram matrices are never formed: features
whose scales differ by 1e8 and more are common, and squares of that are below rounding.

A common move of an aggregate acts on the data of node g through its edges, springs of stiffness δ_g
in series with M_g. So the next level gets δ − δ (M + δ)⁻¹ δ in place of M, as rows (`coarse`) and a
diagonal (`stiffness`): with the plain Galerkin sum, the data of one node with large features would
stop the whole aggregate, although this node could move by itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import njit
from . import FAST

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

NEAR_ONE = 1 - 1e-13  # keeps I − QᵀQ positive under rounding
SINGULAR = 1e-10  # singular values below this part of the largest count as zero


class PseudoInverses(NamedTuple):
    """Matrices Q_gᵀQ_g, with Q_g the rows start[g]:start[g + 1] of `factor`."""

    factor: Array
    start: Rows


def pseudo_inverses(rows: Array, start: Rows) -> PseudoInverses:
    """Pseudo-inverse of R_gᵀR_g for every node g, with R_g = rows[start[g]:start[g + 1]]."""
    return PseudoInverses(*_pseudo_inverses(rows, start))


@njit(cache=True, nogil=True)
def _pseudo_inverses(rows, start):
    p = rows.shape[1]
    no_diagonal = np.zeros(p)
    ends = np.zeros_like(start)
    for i in range(len(start) - 1):
        ends[i + 1] = ends[i] + min(start[i + 1] - start[i], p)
    factor = np.zeros((ends[-1], p))
    for i in range(len(start) - 1):
        own = rows[start[i] : start[i + 1]]
        pseudo_inverse(own, no_diagonal, factor[ends[i] : ends[i + 1]])
    return factor, ends


def apply_blocks(blocks: PseudoInverses, b: Array) -> Array:
    """Pseudo-inverses times b, (G, m, p)."""
    return _apply(blocks.factor, blocks.start, b)


@njit(cache=True, nogil=True, fastmath=FAST)
def _apply(factor, start, b):
    m, p = b.shape[1:]
    w = np.zeros_like(b)
    for i in range(len(b)):
        for k in range(start[i], start[i + 1]):
            for t in range(m):
                product = 0.0
                for c in range(p):
                    product += factor[k, c] * b[i, t, c]
                for c in range(p):
                    w[i, t, c] += product * factor[k, c]
    return w


@njit(cache=True, nogil=True, fastmath=FAST)
def invert_sparse(rows, diagonal, degree, scale, factor, coarse, stiffness):
    """Factor of a node with fewer rows than columns, and its block for the next level."""
    p = len(diagonal)
    for c in range(p):
        scale[c] = 1 / np.sqrt(diagonal[c] + degree)
        stiffness[c] = degree * diagonal[c] * scale[c] ** 2
    _shares(rows, scale, factor)
    for k in range(len(factor)):
        for c in range(p):
            coarse[k, c] = degree * factor[k, c] * scale[c]


@njit(cache=True, nogil=True, fastmath=FAST)
def _shares(rows, scale, out):
    """Q, written to out, with QᵀQ = Aᵀ (I + A Aᵀ)⁻¹ A, A = rows diag(scale)."""
    count, p = rows.shape
    if count == 1:
        square = 0.0
        for c in range(p):
            out[0, c] = rows[0, c] * scale[c]
            square += out[0, c] ** 2
        if square > 0:
            shrink = np.sqrt(min(1 / (1 + square), NEAR_ONE / square))
            for c in range(p):
                out[0, c] *= shrink
        return
    vectors = np.zeros((count, p + count))
    for k in range(count):
        for c in range(p):
            vectors[k, c] = rows[k, c] * scale[c]
        vectors[k, p + k] = 1
    _orthonormalise(vectors)
    for k in range(count):
        for c in range(p):
            out[k, c] = vectors[k, c] * np.sqrt(NEAR_ONE)


@njit(cache=True, nogil=True, fastmath=FAST)
def _orthonormalise(vectors):
    """Gram-Schmidt on linearly independent rows in place, twice for full accuracy."""
    for k in range(len(vectors)):
        own = vectors[k]
        for _ in range(2):
            for j in range(k):
                other = vectors[j]
                product = 0.0
                for c in range(len(own)):
                    product += other[c] * own[c]
                for c in range(len(own)):
                    own[c] -= product * other[c]
        square = 0.0
        for c in range(len(own)):
            square += own[c] * own[c]
        shrink = 1 / np.sqrt(square)
        for c in range(len(own)):
            own[c] *= shrink


@njit(cache=True, nogil=True, fastmath=FAST)
def _triangle(rows):
    """T (p, p), upper triangular, with TᵀT = rowsᵀ rows."""
    p = rows.shape[1]
    columns = rows.T.copy()
    triangle = np.zeros((p, p))
    for k in range(p):
        own = columns[k]
        for j in range(k):
            other = columns[j]
            product = 0.0
            for c in range(len(own)):
                product += other[c] * own[c]
            for c in range(len(own)):
                own[c] -= product * other[c]
            triangle[j, k] = product
        square = 0.0
        for c in range(len(own)):
            square += own[c] * own[c]
        triangle[k, k] = np.sqrt(square)
        shrink = 1 / triangle[k, k] if square > 0 else 0.0
        for c in range(len(own)):
            own[c] *= shrink
    return triangle


@njit(cache=True, nogil=True)
def _with_diagonal(rows, diagonal):
    """The rows, and √k in a row of its own for each positive number k of the diagonal."""
    extra = np.flatnonzero(diagonal > 0)
    stacked = np.zeros((len(rows) + len(extra), len(diagonal)))
    for k in range(len(rows)):
        for c in range(len(diagonal)):
            stacked[k, c] = rows[k, c]
    for k in range(len(extra)):
        stacked[len(rows) + k, extra[k]] = np.sqrt(diagonal[extra[k]])
    return stacked


@njit(cache=True, nogil=True)
def invert_dense(rows, diagonal, degree, factor, coarse):
    """Factor of a node with as many rows as columns, and its block for the next level."""
    stacked = _with_diagonal(rows, diagonal)
    p = stacked.shape[1]
    if len(stacked) > p:
        stacked = _triangle(stacked)
    root = np.sqrt(degree)
    _shares(stacked, np.full(p, 1 / root), coarse)
    vectors = np.zeros((p, 2 * p))
    for c in range(p):
        for k in range(p):
            vectors[c, k] = stacked[k, c]
        vectors[c, p + c] = root
    _orthonormalise(vectors)
    for k in range(p):
        for c in range(p):
            coarse[k, c] *= root
            factor[k, c] = vectors[k, p + c] / root


@njit(cache=True, nogil=True)
def pseudo_inverse(rows, diagonal, factor):
    """Factor of the pseudo-inverse of rowsᵀ rows + diag(diagonal), as many rows as it has."""
    if len(factor) == 0:
        return
    p = rows.shape[1]
    if len(rows) == 1 and len(factor) == 1:
        square = 0.0
        for c in range(p):
            square += rows[0, c] ** 2
        for c in range(p):
            factor[0, c] = rows[0, c] / square if square > 0 else 0.0
        return
    stacked = _with_diagonal(rows, diagonal)
    if len(stacked) > p:
        stacked = _triangle(stacked)
    _, values, vectors = np.linalg.svd(stacked, False)
    for k in range(min(len(factor), len(values))):
        if values[k] > SINGULAR * values[0]:
            for c in range(p):
                factor[k, c] = vectors[k, c] / values[k]
