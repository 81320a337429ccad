"""Composite ops in terms of simpler ones, so that loops can fuse them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.lower.push.accumulated import accumulated
from termgraph.lower.push.arms import with_taken_arguments
from termgraph.lower.push.assertions import asserted
from termgraph.lower.push.by_sorting import BY_KERNELS
from termgraph.lower.push.masks import selected
from termgraph.lower.push.pseudo_inverse import pseudo_inverse
from termgraph.lower.push.user_elements import element_op
from termgraph.lower.storage.routine_table import operand_dtypes
from termgraph.terms.build import in_dtype
from termgraph.terms.dtypes import HALVES, working_name
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.elementwise import add, exp, exp_below_zero, isfinite, log, mul, sub, switch, true_div
from termgraph.terms.ops.indexing import gather
from termgraph.terms.ops.loop import inherit_places, loop
from termgraph.terms.ops.reduce import max_or_lowest, sum_
from termgraph.terms.ops.sorting import AT_PLACES
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import rebuild, region
from termgraph.terms.types import Axes, TupleType

if TYPE_CHECKING:
    Clients = dict[Any, list[tuple[Any, int]]]  # of each term, the places that use it


def _kept(t: AnyTerm, axis: Axes, ndim: int) -> AnyTerm:
    """A reduced term with its dimensions back."""
    rest = iter(range(ndim))
    order = tuple(["x" if d in axis else next(rest) for d in range(ndim)])
    return mk(dimshuffle.bind(order=order), (t,))


def _widened(x: AnyTerm) -> tuple[AnyTerm, str]:
    """The operand in the dtype to compute in, and the dtype of the result."""
    dtype = np.dtype("float64") if x.type.kind in "biu" else x.type.np_dtype
    wide = np.promote_types(dtype, np.float32)
    return in_dtype(x, wide.name), dtype.name


def _if_finite(largest: AnyTerm, value: AnyTerm, otherwise: float) -> AnyTerm:
    return mk(switch, (mk(isfinite, (largest,)), value, Const(np.asarray(otherwise, value.type.dtype))))


def _shift(x: AnyTerm, axis: Axes) -> AnyTerm:
    """The largest element along the axes where subtracting it is safe, else 0; dimensions dropped."""
    largest = mk(max_or_lowest.bind(axis=axis), (x,))
    return _if_finite(largest, largest, 0.0)


def _sum(x: AnyTerm, axis: Axes) -> AnyTerm:
    return mk(sum_.bind(axis=axis, dtype=x.type.dtype), (x,))


def _powers(shifted: AnyTerm) -> AnyTerm:
    """exp of what is 0 at most. Vectors of float64 take ten times as long where a result is no normal number."""
    return mk(exp_below_zero if shifted.type.dtype == "float64" else exp, (shifted,))


def _softmax(x: AnyTerm, axis: Axes) -> AnyTerm:
    """The powers are those of `_logsumexp`, with which they are often shared. A row with an infinity in it is NaN."""
    x, dtype = _widened(x)
    powers = _powers(mk(sub, (x, _kept(_shift(x, axis), axis, x.type.ndim))))
    total = _if_finite(mk(max_or_lowest.bind(axis=axis), (x,)), _sum(powers, axis), float("nan"))
    return in_dtype(mk(true_div, (powers, _kept(total, axis, x.type.ndim))), dtype)


def _log_softmax(x: AnyTerm, axis: Axes) -> AnyTerm:
    x, dtype = _widened(x)
    shifted = mk(sub, (x, _kept(_shift(x, axis), axis, x.type.ndim)))
    total = mk(log, (_sum(_powers(shifted), axis),))
    return in_dtype(mk(sub, (shifted, _kept(total, axis, x.type.ndim))), dtype)


def _logsumexp(x: AnyTerm, axis: Axes) -> AnyTerm:
    x, dtype = _widened(x)
    shift = _shift(x, axis)
    powers = _powers(mk(sub, (x, _kept(shift, axis, x.type.ndim))))
    return in_dtype(mk(add, (mk(log, (_sum(powers, axis),)), shift)), dtype)


def _fit_results(old: AnyTerm, new: AnyTerm) -> AnyTerm:
    """A routine that computes in another dtype, with its result in the old one; of several, each when it is read."""
    return new if isinstance(old.type, TupleType) else in_dtype(new, old.type.dtype)


def _as_sum(a: AnyTerm, b: AnyTerm, dtype: str) -> AnyTerm:
    """A product of vectors, or of dtypes that BLAS does not know, as a sum of products, rounded once."""
    wide = working_name(dtype)
    a, b = in_dtype(a, wide), in_dtype(b, wide)
    if a.type.ndim == 2 and b.type.ndim == 2:
        a = mk(dimshuffle.bind(order=(0, "x", 1)), (a,))
    if b.type.ndim == 2:
        b = mk(dimshuffle.bind(order=(1, 0)), (b,))
    return _summed(mk(mul, (a, b)), wide, dtype)


def _batch_as_sum(a: AnyTerm, b: AnyTerm, dtype: str) -> AnyTerm:
    """A batch of products as a sum of products: rows of `a` and columns of `b`, each with the other's dimension new."""
    wide = working_name(dtype)
    n, m = a.type.ndim, b.type.ndim
    rows = mk(dimshuffle.bind(order=(*range(n - 1), "x", n - 1)), (in_dtype(a, wide),))
    columns = mk(dimshuffle.bind(order=(*range(m - 2), "x", m - 1, m - 2)), (in_dtype(b, wide),))
    if n != m:
        more = ("x",) * abs(n - m)
        shorter = rows if n < m else columns
        longer = mk(dimshuffle.bind(order=(*more, *range(min(n, m) + 1))), (shorter,))
        rows, columns = (longer, columns) if n < m else (rows, longer)
    return _summed(mk(mul, (rows, columns)), wide, dtype)


def _summed(product: AnyTerm, wide: str, dtype: str) -> AnyTerm:
    """The products summed over the last dimension."""
    return in_dtype(mk(sum_.bind(axis=(product.type.ndim - 1,), dtype=wide), (product,)), dtype)


def _dot(t: AnyTerm, args: tuple[AnyTerm, ...], products: Sequence[str]) -> AnyTerm:
    """The library does products with a matrix in them, of floating numbers, both of the same dtype."""
    a, b = args
    dtype = t.type.dtype
    if dtype in HALVES and dtype not in products:
        wide = mk(t.op, (in_dtype(a, "float32"), in_dtype(b, "float32")))
        return in_dtype(_dot(wide, wide.args, products), dtype)
    if t.op.family.name == "matmul" and dtype not in products:
        return _batch_as_sum(a, b, dtype)
    if (a.type.ndim == 1 and b.type.ndim == 1) or dtype not in products:
        return _as_sum(a, b, dtype)
    return mk(t.op, (in_dtype(a, dtype), in_dtype(b, dtype)))


# What has no routine of its own for floats of 16 bits, where the backend does not say that it multiplies them.
WIDENED = {
    "cumsum": HALVES,
    "cumprod": HALVES,
    "cummax": HALVES,
    "cummin": HALVES,
    "sort": ("bfloat16",),
    "argsort": ("bfloat16",),
    "argtopk": ("bfloat16",),
    **dict.fromkeys(AT_PLACES, HALVES),
}
BLAS_DTYPES = ("float32", "float64", "complex64", "complex128")


def _expanded_loop(op: Op, origin: dict[Any, Any], products: Sequence[str], calls: Collection[str]) -> Op:
    """The op with its body expanded; called bodies are put in place."""
    body, inner = expand(inline_calls(list(op.params["body"])), products, calls)
    new = op.bind(body=tuple(body))
    inherit_places(new, op, {})
    origin.update(inner)
    return new


EXPANSIONS: dict[str, Callable[[AnyTerm, Axes], AnyTerm]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
}
_AT = gather.bind(index=("a",))


def sample(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
    """`sum(x[i] * y[j], axis=1)`"""
    i, j, x, y = args
    dtype = t.type.dtype
    product = mk(mul, (mk(_AT, (in_dtype(x, dtype), i)), mk(_AT, (in_dtype(y, dtype), j))))
    return product if x.type.ndim == 1 else mk(sum_.bind(axis=(1,), dtype=dtype), (product,))


# What is made of simpler ops whatever its operands are
IN_PARTS: dict[str, Callable[[AnyTerm, tuple[AnyTerm, ...]], AnyTerm]] = {
    "csm_sample": sample,
    "check": asserted,
    "pinv": pseudo_inverse,
}


def expand(
    roots: Sequence[Any], products: Sequence[str] = BLAS_DTYPES, calls: Collection[str] = ()
) -> tuple[list[Any], dict[Any, Any]]:
    """The graph with composite ops replaced, and which term of the old graph each new one comes from.

    `products` are the dtypes of which there are products of matrices, `calls` the ops that the backend has kernels of
    its own for. Complex operands stay as they are.
    """
    origin: dict[Any, Any] = {}
    made: set[Any] = set()  # what stands for a term of the old graph as a whole

    def change(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        new = replaced(t, args)
        if new is not t:
            parts, _ = region([new], lambda a: a.args and a is not t and a not in origin and a not in made)
            origin.update(dict.fromkeys(parts, t))
        made.add(new)
        return new

    def replaced(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        if t.args and t.op.family is loop:
            return mk(_expanded_loop(t.op, origin, products, calls), args)
        rule = EXPANSIONS.get(t.op.family.name) if t.args else None
        if t.args and t.op.family.name in ("dot", "matmul"):
            return _dot(t, args, products)
        if t.args and t.args[0].type.dtype in WIDENED.get(t.op.family.name, ()) and "float16" not in products:
            return in_dtype(mk(t.op, (in_dtype(args[0], "float32"), *args[1:])), t.type.dtype)
        element = element_op(t)
        if element is not None:
            return mk(element, args)
        kernel, by_kernel = BY_KERNELS.get(t.op.family.name, ("", None)) if t.args else ("", None)
        if by_kernel is not None and kernel in calls:
            return by_kernel(t, *args)
        dtypes = operand_dtypes(t, calls) if t.args else None
        if dtypes is not None:
            return _fit_results(t, mk(t.op, tuple([in_dtype(a, d) for a, d in zip(args, dtypes)])))
        if t.args and t.op.family is nth and args[0] is not t.args[0]:
            return _fit_results(t, mk(t.op, args))
        if t.args and t.op.family is gather and (chosen := selected(t, args)) is not None:
            return chosen
        if t.args and t.op.family.name in IN_PARTS:
            return IN_PARTS[t.op.family.name](t, args)
        if rule is not None and args[0].type.kind != "c":
            return rule(args[0], t.op.params["axis"])
        return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)

    new = with_taken_arguments(rebuild(accumulated(roots), change), origin)
    origin.update((b, a) for a, b in zip(roots, new) if a is not b)
    return new, origin
