"""The kernels of a program: one for each outermost loop, one for each run of scalars between loops.

A loop nest is run flat (one thread per element, 128-bit accesses where elements are contiguous), by rows (a team of one
thread, a warp or a block per row) or as a fold over everything in two phases. May import lower and this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from termgraph.backends.cstyle import index_references, references
from termgraph.backends.cuda.dialect import CudaDialect, can_add_atomically
from termgraph.backends.cuda.printer import ColumnPrinter, CudaPrinter, cached_row
from termgraph.backends.cuda.vectors import Vectors, vectors_of
from termgraph.lower.index import ONE, Poly, Sym, Var, product
from termgraph.lower.kernel import ARG_FOLDS, HEAVY, ITEST, IVAL, Buf, operands_first, own_cost, scalars
from termgraph.lower.memory import loads
from termgraph.lower.tree import Call, Columns, Kernel, Let, Loop, Node, Reduce, Repeat, Row, Tiles, Write, walk
from termgraph.terms.op import CONST

BLOCK = 256
PARTS = 512  # a fold over everything has at most that many partial results
HELD = 8  # elements of a row that one thread keeps in registers
SLOT = 16  # bytes for a scalar that one kernel computes and others use


@dataclass
class KernelText:
    """One kernel, with what a launch needs. `params` are (kind, what); `count` is the number of elements or rows.

    kind "flat": `vectors` says how many elements one thread takes at once, and when. "rows": `inner` are the lengths
    that a team shares out, `team` is 1 if one thread has to do a row alone, `held` the kernel for rows that fit in
    registers. "parts" and "whole" are the phases of a fold over everything. "serial": one block does it all.
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


@dataclass
class Product:
    """A matrix product between kernels; `alpha` is the slot of a scalar, or a constant."""

    call: Call
    alpha: Any = None


@dataclass
class Steps:
    """A loop over steps: the host moves the addresses that its kernels get, and queues them once per step."""

    repeat: Repeat
    body: list[Any]


class KernelWriter:
    """Writes the kernels of a loop tree in the order in which they run."""

    def __init__(self, dialect: CudaDialect) -> None:
        self.d = dialect
        self.steps: list[Any] = []
        self.count = 0
        self.slots: dict[Any, int] = {}  # scalars that are kept between kernels
        self.outside: dict[Any, str] = {}
        self.atomic = False  # whether the loop at hand adds to memory from many threads
        self.partials: list[int] = []  # bytes of the partial results of each fold over everything

    # ------------------------------------------------------------------ the program
    def write(self, nodes: Sequence[Node]) -> list[Any]:
        """Kernels and matrix products."""
        scalars: list[Node] = []
        self.shared = _used_elsewhere(nodes)
        factors = {n.options["alpha"] for n in nodes if isinstance(n, Call) and "alpha" in n.options}
        for n in nodes:
            if isinstance(n, (Kernel, Call, Repeat)):
                self.scalars(scalars)
                scalars = []
                write: Any = {Kernel: self.kernel, Call: self.product, Repeat: self.repeat}[type(n)]
                write(n)
            elif isinstance(n, Let) and n.term not in factors and _of_lengths(n.term):
                self.outside[n.term] = f"g{len(self.outside)}"  # each kernel works it out for itself
            else:
                scalars.append(n)
        self.scalars(scalars)
        return self.steps

    def repeat(self, n: Repeat) -> None:
        """A loop over steps; its body is a program of its own."""
        kept, self.steps = (self.steps, self.shared), []
        body = self.write(n.body)
        self.steps, self.shared = kept
        self.steps.append(Steps(n, body))

    def slot(self, t: Any) -> int:
        """Where a scalar is kept, in bytes."""
        if t not in self.slots:
            self.slots[t] = SLOT * len(self.slots)
            self.outside[t] = f"g{len(self.outside)}"
        return self.slots[t]

    def product(self, n: Call) -> None:
        alpha = n.options.get("alpha")
        if alpha is not None and alpha in self.slots:
            alpha = ("slot", self.slots[alpha])
        self.steps.append(Product(n, alpha))

    def scalars(self, nodes: list[Node]) -> None:
        """What stands between loops, done by one thread."""
        if not nodes:
            return
        p = self.printer(nodes)
        p.once, p.chunk = {t for t in p.used_once(nodes) if t not in self.shared}, nodes
        p.body(nodes)
        for n in nodes:
            term = getattr(n, "term", None)
            if term in self.shared:
                p.add(self.keep(term, p.text[term]))
        self.finish(p, "single")

    def keep(self, t: Any, name: str) -> str:
        """The statement that keeps a scalar for later kernels."""
        return f"*({self.d.ctype(t.type.dtype)} *)(tg_scalars + {self.slot(t)}) = {name};"

    def printer(self, nodes: Sequence[Node]) -> CudaPrinter:
        return CudaPrinter(self.d, nodes, self.outside)

    # ------------------------------------------------------------------ loops
    def kernel(self, n: Kernel) -> None:
        """The kernel of one outermost loop."""
        loop = n.node
        if isinstance(loop, Reduce):
            self.fold(loop)
        elif isinstance(loop, Tiles):
            body = [m for part in loop.parts for m in part]
            self.flat([], loop.var, body, loop.slots)
        elif not n.parallel and not _adds_only(n):
            self.serial(loop)
        else:
            nest, innermost = _nest(loop)
            self.atomic = not n.parallel
            if isinstance(innermost, Columns) and (nest or self.atomic):
                self.columns(nest, innermost)
            elif isinstance(innermost, Columns):
                self.columns_of_blocks(innermost)
            elif _is_straight(innermost.body):
                self.flat(nest[:-1], innermost.var, innermost.body)
            else:
                self.rows(nest, innermost.body)

    def flat(self, outer: list[Any], var: Var, body: list[Node], slots: Sequence[Buf] = ()) -> None:
        """One thread per element, or per 16 bytes of elements."""
        lets = [n for loop in outer for n in loop.body if isinstance(n, Let)]
        vars_ = [loop.var for loop in outer] + [var]
        vectors = None if slots or lets or self.atomic else vectors_of(vars_, body)
        p = self.printer([*lets, *body])
        p.atomic = self.atomic
        total = p.poly(product(v.extent for v in vars_))
        begin = "0"
        if vectors:
            p.add(f"const tg_int whole = vector ? ({total}) / {vectors.width} : 0;")
            with p.block(_grid("w", "whole")):
                vectors.write(p, vars_, body)
            begin = f"whole * {vectors.width}"
        with p.block(_grid("t", total, begin)):
            self.decompose(p, vars_, "t")
            p.add(*[f"{self.d.ctype(b.dtype)} {b.name};" for b in slots])
            p.body([*lets, *body])
        self.finish(p, "flat", count=product(v.extent for v in vars_), vectors=vectors)

    def decompose(self, p: CudaPrinter, vars_: Sequence[Var], flat: str) -> None:
        """The loop variables of a flat position."""
        rest = flat
        for k in range(len(vars_) - 1, 0, -1):
            extent = p.poly(vars_[k].extent)
            p.add(f"const tg_int i{vars_[k].level} = {rest} % ({extent});")
            if k > 1:
                p.add(f"const tg_int r{k} = {rest} / ({extent});")
                rest = f"r{k}"
            else:
                rest = f"{rest} / ({extent})"
        if vars_:
            p.add(f"const tg_int i{vars_[0].level} = {rest};")

    def columns(self, nest: list[Any], loop: Columns) -> None:
        """One thread per column: neighbours read neighbouring elements."""
        lets = [n for outer in nest for n in outer.body if isinstance(n, Let)]
        vars_ = [*[outer.var for outer in nest], loop.var]
        p = self.printer([*lets, loop])
        with p.block(_grid("t", p.poly(product(v.extent for v in vars_)))):
            self.decompose(p, vars_, "t")
            p.body(lets)
            p.sweeps(loop)
        self.finish(p, "flat", count=product(v.extent for v in vars_))

    def columns_of_blocks(self, loop: Columns) -> None:
        """Blocks of 32 columns, whose rows are shared out among the warps of a block."""
        p = ColumnPrinter(self.d, [loop], self.outside)
        n = p.poly(loop.var.extent)
        p.add("const int lane = threadIdx.y, team = blockDim.y;")
        with p.block(f"for (tg_int first = blockIdx.x * 32; first < {n}; first += gridDim.x * 32)"):
            p.add(f"const bool inside = first + (tg_int)threadIdx.x < {n};")
            p.add(f"const tg_int i{loop.var.level} = inside ? first + (tg_int)threadIdx.x : {n} - 1;")
            p.team = True
            p.statements(loop.body)
            p.team = False
        light = all(own_cost(m.term) < HEAVY for m in walk([loop]) if isinstance(m, Let))
        self.finish(p, "columns", count=loop.var.extent, most=1024 if light else BLOCK)

    def rows(self, nest: list[Any], body: list[Node]) -> None:
        """A team of threads per row; a second kernel keeps the row in registers, if that saves reading it again."""
        count = product(loop.var.extent for loop in nest)
        alone = _has_serial(body)
        streaming = self.row_kernel(nest, body, 0)
        text = self.finish(streaming, "rows", count=count, inner=_shared_out(body), team=1 if alone else 0)
        if not alone and cached_row(body, HELD) is not None:
            held = self.row_kernel(nest, body, HELD)
            text.held = self.finish(held, "rows", count=count, inner=_shared_out(body), name=f"{text.name}_held")

    def row_kernel(self, nest: list[Any], body: list[Node], held: int) -> CudaPrinter:
        lets = [n for loop in nest[:-1] for n in loop.body if isinstance(n, Let)]
        vars_ = [loop.var for loop in nest]
        p = self.printer([*lets, *body])
        p.atomic = self.atomic
        p.cached = cached_row(body, held) if held else None
        p.add("const int lane = threadIdx.x % team;")
        count = p.poly(product(v.extent for v in vars_))
        with p.block(_teams("t", count)):
            self.decompose(p, vars_, "t")
            if p.cached:
                p.add(*p.cached.declarations(self.d))
            p.team = True
            p.statements([*lets, *body])
            p.team = False
        return p

    def serial(self, loop: Any) -> None:
        """Iterations that have to run in order: one block, which shares out what is inside each."""
        self.atomic = False
        p = self.printer([loop])
        if (isinstance(loop, Loop) and _is_straight(loop.body)) or _has_serial(loop.body):
            p.node(loop)
            self.finish(p, "single")
            return
        p.add("const int lane = threadIdx.x % team;")
        with p.block(p.for_head(loop.var)):
            p.team = True
            p.statements(loop.body)
            p.team = False
            p.add("__syncthreads();")
        self.finish(p, "serial", inner=_shared_out(loop.body))

    # ------------------------------------------------------------------ folds over everything
    def fold(self, loop: Reduce) -> None:
        """Partial results of many blocks, then their fold by one: in an order that only the length decides."""
        self.atomic = False
        number = len(self.partials)
        names = [f"part{k}" for k in range(2 * len(loop.folds))]
        p = self.printer([loop])
        straight = _is_straight(loop.body)
        accs = self.elements(p, loop) if straight else self.rows_of_fold(p, loop)
        p.width = "(int)blockDim.x"
        for f, acc in accs:
            p.join(f, acc)
        with p.block("if (threadIdx.x == 0)"):
            for k, (f, acc) in enumerate(accs):
                p.add(f"{self.part(f, names[k], 'blockIdx.x')} = {acc};")
                if f.op.params["kind"] in ARG_FOLDS:
                    p.add(f"{self.part(f, names[len(accs) + k], 'blockIdx.x', best=True)} = {acc}_best;")
        self.partials.append(2 * len(accs) * PARTS * 8)
        launch: dict[str, Any] = {"count": loop.var.extent, "extra": ("partials", number), "names": names}
        if not straight:
            launch |= {"inner": _shared_out(loop.body), "team": int(_has_serial(loop.body))}
        self.finish(p, "parts", **launch)
        self.second_phase(loop, number, names)

    def elements(self, p: CudaPrinter, loop: Reduce) -> list[tuple[Any, str]]:
        """Each thread folds every so many elements."""
        accs = self.accumulators(p, loop)
        first = "blockIdx.x * (tg_int)blockDim.x + threadIdx.x"
        i, step = f"i{loop.var.level}", "gridDim.x * (tg_int)blockDim.x"
        if all(own_cost(n.term) < HEAVY for n in walk(loop.body) if isinstance(n, Let)):
            p.add("#pragma unroll 4")  # several loads under way; of functions that are called it would cost registers
        with p.block(f"for (tg_int {i} = {first}; {i} < {p.poly(loop.var.extent)}; {i} += {step})"):
            p.body(loop.body)
        return accs

    def rows_of_fold(self, p: CudaPrinter, loop: Reduce) -> list[tuple[Any, str]]:
        """Each team folds the results of every so many rows; then only its first thread has something to add."""
        p.add("const int lane = threadIdx.x % team;")
        accs = self.accumulators(p, loop)
        i = f"i{loop.var.level}"
        with p.block(_teams(i, p.poly(loop.var.extent))):
            p.team = True
            p.statements(loop.body)
            p.team = False
        for f, acc in accs:
            kind = f.op.params["kind"]
            name, dtype = (f"{acc}_best", f.args[0].type.dtype) if kind in ARG_FOLDS else (acc, f.type.dtype)
            zero = f", {acc} = 0" if kind in ARG_FOLDS else ""
            p.add(f"if (lane != 0) {name} = {self.d.fold_init(ARG_FOLDS.get(kind, kind), dtype)}{zero};")
        return accs

    def second_phase(self, loop: Reduce, number: int, names: list[str]) -> None:
        p = self.printer([])
        p.add("const int team = blockDim.x, lane = threadIdx.x;")
        accs = self.accumulators(p, loop)
        with p.block("for (int part = lane; part < parts; part += team)"):
            for k, (f, acc) in enumerate(accs):
                kind, value = f.op.params["kind"], self.part(f, names[k], "part")
                if kind in ARG_FOLDS:
                    best, smallest = (
                        self.part(f, names[len(accs) + k], "part", best=True),
                        str(kind == "argmin").lower(),
                    )
                    p.add(f"if (tg_better({smallest}, {best}, {value}, {acc}_best, {acc}))")
                    p.add(f"    {acc}_best = {best}, {acc} = {value};")
                else:
                    p.add(self.d.fold_step(kind, f.type.dtype, acc, value))
        for f, acc in accs:
            p.join(f, acc)
        with p.block("if (lane == 0)"):
            for f, acc in accs:
                p.add(self.keep(f, acc))
        self.finish(p, "whole", extra=("partials", number), names=names)

    def accumulators(self, p: CudaPrinter, loop: Reduce) -> list[tuple[Any, str]]:
        """The variables of the folds."""
        out = []
        for f in loop.folds:
            acc = p.names.new("a")
            p.declare_fold(f, acc)
            p.text["acc", f] = acc
            out.append((f, acc))
        return out

    def part(self, f: Any, name: str, index: str, best: bool = False) -> str:
        """A partial result; those of a fold are as far apart as the largest type needs."""
        c = self.d.ctype(f.args[0].type.dtype if best else f.type.dtype)
        return f"(({c} *){name})[{index}]"

    # ------------------------------------------------------------------ text
    def finish(
        self, p: CudaPrinter, kind: str, name: str = "", extra: tuple[str, Any] | None = None,
        names: Sequence[str] = (), **launch: Any,
    ) -> KernelText:  # fmt: skip
        """The function around a printed body, and how it is launched."""
        if not name:
            name = f"kernel{self.count}"
            self.count += 1
        for r in p.rows:
            p.poly(r.length)
        params, text, head = self.parameters(p, kind)
        if extra is not None:
            params.append(extra)
            text.append("char *tg_partials")
            if kind == "whole":
                params.append(("parts", None))
                text.append("int parts")
            head += [f"char *{n} = tg_partials + {8 * PARTS * k};" for k, n in enumerate(names)]
        room = [f"__shared__ __align__(16) char tg_room[{p.room}];"] if p.uses_room else []
        bound = launch.pop("most", p.cached.threads() if p.cached else BLOCK)
        lines = [
            f'extern "C" __global__ void __launch_bounds__({bound}, 1) {name}({", ".join(text)})',
            "{",
            *[f"    {line}" for line in [*room, *head]],
            *p.lines,
            "}",
        ]
        found = KernelText(name, kind, params, "\n".join(lines), most=bound, **launch)
        if not name.endswith("_held"):
            self.steps.append(found)
        return found

    def given(self, p: CudaPrinter, t: Any) -> str:
        """A value that is not computed in this kernel: one that an earlier kernel has kept, or one of lengths only."""
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

    def parameters(self, p: CudaPrinter, kind: str) -> tuple[list[tuple[str, Any]], list[str], list[str]]:
        """(what to pass, how it is declared, first lines of the body)."""
        params: list[tuple[str, Any]] = []
        text: list[str] = []
        head: list[str] = []
        teams = any("lane = threadIdx.x % team;" in line for line in p.lines)
        for b in sorted(p.bufs, key=lambda b: b.name):
            if b.kind in ("tile", "row"):
                continue
            const = "" if b in p.written else "const "
            params.append(("buf", b))
            text.append(f"{const}{self.d.stored_type(b.dtype)} *__restrict__ {b.name}")
        for r in p.rows:
            c = self.d.ctype(r.buf.dtype)
            params.append(("row", r))
            text.append(f"{c} *{r.buf.name}_all")
            team = "(blockIdx.x * (tg_int)blockDim.x + threadIdx.x)" + (" / team" if teams else "")
            head.append(f"{c} *__restrict__ {r.buf.name} = {r.buf.name}_all + {team} * ({p.poly(r.length)});")
        outside = {t: self.given(p, t) for t in p.used_outside}
        for s in p.syms:
            params.append(("sym", s))
            text.append(f"tg_int {s.name}")
        if any(t in self.slots for t in p.used_outside) or any("tg_scalars" in line for line in p.lines):
            params.append(("scalars", None))
            text.append("char *__restrict__ tg_scalars")
        for t, value in outside.items():
            head.append(f"const {self.d.ctype(t.type.dtype)} {p.outside[t]} = {value};")
        if p.checks:
            params.append(("status", None))
            text.append("int64_t *tg_status")
        if teams:
            params.append(("team", None))
            text.append("int team")
        if any("vector ?" in line for line in p.lines):
            params.append(("vector", None))
            text.append("int vector")
        return params, text, head


def every_step(steps: Sequence[Any]) -> list[Any]:
    """Kernels and products, those inside loops included."""
    return [y for x in steps for y in (every_step(x.body) if isinstance(x, Steps) else [x])]  # as deep as loops nest


def _grid(i: str, end: str, begin: str = "0") -> str:
    """A loop that the threads of all blocks share out."""
    first = "blockIdx.x * (tg_int)blockDim.x + threadIdx.x"
    first = first if begin == "0" else f"{begin} + {first}"
    return f"for (tg_int {i} = {first}; {i} < {end}; {i} += gridDim.x * (tg_int)blockDim.x)"


def _teams(i: str, end: str) -> str:
    """A loop that the teams of all blocks share out."""
    first = "(blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team"
    return f"for (tg_int {i} = {first}; {i} < {end}; {i} += gridDim.x * (tg_int)blockDim.x / team)"


def _has_serial(body: Sequence[Node]) -> bool:
    """Whether iterations inside have to run in order: one thread then does it all."""
    return any(isinstance(n, Loop) and n.serial for n in walk(list(body)))


def _of_lengths(t: Any) -> bool:
    """Whether a scalar is computed from lengths alone."""
    found = scalars([t])
    simple = all(x.op is CONST or x.op.kind == "elementwise" or x.op.family in (IVAL, ITEST) for x in found)
    return simple and len(found) <= 16


def _used_elsewhere(nodes: Sequence[Node]) -> set[Any]:
    """Values that are used in another kernel than the one that computes them."""
    apart = (Kernel, Call, Repeat)
    part, where, used = 0, {}, []
    for n in nodes:
        part += isinstance(n, apart)
        inner = list(walk([n]))
        for m in inner:
            if isinstance(m, Call):
                used += [(part, m.options[k]) for k in ("alpha",) if k in m.options]
            used += [(part, t) for t in (*references(m), *index_references(m))]
        if not isinstance(n, apart) and getattr(n, "term", None) is not None:
            where[n.term] = part  # type: ignore[attr-defined]
        part += isinstance(n, apart)
    return {t for k, t in used if t in where and where[t] != k}


def _nest(loop: Any) -> tuple[list[Any], Any]:
    """Loops that stand alone in each other, as one iteration space; the innermost may be a loop over columns."""
    nest = [loop]
    while isinstance(nest[-1], Loop):
        inner = [n for n in nest[-1].body if not isinstance(n, Let)]
        lone = inner[0] if len(inner) == 1 and isinstance(inner[0], (Loop, Columns)) else None
        if lone is None or getattr(lone, "serial", False) or lone.var.extent.fv:
            break
        nest.append(lone)
    return (nest[:-1], nest[-1]) if isinstance(nest[-1], Columns) else (nest, nest[-1])


def _is_straight(body: Sequence[Node]) -> bool:
    """Whether one thread does it without loops."""
    return not any(isinstance(n, (Loop, Reduce, Columns, Row)) for n in walk(list(body)))


def _shared_out(body: Sequence[Node]) -> list[Poly]:
    """The lengths that a team shares out."""
    return list(dict.fromkeys(n.var.extent for n in body if isinstance(n, (Loop, Reduce, Columns))))


def _adds_only(n: Kernel) -> bool:
    """Whether all it does to memory is adding numbers that the device can add atomically."""
    writes = [w for w in walk([n]) if isinstance(w, Write)]
    bufs = {w.buf for w in writes}
    adds = all(w.mode == "add" and can_add_atomically(w.buf.dtype) for w in writes)
    return adds and not any(b in bufs for b, _ in loads(n))


__all__ = ["BLOCK", "HELD", "PARTS", "KernelText", "KernelWriter", "Product", "Steps", "Sym", "every_step"]
