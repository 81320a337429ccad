"""What every op does to an index: the whole of tensor semantics, one short rule per op.

A rule reads `at(op(a, b), *i) -> ...`; `yield a, j` asks for the element of `a` at `j`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import ONE, ZERO, Poly, divide, less, nonneg, poly, product
from termgraph.lower.lengths.shapes import Indexing, indexing
from termgraph.lower.push.driver import Index, Push, Steps, moves, pushes
from termgraph.lower.push.kernel import ARG_FOLDS, FALSE, TRUE
from termgraph.lower.push.small_folds import written_out
from termgraph.lower.push.split_loops import ATTEMPTS, SplitLoops
from termgraph.terms.dtypes import HALVES, working_dtype, working_name
from termgraph.terms.op import Op
from termgraph.terms.ops import random
from termgraph.terms.ops.elementwise import add, cast, ge, le, logical_and, logical_not, lt, switch
from termgraph.terms.term import AnyTerm, Const


@pushes("elementwise")
def _elementwise(p: Push, t: AnyTerm, i: Index) -> Steps:
    operands = []
    for a in t.args:
        operands.append((yield a, p.read_at(a, i)))
    return p.scalars.elementwise(t.op, tuple(operands))


@pushes("stored_as")
def _in_dtype(p: Push, t: AnyTerm, i: Index) -> Steps:
    return p.scalars.elementwise(cast.bind(dtype=t.type.dtype), ((yield t.args[0], i),))


# ---------------------------------------------------------------------- moving elements
@moves("dimshuffle")
def _permuted(p: Push, t: AnyTerm, i: Index) -> Index:
    place = {d: k for k, d in enumerate(t.op.params["order"])}
    return tuple([i[place[d]] if d in place else ZERO for d in range(t.args[0].type.ndim)])


@moves("reshape")
def _reravelled(p: Push, t: AnyTerm, i: Index) -> Index:
    """The same place in row-major order. Leading and trailing dimensions that agree stay apart."""
    old, new = list(p.lengths[t.args[0]]), list(p.lengths[t])
    head: list[Poly] = []
    tail: list[Poly] = []
    index = list(i)
    while old and new and old[-1] is new[-1]:
        old.pop(), new.pop()
        tail.insert(0, index.pop())
    while old and new and old[0] is new[0]:
        old.pop(0), new.pop(0)
        head.append(index.pop(0))
    flat = ZERO
    for k, n in zip(index, new):
        flat = flat * n + k
    middle: list[Poly] = []
    for n in reversed(old[1:]):
        flat, rest = divide(flat, n)
        middle.insert(0, rest)
    if old:
        middle.insert(0, flat)
    return (*head, *middle, *tail)


@moves("alloc")
@moves("unbroadcast")
def _trailing(p: Push, t: AnyTerm, i: Index) -> Index:
    return p.read_at(t.args[0], i)


@moves("specify_shape")
def _specified(p: Push, t: AnyTerm, i: Index) -> Index:
    return i


@moves("windows")
def _in_window(p: Push, t: AnyTerm, i: Index) -> Index:
    """Place o and tap k along an axis read element o * stride + k * dilation."""
    n, ndim = len(t.args) - 1, t.args[0].type.ndim
    steps = zip(i[ndim - n : ndim], i[ndim:], t.op.params["stride"], t.op.params["dilation"])
    return (*i[: ndim - n], *[o * a + k * b for o, k, a, b in steps])


@moves("diagonal")
def _on_diagonal(p: Push, t: AnyTerm, i: Index) -> Index:
    k = t.op.params["offset"]
    return (*i[:-1], i[-1] + max(-k, 0), i[-1] + max(k, 0))


@pushes("subtensor", "gather")
def _indexed(p: Push, t: AnyTerm, i: Index) -> Steps:
    x, *operands = t.args
    parts = indexing(p.lengths, t, x, operands)
    return (yield x, (yield from source_index(p, t, parts, i)))


def source_index(p: Push, t: AnyTerm, how: Indexing, i: Index) -> Steps:
    """The index into x of element i of x[index]."""
    x = t.args[0]
    common = i[how.before : how.before + len(how.common)]
    cuts = iter((*i[: how.before], *i[how.before + len(how.common) :]))
    out: list[Poly] = []
    for axis, (part, n) in enumerate(zip(how.parts, p.lengths[x])):
        if part.cut is not None:
            out.append(part.cut.start + next(cuts) * part.cut.step)
        elif part.array is not None:
            value = yield part.array, p.read_at(part.array, common)
            out.append(checked(p, t, axis, value, n))
        elif isinstance(part.at, int):
            out.append(poly(part.at) if part.at >= 0 else n + part.at)
        else:
            value = yield part.at, ()
            out.append(checked(p, t, axis, value, n))
    return tuple(out)


def checked(p: Push, t: AnyTerm, axis: int, value: AnyTerm, n: Poly) -> Poly:
    """A computed index along an axis of n elements, with its run-time check."""
    site = p.lengths.site(t, f"index {{0}} is out of bounds for axis {axis} with size {{1}}")
    return p.scalars.index(value, n, site)


# ---------------------------------------------------------------------- choosing between operands
@pushes("join")
def _joined(p: Push, t: AnyTerm, i: Index) -> Steps:
    axis, s = t.op.params["axis"], p.scalars
    parts, start = [], ZERO
    for a in t.args:
        stop = start + p.lengths[a][axis]
        here = s.test("lt", i[axis], stop)
        if here is not FALSE:
            element = yield a, (*i[:axis], i[axis] - start, *i[axis + 1 :])
            parts.append((here, s.cast(element, t.type.dtype)))
        if here is TRUE:
            break
        start = stop
    if not parts:  # nothing is joined: no element is asked for
        return s.number(poly(0), t.type.dtype)
    out = parts[-1][1]
    for here, element in reversed(parts[:-1]):
        out = s.pick(here, element, out)
    return out


@pushes("make_vector")
def _listed(p: Push, t: AnyTerm, i: Index) -> Steps:
    items = []
    for a in t.args:
        items.append(p.scalars.cast((yield a, ()), t.type.dtype))
    out = items[-1]
    for k in range(len(items) - 2, -1, -1):
        out = p.scalars.pick(p.scalars.test("eq", i[0], poly(k)), items[k], out)
    return out


@pushes("set_subtensor", "inc_subtensor")
def _updated(p: Push, t: AnyTerm, i: Index) -> Steps:
    s = p.scalars
    x, y, *operands = t.args
    how = indexing(p.lengths, t, x, operands)
    inside, j = yield from _window(p, t, how, i)
    if t.op.family.name == "set_subtensor":
        if inside is FALSE:
            return (yield x, i)
        new = s.cast((yield y, p.read_at(y, j)), t.type.dtype)
        return new if inside is TRUE else s.pick(inside, new, (yield x, i))
    old = yield x, i
    if inside is FALSE:
        return old
    new = yield y, p.read_at(y, j)
    summed = s.cast(s.elementwise(add, (old, new)), t.type.dtype)
    return s.pick(inside, summed, old)


def _window(p: Push, t: AnyTerm, how: Indexing, i: Index) -> Steps:
    """Whether element i of x is in x[index], and where there."""
    s = p.scalars
    tests, j = [], []
    for axis, (part, k, n) in enumerate(zip(how.parts, i, p.lengths[t.args[0]])):
        if part.cut is not None:
            sign = 1 if part.cut.step > 0 else -1
            away, step = (k - part.cut.start) * sign, abs(part.cut.step)
            tests += [s.test("le", ZERO, away), s.test("lt", away, part.cut.length * step)]
            whole, rest = divide(away, step)
            tests.append(s.test("eq", rest, ZERO))
            j.append(whole)
        elif isinstance(part.at, int):
            tests.append(s.test("eq", k, poly(part.at) if part.at >= 0 else n + part.at))
        else:
            tests.append(s.test("eq", k, checked(p, t, axis, (yield part.at, ()), n)))
    return _every(p, tests), tuple(j)


def _every(p: Push, tests: list[AnyTerm]) -> AnyTerm:
    tests = [q for q in dict.fromkeys(tests) if q is not TRUE]
    if FALSE in tests:
        return FALSE
    if not tests:
        return TRUE
    return tests[0] if len(tests) == 1 else p.scalars.make(logical_and, tuple(tests))


@pushes("alloc_diag")
def _spread(p: Push, t: AnyTerm, i: Index) -> Steps:
    k, dtype = t.op.params["offset"], t.type.dtype
    row, col = i[-2] - max(-k, 0), i[-1] - max(k, 0)
    here = _every(p, [p.scalars.test("eq", row, col), p.scalars.test("le", ZERO, row)])
    zero = Const(np.zeros((), dtype))
    if here is FALSE:
        return zero
    element = yield t.args[0], (*i[:-2], row)
    if nonneg(row) and less(row, p.lengths[t.args[0]][-1]):  # read in every column: no branch in a loop of vectors
        return p.scalars.elementwise(switch, (here, element, zero))
    return p.scalars.pick(here, element, zero)


# ---------------------------------------------------------------------- numbers from indices
@pushes("arange")
def _counted(p: Push, t: AnyTerm, i: Index) -> Steps:
    start, _, step = t.args
    if start.type.kind not in "iub" or step.type.kind not in "iub":
        raise NotLowerable(t, "a range of fractional numbers")
    by = p.lengths.as_poly(step, t)
    return p.scalars.number(p.lengths.as_poly(start, t) + i[0] * by, t.type.dtype)
    yield


@pushes("eye")
def _unit(p: Push, t: AnyTerm, i: Index) -> Steps:
    k = p.lengths.as_poly(t.args[2], t)
    return p.scalars.cast(p.scalars.test("eq", i[0] + k, i[1]), t.type.dtype)
    yield


@pushes("shape_i")
def _length(p: Push, t: AnyTerm, i: Index) -> Steps:
    return p.scalars.number(p.lengths[t.args[0]][t.op.params["axis"]], t.type.dtype)
    yield


# ---------------------------------------------------------------------- reductions
NOTHING = {"sum": 0, "prod": 1, "any": False, "all": True}  # what folds of no elements give


@pushes("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "max_or_lowest", "min_or_highest")
def _folded(p: Push, t: AnyTerm, i: Index) -> Steps:
    """Loop variables are named by nesting level, so equal loops are one object; axes side by side become one loop."""
    x, axes, s = t.args[0], t.op.params["axis"], p.scalars
    kind = t.op.family.name.partition("_or_")[0]
    if kind in ARG_FOLDS and not axes:
        return s.number(poly(0), t.type.dtype)  # the place of the only element
    dtype = "bool" if kind in ("any", "all") else x.type.dtype
    if kind in ("sum", "prod"):
        dtype = working_name(t.type.dtype)  # floats of 16 bits are added up in float32, and rounded once
    if kind in NOTHING and product([p.lengths[x][d] for d in axes]).const == 0:
        return _rounded(p, Const(np.asarray(NOTHING[kind], working_dtype(dtype))), t)
    short = yield from written_out(p, x, axes, i, kind, dtype)
    if short is not None:
        return _rounded(p, short, t)
    level, shape = p.level(i), p.lengths[x]
    adjacent = axes == tuple(range(axes[0], axes[-1] + 1)) if axes else False
    if kind in ARG_FOLDS or (len(axes) > 1 and adjacent):
        k = p.fresh(level, product([shape[d] for d in axes]))
        body = s.cast((yield x, _filled(i, [axes], [poly(k)], shape)), dtype)
        if body not in s.divides or kind in ARG_FOLDS:
            return _rounded(p, s.fold(kind, k, body), t)
    for groups in _ways_to_loop(axes):
        loops = SplitLoops([product([shape[d] for d in g]) for g in groups], level)
        body = s.cast((yield x, _filled(i, groups, loops.index, shape)), dtype)
        if len(groups) == len(axes) or body not in s.divides:
            break
    for _ in range(ATTEMPTS):
        if body not in s.divides or not loops.cut(body, s.divides):
            break
        body = s.cast((yield x, _filled(i, groups, loops.index, shape)), dtype)
    for k in reversed(loops.vars):
        body = s.fold(kind, k, body)
    return _rounded(p, body, t)


def _rounded(p: Push, folded: AnyTerm, t: AnyTerm) -> AnyTerm:
    return p.scalars.cast(folded, t.type.dtype) if t.type.dtype in HALVES else folded


def _ways_to_loop(axes: Sequence[int]) -> list[list[tuple[int, ...]]]:
    """Which axes are one loop: those side by side, where no index is divided then; else each has its own."""
    runs: list[tuple[int, ...]] = []
    for d in axes:
        if runs and runs[-1][-1] == d - 1:
            runs[-1] = (*runs[-1], d)
        else:
            runs.append((d,))
    each: list[tuple[int, ...]] = [(d,) for d in axes]
    return [runs, each] if 1 < len(runs) < len(axes) else [each]


def _filled(i: Index, groups: Sequence[Sequence[int]], places: Sequence[Poly], shape: Index) -> Index:
    """Index i with the summed axes filled in, of each group from one flat position."""
    out: dict[int, Poly] = {}
    for axes, flat in zip(groups, places):
        for d in reversed(axes[1:]):
            flat, out[d] = divide(flat, shape[d])
        out[axes[0]] = flat
    rest = iter(i)
    return tuple([out[d] if d in out else next(rest) for d in range(len(shape))])


# ---------------------------------------------------------------------- values that are refused
# The check is an index into one element: it is made as that of any index.
@pushes("poisson_draw")
def _poisson(p: Push, t: AnyTerm, i: Index) -> Steps:
    """The draw; the mean is checked."""
    *bits, mean = yield from _operands(p, t, i)
    fine = _all(p, (ge, mean, Const(0.0)), (lt, mean, Const(random.MOST_POISSON)))
    return p.scalars.elementwise(t.op, (*bits, _checked(p, t, mean, fine, random.POISSON_REFUSES)))


@pushes("binomial_draw")
def _binomial(p: Push, t: AnyTerm, i: Index) -> Steps:
    """The draw; the number of trials and the probability are checked."""
    *bits, n, share = yield from _operands(p, t, i)
    zero = Const(0.0)
    most = Const(random.MOST_POISSON)
    fine = _all(p, (ge, n, zero), (lt, n, most), (ge, share, zero), (le, share, Const(1.0)))
    return p.scalars.elementwise(t.op, (*bits, _checked(p, t, n, fine, random.BINOMIAL_REFUSES), share))


@pushes("required")
def _required(p: Push, t: AnyTerm, i: Index) -> Steps:
    """The first operand; the second says whether it is fine."""
    value, fine = yield from _read(p, t, i)
    return _checked(p, t, value, fine, t.op.params["message"])


def _read(p: Push, t: AnyTerm, i: Index) -> Any:
    found = []
    for a in t.args:
        found.append((yield a, p.read_at(a, i)))
    return found


def _operands(p: Push, t: AnyTerm, i: Index) -> Any:
    """Key, step and index, and the parameters in float64."""
    bits = yield from _read(p, t, i)
    return [value if k < 3 else p.scalars.cast(value, "float64") for k, value in enumerate(bits)]


def _all(p: Push, *tests: tuple[Op, AnyTerm, AnyTerm]) -> AnyTerm:
    return p.scalars.make(logical_and, tuple([p.scalars.elementwise(op, (a, b)) for op, a, b in tests]))


def _checked(p: Push, t: AnyTerm, value: AnyTerm, fine: AnyTerm, text: str) -> AnyTerm:
    """The value and 0, which is an index into one element; where something is wrong the index is 1."""
    wrong = p.scalars.make(cast.bind(dtype="int64"), (p.scalars.elementwise(logical_not, (fine,)),))
    zero = p.scalars.number(p.scalars.index(wrong, ONE, p.lengths.site(t, text)), value.type.dtype)
    return p.scalars.elementwise(add, (value, zero))
