"""Scores of many configurations, summed up in the processor's registers (see `codegen`).

Predictions take eight values of λ side by side, the lanes, for several numbers of anchors at once.
Choosing anchors takes eight samples side by side, for several anchors at once.
"""

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .codegen import DOUBLE, EIGHT, INDEX, LANES, ZEROS, Code, Table, check_contiguous, intrinsic
from .local_models import TIE

# Sizes of blocks: the largest are those that the registers still hold, 1 must be the last.
COUNTS_AT_ONCE = (10, 3, 1)
ROWS_AT_ONCE = (5, 1)
MOST_ROWS = max(ROWS_AT_ONCE)


@intrinsic
def add_errors_of(typingctx, place, given, out, query):
    """Add count e² or count |e| of a query's predictions to sums (levels, p, c, L).

    Parameters
    ----------
    place : (p, i, g) the set of models, the query, and the first of eight λ
    given : the first eight arguments of `grid.predict_levels`
    out : the sums
    query : its target, how much it counts (for e² the root of that), and whether it is e² or |e|
    """
    check_contiguous(*given, out)

    def generate(context, builder, signature, arguments):
        code = Code(context, builder)
        y, count, squared = cgutils.unpack_tuple(builder, arguments[3])
        squared = builder.trunc(squared, ir.IntType(1))
        count = code.eight(count)
        one = ir.Constant(EIGHT, [1.0] * LANES)

        def finish(before, corrections, chosen, scale):
            moved = code.multiply_add(chosen, scale, builder.fneg(y))
            error = code.multiply_add(corrections, code.eight(scale), code.eight(moved))
            size = code.call("fabs", builder.fmul(error, count))
            return code.multiply_add(size, builder.select(squared, size, one), before)

        _predict(code, signature, arguments, finish)
        return context.get_dummy_value()

    return types.void(place, given, out, query), generate


@intrinsic
def put_predictions(typingctx, place, given, out):
    """Write a query's predictions to out (levels, p, c, L); arguments as for `add_errors_of`."""
    check_contiguous(*given, out)

    def generate(context, builder, signature, arguments):
        code = Code(context, builder)

        def finish(before, corrections, chosen, scale):
            return builder.fmul(builder.fadd(corrections, code.eight(chosen)), code.eight(scale))

        _predict(code, signature, arguments, finish)
        return context.get_dummy_value()

    return types.void(place, given, out), generate


def _predict(code: Code, signature, arguments, finish: Callable) -> None:
    """Generate the loops over numbers of anchors, levels and neighbours.

    At each level `finish(before, corrections, chosen, scale)` makes the output of what was there
    before.
    """
    builder = code.builder
    p, i, g = cgutils.unpack_tuple(builder, arguments[0])
    near, weights, factors, levels, scales, by_anchor, labels, own = code.tables(
        signature.args[1], arguments[1]
    )
    out = code.table(signature.args[2], arguments[2])
    n_models, n_samples, n_counts = labels.lengths
    query, first_sample = code.row(p, near.lengths[0], i), builder.mul(p, n_samples)
    for a, block in code.blocks(INDEX(0), n_counts, COUNTS_AT_ONCE):
        columns = [builder.add(a, INDEX(b)) for b in range(block)]
        corrections = [code.variable(ZEROS) for _ in columns]
        chosen = [code.variable(DOUBLE(0.0)) for _ in columns]
        begin = code.variable(INDEX(0))
        with code.loop(levels.width) as level:
            first, stop = builder.load(begin), levels.number(INDEX(0), level)
            builder.store(stop, begin)
            with code.loop(builder.sub(stop, first)) as step:
                j = builder.add(first, step)
                sample = builder.add(first_sample, near.number(i, j))
                weight = weights.number(i, j)
                factor = factors.eight(code.row(i, weights.width, j), g)
                for b, column in enumerate(columns):
                    label = builder.zext(labels.number(sample, column), INDEX)
                    code.add_product(chosen[b], weight, by_anchor.number(query, label))
                    residual = code.eight(own.number(sample, column))
                    code.add_product(corrections[b], factor, residual)
            scale, row = scales.number(i, level), code.row(level, n_models, p)
            for b, column in enumerate(columns):
                at = code.row(row, n_counts, column)
                sums = builder.load(corrections[b]), builder.load(chosen[b])
                out.put_eight(finish(out.eight(at, g), *sums, scale), at, g)


@intrinsic
def choose_again(typingctx, samples, models, place, state):
    """Let eight samples choose again, with more anchors.

    Parameters
    ----------
    samples : X (d + 1, n), Y (m, n) and floor (n,), as for `grid.best_at_levels`
    models : (m, k, d + 1) of the anchors, the intercept last
    place : (i, first, stop) the first of the eight samples, and the anchors from first to stop
    state : what was chosen so far, updated: bound (8,), below which an error is more than tied,
        labels (8,), own (m, 8) residuals; and residuals (MOST_ROWS, m, 8) as scratch space
    """
    check_contiguous(*samples, models, *state)

    def generate(context, builder, signature, arguments):
        code, zero = Code(context, builder), INDEX(0)
        X, Y, floor = code.tables(signature.args[0], arguments[0])
        models = code.table(signature.args[1], arguments[1])
        i, first, stop = cgutils.unpack_tuple(builder, arguments[2])
        bound, labels, own, residuals = code.tables(signature.args[3], arguments[3])
        m, k, _ = models.lengths
        lowest, label = (code.variable(table.eight(zero, zero)) for table in (bound, labels))
        tied = floor.eight(zero, i)
        largest = ir.Constant(EIGHT, [np.finfo(float).max] * LANES)
        shrink = ir.Constant(EIGHT, [1.0 / (1.0 + TIE)] * LANES)
        for anchor, block in code.blocks(first, stop, ROWS_AT_ONCE):
            anchors = [builder.add(anchor, INDEX(b)) for b in range(block)]
            errors = [code.variable(ZEROS) for _ in anchors]
            with code.loop(m) as t:
                rows = [code.row(t, k, anchor) for anchor in anchors]
                for b, value in enumerate(_products(code, models, rows, X, i)):
                    residual = builder.fsub(Y.eight(t, i), value)
                    code.add_product(errors[b], residual, residual)
                    residuals.put_eight(residual, code.row(INDEX(b), m, t), zero)
            better = []
            for b, anchor in enumerate(anchors):
                # Not infinite, so that the first anchor is chosen whatever its error is.
                error = code.call("minnum", builder.load(errors[b]), largest)
                low = builder.load(lowest)
                better.append(builder.fcmp_ordered("<", error, low))
                lower = builder.fmul(builder.fsub(error, tied), shrink)
                builder.store(builder.select(better[b], lower, low), lowest)
                this = code.eight(builder.sitofp(anchor, DOUBLE))
                builder.store(builder.select(better[b], this, builder.load(label)), label)
            with code.loop(m) as t:
                kept = own.eight(t, zero)
                for b, is_better in enumerate(better):
                    new = residuals.eight(code.row(INDEX(b), m, t), zero)
                    kept = builder.select(is_better, new, kept)
                own.put_eight(kept, t, zero)
        bound.put_eight(builder.load(lowest), zero, zero)
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
        for row, block in code.blocks(first, stop, ROWS_AT_ONCE):
            rows = [builder.add(row, INDEX(b)) for b in range(block)]
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
