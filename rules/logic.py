"""Logic, and bitwise operators on whole numbers and truth values."""

from termgraph.rules import Bool, Integer, absorbing, complement, dual, head, rule, ruleset
from termgraph.terms.ops.elementwise import (
    add, bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, logical_and, logical_not, logical_or, logical_xor,
    maximum, minimum, mul, right_shift,
)


@ruleset("canonicalize")
def logic(x, y, n, p: Bool, q: Bool, i: Integer, j: Integer, f: head, g: head, a: head[logical_and, logical_or],
          o: head, b: head[bitwise_and, bitwise_or], s: head[left_shift, right_shift]):
    yield rule("not_not",        logical_not(logical_not(p)),                    p)
    yield rule("settled",        a(x, n),                                        n,                 absorbing(a, n))
    yield rule("with_not",       a(x, logical_not(x)),                           n,                 absorbing(a, n))
    yield rule("complement",     a(f(x, y), g(x, y)),                            n,
                                 absorbing(a, n), complement(f, g))
    yield rule("absorbs",        a(p, o(p, x)),                                  p,                 dual(a, o))
    yield rule("of_nots",        a(logical_not(x), logical_not(y)),              logical_not(o(x, y)), dual(a, o))
    yield rule("xor_self",       logical_xor(x, x),                              False)
    yield rule("xor_false",      logical_xor(p, False),                          p)
    yield rule("xor_true",       logical_xor(p, True),                           logical_not(p))
    yield rule("xor_not",        logical_xor(logical_not(x), logical_not(y)),    logical_xor(x, y))
    yield rule("xor_one_not",    logical_xor(logical_not(x), y),                 logical_not(logical_xor(x, y)))
    yield rule("xor_twice",      logical_xor(logical_xor(p, x), x),              p)
    yield rule("or_xor",         logical_or(logical_xor(x, y), x),               logical_or(x, y))
    yield rule("and_xor",        logical_and(logical_xor(x, y), x),              logical_and(x, logical_not(y)))
    yield rule("xor_and",        logical_xor(logical_and(x, y), x),              logical_and(x, logical_not(y)))
    yield rule("xor_or",         logical_xor(logical_or(x, y), x),               logical_and(logical_not(x), y))

    # bits
    yield rule("bits_and_zero",  bitwise_and(i, 0),                              0)
    yield rule("bits_or_all",    bitwise_or(i, -1),                              -1)
    yield rule("bits_xor_self",  bitwise_xor(i, i),                              0)
    yield rule("bits_xor_all",   bitwise_xor(i, -1),                             invert(i))
    yield rule("bits_and_not",   bitwise_and(i, invert(i)),                      0)
    yield rule("bits_absorb",    b(i, o(i, j)),                                  i,                 dual(b, o))
    yield rule("shift_zero",     s(0, i),                                        0)

    # on truth values there is one operator for each truth table
    yield rule("invert_bool",    invert(p),                                      logical_not(p))
    yield rule("and_bool",       bitwise_and(p, q),                              logical_and(p, q))
    yield rule("or_bool",        bitwise_or(p, q),                               logical_or(p, q))
    yield rule("xor_bool",       bitwise_xor(p, q),                              logical_xor(p, q))
    yield rule("mul_bool",       mul(p, q),                                      logical_and(p, q))
    yield rule("add_bool",       add(p, q),                                      logical_or(p, q))
    yield rule("minimum_bool",   minimum(p, q),                                  logical_and(p, q))
    yield rule("maximum_bool",   maximum(p, q),                                  logical_or(p, q))
