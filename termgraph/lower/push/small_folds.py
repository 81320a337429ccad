"""Folds over a few elements of known number, written out: the loop around them becomes the vector loop.

A fold keeps many partial results side by side, which pays for long rows; of the four elements of a window it makes
hundreds of operations. May import terms and this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from termgraph._records import NamedTuple
from termgraph.lower.lengths.index import Poly, poly, product
from termgraph.lower.push.driver import Index, Push, Steps
from termgraph.lower.push.kernel import FOLD, HEAVY, INDEX, LOAD, PICK, kids, own_cost, scalars
from termgraph.terms.op import ARG, Op, cost_of
from termgraph.terms.ops.elementwise import add, logical_and, logical_or, maximum, minimum, mul, true_div

if TYPE_CHECKING:
    from termgraph.lower.lengths.shapes import Lengths
    from termgraph.terms.term import AnyTerm

MOST = 16  # elements
FEW_ROWS = 8  # up to here rows that are added up are written out always
MANY_PLACES = 12  # at which a program adds up rows: from here on in loops
VECTOR = 64  # bytes
SIZES = {"float32": 4, "float64": 8}
MOST_TERMS = 40  # that are looked at to see whether this is too much


class Limits(NamedTuple):
    """What is written out: how many elements, how much work in all, and whether costly functions may be in it."""

    elements: int
    work: int  # operations and loads
    costly: bool

    @property
    def looked_at(self) -> int:
        """Operations that are looked at, with what neighbours share: what is more is not written out."""
        return 3 * self.work


ROWS = Limits(MOST, 160, False)
# Of arrays stacked along the folded axis: in a loop each element would be a choice between them, and no vector loop.
STACKED = Limits(64, 1500, True)

PAIRS: dict[str, Op] = {
    "sum": add, "prod": mul, "max": maximum, "min": minimum, "any": logical_or, "all": logical_and,
}  # fmt: skip
TRUTHS: dict[str, Op] = {"sum": logical_or, "prod": logical_and, "max": logical_or, "min": logical_and}


def written_out(p: Push, x: AnyTerm, axes: Sequence[int], i: Index, kind: str, dtype: str) -> Steps:
    """The elements of x along some axes, combined as text; None where a loop is better."""
    count = product([p.lengths[x][d] for d in axes]).const
    if kind not in PAIRS or dtype.startswith("complex") or count is None or not 1 <= count <= STACKED.elements:
        return None
    limits = STACKED if count > 1 and p.joins and _is_stacked(p, x, axes) else ROWS
    if count > limits.elements or limits is ROWS and p.rows_in_loops and folds_rows(p.lengths, x, axes, kind):
        return None
    if count > 1 and _is_surely_long(p, x, axes, int(count), limits):
        return None
    elements: list[Any] = []
    for place in _places([int(p.lengths[x][d].const or 0) for d in axes]):
        elements.append(p.scalars.cast((yield x, _filled_in(i, axes, place, x.type.ndim)), dtype))
        if len(elements) <= 2 and not _is_cheap(elements, int(count), limits):
            return None
    out = _combined(p, kind, dtype, elements)
    if _work([out]) >= HEAVY:
        p.scalars.costly.add(out)
    return out


def _is_stacked(p: Push, x: AnyTerm, axes: Sequence[int]) -> bool:
    """Whether there is an array below element-wise operations whose parts are joined along a folded axis."""
    seen: set[Any] = {x}
    todo = [x]
    while todo and len(seen) <= MOST_TERMS:
        t = todo.pop()
        if t in p.bufs:
            continue
        if t.op.family.name == "join":
            if t.op.params["axis"] + x.type.ndim - t.type.ndim in axes:
                return True
        elif t.op.kind == "elementwise":
            todo += [a for a in t.args if a not in seen]
            seen.update(t.args)
    return False


def folds_rows(lengths: Lengths, x: AnyTerm, axes: Sequence[int], kind: str) -> bool:
    """Whether 9 to 16 rows are added up whose columns are whole vectors: a loop may take these, all rows inside.

    Written out, elements stay in registers, which is faster where that is all a program does (1.0 to 1.5 times); among
    products it is not seen, and such a loop takes half of lowering and a fifth of the C compiler's time.
    """
    lead = len(axes)
    if kind not in ("sum", "prod") or tuple(axes) != tuple(range(lead)) or x.type.dtype not in ("float32", "float64"):
        return False
    rows, columns = product(lengths[x][:lead]).const, product(lengths[x][lead:]).const
    few = rows is not None and FEW_ROWS < rows <= MOST
    return few and columns is not None and columns > 0 and columns * SIZES[x.type.dtype] % VECTOR == 0


def are_many(lengths: Lengths, order: Sequence[Any]) -> bool:
    """Whether a program adds up rows in so many places that compiling them counts: layers of batch norms."""
    found = 0
    for t in order:
        if t.op.family.name in ("sum", "prod"):
            found += folds_rows(lengths, t.args[0], t.op.params["axis"], t.op.family.name)
    return found >= MANY_PLACES


def _places(lengths: Sequence[int]) -> list[tuple[int, ...]]:
    out: list[tuple[int, ...]] = [()]
    for n in lengths:
        out = [(*place, k) for place in out for k in range(n)]
    return out


def _filled_in(i: Index, axes: Sequence[int], place: tuple[int, ...], ndim: int) -> tuple[Poly, ...]:
    """Index i with the place along the folded axes put in."""
    rest, own = iter(i), dict(zip(axes, place))
    return tuple([poly(own[d]) if d in own else next(rest) for d in range(ndim)])


def _is_cheap(elements: Sequence[Any], count: int, limits: Limits) -> bool:
    """Whether what differs from element to element is little, and has no loops, checks or choices."""
    if len(elements) == 1:
        return count > 1 or {FOLD, INDEX, PICK}.isdisjoint({t.op.family for t in scalars(elements)})
    own = _unlike(elements[-1], elements[0], limits.looked_at // count)
    if own is None:
        return False
    if _are_few(own, count, limits):
        return True
    shared = set(scalars([elements[0]]))
    return _are_few([t for t in own if t not in shared], count, limits)


def _is_surely_long(p: Push, x: AnyTerm, axes: Sequence[int], count: int, limits: Limits) -> bool:
    """Whether elements are too much work to be written out, seen without making any.

    Counted are elementwise operations on arrays that have an element of their own in each place.
    """
    shape = [p.lengths[x][d] for d in axes]
    own: dict[Any, int] = {}  # terms -> what an element takes at least, itself only; 0 if places may share it
    work, stack = 0, [x]
    while stack:
        t = stack[-1]
        if t in own:
            stack.pop()
            continue
        elementwise = t.op.kind == "elementwise" and bool(t.args) and t not in p.bufs
        todo = [a for a in t.args if a not in own] if elementwise and len(own) < MOST_TERMS else []
        if todo:
            stack += todo
            continue
        stack.pop()
        own[t] = 0
        if t.type.ndim != x.type.ndim or [p.lengths[t][d] for d in axes] != shape:
            continue
        if elementwise and any(own.get(a) for a in t.args):
            own[t] = 1 if t.op is true_div else cost_of(t.op, len(t.args))
        elif t.op is ARG or t in p.bufs:
            own[t] = 1
        work += own[t]
        if work * count > limits.work or own[t] >= HEAVY and not limits.costly:
            return True
    return False


def _unlike(a: AnyTerm, b: AnyTerm, most: int) -> list[Any] | None:
    """The scalars below `a` where it differs from `b`, place by place: all that only `a` has, and perhaps more.

    None if these are more work than `most`.
    """
    seen: dict[Any, None] = {}
    todo = [(a, b)]
    while todo:
        x, y = todo.pop()
        if x is y or x in seen:
            continue
        seen[x] = None
        most -= own_cost(x) + (x.op.family is LOAD)
        if most < 0:
            return None
        others = kids(y) if y is not None else ()
        todo += zip_longest(kids(x), others[: len(kids(x))])
    return list(seen)


def _are_few(own: Sequence[Any], count: int, limits: Limits) -> bool:
    if not {FOLD, INDEX, PICK}.isdisjoint({t.op.family for t in own}):
        return False
    return _weight(own) * count <= limits.work and (limits.costly or all(own_cost(t) < HEAVY for t in own))


def _work(roots: Sequence[Any]) -> int:
    return _weight(scalars(roots))


def _weight(terms: Any) -> int:
    return sum(own_cost(t) + (t.op.family is LOAD) for t in terms)


def _combined(p: Push, kind: str, dtype: str, elements: Sequence[AnyTerm]) -> AnyTerm:
    """One value of all: extremes in one operation, which needs one test for NaN; sums and products as a tree."""
    if len(elements) == 1:
        return elements[0]
    op = TRUTHS.get(kind, PAIRS[kind]) if dtype == "bool" else PAIRS[kind]
    if op in (maximum, minimum):
        return p.scalars.make(op, tuple(elements))
    level = list(elements)
    while len(level) > 1:
        pairs = [p.scalars.make(op, tuple(level[k : k + 2])) for k in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
