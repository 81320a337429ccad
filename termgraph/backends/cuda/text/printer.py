"""Loop trees as the text of CUDA kernels: what one thread does, and what a team of threads does together.

At team level a loop is shared out among the threads (`lane`, `lane + team`, ...) and a fold ends with `tg_fold`; what
stands deeper inside is run by one thread, except for long folds inside of a fold, which are shared out in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from termgraph.backends.cstyle import Printer
from termgraph.backends.cuda.text.chains import Chain, nested
from termgraph.backends.cuda.text.dialect import CudaDialect
from termgraph.backends.cuda.text.nests import shared_inside
from termgraph.backends.cuda.text.scatter import Claim
from termgraph.lower.lengths.index import Poly, Var
from termgraph.lower.lengths.polynomials import values
from termgraph.lower.loops.tree import Branch, Columns, Let, Loop, Node, Reduce, Sweep, Write, walk
from termgraph.lower.memory.plan import loads
from termgraph.lower.push.kernel import ARG_FOLDS, LOAD, Buf
from termgraph.terms.term import AnyTerm

Place = tuple[Buf, Poly]
SHARED_OUT = (Loop, Reduce, Columns, Sweep)


class CudaPrinter(Printer):
    """The statements of one kernel."""

    d: CudaDialect
    room = 512  # bytes of shared memory for folds
    barrier = "tg_barrier(team);"
    knows_inside = True  # whether a team may share out the folds inside of a fold

    def __init__(self, dialect: CudaDialect, nodes: Iterable[Node], outside: dict[Any, str] | None = None) -> None:
        nodes = list(nodes)
        super().__init__(dialect, nodes, outside)
        self.team = False  # whether statements are run by a team, at this place
        self.strided = False  # whether the loop being opened is shared out
        self.uses_room = False
        self.step = "0"  # of the loop over steps that the kernel is part of
        self.width = "team"  # how many threads a fold joins
        self.atomic = False
        self.claim: Claim | None = None  # if set, only the iterations that hold their place write
        self.vectors: dict[Place, str] = {}  # elements that a vector access has fetched
        self.cached: CachedRow | None = None
        self.chunk: Sequence[Node] = ()  # part of a row's body, up to a barrier, and what all of it uses once
        self.once: set[Any] = set()

    # ------------------------------------------------------------------ elements
    def load(self, buf: Buf, offset: Poly) -> str:
        self.bufs[buf] = None
        if buf.kind == "tile":
            return buf.name
        if (buf, offset) in self.vectors:
            return self.d.read(buf.dtype, self.vectors[buf, offset])
        if buf.kind == "row":
            return f"{buf.name}[{self.poly(offset)}]"
        return self.d.load(buf, self.poly(offset))

    def used_once(self, nodes: Sequence[Node]) -> set[Any]:
        found = super().used_once(nodes)
        if nodes is self.chunk:
            found &= self.once
        if self.claim:  # the place that is claimed is asked for, and then written to
            found -= {*values(self.claim.key)}
        return {t for t in found if t not in self.cached.terms} if self.cached else found

    def on_let(self, n: Let) -> None:
        if self.cached and n.term in self.cached.terms:
            self.cached.let(self, n)
        else:
            super().on_let(n)

    def on_branch(self, n: Branch) -> None:
        super().on_branch(n)
        if self.cached and n.term in self.cached.terms:
            self.cached.keep(self, n.term)

    def on_write(self, n: Write) -> None:
        if self.cached and n in self.cached.dropped:
            return
        self.bufs[n.buf] = None
        value = self.ref(n.value)
        if n.buf.kind == "tile":
            self.add(f"{n.buf.name} = {value};")
        elif (n.buf, n.offset) in self.vectors and n.mode == "set":
            self.add(f"{self.vectors[n.buf, n.offset]} = {self.d.written(n.buf.dtype, value)};")
        else:
            self.add(("if (lane == 0) " if self.team else "") + self.stored(n, value))

    def stored(self, n: Write, value: str) -> str:
        """The statement that writes to memory."""
        place = self.poly(n.offset)
        if n.buf.kind == "row":
            return f"{n.buf.name}[{place}] = {value};"
        if self.atomic and n.mode != "set":
            return self.d.atomic(n.buf, place, value, n.mode)
        if self.claim is not None:
            return f"if ({self.claim.holds(self)}) {self.d.store(n.buf, place, value, n.mode)}"
        return self.d.store(n.buf, place, value, n.mode)

    def check(self, t: AnyTerm, k: str, n: str) -> None:
        """A bad index is reported, and replaced by 0 so that nothing else goes wrong."""
        self.add(
            f"if ({k} < -(int64_t)({n}) || {k} >= {n}) "
            f"{{ tg_fail(tg_status, {t.op.params['site']}, {k}, {n}, {self.step}); {k} = 0; }}"
        )
        self.add(f"{k} = {k} < 0 ? {k} + {n} : {k};")
        self.checks.append((t, k, n))

    # ------------------------------------------------------------------ loops
    def for_head(self, var: Var, begin: str = "0", end: str | None = None) -> str:
        i, stop = f"i{var.level}", end or self.poly(var.extent)
        if self.strided:
            return f"for (tg_int {i} = lane; {i} < {stop}; {i} += team)"
        return f"for (tg_int {i} = {begin}; {i} < {stop}; {i}++)"

    @contextmanager
    def iteration(self, var: Var) -> Any:
        """The body of a loop; at team level its iterations are shared out among the threads."""
        team, self.team, self.strided = self.team, False, self.team
        held = self.cached if team and self.cached and self.cached.var is var else None
        if held:
            i = f"i{var.level}"
            self.strided = False
            self.add("#pragma unroll")
            with self.block(f"for (int q = 0; q < {held.count}; q++)"):
                self.add(f"const tg_int {i} = lane + q * team;")
                with self.block(f"if ({held.there(self)})"):
                    yield
        else:
            head = self.for_head(var)
            self.strided = False
            with self.block(head):
                yield
        self.team = team

    def on_loop(self, n: Loop, begin: str = "0", end: str | None = None, first: str = "") -> None:
        with self.iteration(n.var):
            self.body(n.body)

    def on_reduce(
        self, n: Reduce, begin: str = "0", end: str | None = None, first: str = "", between: str = ""
    ) -> None:
        if self.team and self.knows_inside and (chain := nested(n)) is not None:
            self.on_chain(chain)
            return
        accs = self.declare_folds(n.folds)
        inside = self.team and self.knows_inside and shared_inside(n)
        if inside:  # all threads go through it together, and share out the folds in it
            with self.block(self.for_head(n.var)):
                self.body(n.body)
        else:
            with self.iteration(n.var):
                self.body(n.body)
        for f, acc in accs:
            if self.team and not inside:
                self.join(f, acc)
            self.call_it(f, acc)

    def on_chain(self, chain: Chain) -> None:
        """Folds of folds: the threads of a team share out all elements."""
        self.declare_chain(chain)
        with self.block(f"for (tg_int flat = lane; flat < {self.poly(chain.extent)}; flat += team)"):
            self.add(*self.digits(chain.vars, "flat"))
            self.team = False
            self.body(chain.body)
            self.team = True
        for f in chain.folds:
            self.join(f, self.text["acc", f])
            self.call_it(f, self.text["acc", f])

    def declare_chain(self, chain: Chain) -> None:
        """The variables of folds, in which folds inside of them fold as well."""
        self.declare_folds(chain.folds)
        for inner, outer in chain.same.items():
            self.text["acc", inner] = self.text["acc", outer]

    def digits(self, vars_: Sequence[Var], flat: str) -> list[str]:
        """The loop variables of a flat position."""
        found, rest = [], flat
        for k in range(len(vars_) - 1, 0, -1):
            extent = self.poly(vars_[k].extent)
            found.append(f"const tg_int i{vars_[k].level} = {rest} % ({extent});")
            if k > 1:
                found.append(f"const tg_int r{k} = {rest} / ({extent});")
                rest = f"r{k}"
            else:
                rest = f"{rest} / ({extent})"
        return [*found, *[f"const tg_int i{v.level} = {rest};" for v in vars_[:1]]]

    def join(self, f: Any, acc: str) -> None:
        """One result of the results of the team's threads, for all of them."""
        self.uses_room = True
        kind = f.op.params["kind"]
        if kind in ARG_FOLDS:
            smallest = "true" if kind == "argmin" else "false"
            self.add(f"tg_arg_fold({acc}_best, {acc}, {smallest}, {self.width}, tg_room);")
        else:
            self.add(f"{acc} = tg_fold({acc}, {self.d.fold_op(kind, f.type.dtype)}, {self.width}, tg_room);")

    def on_columns(self, n: Columns, begin: str = "0", end: str | None = None, together: int = 1) -> None:
        with self.iteration(n.var):
            self.sweeps(n)

    def sweeps(self, n: Columns) -> None:
        """All sweeps for one column."""
        for s in n.body:
            self.node(s)

    def on_sweep(self, s: Sweep) -> None:
        if s.var is None:
            self.body([*s.outer, *s.body])
            return
        self.on_reduce(Reduce(s.var, s.folds, [*s.outer, *s.body]))

    # ------------------------------------------------------------------ a team's statements
    def statements(self, nodes: Sequence[Node]) -> None:
        """The body of a row, with a barrier wherever a thread reads what another may have written."""
        self.once = super().used_once(nodes)
        fresh: dict[Place, Any] = {}
        chunks: list[list[Node]] = [[]]
        for n in nodes:
            if self.reads_of_others(n, fresh):
                chunks.append([])
                fresh.clear()
            chunks[-1].append(n)
            for w in walk([n]):
                if isinstance(w, Write):
                    fresh[w.buf, w.offset] = n.var if isinstance(n, SHARED_OUT) and not nested(n) else None
        for k, chunk in enumerate(chunks):
            if k:
                self.add(self.barrier)
            self.chunk = chunk
            self.body(chunk)

    def reads_of_others(self, n: Node, fresh: dict[Place, Any]) -> bool:
        """Whether a statement reads what other threads of the team wrote since the last barrier."""
        if not fresh:
            return False
        own = n.var if isinstance(n, SHARED_OUT) and not (shared_inside(n) or nested(n)) else None
        for buf, offset in loads(n):
            for (written, place), var in fresh.items():
                if written is buf and not (place is offset and var is own and own is not None):
                    return True
        return False


class ColumnPrinter(CudaPrinter):
    """The same for a block of 32 columns and several rows: a team is what works on one column.

    At the edge threads without a column of their own compute the last one, and write nothing.
    """

    barrier = "__syncthreads();"
    knows_inside = False

    def join(self, f: Any, acc: str) -> None:
        self.uses_room = True
        self.room = max(self.room, 32 * 33 * max(8, f.type.np_dtype.itemsize))
        op = self.d.fold_op(f.op.params["kind"], f.type.dtype)
        self.add(f"{acc} = tg_column_fold({acc}, {op}, tg_room);")

    def on_write(self, n: Write) -> None:
        self.bufs[n.buf] = None
        value = self.ref(n.value)
        self.add(f"if ({'lane == 0 && ' if self.team else ''}inside) {self.stored(n, value)}")


FEW = 8  # elements of a row in one thread


class CachedRow:
    """Values that several loops over one row need, kept in registers: the row is read once.

    Each thread holds `count` elements. `dropped` are stores that only carried a value from loop to loop.
    """

    def __init__(self, var: Var, count: int, terms: dict[Any, str], dropped: set[Node]) -> None:
        self.var, self.count, self.terms, self.dropped = var, count, terms, dropped
        self.known: set[Any] = set()

    def words(self) -> int:
        """How many registers it takes."""
        return sum(t.type.np_dtype.itemsize for t in self.terms) * self.count // 4

    def threads(self) -> int:
        """The largest block for which registers suffice: one of 1024 threads has 64 for each."""
        held = self.words()
        return 1024 if held <= 16 else 512 if held <= 48 else 256

    def declarations(self, p: CudaPrinter) -> list[str]:
        """The registers."""
        left = [f"const tg_int left = {p.poly(self.var.extent)} - lane;"] * (self.count > FEW)
        return [*left, *[f"{p.d.ctype(t.type.dtype)} {name}[{self.count}];" for t, name in self.terms.items()]]

    def there(self, p: CudaPrinter) -> str:
        """Whether a thread has an element: of many, without a register for the place of each."""
        return "q * team < left" if self.count > FEW else f"i{self.var.level} < {p.poly(self.var.extent)}"

    def fetch(self, p: CudaPrinter) -> None:
        """Load what is loaded before anything is computed, so that all loads are under way at once.

        In the place of elements that are not there the last one is read: where loads have conditions, the compiler
        waits for one after the other.
        """
        given = [t for t in self.terms if t.op.family is LOAD and not t.op.params["offset"].values]
        if not given:
            return
        i = f"i{self.var.level}"
        p.add("#pragma unroll")
        with p.block(f"for (int q = 0; q < {self.count}; q++)"):
            stop = p.poly(self.var.extent)
            p.add(f"const tg_int {i} = lane + q * team < {stop} ? lane + q * team : {stop} - 1;")
            p.add(*[f"{self.terms[t]}[q] = {p.expression(t)};" for t in given])
        self.known.update(given)

    def keep(self, p: CudaPrinter, t: AnyTerm) -> None:
        """Put a value that has just been chosen into its register."""
        p.add(f"{self.terms[t]}[q] = {p.text[t]};")
        self.known.add(t)
        p.call_it(t, f"{self.terms[t]}[q]")

    def let(self, p: CudaPrinter, n: Let) -> None:
        """Compute a value where it is first needed; from then on it is in its register."""
        place = f"{self.terms[n.term]}[q]"
        if n.term not in self.known:
            self.known.add(n.term)
            p.add(f"{place} = {p.expression(n.term)};")
        p.call_it(n.term, place)


def cached_row(body: Sequence[Node], count: int) -> CachedRow | None:
    """What is worth keeping in registers between the loops of a row."""
    loops = [n for n in body if isinstance(n, (Loop, Reduce))]
    if len(loops) < 2 or any(n.var is not loops[0].var or shared_inside(n) or nested(n) for n in loops):
        return None
    if any(isinstance(n, Columns) for n in body):
        return None
    written = {w.buf for w in walk(list(body)) if isinstance(w, Write)}
    users: dict[Any, int] = {}
    for loop in loops:
        for n in loop.body:
            if isinstance(n, Let) and (n.stored or n.term.op.family is LOAD and n.term.op.params["buf"] not in written):
                if n.stored or loops[0].var in n.term.op.params["offset"].fv:
                    users[n.term] = users.get(n.term, 0) + 1
    carried = {n.term: n.stored for loop in loops for n in loop.body if isinstance(n, Let) and n.stored}
    terms = [t for t, k in users.items() if k > 1 or t in carried]
    dropped: set[Node] = {
        n for loop in loops for n in loop.body if isinstance(n, Write) and _only_carries(n, carried, loops)
    }
    missing = [t for t, place in carried.items() if not any(w.value is t for w in dropped if isinstance(w, Write))]
    return None if not terms or missing else CachedRow(loops[0].var, count, _named(terms), dropped)


def _only_carries(n: Write, carried: dict[Any, Any], loops: list[Any]) -> bool:
    if carried.get(n.value) != (n.buf, n.offset):
        return False
    writers = [w for loop in loops for w in loop.body if isinstance(w, Write) and w.buf is n.buf]
    return n.buf.kind == "row" or writers[-1] is not n and writers[-1].offset is n.offset


def _named(terms: list[Any]) -> dict[Any, str]:
    return {t: f"row_{k}" for k, t in enumerate(terms)}
