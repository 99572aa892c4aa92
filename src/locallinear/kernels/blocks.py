"""Inverses of the small dense blocks that the network lasso's nodes carry.

Node i owns a few rows Rᵢ (samples). Its block is Gᵢ + δᵢ I with Gᵢ = RᵢᵀRᵢ + diag(kᵢ) and δᵢ
the sum of its edges' weights.

Importing this module imports numba; import it where it is used.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

_FAST = {"reassoc", "contract", "nsz"}  # lets dot products vectorise; keeps nan and inf
_NEAR_ONE = 1 - 1e-13  # keeps I - QᵀQ positive under rounding


class Blocks(NamedTuple):
    """Inverses of p x p blocks: S(I - QᵢᵀQᵢ)S with S = diag(scale[i]), or QᵢᵀQᵢ where dense[i].

    Qᵢ are the rows start[i]:start[i + 1] of `factor`.
    """

    factor: np.ndarray
    start: np.ndarray
    scale: np.ndarray
    dense: np.ndarray


def pseudo_inverses(rows, start):
    """Pseudo-inverse of RᵢᵀRᵢ for every node i, which owns rows[start[i]:start[i + 1]]."""
    nothing = np.zeros((len(start) - 1, rows.shape[1]))
    return invert_blocks(rows, start, nothing, nothing[:, 0])[0]


def apply_blocks(blocks, b):
    """Inverse blocks times b, an array (n, m, p)."""
    w = b.copy()
    _solve_blocks(*blocks, w)  # type: ignore[call-arg]
    return w


@njit(cache=True)
def _solve_blocks(factor, start, scale, dense, w):
    dots = np.empty(w.shape[2])
    for i in range(len(w)):
        solve_block(factor, start, scale, dense, i, w, dots)


@njit(cache=True, fastmath=_FAST)
def solve_block(factor, start, scale, dense, i, w, dots):
    """Apply the inverse of block i to w[i] (m, p) in place; dots (p,) is working space."""
    _, m, p = w.shape
    first, last = start[i], start[i + 1]
    for t in range(m):
        if not dense[i]:
            for c in range(p):
                w[i, t, c] *= scale[i, c]
        for k in range(first, last):
            dot = 0.0
            for c in range(p):
                dot += factor[k, c] * w[i, t, c]
            dots[k - first] = dot
        sign = -1.0
        if dense[i]:
            sign = 1.0
            for c in range(p):
                w[i, t, c] = 0
        for k in range(first, last):
            dot = sign * dots[k - first]
            for c in range(p):
                w[i, t, c] += dot * factor[k, c]
        if not dense[i]:
            for c in range(p):
                w[i, t, c] *= scale[i, c]


def invert_blocks(rows, start, diagonal, degrees):
    """Factors of the inverse blocks, and the blocks as the next grid feels them.

    Block i is Gᵢ + δᵢ I, with Gᵢ = RᵢᵀRᵢ + diag(kᵢ) and δᵢ the degree. Fewer rows than
    columns: Woodbury, with Q from the orthonormal columns [Qᵀ; .] of [(R S)ᵀ; I], S² =
    (δ + k)⁻¹. Otherwise the inverse is Q Qᵀ / δ from the orthonormal columns [.; Q] of
    [R; √k; √δ I]. Nodes without edges get the pseudo-inverse from the singular values of
    their rows. Gram matrices are never formed: features whose scales differ by 1e8 and more
    are common, and squares of that are below rounding.

    A common move of an aggregate reaches the data of node i through its edges, springs of
    stiffness δᵢ in series with Gᵢ. So the next grid gets δ - δ (G + δ)⁻¹ δ in place of G:
    with the plain Galerkin sum, stiff data (large features) would hold the aggregate still
    although each node can give way on its own.
    """
    return _factorise(rows, start, diagonal, degrees)


@njit(cache=True, fastmath=_FAST)
def _factorise(rows, start, diagonal, degrees):
    n, p = diagonal.shape
    dense = np.empty(n, dtype=np.bool_)
    factor_start = np.zeros(n + 1, dtype=np.int64)
    scale = np.ones((n, p))
    stiffness = np.zeros((n, p))  # where dense, it is held in the rows
    for i in range(n):
        count = start[i + 1] - start[i]
        dense[i] = count >= p or degrees[i] <= 0
        full = dense[i] and diagonal[i].max() > 0
        factor_start[i + 1] = factor_start[i] + (p if full else min(count, p))
    factor = np.zeros((factor_start[n], p))
    soft = np.zeros((factor_start[n], p))
    for i in range(n):
        own = rows[start[i] : start[i + 1]]
        first, last = factor_start[i], factor_start[i + 1]
        if degrees[i] <= 0:
            _pseudo_inverse(own, diagonal[i], factor[first:last])
        elif dense[i]:
            _factorise_dense(own, diagonal[i], degrees[i], factor[first:last], soft[first:last])
        else:
            for c in range(p):
                scale[i, c] = 1 / np.sqrt(diagonal[i, c] + degrees[i])
                stiffness[i, c] = degrees[i] * diagonal[i, c] * scale[i, c] ** 2
            _shares(own, scale[i], factor[first:last])
            for k in range(first, last):
                for c in range(p):
                    soft[k, c] = degrees[i] * factor[k, c] * scale[i, c]
    return Blocks(factor, factor_start, scale, dense), soft, stiffness


@njit(cache=True, fastmath=_FAST)
def _shares(rows, scale, out):
    """Q with QᵀQ = Aᵀ (I + A Aᵀ)⁻¹ A, A = rows diag(scale)."""
    count, p = rows.shape
    if count == 1:
        square = 0.0
        for c in range(p):
            out[0, c] = rows[0, c] * scale[c]
            square += out[0, c] ** 2
        if square > 0:
            shrink = np.sqrt(min(1 / (1 + square), _NEAR_ONE / square))
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
            out[k, c] = vectors[k, c] * np.sqrt(_NEAR_ONE)


@njit(cache=True, fastmath=_FAST)
def _orthonormalise(vectors):
    """Gram and Schmidt, twice for full accuracy, on linearly independent rows in place."""
    for k in range(len(vectors)):
        own = vectors[k]
        for _ in range(2):
            for j in range(k):
                other = vectors[j]
                dot = 0.0
                for c in range(len(own)):
                    dot += other[c] * own[c]
                for c in range(len(own)):
                    own[c] -= dot * other[c]
        square = 0.0
        for c in range(len(own)):
            square += own[c] * own[c]
        shrink = 1 / np.sqrt(square)
        for c in range(len(own)):
            own[c] *= shrink


@njit(cache=True, fastmath=_FAST)
def _triangle(rows):
    """T (p, p), upper triangular, with TᵀT = rowsᵀ rows."""
    p = rows.shape[1]
    columns = np.ascontiguousarray(rows.T)
    triangle = np.zeros((p, p))
    for k in range(p):
        own = columns[k]
        for j in range(k):
            other = columns[j]
            dot = 0.0
            for c in range(len(own)):
                dot += other[c] * own[c]
            for c in range(len(own)):
                own[c] -= dot * other[c]
            triangle[j, k] = dot
        square = 0.0
        for c in range(len(own)):
            square += own[c] * own[c]
        triangle[k, k] = np.sqrt(square)
        shrink = 1 / triangle[k, k] if square > 0 else 0.0
        for c in range(len(own)):
            own[c] *= shrink
    return triangle


@njit(cache=True)
def _with_diagonal(rows, diagonal):
    return np.concatenate((rows, np.diag(np.sqrt(diagonal)))) if diagonal.max() > 0 else rows


@njit(cache=True)
def _factorise_dense(rows, diagonal, degree, factor, soft):
    stacked = _with_diagonal(rows, diagonal)
    p = stacked.shape[1]
    if len(stacked) > p:
        stacked = _triangle(stacked)
    root = np.sqrt(degree)
    _shares(stacked, np.full(p, 1 / root), soft)
    soft *= root
    vectors = np.zeros((p, 2 * p))
    vectors[:, :p] = stacked.T
    for c in range(p):
        vectors[c, p + c] = root
    _orthonormalise(vectors)
    factor[:] = vectors[:, p:] / root


@njit(cache=True)
def _pseudo_inverse(rows, diagonal, factor):
    if len(factor) == 0:
        return
    if len(rows) == 1 and len(factor) == 1:
        square = np.sum(rows[0] ** 2)
        factor[0] = rows[0] / square if square > 0 else rows[0]
        return
    stacked = _with_diagonal(rows, diagonal)
    if len(stacked) > rows.shape[1]:
        stacked = np.linalg.qr(stacked)[1]
    _, values, vectors = np.linalg.svd(stacked, False)
    for c in range(len(factor)):
        if values[c] > 1e-10 * values[0]:
            factor[c] = vectors[c] / values[c]
