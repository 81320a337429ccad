"""Loops of plain arithmetic in C, written with the vector types of gcc and clang: the compiler has nothing to find out.

Making a vector loop of a long body takes gcc three times as long as translating one that is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from termgraph._lazy import lazy, pattern
from termgraph.backends.c.text.diagonals import one_apart
from termgraph.backends.c.text.dialect import SHORT
from termgraph.backends.c.text.ranges import VECTOR_CALL
from termgraph.backends.cstyle import Printer
from termgraph.lower.lengths.index import Poly, Var, poly
from termgraph.lower.loops.tree import Accumulate, Columns, Let, Loop, Node, Reduce, Sweep, Write, walk
from termgraph.lower.push.kernel import INDEX, ITEST, IVAL, LOAD
from termgraph.terms.term import AnyTerm

narrow_columns = lazy("termgraph.backends.c.text.narrow_columns")
WIDEST = 64  # bytes that a vector may have: on which processor the text runs is not known
SIZES = {"float32": 4, "float64": 8}
INFIX = {"add", "sub", "mul", "true_div", "neg", "reciprocal"}  # the text for numbers is also that for vectors
CALLED = {"abs": 1, "sqrt": 1, "maximum": 2, "minimum": 2}  # functions of vectors, and how many operands they have
COMPARED = {"lt", "le", "gt", "ge", "eq"}
JOINED = {"logical_and": " & ", "logical_or": " | "}
FOLDED = {"sum": "+=", "prod": "*="}
MANY = 12  # values from which a plain loop is written like this

LONG_ROWS = 8  # values of an element from which rows of blocks of columns are written like this
ROWS = 16  # of a block, for which partial results of a vector of columns stay in registers
MUCH = 4096  # elements after which a copy of partial results is nothing


class VectorLoops(Printer):
    """Writes loops over a known number of whole vectors, if all that they compute is arithmetic of one dtype."""

    whole = False  # whether the function always runs over its whole range
    apart = VECTOR_CALL

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.vectors: set[Any] = set()  # the values that are vectors where the text stands now
        self.together = 1  # of the loop over columns that is written: how many are dealt out together

    def add_up(self, n: Reduce, f: AnyTerm, acc: str, half: str) -> None:
        """Where that is done once for an array, by a function that all folds share: two loops less for the compiler.

        Of partial results that live from round to round a copy is handed over: they shall not have an address.
        """
        kind, dtype, extent = f.op.params["kind"], f.type.dtype, n.var.extent.const
        few = extent is not None and extent <= n.lanes
        much = extent is not None and extent >= MUCH and len(n.folds) > 1
        if not (few or much) or kind not in FOLDED or dtype not in SIZES:
            super().add_up(n, f, acc, half)
            return
        ctype, lanes = self.d.ctype(dtype), f"{acc}_lane"
        if much:
            self.add(f"{ctype} {acc}_last[{n.lanes}];", f"__builtin_memcpy({acc}_last, {lanes}, sizeof {lanes});")
            lanes = f"{acc}_last"
        self.add(f"const {ctype} {acc} = tg_halved_{kind}_{SHORT[dtype]}({lanes}, {half});")

    # ------------------------------------------------------------------ loops
    def on_loop(self, n: Loop, begin: str = "0", end: str | None = None, first: str = "") -> None:
        apart = one_apart(n) if n.simd and not first else None
        if apart is None or any(isinstance(s, Let) and self.may_change(s.term) for s in apart.body):
            self.all_alike(n, begin, end, first)
            return
        self.all_alike(apart.loop, begin, end)
        i, last = f"i{n.var.level}", end or self.poly(n.var.extent)
        with self.block(""):
            self.add(f"const int64_t {i} = {self.poly(apart.place)};")
            also = "".join(f" && {self.ref(t)}" for t in apart.also)
            with self.block(f"if ({i} >= {begin} && {i} < {last}{also})"):
                self.body(apart.body)

    def all_alike(self, n: Loop, begin: str = "0", end: str | None = None, first: str = "") -> None:
        found = self.loop_vectors(n) if n.simd and not first and self.goes_over_all(begin, end) else None
        if found is None:
            super().on_loop(n, begin, end, first)
            return
        before, (self.vectors, dtype) = self.vectors, found
        with self.each_vector_of(n.var, dtype):
            self.body(n.body)
        self.vectors = before

    def on_columns(self, n: Columns, begin: str = "0", end: str | None = None, together: int = 1) -> None:
        """The rows of as many columns as a vector holds: partial results stay in registers."""
        found = self.column_vectors(n) if self.goes_over_all(begin, end) else None
        if found is None:
            unknown = begin == "0" and end is None and n.var.extent.const is None
            body = (x for s in n.body for x in (*s.outer, *s.body))
            if unknown and narrow_columns.may_be_narrow(n) and self.is_repeatable(body):
                narrow_columns.write(self, n, partial(super().on_columns, n))
            else:
                self.together = together
                super().on_columns(n, begin, end, together)
            return
        before, (self.vectors, dtype) = self.vectors, found
        known: set[Any] = set()  # values that were named outside all loops over rows
        with self.each_vector_of(n.var, dtype):
            for s in n.body:
                self.vector_sweep(s, dtype, known)
        self.vectors = before

    def goes_over_all(self, begin: str, end: str | None) -> bool:
        """Whether a loop runs over its whole range, of which the function may get a part."""
        return self.whole or (begin == "0" and end is None)

    @contextmanager
    def each_vector_of(self, var: Var, dtype: str) -> Iterator[None]:
        """A loop that takes a vector at a time. The last one begins earlier where it would go beyond the end."""
        i, n, step = f"i{var.level}", self.poly(var.extent), f"tg_wide_bytes / {SIZES[dtype]}"
        with self.block(f"for (int64_t {i} = 0; {i} < {n}; {i} += {step})"):
            if not _is_whole(var, dtype):
                self.add(f"if ({i} > {n} - {step}) {i} = {n} - {step};")
            yield

    def vector_sweep(self, s: Sweep, dtype: str, known: set[Any]) -> None:
        """One loop over rows. What all rows have in common comes first, if no sweep before has named it."""
        if s.var is None:
            self.body(s.body)
            return
        common = self.in_all_rows(s)
        for x in common:
            if x.term not in known:
                self.node(x)
                known.add(x.term)
        for f in s.folds:
            acc = self.text["acc", f] = self.text[f] = self.names.new("a")
            first = self.d.fold_init(f.op.params["kind"], dtype)
            self.add(f"tg_wide_{SHORT[dtype]} {acc} = (tg_wide_{SHORT[dtype]}){{0}} + {first};")
        done = {id(x) for x in common}
        with self.block(self.for_head(s.var)):
            self.body(s.outer)
            self.body([x for x in s.body if id(x) not in done])

    def sweep(self, s: Sweep, n: Columns, base: str, count: str) -> None:
        """In blocks of whole vectors: some rows of one vector of columns, then of the next."""
        found = self.sweep_vectors(s, n) if self.together > 1 else None
        if found is None:
            super().sweep(s, n, base, count)
            return
        before, (self.vectors, dtype) = self.vectors, found
        wide, earlier = f"tg_wide_{SHORT[dtype]}", [f for other in n.body for f in other.folds if f in self.text]
        accs = {f: self.names.new("a") for f in s.folds}
        self.add(*[f"{self.d.ctype(dtype)} {acc}_lane[{n.width}]{self.d.aligned};" for acc in accs.values()])
        vectors = f"for (int64_t u = 0; u < {count}; u += tg_wide_bytes / {SIZES[dtype]})"
        if accs:
            with self.block(vectors):
                for f, acc in accs.items():
                    first = self.d.fold_init(f.op.params["kind"], dtype)
                    self.add(f"*({wide} *)({acc}_lane + u) = ({wide}){{0}} + {first};")
        row, end = self.names.new("r"), "" if s.var is None else self.poly(s.var.extent)
        with self.block(end and f"for (int64_t {row} = 0; {row} < {end}; {row} += {ROWS})"), self.block(vectors):
            self.add(f"const int64_t i{n.var.level} = {base} + u;")
            for f in earlier:
                self.call_it(f, f"*(const {wide} *)&{self.text[f]}")
            for f, acc in accs.items():
                self.add(f"{wide} {acc} = *(const {wide} *)({acc}_lane + u);")
                self.text["acc", f] = acc
            self.some_rows(s, row)
            self.add(*[f"*({wide} *)({acc}_lane + u) = {acc};" for acc in accs.values()])
        self.text |= {f: f"{acc}_lane[u]" for f, acc in accs.items()}
        self.vectors = before

    def some_rows(self, s: Sweep, first: str) -> None:
        """What all rows have in common, then as many rows as a block has."""
        if s.var is None:
            self.body(s.body)
            return
        common, k, n = self.in_all_rows(s), f"i{s.var.level}", self.poly(s.var.extent)
        whole = s.var.extent.const is not None and not s.var.extent.const % ROWS
        end = f"{first} + {ROWS}" if whole else f"({n} - {first} < {ROWS} ? {n} : {first} + {ROWS})"
        self.body(common)
        done = {id(x) for x in common}
        with self.block(f"for (int64_t {k} = {first}; {k} < {end}; {k}++)"):
            self.body([x for x in s.body if id(x) not in done])

    def in_all_rows(self, s: Sweep) -> list[Let]:
        """Values that are the same in each row, and not read where this function writes."""
        own = {x.term for x in s.outer if isinstance(x, Let)}
        out = []
        for x in s.body:
            if not isinstance(x, Let):
                continue
            place = place_of(x)
            if place is not None:
                moves = s.var in place[1].fv or place[0] in self.written or place[0] in self.aliased
            else:
                moves = s.var in _indices(x.term) or any(a in own for a in x.term.args)
            if moves:
                own.add(x.term)
            else:
                out.append(x)
        return out

    # ------------------------------------------------------------------ values
    def expression(self, t: AnyTerm) -> str:
        if t not in self.vectors:
            return super().expression(t)
        name, dtype = t.op.family.name, _operand_dtype(t)
        if t.op.family is LOAD:
            return self.load_vector(t.op.params["buf"], t.op.params["offset"])
        args = [self.ref(a) for a in t.args]
        if name == "sqr":
            x = args[0]
            return f"({x} * {x})" if x.isidentifier() else f"({{ const tg_wide_{SHORT[dtype]} q = {x}; q * q; }})"
        if name in JOINED:
            return f"({JOINED[name].join(args)})"
        if name in COMPARED:
            return f"(tg_wide_mask_{SHORT[dtype]}){self.d.expression(t, args)}"
        if name == "switch" or name in CALLED:
            name = "pick" if name == "switch" else name
            given = ", ".join(self.spread(a, x) for a, x in zip(t.args, args))
            return f"tg_wide_{name}_{SHORT[t.type.dtype]}({given})"
        return self.d.expression(t, args)

    def load_vector(self, buf: Any, offset: Poly) -> str:
        """Elements side by side."""
        self.bufs[buf] = None
        return f"*(const tg_wide_{SHORT[buf.dtype]} *)({buf.name} + {self.poly(offset)})"

    def spread(self, a: AnyTerm, text: str) -> str:
        """A value as a vector: a number that is not one yet is in all places. (x - 0 is x, also for -0.)"""
        return text if a in self.vectors else f"({text} - (tg_wide_{SHORT[a.type.dtype]}){{0}})"

    def define(self, t: AnyTerm, text: str) -> None:
        if t not in self.vectors:
            super().define(t, text)
            return
        name, kind = self.names.new("v"), "_mask" if t.type.dtype == "bool" else ""
        self.add(f"const tg_wide{kind}_{SHORT[_operand_dtype(t)]} {name} = {text};")
        self.call_it(t, name)

    def on_let(self, n: Let) -> None:
        if n.stored is not None and n.term in self.vectors:
            self.define(n.term, self.load_vector(*n.stored))
        else:
            super().on_let(n)

    def on_write(self, n: Write) -> None:
        if not self.vectors:
            super().on_write(n)
            return
        self.bufs[n.buf] = None
        sign, value = "+=" if n.mode == "add" else "=", self.spread(n.value, self.ref(n.value))
        self.add(f"*(tg_wide_{SHORT[n.buf.dtype]} *)({n.buf.name} + {self.poly(n.offset)}) {sign} {value};")

    def on_accumulate(self, n: Accumulate) -> None:
        if n.fold not in self.vectors:
            super().on_accumulate(n)
            return
        self.add(f"{self.text['acc', n.fold]} {FOLDED[n.fold.op.params['kind']]} {self.ref(n.fold.args[0])};")

    # ------------------------------------------------------------------ what can be written like this
    def loop_vectors(self, n: Loop) -> tuple[set[Any], str] | None:
        """The values of a long loop that are vectors, and their dtype; None if it is not one of these."""
        if sum(isinstance(x, Let) for x in n.body) < MANY or not all(isinstance(x, (Let, Write)) for x in n.body):
            return None
        return self.if_repeatable(vectors_of(n.var, [n.body]), n.var, n.body)

    def column_vectors(self, n: Columns) -> tuple[set[Any], str] | None:
        """The same of a loop over columns."""
        if any(not isinstance(x, Let) for s in n.body for x in s.outer):
            return None
        found = vectors_of(n.var, [s.body for s in n.body], [s.folds for s in n.body])
        return self.if_repeatable(found, n.var, [x for s in n.body for x in (*s.outer, *s.body)])

    def sweep_vectors(self, s: Sweep, n: Columns) -> tuple[set[Any], str] | None:
        """The same of a loop over rows in blocks of columns. Of few values gcc's own is faster: it waits for memory."""
        if s.outer:
            return None
        folds = [f for other in n.body for f in other.folds if f in self.text or other is s]
        dtypes = {f.type.dtype for f in folds} | {x.buf.dtype for x in s.body if isinstance(x, Write)}
        found, dtype = set(folds) - set(s.folds), dtypes.pop() if len(dtypes) == 1 else None
        if dtype not in SIZES or not all(_as_vector(x, n.var, dtype, found, set(s.folds)) for x in s.body):
            return None
        computed = sum(isinstance(x, Let) for x in s.body) - len(self.in_all_rows(s))
        return (found | set(s.folds), dtype) if s.var is None or computed >= LONG_ROWS else None

    def if_repeatable(self, found: tuple[set[Any], str] | None, var: Var, body: Sequence[Node]) -> Any:
        """What was found, if the elements that the last vector computes again have the same values then."""
        return found if found is None or _is_whole(var, found[1]) or self.is_repeatable(body) else None

    def is_repeatable(self, body: Iterable[Node]) -> bool:
        """Whether statements that run twice for some elements leave what they do when they run once."""
        inside = list(walk(list(body)))
        read = {place[0] for x in inside if isinstance(x, Let) and (place := place_of(x)) is not None}
        kept = all(x.mode == "set" for x in inside if isinstance(x, Write))
        return kept and not self.written & (read | set(self.aliased))


_GIVEN = pattern(r"\b(\w+) = ")  # a name that a loop gives to a value


def is_ahead(load: str, loop: Sequence[str], known: set[str]) -> bool:
    """Whether a load may stand before a loop's body: each step does it, and its index asks for nothing found there."""
    depth = min(len(line) - len(line.lstrip()) for line in loop) + 4
    each = any(load in line and len(line) - len(line.lstrip()) == depth for line in loop)
    return each and is_before(load, loop, known)


def is_before(load: str, loop: Sequence[str], known: set[str]) -> bool:
    """Whether an index asks for nothing that is found in a loop, and no choice whether the element is there."""
    given = {name for line in loop for name in _GIVEN.findall(line)} - known
    chosen = any("?" in line.partition(load)[0] for line in loop if load in line)
    return not chosen and not given & set(re.findall(r"\w+", load))


def place_of(x: Let) -> tuple[Any, Poly] | None:
    """Where a value is read from, if it is."""
    if x.stored is not None:
        return x.stored
    return (x.term.op.params["buf"], x.term.op.params["offset"]) if x.term.op.family is LOAD else None


def _is_whole(var: Var, dtype: str) -> bool:
    """Whether a range is a number of whole vectors on any processor."""
    return var.extent.const is not None and not var.extent.const % (WIDEST // SIZES[dtype])


def vectors_of(
    var: Var, bodies: Sequence[Sequence[Node]], folds: Sequence[Iterable[Any]] = ()
) -> tuple[set[Any], str] | None:
    """The values that are vectors where a loop takes vectors of its range, and their dtype.

    None if it cannot be written like this: another number of elements, another dtype, what is no plain arithmetic.
    """
    if any(isinstance(x, Write) and x.mode not in ("set", "add") for body in bodies for x in body):
        return None
    dtypes = {x.buf.dtype for body in bodies for x in body if isinstance(x, Write)}
    dtypes |= {f.type.dtype for each in folds for f in each}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype not in SIZES or var.extent.const is None or var.extent.const < WIDEST // SIZES[dtype]:
        return None
    found: set[Any] = set()
    for k, body in enumerate(bodies):
        of_rows = set(folds[k]) if folds else set()
        if not all(_as_vector(x, var, dtype, found, of_rows) for x in body):
            return None
        found |= of_rows
    return found, dtype


def _as_vector(x: Node, var: Var, dtype: str, found: set[Any], folds: set[Any]) -> bool:
    """Whether a statement can be written for a vector; notes its value among those `found`, if that is one."""
    if isinstance(x, Write):
        return _side_by_side(x.buf, x.offset, var, dtype) and x.value.type.dtype == dtype
    if isinstance(x, Accumulate):
        known = x.fold in folds and x.fold.op.params["kind"] in FOLDED
        return known and x.fold.args[0] in found and x.fold.args[0].type.dtype == dtype
    if not isinstance(x, Let):
        return False
    place = place_of(x)
    if place is not None:
        if var not in place[1].fv:
            return not place[1].values
        found.add(x.term)
        return _side_by_side(*place, var, dtype) and x.term.type.dtype == dtype
    if any(a in found for a in x.term.args):
        found.add(x.term)
        return _is_plain(x.term, dtype, found)
    return x.term.op.family is not INDEX and var not in _indices(x.term)


def _side_by_side(buf: Any, offset: Poly, var: Var, dtype: str) -> bool:
    """Whether a buffer is read or written along its elements."""
    rest = offset.without([var])
    plain = buf.dtype == dtype and buf.kind != "tile" and not offset.values
    return plain and var not in rest.fv and rest + poly(var) is offset


def _is_plain(t: AnyTerm, dtype: str, found: set[Any]) -> bool:
    """Whether an operation on vectors has a text."""
    name, dtypes = t.op.family.name, [a.type.dtype for a in t.args]
    if t.type.dtype == "bool":
        masks = name in JOINED and all(a in found and a.type.dtype == "bool" for a in t.args)
        return masks or (name in COMPARED and set(dtypes) == {dtype})
    if name == "switch":
        return t.type.dtype == dtype and t.args[0] in found and dtypes == ["bool", dtype, dtype]
    named = name in INFIX or name == "sqr" or CALLED.get(name) == len(dtypes)
    return named and t.type.dtype == dtype and set(dtypes) == {dtype}


def _operand_dtype(t: AnyTerm) -> str:
    """The dtype of a vector; of truth values that of what they were compared for."""
    while t.type.dtype == "bool" and t.args:
        t = t.args[0]
    return t.type.dtype


def _indices(t: AnyTerm) -> frozenset[Var]:
    """The loop variables that a number made of indices depends on."""
    p = t.op.params
    if t.op.family is IVAL:
        return p["index"].fv
    return p["a"].fv | p["b"].fv if t.op.family is ITEST else frozenset()
