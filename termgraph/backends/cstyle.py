"""Kernel terms and loop trees as C-like text. What differs between C and CUDA is in a small dialect object."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from termgraph.backends.c.text.moved_bits import moved, moves_of
from termgraph.backends.dialects import Dialect
from termgraph.backends.indices import CheckedIndices, by_extremes
from termgraph.backends.references import references
from termgraph.lower.lengths.index import Apply, Atom, Poly, Sym, Value, Var, nonneg
from termgraph.lower.loops.tree import Accumulate, Branch, Columns, Let, Loop, Node, Reduce, Row, Sweep, Write, walk
from termgraph.lower.push.kernel import ARG_FOLDS, INDEX, ITEST, IVAL, LOAD, PLACE, Buf
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import isnan, switch
from termgraph.terms.term import AnyTerm

BLOCK = 8192  # steps of a fold after which it may be asked to stop
LONG = 3  # terms of a length that gets a name
LINE = 110  # a value used once is written where it is used, as long as the line stays readable

Factors = tuple["Atom | Poly", ...]  # of an index


class Names:
    """Short names for what a function defines, numbered in order."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def new(self, prefix: str) -> str:
        """The next name with this prefix."""
        n = self.counts.get(prefix, 0)
        self.counts[prefix] = n + 1
        return f"{prefix}{n}"


def without_nan(t: Any) -> bool:
    """Whether a term is something else where its operand is NaN: what `nanmax` folds."""
    if t.op is not switch:
        return False
    asks, other, x = t.args
    return asks.op is isnan and asks.args[0] is x and other.op is CONST and bool(other.value == other.value)


def power_of_two(n: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(0, n - 1).bit_length()


def of_lengths(a: Atom) -> bool:
    """Whether a number depends on lengths alone: it can be computed whether or not it is needed (n / 0 is 0)."""
    if isinstance(a, Apply):  # no walk: lengths of lengths share their parts, of which there would be too many ways
        return not a.fv and not any(p.values for p in a.args)
    return isinstance(a, Sym)


class Printer:
    """Writes the statements of one function. `outside` names values that are computed before it is called."""

    apart: re.Pattern[str] | None = None  # calls that stand in front of a choice, never inside of it

    def __init__(self, dialect: Dialect, nodes: Iterable[Node], outside: dict[Any, str] | None = None) -> None:
        self.d = dialect
        self.names = Names()
        self.text: dict[Any, str] = dict(outside or {})
        self.hidden: list[dict[Any, str]] = []  # per open block: names from outside it that are hidden inside
        self.inline: dict[Any, str] = {}
        self.lines: list[str] = []
        self.indent = 1
        self.syms: dict[Sym, None] = {}
        self.named: dict[Apply | Poly, tuple[str, str]] | None = None  # lengths' names and texts, where they have any
        self.bufs: dict[Buf, None] = {}
        self.rows: list[Row] = []
        self.checks: list[tuple[Any, str, str]] = []
        self.checked = CheckedIndices()
        self.outside: dict[Any, str] = dict(outside or {})
        self.used_outside: dict[Any, None] = {}
        self.aliased: Collection[Buf] = ()  # buffers of which two may be one
        self.brief = False  # whether little text matters more than fast loops
        self.part_length: int | None = None  # of a fold in parts, each from..to-1: how long all of them are known to be
        writes = [n for n in walk(list(nodes)) if isinstance(n, Write)]
        self.written, self.moved = {n.buf for n in writes}, moves_of(n.value for n in writes)

    # ------------------------------------------------------------------ lines
    def add(self, *lines: str) -> None:
        """Append statements at the present indentation."""
        self.lines.extend("    " * self.indent + line for line in lines)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head { ... }`."""
        self.add(f"{head} {{" if head else "{")
        self.indent += 1
        self.hidden.append({})
        yield
        self.text.update(self.hidden.pop())
        self.indent -= 1
        self.add("}")

    def call_it(self, t: AnyTerm, name: str) -> None:
        """From here on, to the end of the block, a value has this name; a name from further out is hidden."""
        if t in self.text and self.hidden:
            self.hidden[-1].setdefault(t, self.text[t])
        self.text[t] = name

    # ------------------------------------------------------------------ indices
    def poly(self, p: Poly) -> str:
        """An index or a length."""
        if p.const is not None:
            return str(p.const)
        return self.sum_of(p.terms if self.named is None or len(p.terms) < LONG else self.with_names(p))

    def sum_of(self, rows: Sequence[tuple[Factors, int]]) -> str:
        """Products and how often each is there."""
        parts = []
        for m, c in sorted(rows, key=lambda row: (row[1] < 0, not row[0], [_rank(a) for a in row[0]])):
            factors = [self.atom(a) for a in m]
            if abs(c) != 1 or not m:
                factors.insert(0, str(abs(c)))
            parts.append((" - " if c < 0 else " + ") + "*".join(factors))
        text = "".join(parts)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    def with_names(self, p: Poly) -> list[tuple[Factors, int]]:
        """The terms, where long factors that depend on computed lengths alone have become lengths with names."""
        assert self.named is not None
        groups: dict[Factors, dict[tuple[Atom, ...], int]] = {}
        for m, c in p.terms:
            inside = tuple([a for a in m if not of_lengths(a)])
            groups.setdefault(inside, {})[tuple([a for a in m if of_lengths(a)])] = c
        some = {k for k, f in groups.items() if len(f) >= LONG and any(isinstance(a, Apply) for m in f for a in m)}
        out: list[tuple[Factors, int]] = [
            (m, c) for m, c in p.terms if tuple([a for a in m if not of_lengths(a)]) not in some
        ]
        for inside, factor in groups.items():
            if inside in some:
                common = math.gcd(*factor.values())
                length = Poly({m: c // common for m, c in factor.items()})
                if length not in self.named:
                    text = self.sum_of(length.terms)
                    self.named[length] = f"extent{len(self.named)}", text
                out.append(((*inside, length), common))
        return out

    def atom(self, a: Atom | Poly) -> str:
        """One factor of an index; a polynomial is one that has a name."""
        if isinstance(a, Poly):
            assert self.named is not None
            return self.named[a][0]
        if isinstance(a, Var):
            return f"i{a.level}"
        if isinstance(a, Sym):
            self.syms[a] = None
            return a.name
        if isinstance(a, Value):
            return self.ref(a.term)
        assert isinstance(a, Apply)
        if self.named is not None and of_lengths(a):
            if a not in self.named:
                x, y = (self.poly(q) for q in a.args)
                self.named[a] = f"extent{len(self.named)}", f"tg_{a.fn}_i64({x}, {y})"
            return self.named[a][0]
        x, y = (self.poly(q) for q in a.args)
        if a.fn in ("floordiv", "mod") and a.fv and nonneg(a.args[0]) and nonneg(a.args[1] - 1, given=a.args[0]):
            return f"(({x}) {'/' if a.fn == 'floordiv' else '%'} ({y}))"
        return f"tg_{a.fn}_i64({x}, {y})"

    # ------------------------------------------------------------------ values
    def ref(self, t: Any) -> str:
        """The text that stands for a term's value."""
        if t.op is CONST:
            return self.d.constant(t.value, t.type.dtype)
        if t in self.inline:
            return self.inline.pop(t)
        if t in self.outside and self.text[t] == self.outside[t]:
            self.used_outside[t] = None
        return self.text[t]

    def expression(self, t: AnyTerm) -> str:
        """How a term is computed from its operands."""
        family, params = t.op.family, t.op.params
        if family is LOAD:
            return self.load(params["buf"], params["offset"])
        if family is IVAL:
            return self.poly(params["index"])
        if family is ITEST:
            sign = {"lt": "<", "le": "<=", "eq": "=="}[params["test"]]
            return f"({self.poly(params['a'])} {sign} {self.poly(params['b'])})"
        if family is PLACE:
            return self.ref(t.args[0])
        return self.d.expression(t, [self.ref(a) for a in t.args])

    def load(self, buf: Buf, offset: Poly) -> str:
        """Read an element of a buffer."""
        self.bufs[buf] = None
        return self.d.load(buf, self.place(buf, offset))

    def place(self, buf: Buf, offset: Poly) -> str:
        """The subscript of an element; tiles hold one block only."""
        return "u" if buf.kind == "tile" else self.poly(offset)

    # ------------------------------------------------------------------ statements
    def body(self, nodes: Sequence[Node]) -> None:
        """Statements in order; values used once, nearby, are written where they are used."""
        once = self.used_once(nodes)
        apart = self.apart if any(isinstance(n, Let) and n.term.op.family is switch for n in nodes) else None
        for n in nodes:
            if isinstance(n, Let) and n.term in once and n.stored is None and n.term.op.family is not INDEX:
                text = self.expression(n.term)
                if len(text) <= LINE and not (apart and apart.match(text)):
                    is_sum = n.term.op.family is IVAL and " " in text  # other expressions bring their parentheses
                    self.inline[n.term] = f"({text})" if is_sum else text
                    continue
                self.define(n.term, text)
            else:
                self.node(n)

    def used_once(self, nodes: Sequence[Node]) -> set[Any]:
        """Terms that one statement of this list uses, once, and nothing deeper inside."""
        counts: dict[Any, int] = {}
        for n in nodes:
            deep = n.children() or isinstance(n, Branch)
            for inner in walk([n]) if deep else (n,):
                for t in references(inner):
                    counts[t] = counts.get(t, 0) + (2 if deep else 1)
        return {t for t, n in counts.items() if n == 1 and not self.may_change(t)}

    def may_change(self, t: AnyTerm) -> bool:
        """Whether t reads storage that this function writes: then it is read where the tree says."""
        return t.op.family is LOAD and (t.op.params["buf"] in self.written or t.op.params["buf"] in self.aliased)

    def node(self, n: Node) -> None:
        """One statement."""
        getattr(self, "on_" + type(n).__name__.lower())(n)

    def define(self, t: AnyTerm, text: str) -> None:
        """Name a value."""
        name, bits = self.names.new("v"), getattr(text, "bits", None)
        self.add(f"const {self.d.ctype(t.type.dtype)} {name} = {text};")
        if bits is not None and t in self.moved:
            stored = self.names.new("h")
            self.add(f"const {self.d.bits_type(t.type.dtype)} {stored} = {bits};")
            name = moved(name, stored)
        self.call_it(t, name)

    def on_let(self, n: Let) -> None:
        if n.stored is not None:
            self.define(n.term, self.load(*n.stored))
        elif n.term.op.family is INDEX:
            self.on_index(n.term)
        else:
            self.define(n.term, self.expression(n.term))

    def on_index(self, t: AnyTerm) -> None:
        """An index from data, checked where it is first met."""
        self.call_it(t, self.checked.name(self, t))

    def check(self, t: AnyTerm, k: str, n: str) -> None:
        """The extremes seen are checked after the loop, so that the loop stays a vector loop."""
        self.add(*by_extremes(self.checks, t, k, n))

    def on_write(self, n: Write) -> None:
        self.bufs[n.buf] = None
        self.add(self.d.store(n.buf, self.place(n.buf, n.offset), self.ref(n.value), n.mode))

    def on_accumulate(self, n: Accumulate) -> None:
        kind, body = n.fold.op.params["kind"], n.fold.args[0]
        acc, value = self.text["acc", n.fold], self.ref(body)
        if kind in ARG_FOLDS:
            self.add(self.arg_step(kind, acc, value, f"i{n.fold.op.params['var'].level}"))
        else:
            self.add(self.d.fold_step(kind, n.fold.type.dtype, acc, value, without_nan(body)))

    def arg_step(self, kind: str, acc: str, value: str, where: str) -> str:
        """Take the first largest (smallest) element; NaN wins. In lanes these are choices: branches take no vectors."""
        sign = ">" if kind == "argmax" else "<"
        if acc.endswith("_lane[u]"):
            best = acc.replace("_lane", "_best_lane")
            takes = f"({value} {sign} {best}) | (({value} != {value}) & ({best} == {best}))"
            return f"{{ const _Bool t = {takes}; {best} = t ? {value} : {best}; {acc} = t ? {where} : {acc}; }}"
        takes = f"{value} {sign} {acc}_best || ({value} != {value} && {acc}_best == {acc}_best)"
        return f"if ({takes}) {{ {acc}_best = {value}; {acc} = {where}; }}"

    def on_branch(self, n: Branch) -> None:
        t = n.term
        name = self.names.new("v")
        self.add(f"{self.d.ctype(t.type.dtype)} {name};")
        for head, arm, value in ((f"if ({self.ref(t.args[0])})", n.then, t.args[1]), ("else", n.orelse, t.args[2])):
            with self.block(head):
                self.body(arm)
                self.add(f"{name} = {self.ref(value)};")
        self.call_it(t, name)

    def on_row(self, n: Row) -> None:
        self.rows.append(n)

    # ------------------------------------------------------------------ loops
    def for_head(self, var: Var, begin: str = "0", end: str | None = None) -> str:
        """The header of a loop."""
        i = f"i{var.level}"
        return f"for (int64_t {i} = {begin}; {i} < {end or self.poly(var.extent)}; {i}++)"

    def on_loop(self, n: Loop, begin: str = "0", end: str | None = None, first: str = "") -> None:
        if n.simd:
            self.add(self.d.simd)
        with self.block(self.for_head(n.var, begin, end)):
            if first:
                self.add(first)
            self.body(n.body)

    def on_reduce(
        self, n: Reduce, begin: str = "0", end: str | None = None, first: str = "", between: str = ""
    ) -> None:
        """A loop over folds. `first` stands at the beginning of each step, `between` between blocks of steps."""
        if n.lanes:
            self.reduce_in_lanes(n, begin, end or self.poly(n.var.extent))
            return
        accs = self.declare_folds(n.folds)
        self.loop_of(n, begin, end, first, between)
        self.text.update(accs)

    def loop_of(self, n: Reduce, begin: str, end: str | None, first: str, between: str, last: str = "") -> None:
        """The loop of a fold; `last` stands at the end of each step, or of each block of steps."""
        if between:
            self.in_blocks(n, begin, end or self.poly(n.var.extent), between, last)
            return
        with self.block(self.for_head(n.var, begin, end)):
            self.add(*[first] if first else [])
            self.body(n.body)
            self.add(*[last] if last else [])

    def in_blocks(self, n: Reduce, begin: str, end: str, between: str, last: str = "", size: int = BLOCK) -> None:
        """The steps of a fold in blocks: what stands between them keeps no block from being a vector loop."""
        with self.block_of_steps(begin, end, between, size) as (base, stop):
            with self.block(self.for_head(n.var, base, stop)):
                self.body(n.body)
            self.add(*[last] if last else [])

    @contextmanager
    def block_of_steps(self, begin: str, end: str, between: str, size: int) -> Iterator[tuple[str, str]]:
        """A loop over blocks of steps, each of which begins with a line: where a block begins and ends."""
        base, stop = self.names.new("b"), self.names.new("e")
        with self.block(f"for (int64_t {base} = {begin}; {base} < {end}; {base} += {size})"):
            self.add(*[between] if between else [])
            self.add(f"const int64_t {stop} = {base} + {size} < {end} ? {base} + {size} : {end};")
            yield base, stop

    def fold_ctype(self, f: AnyTerm) -> str:
        """The type of a fold's partial results."""
        return self.d.ctype(f.type.dtype)

    def declare_folds(self, folds: Sequence[AnyTerm]) -> list[tuple[AnyTerm, str]]:
        """The variables of folds, and which has which."""
        accs = [(f, self.names.new("a")) for f in folds]
        for f, acc in accs:
            self.declare_fold(f, acc)
            self.text["acc", f] = acc
        return accs

    def declare_fold(self, f: AnyTerm, acc: str) -> None:
        """The variables a fold needs, with their first values."""
        kind, dtype = f.op.params["kind"], f.type.dtype
        if kind in ARG_FOLDS:
            body = f.args[0].type.dtype
            self.add(f"{self.d.ctype(body)} {acc}_best = {self.d.fold_init(ARG_FOLDS[kind], body)}; int64_t {acc} = 0;")
        else:
            self.add(f"{self.fold_ctype(f)} {acc} = {self.d.fold_init(kind, dtype)};")

    def reduce_in_lanes(self, n: Reduce, begin: str, end: str) -> None:
        """Partial results side by side, added up in a fixed order: the result depends on no vector width."""
        i, known = f"i{n.var.level}", self.known_count(n, begin, end)
        width = n.lanes if known is None else min(n.lanes, power_of_two(known))
        count = end if begin == "0" else f"{end} - {begin}"
        used = None if known is not None else self.lanes_used(count, width)
        accs = {f: self.names.new("a") for f in n.folds}
        for f, acc in accs.items():
            self.declare_lanes(f, acc, width, used)
            self.text["acc", f] = f"{acc}_lane[u]"
        k = self.names.new("b")
        self.add(f"int64_t {k} = {begin};")
        step = "for (int64_t u = 0; u < {}; u++)".format
        if self.brief and (known is None or known > width):
            with self.block(f"for (; {k} < {end}; {k} += {width})"):
                self.lane_loop(step(f"{width} && u < {end} - {k}"), n.body, i, k)
        else:
            if known is None or known > width:
                with self.block(f"for (; {k} + {width} <= {end}; {k} += {width})"):
                    self.all_lanes(step(width), n.body, i, k)
            if known is None or known % width or known == width:
                self.last_lanes(f"{end} - {k}", n.body, i, k, width)
        for f, acc in accs.items():
            self.add_up(n, f, acc, f"{used} / 2" if used else str(width // 2))
            self.text[f] = acc

    def lanes_used(self, count: str, width: int) -> str:
        """How many lanes so many elements need, a power of two: of short rows the other lanes are not touched."""
        name = self.names.new("w")
        self.add(f"int64_t {name} = {width};", f"while ({name} > 1 && {name} / 2 >= {count}) {name} /= 2;")
        return name

    def known_count(self, n: Reduce, begin: str, end: str) -> int | None:
        """How many elements a fold has, if it goes over all of a known number or over a part of known length."""
        if begin == "from" and end == "to":
            return self.part_length
        return n.var.extent.const if begin == "0" and end == self.poly(n.var.extent) else None

    def declare_lanes(self, f: AnyTerm, acc: str, width: int, used: str | None = None) -> None:
        """One partial result per lane, of which so many are `used`."""
        kind = f.op.params["kind"]
        self.add(f"{self.fold_ctype(f)} {acc}_lane[{width}]{self.d.aligned};")
        if kind in ARG_FOLDS:
            body = f.args[0].type.dtype
            self.add(f"{self.d.ctype(body)} {acc}_best_lane[{width}]{self.d.aligned};")
            first = f"0, {acc}_best_lane[u] = {self.d.fold_init(ARG_FOLDS[kind], body)}"
        else:
            first = self.d.fold_init(kind, f.type.dtype)
        self.add(f"for (int64_t u = 0; u < {used or width}; u++) {acc}_lane[u] = {first};")

    def lane_loop(self, head: str, body: Sequence[Node], i: str, base: str) -> None:
        """The body for all lanes."""
        self.add(self.d.simd)
        with self.block(head):
            self.add(f"const int64_t {i} = {base} + u;")
            self.body(body)

    def all_lanes(self, head: str, body: Sequence[Node], i: str, base: str) -> None:
        """The body for a round of all lanes."""
        self.lane_loop(head, body, i, base)

    def last_lanes(self, count: str, body: Sequence[Node], i: str, base: str, width: int) -> None:
        """The body for what whole rounds of all lanes leave over."""
        self.lane_loop(f"for (int64_t u = 0; u < {count}; u++)", body, i, base)

    def add_up(self, n: Reduce, f: AnyTerm, acc: str, half: str) -> None:
        """Fold the lanes into one value, as a tree."""
        kind, dtype = f.op.params["kind"], f.type.dtype
        step = self.d.fold_step(kind, dtype, f"{acc}_lane[u]", f"{acc}_lane[u + h]")
        self.add(f"for (int64_t h = {half}; h; h >>= 1) for (int64_t u = 0; u < h; u++) {step}")
        self.add(f"const {self.fold_ctype(f)} {acc} = {acc}_lane[0];")

    def on_columns(self, n: Columns, begin: str = "0", end: str | None = None, together: int = 1) -> None:
        """Blocks of columns. A kernel's range may be of so many columns `together`."""
        base, count = self.names.new("b"), self.names.new("w")
        stop, known = end or self.poly(n.var.extent), n.var.extent.const
        k, step = (self.names.new("s") if together > 1 else base), n.width // together
        with self.block(f"for (int64_t {k} = {begin}; {k} < {stop}; {k} += {step})"):
            if together > 1:  # the product is last: a compiler sees that it is a number of whole vectors
                size = f"{together} * ({stop} - {k} < {step} ? {stop} - {k} : {step})"
                self.add(f"const int64_t {base} = {together} * {k}, {count} = {size};")
            elif begin == "0" and end is None and known is not None and not known % step:
                self.add(f"const int64_t {count} = {step};")
            else:
                self.add(f"const int64_t {count} = {stop} - {base} < {step} ? {stop} - {base} : {step};")
            for sweep in n.body:
                self.sweep(sweep, n, base, count)

    def sweep(self, s: Sweep, n: Columns, base: str, count: str) -> None:
        """One inner loop over all lanes, several rows at a time: the accumulators are touched less often."""
        i, step = f"i{n.var.level}", f"for (int64_t u = 0; u < {count}; u++)"
        if s.var is None:
            self.lane_loop(step, s.body, i, base)
            return
        for f in s.folds:
            acc = self.names.new("a")
            self.declare_lanes(f, acc, n.width, count)
            self.text["acc", f] = self.text[f] = f"{acc}_lane[u]"
        k, rows = f"i{s.var.level}", self.names.new("r")
        extent = self.poly(s.var.extent)
        self.add(f"int64_t {rows} = 0;")

        several, known = (8 if len(s.body) <= 2 else 4), s.var.extent.const
        if not s.outer and (known is None or known >= several):
            with self.block(f"for (; {rows} + {several} <= {extent}; {rows} += {several})"):
                self.add(self.d.simd)
                with self.block(step):
                    self.add(f"const int64_t {i} = {base} + u;")
                    for q in range(several):
                        with self.block(""):
                            self.add(f"const int64_t {k} = {rows} + {q};")
                            self.body(s.body)
        if not s.outer and known is not None and known % several == 0:
            return
        with self.block(f"for (; {rows} < {extent}; {rows}++)"):
            self.add(f"const int64_t {k} = {rows};")
            self.body(s.outer)
            self.lane_loop(step, s.body, i, base)

    def on_sweep(self, n: Sweep) -> None:
        raise AssertionError("a sweep stands only in columns")


def _rank(a: Atom | Poly) -> tuple:
    return (a.level, "") if isinstance(a, Var) else (99, a.key)
