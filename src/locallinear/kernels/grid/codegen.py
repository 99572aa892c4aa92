"""Functions whose machine code is written down: rows of arrays, loops, eight numbers at a time.

Where an array that is read might be the one that is written, a compiler keeps to one number after
the other, and writes each sum back before it goes on. Generated code says which numbers are meant
together, and holds them in registers. numba keeps compiled functions by the file that they are
in: after a change here or in `lanes` and `net_lanes`, remove the old ones (`__pycache__`).
"""

from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic as numba_intrinsic

LANES = 8


# Callers do not pass the typing context, which a type checker cannot know.
intrinsic: Any = numba_intrinsic

DOUBLE = ir.DoubleType()
EIGHT = ir.VectorType(DOUBLE, LANES)
INDEX = ir.IntType(64)
ZEROS = ir.Constant(EIGHT, [0.0] * LANES)


def check_contiguous(*arrays) -> None:
    """Refuse arrays that the generated code cannot walk through."""
    for array in arrays:
        if not (isinstance(array, types.Array) and array.layout == "C"):
            raise TypingError(f"generated code needs C-contiguous arrays, but one is {array}")


def in_all_lanes(builder, number, lanes: int):
    """A vector of the same number."""
    undefined = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    one = builder.insert_element(undefined, number, ir.IntType(32)(0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, undefined, every)


def call(builder, operation: str, *arguments):
    """An operation of LLVM on numbers, or on vectors of them."""
    kind = arguments[0].type
    name = f"llvm.{operation}.{'f64' if kind == DOUBLE else f'v{kind.count}f64'}"
    signature = ir.FunctionType(kind, [kind] * len(arguments))
    function = builder.module.globals.get(name) or ir.Function(builder.module, signature, name)
    return builder.call(function, arguments)


class Code:
    """A function that is being written."""

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

    def rows_of(self, first, stop, sizes: tuple[int, ...]):
        """Go through the rows from first to stop in the largest blocks possible.

        The code that follows is generated once for each size.
        """
        place = self.variable(first)
        for size in sizes:
            left = self.builder.sub(stop, self.builder.load(place))
            with self.loop(self.builder.udiv(left, INDEX(size))):
                here = self.builder.load(place)
                yield [self.builder.add(here, INDEX(b)) for b in range(size)]
                self.builder.store(self.builder.add(here, INDEX(size)), place)

    @contextmanager
    def loop(self, n):
        """A loop from 0 to n."""
        with cgutils.for_range(self.builder, n) as loop:
            yield loop.index

    def eight(self, number):
        """A number in all lanes."""
        return in_all_lanes(self.builder, number, LANES)

    def put_in(self, eight, number, lane: int):
        """Eight numbers with another one in a lane."""
        return self.builder.insert_element(eight, number, ir.IntType(32)(lane))

    def call(self, operation: str, *arguments):
        """An operation of LLVM on numbers, or on eight at a time."""
        return call(self.builder, operation, *arguments)

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
