"""Steps of eight elastic nets side by side, in generated code (see `codegen`).

Arrays have the eight problems as their last axis: G (d d, 8) rows of the Gram matrices one after
the other, c, w and other vectors (d, 8), and done (8,): 1 where a problem is solved, HALF where
a coefficient has just become zero, and 0 otherwise.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .codegen import EIGHT, INDEX, LANES, ZEROS, Code, check_contiguous, intrinsic

ONES = ir.Constant(EIGHT, [1.0] * LANES)
ZERO = INDEX(0)
HALF = 0.5


@intrinsic
def try_signs(typingctx, problem, penalty, w, done, space, limits):
    """Solve exactly on the signs of w; where that is the optimum, w becomes it and is done.

    (G + l2 I) u = c − l1 sign(w) is solved by Cholesky over the coefficients that are not zero,
    with rows of the identity for the others. Where u would cross zero it is followed only up to
    there, which does not raise the objective. It is the optimum if no zero wants to move.

    Parameters
    ----------
    problem, penalty : (G, c) and (l1, l2)
    w, done : updated
    space : scratch for L (d d, 8), its inverse diagonal and u (d, 8)
    limits : what share of its diagonal a pivot must be, and of its terms a gradient can be off
    """
    check_contiguous(*problem, w, done, *space)

    def generate(context, builder, signature, arguments):
        attempt = _Attempt(Code(context, builder), signature, arguments)
        attempt.solve()
        part = attempt.way_to_zero()
        regular = attempt.so_far()
        attempt.check()
        attempt.move(part, regular)
        return context.get_dummy_value()

    return types.void(problem, penalty, w, done, space, limits), generate


class _Attempt:
    """The parts of `try_signs`; what all of them demand is kept for each problem."""

    def __init__(self, code: Code, signature, arguments):
        kinds, builder = signature.args, code.builder
        self.code, self.builder = code, builder
        self.G, self.c = code.tables(kinds[0], arguments[0])
        self.l1, self.l2 = (code.eight(x) for x in cgutils.unpack_tuple(builder, arguments[1]))
        self.w, self.done = (code.table(kinds[k], arguments[k]) for k in (2, 3))
        self.L, self.inverse, self.u = code.tables(kinds[4], arguments[4])
        limits = cgutils.unpack_tuple(builder, arguments[5])
        self.singular, self.rounding = (code.eight(x) for x in limits)
        self.d = self.w.lengths[0]
        self._met = code.variable(ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES))

    def demand(self, condition) -> None:
        """Keep where this is so as well."""
        self.builder.store(self.builder.and_(self.so_far(), condition), self._met)

    def so_far(self):
        """Where all that was demanded is so."""
        return self.builder.load(self._met)

    def is_on(self, j):
        """Where a coefficient is not zero."""
        return self.builder.fcmp_ordered("!=", self.w.eight(j, ZERO), ZEROS)

    def solve(self) -> None:
        """u, by Cholesky row for row, each followed by its step of the forward substitution."""
        code, builder, d, L, u = self.code, self.builder, self.d, self.L, self.u
        with code.loop(d) as a:
            on = self.is_on(a)
            diagonal = builder.fadd(self.G.eight(code.row(a, d, a), ZERO), self.l2)
            diagonal = builder.select(on, diagonal, ONES)
            left = code.variable(diagonal)
            sign = code.call("copysign", self.l1, self.w.eight(a, ZERO))
            right = builder.select(on, builder.fsub(self.c.eight(a, ZERO), sign), ZEROS)
            right = code.variable(right)
            with code.loop(a) as b:
                at, both = code.row(a, d, b), builder.and_(on, self.is_on(b))
                value = code.variable(builder.select(both, self.G.eight(at, ZERO), ZEROS))
                with code.loop(b) as e:
                    before = builder.fneg(L.eight(code.row(a, d, e), ZERO))
                    code.add_product(value, before, L.eight(code.row(b, d, e), ZERO))
                entry = builder.fmul(builder.load(value), self.inverse.eight(b, ZERO))
                L.put_eight(entry, at, ZERO)
                code.add_product(left, builder.fneg(entry), entry)
                code.add_product(right, builder.fneg(entry), u.eight(b, ZERO))
            pivot = builder.load(left)
            self.demand(builder.fcmp_ordered(">", pivot, builder.fmul(self.singular, diagonal)))
            inverse = builder.fdiv(ONES, code.call("sqrt", pivot))
            self.inverse.put_eight(inverse, a, ZERO)
            u.put_eight(builder.fmul(builder.load(right), inverse), a, ZERO)
        last = builder.sub(d, INDEX(1))
        with code.loop(d) as step:
            a = builder.sub(last, step)
            value = builder.fmul(u.eight(a, ZERO), self.inverse.eight(a, ZERO))
            u.put_eight(value, a, ZERO)
            self.demand(builder.fcmp_ordered("==", value, value))  # a number
            with code.loop(a) as b:
                entry = builder.fmul(L.eight(code.row(a, d, b), ZERO), value)
                u.put_eight(builder.fsub(u.eight(b, ZERO), entry), b, ZERO)

    def way_to_zero(self):
        """The part of the way from w to u until a coefficient reaches zero, or 1."""
        code, builder = self.code, self.builder
        part = code.variable(ONES)
        with code.loop(self.d) as j:
            share, crosses = self.crossing(j)
            nearer = builder.fcmp_ordered("<", share, builder.load(part))
            nearer = builder.and_(crosses, nearer)
            builder.store(builder.select(nearer, share, builder.load(part)), part)
        return builder.load(part)

    def crossing(self, j):
        """The part of the way after which a coefficient is zero, and whether it gets there."""
        builder, old, new = self.builder, self.w.eight(j, ZERO), self.u.eight(j, ZERO)
        share = builder.fdiv(old, builder.fsub(old, new))
        # By signs, for a product of the two can be too small for a number.
        falls, rises = (
            builder.and_(
                builder.fcmp_ordered(before, old, ZEROS), builder.fcmp_ordered(after, new, ZEROS)
            )
            for before, after in ((">", "<="), ("<", ">="))
        )
        return share, builder.or_(falls, rises)

    def check(self) -> None:
        """Demand that no zero wants to move, up to rounding of the sum that its gradient is."""
        code, builder, d = self.code, self.builder, self.d
        with code.loop(d) as j:
            start = self.c.eight(j, ZERO)
            gradient, terms = code.variable(start), code.variable(code.call("fabs", start))
            with code.loop(d) as i:
                term = builder.fmul(self.G.eight(code.row(j, d, i), ZERO), self.u.eight(i, ZERO))
                builder.store(builder.fsub(builder.load(gradient), term), gradient)
                builder.store(builder.fadd(builder.load(terms), code.call("fabs", term)), terms)
            most = code.multiply_add(self.rounding, builder.load(terms), self.l1)
            stays = builder.fcmp_ordered("<=", code.call("fabs", builder.load(gradient)), most)
            constant = builder.fcmp_ordered("<=", self.G.eight(code.row(j, d, j), ZERO), ZEROS)
            self.demand(builder.or_(self.is_on(j), builder.or_(stays, constant)))

    def move(self, part, regular) -> None:
        """Go that part of the way where the matrix is regular; all of it may be the optimum."""
        code, builder = self.code, self.builder
        before = self.done.eight(ZERO, ZERO)
        unsolved = builder.fcmp_ordered("!=", before, ONES)
        moves, whole = builder.and_(unsolved, regular), builder.fcmp_ordered("==", part, ONES)
        with code.loop(self.d) as j:
            share, crosses = self.crossing(j)
            old, new = self.w.eight(j, ZERO), self.u.eight(j, ZERO)
            between = code.multiply_add(part, builder.fsub(new, old), old)
            ends = builder.and_(crosses, builder.fcmp_ordered("<=", share, part))
            new = builder.select(whole, new, builder.select(ends, ZEROS, between))
            self.w.put_eight(builder.select(moves, new, old), j, ZERO)
        half = ir.Constant(EIGHT, [HALF] * LANES)
        state = builder.select(builder.and_(regular, builder.not_(whole)), half, ZEROS)
        state = builder.select(builder.and_(self.so_far(), whole), ONES, state)
        self.done.put_eight(builder.select(unsolved, state, before), ZERO, ZERO)


@intrinsic
def sweep_eight(typingctx, problem, penalty, w, done, gradient):
    """One pass of coordinate descent over the problems that are not done.

    `gradient` (d, 8) is scratch; the other arguments are those of `try_signs`.
    """
    check_contiguous(*problem, w, done, gradient)

    def generate(context, builder, signature, arguments):
        code = Code(context, builder)
        G, c = code.tables(signature.args[0], arguments[0])
        l1, l2 = (code.eight(x) for x in cgutils.unpack_tuple(builder, arguments[1]))
        w, done, gradient = (code.table(signature.args[k], arguments[k]) for k in (2, 3, 4))
        d = w.lengths[0]
        stays = builder.fcmp_ordered("!=", done.eight(ZERO, ZERO), ZEROS)
        with code.loop(d) as i:
            left = code.variable(c.eight(i, ZERO))
            with code.loop(d) as j:
                entry = builder.fneg(G.eight(code.row(j, d, i), ZERO))
                code.add_product(left, entry, w.eight(j, ZERO))
            gradient.put_eight(builder.load(left), i, ZERO)
        with code.loop(d) as j:
            own, old = G.eight(code.row(j, d, j), ZERO), w.eight(j, ZERO)
            rho = code.multiply_add(own, old, gradient.eight(j, ZERO))
            shrunk = builder.fsub(code.call("fabs", rho), l1)
            above = builder.fcmp_ordered(">", shrunk, ZEROS)
            moves = builder.and_(above, builder.fcmp_ordered(">", own, ZEROS))
            new = builder.fdiv(code.call("copysign", shrunk, rho), builder.fadd(own, l2))
            new = builder.select(moves, new, ZEROS)
            new = builder.select(stays, old, new)
            back = builder.fsub(old, new)
            w.put_eight(new, j, ZERO)
            with code.loop(d) as i:
                left = code.multiply_add(
                    G.eight(code.row(j, d, i), ZERO), back, gradient.eight(i, ZERO)
                )
                gradient.put_eight(left, i, ZERO)
        return context.get_dummy_value()

    return types.void(problem, penalty, w, done, gradient), generate
