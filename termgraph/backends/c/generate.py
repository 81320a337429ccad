"""Printing C: the text and the signature of a lowered region. `generate` takes terms through all stages up to here."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._collector import paused_gc
from termgraph._lazy import lazy
from termgraph._records import record, replace
from termgraph.backends.c.cprogram import APART, FLAGS, GATHERS, MULTIPLY_ADD, WIDE, CProgram
from termgraph.backends.c.run import numpy_loops
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update
from termgraph.backends.c.text import library_calls, loop_flags, prelude
from termgraph.backends.c.text.dialect import SHORT, CDialect
from termgraph.backends.c.text.kernels import KernelWriter
from termgraph.backends.c.text.packing import PACKING
from termgraph.backends.c.text.ranges import VECTOR_CALL
from termgraph.backends.cstyle import Printer
from termgraph.backends.refused import refusal
from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import ZERO, Poly, Sym, maximum, plus, poly, product
from termgraph.lower.loops.tree import Call, Choice, Node, Repeat, moving_places, walk
from termgraph.lower.lowering import Planned, Region, Target, plan, replaceable, targets_of
from termgraph.lower.memory.plan import LINE, elsewhere
from termgraph.lower.memory.strides import Kinds
from termgraph.lower.memory.updates import checked_products
from termgraph.lower.push.kernel import Buf
from termgraph.lower.schedule.convolution_epilogues import finish_convolutions
from termgraph.lower.schedule.cost import work
from termgraph.lower.schedule.product_epilogues import finish_products
from termgraph.stages import Ledger
from termgraph.terms.leaves import Arg
from termgraph.vm.partition import Refusal

room_sizes = lazy("termgraph.backends.c.text.room_sizes")
routine_helpers = lazy("termgraph.backends.c.text.routine_helpers")
step_loops = lazy("termgraph.backends.c.text.step_loops")
micro_kernels, packed_factors, small_products, thin_products = [
    lazy(f"termgraph.backends.c.text.{name}")
    for name in ("micro_kernels", "packed_factors", "small_products", "thin_products")
]
timers = lazy("termgraph.backends.c.text.timers")
LENGTH_DIFFERS, LENGTH_TOO_SMALL = 1, 2
MANY = 6  # lines that are alike from which there is a table and a loop
COPIED_AT_ONCE = 24  # addresses: a loop over them is more text for the compiler, and a call takes longer for few
COMPARED = 24  # strides up to which they are compared in place: with 20 vectors a loop over a table takes 15 ns more
MUCH = 1 << 16  # bytes of copies in a call from which another program for it is worth while


@record(frozen=True)
class Ports:
    """How a program is called: its arguments and cells, which cells get new values, what it returns.

    The C compiler is told to be `quick`, or not, and whether it may use `multiply_add`, which rounds a product and the
    sum it goes into once. A `timed` program notes how long each of its parts took. One that
    `asks` lets the method `_with_layout` of its callable answer calls for which it has copied much already.
    """

    args: tuple[Any, ...]
    cells: tuple[Any, ...] = ()
    updated: tuple[int, ...] = ()  # numbers of cells
    names: tuple[str | None, ...] = ()
    returns: Any = "list"
    quick: bool = False
    multiply_add: bool = False
    timed: bool = False
    asks: bool = False
    declared: tuple[Any, ...] = ()  # types of the cells, where these may have other lengths than the program is for
    lengths: tuple[Sequence[int | None], ...] = ()  # of cells, on which the graph relies
    orders: tuple[Any, ...] = ()  # of the results' axes, where results are handed out with other axes


def generate(
    args: Sequence[Any],
    outputs: Sequence[Any],
    updates: Sequence[tuple[int, Any]] = (),
    cells: Sequence[Any] = (),
    names: Sequence[str | None] = (),
    returns: str = "list",
    untrimmed: bool = False,
    quick: bool = False,
    multiply_add: bool = False,
    timed: bool = False,
    asks: bool = False,
    strided: Mapping[Any, Kinds] | None = None,
    in_place: bool = True,
    fuse: bool = True,
    ledger: Ledger | None = None,
    known: Sequence[tuple[int | None, ...]] = (),
    memory_limit: int | float | None = None,
    sparing: bool = False,
    apart: bool = False,
    declared: Sequence[Any] = (),
    lengths: Sequence[Sequence[int | None]] = (),
    orders: Sequence[tuple[int, ...] | None] = (),
) -> CProgram:
    """The program that computes the output terms from `args`, followed by `cells` (all of them `Arg` leaves).

    `updates` are pairs of a cell's number and the term of its new value, which is written over the old one if that is
    safe and `in_place`. Arguments that are `strided` are read where they lie, by strides of these kinds; of others that
    are not in row-major order the program makes copies first. Lengths of cells may be `known`: a call with others is
    answered by the method `_with_layout` of the callable; so are those of `lengths`, which the graph was
    made for, if they are not `declared` as types of the cells. Results with one of the `orders` are handed out with
    axis k as axis `order[k]`. For `memory_limit`, `sparing` and `apart` see `Region`, for the rest `Ports`.
    """
    ledger = ledger or Ledger()
    roots = (*outputs, *[t for _, t in updates])
    replaced = tuple([(k, cells[c]) for k, (c, _) in enumerate(updates, len(outputs))])
    target, leaves = QUICK_TARGET if quick else TARGET, tuple(zip(cells, known))
    region = Region(roots, target, strided or {}, True, True, untrimmed, replaced, in_place, fuse, leaves)
    region = replace(region, memory_limit=memory_limit, sparing=sparing, apart=apart)
    updated = tuple([c for c, _ in updates])
    ports = Ports(
        tuple(args),
        tuple(cells),
        updated,
        tuple(names),
        returns,
        quick,
        multiply_add,
        timed,
        asks,
        tuple(declared),
        tuple(lengths),
        tuple(orders),
    )
    with paused_gc():
        return ledger.run("print", printed, plan(region, ledger), ports)


def generated(*given: Any, **options: Any) -> CProgram | Refusal:
    """As `generate`; if there cannot be such a program, the term of the graph that it cannot hold, and why."""
    try:
        return generate(*given, **options)
    except NotLowerable as error:
        return refusal(error, given[1])


def printed(value: Planned, ports: Ports) -> CProgram:
    """The C text of a lowered region, with its signature."""
    return _Writer(value, ports).program()


def _made_ahead(loop: Repeat, product: Call) -> bool:
    """Whether a loop makes a product of its own, a few steps at once."""
    return not step_loops.in_registers(loop) and packed_factors.worth_ahead(product)


def _finished(nodes: list[Node], temps: Collection[Buf], fixed: Collection[Buf]) -> tuple[list[Node], dict[Buf, Buf]]:
    """Loops after products of matrices, and after convolutions."""
    nodes, products = finish_products(nodes, temps, fixed)
    nodes, convolutions = finish_convolutions(nodes, temps, [*fixed, *products.values()])
    return nodes, products | convolutions


QUICK_TARGET = Target(
    epilogues=_finished, row_tiles=True, reuses_memory=True, rows_in_loops=True, whole_vectors=True,
    early_updates=True, overwrites=True,
)  # fmt: skip
TARGET = replace(QUICK_TARGET, ahead=_made_ahead)


class _Writer:
    """Writes the text: which buffer is where, then the functions `tg_plan` and `tg_run`."""

    def __init__(self, value: Planned, ports: Ports) -> None:
        scheduled, lowered = value.scheduled, value.lowered
        self.quick, self.timed, self.returns, self.names = ports.quick, ports.timed, ports.returns, ports.names
        self.multiply_add, self.orders = ports.multiply_add, ports.orders
        self.args, self.cells, self.updated = ports.args, ports.cells, ports.updated
        self.declared, self.lengths = ports.declared or tuple([c.type for c in ports.cells]), ports.lengths
        self.lowered, self.roots, self.st = lowered, lowered.region.roots, lowered.statements
        self.first = {t: k for k, t in reversed(list(enumerate(self.roots)))}  # where each root stands first
        self.count = len(self.roots) - len(ports.updated)
        self.d = CDialect()
        self.consts = list(self.st.consts)
        self.nodes, self.modes, self.finished = scheduled.nodes, scheduled.modes, scheduled.finished
        self.rooms, self.guests, self.offsets = value.places.rooms, value.places.guests, value.places.offsets
        self.over, self.later = value.places.over, value.places.later
        self.targets = targets_of(lowered)
        self.places = moving_places(self.nodes)
        # A workspace for contiguous copies of the array arguments that need one, then those of the temporaries.
        strided = lowered.region.strided
        every = (*self.args, *self.cells)
        self.packed = [a for a in every if a.type.ndim and a in self.st.inputs and a not in strided]
        self.copied = int(bool(self.packed))
        self.asked = [a for a in self.args if a.type.ndim] if ports.asks and self.packed else []
        self.has_table = False  # whether steps are in a table: then loops over tables are functions of all programs
        self.spaces = [None] * self.copied + [self.st.stored.get(room[0]) for room in self.rooms]
        self.values = lowered.lengths.values
        self.signature = self._signature()
        self.around = self._around()  # where that begins in which each temporary lies
        begins = {b: (at, self.offsets.get(b, 0)) for b, at in self.around.items()}
        self.inner = sorted({at for b, at in begins.items() if at[1] or b in self.guests})

    # ------------------------------------------------------------------ layout of buf and env
    def _signature(self) -> Signature:
        names = [*self.names, *[None] * (len(self.args) - len(self.names))]
        orders = self.orders or (None,) * self.count
        out = [Output(t.type.dtype, t.type.ndim, order=o) for t, o in zip(self.roots[: self.count], orders)]
        new = []
        for k, (c, t) in enumerate(zip(self.updated, self.roots[self.count :])):
            target = self.targets.get(self.count + k)
            mode: Any = self.modes.get(target, "fresh") if target is not None else "fresh"
            new.append(Update(c, t.type.dtype, t.type.ndim, mode))
        return Signature(
            [Input(n, a.type.dtype, a.type.shape) for n, a in zip(names, self.args)],
            [CellInput(type_.dtype, type_.shape) for type_ in self.declared],
            len(self.consts),
            out,
            new,
            self.copied + len(self.rooms),
            len(self.values),
            returns=self.returns,
        )

    def env_of(self, sym: Sym) -> int:
        """Where a symbol stands in `env`."""
        if sym.name in self.values:
            return self.signature.extra_env(list(self.values).index(sym.name))
        kind, (arg, _, axis) = sym.name[0], sym.name[1:].partition("_")
        return self.port_env(int(arg)) + int(axis) + (self._leaf(int(arg)).type.ndim if kind == "s" else 0)

    def _leaf(self, i: int) -> Any:
        return [*self.args, *self.cells][i]

    def port_env(self, i: int) -> int:
        """Where the lengths of an argument or cell begin."""
        s, n = self.signature, len(self.args)
        return s.input_env(i) if i < n else s.cell_env(i - n)

    def _around(self) -> dict[Buf, int]:
        """The position in `buf` of the room or the result in which each temporary lies."""
        room = self.signature.workspace_buf(self.copied)
        out = {b: room + k for k, each in enumerate(self.rooms) for b in each}
        at = {h: self.signature.output_buf(k) for k, h in self.targets.items()}
        return out | {b: at[h] for b, h in self.guests.items()}

    def slots(self) -> dict[Buf, int]:
        """Position of every buffer in `buf`."""
        s, n = self.signature, len(self.args)
        cell, constant, output = s.cell_buf(0), s.constant_buf(0), s.output_buf(0)
        place = s.buf_size
        out = {b: s.input_buf(t.index) if t.index < n else cell + t.index - n for t, b in self.st.inputs.items()}
        out |= {self.st.consts[t]: constant + k for k, t in enumerate(self.consts)}
        out |= {b: output + k for k, b in self.targets.items()}  # updates follow outputs
        out |= {b: place + k for k, b in enumerate(self.places)}
        inside = {at: place + len(self.places) + k for k, at in enumerate(self.inner)}
        out |= {b: inside.get((at, self.offsets.get(b, 0)), at) for b, at in self.around.items()}
        return out | {inner: out[b] for inner, b in self.finished.items()}

    # ------------------------------------------------------------------ text
    def program(self) -> CProgram:
        aliased = {b for _, pair in replaceable(self.lowered) if pair[1] in self.modes for b in pair}
        first = {place: b for b, each in self.later.items() for place in each}
        aliased |= {first.get(b, b) for pairs in (self.finished, self.over) for pair in pairs.items() for b in pair}
        kernels = KernelWriter(self.d, self.slots(), self.env_of, aliased, self.quick)
        run = kernels.finish(self.run_text(kernels))
        others = [n for n in self.nodes if n not in kernels.costs]
        costs = [n.node.var.extent * kernels.costs[n] for n in self.nodes if n in kernels.costs]
        plan = self.plan_text(functools.reduce(plus, costs, work(others)))
        size = self.signature.buf_size + len(self.places) + len(self.inner)
        packing = self.packing()
        clock = (timers.TEXT + timers.STEPS).strip() if self.timed else ""
        orders = "TG_EXPORT int64_t tg_orders[2 * TG_ORDERS];" if self.asked else ""
        parts = [kernels.context_text(size), packing, clock, orders, *kernels.functions, plan, self.pack_text(), run]
        body = "\n\n".join(part for part in parts if part)
        kept = {(n.options["dtype"], n.sizes[0].const) for n in kernels.kept}
        kept_rows = micro_kernels.helpers(kept) if kept else ""
        thin = thin_products.helpers(body) if "tg_thin_" in body else ""
        thin += small_products.helpers(body) if "tg_gemm_small_" in body else ""
        added = any(isinstance(place, str) for _, place in self.values.values())  # by the plan, without a routine
        around = routine_helpers.helpers(body) if kernels.routines or added else ""
        calls = library_calls.helpers(thin + kept_rows + body) + thin + kept_rows + around
        helpers = prelude.needed(f"{calls}\n{body}")
        table = numpy_loops.header(f"{helpers}\n{body}")
        source = "\n\n".join(part for part in (table, helpers, calls, body) if part) + "\n"
        sites = list(self.lowered.lengths.sites)
        needs_blas = "TG_BLAS" in calls
        constants = [np.asarray(t.value) for t in self.consts]
        # z * conj(z) shall have no imaginary part: products of complex numbers stay apart from sums.
        joined = MULTIPLY_ADD if self.multiply_add and "_Complex" not in source else APART
        wide = (WIDE if VECTOR_CALL.search(body) else ()) + (GATHERS if "tg_gamma_table" in source else ())
        of_loops = loop_flags.of(source, [*others, *kernels.unlike], self.quick, kernels.own_functions > 0)
        flags = (*FLAGS, *joined, *wide, *of_loops)
        linked = prelude.libraries(source)
        program = CProgram(source, self.signature, constants, sites, self.lowered, needs_blas, flags, linked)
        program.timed_parts, program.kernels, program.spaces = kernels.timed_parts, kernels.kernels, self.spaces
        return program

    def plan_text(self, costs: Poly) -> str:
        """tg_plan: check lengths, say how large everything is and what a call costs."""
        p = Printer(self.d, [])
        p.named = {}
        lines: list[str] = []
        lengths: list[tuple[int, Poly]] = []
        lines += self.assumed_lengths()
        for check in self.lowered.lengths.checks.values():
            a, b = p.poly(check.a), p.poly(check.b)
            sign, code = ("!=", LENGTH_DIFFERS) if check.test == "eq" else ("<", LENGTH_TOO_SMALL)
            asked = f"{p.poly(check.when.a)} {check.when.test} {p.poly(check.when.b)} && " if check.when else ""
            lines.append(f"    if ({asked}{a} {sign} {b}) return tg_fail(st, {code}, {check.site}, {a}, {b}, 0, 0);")
        lines += library_calls.lengths_checked(checked_products(self.nodes), p)
        s = self.signature
        for k, t in enumerate(self.roots):
            lengths.extend(enumerate(self.shape(t), s.output_env(k)))
        lines += self.numbers(p, lengths)
        if self.packed:
            lines += self.room_for_copies(s.workspace_env(0))
        ends = [[(b, self.bytes_of(b) + self.offsets.get(b, 0)) for b in room] for room in self.rooms]
        when = {b: test for n in walk(self.nodes) if isinstance(n, Choice) for b, test in n.when.items()}
        # without lengths that are below zero where a choice leaves out what has them
        sure = [[ZERO, *[size for b, size in room if b not in when]] for room in ends]
        sizes = [functools.reduce(maximum, room) for room in sure]
        lines += self.numbers(p, list(enumerate(sizes, s.workspace_env(self.copied))))
        if when:  # what a choice may leave out has room in calls in which it is taken
            lines += room_sizes.larger(p, ends, when, s.workspace_env(self.copied))
        lines.append(f"    env[{s.work_env}] = ({p.poly(costs)}) / 3;")
        head = [f"    {self.value_text(x)};" for x in self.values]
        head += [f"    const int64_t {x.name} = env[{self.env_of(x)}];" for x in p.syms if x.name not in self.values]
        head += [f"    const int64_t {name} = {text};" for name, text in p.named.values()]
        opening = "TG_EXPORT int tg_plan(int64_t *env, char *const *buf, tg_status *st)"
        return "\n".join([opening, "{", *head, *lines, "    return 0;", "}"])

    def value_text(self, name: str) -> str:
        """Reads an integer that lengths depend on, and keeps it for `tg_run`."""
        leaf, place = self.values[name]
        at, first = self.signature.input_buf(leaf.index), self.port_env(leaf.index)  # cells follow the inputs
        text = f"((const {self.d.ctype(leaf.type.dtype)} *)buf[{at}])"
        if isinstance(place, str):
            text = f"tg_{place}_{SHORT[leaf.type.dtype]}({text}, env + {first}, {leaf.type.ndim})"
        elif not leaf.type.ndim:
            text = f"*{text}"
        else:  # a vector that is too short fails by its check
            least, which = (place + 1, f"{place}") if place >= 0 else (-place, f"(env[{first}] - {-place})")
            text = f"env[{first}] >= {least} ? {text}[{which} * env[{first + 1}]] : 0"
        return f"const int64_t {name} = env[{self.env_of(Sym(name))}] = {text}"

    def numbers(self, p: Printer, given: Sequence[tuple[int, Poly]]) -> list[str]:
        """Puts numbers into places of env that follow each other: line by line, or from a table if they are known."""
        first, known = given[0][0] if given else 0, [n.const for _, n in given]
        if len(given) < MANY or None in known or given[-1][0] - first != len(given) - 1:
            return [f"    env[{at}] = {p.poly(n)};" for at, n in given]
        row = ",".join(map(str, known))
        return [
            f"    static const int64_t from{first}[] = {{{row}}};",
            f"    __builtin_memcpy(env + {first}, from{first}, sizeof from{first});",
        ]

    def assumed_lengths(self) -> list[str]:
        """Another program answers where lengths of cells are not those that this one was made for."""
        pairs = [(self.env_of(x), n) for x, n in self.lowered.lengths.assumed.items()]
        for k, (lengths, type_) in enumerate(zip(self.lengths, self.declared)):
            open_ = enumerate(zip(lengths, type_.shape), self.signature.cell_env(k))
            pairs += [(at, n) for at, (n, promised) in open_ if n is not None and promised is None]
        pairs = list(dict.fromkeys(pairs))
        other = "return (int)(st->code = TG_LAYOUT);"
        if len(pairs) < MANY:
            return [f"    if (env[{at}] != {n}) {other}" for at, n in pairs]
        rows = ",".join(f"{at},{n}" for at, n in pairs)
        each = f"for (int k = 0; k < {2 * len(pairs)}; k += 2) if (env[known[k]] != known[k + 1])"
        asks = f"if (tg_has_other_lengths(env, known, {len(pairs)}))" if self.has_table else each
        return [f"    static const int64_t known[] = {{{rows}}};", f"    {asks} {other}"]

    def shape(self, t: Any) -> tuple[Poly, ...]:
        """Lengths of an output (composite ops were expanded: look it up by position)."""
        lengths = self.lowered.lengths
        return lengths[self.lowered.outputs[self.first[t]]]

    def bytes_of(self, b: Buf) -> Poly:
        """Size of a buffer."""
        return product(b.shape) * np.dtype(b.dtype).itemsize

    def room_for_copies(self, at: int) -> list[str]:
        """Bytes for the arguments that have to be copied. Most calls copy none: strides are compared first."""
        if self.many_packed:
            sizes = f"tg_copied_size(env, tg_ports, {4 * len(self.packed)})"
        else:
            sizes = " + ".join(f"tg_packed_size({self.layout(a)})" for a in self.packed)
        if sum(a.type.ndim for a in self.packed) > COMPARED:
            lines = [f"    env[{at}] = {sizes};"]
        else:
            odd = " | ".join([self.misplaced(a) for a in self.packed])
            lines = [f"    env[{at}] = 0;", f"    if ({odd}) env[{at}] = {sizes};"]
        if self.asked:
            places = ", ".join(f"{self.port_env(a.index)}, {a.type.ndim}" for a in self.asked)
            asks = f"tg_rt->relayout(tg_orders, env, (const int32_t[]){{{places}}}, {len(self.asked)}, env[{at}])"
            lines.append(f"    if (env[{at}] >= {MUCH} && {asks}) return (int)(st->code = TG_LAYOUT);")
        return lines

    def misplaced(self, a: Arg) -> str:
        """Not zero if an argument does not lie in row-major order."""
        first, nd = self.port_env(a.index), a.type.ndim
        steps = [f"(env[{first + nd + d}] - env[{first + nd + d + 1}] * env[{first + d + 1}])" for d in range(nd - 1)]
        return " | ".join([f"(env[{first + 2 * nd - 1}] - 1)", *steps])

    @property
    def many_packed(self) -> bool:
        """Whether arguments that may be copied are in a table."""
        return len(self.packed) >= MANY

    def packing(self) -> str:
        """What copies arguments, with a table of these if they are many."""
        if not self.many_packed:
            return PACKING.strip() if self.packed else ""
        slots = self.slots()
        rows = [
            (self.port_env(a.index), a.type.ndim, a.type.np_dtype.itemsize, slots[self.st.inputs[a]])
            for a in self.packed
        ]
        table = ",".join(str(n) for row in rows for n in row)
        return "\n".join([PACKING.strip(), f"static const int32_t tg_ports[] = {{{table}}};"])

    def layout(self, a: Arg) -> str:
        """What helpers are told of an argument: its lengths and strides, their number, the size of an element."""
        return f"env + {self.port_env(a.index)}, {a.type.ndim}, {a.type.np_dtype.itemsize}"

    def pack_text(self) -> str:
        """The function that copies arguments that do not lie in row-major order; called only if there are some."""
        if self.many_packed or not self.packed:
            return ""
        head = "static __attribute__((noinline, cold)) void tg_pack_arguments(tg_context *c)"
        lines = ["    const int64_t *env = c->env;", f"    char *at = c->buf[{self.signature.workspace_buf(0)}];"]
        slots = [self.slots()[self.st.inputs[a]] for a in self.packed]
        copies = [f"tg_packed(&at, c->buf[{slot}], {self.layout(a)})" for slot, a in zip(slots, self.packed)]
        lines += [f"    c->buf[{slot}] = {copy};" for slot, copy in zip(slots, copies)]
        return "\n".join([head, "{", *lines, "}"])

    def copying(self) -> str:
        """The statement that calls it; of many arguments, what works off their table."""
        if not self.many_packed:
            return "tg_pack_arguments(c);"
        at = self.signature.workspace_buf(0)
        return f"tg_pack_ports(c->buf, env, c->buf[{at}], tg_ports, {4 * len(self.packed)});"

    def bytes_held(self) -> Poly:
        """The size of all results."""
        return functools.reduce(lambda a, b: a + b, [self.bytes_of(b) for b in self.targets.values()], poly(0))

    def run_text(self, kernels: KernelWriter) -> str:
        """tg_run: kernels, library calls and scalars in order."""
        moved = elsewhere(self.nodes, self.later, self.finished)
        top = kernels.top(self.nodes, self.timed, table=True, elsewhere=moved)
        held = top.poly(self.bytes_held()) if self.timed else ""
        lines = ["    tg_context context = {.env = env, .st = st}, *const c = &context;"]
        self.has_table = bool(kernels.equal.steps)
        if self.signature.buf_size < COPIED_AT_ONCE:
            lines.append(f"    for (int i = 0; i < {self.signature.buf_size}; i++) c->buf[i] = buf[i];")
        else:
            lines.append(f"    __builtin_memcpy(c->buf, buf, {self.signature.buf_size} * sizeof *buf);")
        if self.packed:
            lines.append(f"    if (env[{self.signature.workspace_env(0)}]) {self.copying()}")
        lines += self.inside_rooms()
        lines += kernels.head(top, restrict=False)
        lines += [timers.BEGIN] if self.timed else []
        lines += top.lines
        lines += self.copies()
        if self.timed:
            rooms = "".join(f" + env[{self.signature.workspace_env(k)}]" for k in range(self.signature.workspaces))
            lines.append(f"    tg_ended(st, started, {held}{rooms});")
        return "\n".join([
            "TG_EXPORT int tg_run(char **buf, const int64_t *env, tg_status *st)", "{", *lines, "    return 0;", "}",
        ])  # fmt: skip

    def inside_rooms(self) -> list[str]:
        """Where buffers begin that have an offset in their room, or lie in a result: there at a line of the cache."""
        to = self.signature.buf_size + len(self.places)
        if len(self.inner) < MANY:
            return [f"    c->buf[{to + j}] = {_line(f'buf[{at}] + {n}')};" for j, (at, n) in enumerate(self.inner)]
        rows = ",".join(f"{at},{n}" for at, n in self.inner)
        each = f"for (int k = 0; k < {len(self.inner)}; k++) c->buf[{to} + k] ="
        loop = f"{each} {_line('buf[inside[2 * k]] + inside[2 * k + 1]')};"
        call = f"tg_lay_inside(c->buf + {to}, buf, inside, {len(self.inner)});"
        return [f"    static const int64_t inside[] = {{{rows}}};", f"    {call if self.has_table else loop}"]

    def copies(self) -> list[str]:
        """Outputs that are equal are computed once."""
        first: dict[Any, int] = {}
        out = []
        s = self.signature
        for k, t in enumerate(self.lowered.outputs):
            if t in first:
                p = Printer(self.d, [])
                size = p.poly(product(self.lowered.lengths[t]) * t.type.np_dtype.itemsize)
                lengths = "".join(f" const int64_t {x.name} = env[{self.env_of(x)}];" for x in p.syms)
                copied = f"__builtin_memcpy(buf[{s.output_buf(k)}], buf[{s.output_buf(first[t])}], {size});"
                out.append(f"    {{{lengths} {copied} }}")
            first.setdefault(t, k)
        return out


def _line(address: str) -> str:
    """The next line of the cache: results begin anywhere."""
    return f"(char *)((int64_t)({address} + {LINE - 1}) & -{LINE})"
