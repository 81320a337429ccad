"""Index arithmetic: whole quotients and remainders, bounds and comparisons of integers, as far as nothing wraps around.

What is known comes from ranges (dtypes, lengths, `arange`, `T.assume(i, between=(0, n))`); `no_overflow` is a fact that
ranges prove, and that the mode UNSAFE takes on trust. A division by 0 gives 0.
"""

from termgraph.rules import (
    Integer,
    Uniform,
    apart,
    at_most,
    below,
    divides,
    head,
    no_overflow,
    nonnegative,
    nonzero,
    of_integers,
    positive,
    rule,
    ruleset,
    same_dtype,
    this,
)
from termgraph.rules.number_parts import after_mask, two_to
from termgraph.rules.range_facts import leaves_rest
from termgraph.terms.ops.assume import between
from termgraph.terms.ops.elementwise import (
    bitwise_and,
    clip,
    eq,
    floor_div,
    ge,
    gt,
    le,
    left_shift,
    lt,
    maximum,
    minimum,
    mod,
    neq,
    right_shift,
)

Number = Uniform & Integer


@ruleset("canonicalize")
def quotients(i: Integer, j: Integer, k: Integer, c: Number, d: Number):
    # one spelling; specialize makes shifts and masks of powers of two again
    yield rule("left_shift",     left_shift(i, c),               i * two_to(c),
                                 same_dtype(i, c))
    yield rule("right_shift",    right_shift(i, c),              floor_div(i, two_to(c)),
                                 same_dtype(i, c))
    yield rule("mask",           bitwise_and(i, c),              mod(i, after_mask(c)),
                                 same_dtype(i, c))

    # nothing is left, or all
    yield rule("small",          floor_div(i, j),                0,
                                 nonnegative(i), below(i, j))
    yield rule("of_product",     floor_div(i * j, j),            i,
                                 nonzero(j), no_overflow(i * j), of_integers(this))
    yield rule("of_multiple",    floor_div(i * c, d),            i * floor_div(c, d),
                                 divides(d, c), no_overflow(i * c), of_integers(this))
    yield rule("times_divisor",  floor_div(i, c) * c,            i,
                                 positive(c), divides(c, i), of_integers(this))

    # multiples are taken out of sums
    yield rule("split",          floor_div(i * j + k, j),        i + floor_div(k, j),
                                 nonzero(j), no_overflow(i * j), no_overflow(i * j + k), of_integers(this))
    yield rule("split_multiple", floor_div(i * c + k, d),        i * floor_div(c, d) + floor_div(k, d),
                                 divides(d, c), no_overflow(i * c), no_overflow(i * c + k), of_integers(this))
    yield rule("offset",         floor_div(i + c, d),            floor_div(i, d) + floor_div(c, d),
                                 divides(d, c), no_overflow(i + c), of_integers(this))
    yield rule("drop",           floor_div(i * c + k, d),        floor_div(i, floor_div(d, c)),
                                 divides(c, d), positive(c), positive(d), nonnegative(k), below(k, c),
                                 no_overflow(i * c), no_overflow(i * c + k), of_integers(this))

    # factors in common
    yield rule("common",         floor_div(i * k, j * k),        floor_div(i, j),
                                 nonzero(k), no_overflow(i * k), no_overflow(j * k), of_integers(this))
    yield rule("common_number",  floor_div(i * c, d),            floor_div(i, floor_div(d, c)),
                                 divides(c, d), no_overflow(i * c), of_integers(this))

    # quotients of quotients
    yield rule("twice",          floor_div(floor_div(i, j), k),  floor_div(i, j * k),
                                 positive(j), positive(k), no_overflow(j * k), of_integers(this))
    yield rule("of_rest_less",   floor_div(i - mod(i, j), j),    floor_div(i, j),
                                 no_overflow(i - mod(i, j)), of_integers(this))


@ruleset("canonicalize")
def remainders(i: Integer, j: Integer, k: Integer, c: Number, d: Number):
    yield rule("small",          mod(i, j),                      i,
                                 nonnegative(i), below(i, j))
    yield rule("of_multiple",    mod(i, d),                      0,
                                 divides(d, i), of_integers(this))
    yield rule("of_product",     mod(i * j, j),                  0,
                                 no_overflow(i * j), of_integers(this))
    yield rule("of_multiples",   mod(i * c, d),                  0,
                                 divides(d, c), no_overflow(i * c), of_integers(this))

    # multiples fall out of sums
    yield rule("split",          mod(i * j + k, j),              mod(k, j),
                                 no_overflow(i * j), no_overflow(i * j + k), of_integers(this))
    yield rule("split_multiple", mod(i * c + k, d),              mod(k, d),
                                 divides(d, c), no_overflow(i * c), no_overflow(i * c + k), of_integers(this))
    yield rule("plus_multiple",  mod(i + j, d),                  mod(j, d),
                                 divides(d, i), no_overflow(i + j), of_integers(this))
    yield rule("offset",         mod(i + c, d),                  mod(i + mod(c, d), d),
                                 apart(mod(c, d), c), no_overflow(i + c), no_overflow(i + mod(c, d)), of_integers(this))

    # factors in common, remainders of remainders
    yield rule("common",         mod(i * k, j * k),              mod(i, j) * k,
                                 of_integers(this), no_overflow(i * k), no_overflow(j * k))
    yield rule("common_number",  mod(i * c, d),                  mod(i, floor_div(d, c)) * c,
                                 divides(c, d), no_overflow(i * c), of_integers(this))
    yield rule("twice",          mod(mod(i, c), d),              mod(i, d),
                                 nonzero(c), divides(d, c), of_integers(this))
    yield rule("of_larger",      mod(mod(i, j * k), j),          mod(i, j),
                                 nonzero(k), no_overflow(j * k), of_integers(this))
    yield rule("within_larger",  mod(mod(i, j), j * k),          mod(i, j),
                                 positive(k), no_overflow(j * k), of_integers(this))
    yield rule("of_sum",         mod(mod(i, j) + k, j),          mod(i + k, j),
                                 no_overflow(i + k), no_overflow(mod(i, j) + k), of_integers(this))
    yield rule("of_factor",      mod(mod(i, j) * k, j),          mod(i * k, j),
                                 no_overflow(i * k), no_overflow(mod(i, j) * k), of_integers(this))

    # what is left and what is taken make the whole
    yield rule("recompose",      floor_div(i, j) * j + mod(i, j), i,
                                 nonzero(j), of_integers(this))
    yield rule("less_multiple",  i - floor_div(i, j) * j,        mod(i, j),
                                 nonzero(j), of_integers(this))


@ruleset("canonicalize")
def order(i: Integer, j: Integer, k: Integer, c: Number, d: Number, h: head[lt, gt, le, ge, eq, neq], f: head[le, gt],
          g: head[lt, ge], e: head[eq, neq], m: head[maximum, minimum]):
    # the answer is known
    yield rule("min",            minimum(i, j),                  i,                                  at_most(i, j))
    yield rule("max",            maximum(i, j),                  j,                                  at_most(i, j))
    yield rule("clip",           clip(i, j, k),                  i,
                                 at_most(j, i), at_most(i, k))
    yield rule("lt_true",        i < j,                          True,                               below(i, j))
    yield rule("lt_false",       i < j,                          False,                              at_most(j, i))
    yield rule("gt_true",        i > j,                          True,                               below(j, i))
    yield rule("gt_false",       i > j,                          False,                              at_most(i, j))
    yield rule("le_true",        i <= j,                         True,                               at_most(i, j))
    yield rule("le_false",       i <= j,                         False,                              below(j, i))
    yield rule("ge_true",        i >= j,                         True,                               at_most(j, i))
    yield rule("ge_false",       i >= j,                         False,                              below(i, j))
    yield rule("eq_false",       eq(i, j),                       False,                              apart(i, j))
    yield rule("neq_true",       neq(i, j),                      True,                               apart(i, j))

    # what both sides have in common
    yield rule("same_term",      h(i + k, j + k),                h(i, j),
                                 no_overflow(i + k), no_overflow(j + k))
    yield rule("own_term",       h(i + k, i),                    h(k, 0),                            no_overflow(i + k))
    yield rule("own_term_right", h(i, i + k),                    h(0, k),                            no_overflow(i + k))
    yield rule("same_factor",    h(i * k, j * k),                h(i, j),
                                 positive(k), no_overflow(i * k), no_overflow(j * k))
    yield rule("same_offset",    m(i + k, j + k),                m(i, j) + k,
                                 no_overflow(i + k), no_overflow(j + k))

    # with a number: alone on its side
    yield rule("offset",         h(i + c, d),                    h(i, d - c),
                                 no_overflow(i + c), no_overflow(d - c))
    yield rule("factor_down",    f(i * c, d),                    f(i, floor_div(d, c)),
                                 positive(c), no_overflow(i * c))
    yield rule("factor_up",      g(i * c, d),                    g(i, floor_div(d + (c - 1), c)),
                                 positive(c), no_overflow(i * c), no_overflow(d + (c - 1)))
    yield rule("factor_eq",      e(i * c, d),                    e(i, floor_div(d, c)),
                                 divides(c, d), no_overflow(i * c))
    yield rule("never_eq",       eq(i * c, d),                   False,
                                 positive(c), leaves_rest(d, c), no_overflow(i * c))
    yield rule("always_neq",     neq(i * c, d),                  True,
                                 positive(c), leaves_rest(d, c), no_overflow(i * c))
    yield rule("quotient_down",  f(floor_div(i, c), d),          f(i, d * c + (c - 1)),
                                 positive(c), no_overflow(d * c), no_overflow(d * c + (c - 1)))
    yield rule("quotient_up",    g(floor_div(i, c), d),          g(i, d * c),
                                 positive(c), no_overflow(d * c))


@ruleset("specialize")
def ranges(i: Integer, j: Integer, k: Integer):
    # all has been asked that the range can tell
    yield rule("told",           between(i, j, k),               i)
