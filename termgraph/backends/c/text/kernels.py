"""The functions of a C program: one per outermost loop, over a range of its variable, and the body that calls them.

A kernel gets a context: buffers, lengths, status, and the scalars computed before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from termgraph._lazy import lazy
from termgraph._records import NamedTuple
from termgraph.backends.c.text import float32, made_before, moved_bits, roundings
from termgraph.backends.c.text.checks import bad, failure
from termgraph.backends.c.text.dialect import CDialect
from termgraph.backends.c.text.library_calls import numbers_apart, write_call
from termgraph.backends.c.text.ranges import (
    PARTS,
    UNASKED,
    columns_together,
    dealt_out,
    gains_by_vectors,
    is_one_piece,
    known_parts,
    known_range,
    polling,
    runs_whole,
    services,
)
from termgraph.backends.c.text.settled_folds import bounds_of_part, can_settle, results_of_part, skipped_parts
from termgraph.backends.c.text.shared_kernels import MANY_STEPS, Entry, Shared, Step, general
from termgraph.backends.c.text.values_outside import beside_kernels, makes_values, used_in_kernels
from termgraph.backends.c.text.vector_folds import CPrinter
from termgraph.backends.c.text.wide_truths import compared_wide
from termgraph.backends.cstyle import Printer
from termgraph.backends.same_loops import Shapes
from termgraph.lower.lengths.index import ZERO, Poly, Sym, divide, values
from termgraph.lower.loops.tree import (
    Call,
    Choice,
    Columns,
    Compound,
    Kernel,
    Let,
    Node,
    Quiet,
    Reduce,
    Repeat,
    Routine,
    Tiles,
    Write,
)
from termgraph.lower.push.kernel import ARG_FOLDS, Buf
from termgraph.lower.schedule.cost import per_iteration
from termgraph.progress import kernel_written

# What few programs have.
routines, timers = lazy("termgraph.backends.c.text.routines"), lazy("termgraph.backends.c.text.timers")
step_loops, tile_loops = lazy("termgraph.backends.c.text.step_loops"), lazy("termgraph.backends.c.text.tile_loops")
packed_factors = lazy("termgraph.backends.c.text.packed_factors")
past_caches = lazy("termgraph.backends.c.text.past_caches")


class Printed(NamedTuple):
    """A kernel that was printed: its function, its buffers in the order of its shape, what an iteration costs."""

    name: str
    bufs: list[Buf]
    cost: Poly


class KernelWriter:
    """Writes kernels as functions, and collects what their context must hold."""

    def __init__(
        self,
        dialect: CDialect,
        slots: dict[Buf, int],
        env_of: Callable[[Sym], int],
        aliased: Collection[Buf] = (),
        quick: bool = False,
    ) -> None:
        self.d, self.slots, self.env_of, self.quick = dialect, slots, env_of, quick
        self.aliased = aliased  # buffers of which two may be one
        self.functions: list[str] = []
        self.fields: list[str] = []
        self.partials = self.own_functions = 0
        self.kept: dict[Call, str] = {}  # products in loops, and where their right factors are packed
        self.kept_places = 0
        self.loops_around = 0  # how many loops over steps what is written now is inside of
        self.count = 0
        self.shared_values: set[Any] = set()
        self.indices: list[str] = []
        self.in_table = self.past = False  # whether steps of a table are written; whether results may pass the caches
        self.routines = self.quiet = False  # whether there are any; whether new values are written: nothing may fail
        self.timed_parts: list[Any] = []
        self.kernels: dict[str, Kernel] = {}  # what each function of the text was written from
        self.costs: dict[Kernel, Poly] = {}  # what an iteration of each costs
        self.unlike: list[Kernel] = []  # the first of each shape
        self.equal = Shared()
        self.shapes = Shapes()
        self.printed: dict[Any, Printed] = {}  # shapes of kernels -> what was made of the first of each
        self.chosen: dict[str, int] = {}  # shapes of functions -> how many functions of `float32` they use

    def printer(self, *given: Any) -> CPrinter:
        """What writes one function; in a quick program it writes less text."""
        p = CPrinter(self.d, *given)
        p.brief = self.quick
        return p

    # ------------------------------------------------------------------ the calling side
    def top(
        self,
        nodes: Sequence[Node],
        timed: bool = False,
        inside: int = -1,
        table: bool = False,
        elsewhere: Mapping[int, Mapping[Buf, Buf]] | None = None,
    ) -> Printer:
        """The statements of tg_run, or of one step of the loop that is part number `inside`.

        Where many are to be in a `table`, those that need nothing but buffers are. By their numbers some find arrays
        `elsewhere`: what was filled again.
        """
        slots = self.slots
        steps = sum(isinstance(n, (Kernel, Call, Routine)) for n in nodes)
        table = table and not timed and steps >= MANY_STEPS
        first: int | None = None  # of the steps that no line makes yet
        p = self.printer([n for n in nodes if isinstance(n, Write)])
        p.aliased = self.aliased
        shared = self.shared_values = used_in_kernels(nodes)
        once = p.used_once(beside_kernels(nodes)) - shared if makes_values(nodes) else set()
        for k, n in enumerate(nodes):
            moved = (elsewhere or {}).get(k, {})
            self.slots = {**slots, **{b: slots[place] for b, place in moved.items()}} if moved else slots
            if table and self.step(n, p):
                first = len(self.equal.steps) - 1 if first is None else first
                continue
            if first is not None:
                p.add(self.equal.mark(first))
                first = None
            number = len(self.timed_parts) if timed and isinstance(n, (Kernel, Call, Compound)) else -1
            if number >= 0:
                self.timed_parts.append(timers.TimedPart.of(n, inside))
            if moved:
                self.apart(n, p, number)
            elif isinstance(n, (Kernel, Call, Compound)):
                self.statement(n, p, number)
            elif isinstance(n, Let) and n.term in once:
                p.body([n])
                if n.term in p.inline or n.term not in p.text:
                    p.define(n.term, p.inline.pop(n.term, "") or p.expression(n.term))
            elif isinstance(n, Quiet):
                self.quiet = True
                p.add("st->poll = 0; /* from here on new values are written: nothing is interrupted */")
            else:
                p.node(n)
            if not isinstance(n, (Kernel, Call, Compound)):
                self.after(n, p, shared)
            elif timed:
                p.add(f"tg_took(st, {number}, &since, {p.poly(timers.bytes_written(n))});")
        if first is not None:
            p.add(self.equal.mark(first))
        self.slots = slots
        return p

    def statement(self, n: Node, p: Printer, number: int = -1) -> Poly:
        """A kernel, whose cost of an iteration is returned, a library call or a statement with others inside."""
        if isinstance(n, Kernel):
            return self.call(n, p)
        if isinstance(n, Call):
            self.library(n, p)
        elif isinstance(n, Compound):
            self.compound(n, p, number)
        return ZERO

    def apart(self, n: Node, p: Printer, number: int = -1) -> None:
        """A statement with its own names for arrays, of which some lie elsewhere than they do for others."""
        q = self.printer([] if isinstance(n, Kernel) else [n], p.outside)
        q.aliased = self.aliased
        self.statement(n, q, number)
        with p.block(""):
            p.add(*[e.declared(e.name, e.direct) for e in self.entries(q, restrict=False)], *q.lines)

    def step(self, n: Node, p: Printer) -> bool:
        """Make a kernel, a product or a routine a step of the table; False if it needs more than buffers."""
        if not self.is_simple(n):
            return False
        q = self.printer([] if isinstance(n, Kernel) else [n], p.outside)  # a kernel has a printer of its own
        q.aliased = self.aliased
        name = f"kernel{self.count}"
        self.in_table = True
        cost = self.statement(n, q)
        self.in_table = False
        then = name if isinstance(n, Routine) and n.then else None
        kernel = self.equal.written[name][0] if name in self.equal.written and not then else None
        ranged = known_range(n, cost) if isinstance(n, Kernel) else None
        given = kernel.places if kernel is not None else ()
        if kernel is not None and ranged is not None:
            self.equal.steps.append(Step("", name, given, ranged))
            return True
        names = ["    tg_context *const c = context;", "    tg_status *const st = c->st;"]
        lines, entries, numbers = q.lines, self.entries(q, restrict=False), ()
        if isinstance(n, Call):
            lines, numbers = numbers_apart(lines)
        head = ["static int @(void *context, const int32_t *numbers)", "{", *names]
        step = general(head, [*lines, "    return 0;"], entries, first=len(given))
        of = name if kernel is not None else None
        self.equal.steps.append(Step(step.shape, of, (*given, *step.places), numbers=numbers, then=then))
        return True

    def is_simple(self, n: Node) -> bool:
        """Whether a step needs nothing that is computed in tg_run."""
        if isinstance(n, Kernel):
            return not isinstance(n.node, Reduce)
        if isinstance(n, Call):
            return "alpha" not in n.options and n not in self.kept and not any(values(at) for _, at, _ in n.operands)
        if isinstance(n, Routine):
            places = [at for x in (*n.reads, *n.results) for at in (x.base, *x.batch, *x.core)]
            return not any(map(values, [*n.batch, *n.sizes.values(), *places]))
        return False

    def after(self, n: Node, p: Printer, shared: set[Any]) -> None:
        """Check an index at once; put a value into the context."""
        for t, name, length in p.checks:
            p.add(f"if ({bad(name, length)}) return {failure(t, name, length)};")
            self.indices.append(name)
        p.checks.clear()
        term = getattr(n, "term", None)
        if term in shared:
            self.share(term, p)

    def share(self, t: Any, p: Printer) -> None:
        """Make a value of tg_run known to later kernels, under the same name."""
        name = p.text[t]
        field = f"g{len(self.fields)}"
        self.fields.append(f"    {self.d.kept_ctype(t.type.dtype)} {field};")
        p.add(f"c->{field} = {name};")
        p.outside[t] = field

    def call(self, n: Kernel, p: Printer) -> Poly:
        """Run a kernel over all of its range; what an iteration costs."""
        name = f"kernel{self.count}"
        self.count += 1
        self.kernels[name] = n
        extent, cost = n.node.var.extent, self.kernel_once(n, name, p.outside)
        kernel_written()
        if isinstance(n.node, Reduce):
            self.call_reduction(n.node, name, extent, cost, p)
        elif n.parallel:
            if not n.final:
                p.add("if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
            if not self.past_caches(n, name, cost, p):
                self.each(name, *dealt_out(n, cost), p)
        else:
            if extent.const is not None:
                self.equal.whole[name] = extent.const
            p.add(f"if (tg_all(c, {name}, {p.poly(extent)})) return (int)st->code;")
        return cost

    def piecewise(self, n: Kernel, p: Printer) -> str:
        """What a routine is given to run a kernel by pieces: the kernel, and what an iteration costs."""
        name = f"kernel{self.count}"
        self.count += 1
        self.kernels[name] = n
        cost = self.kernel_once(n, name, p.outside)
        kernel_written()
        return f"<then {name}>, {p.poly(cost)}"

    def past_caches(self, n: Kernel, name: str, cost: Poly, p: Printer) -> bool:
        """Run a kernel whose results may be long; not as a step of a table, in which buffers have no numbers."""
        one_by_one = getattr(n.node, "simd", False) and not self.quick and not self.in_table
        found = past_caches.results(n, cost, self.aliased) if one_by_one else []
        if found:
            p.add(past_caches.call(name, p.poly(n.node.var.extent), p.poly(cost), found, self.slots, p.poly))
        self.past |= bool(found)
        return bool(found)

    def each(self, name: str, extent: Poly, cost: Poly, p: Printer, share: int = 1) -> None:
        """Run a kernel over a range, on several threads if it is long; an iteration costs that `share` of the cost."""
        n, each = extent.const, cost.const
        if n is not None and each is not None and is_one_piece(n, each // share + (share > 1)):
            self.equal.whole[name] = n
        text = p.poly(cost) if share == 1 else f"({p.poly(cost)}) / {share} + 1"
        p.add(f"if (tg_each(c, {name}, {p.poly(extent)}, {text})) return (int)st->code;")

    def call_reduction(self, n: Reduce, name: str, extent: Poly, cost: Poly, p: Printer) -> None:
        """A fold over everything: partial results over fixed parts, then their fold in order."""
        parts, length, each = known_parts(extent, cost), p.poly(extent), p.poly(cost)
        if parts is not None:
            self.equal.whole |= {name: 1} if parts == 1 else {}
            p.add(f"if (tg_each(c, {name}, {parts}, {p.poly(divide(extent, parts)[0] * cost)})) return (int)st->code;")
        else:
            p.add(f"c->parts = tg_parts({length}, {each});")
            p.add(f"if (tg_each(c, {name}, c->parts, ({length}) / c->parts * ({each}))) return (int)st->code;")
        count = "c->parts" if parts is None else parts
        which, head = ("0", "") if parts == 1 else ("part", f"for (int64_t part = 0; part < {count}; part++) ")
        for k, f in enumerate(n.folds):
            acc = p.names.new("a")
            p.declare_fold(f, acc)
            kind, dtype = f.op.params["kind"], f.type.dtype
            part = f"(({self.d.ctype(dtype)} *)c->partial[{k}])[{which}]"
            if kind in ARG_FOLDS:
                body = self.d.ctype(f.args[0].type.dtype)
                best = f"(({body} *)c->partial[{len(n.folds) + k}])[{which}]"
                step = p.arg_step(kind, acc, best, part)
            else:
                step = self.d.fold_step(kind, dtype, acc, part)
            p.add(f"{head}{step}")
            p.call_it(f, acc)
            if f in self.shared_values:
                self.share(f, p)

    def library(self, n: Call, p: Printer) -> None:
        """A library call; the text of each is in `libcalls`."""
        if n in self.kept:
            packed_factors.write_kept(self.kept[n], n, p)
        else:
            write_call(self, n, p)

    def compound(self, n: Compound, p: Printer, number: int = -1) -> None:
        """A loop over steps, a choice or a routine."""
        if isinstance(n, Choice):
            step_loops.write_choice(self, n, p)
        elif isinstance(n, Repeat):
            step_loops.write_repeat(self, n, p, number)
        elif isinstance(n, Routine):
            self.routines = True
            routines.write_routine(self, n, p)

    # ------------------------------------------------------------------ the kernel's side
    def kernel_once(self, n: Kernel, name: str, outside: dict[Any, str]) -> Poly:
        """The function of a kernel, printed if none of its shape was before, and what an iteration costs."""
        like = self.shapes.of(n, self.aliased, outside)
        before = None if like is None else self.printed.get(like.key)
        if like is not None and before is not None:
            slots = {old.name: str(self.slots[b]) for old, b in zip(before.bufs, like.bufs) if b in self.slots}
            self.equal.again(name, before.name, slots, len(self.functions))
            self.functions.append("")
            self.costs[n] = before.cost
            return before.cost
        cost = self.costs[n] = per_iteration(n.node)
        self.unlike.append(n)
        self.kernel(n, name, outside)
        if like is not None and name in self.equal.written:
            self.printed[like.key] = Printed(name, like.bufs, cost)
        return cost

    def kernel(self, n: Kernel, name: str, outside: dict[Any, str]) -> None:
        """The function of one outermost loop."""
        loop = n.node
        if isinstance(loop, Tiles):
            tile_loops.write_tiles(self, loop, name, outside, n.final)
            return
        p = self.printer([n], outside)
        p.named, p.aliased = {}, self.aliased
        p.whole = runs_whole(n)
        if isinstance(loop, Reduce):
            self.partial_folds(loop, p, known_parts(loop.var.extent, per_iteration(loop)))
        elif isinstance(loop, Columns):
            together = columns_together(n, per_iteration(loop))
            p.on_columns(loop, "begin", "end", together)
            self.function(name, p, "int64_t begin, int64_t end", mark="TG_WHOLE_VECTORS " if together > 1 else "")
            return
        else:
            write, polls = getattr(p, "on_" + type(loop).__name__.lower()), polling(loop, n.final)
            if "between" in polls:
                with p.block_of_steps("begin", "end", polls["between"], UNASKED) as bounds:
                    write(loop, *bounds)
            else:
                write(loop, "begin", "end", **polls)
        self.function(name, p, "int64_t begin, int64_t end")

    def partial_folds(self, loop: Reduce, p: Printer, parts: int | None) -> None:
        """The parts begin..end-1 of a fold over everything, of which so many are known to be."""
        self.partials = max(self.partials, 2 * len(loop.folds))
        n, alone = loop.var.extent.const, parts == 1
        ends_early = not alone and can_settle(loop)
        if parts is not None and n is not None and not n % parts:
            p.part_length = n // parts
        with p.block("for (int64_t part = begin; part < end; part++)"):
            bounds = bounds_of_part(p.poly(loop.var.extent), parts, p.part_length)
            p.add(*([] if alone else ["if (TG_STOP(c->st)) break;"]), *bounds)
            p.on_reduce(loop, "from", "to", **polling(loop))
            found = {f: p.text[f] for f in loop.folds}
            results = results_of_part(found, self.d.ctype)
            p.add(*[f"{kept}[part] = {value};" for kept, value in results.items()])
            p.add(*(skipped_parts(found, results) if ends_early else []))

    def function(self, name: str, p: Printer, arguments: str, noinline: bool = False, mark: str = "") -> None:
        """A function around the printed body: what it uses of the context in front, its checks at the end."""
        first = "" if noinline else "void *context, "
        extra = "" if noinline else ", int64_t unused"
        p.lines = moved_bits.without_unread(made_before.before_loops(p.lines))
        p.lines = compared_wide(p.lines, p.bufs, p.written, p.names.new("z"))
        self.choose_functions(p, noinline)
        if noinline:
            head = f"static __attribute__((noinline)) void @(tg_context *c, {arguments})"
        else:
            head = f"static {'' if self.quick else mark}void @({first}{arguments}{extra})"
        if self.quick and gains_by_vectors(p.lines):
            head = f"TG_VECTORISE {head}"
        heads = [head, "{", *([] if noinline else ["    tg_context *c = context;"])]
        for r in p.rows:
            p.poly(r.length)
        entries = self.entries(p, inside=True)
        body = self.function_body(p)
        if not noinline:
            written = general(heads, body, entries, [r.buf.name for r in p.rows])
            self.equal.written[name] = written, len(self.functions)
        lines = [*heads, *[e.declared(e.name, e.direct) for e in entries], *body, "}"]
        self.functions.append("\n".join(lines).replace("@", name, 1))

    def function_body(self, p: Printer) -> list[str]:
        """What follows the names of a function."""
        lines = self.rows(p)
        lines = [f"    const int64_t {name} = {text};" for name, text in (p.named or {}).values()] + lines
        lines += [f"    int64_t {k}_low = 0, {k}_high = -1;" for _, k, _ in p.checks]
        lines += p.lines
        lines += [f"    if ({bad(k, n)}) {failure(t, k, n, 'c->st')};" for t, k, n in p.checks]
        return lines + [f"    free({r.buf.name});" for r in p.rows]

    def choose_functions(self, p: Printer, single: bool) -> None:
        """Put in the functions of `float32`, unless there are too many; those of equal kernels count once."""
        count = wanted = float32.calls(p.lines)
        if wanted:
            key = str(len(self.chosen)) if single else general([], p.lines, self.entries(p, inside=True)).shape
            if key not in self.chosen:
                many = wanted > float32.MANY or self.own_functions + wanted > float32.MANY_IN_ALL
                self.chosen[key] = 0 if many else wanted
                self.own_functions += self.chosen[key]
            count = self.chosen[key]
        if count:
            p.lines = float32.with_own(p.lines)

    def rows(self, p: Printer) -> list[str]:
        """Room for rows, once per call of the kernel."""
        out = []
        for k, r in enumerate(p.rows):
            c = self.d.ctype(r.buf.dtype)
            out.append(f"    {c} *restrict {r.buf.name} = malloc(sizeof({c}) * ({p.poly(r.length)}) + 64);")
            freed = " ".join(f"free({q.buf.name});" for q in p.rows[:k])
            size = f"(int64_t)sizeof({c}) * ({p.poly(r.length)})"
            out.append(f"    if (!{r.buf.name}) {{ {freed} tg_fail(c->st, TG_NOMEM, -1, {size}, -1, -1, 0); return; }}")
        return out

    def head(self, p: Printer, inside: bool = False, restrict: bool = True) -> list[str]:
        """Local names for the buffers, lengths and scalars that a function uses; `inside`: that of a kernel."""
        for r in p.rows:
            p.poly(r.length)
        lines = [e.declared(e.name, e.direct) for e in self.entries(p, inside, restrict)]
        return lines + [f"    int64_t {k}_low = 0, {k}_high = -1;" for k in (() if inside else self.indices)]

    def entries(self, p: Printer, inside: bool = False, restrict: bool = True) -> list[Entry]:
        """What a function uses of the context. Without `restrict` arrays may be one: not at the same time."""
        out = []
        for b in sorted(p.bufs, key=lambda b: (self.slots.get(b, -1), b.name)):
            if b.kind in ("tile", "row"):
                continue
            # Never const: what reads an argument would not be the kernel that reads a temporary.
            kind = f"{self.d.stored_type(b.dtype)} *"
            alone = "restrict " if restrict and b not in self.aliased else ""
            slot = self.slots[b]
            text = f"{kind}{alone}{{name}} = ({kind}){{place}};"
            out.append(Entry(b.name, "array", text, f"c->buf[{slot}]", "c->buf[{}]", str(slot)))
        for s in p.syms:
            at = self.env_of(s)
            out.append(
                Entry(s.name, "length", "const int64_t {name} = {place};", f"c->env[{at}]", "c->env[{}]", str(at))
            )
        for t in p.used_outside if inside else ():
            ctype, field = self.d.kept_ctype(t.type.dtype), p.outside[t]
            text, place = f"const {ctype} {{name}} = {{place}};", f"__builtin_offsetof(tg_context, {field})"
            out.append(Entry(field, "number", text, f"c->{field}", f"*(const {ctype} *)((char *)c + {{}})", place))
        return out

    def finish(self, run: str) -> str:
        """Write equal kernels once; the text of tg_run that calls them."""
        functions, run = self.equal.join(self.functions, run)
        self.functions = functions if self.quick else [roundings.rounded_twice(f) for f in functions]
        return run

    def context_text(self, bufs: int) -> str:
        """The context, and the functions that run a kernel over its range."""
        partial = f"    int64_t parts;\n    char partial[{self.partials}][{PARTS} * 16];\n" if self.partials else ""
        fields = "".join(f + "\n" for f in self.fields)
        context = (
            "typedef struct {\n    const int64_t *env;\n    tg_status *st;\n"
            f"    const int32_t *at; /* the places of what a shared function works on */\n"
            f"    tg_body then; /* the kernel that this step's routine runs */\n"
            f"{fields}{partial}    char *buf[{max(1, bufs)}];\n}} tg_context;"
        )
        texts = [context, services(self.functions, self.partials > 0, self.quick)]
        if self.past:
            texts.append(past_caches.TEXT.strip())
        if any("TG_ROUNDED_TWICE" in f for f in self.functions):
            texts.append(roundings.TEXT.strip())
        return "\n\n".join(texts)
