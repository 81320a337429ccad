"""Loops over rows of which one element is another one than the rest: what is on a diagonal is stored after the row.

Without AVX-512 a comparison of places, which have 64 bits, for each element takes longer than all else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from termgraph.lower.lengths.index import MINUS_ONE, ONE, Poly
from termgraph.lower.loops.tree import Branch, Let, Loop, Node, Write
from termgraph.lower.push.kernel import ITEST, LOAD, PICK
from termgraph.terms.leaves import Const
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import cast, logical_and, switch


class OneApart(NamedTuple):
    """A loop without its choice, where in it the other element is, and what stores that, if all of `also` is true."""

    loop: Loop
    place: Poly
    body: list[Node]
    also: list[Any]


def one_apart(n: Loop) -> OneApart | None:
    """The loop taken apart, if all that it does is to store a choice by one place; None otherwise.

    The rest of the row must be there at that place, too: a number, or what lies at the same place of another array.
    """
    *before, write = n.body
    if not isinstance(write, Write) or write.mode != "set" or write.buf.kind == "tile" or write.value.op is CONST:
        return None
    condition, element, rest = _choice(write.value)
    made: dict[Any, Let] = {}
    for s in before:
        if isinstance(s, Branch) and s.term is write.value and not s.orelse:
            made |= {x.term: x for x in s.then if isinstance(x, Let) and x.stored is None}
            if len(s.then) > 1:
                return None
        elif isinstance(s, Let) and s.stored is None:
            made[s.term] = s
        else:
            return None
    test, also = _one_place(condition, made)
    if test is None or made.keys() - {test, condition, write.value, element, rest}:
        return None
    if not (rest.op is CONST or _lies_alike(rest, write)) or any(
        t in made and t.op.family is not LOAD for t in (element, rest)
    ):
        return None
    off = test.op.params["a"] - test.op.params["b"]
    factor, others = off.coefficient(n.var), off.without([n.var])
    if factor not in (ONE, MINUS_ONE) or n.var in others.fv or n.var not in write.offset.fv:
        return None

    def storing(t: Any) -> list[Node]:
        return [*([made[t]] if t in made else []), Write(write.buf, write.offset, t)]

    plain = Loop(n.var, storing(rest), simd=n.simd, serial=n.serial)
    return OneApart(plain, others * -1 if factor is ONE else others, storing(element), also)


def _choice(value: Any) -> tuple[Any, Any, Any]:
    """The condition of a choice, and its arms; None for all where there is none."""
    family = value.op.family
    if family in (switch, PICK) and value.args[1].type.dtype == value.args[2].type.dtype == value.type.dtype:
        condition, element, rest = value.args
        return condition, element, rest
    if family is cast and value.args[0].op.family is ITEST:
        one, zero = [Const(np.asarray(k, value.type.dtype)) for k in (1, 0)]
        return value.args[0], one, zero
    return None, None, None


def _one_place(condition: Any, made: dict[Any, Let]) -> tuple[Any, list[Any]]:
    """Of a condition the test for one place, and what else it asks that is known before the loop."""
    parts = [] if condition is None else [condition]
    if parts and condition.op.family is logical_and:
        parts = [*condition.args]
    tests = [t for t in parts if t.op.family is ITEST and t.op.params["test"] == "eq" and t in made]
    others = [t for t in parts if t not in tests and t not in made]
    return (tests[0], others) if len(tests) == 1 and len(parts) == 1 + len(others) else (None, [])


def _lies_alike(rest: Any, write: Write) -> bool:
    family, params = rest.op.family, rest.op.params
    return family is LOAD and params["offset"] is write.offset and params["buf"] is not write.buf
