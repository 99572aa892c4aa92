"""Four numbers at a time, kept in registers, for loops over rows of a few dozen numbers.

Rows of models are short: left alone, the compiler handles them one number after the other, or
sends every partial sum through memory. Arrays are C-contiguous and hold doubles; positions count
from the first element, and rows are a multiple of four long.
"""

from llvmlite import ir
from numba import types

from ..grid.codegen import DOUBLE, INDEX, call, check_contiguous, in_all_lanes, intrinsic

LANES = 4

FOUR = ir.VectorType(DOUBLE, LANES)


def padded(p: int) -> int:
    """The length of a row of p numbers in whole fours."""
    return -(-p // LANES) * LANES


def _data(context, builder, kind, array):
    check_contiguous(kind)
    return context.make_array(kind)(context, builder, array).data


def _pointer(context, builder, kind, array, position):
    data = _data(context, builder, kind, array)
    return builder.bitcast(builder.gep(data, [position]), FOUR.as_pointer())


def _splat(builder, number):
    return in_all_lanes(builder, number, LANES)


def _multiply_add(builder, a, b, c):
    return call(builder, "fmuladd", a, b, c)


def _total(builder, vector):
    """The sum of the four numbers."""
    lanes = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(LANES)]
    return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))


def _loop(builder, begin, end, first, body):
    """The value after body(index, value) for begin <= index < end, starting from first."""
    entry = builder.block
    loop, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
    builder.position_at_end(loop)
    index, value = builder.phi(INDEX), builder.phi(FOUR)
    changed = body(index, value)
    following = builder.add(index, INDEX(1))
    index.add_incoming(begin, entry)
    index.add_incoming(following, loop)
    value.add_incoming(first, entry)
    value.add_incoming(changed, loop)
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    builder.position_at_end(after)
    result = builder.phi(FOUR)
    result.add_incoming(first, entry)
    result.add_incoming(changed, loop)
    return result


@intrinsic
def add_rows(typingctx, out, at, base, start, table, column, width, index, weights, begin, end):
    """out[at : at + 4] = base[start : start + 4] + Σ_e weights[e] row[column : column + 4].

    The sum is over begin <= e < end, and row is number index[e] of the table's rows of `width`.
    """

    def generate(context, builder, signature, arguments):
        out, at, base, start, table, column, width, index, weights, begin, end = arguments
        kinds = signature.args
        numbers = _data(context, builder, kinds[7], index)
        factors = _data(context, builder, kinds[8], weights)

        def add(e, total):
            row = builder.load(builder.gep(numbers, [e]))
            factor = _splat(builder, builder.load(builder.gep(factors, [e])))
            position = builder.add(builder.mul(row, width), column)
            values = _pointer(context, builder, kinds[4], table, position)
            return _multiply_add(builder, builder.load(values, align=8), factor, total)

        first = builder.load(_pointer(context, builder, kinds[2], base, start), align=8)
        total = _loop(builder, begin, end, first, add)
        builder.store(total, _pointer(context, builder, kinds[0], out, at), align=8)
        return context.get_dummy_value()

    whole = types.intp
    rows = (out, whole, base, whole, table, whole, whole)
    return types.void(*rows, index, weights, whole, whole), generate


@intrinsic
def dot(typingctx, a, at, b, start, fours):
    """Σ a[at + i] b[start + i] over the first 4 `fours` numbers."""

    def generate(context, builder, signature, arguments):
        a, at, b, start, fours = arguments
        kinds = signature.args

        def add(i, total):
            shift = builder.mul(i, INDEX(LANES))
            left = _pointer(context, builder, kinds[0], a, builder.add(at, shift))
            right = _pointer(context, builder, kinds[2], b, builder.add(start, shift))
            values = builder.load(left, align=8), builder.load(right, align=8)
            return _multiply_add(builder, *values, total)

        zero = INDEX(0)
        nothing = ir.Constant(FOUR, [0.0] * LANES)
        return _total(builder, _loop(builder, zero, fours, nothing, add))

    return types.float64(a, types.intp, b, types.intp, types.intp), generate


@intrinsic
def add_scaled(typingctx, out, at, values, start, factor):
    """out[at : at + 4] += factor values[start : start + 4]."""

    def generate(context, builder, signature, arguments):
        out, at, values, start, factor = arguments
        target = _pointer(context, builder, signature.args[0], out, at)
        source = _pointer(context, builder, signature.args[2], values, start)
        old, new = builder.load(target, align=8), builder.load(source, align=8)
        builder.store(_multiply_add(builder, new, _splat(builder, factor), old), target, align=8)
        return context.get_dummy_value()

    return types.void(out, types.intp, values, types.intp, types.float64), generate


@intrinsic
def multiply(typingctx, out, at, values, start):
    """out[at : at + 4] *= values[start : start + 4]."""

    def generate(context, builder, signature, arguments):
        out, at, values, start = arguments
        target = _pointer(context, builder, signature.args[0], out, at)
        source = _pointer(context, builder, signature.args[2], values, start)
        old, new = builder.load(target, align=8), builder.load(source, align=8)
        builder.store(builder.fmul(old, new), target, align=8)
        return context.get_dummy_value()

    return types.void(out, types.intp, values, types.intp), generate


@intrinsic
def subtract(typingctx, out, at, a, plus, b, minus):
    """out[at : at + 4] = a[plus : plus + 4] - b[minus : minus + 4]."""

    def generate(context, builder, signature, arguments):
        out, at, a, plus, b, minus = arguments
        kinds = signature.args
        left = builder.load(_pointer(context, builder, kinds[2], a, plus), align=8)
        right = builder.load(_pointer(context, builder, kinds[4], b, minus), align=8)
        target = _pointer(context, builder, kinds[0], out, at)
        builder.store(builder.fsub(left, right), target, align=8)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(out, whole, a, whole, b, whole), generate


@intrinsic
def exchange(typingctx, out, to, back, f, a, at_a, g, b, at_b, h, c, at_c):
    """Add f a + g b + h c to out[to : to + 4] and take it from out[back : back + 4].

    a, b and c are the four numbers at at_a, at_b and at_c of their arrays; f, g and h numbers.
    """

    def generate(context, builder, signature, arguments):
        out, to, back, *terms = arguments
        kinds = signature.args
        total = ir.Constant(FOUR, [0.0] * LANES)
        for i in range(0, 9, 3):
            factor, array, at = terms[i : i + 3]
            values = builder.load(_pointer(context, builder, kinds[4 + i], array, at), align=8)
            total = _multiply_add(builder, values, _splat(builder, factor), total)
        target = _pointer(context, builder, kinds[0], out, to)
        builder.store(builder.fadd(builder.load(target, align=8), total), target, align=8)
        target = _pointer(context, builder, kinds[0], out, back)
        builder.store(builder.fsub(builder.load(target, align=8), total), target, align=8)
        return context.get_dummy_value()

    whole, number = types.intp, types.float64
    terms = (number, a, whole, number, b, whole, number, c, whole)
    return types.void(out, whole, whole, *terms), generate
