"""Programs for arguments that do not lie in row-major order, such as transposed arrays.

The first calls copy such arguments. Once that has cost about as much as compiling (`TG_COPIED_MOST` in abi.h counts
bytes), C asks here: a program that takes them as they lie answers, if its loops read them well. May import the C
backend and this room.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.function.capture import Captured
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg
from termgraph.terms.types import TensorType

ORDERS = 4  # TG_ORDERS of abi.h
Order = tuple[int, ...]
_guard = threading.Lock()


class _Refused(Exception):
    """The program failed, and nothing has happened: the one that everybody knows says why."""


def call_in_order(f: Any, args: tuple, keywords: dict[str, Any]) -> Any:
    """The answer to a call with arguments in another order than row-major."""
    types = [f.maker.inputs[i].variable.type for i in f._explicit]
    given = _by_position(f, args, keywords)
    if given is not None:
        orders = tuple([order_of(a, type_) for a, type_ in zip(given, types)])
        found = _known(f, orders)
        if found is not None:
            run, taken = found
            try:
                return run(*[a if o is None else a.transpose(o) for a, o in zip(given, taken)])
            except _Refused:  # the copies get the same answer, with its reasons
                pass
    return f(*map(_packed, args), **{name: _packed(a) for name, a in keywords.items()})


def _by_position(f: Any, args: tuple, keywords: dict[str, Any]) -> tuple | None:
    """All arguments in order, if none is left to its default."""
    names = [f.maker.inputs[i].name for i in f._explicit[len(args) :]]
    return (*args, *[keywords[name] for name in names]) if set(names) == set(keywords) else None


def _packed(a: Any) -> Any:
    return np.ascontiguousarray(a) if isinstance(a, np.ndarray) and a.ndim else a


def _known(f: Any, orders: tuple) -> tuple[Any, Sequence[Order | None]] | None:
    known = f.__dict__.setdefault("_in_order", {})
    if orders not in known:
        with _guard:
            if orders not in known:
                known[orders] = _program(f, orders)
    return known[orders]


def order_of(a: Any, type_: Any) -> Order | None:
    """The axes of an array from the slowest to the fastest, if it is contiguous in that order and in no other."""
    if a.__class__ is not np.ndarray or a.ndim > 8 or a.size == 0:
        return None
    if not isinstance(type_, TensorType) or a.dtype != type_.np_dtype or a.ndim != type_.ndim:
        return None
    keys: list[int] = []
    for d, (n, stride) in enumerate(zip(a.shape, a.strides)):
        keys.append(stride if n > 1 else keys[d - 1] if d else 1 << 62)
    order = tuple(sorted(range(a.ndim), key=lambda d: -keys[d]))
    plain = order == tuple(range(a.ndim))
    return None if plain or not a.transpose(order).flags.c_contiguous else order


def _program(f: Any, orders: Sequence[Order | None]) -> tuple[Any, Sequence[Order | None]] | None:
    """A callable for arguments in these orders and which of them it takes so; None, and it is noted, if none pays."""
    from termgraph.function.native import NotNative

    try:
        code, taken = _paying(f.maker, orders)
    except NotNative:  # what could be lowered can be lowered with transposed operands; if not, copies are made
        code, taken = None, ()
    if code is None:
        _always_copy(f, orders)
        return None
    return _bound(f, code), taken


def _paying(maker: Any, orders: Sequence[Order | None]) -> tuple[Any, Sequence[Order | None]]:
    """The program that takes those arguments as they lie for which that is faster than a copy."""
    from termgraph.function.native import ordered_program
    from termgraph.lower.layout import read_well

    taken = list(orders)
    while any(o is not None for o in taken):
        code = ordered_program(maker, taken)
        bufs = {leaf.index: b for leaf, b in code.lowered.statements.inputs.items() if leaf.index < len(taken)}
        well = read_well(code.lowered.nodes, list(bufs.values()))
        bad = [k for k, o in enumerate(taken) if o is not None and k in bufs and bufs[k] not in well]
        if not bad:
            return code, taken
        taken = [None if k in bad else o for k, o in enumerate(taken)]
    return None, ()


def _bound(f: Any, code: Any) -> Any:
    from termgraph.backends.c.glue import attach, bind
    from termgraph.backends.c.program import built
    from termgraph.function.native import ordered

    maker, layout = f.maker, ordered(f.maker)
    return bind(
        built(code, maker.name or "function"),
        code.signature,
        name=f.name or "function",
        cells=[attach(f.input_storage[i]) for i in layout.cells],
        constants=code.constants,
        filter=lambda i, value: f._checked(layout.arguments[i], i, value),
        fail=_refuse,
        wrap=lambda results: dict(zip(maker.output_keys, results)),
    )


def _refuse(*_status: int) -> None:
    raise _Refused


def transposed(arguments: Sequence[Any], orders: Sequence[Order | None]) -> tuple[list[Any], dict[Any, Any]]:
    """Leaves for arguments that are handed over transposed, and what stands for the old ones."""
    new, instead = list(arguments), {}
    for k, (a, order) in enumerate(zip(arguments, orders)):
        if order is not None:
            new[k] = Arg(a.index, TensorType(a.type.dtype, tuple([a.type.shape[d] for d in order])))
            instead[a] = dimshuffle.bind(order=tuple([order.index(d) for d in range(len(order))]))(new[k])
    return new, instead


def rewritten_again(roots: Sequence[Any], args: Sequence[Any], work: Any) -> list[Any]:
    """The graph with what its rules make of transposed arguments: a sum over everything does not care, for one."""
    from termgraph.function.pipeline import REWRITE_AGAIN, Compilation
    from termgraph.terms.ops.call import inline_calls

    with config.change_flags({"traceback.limit": 0}):
        again = Compilation(Captured(list(args), list(roots), work.captured.sources), work.mode).run(REWRITE_AGAIN)
    return inline_calls(again.roots)


def _always_copy(f: Any, orders: Sequence[Order | None]) -> None:
    """Tell the C program not to ask again for arguments that lie like these."""
    from termgraph.function.native import library_of

    name = name_of([o for o, i in zip(orders, f._explicit) if f.maker.inputs[i].variable.type.ndim > 1])
    seen = (ctypes.c_int64 * (2 * ORDERS)).from_address(library_of(f.maker).address("tg_orders"))
    for k in range(ORDERS):
        if seen[k] == name:
            seen[ORDERS + k] = -1


def name_of(orders: Sequence[Order | None]) -> int:
    """The number by which C knows the orders of the arguments with two and more axes (`relayout` in team.c)."""
    name = 0
    for order in orders:
        name = name * 31 + sum(d << 3 * k for k, d in enumerate(order or ()))
    name &= (1 << 64) - 1
    return name - (1 << 64) if name >> 63 else name


__all__ = ["call_in_order", "name_of", "order_of", "rewritten_again", "transposed"]
