"""Ops along one axis that some backends have kernels of their own for: running sums and their kin, sorting, searching.

Where a backend names them (`lower(calls=...)`) they are library calls; elsewhere routines, running sums along other
axes than the last loops.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.index import ONE, ZERO, Poly, nest, product
from termgraph.lower.lengths.polynomials import values
from termgraph.lower.loops.tree import Call
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.lower.storage.policy import Storage, Store, call_rule, cut_rule
from termgraph.lower.storage.routine_table import spec_of
from termgraph.lower.storage.routines import call_routine
from termgraph.terms.ops.elementwise import add, maximum, minimum, mul
from termgraph.terms.term import AnyTerm

RUNNING = {"cumsum": add, "cumprod": mul, "cummax": maximum, "cummin": minimum}


@call_rule(*RUNNING, "sort", "argsort")
def _along(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """The operand seen as (before, along, after) the axis, C-contiguous."""
    (x,), axis = t.args, t.op.params["axis"]
    found = _place(s, x, buf)
    shape = s.lengths[x]
    sizes = (product(shape[:axis]), shape[axis], product(shape[axis + 1 :]))
    options = {"batch": [], "beta": 0, "dtype": t.type.dtype}
    s.add(Call(t.op.family.name, buf, [(*found, ())], sizes, options=options))


@call_rule("searchsorted")
def _searched(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """A sorted vector, and values of any shape."""
    places = [_place(s, x, Buf("", x.type.dtype, s.lengths[x], "temp")) for x in t.args]
    table, values_ = t.args
    options = {"batch": [], "beta": 0, "dtype": t.type.dtype, "side": t.op.params["side"]}
    sizes = (ONE, s.lengths[table][0], product(s.lengths[values_]))
    s.add(Call("searchsorted", buf, [(*place, ()) for place in places], sizes, options=options))


def _place(s: Storage, x: object, like: Buf) -> tuple[Buf, Poly]:
    """Where x is, one element after the other; else it is stored."""
    found = _contiguous(s, x, like)
    if found is None:
        s.keep(x)
        found = _contiguous(s, x, like)
    assert found is not None, f"a stored operand that is not contiguous: {x!r:.200}"
    return found


def _contiguous(s: Storage, x: Any, like: Buf) -> tuple[Buf, Poly] | None:
    """Where x is, if its elements lie one after the other as those of a buffer of its shape do."""
    index, vars_ = nest(s.lengths[x])
    value = s.push.at(x, index)
    if value.op.family is not LOAD or value.type.dtype != x.type.dtype:
        return None
    offset = value.op.params["offset"]
    base = offset.without(vars_)
    whole = base + like.offset(index)
    return (value.op.params["buf"], base) if whole is offset and not values(offset) else None


@cut_rule(*RUNNING)
def _running(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """In a loop, element k is element k-1 and one more: the buffer is read where it has just been written."""
    if spec_of(t) is not None:
        call_routine(s, t)
        return
    (x,), axis = t.args, t.op.params["axis"]
    index, vars = nest(s.lengths[t])
    offset, value = buf.offset(index), s.scalars.cast(s.push.at(x, index), t.type.dtype)
    if index[axis] is not ZERO:
        before = s.scalars.load(buf, buf.offset((*index[:axis], index[axis] - 1, *index[axis + 1 :])))
        first = s.scalars.test("eq", index[axis], ZERO)
        # The new element first: an extreme then keeps the first of two zeros, as the routine for rows does.
        value = s.scalars.pick(first, value, s.scalars.elementwise(RUNNING[t.op.family.name], (value, before)))
    own = index[axis].fv
    s.add(Store(buf, offset, value, vars, ordered=own))
