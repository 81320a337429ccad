"""Loops over steps in C: a function for one step, and the loop that moves the pointers it works on.

Where a step is a few numbers, the whole loop is one function that keeps carries in registers. A failure notes its step,
counted from one, in v[2] of the status, that of a loop further out in v[3]. A loop that is inside no other
tells the status its steps, for who looks on (termgraph.progress).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.backends.c.text.checks import bad, failure
from termgraph.backends.c.text.packed_factors import kept_products, write_ahead
from termgraph.backends.cstyle import Printer
from termgraph.lower.lengths.index import ONE, ZERO, Poly, product
from termgraph.lower.loops.tree import Branch, Choice, Let, Node, Repeat, Rows, Write, walk
from termgraph.lower.push.kernel import Buf
from termgraph.terms.dtypes import HALVES
from termgraph.terms.term import AnyTerm

timers = lazy("termgraph.backends.c.text.timers")


def write_repeat(writer: Any, n: Repeat, p: Printer, number: int = -1) -> None:
    """The statements of a loop; its step becomes a function. A timed program gives its number among the timed parts."""
    name = f"loop{writer.count}"
    writer.count += 1
    with p.block(""):
        p.add(f"const int64_t steps = {p.poly(n.steps)};")
        if not writer.loops_around:
            p.add(f"st->loop++, st->step = 0, st->steps = {'-steps' if n.stop is not None else 'steps'};")
        _enter(writer, n, p)
        if in_registers(n):
            _ScalarSteps(writer, n).function(name)
            p.add("int64_t t = 0;", f"if ({name}(c, steps, &t)) return (int)st->code;")
            if number >= 0:
                p.add(f"tg_made_steps(st, {len(writer.timed_parts)}, since, t);")
                writer.timed_parts.append(timers.TimedPart.of_steps(n, number))
        else:
            writer.aliased = {*writer.aliased, *[b for c, _ in n.kept for b in (c.leaf, c.next)]}
            _keep_factors(writer, n, p)
            writer.loops_around += 1
            _part_function(writer, n.body, name, number)
            writer.loops_around -= 1
            _steps(writer, n, p, name)
        if not writer.loops_around:
            p.add("st->steps = 0;")
        _leave(writer, n, p)


def _keep_factors(writer: Any, n: Repeat, p: Printer) -> None:
    """Places for the factors of products that stay the same, freed however the block is left."""
    for call in [] if writer.quick else [*kept_products(n), *[a.product for a in n.ahead]]:
        name = f"kept{writer.kept_places}"  # several loops may have an equal call: each has a place of its own
        writer.kept_places += 1
        writer.kept[call] = f"c->{name}"
        writer.fields.append(f"    tg_kept *{name};")
        p.add(f"tg_kept {name} __attribute__((cleanup(tg_drop))) = {{NULL}};", f"c->{name} = &{name};")


# ---------------------------------------------------------------------- pointers
def _at(writer: Any, p: Printer, buf: Buf, offset: Poly) -> str:
    """The address of an element."""
    place = f"c->buf[{writer.slots[buf]}]"
    return place if offset is ZERO else f"{place} + {_bytes(p, buf, offset)}"


def _bytes(p: Printer, buf: Buf, elements: Poly) -> str:
    return p.poly(elements * np.dtype(buf.dtype).itemsize)


def _copy(p: Printer, to: str, source: str, size: str) -> None:
    p.add(f"__builtin_memcpy({to}, {source}, {size});")


def _enter(writer: Any, n: Repeat, p: Printer) -> None:
    """Where everything is in the first step."""
    for leaf, buf, offset, _ in n.leaves:
        p.add(f"c->buf[{writer.slots[leaf]}] = {_at(writer, p, buf, offset)};")
    for c in n.carries:
        p.add(f"c->buf[{writer.slots[c.leaf]}] = {_at(writer, p, *c.init)};")
    for c, home in n.kept:
        place = f"c->buf[{writer.slots[home]}]"
        _copy(p, place, _at(writer, p, *c.init), _bytes(p, home, product(home.shape)))
        p.add(f"c->buf[{writer.slots[c.leaf]}] = c->buf[{writer.slots[c.next]}] = {place};")
    for r in n.rows:
        p.add(f"c->buf[{writer.slots[r.target]}] = c->buf[{writer.slots[r.buf]}];")


def _leave(writer: Any, n: Repeat, p: Printer) -> None:
    """Final values."""
    carried = {c.leaf for c in n.carries}
    for source, to, size in n.copies:
        if source not in carried or not in_registers(n):
            _copy(p, f"c->buf[{writer.slots[to]}]", f"c->buf[{writer.slots[source]}]", _bytes(p, to, size))
    if n.made is not None:
        p.add(f"*(int64_t *)c->buf[{writer.slots[n.made]}] = t;")


# ---------------------------------------------------------------------- steps of any kind
def write_choice(writer: Any, n: Choice, p: Printer) -> None:
    """The statements of a choice; each side becomes a function."""
    for head, nodes in ((f"if ({p.ref(n.condition)})", n.then), ("else", n.orelse)):
        name = f"side{writer.count}"
        writer.count += 1
        _part_function(writer, nodes, name)
        p.add(f"{head} {{ if ({name}(c)) return (int)st->code; }}")


def _part_function(writer: Any, nodes: Sequence[Node], name: str, number: int = -1) -> None:
    """Statements as a function; with a number, each is timed as a part of that loop's steps."""
    kept = writer.indices, writer.shared_values
    writer.indices = []
    p = writer.top(nodes, number >= 0, number)
    lines = [f"static int {name}(tg_context *c)", "{", "    tg_status *const st = c->st;", "    (void)st;"]
    lines += [timers.SINCE] if number >= 0 else []
    lines += writer.head(p)
    writer.functions.append("\n".join([*lines, *p.lines, "    return 0;", "}"]))
    writer.indices, writer.shared_values = kept


def _steps(writer: Any, n: Repeat, p: Printer, name: str) -> None:
    """The loop: move the pointers, make a step."""
    p.add("int64_t t = 0;")
    with p.block("for (; t < steps; t++)"):
        if not writer.loops_around:
            p.add("st->step = t;")
        p.add("if (!(t & 255) && TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
        for r in n.rows:
            _place_row(writer, r, p)
        for a in n.ahead:
            write_ahead(writer.kept[a.product], writer.slots, a, p)
        p.add(f"if ({name}(c)) return tg_in_step(st, t);")
        for leaf, _, _, step in n.leaves:
            if step is not ZERO:
                p.add(f"c->buf[{writer.slots[leaf]}] += {_bytes(p, leaf, step)};")
        _rotate(writer, n, p)
        if n.stop is not None:
            p.add(f"if (*(const _Bool *)c->buf[{writer.slots[n.stop]}]) {{ t++; break; }}")


def _place_row(writer: Any, r: Rows, p: Printer) -> None:
    if r.ring == 1:
        return
    size = _bytes(p, r.target, product(r.target.shape))
    row = "t" if r.ring is None else f"t % {r.ring}"
    p.add(f"c->buf[{writer.slots[r.target]}] = c->buf[{writer.slots[r.buf]}] + ({row}) * ({size});")


def _rotate(writer: Any, n: Repeat, p: Printer) -> None:
    """What was next becomes what is carried, everywhere at once."""
    moves = [(writer.slots[c.leaf], writer.slots[c.next]) for c in n.carries if c.leaf is not c.next]
    if len(moves) > 1:
        p.add(*[f"char *const p{to} = c->buf[{source}];" for to, source in moves])
        p.add(*[f"c->buf[{to}] = p{to};" for to, _ in moves])
    else:
        p.add(*[f"c->buf[{to}] = c->buf[{source}];" for to, source in moves])


# ---------------------------------------------------------------------- a few numbers per step
def in_registers(n: Repeat) -> bool:
    """Whether a step only computes numbers: no kernels, no arrays that are carried."""
    inside = list(walk(n.body))
    if not all(isinstance(x, (Let, Write, Branch)) for x in inside) or n.kept:
        return False
    if any(isinstance(x, Write) and x.mode != "set" for x in inside):
        return False
    numbers = [b for c in n.carries for b in (c.leaf, c.next)] + [r.target for r in n.rows if r.ring] + step_values(n)
    every = [*numbers, *[r.target for r in n.rows]]
    return all(product(b.shape) is ONE for b in numbers) and all(b.dtype not in HALVES for b in every)


def step_values(n: Repeat) -> list[Buf]:
    """What a step stores for itself alone, as every operation's result without `fuse`."""
    rows = {r.target for r in n.rows}
    return list(dict.fromkeys(x.buf for x in walk(n.body) if isinstance(x, Write) and x.buf not in rows))


class _ScalarSteps(Printer):
    """Prints a body whose carries are local variables, and whose rows are elements."""

    def __init__(self, writer: Any, n: Repeat) -> None:
        super().__init__(writer.d, n.body)
        self.writer, self.n = writer, n
        self.steps = {leaf: step for leaf, _, _, step in n.leaves if step is not ZERO}
        self.stacked = {r.target: product(r.target.shape) for r in n.rows if r.ring is None}
        self.variables: dict[Buf, str] = {}
        for c in n.carries:
            self.variables.setdefault(c.leaf, f"s{len(self.variables)}")
        for b in [*[c.next for c in n.carries], *[r.target for r in n.rows if r.ring], *step_values(n)]:
            self.variables.setdefault(b, f"s{len(self.variables)}")

    def load(self, buf: Buf, offset: Poly) -> str:
        if buf in self.variables:
            return self.variables[buf]
        return super().load(buf, offset)

    def place(self, buf: Buf, offset: Poly) -> str:
        step = self.steps.get(buf) or self.stacked.get(buf)
        if step is None:
            return self.poly(offset)
        row = "t" if step is ONE else f"t * ({self.poly(step)})"
        return row if offset is ZERO else f"{row} + {self.poly(offset)}"

    def on_write(self, n: Write) -> None:
        value = self.ref(n.value)
        if n.buf in self.variables:
            self.add(f"{self.variables[n.buf]} = {value};")
            value = self.variables[n.buf]
        if n.buf in self.stacked:
            self.bufs[n.buf] = None
            self.add(self.d.store(n.buf, self.place(n.buf, n.offset), value, "set"))

    def check(self, t: AnyTerm, k: str, n: str) -> None:
        super().check(t, k, n)
        seen = next(name for same, name, _ in self.checks if same is t)
        self.add(f"if ({bad(seen, n)}) {{ {failure(t, seen, n)}; tg_in_step(st, t); return t; }}")

    def function(self, name: str) -> None:
        """The whole loop: blocks of steps, between which it asks whether to go on."""
        self.indent = 2
        self.body(self.n.body)
        self._rotate()
        if self.n.stop is not None:
            self.add(f"if ({self.variables[self.n.stop]}) {{ t++; *stop = 1; break; }}")
        fields = [(v, self.d.ctype(b.dtype)) for b, v in self.variables.items()]
        lines = [f"typedef struct {{ {' '.join(f'{c} {v};' for v, c in fields)} int none; }} {name}_state;"]
        lines += [*self._block(name, fields), *self._blocks(name)]
        self.writer.functions.append("\n".join(lines))

    def _block(self, name: str, fields: list[tuple[str, str]]) -> list[str]:
        """A function of its own, so that nothing is kept in memory for the sake of the call between blocks."""
        head = f"{name}_block(tg_context *c, int64_t t, const int64_t end, {name}_state *s, int *stop)"
        lines = [
            "static __attribute__((noinline)) int64_t",
            head,
            "{",
            "    tg_status *const st = c->st;",
            "    (void)st;",
        ]
        lines += self.writer.head(self, inside=True)
        lines += [f"    int64_t {k}_low = 0, {k}_high = -1;" for _, k, _ in self.checks]
        lines += [f"    {c} {v} = s->{v};" for v, c in fields]
        lines += ["    for (; t < end; t++) {", *self.lines, "    }"]
        return [*lines, *[f"    s->{v} = {v};" for v, _ in fields], "    return t;", "}"]

    def _blocks(self, name: str) -> list[str]:
        first = [
            f"    s.{self.variables[c.leaf]} = *(const {self.d.ctype(c.leaf.dtype)} *)c->buf[{self.slot(c.leaf)}];"
            for c in self.n.carries
        ]
        last = [
            f"    *({self.d.ctype(to.dtype)} *)c->buf[{self.slot(to)}] = s.{self.variables[source]};"
            for source, to, _ in self.n.copies
            if source in self.variables
        ]
        return [
            f"static int {name}(tg_context *c, int64_t steps, int64_t *made)",
            "{",
            f"    {name}_state s = {{0}};",
            "    tg_status *const st = c->st;",
            "    int stop = 0;",
            "    int64_t t = 0;",
            *first,
            "    while (t < steps && !stop) {",
            *([] if self.writer.loops_around else ["        st->step = t;"]),
            "        if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);",
            f"        t = {name}_block(c, t, steps - t < 8192 ? steps : t + 8192, &s, &stop);",
            "        if (st->code) return (int)st->code;",
            "    }",
            *last,
            "    *made = t;",
            "    return 0;",
            "}",
        ]

    def _rotate(self) -> None:
        moves = [(c, self.variables[c.leaf], self.variables[c.next]) for c in self.n.carries if c.leaf is not c.next]
        for c, to, source in moves:
            self.add(f"const {self.d.ctype(c.leaf.dtype)} {to}_next = {source};")
        self.add(*[f"{to} = {to}_next;" for _, to, _ in moves])

    def slot(self, b: Buf) -> int:
        """Its position in `buf`."""
        return int(self.writer.slots[b])
