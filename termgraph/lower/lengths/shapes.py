"""Lengths as polynomials: the shape of every term of a graph, which lengths must agree, and what to check at run time.

Unknown lengths of arguments are symbols `n<argument>_<axis>`, integers that lengths depend on `number<argument>`, or
`number<argument>_<place>` where the argument is a vector, and `count`, `most` or `sum<argument>` of all its elements.
Lengths that an operation demands to be equal become one symbol, so that loops over them are one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.lower.lengths.checks import Check, NotLowerable, Site, When, sides_of, when_chosen
from termgraph.lower.lengths.index import (
    ONE,
    ZERO,
    Apply,
    Atom,
    Poly,
    Sym,
    divide,
    maximum,
    minimum,
    nonneg,
    poly,
    product,
    substitute,
    symbols,
)  # fmt: skip
from termgraph.lower.lengths.slices import Cut, cut
from termgraph.lower.loops.lazy import is_lazy, surely_needed
from termgraph.terms.op import ARG, CONST
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import AnyTerm, Const
from termgraph.terms.traverse import children_first, work_out
from termgraph.terms.types import TensorType

Shape = tuple[Poly, ...]


class Lengths:
    """The shapes of a graph. `sites` are what errors can say, by the number that generated code reports.

    `untrimmed`: results of loops that may stop early are as long as if they did not. The lengths of a loop's body
    (`bodies`) are polynomials in those of the graph around it.
    """

    def __init__(
        self, roots: Sequence[Any], use_values: bool = True, untrimmed: bool = False, calls: Collection[str] = (),
        known: Mapping[Any, Sequence[int | None]] | None = None,
    ) -> None:  # fmt: skip
        self.use_values, self.untrimmed = use_values, untrimmed  # use_values: lengths may depend on arguments' values
        self.calls = calls  # ops that are library calls
        self.known = known or {}  # leaf -> lengths that it has, though its type does not say so
        # symbols of integers -> the argument, and the place in it, or what of all its elements (`OF_ALL`)
        self.values: dict[str, tuple[Any, int | str]] = {}
        self.assumed: dict[Sym, int] = {}  # what was used of this: a program for other lengths is another one
        self.order = children_first(roots)
        self.shapes: dict[Any, Shape] = {}
        self.checks: dict[tuple[Any, ...], Check] = {}
        self.sites: dict[Site, int] = {}
        self.bodies: dict[Any, Any] = {}  # loop term -> the lengths of its body
        self.loops: tuple[AnyTerm, ...] = ()  # the loop terms around this graph
        self.guarded = self.sometimes = self.not_surely_needed(roots)
        self.sides = sides_of(self.order, self.guarded)
        self.indexings: dict[Any, tuple[Shape, Indexing]] = {}  # of terms that index: each is pushed through many times
        self.fitting: dict[tuple[Any, ...], dict[str, Poly]] = {}  # lengths of convolutions of known ones that fit
        self._same: dict[Atom, Poly] = {}
        choices: list[tuple[Any, Poly, Poly]] = []
        self.found_equal = choices
        while self._pass():
            choices.clear()
        for t, p, q in choices:
            if self._norm(p) is not self._norm(q):
                raise NotLowerable(t, "its values may have different lengths")

    def not_surely_needed(self, roots: Sequence[Any]) -> set[Any]:
        """Terms that are only computed if a choice falls on them: their conditions cannot be checked beforehand."""
        lazy = any(t.args and is_lazy(t) for t in self.order)
        return set(self.order) - set(surely_needed(roots)) if lazy else set()

    def _pass(self) -> bool:
        """Compute all shapes; whether lengths were found equal that had different names."""
        known = len(self._same)
        self._numbers = known, {}
        self.indexings.clear()
        for t in self.order:
            if isinstance(t.type, TensorType):
                self.shapes[t] = tuple([self._norm(n) for n in self._shape(t)])
            elif t.op.family.name in WHOLE:
                WHOLE[t.op.family.name](self, t)
        return len(self._same) > known

    _numbers: tuple[int, dict[Any, Poly]] = (-1, {})  # how many lengths were found equal, and what followed from them
    # lengths of the values of choices, to be the same when all equations are known; None: they are checked instead
    found_equal: list[tuple[Any, Poly, Poly]] | None

    def __getitem__(self, t: AnyTerm) -> Shape:
        return self.shapes[t]

    def size(self, t: Any) -> Poly:
        """How many elements."""
        return product(self.shapes[t])

    def site(self, t: AnyTerm, text: str, leaf: Any = None) -> int:
        """The number by which generated code reports this failure."""
        return self.sites.setdefault(Site(t, text, self.loops, leaf), len(self.sites))

    # ------------------------------------------------------------------ equations
    def _norm(self, p: Poly) -> Poly:
        return substitute(p, self._same) if self._same and p.const is None else p

    def equal(self, t: AnyTerm, a: Poly, b: Poly, text: str, leaf: Any = None) -> Poly:
        """The length that a and b both have; checked at run time unless they are the same."""
        a, b = self._norm(a), self._norm(b)
        if a is b:
            return a
        self.require(t, "eq", a, b, text, leaf)
        if (a.const is not None and b.const is not None) or self.is_guarded(t):  # elsewhere they may differ
            return a
        for old, new in ((b, a), (a, b)):
            sym = _lone_symbol(old)
            if sym is not None and sym not in symbols(new):
                self._replace(sym, new)
                return new
        return a if a.const is not None else b

    def _replace(self, sym: Atom, by: Poly) -> None:
        self._same.update({k: substitute(v, {sym: by}) for k, v in self._same.items()})  # shared with bodies
        self._same[sym] = by

    def require(self, t: AnyTerm, test: str, a: Poly, b: Poly, text: str, leaf: Any = None) -> None:
        """Check a condition when the program is entered."""
        if test == "ge" and nonneg(a - b):
            return
        when = self.when_needed(t) if self.is_guarded(t) else None
        key = (test, a.key, b.key)
        if when is not None and key not in self.checks:
            key = (*key, when.test, when.a.key, when.b.key)
        if key not in self.checks:
            self.checks[key] = Check(test, a, b, self.site(t, text, leaf), when)

    def is_guarded(self, t: AnyTerm) -> bool:
        """Whether what a term demands has to hold in those calls only in which a choice falls on it."""
        return t in self.guarded

    def when_needed(self, t: AnyTerm) -> When | None:
        """The condition on which a choice falls on a term; None if both of its sides need it."""
        cases = self.sides.get(t, ())
        outermost = {choice for choice, _ in cases if choice not in self.guarded}
        if len(outermost) < len([choice for choice, _ in cases if choice not in self.guarded]):
            return None
        found = when_chosen(self.as_poly, *cases[0]) if len(cases) == len(outermost) == 1 else None
        if found is None:
            raise NotLowerable(t, "what has to be checked for it depends on a choice")
        return found

    def as_length(self, t: Any, user: AnyTerm, text: str = "a length cannot be negative: {0}") -> Poly:
        """An integer scalar term as a length: checked not to be negative."""
        n = self.as_poly(t, user)
        if not nonneg(n):
            self.require(user, "ge", n, ZERO, text)
            sym = _lone_symbol(n) if not self.is_guarded(user) else None
            if isinstance(sym, Sym) and not sym.natural:
                self._replace(sym, poly(Sym(sym.name)))
        return self._norm(n)

    def as_poly(self, root: AnyTerm, user: AnyTerm) -> Poly:
        """An integer scalar term as a polynomial in lengths and values of arguments."""
        done = self._known_numbers()

        def number(t: AnyTerm) -> Poly:
            return self._scalar(t, [done[a] for a in _operands(t)], user)

        return self._norm(work_out(done, root, _operands, number))

    def _known_numbers(self) -> dict[Any, Poly]:
        """Integer scalars as polynomials; forgotten when lengths are found equal, here or in the body of a loop."""
        if self._numbers[0] != len(self._same):
            self._numbers = len(self._same), {}
        return self._numbers[1]

    def _scalar(self, t: Any, args: list[Poly], user: AnyTerm) -> Poly:
        if t.type.ndim != 0 or t.type.kind not in "iu":
            raise NotLowerable(user, f"a length that is not an integer scalar: {t}", wanted=t)
        if t.op is CONST:
            return poly(t.value.item())
        if self._is_read(t):
            return self._value(f"number{t.index}", t, 0)
        name = t.op.family.name
        if name == "shape_i":
            axis: int = t.op.params["axis"]
            return self.shapes[t.args[0]][axis]
        if name == "subtensor" and t.args[0].op.family.name == "make_vector" and len(t.op.params["index"]) == 1:
            place = t.op.params["index"][0]
            if isinstance(place, int):
                return self.as_poly(t.args[0].args[place], user)
        if name == "subtensor" and self._is_read(t.args[0]):
            place = t.op.params["index"][0]
            if t.args[0].type.ndim == 1 and isinstance(place, int):
                return self._value(f"number{t.args[0].index}_{place % (1 << 32)}", t.args[0], place)
        if name == "subtensor" and self._is_there(t):
            found = self.each_element(t.args[0], user)
            if found is not None:
                return found
        if name == "sum" and t.type.dtype == "int64" and t.args[0].type.kind in "bi" and self._is_read(t.args[0]):
            return self.of_all("count" if t.args[0].type.kind == "b" else "sum", t.args[0], user)
        if name in ("sum", "prod") and t.type.dtype == "int64" and t.args[0].op.family.name == "make_vector":
            each = [self.as_poly(a, user) for a in t.args[0].args]
            return INTEGER["add" if name == "sum" else "mul"](*each)
        if name == "pow" and is_arithmetic(t):
            name, args = "mul", [args[0]] * int(t.args[1].value)
        elif name in SHIFTS and is_arithmetic(t):
            name, args = SHIFTS[name], [args[0], poly(1 << int(t.args[1].value))]
        elif name == "bitwise_and" and is_arithmetic(t):
            name, args = "mod", [args[0], args[1] + 1]
        elif not is_arithmetic(t) or (name == "mod" and not nonneg(args[1])):  # a remainder counts as never negative
            raise NotLowerable(user, "its length is computed from values", wanted=t)
        return INTEGER[name](*args)

    def _is_there(self, t: AnyTerm) -> bool:
        """Whether the element that is read is one for sure, whatever the arguments are."""
        lengths = [n.const for n in self.shapes.get(t.args[0], ())]
        places = t.op.params["index"]
        return len(places) == len(lengths) and all(
            isinstance(k, int) and n is not None and -n <= k < n for k, n in zip(places, lengths)
        )

    def each_element(self, x: AnyTerm, user: AnyTerm) -> Poly | None:
        """The one number in all elements of an array of lengths: stacked by loops, or put together of those of steps.

        Also of what is computed of such arrays: the backward loop finds the lengths of parts as `max(lengths - 1, 0)`.
        """
        while x.op.family.name in ("subtensor", "dimshuffle", "alloc"):
            x = x.args[0]
        try:
            if x.type.ndim == 0:
                return self.as_poly(x, user)
            if x.op is ARG:
                return self.each_of_leaf(x, user)
            name = x.op.family.name
            if x.op.kind == "elementwise" and name in INTEGER and _is_wide(x):
                each = [self.each_element(a, user) for a in x.args]
                known = [n for n in each if n is not None]
                if len(known) < len(each) or (name == "mod" and not nonneg(known[1] - 1)):
                    return None  # a remainder counts as never negative
                return INTEGER[name](*known)
            if name in ("make_vector", "join"):  # one part for each step, of a loop that was written out
                first, *others = [self.each_element(a, user) for a in x.args]
                return first if all(n is first for n in others) else None
            if name != "nth" or x.args[0].op.family is not loop:
                return None
            (of,), i = x.args, x.op.params["i"]
            if not of.op.n_carry <= i < of.op.n_carry + of.op.n_ys:
                return None
            found: Poly | None = self.bodies[of].each_element(of.op.params["body"][i], user)
            return found
        except NotLowerable:
            return None

    def each_of_leaf(self, leaf: AnyTerm, user: AnyTerm) -> Poly | None:
        """The one number in all elements of an argument, if that is known: of a loop's body it may be."""
        return None

    def of_all(self, what: str, t: Any, user: AnyTerm) -> Poly:
        """How many elements of an array are true (`count`), the largest or -1 (`most`), or their `sum`."""
        if t.op is CONST:
            return poly(OF_ALL[what](t.value))
        leaf = t
        while leaf.args and leaf.op.family.name in ("reshape", "dimshuffle"):  # the same elements
            leaf = leaf.args[0]
        if not self._is_read(leaf):
            raise NotLowerable(user, "its length is computed from values", wanted=t)
        return self._value(f"{what}{leaf.index}", leaf, what, what == "count")

    def _is_read(self, t: AnyTerm) -> bool:
        """Whether elements of it can be read before any length is known."""
        return t.op is ARG and self.use_values and not self.loops

    def _value(self, name: str, leaf: AnyTerm, place: int | str, natural: bool = False) -> Poly:
        """The symbol of an integer that is read from an argument before any length is known."""
        self.values[name] = leaf, place
        return self._norm(poly(Sym(name, natural=natural)))

    # ------------------------------------------------------------------ shapes
    def _shape(self, t: AnyTerm) -> Shape:
        if None not in t.type.shape and (t.op in (ARG, CONST) or t.op.kind != "elementwise"):
            rule = SHAPES.get(t.op.family.name) if t.args else None
            if rule is not None:
                rule(self, t)  # for its equations
            return tuple([poly(n) for n in t.type.shape])
        if t.op is ARG:
            given = t.type.shape
            return tuple([self._leaf_length(t, d) if n is None else poly(n) for d, n in enumerate(given)])
        if t.op.kind == "elementwise":
            return self.broadcast(t, t.args)
        rule = SHAPES.get(t.op.family.name)
        if rule is None:
            raise NotLowerable(t, "no rule for its lengths")
        return self._refined(t, rule(self, t))

    def _leaf_length(self, t: Any, d: int) -> Poly:
        """The symbol of a length, or the number that is known."""
        sym, number = Sym(f"n{t.index}_{d}"), self.known[t][d] if t in self.known else None
        if number is None:
            return poly(sym)
        self.assumed[sym] = number
        return poly(number)

    def _refined(self, t: AnyTerm, shape: Shape) -> Shape:
        """Static lengths of the type are exact."""
        return tuple([poly(n) if n is not None else p for n, p in zip(t.type.shape, shape)])

    def broadcast(self, t: AnyTerm, args: Sequence[Any]) -> Shape:
        """Lengths of operands side by side; a length not known to be one must agree with the others."""
        ndim = max(a.type.ndim for a in args)
        out: list[Poly | None] = [None] * ndim  # None: only operands whose type says 1 so far
        for k, a in enumerate(args):
            shape, static = self.shapes[a], a.type.shape
            for d, n in enumerate(shape):
                axis = d + ndim - len(shape)
                if static[d] == 1:
                    continue
                text = f"operand {k} has length {{1}} in dimension {d} where the others have {{0}}"
                out[axis] = self.agreed(t, out[axis], n, text)
        return tuple([ONE if n is None else n for n in out])

    def agreed(self, t: Any, found: Poly | None, n: Poly, text: str) -> Poly:
        """The length of an axis of which one more operand has length n: a 1 that no type promises is not stretched."""
        return self._norm(n) if found is None else self.equal(t, found, n, text)

    def fit(self, t: AnyTerm, value: AnyTerm, target: Shape, what: str) -> None:
        """`value` must broadcast to the target."""
        shape, static = self.shapes[value], value.type.shape
        for d, n in enumerate(shape):
            if static[d] != 1:
                want = target[d + len(target) - len(shape)]
                self.equal(t, want, n, f"{what} have length {{1}} in dimension {d}, the place for them has {{0}}")


def _is_wide(t: AnyTerm) -> bool:
    """Whether a result is as polynomials say: unsigned ones wrap below 0, others of 8 and 16 bits, powers of 32 too."""
    name, size = t.op.family.name, np.dtype(t.type.dtype).itemsize
    if t.type.kind == "u":
        given = t.args[0].type if name == "cast" else t.type
        return size >= 4 and name in BETWEEN and given.kind == "u" and np.dtype(given.dtype).itemsize <= size
    return bool(t.type.kind == "i") and size >= (8 if name in ("sqr", "pow", "abs") else 4)


def _operands(t: AnyTerm) -> tuple[AnyTerm, ...]:
    return t.args if is_arithmetic(t) else ()


def is_arithmetic(t: AnyTerm) -> bool:
    """Whether an integer is computed from integers in a way that polynomials can follow."""
    name = t.op.family.name
    if not _is_wide(t):
        return False
    by: Any = t.args[-1] if t.args else t
    number = int(by.value) if by.op is CONST and by.type.ndim == 0 and by.type.kind in "iu" else -1
    if name in SHIFTS or name == "pow":  # made of products and quotients by specialize; written out as a product
        return 0 <= number < (9 if name == "pow" else 63) and t.args[0].type.ndim == 0
    if name == "bitwise_and":  # a remainder
        return 0 < number < 2**62 and number & (number + 1) == 0 and t.args[0].type.ndim == 0
    return name in INTEGER and all(a.type.ndim == 0 and a.type.kind in "iu" for a in t.args)


def _lone_symbol(p: Poly) -> Any:
    if len(p.terms) == 1:
        (m, c) = p.terms[0]
        if c == 1 and len(m) == 1 and isinstance(m[0], Sym):
            return m[0]
    return None


SHAPES: dict[str, Callable[[Lengths, Any], Shape]] = {}  # one rule per family; filled by `shapes`
WHOLE: dict[str, Callable[[Lengths, Any], None]] = {}  # ops with several results; filled by `bodies`
RESULTS: dict[str, Callable[[Lengths, Any, int], Shape]] = {}  # of ops with several results; filled by `routines`
OF_ALL: dict[str, Callable[[Any], int]] = {  # what lengths may need of all elements of an argument
    "count": lambda x: int(np.count_nonzero(x)),
    "most": lambda x: min(int(np.max(np.asarray(x, np.int64), initial=-1)), 2**63 - 2),
    "sum": lambda x: int(np.sum(x, dtype=np.int64)),
}
# What never leaves the range of its operands.
BETWEEN = frozenset(("cast", "maximum", "minimum", "clip", "floor_div", "mod", "bitwise_and", "right_shift"))
SHIFTS = {"right_shift": "floor_div", "left_shift": "mul"}
INTEGER: dict[str, Callable[..., Poly]] = {
    "add": lambda *xs: sum(xs, ZERO),
    "mul": lambda *xs: product(xs),
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "invert": lambda a: -a - 1,
    "sqr": lambda a: product([a, a]),
    "abs": lambda a: maximum(a, -a),
    "clip": lambda a, low, high: minimum(maximum(a, low), high),
    "cast": lambda a: a,
    "floor_div": lambda a, b: divide(a, b)[0] if nonneg(b - 1) else poly(Apply("floordiv", a, b)),
    "mod": lambda a, b: divide(a, b)[1] if nonneg(b - 1) else poly(Apply("mod", a, b)),
    "maximum": lambda *xs: _fold(maximum, xs),
    "minimum": lambda *xs: _fold(minimum, xs),
}


def _fold(f: Callable[[Poly, Poly], Poly], xs: Sequence[Poly]) -> Poly:
    out = xs[0]
    for x in xs[1:]:
        out = f(out, x)
    return out


# ---------------------------------------------------------------------- slices
# ---------------------------------------------------------------------- indexing
@record(frozen=True)
class Part:
    """How one source dimension is indexed: `at` an integer (int or term), by a `Cut`, or by an index `array`."""

    at: Any = None
    cut: Cut | None = None
    array: Any = None


@record(frozen=True)
class Indexing:
    """`x[index]` taken apart. Dimensions of the result: `before` cuts, then the arrays' own, then the other cuts."""

    parts: tuple[Part, ...]
    common: Shape
    before: int

    def shape(self) -> Shape:
        """Lengths of the result."""
        cuts = [p.cut.length for p in self.parts if p.cut is not None]
        return (*cuts[: self.before], *self.common, *cuts[self.before :])


def indexing(lengths: Lengths, t: AnyTerm, x: AnyTerm, operands: Sequence[Any]) -> Indexing:
    """The index parameter of a term over the source x, with its dynamic operands."""
    shape = lengths[x]
    known = lengths.indexings.get(t)
    if known is not None and known[0] == shape:
        return known[1]
    found = _taken_apart(lengths, t, shape, operands)
    lengths.indexings[t] = shape, found
    return found


def _taken_apart(lengths: Lengths, t: AnyTerm, shape: Shape, operands: Sequence[Any]) -> Indexing:
    values = iter(operands)
    parts: list[Part] = []
    arrays: list[Any] = []
    before = kept = 0
    last, together = -1, True
    for axis, n in enumerate(shape):
        entry = t.op.params["index"][axis] if axis < len(t.op.params["index"]) else ("s", None, None, None)
        if isinstance(entry, tuple):
            start, stop, step = [lengths.as_poly(next(values), t) if e == "?" else e for e in entry[1:]]
            if isinstance(step, Poly):
                if step.const is None:
                    raise NotLowerable(t, "a slice whose step is computed")
                step = step.const
            parts.append(Part(cut=cut(start, stop, step, n)))
            kept += 1
        elif entry == "a":
            arrays.append(next(values))
            if len(arrays) == 1:
                before = kept
            elif last != axis - 1:
                together = False
            last = axis
            parts.append(Part(array=arrays[-1]))
        else:
            need = 0 if entry == "?" else entry + 1 if entry >= 0 else -entry
            if need and t in lengths.sometimes and not nonneg(n - need):
                entry, values = "?", iter((Const(np.asarray(entry, "int64")), *values))  # checked where it is read
            elif need:
                text = f"index {entry} is out of bounds for axis {axis} with size {{0}}"
                lengths.require(t, "ge", n, poly(need), text)
            parts.append(Part(at=next(values) if entry == "?" else entry))
    common = lengths.broadcast(t, arrays) if arrays else ()
    return Indexing(tuple(parts), common, before if together else 0)
