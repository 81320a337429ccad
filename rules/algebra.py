"""Arithmetic that holds for every operator that declares the right facts, and the everyday identities of + - * /."""

from termgraph.rules import (
    Complex, Integer, Real, distributes, evaluate, finite, head, idempotent, identity, injective, inverse, literals,
    no_minus_zero, nonzero, projection, right_identity, rule, ruleset, seg, this,
)
from termgraph.rules.type_facts import is_difference, keeps_zeros
from termgraph.terms.ops.elementwise import abs_, cos, cosh, exp, exp2, log, log2, log10, sigmoid, softplus, sqr

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("stabilize")
def zeros(v: Real, h: head[abs_, cos, cosh, exp, exp2, log, log2, log10, sigmoid, softplus, sqr]):
    # 0.0 is added where the sign of a zero is to be that of the formula as written; here nobody sees it
    yield rule("needless",       v[no_minus_zero] + 0,       v)
    yield rule("unseen",         h(v + 0),                   h(v))
    yield rule("unseen_neg",     h(0 - v),                   h(-v))


@ruleset("canonicalize")
def algebra(x, y, z, k, n, c: Complex, i: Integer, u: Real, v: Real, f: head, xs: seg):
    yield rule("fold",           f(*xs),                     k,
                                 literals(xs), evaluate(f, xs, k), tags=AGAIN)

    # identity elements and inverses, for every operator that declares them
    yield rule("identity",       f(x, n),                    x,
                                 identity(f, n), keeps_zeros(f, x), tags=AGAIN)
    yield rule("add_zero",       x + 0,                      x,              assumes=["signed_zero"])
    yield rule("sub_zero",       x - 0,                      x,              is_difference(this))
    yield rule("right_identity", f(x, n),                    x,
                                 right_identity(f, n), keeps_zeros(f, x), tags=AGAIN)
    yield rule("idempotent",     f(x, x),                    x,              idempotent(f))
    yield rule("projection",     f(f(u)),                    f(u),           projection(f))
    yield rule("involution",     f(f(x)),                    x,              inverse(f, f), tags=AGAIN)
    yield rule("mul_zero_integer", i * 0,                    0)
    yield rule("mul_zero",       x[finite] * 0,              0, assumes=["signed_zero"])

    # differences and quotients
    yield rule("sub_self",       x[finite] - x,              0)
    yield rule("sub_neg",        x - (-y[this.dtype]),       x + y, tags=AGAIN)
    yield rule("neg_sub",        -(x - y[x.dtype]),          y - x, assumes=["signed_zero"])
    yield rule("zero_sub",       0 - x[this.dtype],          -x, assumes=["signed_zero"])
    yield rule("div_self",       u[nonzero, finite] / u,     1)
    yield rule("div_self_complex", c[nonzero, finite] / c,   1, assumes=["reassoc"])
    yield rule("mul_div",        (x * y[nonzero, finite]) / y, x, assumes=["finite", "overflow", "reassoc"])
    yield rule("div_mul",        (x / y[nonzero, finite]) * y, x, assumes=["finite", "overflow", "reassoc"])
    yield rule("mul_minus_one",  x[this.dtype] * -1,         -x)
    yield rule("neg_mul",        (-u[this.dtype]) * (-v[this.dtype]), u * v)
    yield rule("neg_div",        (-x[this.dtype]) / (-y[this.dtype]), x / y)
    yield rule("pow_zero",       x ** 0,                     1)


@ruleset("canonicalize")
def inverses(u: Real, c: Complex, f: head, g: head):
    yield rule("inverse",        f(g(u)),                u,
                                 inverse(f, g), assumes=["finite", "domain", "overflow", "reassoc"])
    yield rule("inverse_complex", f(g(c)),               c,
                                  inverse(f, g), injective(g), assumes=["finite", "domain", "overflow", "reassoc"])


@ruleset("specialize")
def factoring(x, y, z, m: head, a: head):
    yield rule("factor",         a(m(x, y[this.dtype]), m(x, z[this.dtype])), m(x, a(y, z)),
                                 distributes(m, a),  # True + True is True
                                 assumes=["finite", "overflow", "reassoc"])
