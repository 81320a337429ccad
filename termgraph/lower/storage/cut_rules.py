"""Ops that get storage of their own: library calls, scatters, and joins and updates at the roots.

The dual of `at_rules`: instead of pulling an element, the *store* carries the computed index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from termgraph._lazy import lazy
from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, nest, nonneg, poly, repeats, shifted
from termgraph.lower.lengths.polynomials import values
from termgraph.lower.lengths.shapes import Indexing, indexing
from termgraph.lower.loops.tree import Call
from termgraph.lower.memory.operand_places import steps_of
from termgraph.lower.memory.strides import spans_rows
from termgraph.lower.push.at_rules import source_index
from termgraph.lower.push.driver import Index
from termgraph.lower.push.kernel import HEAVY, INDEX, IVAL, LOAD, Buf
from termgraph.lower.storage.policy import Storage, Store, cut_rule, root_rule
from termgraph.terms.op import ARG, CONST, cost_of
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import logical_not
from termgraph.terms.ops.indexing import SCATTERS
from termgraph.terms.ops.shaping import reshape
from termgraph.terms.term import AnyTerm

meeting = lazy("termgraph.lower.lengths.meeting")
Place = Callable[[Index], Index]  # where an element goes in the buffer
Operand = tuple[Buf, Poly, tuple[Poly, ...]]  # where it begins, and its strides


# ---------------------------------------------------------------------- products of matrices
@cut_rule("dot", "matmul")
def _product(s: Storage, t: AnyTerm, buf: Buf) -> None:
    _multiply(s, t, buf, *t.args)


def _multiply(s: Storage, t: AnyTerm, buf: Buf, a: AnyTerm, b: AnyTerm) -> None:
    """The call that makes t, the product of a and b."""
    batch = s.lengths[t][: max(a.type.ndim, b.type.ndim, 2) - 2]
    outer = [Var(k, n) for k, n in enumerate(batch)]
    left, right = _operand(s, a, outer, a.type.ndim), _operand(s, b, outer, b.type.ndim)
    k = s.lengths[a][-1]
    steps = _steps(buf.shape[: len(batch)], buf)
    options: dict[str, Any] = {"batch": [(v, p) for v, p in zip(outer, steps)], "dtype": t.type.dtype, "beta": 0}
    if b.type.ndim == 1:
        call = Call("gemv", buf, [left, right], (s.lengths[a][0], k), options=options)
    elif a.type.ndim == 1:
        matrix, offset, (row, column) = right
        call = Call("gemv", buf, [(matrix, offset, (column, row)), left], (s.lengths[b][1], k), options=options)
    else:
        rows, columns = s.lengths[a][-2], s.lengths[b][-1]
        if batch and (whole := _rows_of_all(left, right, outer[-1], rows)) is not None:
            left, rows = whole, rows * batch[-1]
            options["batch"] = options["batch"][:-1]
        if columns is ONE and not options["batch"] and not _is_short(rows, k):
            matrix, offset, (step, _) = right
            call = Call("gemv", buf, [left, (matrix, offset, (step,))], (rows, k), options=options)
        else:
            call = Call("gemm", buf, [left, right], (rows, columns, k), options=options)
    s.add(call)


def _rows_of_all(left: Operand, right: Operand, v: Var, rows: Poly) -> Operand | None:
    """The matrices of a batch as one with all of their rows, where they lie so and all are multiplied by the same."""
    buf, offset, (row, column) = left
    found = steps_of(offset, (v,))
    if found is None or v in found[0].fv or v in right[1].fv:  # layers that are not evenly far from each other
        return None
    return (buf, found[0], (row, column)) if column is ONE and found[1] == (row * rows,) else None


def _is_short(rows: Poly, k: Poly) -> bool:
    """Whether a matrix by a vector is done before BLAS would be called."""
    return rows.const is not None and k.const is not None and rows.const * k.const <= 128


@cut_rule("stored_as")
def _stored_as(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """Element by element, wherever its operand comes from."""
    s.store(t, buf, s.is_flat(t))
    for x in s.made[t]:
        x.kept = True


@cut_rule("empty")
def _empty(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """It has a place, and no statement."""


@cut_rule("gemm")
def _added_product(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """c + alpha * a @ b: c goes to the result first, unless it is nothing but zeros, as gradients of loops begin."""
    c, a, b, alpha = t.args
    index, vars = nest(s.lengths[t])
    follows = s.push.bufs.get(c) is buf  # another one, which has the same room
    start: Any = None if follows else s.push.at(c, s.push.read_at(c, index))
    factor: Any = s.push.at(alpha, ())
    if not follows and start.op is CONST and start.scalar == 0 and factor.op is CONST and factor.scalar == 1:
        _multiply(s, t, buf, a, b)
        return
    left, right = _operand(s, a, [], 2), _operand(s, b, [], 2)
    if not follows:
        s.add(Store(buf, buf.offset(index), start, vars))
    options = {"batch": [], "dtype": t.type.dtype, "beta": 1, "alpha": factor}
    sizes = (s.lengths[a][0], s.lengths[b][1], s.lengths[a][1])
    s.add(Call("gemm", buf, [left, right], sizes, 1, options=options))


def _steps(shape: Sequence[Poly], buf: Buf) -> list[Poly]:
    """Distance in the buffer for each leading dimension."""
    out = []
    step = ONE
    for d in reversed(range(len(buf.shape))):
        if d < len(shape):
            out.append(step)
        step = step * buf.shape[d]
    return out[::-1]


def _operand(s: Storage, a: AnyTerm, outer: list[Var], ndim: int) -> Operand:
    """Pointer, offset and strides of an operand, whatever views it is seen through; else it is stored first."""
    found = None if s.is_computed(a) else _matrix(s, a, outer, ndim)
    for stored in (_to_store(s, a), a):  # what is behind axes in another order may still lie badly when stored
        if found is None:
            s.keep(stored)
            found = _matrix(s, a, outer, ndim)
    assert found is not None, f"a stored operand that BLAS cannot read: {a!r:.200}"
    return found


def _matrix(s: Storage, a: AnyTerm, outer: list[Var], ndim: int) -> Operand | None:
    """The same; None if it lies nowhere, or in a way that BLAS cannot read."""
    shape = s.lengths[a]
    own = min(ndim, 2)
    lead = outer[len(outer) - (ndim - own) :] if ndim > own else []
    head = tuple([ZERO if n == 1 else poly(v) for v, n in zip(lead, a.type.shape)])
    inner = [Var(len(outer) + k, n) for k, n in enumerate(shape[ndim - own :])]
    value = s.push.at(a, (*head, *[poly(v) for v in inner]))
    if value.op.family is not LOAD or a.type.dtype != value.type.dtype:
        return None
    found = steps_of(value.op.params["offset"], tuple(inner))
    if found is None or not is_matrix(found[1], shape[ndim - own :]):
        return None
    return value.op.params["buf"], *found


def _to_store(s: Storage, a: AnyTerm) -> AnyTerm:
    """What has to be stored so that a product can read `a`: what it is a view of, which others may read as well.

    If that lies badly, all but the reshaping.
    """
    first = a
    while first.op.family in (dimshuffle, reshape):
        first = first.args[0]
    second = shuffled(a)
    while second.op is reshape:
        second = second.args[0]
    has_place = [b in s.cuts or b.op in (ARG, CONST) for b in (first, second)]
    return a if all(has_place) else second if has_place[0] else first


def shuffled(a: AnyTerm) -> AnyTerm:
    """What is seen with its axes in another order."""
    while a.op.family is dimshuffle:
        a = a.args[0]
    return a


def is_matrix(strides: Sequence[Poly], shape: Sequence[Poly]) -> bool:
    """Whether BLAS can read it: a unit stride, and a leading dimension not below the row length."""
    if len(strides) == 1:
        return spans_rows(strides[0]) or nonneg(strides[0] - 1)
    for unit, lead, length in ((1, 0, shape[1]), (0, 1, shape[0])):
        apart = shape[lead] is ONE or spans_rows(strides[lead]) or nonneg(strides[lead] - length)
        if strides[unit] is ONE and apart:
            return True
    return False


# ---------------------------------------------------------------------- conditions
@cut_rule("holds")
def _condition(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """Stored is that it holds; it is checked as an index into one element is, which is 1 if it does not."""
    wrong = s.scalars.elementwise(logical_not, (s.push.at(t.args[0], ()),))
    none = s.scalars.index(s.scalars.cast(wrong, "int64"), ONE, s.lengths.site(t, t.op.params["text"]))
    s.add(Store(buf, ZERO, s.scalars.test("eq", none, ZERO), []))


# ---------------------------------------------------------------------- writing at computed places
@cut_rule(*SCATTERS)
def _scattered(s: Storage, t: AnyTerm, buf: Buf) -> None:
    x, y, *operands = t.args
    how = indexing(s.lengths, t, x, operands)
    _fill(s, x, buf)
    _write(s, t, y, how, buf, t.op.family.name.removeprefix("scatter_"))
    _keep_divided(s, t)


@root_rule("set_subtensor", "inc_subtensor")
def _updated(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """What is there first, then one store after the other for updates of updates."""
    chain, x = [t], t.args[0]
    while x.op.family.name in ("set_subtensor", "inc_subtensor") and x not in s.push.bufs:
        chain.append(x)
        x = x.args[0]
    _fill(s, x, buf)
    for rank, u in enumerate(reversed(chain), 1):
        _, y, *operands = u.args
        how = indexing(s.lengths, u, u.args[0], operands)
        _write(s, u, y, how, buf, "add" if u.op.family.name == "inc_subtensor" else "set", rank)
    _keep_divided(s, t)


def _keep_divided(s: Storage, t: AnyTerm) -> None:
    """Store what is written if its loops would divide for each element."""
    if divided := [x.value for x in s.made[t] if x.value in s.scalars.divides]:
        s.keep_repeated(t, divided)


def _fill(s: Storage, x: AnyTerm, buf: Buf) -> None:
    index, vars = nest(s.lengths[x])
    s.add(Store(buf, buf.offset(index), s.push.at(x, index), vars))


def _write(s: Storage, t: AnyTerm, y: AnyTerm, how: Indexing, buf: Buf, mode: str, rank: int = 1) -> None:
    """y goes to x[index] in the buffer that holds x, in the place of what is there or joined with it."""
    index, vars = nest(how.shape())
    place = s.push.drive(source_index(s.push, t, how, index))
    offset = buf.offset(place)
    of_data = bool(values(offset) or repeats(offset, vars))
    single = [p for p, part in zip(place, how.parts) if part.cut is None]
    meets = of_data or not meeting.never_meet(single, _shared(how, index))
    ordered = frozenset(vars) if of_data or (meets and mode == "set") else frozenset()
    if ordered and s.whole_vectors:
        _store_functions(s, y)
    value = s.scalars.cast(s.push.at(y, s.push.read_at(y, index)), t.type.dtype)
    apart = frozenset(v for v in vars if any(_moves_with(p, v, vars) for p in place)) if meets else frozenset()
    s.add(Store(buf, offset, value, vars, mode, rank, ordered, apart, meets))


def _shared(how: Indexing, index: Index) -> frozenset[Var]:
    """The counts that arrays of indices have in common: along a slice no two elements are one."""
    return frozenset(v for p in index[how.before : how.before + len(how.common)] for v in p.fv)


def _store_functions(s: Storage, y: AnyTerm) -> None:
    """Store what functions make of elements that are written one by one: in loops of their own they take vectors."""
    todo = [y]
    while todo:
        u = todo.pop()
        if u in s.push.bufs or not u.args or u.op.kind != "elementwise" or not u.type.ndim:
            continue
        if u.op.vector and cost_of(u.op, len(u.args)) >= HEAVY:
            s.keep(u)
        else:
            todo += u.args


def _moves_with(p: Poly, v: Var, vars: Sequence[Var]) -> bool:
    """Whether an index is the count of one loop, or that and what no loop changes: another place in each iteration."""
    if meeting.moves_with(p, v, vars):
        return True
    atom = next(iter(p.atoms()), None) if len(p.terms) == 1 else None  # a number has none
    t = getattr(atom, "term", None)  # the index may be an array's value that is the count itself, as in x[arange(n), y]
    count = t.args[0] if t is not None and p is poly(atom) and t.op.family is INDEX else None
    return count is not None and count.op.family is IVAL and count.op.params["index"] is poly(v)


# ---------------------------------------------------------------------- laying end to end
@root_rule("join", "make_vector")
def _joined(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """One store per part: no choice inside the loop."""
    todo: list[tuple[Any, Place]] = [(t, lambda i: i)]
    while todo:
        part, place = todo.pop()
        if part.op.family.name == "join" and part not in s.push.bufs or part is t and t.op.family.name == "join":
            axis, start = part.op.params["axis"], ZERO
            s.push.passed(part)
            for a in part.args:
                todo.append((a, _shifted(place, axis, start)))
                start = start + s.lengths[a][axis]
        elif part is t:
            for k, a in enumerate(part.args):
                value = s.scalars.cast(s.push.at(a, ()), t.type.dtype)
                s.add(Store(buf, poly(k), value, []))
        else:
            index, vars = nest(s.lengths[part])
            value = s.scalars.cast(s.push.at(part, index), t.type.dtype)
            s.add(Store(buf, buf.offset(place(index)), value, vars))


def _shifted(place: Place, axis: int, start: Poly) -> Place:
    return lambda i: place(shifted(axis, start, i))
