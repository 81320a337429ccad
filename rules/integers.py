"""Index arithmetic: whole quotients and remainders, bounds and comparisons of integers, as far as nothing wraps around.

What is known comes from ranges (dtypes, lengths, `arange`, `T.assume(i, between=(0, n))`); `no_overflow` is a fact that
ranges prove, and that the mode UNSAFE takes on trust. A division by 0 gives 0.
"""

from termgraph.rules import (
    Float, Integer, Uniform, apart, at_most, below, divides, head, no_overflow, nonnegative, nonzero, of_integers,
    positive, rule, ruleset,
)
from termgraph.rules.number_parts import after_mask, two_to
from termgraph.rules.range_facts import leaves_rest
from termgraph.terms.ops.assume import between
from termgraph.terms.ops.elementwise import (
    bitwise_and, clip, copysign, eq, floor_div, fmod, ge, gt, le, left_shift, lt, maximum, minimum, mod, neq,
    right_shift, trunc,
)

Number = Uniform & Integer


@ruleset("canonicalize")
def quotients(i: Integer, j: Integer, k: Integer, c: Number, d: Number):
    # one spelling; specialize makes shifts and masks of powers of two again
    yield rule("left_shift",     left_shift(i, c[i.dtype]),      i * two_to(c))
    yield rule("right_shift",    right_shift(i, c[i.dtype]),     floor_div(i, two_to(c)))
    yield rule("mask",           bitwise_and(i, c[i.dtype]),     mod(i, after_mask(c)))

    # nothing is left, or all
    yield rule("small",          floor_div(i[nonnegative], j),   0, below(i, j))
    yield rule("of_product",     floor_div((i * j[nonzero])[no_overflow], j)[of_integers], i)
    yield rule("of_multiple",    floor_div((i * c)[no_overflow], d)[of_integers], i * floor_div(c, d), divides(d, c))
    yield rule("times_divisor",  (floor_div(i, c[positive]) * c)[of_integers], i, divides(c, i))

    # multiples are taken out of sums
    yield rule("split",          floor_div(((i * j[nonzero])[no_overflow] + k)[no_overflow], j)[of_integers],
                                 i + floor_div(k, j))
    yield rule("split_multiple", floor_div(((i * c)[no_overflow] + k)[no_overflow], d)[of_integers],
                                 i * floor_div(c, d) + floor_div(k, d), divides(d, c))
    yield rule("offset",         floor_div((i + c)[no_overflow], d)[of_integers], floor_div(i, d) + floor_div(c, d),
                                 divides(d, c))
    yield rule("drop",           floor_div(((i * c[positive])[no_overflow] + k[nonnegative])[no_overflow],
                                           d[positive])[of_integers],
                                 floor_div(i, floor_div(d, c)), divides(c, d), below(k, c))

    # factors in common
    yield rule("common",         floor_div((i * k[nonzero])[no_overflow], (j * k)[no_overflow])[of_integers],
                                 floor_div(i, j))
    yield rule("common_number",  floor_div((i * c)[no_overflow], d)[of_integers], floor_div(i, floor_div(d, c)),
                                 divides(c, d))

    # quotients of quotients
    yield rule("twice",          floor_div(floor_div(i, j[positive]), k[positive])[of_integers], floor_div(i, j * k),
                                 no_overflow(j * k))
    yield rule("of_rest_less",   floor_div((i - mod(i, j))[no_overflow], j)[of_integers], floor_div(i, j))


@ruleset("canonicalize")
def remainders(i: Integer, j: Integer, k: Integer, c: Number, d: Number):
    yield rule("small",          mod(i[nonnegative], j),         i, below(i, j))
    yield rule("of_multiple",    mod(i, d)[of_integers],         0, divides(d, i))
    yield rule("of_product",     mod((i * j)[no_overflow], j)[of_integers], 0)
    yield rule("of_multiples",   mod((i * c)[no_overflow], d)[of_integers], 0, divides(d, c))

    # multiples fall out of sums
    yield rule("split",          mod(((i * j)[no_overflow] + k)[no_overflow], j)[of_integers], mod(k, j))
    yield rule("split_multiple", mod(((i * c)[no_overflow] + k)[no_overflow], d)[of_integers], mod(k, d), divides(d, c))
    yield rule("plus_multiple",  mod((i + j)[no_overflow], d)[of_integers], mod(j, d), divides(d, i))
    yield rule("offset",         mod((i + c)[no_overflow], d)[of_integers], mod(i + mod(c, d), d), apart(mod(c, d), c),
                                 no_overflow(i + mod(c, d)))

    # factors in common, remainders of remainders
    yield rule("common",         mod((i * k)[no_overflow], (j * k)[no_overflow])[of_integers], mod(i, j) * k)
    yield rule("common_number",  mod((i * c)[no_overflow], d)[of_integers], mod(i, floor_div(d, c)) * c, divides(c, d))
    yield rule("twice",          mod(mod(i, c[nonzero]), d)[of_integers], mod(i, d), divides(d, c))
    yield rule("of_larger",      mod(mod(i, (j * k[nonzero])[no_overflow]), j)[of_integers], mod(i, j))
    yield rule("within_larger",  mod(mod(i, j), (j * k[positive])[no_overflow])[of_integers], mod(i, j))
    yield rule("of_sum",         mod((mod(i, j) + k)[no_overflow], j)[of_integers], mod(i + k, j), no_overflow(i + k))
    yield rule("of_factor",      mod((mod(i, j) * k)[no_overflow], j)[of_integers], mod(i * k, j), no_overflow(i * k))

    # what is left and what is taken make the whole
    yield rule("recompose",      (floor_div(i, j[nonzero]) * j + mod(i, j))[of_integers], i)
    yield rule("less_multiple",  (i - floor_div(i, j[nonzero]) * j)[of_integers], mod(i, j))


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
    yield rule("same_term",      h((i + k)[no_overflow], (j + k)[no_overflow]), h(i, j))
    yield rule("own_term",       h((i + k)[no_overflow], i),     h(k, 0))
    yield rule("own_term_right", h(i, (i + k)[no_overflow]),     h(0, k))
    yield rule("same_factor",    h((i * k[positive])[no_overflow], (j * k)[no_overflow]), h(i, j))
    yield rule("same_offset",    m((i + k)[no_overflow], (j + k)[no_overflow]), m(i, j) + k)

    # with a number: alone on its side
    yield rule("offset",         h((i + c)[no_overflow], d),     h(i, d - c), no_overflow(d - c))
    yield rule("factor_down",    f((i * c[positive])[no_overflow], d), f(i, floor_div(d, c)))
    yield rule("factor_up",      g((i * c[positive])[no_overflow], d), g(i, floor_div(d + (c - 1), c)),
                                 no_overflow(d + (c - 1)))
    yield rule("factor_eq",      e((i * c)[no_overflow], d),     e(i, floor_div(d, c)), divides(c, d))
    yield rule("never_eq",       eq((i * c[positive])[no_overflow], d), False, leaves_rest(d, c))
    yield rule("always_neq",     neq((i * c[positive])[no_overflow], d), True, leaves_rest(d, c))
    yield rule("quotient_down",  f(floor_div(i, c[positive]), d), f(i, d * c + (c - 1)), no_overflow(d * c),
                                 no_overflow(d * c + (c - 1)))
    yield rule("quotient_up",    g(floor_div(i, c[positive]), d), g(i, d * c), no_overflow(d * c))


@ruleset("specialize")
def ranges(i: Integer, j: Integer, k: Integer):
    # all has been asked that the range can tell
    yield rule("told",           between(i, j, k),               i)


@ruleset("specialize")
def whole_parts(x: Float):
    # vectors of it, without a division; the sign of a zero is that of x
    yield rule("behind_the_point", fmod(x, 1),                   copysign(x - trunc(x), x))
