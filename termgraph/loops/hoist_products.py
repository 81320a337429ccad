"""Matrix products taken out of loops: many small ones, or those summed up in a loop, become one large one outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.loops.loop_term import LoopView, change_loops
from termgraph.terms.build import length
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, minimum, mul
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.loop import too_short_text
from termgraph.terms.ops.shaping import reshape, shape_i, specify_shape, static_scalar
from termgraph.terms.term import AnyTerm, mk, mk1
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

_transposed = dimshuffle.bind(order=(1, 0))
_first = subtensor.bind(index=(("s", None, "?", None),))


# ---------------------------------------------------------------------- before the loop
def products_before(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Products of each row of a sequence with a constant matrix: one product of the whole sequence, before."""
    return change_loops(roots, _taken_before)


def _taken_before(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    if t.op.params["until"]:
        return None  # rows that are never reached should not be paid for
    view = LoopView(t)
    found = {}
    for p in children_first(view.roots):
        if p.op is dot and p.args[0] in view.xs and p.args[1].type.ndim == 2:
            w = _constant(p.args[1], view)
            if w is not None and p.args[0].type.ndim in (1, 2):
                found[p] = _times(view, p, read_rows(view, p.args[0]), w)
        elif p.op is dot and p.args[1] in view.xs and p.args[0].type.ndim == 2 and p.args[1].type.ndim == 1:
            w = _constant(p.args[0], view)
            if w is not None:
                found[p] = _times(view, p, read_rows(view, p.args[1]), mk1(_transposed, w))
    if not found:
        return None
    leaves = {p: view.leaf(TensorType.of(p.type.dtype, p.type.shape)) for p in found}
    view.xs.update((leaves[p], whole) for p, whole in found.items())
    view.replace(leaves)
    return view.results()


def _constant(t: AnyTerm, view: LoopView) -> Any:
    """The value outside of a term of the body that does not change, or None."""
    if t in view.consts:
        return view.consts[t]
    if t.op is CONST:
        return t
    if t.op is _transposed and t.args[0] in view.consts:
        return mk1(_transposed, view.consts[t.args[0]])
    return None


def read_rows(view: LoopView, leaf: AnyTerm) -> Any:
    """The rows of a sequence that the loop reads; that there are enough of them is checked there too."""
    x, n = view.xs[leaf], view.n
    rows, steps = x.type.shape[0], static_scalar(n)
    if (steps is not None and rows == steps) or _is_length(n, x):
        return x
    read = view.moved(mk(_first, (x, n)), view.term)
    enough = steps is not None and rows is not None
    if enough or (n.op is minimum and any(_is_length(a, x) for a in n.args)):
        return read
    known = (True, *[False] * (x.type.ndim - 1))
    told = too_short_text(view.source, "a sequence")
    return view.moved(mk(specify_shape.bind(known=known, told=told), (read, n)), view.term)


def _is_length(n: AnyTerm, x: AnyTerm) -> bool:
    return n.op.family is shape_i and n.args[0] is x and n.op.params["axis"] == 0


def _times(view: LoopView, p: AnyTerm, x: AnyTerm, w: AnyTerm) -> AnyTerm:
    """`x @ w` over the last dimension of x, as one product of matrices, in place of the product p of each step."""
    if x.type.ndim == 2:
        return view.moved(mk(dot, (x, w)), p)
    a, b, c = (length(x, i) for i in range(3))
    flat = mk(reshape, (x, mk(mul, (a, b)), c))
    return view.moved(mk(reshape, (view.moved(mk(dot, (flat, w)), p), a, b, length(w, 1))), p)


# ---------------------------------------------------------------------- after the loop
def products_after(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """A sum of products over the steps, as gradients of weights are: one product of the stacked factors, after."""
    return change_loops(roots, _taken_after)


def _taken_after(t: AnyTerm, used: set[int]) -> Sequence[Any] | None:
    if t.op.params["until"]:
        return None
    view = LoopView(t)
    sums = {}
    for j, (leaf, _, new) in enumerate(view.carries):
        factors = _accumulated(view, j, leaf, new)
        if factors:
            sums[j] = factors
    late = {y: f for k, y in enumerate(view.ys) if (f := _deferred_product(view, y))}
    if not sums and not late:
        return None
    asked = list(view.ys)
    view.ys = [y for y in asked if y not in late]
    for a, _ in late.values():
        if a not in view.xs and a not in view.ys:
            view.ys.append(a)
    stacks: dict[Any, Any] = {}
    for factors in sums.values():
        for f in (f for pair in factors for f in pair):
            if f not in view.xs and f not in view.ys:
                view.ys.append(f)
    old = view.carries
    view.carries = [c for j, c in enumerate(old) if j not in sums]
    place = {j: i for i, j in enumerate(k for k in range(len(old)) if k not in sums)}
    new = view.results()
    k = len(view.carries)
    for f in {f for factors in sums.values() for pair in factors for f in pair} | {a for a, _ in late.values()}:
        stacks[f] = read_rows(view, f) if f in view.xs else new[k + view.ys.index(f)]
    out = []
    for j, (_, init, last) in enumerate(old):
        if j in place:
            out.append(new[place[j]])
        else:
            added = [view.moved(_summed(stacks[a], stacks[b]), last) for a, b in sums[j]]
            out.append(view.moved(mk(add, (init, *added)), last))
    for y in asked:
        out.append(_times(view, y, stacks[late[y][0]], late[y][1]) if y in late else new[k + view.ys.index(y)])
    return out


def _deferred_product(view: LoopView, y: AnyTerm) -> tuple | None:
    """(A, C) if a result is A @ C with a constant matrix C, and nothing else in the loop reads it."""
    if y.op is not dot or y.args[1].type.ndim != 2 or y.args[0].type.ndim not in (1, 2):
        return None
    c = _constant(y.args[1], view)
    others = [r for r in view.roots if r is not y]
    return None if c is None or y in set(children_first(others)) else (y.args[0], c)


def _accumulated(view: LoopView, j: int, leaf: AnyTerm, new: AnyTerm) -> list[tuple]:
    """The pairs (A, B) if each step adds A.T @ B to carry j and the carry is not read otherwise; else []."""
    if new.op is not add or new.type.ndim != 2 or sum(a is leaf for a in new.args) != 1:
        return []
    others = [r for i, r in enumerate(view.roots) if i != j] + [a for a in new.args if a is not leaf]
    if leaf in set(children_first(others)):
        return []
    pairs = [p for p in (_factors(a) for a in new.args if a is not leaf) if p is not None]
    complete = len(pairs) == len(new.args) - 1
    return pairs if complete and not any(f in view.consts for pair in pairs for f in pair) else []


def _factors(t: AnyTerm) -> tuple | None:
    """(A, B) with t = A.T @ B, where A and B are matrices, or vectors for an outer product."""
    if t.op is dot and t.args[0].op is _transposed and t.args[1].type.ndim == 2:
        return t.args[0].args[0], t.args[1]
    if t.op is mul and len(t.args) == 2:
        for a, b in (t.args, t.args[::-1]):
            if a.op.family is dimshuffle and b.op.family is dimshuffle:
                orders = (a.op.params["order"], b.op.params["order"])
                if orders in (((0, "x"), ("x", 0)), ((0, "x"), (0,))):
                    return _vector(a), _vector(b)
            if a.op.family is dimshuffle and a.op.params["order"] == (0, "x") and b.type.ndim == 1:
                return _vector(a), b
    return None


def _vector(t: AnyTerm) -> AnyTerm:
    """The vector that a term lays along one axis; it may itself be a matrix of one column, or of one row."""
    x, kept = t.args[0], tuple([d for d in t.op.params["order"] if d != "x"])
    return x if x.type.ndim == 1 else mk1(dimshuffle.bind(order=kept), x)


def _summed(a: AnyTerm, b: AnyTerm) -> AnyTerm:
    """The sum over steps of A.T @ B from the stacked factors."""
    return mk(dot, (mk1(_transposed, _flat(a)), _flat(b)))


def _flat(x: AnyTerm) -> AnyTerm:
    if x.type.ndim == 2:
        return x
    return mk(reshape, (x, mk(mul, (length(x, 0), length(x, 1))), length(x, 2)))
