"""Samplers: for each op family, operands and parameters that fit each other.

A sampler takes `(draw, head, argument patterns, want)` and returns the operands; it settles the head's parameters on
the way. Families without one of their own are drawn like element-wise ops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from termgraph.rules.checking.draw import ANY, Draw, Head, Retry, Want
from termgraph.rules.checking.families import fallback, sampler
from termgraph.rules.kinds import SegVar
from termgraph.terms.dtypes import promote
from termgraph.terms.ops.reduce import default_sum_dtype
from termgraph.terms.ops.triangles import packed_length


# ---------------------------------------------------------------------- element-wise and unknown ops
@fallback("elementwise")
def elementwise(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    """Operands whose shapes broadcast together."""
    shape = d.shape() if want.shape is None else want.shape
    n = d.count(h, args)
    full = d.rng.randrange(n)
    dtype = want.dtype if want.dtype is not None and d.chance(0.8) else None
    wants = [Want(shape if i == full else d.narrowed(shape), dtype) for i in range(n)]
    return d.fill(args, wants)


@fallback("other")
def others(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    """Operands of any shape, for ops nobody wrote a sampler for."""
    return d.fill(args, [Want(d.shape()) for _ in range(d.count(h, args))])


@sampler("cast")
def _cast(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    h.settle("dtype", lambda: want.dtype or d.rng.choice(d.dtypes))
    return d.fill(args, [Want(want.shape)])


@sampler("switch")
def _switch(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    shape = d.shape() if want.shape is None else want.shape
    condition = Want(d.narrowed(shape), "bool" if d.chance(0.75) else None)
    return d.fill(args, [condition, Want(shape, want.dtype), Want(d.narrowed(shape), want.dtype)])


@sampler("left_shift", "right_shift")
def _shift(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    shape = d.shape() if want.shape is None else want.shape
    dtype = want.dtype or d.rng.choice(("int64", "int64", "int32", "uint8"))
    return d.fill(args, [Want(shape, dtype), Want(d.narrowed(shape), dtype, (0, 6))])


@sampler("pow")
def _pow(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    shape = d.shape() if want.shape is None else want.shape
    small = d.chance(0.5)
    return d.fill(args, [Want(shape, want.dtype), Want(d.narrowed(shape), None, (0, 4) if small else None)])


# ---------------------------------------------------------------------- along axes
def _with_axes(d: Draw, shape: tuple[int, ...] | None, axis: tuple[int, ...], least: int = 0) -> tuple[int, ...]:
    """Lengths of an operand that has the axes; with `shape`, what is left without them."""
    if not isinstance(axis, tuple):
        axis = (axis,)
    if shape is None:
        return d.shape(least=max([least, *(a + 1 for a in axis)]))
    out = list(shape)
    for a in sorted(axis):
        if a > len(out):
            raise Retry
        out.insert(a, d.length())
    return tuple(out)


def _some_axes(d: Draw, ndim: int) -> tuple[int, ...]:
    if ndim and d.chance(0.3):
        return tuple(range(ndim))
    return tuple([a for a in range(ndim) if d.chance(0.5)]) or ((d.rng.randrange(ndim),) if ndim else ())


@sampler("sum", "prod", "max", "min", "max_or_lowest", "min_or_highest", "any", "all", "argmax", "argmin", "logsumexp")
def _reduction(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    axis = h.known("axis")
    if axis is None and want.shape is not None:
        rank = len(want.shape) + d.rng.choice((1, 1, 2))
        axis = tuple(sorted(d.rng.sample(range(rank), rank - len(want.shape))))
    inner = d.shape(least=1) if axis is None else _with_axes(d, want.shape, axis)
    (x,) = d.fill(args, [Want(inner)])
    ndim = x.type.ndim
    one = h.family.name in ("argmax", "argmin")

    def choose() -> tuple[Any, ...]:
        if axis is not None and all(a < ndim for a in axis) and not one:
            return axis
        return _some_axes(d, ndim) if not one else d.rng.choice([tuple(range(ndim))] + [(a,) for a in range(ndim)])

    h.settle("axis", choose)
    if "dtype" in h.family.defaults:
        h.settle("dtype", lambda: default_sum_dtype(x.type.dtype))
    return [x]


@sampler("softmax", "log_softmax")
def _softmax(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    axis = h.known("axis")
    least = max(axis, default=-1) + 1 if axis is not None else 1
    (x,) = d.fill(args, [Want(want.shape or d.shape(least=least))])
    h.settle("axis", lambda: _some_axes(d, x.type.ndim))
    return [x]


@sampler(
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "sort",
    "argsort",
    "argtopk",
    "fft",
    "ifft",
    "rfft",
    "irfft",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
)
def _along(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    axis = h.known("axis")
    shape = want.shape or d.shape(least=(axis or 0) + 1)
    (x,) = d.fill(args, [Want(shape, "float64" if h.family.kind == "fft" and d.chance(0.8) else None)])
    if x.type.ndim == 0:
        raise Retry
    h.settle("axis", lambda: d.rng.randrange(x.type.ndim))
    if h.family.name == "argtopk":
        most = x.type.shape[h.known("axis")]
        if not most:
            raise Retry
        h.settle("k", lambda: d.rng.choice((1, -1)) * d.rng.randint(1, most))
    if "norm" in h.family.defaults:
        h.settle("norm", lambda: d.rng.choice(("backward", "ortho", "forward")))
        h.settle("n", lambda: x.type.shape[h.known("axis")])
    return [x]


@sampler("shape_i")
def _shape_i(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    axis = h.known("axis")
    (x,) = d.fill(args, [Want(d.shape(least=(axis or 0) + 1))])
    if x.type.ndim == 0:
        raise Retry
    h.settle("axis", lambda: d.rng.randrange(x.type.ndim))
    return [x]


# ---------------------------------------------------------------------- shapes
@sampler("dimshuffle")
def _dimshuffle(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    order = h.known("order")
    if order is not None:
        rank = max([p for p in order if isinstance(p, int)], default=-1) + 1
        shape = want.shape if want.shape is not None and len(want.shape) == len(order) else None
        inner = [shape[order.index(i)] if shape and i in order else 1 if i not in order else d.length()
                 for i in range(rank)]  # fmt: skip
        return d.fill(args, [Want(tuple(inner), want.dtype)])
    if want.shape is not None:
        order, inner = _order_for(d, want.shape)
        (x,) = d.fill(args, [Want(inner, want.dtype)])
        h.settle("order", lambda: order)
        return [x]
    (x,) = d.fill(args, [ANY])
    h.settle("order", lambda: _some_order(d, x.type.shape))
    return [x]


def _order_for(d: Draw, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """An order and the lengths of an operand that it takes to `shape`."""
    kept = [i for i, n in enumerate(shape) if n != 1 or d.chance(0.5)]
    if d.chance(0.6):
        d.rng.shuffle(kept)
    inner = tuple([shape[i] for i in kept])
    order = tuple([kept.index(i) if i in kept else "x" for i in range(len(shape))])
    if d.chance(0.15):
        return tuple([p + 1 if isinstance(p, int) else p for p in order]), (1, *inner)
    return order, inner


def _some_order(d: Draw, shape: tuple[int, ...]) -> tuple[Any, ...]:
    order: list[Any] = list(range(len(shape)))
    if d.chance(0.6):
        d.rng.shuffle(order)
    order = [i for i in order if shape[i] != 1 or d.chance(0.7)]
    for _ in range(d.rng.choice((0, 0, 1, 1, 2))):
        if len(order) < 4:
            order.insert(d.rng.randint(0, len(order)), "x")
    return tuple(order)


def _lengths(shape: tuple[int, ...]) -> list[Want]:
    return [Want((), "int64", (n, n)) for n in shape]


@sampler("reshape")
def _reshape(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    if want.shape is not None:
        inner, target = _same_size(d, want.shape), want.shape
        return d.fill(args, [Want(inner, want.dtype), *_lengths(target)])
    x = d.make(args[0])
    if None in x.type.shape:
        raise Retry  # nobody knows how many elements there are
    fixed = _fixed_count(d, args[1:])
    for _ in range(8):
        target = _same_size(d, x.type.shape)
        if fixed is None or fixed == len(target):
            break
    return [x, *d.fill(args[1:], _lengths(target if fixed is None or fixed == len(target) else (0,) * fixed))]


def _fixed_count(d: Draw, patterns: list[Any]) -> int | None:
    """How many operands patterns stand for, if a `seg` does not leave that open."""
    total = 0
    for p in patterns:
        if p.__class__ is SegVar:
            if p not in d.env:
                return None
            total += len(d.env[p])
        else:
            total += 1
    return total


def _same_size(d: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Other lengths with the same product."""
    style = d.rng.randrange(6)
    size = math.prod(shape)
    if style == 0 or not shape:
        return (size,) if shape or d.chance(0.5) else (1,) * d.rng.randrange(3)
    if style == 1:
        i = d.rng.randint(0, len(shape))
        return (*shape[:i], 1, *shape[i:])
    if style == 2 and len(shape) > 1:
        i = d.rng.randrange(len(shape) - 1)
        return (*shape[:i], shape[i] * shape[i + 1], *shape[i + 2 :])
    if style == 3 and size % 2 == 0 and size:
        return (2, size // 2)
    if style == 4:
        return tuple([n for n in shape if n != 1])
    return tuple(reversed(shape)) if d.chance(0.7) else shape


@sampler("alloc")
def _alloc(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    shape = d.shape() if want.shape is None else want.shape
    fixed = _fixed_count(d, args[1:])
    if fixed is not None and fixed != len(shape):
        shape = tuple(d.length() for _ in range(fixed))
    known = [a.type for a in [d.env.get(args[0])] if a is not None] if not isinstance(args[0], tuple) else []
    if known and None not in known[0].shape and not _broadcasts(known[0].shape, shape):
        shape = known[0].shape if fixed in (None, known[0].ndim) else shape
    return d.fill(args, [Want(d.narrowed(shape) if d.chance(0.6) else (), want.dtype), *_lengths(shape)])


def _broadcasts(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(inner, outer) == outer
    except ValueError:
        return False


@sampler("make_vector")
def _make_vector(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    n = want.shape[0] if want.shape and len(want.shape) == 1 else max(1, d.count(h, args))
    dtype = h.known("dtype") or want.dtype or d.some_dtype()
    items = d.fill(args, [Want((), dtype)] * n)
    h.settle("dtype", lambda: promote(*[t.type.np_dtype for t in items]).name if items else "int64")
    return items


@sampler("specify_shape")
def _specify_shape(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    x = d.make(args[0], Want(want.shape, want.dtype))
    known = h.settle("known", lambda: tuple([d.chance(0.6) for _ in x.type.shape]))
    h.settle("told", lambda: "")
    lengths = [n for n, k in zip(x.type.shape, known, strict=False) if k]
    return [x, *d.fill(args[1:], _lengths(tuple(lengths)))]


@sampler("unbroadcast")
def _unbroadcast(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    axis = h.known("axis")
    shape = want.shape if want.shape is not None else d.shape(least=max(axis or (), default=-1) + 1)
    (x,) = d.fill(args, [Want(shape, want.dtype)])
    h.settle("axis", lambda: tuple([a for a in range(x.type.ndim) if d.chance(0.5)]))
    return [x]


@sampler("join")
def _join(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    axis = h.known("axis")
    shape = want.shape if want.shape else d.shape(least=(axis or 0) + 1)
    if not shape:
        shape = (3,)
    axis = h.settle("axis", lambda: d.rng.randrange(len(shape)))
    n = max(1, d.count(h, args, most=3))
    if axis >= len(shape):
        raise Retry
    lengths = [0 if d.chance(0.1) else d.length() for _ in range(n)]
    if want.shape:
        lengths = _parts(d, shape[axis], n)
    dtype = want.dtype or d.dtype
    return d.fill(args, [Want((*shape[:axis], k, *shape[axis + 1 :]), dtype) for k in lengths])


def _parts(d: Draw, total: int, n: int) -> list[int]:
    cuts = sorted(d.rng.randint(0, total) for _ in range(n - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


@sampler("arange")
def _arange(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    n = want.shape[0] if want.shape and len(want.shape) == 1 else d.rng.randrange(5)
    h.settle("dtype", lambda: "int64")
    if d.chance(0.6):
        return d.fill(args, [Want((), "int64", (0, 0)), Want((), "int64", (n, n)), Want((), "int64", (1, 1))])
    start, step = d.rng.randint(-3, 3), d.rng.choice((1, 2, 3, -1, -2))
    ends = (start, start + n * step, step)
    return d.fill(args, [Want((), "int64", (e, e)) for e in ends])


@sampler("eye")
def _eye(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    n, m = want.shape if want.shape and len(want.shape) == 2 else (d.length(), d.length())
    h.settle("dtype", lambda: want.dtype or d.dtype)
    return d.fill(args, [*_lengths((n, m)), Want((), "int64", (-2, 2) if d.chance(0.3) else (0, 0))])


@sampler("diagonal", "alloc_diag")
def _diagonal(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    deep = 2 if h.family.name == "diagonal" else 1
    (x,) = d.fill(args, [Want(d.shape(least=deep))])
    h.settle("offset", lambda: d.rng.choice((0, 0, 1, -1)))
    return [x]


@sampler("pack_triangle", "unpack_triangle")
def _triangle(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    side = d.length()
    h.settle("lower", lambda: d.chance(0.5))
    strict = h.settle("strict", lambda: d.chance(0.5))
    if h.family.name == "pack_triangle":
        return d.fill(args, [Want((side, side))])
    return d.fill(args, [Want((packed_length(side, strict),)), *_lengths((side,))])


@sampler("assume")
def _assume(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    h.settle("facts", tuple)
    return d.fill(args, [want])


@sampler("nth")
def _nth(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    (x,) = d.fill(args, [ANY])
    types = getattr(x.type, "types", None)
    if not types:
        raise Retry
    h.settle("i", lambda: d.rng.randrange(len(types)))
    return [x]


@sampler("ifelse")
def _ifelse(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    n = h.settle("n", lambda: d.rng.choice((1, 2)) if want is ANY else 1)
    shape = d.shape() if want.shape is None else want.shape
    dtype = want.dtype or d.some_dtype()
    branch = [Want(shape, dtype)] * n
    return d.fill(args, [Want((), "bool"), *branch, *branch])


@sampler("check")
def _check(d: Draw, h: Head, args: list[Any], want: Want) -> list[Any]:
    x = d.make(args[0], want)  # first: it may settle which conditions there are
    return [x, *d.fill(args[1:], [Want((), "bool")] * (d.count(h, args) - 1))]
