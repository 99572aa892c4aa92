"""Scores of many configurations, summed up in the processor's registers (see `codegen`).

Predictions take eight choices of anchors side by side, the lanes, for several λ at once. Choosing
anchors takes eight samples side by side, for several anchors at once.
"""

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ..local.models import TIE
from .codegen import DOUBLE, EIGHT, INDEX, LANES, ZEROS, Code, Table, check_contiguous, intrinsic

# Sizes of blocks: the largest are those that the registers still hold, 1 must be the last.
ALPHAS_AT_ONCE = (7, 4, 2, 1)
ROWS_AT_ONCE = (5, 1)
MOST_ROWS = max(ROWS_AT_ONCE)


@intrinsic
def put_predictions(typingctx, i, given, out):
    """Write a query's predictions to out (levels, L, 8); arguments as for `add_errors_of`."""
    check_contiguous(*given, out)

    def generate(context, builder, signature, arguments):
        code = Code(context, builder)
        query = DOUBLE(0.0), DOUBLE(1.0)
        _predict(code, signature, arguments, query, lambda before, prediction: prediction)
        return context.get_dummy_value()

    return types.void(i, given, out), generate


@intrinsic
def add_errors_of(typingctx, i, given, out, query):
    """Add e² or |e| of a query to sums (levels, L, 8), where e = (ŷ − y) count.

    Parameters
    ----------
    i : the query
    given : the first eight arguments of `grid.predict_levels`, labels and own of eight choices
    out : the sums
    query : its target y; how often it counts, for e² the root of that; whether it is e² or |e|
    """
    check_contiguous(*given, out)

    def generate(context, builder, signature, arguments):
        code = Code(context, builder)
        y, count, squared = cgutils.unpack_tuple(builder, arguments[3])
        squared = builder.trunc(squared, ir.IntType(1))
        # e times itself, or times ±1: the sign of e with the other bits of 1.
        kept = code.eight(builder.select(squared, INDEX(-1), INDEX(-(2**63))))
        one = builder.bitcast(DOUBLE(1.0), INDEX)
        added = code.eight(builder.select(squared, INDEX(0), one))

        def finish(before, error):
            bits = builder.bitcast(error, added.type)
            bits = builder.or_(builder.and_(bits, kept), added)
            return code.multiply_add(error, builder.bitcast(bits, EIGHT), before)

        _predict(code, signature, arguments, (y, count), finish)
        return context.get_dummy_value()

    return types.void(i, given, out, query), generate


def _predict(code: Code, signature, arguments, query, finish: Callable) -> None:
    """Generate the loops over λ, levels and neighbours.

    For each, `finish(before, value)` makes the output of what was there before and of
    (ŷ − y) count, where (y, count) is the query.
    """
    builder, i, (y, count) = code.builder, arguments[0], query
    near, weights, factors, levels, scales, by_anchor, labels, own = code.tables(
        signature.args[1], arguments[1]
    )
    out = code.table(signature.args[2], arguments[2])
    labels.width = own.width = out.width = INDEX(LANES)  # known now: rows need no multiplication
    n_alphas, zero = factors.width, INDEX(0)
    minus_y, count = code.eight(builder.fneg(y)), code.eight(count)
    for alphas in code.rows_of(zero, n_alphas, ALPHAS_AT_ONCE):
        corrections = [code.variable(ZEROS) for _ in alphas]
        chosen = [code.variable(DOUBLE(0.0)) for _ in range(LANES)]
        begin = code.variable(zero)
        with code.loop(levels.width) as level:
            first, stop = builder.load(begin), levels.number(zero, level)
            builder.store(stop, begin)
            with code.loop(builder.sub(stop, first)) as step:
                j = builder.add(first, step)
                sample, weight = near.number(i, j), weights.number(i, j)
                # Labels are not negative: two are read as one number, for reading takes longest.
                pairs = builder.bitcast(labels.at(sample, zero), INDEX.as_pointer())
                for lane in range(0, LANES, 2):
                    pair = builder.load(builder.gep(pairs, [INDEX(lane // 2)]), align=4)
                    both = builder.and_(pair, INDEX(2**32 - 1)), builder.lshr(pair, INDEX(32))
                    for label, total in zip(both, chosen[lane : lane + 2], strict=True):
                        code.add_product(total, weight, by_anchor.number(i, label))
                residuals, row = own.eight(sample, zero), code.row(i, weights.width, j)
                for alpha, total in zip(alphas, corrections, strict=True):
                    factor = code.eight(factors.number(row, alpha))
                    code.add_product(total, factor, residuals)
            scale, away = code.eight(scales.number(i, level)), ZEROS
            for lane, total in enumerate(chosen):
                away = code.put_in(away, builder.load(total), lane)
            # The difference first, so that where the anchors predict exactly it is zero.
            away = builder.fmul(code.multiply_add(away, scale, minus_y), count)
            scale = builder.fmul(scale, count)
            for alpha, total in zip(alphas, corrections, strict=True):
                value = code.multiply_add(builder.load(total), scale, away)
                at = code.row(level, n_alphas, alpha)
                out.put_eight(finish(out.eight(at, zero), value), at, zero)


@intrinsic
def choose_again(typingctx, samples, models, place, state):
    """Let eight samples choose again, with more anchors.

    Parameters
    ----------
    samples : X (d + 1, n), Y (m, n) and floor (n,), as for `grid.best_at_levels`
    models : (m, k, d + 1) of the anchors, the intercept last
    place : (i, first, stop) the first of the eight samples, and the anchors from first to stop
    state : what was chosen so far, updated: the smallest errors (8,), labels (8,), own (m, 8)
        residuals; and residuals (MOST_ROWS, m, 8) as scratch space
    """
    check_contiguous(*samples, models, *state)

    def generate(context, builder, signature, arguments):
        code, zero = Code(context, builder), INDEX(0)
        X, Y, floor = code.tables(signature.args[0], arguments[0])
        models = code.table(signature.args[1], arguments[1])
        i, first, stop = cgutils.unpack_tuple(builder, arguments[2])
        smallest, labels, own, residuals = code.tables(signature.args[3], arguments[3])
        m, k, _ = models.lengths
        lowest, label = (code.variable(table.eight(zero, zero)) for table in (smallest, labels))
        tied, more = floor.eight(zero, i), ir.Constant(EIGHT, [1.0 + TIE] * LANES)
        largest = ir.Constant(EIGHT, [np.finfo(float).max / 2] * LANES)

        for anchors in code.rows_of(first, stop, ROWS_AT_ONCE):
            errors = [code.variable(ZEROS) for _ in anchors]
            with code.loop(m) as t:
                rows = [code.row(t, k, anchor) for anchor in anchors]
                for b, value in enumerate(_products(code, models, rows, X, i)):
                    residual = builder.fsub(Y.eight(t, i), value)
                    code.add_product(errors[b], residual, residual)
                    residuals.put_eight(residual, code.row(INDEX(b), m, t), zero)
            better = []
            for b, anchor in enumerate(anchors):
                # Far from infinite, so that the first anchor is chosen whatever its error is.
                error = code.call("minnum", builder.load(errors[b]), largest)
                low = builder.load(lowest)
                better.append(builder.fcmp_ordered("<", code.multiply_add(error, more, tied), low))
                builder.store(builder.select(better[b], error, low), lowest)
                this = code.eight(builder.sitofp(anchor, DOUBLE))
                builder.store(builder.select(better[b], this, builder.load(label)), label)
            with code.loop(m) as t:
                kept = own.eight(t, zero)
                for b, is_better in enumerate(better):
                    new = residuals.eight(code.row(INDEX(b), m, t), zero)
                    kept = builder.select(is_better, new, kept)
                own.put_eight(kept, t, zero)
        smallest.put_eight(builder.load(lowest), zero, zero)
        labels.put_eight(builder.load(label), zero, zero)
        return context.get_dummy_value()

    return types.void(samples, models, place, state), generate


@intrinsic
def put_products(typingctx, A, B, first, stop, out):
    """Write A[first : stop] B to out, for B (d, k) with k a multiple of LANES.

    For the few columns that A has here this is faster than a general matrix product.
    """
    check_contiguous(A, B, out)

    def generate(context, builder, signature, arguments):
        code = Code(context, builder)
        A, B, out = (code.table(signature.args[k], arguments[k]) for k in (0, 1, 4))
        first, stop = arguments[2:4]
        for rows in code.rows_of(first, stop, ROWS_AT_ONCE):
            with code.loop(builder.udiv(B.width, INDEX(LANES))) as group:
                column = builder.mul(group, INDEX(LANES))
                for each, value in zip(rows, _products(code, A, rows, B, column), strict=True):
                    out.put_eight(value, builder.sub(each, first), column)
        return context.get_dummy_value()

    return types.void(A, B, types.intp, types.intp, out), generate


def _products(code: Code, A: Table, rows: list, B: Table, column) -> list:
    """Some rows of A times eight columns of B, from a column on."""
    sums = [code.variable(ZEROS) for _ in rows]
    with code.loop(B.lengths[0]) as f:
        eight = B.eight(f, column)
        for total, row in zip(sums, rows, strict=True):
            code.add_product(total, eight, code.eight(A.number(row, f)))
    return [code.builder.load(total) for total in sums]
