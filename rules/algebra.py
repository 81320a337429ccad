"""Arithmetic that holds for every operator that declares the right facts, and the everyday identities of + - * /."""

from termgraph.rules import (
    Complex,
    Integer,
    Real,
    distributes,
    evaluate,
    finite,
    head,
    idempotent,
    identity,
    injective,
    inverse,
    literals,
    nonzero,
    projection,
    right_identity,
    rule,
    ruleset,
    same_dtype,
    seg,
    this,
)
from termgraph.rules.type_facts import is_difference, keeps_zeros

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


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
    yield rule("mul_zero",       x * 0,                      0,              finite(x), assumes=["signed_zero"])

    # differences and quotients
    yield rule("sub_self",       x - x,                      0,              finite(x))
    yield rule("sub_neg",        x - (-y),                   x + y,          same_dtype(y, this), tags=AGAIN)
    yield rule("neg_sub",        -(x - y),                   y - x,          same_dtype(x, y), assumes=["signed_zero"])
    yield rule("zero_sub",       0 - x,                      -x,
                                 same_dtype(x, this), assumes=["signed_zero"])
    yield rule("div_self",       u / u,                      1,              nonzero(u), finite(u))
    yield rule("div_self_complex", c / c,                    1,              nonzero(c), finite(c), assumes=["reassoc"])
    yield rule("mul_div",        (x * y) / y,                x,
                                 nonzero(y), finite(y), assumes=["finite", "overflow", "reassoc"])
    yield rule("div_mul",        (x / y) * y,                x,
                                 nonzero(y), finite(y), assumes=["finite", "overflow", "reassoc"])
    yield rule("mul_minus_one",  x * -1,                     -x,             same_dtype(x, this))
    yield rule("neg_mul",        (-u) * (-v),                u * v,          same_dtype(u, this), same_dtype(v, this))
    yield rule("neg_div",        (-x) / (-y),                x / y,          same_dtype(x, this), same_dtype(y, this))
    yield rule("pow_zero",       x ** 0,                     1)


@ruleset("canonicalize")
def inverses(u: Real, c: Complex, f: head, g: head):
    yield rule("inverse",        f(g(u)),                u,
                                 inverse(f, g), assumes=["finite", "domain", "overflow", "reassoc"])
    yield rule("inverse_complex", f(g(c)),               c,
                                  inverse(f, g), injective(g), assumes=["finite", "domain", "overflow", "reassoc"])


@ruleset("specialize")
def factoring(x, y, z, m: head, a: head):
    yield rule("factor",         a(m(x, y), m(x, z)),        m(x, a(y, z)),
                                 distributes(m, a), same_dtype(y, this), same_dtype(z, this),  # True + True is True
                                 assumes=["finite", "overflow", "reassoc"])
