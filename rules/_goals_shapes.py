"""Goals about axes, lengths and broadcasting."""

from __future__ import annotations

import functools
from inspect import signature
from typing import Any

from termgraph.rules import goal
from termgraph.rules.fit import length_of as traced_length
from termgraph.rules.indices import is_length
from termgraph.rules.length_parts import is_one, number, reorder
from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.variable import bare_apply
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.build import in_dtype
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.shaping import alloc, shape_i
from termgraph.terms.term import Const, mk1


@goal("i", source="({0}.kind == 'elementwise' and {0}.name != 'assume')")
def elemwise(f: Any) -> bool:
    """An operator that works element by element and says nothing about the array as a whole."""
    return f.kind == "elementwise" and f.name != "assume"


# ---------------------------------------------------------------------- orders of dimensions
def _moved(x: Any) -> bool:
    return x.op.kind != "leaf" and x.op.family is dimshuffle


@goal("ioo", some="{0}.op.kind == 'shape'")
def common_order(xs: tuple) -> Any:
    """All operands are reordered in the same way (or have no dimensions): the operands before, and the order."""
    order = None
    for x in xs:
        if _moved(x):
            if order is not None and x.op.params["order"] != order:
                return None
            order = x.op.params["order"]
        elif any(n != 1 for n in x.type.shape) or x.op is not CONST and x.type.ndim:
            return None
    if order is None:
        return None
    inner = max([x.args[0].type.ndim for x in xs if _moved(x)])
    if any(x.args[0].type.ndim != inner for x in xs if _moved(x)):
        return None
    plain = tuple([x.args[0] if _moved(x) else Const(x.value.reshape(())) if x.type.ndim else x for x in xs])
    if any(x.type.ndim > len(order) for x in xs) or not inner and all(x.op is CONST for x in plain):
        return None
    return plain, order


# ---------------------------------------------------------------------- implicit broadcasting
@goal("io", some="({0}.type.ndim if {0}.op is CONST else {0}.op.kind == 'shape')")
def stripped(xs: tuple) -> Any:
    """The operands without dimensions of length 1 and copies that broadcasting supplies anyway."""
    if len(xs) == 2:  # by far the most: an array and a number with dimensions
        x, y = xs
        if _bare_beside(y, x):
            return x, _bare(y)
        if _bare_beside(x, y):
            return _bare(x), y
    for x in xs:
        if x.op is CONST:
            if x.type.ndim:
                break
        elif x.op.kind == "shape" and x.op.family is dimshuffle and x.op.params["order"][:1] == ("x",):
            break
    else:
        return None
    if len(xs) < 2:
        return None
    top = max([x.type.ndim for x in xs])
    full = [x for x in xs if x.type.ndim == top]
    anchors = [x for x in full if _thin(x, ()) is x and getattr(x, "scalar", None) is None]
    anchors = anchors or [x for x in full if x.op is not CONST][:1] or full[:1]
    shape = anchors[0].type.shape if len(anchors) == 1 else _known_shape(anchors, top)
    out = tuple([x if x in anchors else _thin(x, shape) for x in xs])
    return out if out != xs else None


def _bare_beside(k: Any, x: Any) -> bool:
    """A number with no more dimensions than the array that it is used with."""
    if k.op is not CONST or k.value.size != 1 or x.op is CONST or x.op.kind == "shape":
        return False
    return 0 < k.type.ndim <= x.type.ndim


@functools.lru_cache(4096)
def _bare(k: Any) -> Any:
    return Const(k.value.reshape(-1)[0])


def _known_shape(xs: list, ndim: int) -> tuple:
    columns = zip(*[x.type.shape for x in xs], strict=True)
    return tuple([next((n for n in c if n not in (1, None)), None if None in c else 1) for c in columns])


def _thin(x: Any, shape: tuple) -> Any:
    """The operand with fewer dimensions; `shape` is what the others have together."""
    if x.op is CONST:
        if x.type.ndim and x.scalar is not None:
            tail = shape[len(shape) - x.type.ndim :]
            if x.value.size == 1 or (shape and all(n == m or n == 1 for n, m in zip(x.type.shape, tail))):
                return Const(x.value.reshape(-1)[0])
        lead = next((d for d, n in enumerate(x.type.shape) if n != 1), x.type.ndim)
        return Const(x.value.reshape(x.type.shape[lead:])) if lead else x
    if _moved(x):
        order = x.op.params["order"]
        lead = next((d for d, e in enumerate(order) if e != "x"), len(order))
        return reorder(x.args[0], order[lead:]) if lead else x
    return x


def _around(f: Any, xs: tuple) -> Any:
    """If one operand is an alloc into which all others fit: (operands without allocs, its lengths, still needed)."""
    big = next((x for x in xs if x.op is alloc), None)
    if big is None:
        return None
    ndim = max([x.type.ndim for x in xs])
    if big.type.ndim != ndim:
        big = next((x for x in xs if x.op is alloc and x.type.ndim == ndim), None)
        if big is None:
            return None
    lengths, longer = big.args[1:], False
    plain = []
    for x in xs:
        lead = ndim - x.type.ndim
        if x.op is alloc and all(n is m or is_one(n) for n, m in zip(x.args[1:], lengths[lead:])):
            plain.append(x.args[0])
        elif all(n == 1 or is_length(lengths[lead + d], x, d) for d, n in enumerate(x.type.shape)):
            plain.append(x)
        elif all(
            n == 1 or is_one(m) or is_length(m, x, d)
            for d, (n, m) in enumerate(zip(x.type.shape, lengths[lead:]))
        ):
            plain.append(x)  # longer where the alloc is 1: it may stand for the alloc, not the alloc for the result
            longer = True
        else:
            return None
    missing = not all(_covered(plain, n, d, ndim) for d, n in enumerate(lengths))
    return None if missing and longer else (tuple(plain), lengths, missing)


def _covered(plain: list, n: Any, d: int, ndim: int) -> bool:
    one = is_one(n)
    for x in plain:
        i = d - (ndim - x.type.ndim)
        if i >= 0 and (x.type.shape[i] != 1 or one):
            return True
    return False


@goal("iio", some="{0}.op.name == 'alloc'")
def unspread(f: Any, xs: tuple) -> Any:
    """The operands with an alloc replaced by its value, where the other operands have the shape."""
    found = _around(f, xs)
    return None if found is None or found[2] else found[0]


@goal("iioo", some="{0}.op.name == 'alloc'")
def spread_last(f: Any, xs: tuple) -> Any:
    """The operands with an alloc replaced by its value, and the lengths to give the result instead."""
    found = _around(f, xs)
    return (tuple([_thin(x, ()) for x in found[0]]), found[1]) if found is not None and found[2] else None


# ---------------------------------------------------------------------- alloc
@goal("io")
def without_leading_ones(x: Any) -> Any:
    """A value without the dimensions of length 1 in front that broadcasting supplies."""
    thin = _thin(x, ())
    return None if thin is x else thin


@goal("iiioo")
def reordered_alloc(x: Any, ns: tuple, o: tuple) -> Any:
    """`dimshuffle(alloc(x, *ns), order=o)` as (value, lengths)."""
    lead = len(ns) - x.type.ndim
    kept = [d for d in o if d != "x"]
    if any(x.type.shape[d] != 1 for d in range(x.type.ndim) if d + lead not in kept):
        return None
    if any(not is_one(n) for d, n in enumerate(ns) if d not in kept):
        return None
    order = tuple(["x" if d == "x" or d < lead else d - lead for d in o])
    first = next((k for k, d in enumerate(order) if d != "x"), len(order))
    return reorder(x, order[first:]), tuple([number(1) if d == "x" else ns[d] for d in o])


# ---------------------------------------------------------------------- lengths of results
@goal("iio")
def declared_length(t: Any, a: int) -> Any:
    """The length along an axis, where `infer_shape` of a user's op says it."""
    whole, i = (t.args[0], t.op.params["i"]) if t.op.family is nth else (t, 0)
    infer = getattr(whole.op, "infer_shape", None) if getattr(whole.op, "user_made", False) else None
    if infer is None:
        return None
    variables = variables_of(whole.args)
    shapes = [tuple(variables_of([mk1(shape_i.bind(axis=d), u) for d in range(u.type.ndim)])) for u in whole.args]
    node = bare_apply(whole.op, variables, variables_of([t]))
    given = (node, shapes) if len(signature(infer).parameters) == 2 else (None, node, shapes)
    try:
        found = infer(*given)[i]
    except NotImplementedError:  # how such an op says that it does not know
        return None
    n = None if found is None else as_tensor(found[a])
    if n is None or n.type.ndim != 0 or n.type.kind not in "iu":
        return None
    return in_dtype(n.term, "int64")


@goal("iio")
def operands_length(t: Any, a: int) -> Any:
    """The length along an axis of the operand of `shape_i`, where one of its own operands has or is that length."""
    x = t.args[0]
    return traced_length(x, a) if x.op.kind == "elementwise" or x.op.length_from is not None else None
