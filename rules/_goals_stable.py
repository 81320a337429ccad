"""Goals of the stable forms: axes that were reduced and put back. May import termgraph.terms and termgraph.rules."""

from __future__ import annotations

import math
from typing import Any

from termgraph.rules import Guard, goal
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast, mul
from termgraph.terms.ops.shaping import alloc, shape_i


@goal("iii")
def puts_back(o: tuple, a: tuple, x: Any) -> bool:
    """The order `o` puts the axes `a` back that a reduction of `x` took away, as `keepdims` does."""
    left = iter(range(x.type.ndim - len(a)))
    return o == tuple(["x" if d in a else next(left) for d in range(x.type.ndim)])


@goal("i")
def leading(a: tuple) -> bool:
    """The axes are the first ones: what is left broadcasts against the array without a dimshuffle."""
    return a == tuple(range(len(a)))


@goal("iii")
def constant_along(y: Any, a: tuple, x: Any) -> bool:
    """`y` broadcasts against `x` and has one value along the axes `a` of `x`."""
    gap = x.type.ndim - y.type.ndim
    return gap >= 0 and all(d < gap or y.type.shape[d - gap] == 1 for d in a)


@goal("ii")
def same_rank(x: Any, y: Any) -> bool:
    """Both have as many dimensions."""
    return x.type.ndim == y.type.ndim


@goal("iio")
def keepdims_order(x: Any, a: tuple) -> Any:
    """The order that puts the axes `a` back after a reduction of `x`."""
    left = iter(range(x.type.ndim - len(a)))
    return tuple(["x" if d in a else next(left) for d in range(x.type.ndim)])


@goal("iii")
def count_along(n: Any, x: Any, a: tuple) -> bool:
    """`n` is how many elements of `x` a reduction along the axes `a` takes together."""
    lengths = [x.type.shape[d] for d in a]
    plain = _plain(n)
    if plain.op is CONST:
        return None not in lengths and plain.scalar == math.prod(lengths)
    factors = [_plain(f) for f in (plain.args if plain.op is mul else (plain,))]
    wanted = sorted(str(d) for d in a)
    found = [f for f in factors if f.op.family is shape_i and _same_length(f.args[0], x, f.op.params["axis"])]
    return len(found) == len(factors) == len(a) and sorted(str(f.op.params["axis"]) for f in found) == wanted


def _plain(n: Any) -> Any:
    """A number without the casts and dimensions around it."""
    while n.op.family in (cast, dimshuffle, alloc):
        n = n.args[0]
    return n


def _same_length(t: Any, x: Any, d: int) -> bool:
    """`t` is as long as `x` along an axis: they are the same, or `x` is computed from `t` element by element."""
    while x is not t and x.op.kind == "elementwise" and len(x.args) == 1:
        x = x.args[0]
    while t is not x and t.op.kind == "elementwise" and len(t.args) == 1:
        t = t.args[0]
    return t is x


def _is_zero(x: Any) -> bool:
    """An array of zeros."""
    while x.op.family is alloc:
        x = x.args[0]
    return x.op is CONST and x.scalar == 0


Zero = Guard("Zero", _is_zero, doc="An array of zeros.")


@goal("iii")
def reduced_rank(y: Any, x: Any, a: tuple) -> bool:
    """`y` has the dimensions that a reduction of `x` along the axes `a` leaves."""
    return y.type.ndim == x.type.ndim - len(a)
