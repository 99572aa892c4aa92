"""Predictions of a query for many configurations, summed up in the processor's registers.

Where an array that is read might be the one that is written, a compiler keeps to one number after
the other, and writes each sum back before it goes on. Here the code is generated: eight values of
λ side by side, the lanes, for several numbers of anchors at once, the block.
"""

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic as numba_intrinsic

from .local_models import TIE

LANES = 8

# Sizes of blocks: the largest are those that the registers still hold, 1 must be the last.
COUNTS_AT_ONCE = (10, 3, 1)
ROWS_AT_ONCE = (5, 1)
MOST_ROWS = max(ROWS_AT_ONCE)

# Callers do not pass the typing context, which a type checker cannot know.
intrinsic: Any = numba_intrinsic

DOUBLE = ir.DoubleType()
EIGHT = ir.VectorType(DOUBLE, LANES)
INDEX = ir.IntType(64)
ZEROS = ir.Constant(EIGHT, [0.0] * LANES)


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
        shift = builder.fneg(builder.fmul(count, y))
        one = ir.Constant(EIGHT, [1.0] * LANES)

        def finish(before, corrections, chosen, scale):
            scale = builder.fmul(scale, count)
            moved = code.multiply_add(chosen, scale, shift)
            error = code.multiply_add(corrections, code.eight(scale), code.eight(moved))
            size = code.call("fabs", error)
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


def _predict(code: "Code", signature, arguments, finish: Callable) -> None:
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
                error, low = builder.load(errors[b]), builder.load(lowest)
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


def _products(code: "Code", A: "Table", rows: list, B: "Table", column) -> list:
    """Some rows of A times eight columns of B, from a column on."""
    sums = [code.variable(ZEROS) for _ in rows]
    with code.loop(B.lengths[0]) as f:
        eight = B.eight(f, column)
        for total, row in zip(sums, rows, strict=True):
            code.add_product(total, eight, code.eight(A.number(row, f)))
    return [code.builder.load(total) for total in sums]


def check_contiguous(*arrays) -> None:
    """Refuse arrays that the generated code cannot walk through."""
    for array in arrays:
        if not (isinstance(array, types.Array) and array.layout == "C"):
            raise TypingError(f"lanes need C-contiguous arrays, but one is {array}")


class Code:
    """What generated code is made of."""

    def __init__(self, context, builder):
        self.context, self.builder = context, builder

    def table(self, kind, value) -> "Table":
        """An array."""
        return Table(self.builder, self.context.make_array(kind)(self.context, self.builder, value))

    def tables(self, kinds, values) -> "list[Table]":
        """A tuple of arrays."""
        values = cgutils.unpack_tuple(self.builder, values)
        return [self.table(kind, value) for kind, value in zip(kinds, values, strict=True)]

    def row(self, i, n, j):
        """The row of (i, j) where each i has n rows."""
        return self.builder.add(self.builder.mul(i, n), j)

    def variable(self, start):
        """A variable that ends up in a register."""
        kept = cgutils.alloca_once(self.builder, start.type)
        self.builder.store(start, kept)
        return kept

    def blocks(self, first, stop, sizes: tuple[int, ...]):
        """Go from first to stop in the largest blocks possible: where each begins, and its size.

        The code that follows is generated once for each size.
        """
        place = self.variable(first)
        for size in sizes:
            left = self.builder.sub(stop, self.builder.load(place))
            with self.loop(self.builder.udiv(left, INDEX(size))):
                here = self.builder.load(place)
                yield here, size
                self.builder.store(self.builder.add(here, INDEX(size)), place)

    @contextmanager
    def loop(self, n):
        """A loop from 0 to n."""
        with cgutils.for_range(self.builder, n) as loop:
            yield loop.index

    def eight(self, number):
        """A number in all lanes."""
        undefined = ir.Constant(EIGHT, ir.Undefined)
        one = self.builder.insert_element(undefined, number, ir.IntType(32)(0))
        every = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, undefined, every)

    def call(self, operation: str, *arguments):
        """An operation of LLVM on numbers, or on eight at a time."""
        kind = arguments[0].type
        name = f"llvm.{operation}.{'f64' if kind == DOUBLE else f'v{LANES}f64'}"
        signature = ir.FunctionType(kind, [kind] * len(arguments))
        module = self.builder.module
        function = module.globals.get(name) or ir.Function(module, signature, name=name)
        return self.builder.call(function, arguments)

    def multiply_add(self, a, b, c):
        """The sum of a b and c, rounded once where the processor can."""
        return self.call("fmuladd", a, b, c)

    def add_product(self, variable, a, b) -> None:
        """Add a b to a variable."""
        self.builder.store(self.multiply_add(a, b, self.builder.load(variable)), variable)


class Table:
    """A C-contiguous array as rows of its last axis."""

    def __init__(self, builder, array):
        self.builder, self.data = builder, array.data
        self.lengths = cgutils.unpack_tuple(builder, array.shape)
        self.width = self.lengths[-1]

    def at(self, row, column):
        """Where a number is."""
        position = self.builder.add(self.builder.mul(row, self.width), column)
        return self.builder.gep(self.data, [position])

    def number(self, row, column):
        """A number."""
        return self.builder.load(self.at(row, column))

    def eight(self, row, column):
        """Eight numbers from there on."""
        place = self.builder.bitcast(self.at(row, column), EIGHT.as_pointer())
        return self.builder.load(place, align=8)

    def put_eight(self, values, row, column) -> None:
        """Write eight numbers there."""
        place = self.builder.bitcast(self.at(row, column), EIGHT.as_pointer())
        self.builder.store(values, place, align=8)
