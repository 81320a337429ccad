"""Facts about lengths, axes and orders of dimensions: what the engine knows of shapes without looking at values."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from termgraph.rules.clients import used_by
from termgraph.rules.facts import positive_definite, symmetric
from termgraph.rules.fit import length_of
from termgraph.rules.goals import goal
from termgraph.terms import build, facts
from termgraph.terms.dtypes import promote
from termgraph.terms.op import ARG, CONST, INPUT, Op
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, cast, maximum, mul
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.linalg import cholesky, expm, inv
from termgraph.terms.ops.shaping import alloc, shape_i
from termgraph.terms.term import AnyTerm, Const, Lit, mk2

Axes = tuple[int, ...]


def _length(x: AnyTerm, axis: int) -> Any:
    """The length of a dimension as a term, traced to where it comes from."""
    found = length_of(x, axis)
    return build.length(x, axis) if found is None else found


# ---------------------------------------------------------------------- lengths
@goal("ii", fact=True)
def single(x: AnyTerm, a: int) -> bool:
    """The length along an axis is known to be 1."""
    return bool(x.type.shape[a] == 1)


@goal("iiii", fact=True)
def same_length(x: AnyTerm, d: int, y: AnyTerm, e: int) -> bool:
    """Two dimensions are known to have one length."""
    return _length(x, d) is _length(y, e)


@goal("i", fact=True, kind=True)
def square(x: AnyTerm) -> bool:
    """A matrix known to have as many rows as columns."""
    if x.type.ndim < 2:
        return False
    if x.op.family in (inv, cholesky, expm) or symmetric.known(x) is True or positive_definite.known(x) is True:
        return True
    n, m = x.type.shape[-2:]
    return _length(x, x.type.ndim - 2) is _length(x, x.type.ndim - 1) if n == m else False


@goal("ii", fact=True)
def unknown_along(x: AnyTerm, axes: Axes) -> bool:
    """The lengths along these axes are not known in the first place."""
    return all(x.type.shape[d] is None for d in axes)


@goal("iii", fact=True)
def count_along(n: AnyTerm, x: AnyTerm, axes: Axes) -> bool:
    """`n` is how many elements of `x` a reduction along these axes takes together."""
    lengths = [x.type.shape[d] for d in axes]
    plain = _plain(n)
    if plain.op is CONST:
        return None not in lengths and plain.scalar == math.prod(lengths)
    factors = [_plain(f) for f in (plain.args if plain.op is mul else (plain,))]
    wanted = sorted(str(d) for d in axes)
    found = [f for f in factors if f.op.family is shape_i and _as_long(f.args[0], x, f.op.params["axis"])]
    if len(found) == len(factors) == len(axes) and sorted(str(f.op.params["axis"]) for f in found) == wanted:
        return True
    return sorted(f._h for f in factors) == sorted(_length(x, d)._h for d in axes)


def _plain(n: Any) -> Any:
    """A number without the casts and dimensions around it."""
    while n.op.family in (cast, dimshuffle, alloc):
        n = n.args[0]
    return n


def _as_long(t: AnyTerm, x: AnyTerm, d: int) -> bool:
    """`t` is as long as `x` along an axis: they are the same, or `x` is computed from `t` element by element."""
    while x is not t and x.op.kind == "elementwise" and len(x.args) == 1:
        x = x.args[0]
    while t is not x and t.op.kind == "elementwise" and len(t.args) == 1:
        t = t.args[0]
    return t is x


# ---------------------------------------------------------------------- products of three matrices
def _sizes(*matrices: AnyTerm) -> list[int] | None:
    sizes = [matrices[0].type.shape[0], *[m.type.shape[1] for m in matrices]]
    return None if None in sizes else sizes


def _costs(x: AnyTerm, y: AnyTerm, z: AnyTerm) -> tuple[int, int] | None:
    """How many multiplications (x y) z and x (y z) take."""
    sizes = _sizes(x, y, z)
    if sizes is None:
        return None
    n, k, m, p = sizes
    return n * k * m + n * m * p, k * m * p + n * k * p


@goal("iii", fact=True)
def cheaper_right(x: AnyTerm, y: AnyTerm, z: AnyTerm) -> bool:
    """x (y z) takes fewer multiplications than (x y) z."""
    costs = _costs(x, y, z)
    return costs is not None and costs[1] < costs[0]


@goal("iii", fact=True)
def cheaper_left(x: AnyTerm, y: AnyTerm, z: AnyTerm) -> bool:
    """(x y) z takes fewer multiplications than x (y z)."""
    costs = _costs(x, y, z)
    return costs is not None and costs[0] < costs[1]


# ---------------------------------------------------------------------- axes and orders of dimensions
@goal("iii", fact=True)
def constant_along(y: AnyTerm, axes: Axes, x: AnyTerm) -> bool:
    """`y` broadcasts against `x` and has one value along these axes of `x`."""
    gap = x.type.ndim - y.type.ndim
    return gap >= 0 and all(d < gap or y.type.shape[d - gap] == 1 for d in axes)


@goal("iii", fact=True)
def reduced_rank(y: AnyTerm, x: AnyTerm, axes: Axes) -> bool:
    """`y` has as many dimensions as a reduction of `x` along these axes leaves."""
    return bool(y.type.ndim == x.type.ndim - len(axes))


@goal("ii", fact=True)
def along_one(f: Op, x: AnyTerm) -> bool:
    """The operator works along an axis of `x` whose length is 1."""
    return bool(x.type.shape[f.params["axis"]] == 1)


@goal("ii", fact=True)
def reduces(f: Op, axis: int) -> bool:
    """The reduction takes this axis away."""
    return axis in f.params["axis"]


@goal("i", fact=True)
def only_ones(order: tuple[int | str, ...]) -> bool:
    """The order moves nothing: dimensions of length 1 come or go."""
    kept = [d for d in order if isinstance(d, int)]
    return kept == sorted(kept)


@goal("i", fact=True)
def spreads(order: tuple[int | str, ...]) -> bool:
    """The order makes room for broadcasting."""
    return "x" in order


@goal("ii", fact=True)
def takes(x: AnyTerm, y: AnyTerm) -> bool:
    """Adding `y` to `x` keeps the dtype and the rank of `x`."""
    return bool(promote(x.type.np_dtype, y.type.np_dtype) == x.type.np_dtype and y.type.ndim <= x.type.ndim)


# ---------------------------------------------------------------------- where values lie, and operators
@goal("i", fact=True, kind=True)
def stored(x: AnyTerm) -> bool:
    """An array that has storage anyway: an input, a constant, the result of a product, or a view of these."""
    while x.op.family in (dimshuffle, subtensor):
        x = x.args[0]
    return x.op in (INPUT, ARG, CONST) or x.op.kind == "linalg"


PRODUCTS = ("linalg", "conv", "conv_routine")


@goal("i", fact=True)
def kept_as_bound(x: AnyTerm) -> bool:
    """`x` is a product and what is added to it, and beside comparisons only `maximum(x, 0)` reads it.

    The product then need not be kept for them. (Outside of a graph nothing is known of who reads what.)
    """
    uses = used_by(x)
    if uses is None:
        return True
    terms = x.args if x.op is add else (x,)
    products = [a for a in terms if a.op.kind in PRODUCTS]
    if uses != 2 or len(products) != 1 or not all(stored(a) for a in terms if a is not products[0]):
        return False
    zero = Const(np.asarray(0, x.type.np_dtype))
    bounds = mk2(maximum, x, zero), mk2(maximum, zero, x)
    return any(map(used_by, bounds)) and (x is products[0] or used_by(products[0]) == 1)


kept_as_bound.counts_clients = True


def increasing_ops() -> frozenset[Any]:
    """The operators that are declared to be monotone, in direction 1."""
    return _increasing(facts.version())


@functools.cache
def _increasing(version: int) -> frozenset[Any]:
    return frozenset(op for op, direction in facts.monotone.rows() if direction is Lit(1))


@goal("i", fact=True)
def increasing(f: Op) -> bool:
    """An operator declared to be monotone, in direction 1."""
    return f in increasing_ops()
