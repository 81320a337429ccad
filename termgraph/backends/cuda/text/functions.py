"""Kernels as text: the function around a printed body, what it is called with, and what a launch needs to know."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

from termgraph._records import NamedTuple, record
from termgraph.backends.cuda.text.dialect import CudaDialect
from termgraph.backends.cuda.text.nests import is_argument
from termgraph.backends.cuda.text.printer import CudaPrinter
from termgraph.backends.cuda.text.scatter import Claim
from termgraph.backends.cuda.text.vector_access import Vectors
from termgraph.lower.lengths.index import ONE, Poly, Var
from termgraph.lower.loops.tree import Call, Let, Node, Repeat, Routine, walk
from termgraph.lower.push.kernel import HEAVY, Buf, operands_first, own_cost
from termgraph.progress import kernel_written
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm

BLOCK = 256
PARTS = 1024  # a fold over everything has at most that many partial results
UNDER_WAY = 8  # loads of a thread that folds many elements, before the first of them is used
HELD = 8  # elements of a row that one thread keeps in registers
HELD_BY_WARP = 32  # of a row that a warp keeps: it waits for no other
PART_ROWS = 64  # rows of a column that a block has at least
LEAST_ROWS = 4 * PART_ROWS  # columns that are shorter are not done in parts
LEAST_ROW = 1 << 14  # elements of a row that is done in parts, if there are few rows,
PART_OF_ROW = 1 << 11  # and of a part at least
SPREAD = 1056  # blocks that columns and long rows are shared out among, if there are fewer of them
SLOT = 16  # bytes for a scalar that one kernel computes and others use


@record
class KernelText:
    """One kernel, with what a launch needs. `params` are (kind, what); `count` is the number of elements or rows.

    kind "flat": `vectors` says how many elements one thread takes at once, and when; `held` is the kernel that turns
    "squares" of elements, `count` of them, with sides of `inner`. "rows": `inner` are the lengths that a team shares
    out, `team` is 1 if one thread has to do a row alone, `held` the kernel for rows that fit in registers, `by_warps`
    that for rows which a warp keeps, with more of them in each thread. "parts" and "whole" are the phases of a fold
    over everything. "serial": one block does it all. `phases` are the kernels that do long columns in parts: `count`
    blocks of columns, `inner` how many columns and rows, `team` folds that leave partial results.
    `most` is the largest block. The text asks for at least one block per processor (the 1 in its bounds): else ptxas
    rather spills registers than runs fewer blocks.
    """

    name: str
    kind: str
    params: list[tuple[str, Any]]
    source: str
    count: Poly = ONE
    inner: list[Poly] = field(default_factory=list)
    team: int = 0
    most: int = BLOCK
    vectors: Vectors | None = None
    held: KernelText | None = None
    by_warps: KernelText | None = None
    phases: list[KernelText] = field(default_factory=list)
    final: bool = False  # writes new values of shared variables, when all else has been done


@record
class Product:
    """A matrix product between kernels; `alpha` is the slot of a scalar, or a constant.

    `guard` is the slot that says whether it is needed at all.
    """

    call: Call
    alpha: Any = None
    guard: int | None = None
    final: bool = False


@record
class AxisCall:
    """A running sum or a sorting between kernels; `guard` as of a product."""

    call: Call
    final: bool = False
    guard: int | None = None


@record
class RoutineCall:
    """Pooling, a convolution or a gradient of one between kernels; `guard` as of a product."""

    routine: Routine
    guard: int | None = None


@record
class Steps:
    """A loop over steps: the host moves the addresses that its kernels get, and queues them once per step."""

    repeat: Repeat
    body: list[Any]


class Launch(NamedTuple):
    """One launch. `numbers` are the values of parameters that are not buffers, by kind and name."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: list[tuple[str, Any]]
    numbers: dict[str, Any]
    scratch: int = 0  # bytes for rows that are kept while a kernel works on them; in a plan, the number of that room
    product: dict[str, Any] | None = None  # of a matrix product: what a library needs


class ByLibrary(NamedTuple):
    """A convolution that cuDNN may compute: what it is told, and our own launches, where it is not there or refuses."""

    call: dict[str, Any]
    own: list[Launch]


def every_step(steps: Sequence[Any]) -> list[Any]:
    """Kernels and products, those inside loops included."""
    return [y for x in steps for y in (every_step(x.body) if isinstance(x, Steps) else [x])]  # as deep as loops nest


def texts_of(s: KernelText) -> list[KernelText]:
    """The kernels of a step: which one is launched, lengths decide."""
    return [k for k in (s, s.held, s.by_warps, *s.phases) if k is not None]


def is_light(body: Sequence[Node]) -> bool:
    """Whether nothing calls functions that take many registers."""
    return all(own_cost(n.term) < HEAVY for n in walk(list(body)) if isinstance(n, Let))


class FunctionWriter:
    """Collects the kernels of a program, and which scalars they leave for each other."""

    def __init__(self, dialect: CudaDialect, aliased: Collection[Buf] = ()) -> None:
        self.d, self.aliased = dialect, aliased  # buffers that may be in the place of others
        self.steps: list[Any] = []
        self.count = 0
        self.slots: dict[Any, int] = {}  # scalars that are kept between kernels
        self.outside: dict[Any, str] = {}
        self.atomic = False  # whether the loop at hand adds to memory from many threads
        self.guard: int | None = None  # the slot that says whether kernels have to run, inside a choice
        self.depth = 0  # how many loops over steps are around
        self.claim: Claim | None = None  # which iteration may write, in a scatter that overwrites
        self.holders: list[Buf] = []
        self.open_fold: Any = None  # a fold over everything whose kernels wait for what follows it
        self.shared: set[Any] = set()  # values that another kernel uses than the one that computes them
        self.partials: list[int] = []  # bytes of the partial results of each fold over everything
        self.texts: dict[str, tuple[str, str]] = {}  # (name, text) of each kernel by its text without names
        self.taken: set[str] = set()

    def slot(self, t: AnyTerm) -> int:
        """Where a scalar is kept, in bytes."""
        if t not in self.slots:
            self.slots[t] = SLOT * len(self.slots)
            self.outside.setdefault(t, f"g{len(self.outside)}")
        return self.slots[t]

    def keep(self, t: Any, name: str) -> str:
        """The statement that keeps a scalar for later kernels."""
        return f"*({self.d.ctype(t.type.dtype)} *)(tg_scalars + {self.slot(t)}) = {name};"

    def scalar_statements(self, p: CudaPrinter, nodes: Sequence[Node]) -> None:
        """What stands between loops, and what of it other kernels use."""
        p.once, p.chunk = {t for t in p.used_once(nodes) if t not in self.shared}, nodes
        p.body(nodes)
        for n in nodes:
            term = getattr(n, "term", None)
            if term in self.shared:
                p.add(self.keep(term, p.text[term]))

    def printer(self, nodes: Sequence[Node]) -> CudaPrinter:
        return self.in_step(CudaPrinter(self.d, nodes, self.outside))

    def in_step(self, p: CudaPrinter) -> CudaPrinter:
        """The printer, told whether failures have a step."""
        p.step = "tg_step" if self.depth else "0"
        return p

    def flag(self, slot: int) -> str:
        """A condition that is kept between kernels."""
        return f"*(bool *)(tg_scalars + {slot})"

    def decompose(self, p: CudaPrinter, vars_: Sequence[Var], flat: str) -> None:
        """The loop variables of a flat position."""
        p.add(*p.digits(vars_, flat))

    def batches(self, p: CudaPrinter, vars_: Sequence[Var], bounds: tuple[str, str, str], body: Sequence[Node]) -> None:
        """A loop with many steps of a thread, by `bounds`: first, end and step; several loads are under way at once.

        Not of what calls functions: it would cost registers.
        """
        first, end, step = bounds
        p.add(f"tg_int at = {first};")
        if is_light(body):
            with p.block(f"for (; at < {end} - {UNDER_WAY - 1} * {step}; at += {UNDER_WAY} * {step})"):
                p.add("#pragma unroll")
                with p.block(f"for (int u = 0; u < {UNDER_WAY}; u++)"):
                    self.element(p, vars_, f"at + u * {step}")
                    p.body(body)
        with p.block(f"for (; at < {end}; at += {step})"):
            self.element(p, vars_, "at")
            p.body(body)

    def element(self, p: CudaPrinter, vars_: Sequence[Var], place: str) -> None:
        """The variables of an element of nested loops."""
        if len(vars_) > 1:
            p.add(f"const tg_int flat = {place};")
        self.decompose(p, vars_, place if len(vars_) == 1 else "flat")

    # ------------------------------------------------------------------ text
    def finish(
        self, p: CudaPrinter, kind: str, name: str = "", extra: tuple[str, Any] | None = None,
        names: Sequence[str] = (), **launch: Any,
    ) -> KernelText:  # fmt: skip
        """The function around a printed body, and how it is launched."""
        if own := not name:
            name = f"kernel{self.count}"
            self.count += 1
        kernel_written()
        for r in p.rows:
            p.poly(r.length)
        params, text, head = self.parameters(p, kind, launch.get("vectors"))
        if extra is not None:
            params.append(extra)
            text.append("char *tg_partials")
            if kind in ("whole", "phase"):
                params.append(("parts", None))
                text.append("int parts")
            head += [f"char *{n} = tg_partials + {SLOT * PARTS * k};" for k, n in enumerate(names)]
        room = [f"__shared__ __align__(16) char tg_room[{p.room}];"] if p.uses_room else []
        bound = launch.pop("most", p.cached.threads() if p.cached else BLOCK)
        lines = [
            f'extern "C" __global__ void __launch_bounds__({bound}, 1) {name}({", ".join(text)})',
            "{",
            *[f"    {line}" for line in [*room, *head]],
            *p.lines,
            "}",
        ]
        name, source = self.once(name, "\n".join(lines), [b.name for b in p.bufs])
        found = KernelText(name, kind, params, source, most=bound, **launch)
        if own:
            self.steps.append(found)
        return found

    def once(self, name: str, source: str, bufs: Sequence[str]) -> tuple[str, str]:
        """The kernel as it is compiled: one for all that differ in the names of their buffers only."""
        number: dict[str, str] = {}
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, [name, *bufs]))})(?=\b|_all\b)")
        plain = pattern.sub(lambda found: number.setdefault(found[0], f"${len(number)}"), source)
        if plain not in self.texts:
            if name in self.taken:  # of another text, whose first kernel is the same
                new = f"kernel{self.count}" + "".join(name.partition("_")[1:])
                self.count += 1
                source, name = re.sub(rf"\b{name}\b", new, source), new
            self.taken.add(name)
            self.texts[plain] = name, source
        return self.texts[plain]

    def is_readable(self, t: AnyTerm) -> bool:
        """Whether a value is an argument without dimensions, which every kernel can read where it is.

        Not so in a step of a loop, whose results may be where its operands are.
        """
        return not self.depth and is_argument(t) and t.op.params["buf"] not in self.aliased

    def given(self, p: CudaPrinter, t: AnyTerm) -> str:
        """A value that is not computed in this kernel: kept by an earlier one, an argument, or of lengths only."""
        if t in self.slots:
            return f"*(const {self.d.ctype(t.type.dtype)} *)(tg_scalars + {self.slots[t]})"
        texts: dict[Any, str] = {}
        for x in operands_first([t]):
            if x.op is CONST:
                texts[x] = self.d.literal(x.value, x.type.dtype)
            elif x.op.kind == "elementwise":
                texts[x] = self.d.expression(x, [texts[a] for a in x.args])
            else:
                texts[x] = f"({p.expression(x)})"
        return texts[t]

    def parameters(
        self, p: CudaPrinter, kind: str, vectors: Vectors | None
    ) -> tuple[list[tuple[str, Any]], list[str], list[str]]:
        """(what to pass, how it is declared, first lines of the body)."""
        params: list[tuple[str, Any]] = []
        text: list[str] = []
        head: list[str] = []
        teams = any("lane = threadIdx.x % team;" in line for line in p.lines)
        outside = {t: self.given(p, t) for t in p.used_outside}
        for b in p.bufs:  # in the order of the text, which is that of equal kernels
            if b.kind in ("tile", "row"):
                continue
            const, alone = "" if b in p.written else "const ", "" if b in self.aliased else "__restrict__ "
            params.append(("buf", b))
            text.append(f"{const}{self.d.stored_type(b.dtype)} *{alone}{b.name}")
        for r in p.rows:
            c = self.d.ctype(r.buf.dtype)
            params.append(("row", r))
            text.append(f"{c} *{r.buf.name}_all")
            team = "(blockIdx.x * (tg_int)blockDim.x + threadIdx.x)" + (" / team" if teams else "")
            head.append(f"{c} *__restrict__ {r.buf.name} = {r.buf.name}_all + {team} * ({p.poly(r.length)});")
        for s in p.syms:
            params.append(("sym", s))
            text.append(f"tg_int {s.name}")
        kept = any(t in self.slots for t in p.used_outside) or any("tg_scalars" in line for line in p.lines)
        if kept or self.guard is not None:
            params.append(("scalars", None))
            text.append("char *__restrict__ tg_scalars")
        if self.guard is not None:
            head.insert(0, f"if (!{self.flag(self.guard)}) return;")
        for t, value in outside.items():
            head.append(f"const {self.d.ctype(t.type.dtype)} {p.outside[t]} = {value};")
        if p.checks:
            params.append(("status", None))
            text.append("int64_t *tg_status")
            if self.depth:
                params.append(("step", None))
                text.append("int64_t tg_step")
        if teams:
            params.append(("team", None))
            text.append("int team")
        if any("vector ?" in line for line in p.lines):
            params.append(("vector", vectors.bufs if vectors else ()))
            text.append("int vector")
        return params, text, head
