"""Logic, and bitwise operators on whole numbers and truth values."""

from termgraph.rules import Bool, Integer, complement, head, rule, ruleset
from termgraph.terms.ops.elementwise import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mul,
    right_shift,
)


@ruleset("canonicalize")
def logic(x, y, p: Bool, q: Bool, i: Integer, j: Integer, f: head, g: head):
    yield rule("not_not",        logical_not(logical_not(p)),                    p)
    yield rule("and_false",      logical_and(x, False),                          False)
    yield rule("or_true",        logical_or(x, True),                            True)
    yield rule("and_not",        logical_and(x, logical_not(x)),                 False)
    yield rule("or_not",         logical_or(x, logical_not(x)),                  True)
    yield rule("and_complement", logical_and(f(x, y), g(x, y)),                  False,                       complement(f, g))
    yield rule("or_complement",  logical_or(f(x, y), g(x, y)),                   True,                        complement(f, g))
    yield rule("and_absorbs",    logical_and(p, logical_or(p, x)),               p)
    yield rule("or_absorbs",     logical_or(p, logical_and(p, x)),               p)
    yield rule("nor",            logical_and(logical_not(x), logical_not(y)),    logical_not(logical_or(x, y)))
    yield rule("nand",           logical_or(logical_not(x), logical_not(y)),     logical_not(logical_and(x, y)))
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
    yield rule("bits_and_absorbs", bitwise_and(i, bitwise_or(i, j)),             i)
    yield rule("bits_or_absorbs", bitwise_or(i, bitwise_and(i, j)),              i)
    yield rule("shift_zero",     left_shift(0, i),                               0)
    yield rule("shift_right_zero", right_shift(0, i),                            0)

    # on truth values there is one operator for each truth table
    yield rule("invert_bool",    invert(p),                                      logical_not(p))
    yield rule("and_bool",       bitwise_and(p, q),                              logical_and(p, q))
    yield rule("or_bool",        bitwise_or(p, q),                               logical_or(p, q))
    yield rule("xor_bool",       bitwise_xor(p, q),                              logical_xor(p, q))
    yield rule("mul_bool",       mul(p, q),                                      logical_and(p, q))
    yield rule("add_bool",       add(p, q),                                      logical_or(p, q))
    yield rule("minimum_bool",   minimum(p, q),                                  logical_and(p, q))
    yield rule("maximum_bool",   maximum(p, q),                                  logical_or(p, q))
