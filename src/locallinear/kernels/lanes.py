"""Eight numbers at a time, for compiled loops whose arrays the compiler cannot tell apart.

Where an array that is read might be the one that is written, the compiler keeps to one number
after the other. These functions say that eight are meant together. They work on C-contiguous
arrays of doubles and count positions from the first element.
"""

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 8

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)


def _check_contiguous(*arrays) -> None:
    for array in arrays:
        if not (isinstance(array, types.Array) and array.layout == "C"):
            raise TypingError(f"lanes need C-contiguous arrays, but one is {array}")


def _pointer(context, builder, kind, array, position):
    """Where eight numbers of an array begin."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _splat(builder, number):
    """A number eight times."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, _index(0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), every)


def _index(i: int):
    return ir.Constant(ir.IntType(32), i)


def _multiply_add(builder, a, b, c):
    """The sum of a b and c, rounded once where the processor can."""
    name, kind = f"llvm.fmuladd.v{LANES}f64", ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    module = builder.module
    function = module.globals.get(name) or ir.Function(module, kind, name=name)
    return builder.call(function, [a, b, c])


def _absolute(builder, a):
    name, kind = f"llvm.fabs.v{LANES}f64", ir.FunctionType(_VECTOR, [_VECTOR])
    module = builder.module
    function = module.globals.get(name) or ir.Function(module, kind, name=name)
    return builder.call(function, [a])


@intrinsic
def add_scaled(typingctx, sums, at, values, start, factor):
    """sums[at : at + 8] += factor * values[start : start + 8]."""
    _check_contiguous(sums, values)

    def generate(context, builder, signature, arguments):
        sums, at, values, start, factor = arguments
        target = _pointer(context, builder, signature.args[0], sums, at)
        source = _pointer(context, builder, signature.args[2], values, start)
        old, new = builder.load(target, align=8), builder.load(source, align=8)
        builder.store(_multiply_add(builder, new, _splat(builder, factor), old), target, align=8)
        return context.get_dummy_value()

    return types.void(sums, types.intp, values, types.intp, types.float64), generate


@intrinsic
def add_errors_of(typingctx, sums, at, parts, start, rest, scale, y, count, squared):
    """sums[at : at + 8] += count e² or count |e|, e = (parts[start : start + 8] + rest) scale − y.

    All but the first four are numbers; `squared` says whether it is e² or |e|.
    """
    _check_contiguous(sums, parts)

    def generate(context, builder, signature, arguments):
        sums, at, parts, start, rest, scale, y, count, squared = arguments
        target = _pointer(context, builder, signature.args[0], sums, at)
        source = _pointer(context, builder, signature.args[2], parts, start)
        whole = builder.fadd(builder.load(source, align=8), _splat(builder, rest))
        minus_y = builder.fneg(_splat(builder, y))
        error = _multiply_add(builder, whole, _splat(builder, scale), minus_y)
        size = builder.select(squared, builder.fmul(error, error), _absolute(builder, error))
        old = builder.load(target, align=8)
        builder.store(_multiply_add(builder, size, _splat(builder, count), old), target, align=8)
        return context.get_dummy_value()

    numbers = [types.float64] * 4
    return types.void(sums, types.intp, parts, types.intp, *numbers, types.boolean), generate
