"""The shape of each op with one result, from those of its operands: which lengths must agree, and what is checked.

A rule per family, in the table `SHAPES` of `lengths`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import ONE, Poly, divide, maximum, minimum, poly, product
from termgraph.lower.lengths.shapes import SHAPES, Lengths, Shape, indexing, is_arithmetic
from termgraph.terms.op import CONST
from termgraph.terms.ops.indexing import SCATTERS
from termgraph.terms.term import AnyTerm


def _reshape(s: Lengths, t: AnyTerm) -> Shape:
    x, *wanted = t.args
    known = [None if w.op is CONST and w.value == -1 else s.as_length(w, t) for w in wanted]
    size = s.size(x)
    if None in known:
        rest = product([k for k in known if k is not None])
        known = [divide(size, rest)[0] if k is None else k for k in known]
    shape = tuple([k for k in known if k is not None])
    if size is not product(shape):
        text = "cannot reshape an array of {0} elements into one of {1}"
        if any(w.op.name == "floor_div" for w in wanted):  # what was written as -1
            text += "; if one length is given as -1, the product of the others must divide the number of elements"
        s.require(t, "eq", size, product(shape), text)
    return shape


def _alloc(s: Lengths, t: AnyTerm) -> Shape:
    value, *wanted = t.args
    shape = tuple([s.as_length(w, t) for w in wanted])
    s.fit(t, value, shape, "the values")
    return shape


def _dimshuffle(s: Lengths, t: AnyTerm) -> Shape:
    (x,) = t.args
    order = t.op.params["order"]
    for d, n in enumerate(s[x]):
        if d not in order and n is not ONE:
            s.require(t, "eq", n, ONE, f"dimension {d} has length {{0}} and can only be dropped if it has length 1")
    return tuple([ONE if d == "x" else s[x][d] for d in order])


def _reduced(s: Lengths, t: AnyTerm) -> Shape:
    (x,) = t.args
    axes = t.op.params["axis"]
    if t.op.family.name in ("max", "min", "argmax", "argmin"):
        for d in axes:
            s.require(t, "ge", s[x][d], ONE, "the largest or smallest of no elements does not exist (length {0})")
    return tuple([n for d, n in enumerate(s[x]) if d not in axes])


def _join(s: Lengths, t: AnyTerm) -> Shape:
    axis = t.op.params["axis"]
    out = list(s[t.args[0]])
    for k, a in enumerate(t.args[1:], 1):
        for d, n in enumerate(s[a]):
            if d == axis:
                out[d] = out[d] + n
            else:
                out[d] = s.equal(t, out[d], n, f"part {k} has length {{1}} in dimension {d}, the first part {{0}}")
    return tuple(out)


def _dot(s: Lengths, t: AnyTerm) -> Shape:
    a, b = t.args
    left, right = s[a], s[b]
    s.equal(t, left[-1], right[max(0, len(right) - 2)], "lengths {0} and {1} of the summed dimension differ")
    return (*left[:-1], *right[:-2], *right[-1:]) if len(right) > 1 else left[:-1]


def _gemm(s: Lengths, t: AnyTerm) -> Shape:
    c, a, b, _ = t.args
    s.equal(t, s[a][1], s[b][0], "lengths {0} and {1} of the summed dimension differ")
    for d, n in enumerate((s[a][0], s[b][1])):
        s.equal(t, s[c][d], n, f"operand 1 has length {{1}} in dimension {d} where the others have {{0}}")
    return s[c]


def _matmul(s: Lengths, t: AnyTerm) -> Shape:
    a, b = t.args
    left, right = s[a], s[b]
    s.equal(t, left[-1], right[-2], "lengths {0} and {1} of the summed dimension differ")
    batch = []
    nb = max(len(left), len(right)) - 2
    for d in range(nb):
        out: Poly | None = None
        for x, shape in ((a, left), (b, right)):
            k = d - (nb - (len(shape) - 2))
            if k >= 0 and x.type.shape[k] != 1:
                out = s.agreed(t, out, shape[k], "batch lengths {0} and {1} differ")
        batch.append(ONE if out is None else out)
    return (*batch, left[-2], right[-1])


def _diagonal(s: Lengths, t: AnyTerm) -> Shape:
    *batch, n, m = s[t.args[0]]
    k = t.op.params["offset"]
    return (*batch, maximum(0, minimum(n, m - k) if k >= 0 else minimum(n + k, m)))


def _alloc_diag(s: Lengths, t: AnyTerm) -> Shape:
    *batch, n = s[t.args[0]]
    side = n + abs(t.op.params["offset"])
    return (*batch, side, side)


def _specified(s: Lengths, t: AnyTerm) -> Shape:
    x, *wanted = t.args
    terms = iter(wanted)
    out = []
    for d, (n, flag) in enumerate(zip(s[x], t.op.params["known"])):
        text = t.op.params["told"] or f"dimension {d} has length {{0}}, {{1}} was promised"
        promised = s.as_length(next(terms), t) if flag else n
        same = s.equal(t, n, promised, text)
        out.append(promised if s.is_guarded(t) else same)  # in a side of a choice only it is equal
    return tuple(out)


def _arange(s: Lengths, t: AnyTerm) -> Shape:
    start, stop, step = t.args
    by = s.as_poly(step, t)
    if not by.const:
        raise NotLowerable(t, "the step of an arange is computed")
    lo, hi = s.as_poly(start, t), s.as_poly(stop, t)
    span = maximum(0, hi - lo if by.const > 0 else lo - hi)
    return (divide(span + (abs(by.const) - 1), abs(by.const))[0],)


def _written(s: Lengths, t: AnyTerm) -> Shape:
    x, y, *operands = t.args
    s.fit(t, y, indexing(s, t, x, operands).shape(), "the new values")
    return s[x]


def _like_first(s: Lengths, t: AnyTerm) -> Shape:
    return s[t.args[0]]


def _holds(s: Lengths, t: AnyTerm) -> Shape:
    """A condition on lengths is checked with those that operations demand, before them: the user's message is told."""
    todo = [] if s.loops or s.is_guarded(t) else [t.args[0]]
    while todo:
        c = todo.pop()
        name = c.op.family.name
        if None in c.type.shape or 0 in c.type.shape:
            continue  # whatever the lengths are, it holds for no elements
        if name in ("logical_and", "all", "dimshuffle"):
            todo += reversed(c.args)
        elif name in COMPARED:
            for x, y in _side_by_side(*c.args):
                if _of_lengths(x) and _of_lengths(y):
                    test, a, b = COMPARED[name](s.as_poly(x, t), s.as_poly(y, t))
                    if a is not b:
                        s.require(t, test, a, b, t.op.params["text"])
    return ()


def _side_by_side(x: AnyTerm, y: AnyTerm) -> list[tuple[AnyTerm, AnyTerm]]:
    """The numbers of two vectors that are compared; none if they are not put together of that many numbers each."""
    numbers = [
        [a] if a.type.ndim == 0 else a.args if a.op.family.name in ("make_vector", "dimshuffle") else () for a in (x, y)
    ]
    return list(zip(*numbers)) if len(numbers[0]) == len(numbers[1]) else []


def _of_lengths(x: AnyTerm) -> bool:
    """Whether an integer is computed from nothing but lengths of arrays."""
    todo = [x]
    while todo:
        t = todo.pop()
        if t.op.family.name == "shape_i" or (t.op is CONST and t.type.ndim == 0 and t.type.kind in "iu"):
            continue
        if not is_arithmetic(t) or (t.op.family.name in DIVIDING and not _is_positive(t.args[1])):
            return False
        todo += t.args
    return True


def _is_positive(t: Any) -> bool:
    return t.op is CONST and int(t.value) > 0


DIVIDING = ("floor_div", "mod")
# What has to hold of two lengths, as conditions that a call checks.
COMPARED: dict[str, Callable[[Poly, Poly], tuple[str, Poly, Poly]]] = {
    "eq": lambda a, b: ("eq", a, b),
    "ge": lambda a, b: ("ge", a, b),
    "le": lambda a, b: ("ge", b, a),
    "gt": lambda a, b: ("ge", a, b + 1),
    "lt": lambda a, b: ("ge", b, a + 1),
}


def _windows(s: Lengths, t: AnyTerm) -> Shape:
    x, *wanted = t.args
    ks, lead = [s.as_length(k, t) for k in wanted], x.type.ndim - len(wanted)
    counts = []
    for d, k in enumerate(ks):
        n, stride = s[x][lead + d], t.op.params["stride"][d]
        reach = (k - 1) * t.op.params["dilation"][d] + 1
        s.require(t, "ge", k, ONE, f"a window needs at least one element in spatial dimension {d}, it has {{0}}")
        text = f"a window over {{1}} elements does not fit into spatial dimension {d} of length {{0}}, padding included"
        s.require(t, "ge", n, reach, text)
        counts.append(divide(n - reach, stride)[0] + 1)
    return (*s[x][:lead], *counts, *ks)


def _indexed(s: Lengths, t: AnyTerm) -> Shape:
    x, *operands = t.args
    return indexing(s, t, x, operands).shape()


SHAPES.update(
    {
        "dimshuffle": _dimshuffle,
        "reshape": _reshape,
        "alloc": _alloc,
        "empty": lambda s, t: tuple([s.as_length(n, t) for n in t.args]),
        "shape_i": lambda s, t: (),
        "make_vector": lambda s, t: (poly(len(t.args)),),
        "join": _join,
        "arange": _arange,
        "eye": lambda s, t: (s.as_length(t.args[0], t), s.as_length(t.args[1], t)),
        "windows": _windows,
        "subtensor": _indexed,
        "gather": _indexed,
        **dict.fromkeys(["set_subtensor", "inc_subtensor", *SCATTERS], _written),
        **dict.fromkeys(["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "logsumexp"], _reduced),
        **dict.fromkeys(["max_or_lowest", "min_or_highest"], _reduced),
        **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin", "softmax", "log_softmax"], _like_first),
        "diagonal": _diagonal,
        "alloc_diag": _alloc_diag,
        "specify_shape": _specified,
        "unbroadcast": _like_first,
        "stored_as": _like_first,
        "guarded": _like_first,
        "holds": _holds,
        "dot": _dot,
        "gemm": _gemm,
        "matmul": _matmul,
    }
)
