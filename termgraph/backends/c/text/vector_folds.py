"""Folds of plain arithmetic in C: partial results in vector registers, written with the vector types of gcc and clang.

A loop over an array of partial results is a loop through memory unless the compiler unrolls it wholly, which gcc does
at some vector widths only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from termgraph._lazy import lazy
from termgraph.backends.c.text import library_calls
from termgraph.backends.c.text.dialect import SHORT
from termgraph.backends.c.text.float32 import OWN
from termgraph.backends.c.text.ranges import VECTOR_CALL
from termgraph.backends.c.text.settled_folds import GLANCE, can_settle, is_flat, same_fold_of_rows, settled
from termgraph.backends.c.text.settled_folds import STEPS as SETTLING
from termgraph.backends.c.text.vector_bodies import (
    COMPARED,
    INFIX,
    INTS,
    STEPS,
    finds_places,
    has_nan,
    mask_text,
    masked_dtype,
    size_of,
    vector_dtype,
    width_of,
)
from termgraph.backends.c.text.vector_loops import VectorLoops, is_ahead, is_before, place_of
from termgraph.backends.cstyle import BLOCK, power_of_two
from termgraph.lower.lengths.index import ONE, nonneg
from termgraph.lower.loops.tree import Accumulate, Branch, Call, Columns, Let, Loop, Node, Reduce, Sweep, Write, walk
from termgraph.lower.push.arms import taken
from termgraph.lower.push.kernel import LOAD, scalars
from termgraph.terms.ops.elementwise import switch
from termgraph.terms.term import AnyTerm

few_bytes = lazy("termgraph.backends.c.text.few_bytes")
narrow_sums = lazy("termgraph.backends.c.text.narrow_sums")
short_rows = lazy("termgraph.backends.c.text.short_rows")
BYTES = 256  # of partial results: eight registers of 32 bytes, whatever the machine has, so that results are the same
WIDEST, NARROWEST = 32, 16  # bytes that a vector may have here: on which processor the text runs is not known
FEW = 8  # elements that need no vectors: setting eight registers to zero and adding them up takes longer
FEW_LANES = 16  # elements of which each by itself is as fast as two loops
TRUTHS = {1: "uint8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}  # in which truth values are folded
LITTLE = 8  # statements of a loop over partial results that is written out
PLACES = 512  # elements among which the largest is found at once


def _before_arms(nodes: Sequence[Node]) -> set[Any]:
    """What has a name in front of a choice between computed values, of which only one arm needs it.

    Loads, and functions of ours: inside an arm gcc would make no vector loop of them. Functions whose argument is
    harmless where their arm is not taken: inside it gcc would see that it is taken.
    """
    arms = [a for n in nodes if isinstance(n, Let) and n.term.op.family is switch for a in n.term.args[1:]]
    found = {t for t in scalars(arms) if t.op.family is LOAD or _is_own(t)}
    terms = [n.term for n in nodes if isinstance(n, Let)]
    return found | {t for t in terms if t.args and t.args[0].args and t.args[0].op.family is taken}


def _is_own(t: AnyTerm) -> bool:
    return t.op.family.name in OWN and t.type.dtype == "float32"


class CPrinter(VectorLoops):
    """Prints C; folds that vector types can express keep their partial results in registers."""

    end_of_vector = ""  # where the elements end of which a vector is written now
    short_row: Loop | None = None  # the loop inside of the one that is written, if it is written out

    def used_once(self, nodes: Sequence[Node]) -> set[Any]:
        return super().used_once(nodes) - _before_arms(nodes)

    def on_loop(self, n: Loop, begin: str = "0", end: str | None = None, first: str = "") -> None:
        """Short rows of an unknown number of elements are folded side by side, as many as a vector has lanes."""
        if n is self.short_row:
            few_bytes.write(self, n)
            return
        self.short_row = None if first else few_bytes.row(n)
        fold = short_rows.one_fold(n) if n.body and isinstance(n.body[0], Reduce) and not self.brief else None
        dtype = vector_dtype(fold) if fold is not None else None
        if fold is not None and dtype in ("float64", "float32"):
            begin = short_rows.folded_together(self, n, fold, dtype, begin, end or self.poly(n.var.extent), first)
        super().on_loop(n, begin, end, first)

    def on_call(self, n: Call) -> None:
        """A library call for one item of a batch."""
        library_calls.write_inside(n, self)

    def on_reduce(
        self, n: Reduce, begin: str = "0", end: str | None = None, first: str = "", between: str = ""
    ) -> None:
        """Folds for which whole vectors of elements are compared at once, or one after the other."""
        stop = end or self.poly(n.var.extent)
        if finds_places(n):
            self.find_places(n, begin, stop, between)
        elif not n.lanes and not self.brief and self.are_whole_vectors(n, begin, stop):
            self.reduce_in_lanes(n, begin, stop)
        elif n.lanes and not self.brief and (between or not first) and narrow_sums.types(n):
            accs = self.declare_folds(n.folds)
            self.loop_of(n, begin, end, first, between)
            self.text.update(accs)
        else:
            super().on_reduce(n, begin, end, first, between)

    def loop_of(self, n: Reduce, begin: str, end: str | None, first: str, between: str, last: str = "") -> None:
        """The loop of a fold, which ends when no element can change anything."""
        if can_settle(n):
            last = f"if ({settled({f: self.text['acc', f] for f in n.folds})}) break;"
            if is_flat(n):
                known = n.var.extent.const
                if between or (known is not None and known > SETTLING):  # rows may be short: blocks take them longer
                    self.in_growing_blocks(n, begin, end or self.poly(n.var.extent), between, last)
                    return
                last = ""
            elif first and (row := same_fold_of_rows(n)):
                self.after_a_glance(n, row, begin, end or self.poly(n.var.extent), first, last)
                return
        elif not self.brief and (between or not first) and (sums := narrow_sums.types(n)):
            narrow_sums.write(self, n, sums, begin, end or self.poly(n.var.extent), between)
            return
        super().loop_of(n, begin, end, first, between, last)

    def in_growing_blocks(self, n: Reduce, begin: str, end: str, between: str, last: str) -> None:
        """A fold that may end early: whether it does is asked after a few elements, then after many."""
        base, stop, size = self.names.new("b"), self.names.new("e"), self.names.new("w")
        with self.block(f"for (int64_t {base} = {begin}, {size} = {GLANCE}; {base} < {end}; {size} = {SETTLING})"):
            self.add(*[between] if between else [])
            self.add(f"const int64_t {stop} = {base} + {size} < {end} ? {base} + {size} : {end};")
            with self.block(self.for_head(n.var, base, stop)):
                self.body(n.body)
            self.add(last, f"{base} = {stop};")

    def after_a_glance(self, n: Reduce, row: Reduce, begin: str, end: str, first: str, last: str) -> None:
        """The same for elements in rows: the first step takes a few elements of the first row, the second all of it."""
        i, length, some, whole = f"i{n.var.level}", self.poly(row.var.extent), self.names.new("w"), self.names.new("s")
        start = f"int64_t {i} = {begin}, {some} = {GLANCE} < {length} ? {GLANCE} : {length}, {whole} = 0"
        with self.block(f"for ({start}; {i} < {end}; {i} += {whole}, {some} = {length}, {whole} = 1)"):
            self.add(first)
            self.on_reduce(row, "0", some)
            self.body([x for x in n.body if x is not row])
            self.add(last)

    def all_lanes(self, head: str, body: Sequence[Node], i: str, base: str) -> None:
        """Written out if it is little, as the compiler leaves it a loop through memory otherwise."""
        at = len(self.lines)
        super().all_lanes(head, body, i, base)
        if len(body) <= LITTLE and not any("tg_" in line for line in self.lines[at:]):
            self.lines.insert(at, f"{'    ' * self.indent}#pragma GCC unroll 16")

    def last_lanes(self, count: str, body: Sequence[Node], i: str, base: str, width: int) -> None:
        """Truth values are made whole numbers before: a vector of them has as many elements as all lanes, of which too
        few are left, and of fewer gcc makes no vectors. A few cheap elements are done one by one.
        """
        at = len(self.lines)
        super().last_lanes(count, body, i, base, width)
        written = self.lines[at:]
        inside = list(walk(list(body)))
        stored = {n.buf for n in inside if isinstance(n, Write)}
        folds = [n.fold.type.dtype for n in inside if isinstance(n, Accumulate)]
        loads = self.truths(written, stored)
        if not loads or "float64" not in folds or not all(is_ahead(load, written, {i, "u"}) for load in loads):
            return
        del self.lines[at:]
        if cheap := not any(map(VECTOR_CALL.search, written)):
            with self.block(f"if ({count} < {FEW_LANES})"):
                self.lines += ["    " + line for line in written]
        with self.block("else" if cheap else ""):
            written = self.widened(loads, written, "int64_t", width, i, base, count)
            self.lines += ["    " + line for line in written]

    def sweep(self, s: Sweep, n: Columns, base: str, count: str) -> None:
        """Truth values that are the same in all rows are made whole numbers before: see `last_lanes`."""
        at = len(self.lines)
        super().sweep(s, n, base, count)
        dtypes = {f.type.dtype for f in s.folds}
        written, stored, i = self.lines[at:], {x.buf for x in walk([n]) if isinstance(x, Write)}, f"i{n.var.level}"
        if dtypes == {"bool"} and {self.fold_ctype(f) for f in s.folds} == {TRUTHS[1]}:
            del self.lines[at:]
            self.lines += self.as_least(self.truths(written, stored), written)
            return
        if s.var is None or len(dtypes) > 1 or not dtypes <= set(INTS) or any(isinstance(x, Branch) for x in walk([s])):
            return
        loads = [
            x for x in self.truths(written, stored) if re.search(rf"\b{i}\b", x) and is_before(x, written, {i, "u"})
        ]
        del self.lines[at:]
        rows = s.var.extent
        count = count if nonneg(rows - 1) else f"({self.poly(rows)} > 0 ? {count} : 0)"  # of no rows nothing is there
        self.lines += self.widened(loads, written, INTS[dtypes.pop()], n.width, i, base, count)

    def as_least(self, loads: Sequence[str], written: list[str]) -> list[str]:
        """Lines in which bytes become truth values as the lesser of each and one, of which gcc is not to know that it
        is one: with AVX-512 it compares with 0 into bits of masks, and makes bytes of these again (six times as long).
        """
        one = self.names.new("m")
        found = [load for load in loads if any(f"({load} != 0)" in line for line in written)]
        if found:
            self.add(f"{TRUTHS[1]} {one} = 1;", f'__asm__("" : "+r"({one}));')
        for load in found:
            written = [line.replace(f"({load} != 0)", f"({load} < {one} ? {load} : {one})") for line in written]
        return written

    def truths(self, lines: Sequence[str], stored: set[Any]) -> list[str]:
        """The loads of truth values from arrays that are not stored to meanwhile."""
        names = "|".join(sorted(b.name for b in self.bufs if b.dtype == "bool" and b not in stored))
        found = re.findall(rf"\b(?:{names})\[[^\[\]]*\]", "\n".join(lines)) if names else []
        return list(dict.fromkeys(found))

    def widened(
        self, loads: Sequence[str], written: list[str], number: str, width: int, i: str, base: str, count: str
    ) -> list[str]:
        """Lines that read whole numbers instead of truth values; these are written before, all lanes of each."""
        for load in loads:
            wide = self.names.new("m")
            self.add(f"{number} {wide}[{width}]{self.d.aligned};")
            with self.block(f"for (int64_t u = 0; u < {count}; u++)"):
                self.add(f"const int64_t {i} = {base} + u;", f"{wide}[u] = {load};")
            written = [line.replace(load, f"{wide}[u]") for line in written]
        return written

    def find_places(self, n: Reduce, begin: str, end: str, between: str) -> None:
        """Where the largest or smallest elements are: the elements of a block side by side, then its extreme."""
        base, count = self.names.new("b"), self.names.new("w")
        accs = {}
        for f in n.folds:
            acc = accs[f] = self.text[f] = self.text["acc", f] = self.names.new("a")
            self.declare_fold(f, acc)
        places = {f: self.beside(n, f) for f in n.folds}
        size = PLACES if None in places.values() else BLOCK if between else None
        growing = self.names.new("w") if size == PLACES and can_settle(n) else ""  # truth values may end it at once
        start = f", {growing} = {GLANCE}" if growing else ""
        whole = "" if growing else f" {base} += {size}" if size else f" {base} = {end}"
        with self.block(f"for (int64_t {base} = {begin}{start}; {base} < {end};{whole})"):
            self.add(*([between] if between else []))
            size = growing or size
            less = f" < {size} ? {end} - {base} : {size}" if size else ""
            self.add(f"const int64_t {count} = {end} - {base}{less};")
            if None in places.values():
                self.side_by_side(n, [f for f in n.folds if places[f] is None], base, count)
            for f, acc in accs.items():
                given = f"{places[f]} + {base}" if places[f] else f"{acc}_some"
                name = f"tg_{f.op.params['kind']}_{SHORT[f.args[0].type.dtype]}"
                self.add(f"{name}({given}, {count}, {base}, &{acc}_best, &{acc});")
            if growing:
                self.add(f"if ({settled(accs)}) break;", f"{base} += {count};", f"{growing} = {PLACES};")

    def side_by_side(self, n: Reduce, folds: Sequence[Any], base: str, count: str) -> None:
        """Computes the elements of a block for these folds."""
        for f in folds:
            some = self.text["some", f] = f"{self.text[f]}_some"
            self.add(f"{self.d.ctype(f.args[0].type.dtype)} {some}[{PLACES}];")
        self.add(self.d.simd)
        with self.block(f"for (int64_t u = 0; u < {count}; u++)"):
            self.add(f"const int64_t i{n.var.level} = {base} + u;")
            self.body([x for x in n.body if not isinstance(x, Accumulate) or x.fold in folds])
        for f in folds:
            del self.text["some", f]

    def on_accumulate(self, n: Accumulate) -> None:
        """A step of a fold; the elements of a block are only written down."""
        some = self.text.get(("some", n.fold))
        if some is None:
            super().on_accumulate(n)
        else:
            self.add(f"{some}[u] = {self.ref(n.fold.args[0])};")

    def beside(self, n: Reduce, f: AnyTerm) -> str | None:
        """Where the elements of a fold begin, if they lie side by side in memory."""
        t = f.args[0]
        place = place_of(Let(t))
        if place is None or place[0].dtype != t.type.dtype or place[0].kind in ("tile", "row"):
            return None
        buf, offset = place
        if offset.coefficient(n.var) is not ONE or n.var in offset.without([n.var]).fv:
            return None
        self.bufs[buf] = None
        return f"{buf.name} + {self.poly(offset.without([n.var]))}"

    def fold_ctype(self, f: AnyTerm) -> str:
        """The type of a fold's partial results: truth values are as wide as what they were compared for."""
        if f.type.dtype == "bool":
            return TRUTHS[width_of(f.args[0])]
        return super().fold_ctype(f)

    def reduce_in_lanes(self, n: Reduce, begin: str, end: str) -> None:
        """Groups of vectors, then whole vectors, then single elements; element i always goes to the same lane.

        Of a known number of elements there are no more vectors than they fill, and nothing is written that never runs.
        """
        dtype, known = vector_dtype(n), self.known_count(n, begin, end)
        may_be_few = known is None and begin == "0" and end == self.poly(n.var.extent)
        stored = vector_dtype(n, writes=True) if dtype is None and not self.brief else None
        if stored is not None and any(f.op.params["kind"] in COMPARED for f in n.folds):
            dtype = stored  # of comparisons that NaN win the compiler makes longer loops
        elif stored is not None and may_be_few:
            self.few_or_lanes(n, stored, begin, end)
            return
        if dtype is None and may_be_few and not self.brief and (masked := masked_dtype(n)) is not None:
            self.few_or_lanes(n, masked, begin, end, BYTES // size_of(masked))
            return
        if dtype is None or (known is not None and known < WIDEST // size_of(dtype)):
            super().reduce_in_lanes(n, begin, end)
            return
        nbytes = BYTES if known is None else min(BYTES, power_of_two(known) * size_of(dtype))
        accs = {f: self.names.new("a") for f in n.folds}
        if may_be_few:
            self.few_elements(n, dtype, accs, end)
        with self.block("else") if may_be_few else nullcontext():
            self.whole_vectors(n, dtype, accs, begin, end, nbytes)
            self.add_up_vectors(dtype, accs, nbytes, "" if may_be_few else f"const {self.d.ctype(dtype)} ")
        for f, acc in accs.items():
            self.text[f] = acc

    def are_whole_vectors(self, n: Reduce, begin: str, end: str) -> bool:
        """Whether a fold compares integers, enough for the widest vector as far as is known."""
        dtype, known = vector_dtype(n), self.known_count(n, begin, end)
        return dtype in ("int32", "int64") and (known is None or known >= WIDEST // size_of(dtype))

    def few_or_lanes(self, n: Reduce, dtype: str, begin: str, end: str, some: int = 0) -> None:
        """Folds in a loop that also writes, or has truth values: many elements as ever, few as vectors that end early.

        Up to `some` elements are whole vectors and one that ends early.
        """
        accs = {f: self.names.new("a") for f in n.folds}
        self.few_elements(n, dtype, accs, end)
        if some:
            with self.block(f"else if ({end} <= {some})"):
                self.whole_vectors(n, dtype, accs, begin, end, BYTES, some)
                self.add_up_vectors(dtype, accs, BYTES)
        with self.block("else"):
            super().reduce_in_lanes(n, begin, end)
            self.add(*[f"{acc} = {self.text[f]};" for f, acc in accs.items()])
        for f, acc in accs.items():
            self.text[f] = acc

    def add_up_vectors(self, dtype: str, accs: dict[Any, str], nbytes: int, declared: str = "") -> None:
        """The folds of the partial results."""
        for f, acc in accs.items():
            kind, short = f.op.params["kind"], SHORT[dtype]
            nan = f", {acc}_nan[0] | {acc}_nan[1]" if kind in COMPARED and has_nan(f) else ""
            given = f"{acc}_vector, {nbytes} / tg_vector_bytes{nan}"
            self.add(f"{declared}{acc} = tg_fold_{kind}_{short}({given});")

    def few_elements(self, n: Reduce, dtype: str, accs: dict[Any, str], end: str) -> None:
        """So few elements that most partial results would have none: one or two vectors of them.

        They are added up in the same order as more are.
        """
        size, i = size_of(dtype), f"i{n.var.level}"
        for acc in accs.values():
            self.add(f"{self.d.ctype(dtype)} {acc};")
        with self.block(f"if ({end} <= {FEW})"):
            self.declare_vectors(accs, FEW * size)
            with self.each_vector(FEW * size):
                self.add(f"const int64_t {i} = v * (tg_vector_bytes / {size});")
                self.advance(n, dtype, accs, self.values_below(n, dtype, end))
            self.add_up_vectors(dtype, accs, FEW * size)

    def last_vector(self, n: Reduce, dtype: str, accs: dict[Any, str], base: str, end: str, nbytes: int) -> None:
        """The elements after the last whole vector, for the partial results whose turn it is."""
        size, i, at = size_of(dtype), f"i{n.var.level}", self.names.new("w")
        one = f"(tg_vector_bytes / {size})"
        self.add(f"const int64_t {at} = ({end} - {base}) / {one};")
        with self.block(f"if (({end} - {base}) % {one})"):
            self.add(f"const int64_t {i} = {base} + {at} * {one};")
            kept = self.values_below(n, dtype, end)
            with self.each_vector(nbytes), self.block(f"if (v == {at})"):
                self.advance(n, dtype, accs, kept)

    def values_below(self, n: Reduce, dtype: str, end: str) -> dict[Any, str]:
        """The values of the folds, of a vector whose elements may end before it does.

        What is beyond the end is neither read nor written, and changes no fold.
        """
        short, below, self.end_of_vector = SHORT[dtype], self.names.new("m"), end
        self.add(f"const tg_mask_{short} {below} = tg_below_{short}({end} - i{n.var.level});")
        names, kept = self.vector_values(n, dtype, below), {}
        for f in n.folds:
            kept[f] = self.names.new("x")
            given = f"{names[f.args[0]]}, {below}, {self.d.fold_init(f.op.params['kind'], dtype)}"
            self.add(f"const tg_vector_{short} {kept[f]} = tg_vector_kept_{short}({given});")
        self.put_vectors(n, short, names, below)
        return kept

    def put_vectors(self, n: Reduce, short: str, names: dict[Any, str], below: str = "") -> None:
        """What is written of one vector of elements; with a mask only those that are `below` the end."""
        for x in n.body:
            if isinstance(x, Write):
                self.bufs[x.buf] = None
                at = f"{x.buf.name} + {self.poly(x.offset)}"
                value = names.get(x.value) or f"{self.ref(x.value)} - (tg_vector_{short}){{0}}"  # -0.0 stays
                part = f"tg_vector_put_part_{short}({at}, {value}, {below});"
                self.add(part if below else f"*(tg_vector_{short} *)({at}) = {value};")

    def whole_vectors(
        self, n: Reduce, dtype: str, accs: dict[Any, str], begin: str, end: str, nbytes: int, some: int = 0
    ) -> None:
        """The partial results of all elements, of which there are at most `some`, if that is said."""
        known, size = self.known_count(n, begin, end), size_of(dtype)
        group, i, k, one = BYTES // size, f"i{n.var.level}", self.names.new("b"), f"tg_vector_bytes / {size}"
        self.declare_vectors(accs, nbytes)
        self.add(f"int64_t {k} = {begin};")
        at = f"const int64_t {i} = {k} + v * ({one});"
        if not some and (known is None or known >= group):
            with self.block(f"for (; {k} + {group} <= {end}; {k} += {group})"), self.each_vector(nbytes):
                self.add(at)
                self.vector_steps(n, dtype, accs)
        if known is None or known % group >= NARROWEST // size:
            with self.each_vector(nbytes):
                self.add(at)
                with self.block(f"if ({i} + {one} <= {end})"):
                    self.vector_steps(n, dtype, accs)
        if known is None or known % (WIDEST // size):
            self.last_vector(n, dtype, accs, k, end, nbytes)

    def each_vector(self, nbytes: int) -> AbstractContextManager[None]:
        """A block for every vector of partial results, unrolled, so that each has a register of its own."""
        self.add("#pragma GCC unroll 16")
        return self.block(f"for (int64_t v = 0; v < {nbytes} / tg_vector_bytes; v++)")

    def declare_vectors(self, accs: dict[Any, str], nbytes: int) -> None:
        """The partial results of folds, with their first values; a largest element also remembers NaNs apart."""
        for f, acc in accs.items():
            short = SHORT[f.type.dtype]
            self.add(f"tg_vector_{short} {acc}_vector[{nbytes} / tg_vector_bytes];")
            if f.op.params["kind"] in COMPARED and has_nan(f):
                self.add(f"tg_mask_{short} {acc}_nan[2] = {{{{0}}}};")
        with self.each_vector(nbytes):
            for f, acc in accs.items():
                first = self.d.fold_init(f.op.params["kind"], f.type.dtype)
                self.add(f"{acc}_vector[v] = (tg_vector_{SHORT[f.type.dtype]}){{0}} + {first};")

    def vector_steps(self, n: Reduce, dtype: str, accs: dict[Any, str]) -> None:
        """The body for one vector of elements."""
        names = self.vector_values(n, dtype)
        self.put_vectors(n, SHORT[dtype], names)
        self.advance(n, dtype, accs, {f: names[f.args[0]] for f in n.folds})

    def vector_values(self, n: Reduce, dtype: str, below: str = "") -> dict[Any, str]:
        """What is computed of one vector of elements; with a mask only of those that are `below` the end."""
        short = SHORT[dtype]
        names: dict[Any, str] = {}
        for x in n.body:
            if isinstance(x, Let):
                kind = "mask" if x.term.type.dtype == "bool" else "vector"
                text = self.vector_text(x, n, short, names, below)
                names[x.term] = self.names.new("x")
                self.add(f"const tg_{kind}_{short} {names[x.term]} = {text};")
        return names

    def advance(self, n: Reduce, dtype: str, accs: dict[Any, str], values: dict[Any, str]) -> None:
        """One step of the partial results number v of each fold."""
        short = SHORT[dtype]
        for f in n.folds:
            kind, acc = f.op.params["kind"], accs[f]
            self.add(STEPS[kind].format(acc=f"{acc}_vector[v]", value=values[f], n=short))
            if kind in COMPARED and has_nan(f):
                self.add(f"{acc}_nan[v & 1] |= (tg_mask_{short})({values[f]} != {values[f]});")

    def vector_text(self, x: Let, n: Reduce, short: str, names: dict[Any, str], below: str) -> str:
        """How a vector is computed: elements in memory, side by side or not, or arithmetic on vectors and scalars."""
        place = place_of(x)
        if place is not None:
            buf, offset = place
            self.bufs[buf] = None
            step = offset.coefficient(n.var)
            at, part = f"{buf.name} + {self.poly(offset)}", "_part" if below else ""
            masked = f", {below}" if below else ""
            if buf.dtype == "bool":
                left = f", {self.end_of_vector} - i{n.var.level}" if below else ""
                return f"tg_truth{part}_{short}((const uint8_t *)({at}){left})"
            if step is not ONE:
                return f"tg_vector_spread{part}_{short}({at}, {self.poly(step)}{masked})"
            if buf.dtype == "float16":
                return f"tg_vector_half{part}_f32({at}{masked})"
            return f"tg_vector_part_{short}({at}{masked})" if below else f"*(const tg_vector_{short} *)({at})"
        args = [names[a] if a in names else self.ref(a) for a in x.term.args]
        name = x.term.op.family.name
        if x.term.type.dtype == "bool":
            return mask_text(x.term, args, [a in names for a in x.term.args], n.folds[0].type.dtype, short)
        if name == "switch":
            arms = [a if t in names else f"{a} - (tg_vector_{short}){{0}}" for a, t in zip(args[1:], x.term.args[1:])]
            return f"tg_truth_pick_{short}({args[0]}, {', '.join(arms)})"
        if name == "cast":
            return args[0]
        if name == "sqr":
            return f"{args[0]} * {args[0]}"
        if name == "abs":
            return f"tg_vector_abs_{short}({args[0]})"
        return f"-{args[0]}" if name == "neg" else INFIX[name].join(args)
