"""Ops of order by those that sort, for backends that have kernels for these only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from termgraph.terms.build import in_dtype
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, ge, gt, sub
from termgraph.terms.ops.indexing import gather, subtensor
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import arange, shape_i, specify_shape
from termgraph.terms.ops.sorting import argsort, sort, too_few
from termgraph.terms.term import AnyTerm, Const, mk


def _first_sorted(t: AnyTerm, x: AnyTerm) -> AnyTerm:
    """Places of the largest elements: the reversed array sorted and read backwards keeps equal ones in order."""
    axis, k, ndim = t.op.params["axis"], t.op.params["k"], x.type.ndim
    order = argsort.bind(axis=axis)

    def part(y: AnyTerm, *of_axis: int | None) -> AnyTerm:
        return mk(subtensor.bind(index=(*[("s", None, None, None)] * axis, ("s", *of_axis))), (y,))

    if k < 0:
        found = part(mk(order, (x,)), None, -k, None)
    else:
        backwards = part(mk(order, (part(x, None, None, -1),)), -1, -k - 1, -1)
        last = mk(sub, (mk(shape_i.bind(axis=axis), (x,)), Const(np.int64(1))))
        found = mk(sub, (mk(dimshuffle.bind(order=("x",) * ndim), (last,)), backwards))
    known = tuple([d == axis for d in range(ndim)])
    return mk(specify_shape.bind(known=known, told=too_few("{0}", k)), (found, Const(np.int64(abs(k)))))


def _numbers(x: AnyTerm, axis: int) -> AnyTerm:
    """0, 1, 2, ... along an axis of x."""
    return mk(arange, (Const(np.int64(0)), mk(shape_i.bind(axis=axis), (x,)), Const(np.int64(1))))


def _in_rows(x: AnyTerm, places: AnyTerm) -> AnyTerm:
    """The elements of x at places of its last axis."""
    ndim = x.type.ndim
    orders = [("x",) * d + (0,) + ("x",) * (ndim - 1 - d) for d in range(ndim - 1)]
    rows = [mk(dimshuffle.bind(order=order), (_numbers(x, d),)) for d, order in enumerate(orders)]
    return mk(gather.bind(index=("a",) * ndim), (x, *rows, places))


def _order_statistics(t: AnyTerm, x: AnyTerm, places: AnyTerm) -> AnyTerm:
    return _in_rows(mk(sort.bind(axis=x.type.ndim - 1), (x,)), places)


def _argpartition(t: AnyTerm, x: AnyTerm, places: AnyTerm) -> AnyTerm:
    """The places, sorted by how many of those that are asked for are not behind an element in order."""
    ndim, last = t.type.ndim, places.type.ndim - 1
    places = mk(gather.bind(index=("a",)), (_numbers(x, x.type.ndim - 1), places))  # which tells what is out of range
    order = argsort.bind(axis=x.type.ndim - 1)
    more_x, more_places = [("x",) * (ndim - a.type.ndim) for a in (x, places)]
    rank = mk(dimshuffle.bind(order=(*more_x, *range(x.type.ndim), "x")), (mk(order, (mk(order, (x,)),)),))
    places = mk(dimshuffle.bind(order=(*more_places, *range(last), "x", last)), (places,))
    counts = mk(add, tuple([in_dtype(mk(op, (rank, places)), "int64") for op in (ge, gt)]))
    return mk(argsort.bind(axis=ndim - 1), (mk(sum_.bind(axis=(ndim,), dtype="int64"), (counts,)),))


def _partition(t: AnyTerm, x: AnyTerm, places: AnyTerm) -> AnyTerm:
    return _in_rows(x, _argpartition(t, x, places))


# What is written with another op where the backend has kernels for that one and none for this.
BY_KERNELS: dict[str, tuple[str, Callable[..., AnyTerm]]] = {
    "argtopk": ("argsort", _first_sorted),
    "order_statistics": ("sort", _order_statistics),
    "partition": ("argsort", _partition),
    "argpartition": ("argsort", _argpartition),
}
