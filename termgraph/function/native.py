"""Native functions: a whole program compiled to C and called without a Python frame.

`native_function` makes one where C can express everything; otherwise it says why not, and the virtual machine runs the
program, with C segments for what C can express.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph._records import NamedTuple, replace
from termgraph.compile import road, warm
from termgraph.compile.refused import in_users_words, react
from termgraph.config import config
from termgraph.function.compiled import Function, MachineFunction
from termgraph.tensor.sharedvar import Container
from termgraph.terms.op import CONST
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import Arg, Term
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TensorType
from termgraph.vm.failures import explain
from termgraph.vm.partition import Refusal

if TYPE_CHECKING:
    from termgraph.backends.c import cprogram, generate
    from termgraph.backends.c import signature as signatures
    from termgraph.backends.c.build import compiler_errors, program_library
    from termgraph.backends.c.build.library import Library
    from termgraph.backends.c.cprogram import CProgram
    from termgraph.backends.c.run import bind as running
    from termgraph.backends.c.run import glue
    from termgraph.function import cuda, memory
    from termgraph.function.mode import Default, Maker, Shapes
    from termgraph.lower.memory import limit, result_orders
    from termgraph.terms.term import AnyTerm
else:
    compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")
    cprogram = lazy("termgraph.backends.c.cprogram")
    program_library = lazy("termgraph.backends.c.build.program_library")
    generate = lazy("termgraph.backends.c.generate")
    running = lazy("termgraph.backends.c.run.bind")
    glue = lazy("termgraph.backends.c.run.glue")
    signatures = lazy("termgraph.backends.c.signature")
    cuda = lazy("termgraph.function.cuda")
    memory = lazy("termgraph.function.memory")
    limit = lazy("termgraph.lower.memory.limit")
    result_orders = lazy("termgraph.lower.memory.result_orders")

JUDGED_BY_TYPES = frozenset(("elementwise", "shape", "reduce", "conv_routine"))  # whether C has them
MOST_LENGTHS = 4  # other lengths of shared variables for which a program of its own is made


def make_function(
    maker: Maker, storage: Sequence[Container], defaults: Sequence[Default], name: str | None
) -> Function:
    """The callable of a maker: native where that is possible, else run by the virtual machine."""
    if maker.work.on_gpu and not maker.watched() and maker.work.options.memory_limit is None:
        return cuda.CudaFunction(maker, storage, defaults, name)
    if maker.work.in_c and not maker.work.in_parts and not maker.watched():
        try:
            f = native_function(maker, storage, defaults, name)
            if not isinstance(f, str):
                return f
            maker.leave_lengths_open()
            maker.work.not_native = f
        except compiler_errors.CompileError as error:
            react(error, maker.mode.linker == "c")
            maker.leave_lengths_open()
            maker.work.in_c = False
    if maker.work.options.memory_limit is not None:
        why = maker.work.not_native or "its mode watches each operation, or runs nothing in C"
        raise ValueError(f"memory_limit is for functions that are one C program; {name or 'this one'} is not: {why}")
    return MachineFunction(maker, storage, defaults, name)


class Layout(NamedTuple):
    """How a maker's inputs are told to the C program: arguments, then cells with the updated ones first."""

    arguments: list[int]  # numbers of the maker's inputs
    cells: list[int]
    updated: int  # how many of the cells


def native_function(
    maker: Maker,
    storage: Sequence[Container],
    defaults: Sequence[Default],
    name: str | None,
    known: Shapes | None = None,
) -> Function | str:
    """One native callable for the whole program, or why there is none; then the virtual machine runs it.

    It is for shared variables of the `known` lengths, if there is a program for these.
    """
    maker, known = (maker, maker.known) if known is None else (maker.for_lengths(known), known)
    layout = ordered(maker)
    why = _why_not_called(maker, layout, storage, defaults)
    if why is None and form_of(maker) not in maker.work.ready:  # a program that was kept needs no look at its graph
        why = _why_not_written(maker)
    made = why or _within_limit(maker, layout, defaults, known)
    if isinstance(made, str):
        return made if why or not known else native_function(maker, storage, defaults, name, ())
    code, library = made
    holder: list[Any] = []
    f: Function = glue.bind(
        library,
        code.signature,
        name=name or "function",
        cells=[glue.attach(storage[i]) for i in layout.cells],
        constants=code.constants,
        filter=lambda i, value: holder[0]._checked(layout.arguments[i], i, value),
        fail=lambda *status: _fail(maker, code, layout, status, known),
        wrap=lambda results: dict(zip(maker.output_keys or (), results)),
        cls=glue.callable_type(Function),
    )
    holder.append(f)
    f._describe(maker, storage, defaults, name)
    f.known = known
    if maker.timed:
        terms = [in_graph(maker, layout, code.terms_of(part.bufs)) for part in code.timed_parts]
        f.timers = maker.profile.watch_parts(code.timed_parts, terms)
    return f


def ordered(maker: Maker) -> Layout:
    """Which inputs are arguments and which cells."""
    inputs = maker.inputs
    arguments = [i for i, item in enumerate(inputs) if not item.shared]
    updated = [i for i, item in enumerate(inputs) if item.update is not None] if maker.keeps_updates else []
    cells = [*updated, *[i for i, item in enumerate(inputs) if item.shared and i not in updated]]
    return Layout(arguments, cells, len(updated))


def lengths_of(inputs: Sequence[Any], values: Sequence[Any], cells: Sequence[int]) -> Shapes:
    """The lengths of shared variables that a program may be made for: all but those of empty arrays.

    A 1 that the type does not promise is a number like others, never broadcast: lengths beside it have to be 1 as well.
    """
    if not config.known_lengths:
        return ()
    out: list[tuple[int | None, ...]] = []
    for i in cells:
        type_, shape = inputs[i].variable.type, getattr(values[i], "shape", ())
        array = isinstance(type_, TensorType) and len(shape) == type_.ndim
        out.append(
            tuple([n if n > 0 else None for n in shape]) if array else (None,) * (getattr(type_, "ndim", 0) or 0)
        )
    return tuple(out)


def known_at_first(maker: Maker) -> Shapes:
    """The lengths of its shared variables when a function is compiled."""
    values = [i.value.storage[0] if i.shared and i.value is not None else None for i in maker.inputs]
    return lengths_of(maker.inputs, values, ordered(maker).cells)


def known_in_copy(maker: Maker, copied: Maker) -> Shapes:
    """The lengths that a maker knows, in its copy's order of cells: updated ones come first, if updates are kept."""
    by_input = dict(zip(ordered(maker).cells, maker.known))
    return tuple([by_input[i] for i in ordered(copied).cells]) if by_input else ()


def for_present_lengths(f: Function) -> Any:
    """Another function, if shared variables do not have the lengths that this one was compiled for; else None."""
    maker = f.maker
    now = lengths_of(maker.inputs, [c.storage[0] for c in f.input_storage], ordered(maker).cells)
    if not f.known or now == f.known:
        return None
    made = f.__dict__.setdefault("_for_lengths", {})
    if now not in made:
        known = now if len(made) < MOST_LENGTHS else ()  # they change all the time: one program for all
        given = f.input_storage, f.defaults, f.name
        found = native_function(maker, *given, known)
        made[now] = MachineFunction(maker.for_lengths(()), *given) if isinstance(found, str) else found
        made[now].trust_input = f.trust_input
    return made[now]


def form_of(maker: Maker, known: Shapes | None = None) -> tuple[Any, ...]:
    """What beside its graph decides the C program of a function."""
    layout = ordered(maker)
    known = maker.known if known is None else known
    return (tuple(layout.arguments), tuple(layout.cells), layout.updated, _returns(maker), known)


def _why_not_called(
    maker: Maker, layout: Layout, storage: Sequence[Container], defaults: Sequence[Default]
) -> str | None:
    """Why a function cannot be called without Python, whatever it computes."""
    inputs, cells = maker.inputs, layout.cells
    for i, item in enumerate(inputs):
        if not isinstance(item.variable.type, TensorType):
            return f"input {item.name or i} is not an array"
        if item.shared and storage[i].storage[0] is None:
            return f"shared variable {item.name or i} has no value"
    for i in layout.arguments:
        required, refeed, _ = defaults[i]
        if inputs[i].update is not None or not (required or refeed):
            return f"input {inputs[i].name or i} has a value that calls change"
    if layout.updated and form_of(maker) not in maker.work.ready:
        for i, root in zip(cells[: layout.updated], maker.work.roots[len(maker.outputs) :]):
            item = maker.inputs[i]
            if not item.variable.type.accepts(root.type):
                return f"the lengths of the update of {item.name or i} are checked at run time"
    if len({id(storage[i]) for i in cells}) != len(cells):
        return "two of its shared variables have one memory"
    return None


def _why_not_written(maker: Maker) -> str | None:
    """Which operation C has no code for."""
    why_not, fine = road.C.why_not, set[Any]()
    for t in children_first(_roots(maker)):
        if t.__class__ is not Term or t.sig in fine:
            continue
        why: str | None = why_not(t)
        if why is not None:
            return why
        # A signature is of one op, and tells the types of one or two operands; of a constant its text needs the value.
        if t.op.kind in JUDGED_BY_TYPES and 0 < len(t.args) < 3 and not any(a.op is CONST for a in t.args):
            fine.add(t.sig)
    return None


def _within_limit(maker: Maker, layout: Layout, defaults: Sequence[Default], known: Shapes) -> tuple[Any, Any] | str:
    """The same as `_compiled`; if no plan is within a limit of memory, with loops in chunks and parts stored."""
    try:
        return _compiled(maker, layout, defaults, known)
    except limit.LimitTooLow as error:
        if maker.work.options.sparing is not None:
            raise
        maker.spare_memory(error.most)
        try:
            return _compiled(maker, layout, defaults, known)
        except limit.LimitTooLow as again:
            least = min(error.least, again.least)
            raise limit.LimitTooLow(error.most, least, error.results, error.whole) from None


def _compiled(maker: Maker, layout: Layout, defaults: Sequence[Default], known: Shapes) -> tuple[Any, Any] | str:
    """The C program and its library, made once for all copies with the same layout; or why there is none."""
    work, form = maker.work, form_of(maker, known)
    begin = len(work.ledger.entries)
    if maker.timed:
        form = (*form, "timed")
    work.again = partial(_generated, maker, layout, known)
    if form not in work.native:
        code = work.ready.get(form) or _generated(maker, layout, known)
        if isinstance(code, Refusal):
            return f"{code.term.op.name}: {code.why}"
        library = _built(maker, layout, code, known)
        if form not in work.ready and not maker.timed:
            warm.keep(work, form, code, maker.name)
        if not maker.timed:  # the terms of a large program take more memory than its text: messages make them again
            code = cprogram.without_terms(code)
            work.let_go(begin, work.again)
        work.native[form] = (code, library)
    code, library = work.native[form]
    signature = replace(code.signature, inputs=_ports(maker, layout, defaults))
    return replace(code, signature=signature), library


def _built(maker: Maker, layout: Layout, code: CProgram, known: Shapes) -> Library:
    """The library of a program; a CompileError names the user's line."""
    try:
        given = code, maker.name or "function", maker.work.not_kept, partial(_generated, maker, layout, known)
        made: Library = maker.work.ledger.run("build", program_library.built, *given)
        return made
    except compiler_errors.CompileError as error:
        raise in_users_words(error, maker.work.lookup, in_graph(maker, layout, error.terms)) from None


def in_graph(maker: Maker, layout: Layout, terms: Sequence[Any]) -> list[Any]:
    """Terms of a program as terms of the rewritten graph, whose arguments have other numbers."""
    args = maker.work.args
    back = {Arg(k, args[i].type): args[i] for k, i in enumerate([*layout.arguments, *layout.cells])}
    return substitute(list(terms), back)


def library_of(maker: Maker) -> Any:
    """The library of a native function."""
    form = form_of(maker)
    return maker.work.native[form][1]


def _generated(maker: Maker, layout: Layout, known: Shapes) -> CProgram | Refusal:
    asks = not maker.timed and config.relayout and maker.work.options.memory_limit is None
    return printed(maker, layout, graph_of(maker, layout), asks=asks, ledger=maker.work.ledger, known=known)


def graph_of(maker: Maker, layout: Layout) -> tuple[list[Any], list[Any], list[Any]]:
    """Leaves for arguments and for cells, and the roots computed from them."""
    work = maker.work
    order = [*layout.arguments, *layout.cells]
    renumbered = {work.args[i]: Arg(k, work.args[i].type) for k, i in enumerate(order)}
    roots = _roots(maker)
    roots = substitute(roots, renumbered)
    args = [renumbered[work.args[i]] for i in order]
    return args[: len(layout.arguments)], args[len(layout.arguments) :], roots


def _roots(maker: Maker) -> list[Any]:
    """What is computed: outputs, and updates if they are made."""
    roots = maker.work.linked_roots
    return roots if maker.keeps_updates else roots[: len(maker.outputs)]


def printed(
    maker: Maker, layout: Layout, graph: tuple[list[Any], list[Any], list[Any]], **options: Any
) -> CProgram | Refusal:
    arguments, cells, roots = graph
    n = len(maker.outputs)
    orders = result_orders.natural(roots, n)
    made: CProgram | Refusal = generate.generated(
        arguments,
        result_orders.turned(roots[:n], orders),
        list(enumerate(roots[n:])),
        cells,
        [maker.inputs[i].name for i in layout.arguments],
        _returns(maker),
        quick=maker.work.options.quick,
        multiply_add=maker.work.multiply_add,
        in_place=maker.work.options.in_place,
        fuse=maker.work.options.fuse,
        memory_limit=maker.work.options.limit,
        sparing=maker.work.options.sparing is not None and not _has_loops(maker),
        apart=maker.work.options.sparing is not None and _has_loops(maker),
        timed=maker.timed,
        declared=[maker.inputs[i].variable.type for i in layout.cells],
        lengths=[maker.work.captured.lengths.get(maker.work.args[i], ()) for i in layout.cells],
        orders=orders,
        **options,
    )
    return made


def _has_loops(maker: Maker) -> bool:
    """Whether there are loops over steps, which are cut in chunks: these have their own parts of arrays."""
    return any(t.op.family is loop for t in children_first(maker.work.captured.roots))


def _returns(maker: Maker) -> str:
    if maker.return_none:
        return "none"
    if maker.output_keys is not None:
        return "wrapped"
    return "one" if maker.unpack_single else "list"


def _ports(maker: Maker, layout: Layout, defaults: Sequence[Default]) -> list[Any]:
    """The arguments as the glue checks them: lengths, defaults, which Python numbers are taken as they are."""
    ports = []
    for i in layout.arguments:
        item, (required, _, default) = maker.inputs[i], defaults[i]
        type_ = item.variable.type
        numbers: frozenset[str] | None = frozenset() if item.strict else None
        ports.append(
            signatures.Input(
                item.name, type_.dtype, type_.shape, signatures.NO_DEFAULT if required else default, numbers
            )
        )
    return ports


def _fail(maker: Maker, code: CProgram, layout: Layout, status: tuple[Any, ...], known: Shapes) -> None:
    """Raise what a failed program reports, in the user's words."""
    raise _failure(maker, code, layout, status, known) from None


def _failure(maker: Maker, code: CProgram, layout: Layout, status: tuple[Any, ...], known: Shapes) -> Exception:
    """The error to raise. Who raises it must not keep it: it holds its traceback, that the frames and the arguments."""
    error = running.failure(program_library.with_terms(code, partial(_generated, maker, layout, known)), *status)
    term = getattr(error, "term", None)
    if term is None:
        return error
    work = maker.work
    if not hasattr(error, "loops"):
        (error.term,) = in_graph(maker, layout, [term])  # type: ignore[attr-defined]
    operands = [(a, a.type) for a in error.term.args]  # type: ignore[attr-defined]
    return explain(error, _Place(error.term), operands, work.lookup, work.program)  # type: ignore[attr-defined]


class _Place:
    """Stands for the instruction that failed: a term inside a kernel."""

    def __init__(self, term: AnyTerm) -> None:
        self.op, self.terms = term.op, [term]


def _memory_plan(f: Function, values: Sequence[Any]) -> Any:
    """What a call of a function holds."""
    layout = ordered(f.maker)
    return memory.memory_of(f, layout.arguments, layout.cells, values)


Function._memory_plan = _memory_plan
