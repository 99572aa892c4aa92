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
        code = Code(context, builder)
        G, c = code.tables(signature.args[0], arguments[0])
        l1, l2 = (code.eight(x) for x in cgutils.unpack_tuple(builder, arguments[1]))
        w, done = (code.table(signature.args[k], arguments[k]) for k in (2, 3))
        L, inverse, u = code.tables(signature.args[4], arguments[4])
        singular, rounding = (code.eight(x) for x in cgutils.unpack_tuple(builder, arguments[5]))
        d = w.lengths[0]
        sound = code.variable(ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES))

        def demand(condition):
            builder.store(builder.and_(builder.load(sound), condition), sound)

        def on(j):
            return builder.fcmp_ordered("!=", w.eight(j, ZERO), ZEROS)

        def above(values):
            return builder.fcmp_ordered(">", values, ZEROS)

        def below(values):
            return builder.fcmp_ordered("<", values, ZEROS)

        def crossing(j):
            """What part of the way from w to u a coefficient goes to zero, and whether it does."""
            old, new = w.eight(j, ZERO), u.eight(j, ZERO)
            share = builder.fdiv(old, builder.fsub(old, new))
            falls = builder.and_(above(old), builder.fcmp_ordered("<=", new, ZEROS))
            rises = builder.and_(below(old), builder.fcmp_ordered(">=", new, ZEROS))
            return share, builder.or_(falls, rises)

        with code.loop(d) as a:
            on_a = on(a)
            diagonal = builder.fadd(G.eight(code.row(a, d, a), ZERO), l2)
            diagonal = builder.select(on_a, diagonal, ONES)
            left = code.variable(diagonal)
            with code.loop(a) as b:
                at = code.row(a, d, b)
                both = builder.and_(on_a, on(b))
                value = code.variable(builder.select(both, G.eight(at, ZERO), ZEROS))
                with code.loop(b) as e:
                    other = L.eight(code.row(b, d, e), ZERO)
                    code.add_product(value, builder.fneg(L.eight(code.row(a, d, e), ZERO)), other)
                entry = builder.fmul(builder.load(value), inverse.eight(b, ZERO))
                L.put_eight(entry, at, ZERO)
                code.add_product(left, builder.fneg(entry), entry)
            pivot = builder.load(left)
            demand(builder.fcmp_ordered(">", pivot, builder.fmul(singular, diagonal)))
            inverse.put_eight(builder.fdiv(ONES, code.call("sqrt", pivot)), a, ZERO)
            # Forward substitution, as far as the rows are known.
            sign = code.call("copysign", l1, w.eight(a, ZERO))
            right = builder.select(on_a, builder.fsub(c.eight(a, ZERO), sign), ZEROS)
            known = code.variable(right)
            with code.loop(a) as b:
                entry = L.eight(code.row(a, d, b), ZERO)
                code.add_product(known, builder.fneg(entry), u.eight(b, ZERO))
            u.put_eight(builder.fmul(builder.load(known), inverse.eight(a, ZERO)), a, ZERO)
        last = builder.sub(d, INDEX(1))
        with code.loop(d) as step:
            a = builder.sub(last, step)
            value = builder.fmul(u.eight(a, ZERO), inverse.eight(a, ZERO))
            u.put_eight(value, a, ZERO)
            with code.loop(a) as b:
                entry = builder.fmul(L.eight(code.row(a, d, b), ZERO), value)
                u.put_eight(builder.fsub(u.eight(b, ZERO), entry), b, ZERO)
        step = code.variable(ONES)
        with code.loop(d) as j:
            demand(builder.fcmp_ordered("==", u.eight(j, ZERO), u.eight(j, ZERO)))  # a number
            share, crosses = crossing(j)
            nearer = builder.fcmp_ordered("<", share, builder.load(step))
            nearer = builder.and_(crosses, nearer)
            builder.store(builder.select(nearer, share, builder.load(step)), step)
        regular, part = builder.load(sound), builder.load(step)
        whole = builder.fcmp_ordered("==", part, ONES)
        demand(whole)
        with code.loop(d) as j:
            gradient = code.variable(c.eight(j, ZERO))
            terms = code.variable(code.call("fabs", c.eight(j, ZERO)))
            with code.loop(d) as i:
                term = builder.fmul(G.eight(code.row(j, d, i), ZERO), u.eight(i, ZERO))
                builder.store(builder.fsub(builder.load(gradient), term), gradient)
                builder.store(builder.fadd(builder.load(terms), code.call("fabs", term)), terms)
            most = code.multiply_add(rounding, builder.load(terms), l1)
            stays = builder.fcmp_ordered("<=", code.call("fabs", builder.load(gradient)), most)
            constant = builder.fcmp_ordered("<=", G.eight(code.row(j, d, j), ZERO), ZEROS)
            demand(builder.or_(on(j), builder.or_(stays, constant)))
        before = done.eight(ZERO, ZERO)
        open_ = builder.fcmp_ordered("!=", before, ONES)
        moves = builder.and_(open_, regular)
        with code.loop(d) as j:
            share, crosses = crossing(j)
            old, new = w.eight(j, ZERO), u.eight(j, ZERO)
            between = code.multiply_add(part, builder.fsub(new, old), old)
            ends = builder.and_(crosses, builder.fcmp_ordered("<=", share, part))
            new = builder.select(whole, new, builder.select(ends, ZEROS, between))
            w.put_eight(builder.select(moves, new, old), j, ZERO)
        half = ir.Constant(EIGHT, [HALF] * LANES)
        state = builder.select(builder.and_(regular, builder.not_(whole)), half, ZEROS)
        state = builder.select(builder.load(sound), ONES, state)
        done.put_eight(builder.select(open_, state, before), ZERO, ZERO)
        return context.get_dummy_value()

    return types.void(problem, penalty, w, done, space, limits), generate


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
