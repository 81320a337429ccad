"""Functions whose arguments do not lie in row-major order: the programs made for them, and the graphs of those.

`backends/c/run/argument_orders.py` says when and for which arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.compile import road
from termgraph.compile.capture import Captured
from termgraph.compile.values import Rewritten
from termgraph.config import config
from termgraph.function.compiled import Function
from termgraph.function.native import for_present_lengths, graph_of, library_of, ordered, printed
from termgraph.stages import Ledger
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.traverse import substitute, subterms
from termgraph.vm.partition import Refusal

if TYPE_CHECKING:
    from termgraph.backends.c.build import program_library
    from termgraph.backends.c.run import argument_orders, glue
    from termgraph.compile.compilation import Compilation
    from termgraph.function.mode import Maker
    from termgraph.lower.memory import result_orders
    from termgraph.lower.storage import policy
else:
    argument_orders = lazy("termgraph.backends.c.run.argument_orders")
    program_library = lazy("termgraph.backends.c.build.program_library")
    glue = lazy("termgraph.backends.c.run.glue")
    result_orders = lazy("termgraph.lower.memory.result_orders")
    policy = lazy("termgraph.lower.storage.policy")


def call_in_order(f: Function, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The answer to a call for which C wants another program: for the lengths that shared variables have by now, or for
    arguments that are not in row-major order."""
    other = for_present_lengths(f)
    if other is not None:
        return other(*args, **keywords)
    given = _by_position(f, args, keywords)
    if given is not None:
        programs = f.__dict__.get("_programs") or f.__dict__.setdefault("_programs", _programs(f))
        try:
            return programs.call(given)
        except argument_orders.Refused:  # the copies get the same answer, with its reasons
            pass
    return f(*map(argument_orders.packed, args), **{name: argument_orders.packed(a) for name, a in keywords.items()})


def _by_position(f: Function, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None:
    """All arguments in order, if none is left to its default."""
    names = [f.maker.inputs[i].name for i in f._explicit[len(args) :]]
    given = [keywords[name] for name in names if name in keywords]
    return (*args, *given) if len(given) == len(names) == len(keywords) else None


def _programs(f: Function) -> Any:
    make = partial(laid_out_program, f.maker)  # what cannot be lowered with transposed operands is copied
    types = [f.maker.inputs[i].variable.type for i in f._explicit]
    return argument_orders.Programs(types, make, lambda code: _bound(f, code), library_of(f.maker).address("tg_orders"))


def _bound(f: Any, code: Any) -> Any:
    maker, layout = f.maker, ordered(f.maker)
    return glue.bind(
        program_library.built(code, maker.name or "function"),
        code.signature,
        name=f.name or "function",
        cells=[glue.attach(f.input_storage[i]) for i in layout.cells],
        constants=code.constants,
        filter=lambda i, value: f._checked(layout.arguments[i], i, value),
        fail=argument_orders.refuse,
        wrap=lambda results: dict(zip(maker.output_keys, results)),
    )


def laid_out_program(maker: Maker, layouts: Sequence[Any]) -> tuple[Any, list[Any]] | None:
    """The C program for arguments that lie so, and the orders of the axes of its results; None if it cannot be had."""
    layout = ordered(maker)
    arguments, cells, roots = graph_of(maker, layout)
    n = len(maker.outputs)
    results = orders_of_results(roots[:n], [*arguments, *cells], [*layouts, *[None] * len(cells)])
    arguments, instead, strided = argument_orders.given_so(arguments, layouts)
    roots = [*result_orders.turned(roots[:n], results), *roots[n:]]
    if instead:
        roots = rewritten_again(substitute(roots, instead), [*arguments, *cells], maker.work)
    code = printed(maker, layout, (arguments, cells, roots), strided=strided)
    return None if isinstance(code, Refusal) else (code, results)


def orders_of_results(roots: Sequence[Any], arguments: Sequence[Any], layouts: Sequence[Any]) -> list[Any]:
    """The order of axes in which each result is written: that of the arguments, where these agree.

    As in NumPy, what is computed element by element of transposed arrays is transposed itself: both are walked in one.
    """
    none: list[Any] = [None] * len(roots)
    arrays = [found for a, found in zip(arguments, layouts) if a.type.ndim > 1]
    orders = {found and found.order for found in arrays}
    order = orders.pop() if len(orders) == 1 else None
    if (
        order is None
        or order == tuple(range(len(order)))
        or any(t.op.family.name in policy.CUTS for t in subterms(roots))
    ):
        return none
    alike = [t.op.kind == "elementwise" and t.type.ndim == len(order) for t in roots]
    return [order if fits else None for fits in alike]


def rewritten_again(roots: Sequence[Any], args: Sequence[Any], work: Compilation) -> list[Any]:
    """The graph with what its rules make of transposed arguments: a sum over everything does not care, for one."""
    captured = Captured(list(args), list(roots), work.captured.sources)
    with config.change_flags({"traceback.limit": 0}):
        again = Ledger().through(road.AGAIN, Rewritten(captured, work.options, tuple(roots)))
    return inline_calls(again.roots)


Function._call_in_order = staticmethod(call_in_order)
