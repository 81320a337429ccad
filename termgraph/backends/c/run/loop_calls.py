"""Loops that are instructions of their own: how many steps they make depends on values, or their body needs Python.

The number of steps is handed to C as the length of an array that takes no room. A loop that may stop early and stacks
results is run in pieces of growing length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph import progress
from termgraph.backends.c.cprogram import CProgram
from termgraph.backends.c.generate import generated
from termgraph.backends.c.run.bind import compile_program
from termgraph.stages import Ledger
from termgraph.terms.op import Op
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import Loop, Parts, checked_steps, inherit_places, projections
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType
from termgraph.vm.loops import make_runner
from termgraph.vm.partition import Refusal
from termgraph.vm.program import Program

FIRST_PIECE = 64
_LENGTH = TensorType("int8", (None, 0))
_BOOL = TensorType("bool", ())


def native_loop(
    t: AnyTerm, ledger: Ledger | None = None, fuse: bool = True, multiply_add: bool = False
) -> tuple[CProgram, Callable[..., tuple]] | Refusal:
    """The C program of a loop term and `run(n_steps, *operands)`; or why C cannot express it."""
    in_pieces = t.op.params["until"] and t.op.n_ys > 0
    how = {"fuse": fuse, "multiply_add": multiply_add}
    code = _generated(_telling(t.op) if in_pieces else t.op, t, ledger, how)
    if isinstance(code, Refusal):
        return code
    run = compile_program(code, t.op.params["name"] or "loop", ledger=ledger)
    return code, (_pieces if in_pieces else _whole)(t.op, run)


def _generated(op: Any, t: AnyTerm, ledger: Ledger | None, how: dict[str, bool]) -> CProgram | Refusal:
    types = [a.type for a in t.args[1:]]
    if op is not t.op:
        first = len(types) - op.n_xs
        pieces = [x.clone(shape=(None, *x.shape[1:])) for x in types[first:]]  # of any number of rows
        types = [*types[:first], _BOOL, *pieces]
    args = [Arg(0, _LENGTH), *[Arg(i, type_) for i, type_ in enumerate(types, 1)]]
    term = mk(op, (mk(shape_i.bind(axis=0), (args[0],)), *args[1:]))
    made = generated(args, projections(term), returns="tuple", untrimmed=True, ledger=ledger, **how)
    return Refusal(t, made.why) if isinstance(made, Refusal) else made


def _telling(op: Loop) -> Op:
    """The same loop with one more carry: whether the last step was the one that ended it."""
    k = op.n_consts + op.n_carry
    body, takes = op.params["body"], op.params["takes"]
    shifted = {Arg(i, type_): Arg(i + (i >= k), type_) for i, type_ in enumerate(takes)}
    *rest, stop = substitute(list(body), shifted)
    body = (*rest[: op.n_carry], stop, *rest[op.n_carry :], stop)
    new = op.bind(body=body, takes=(*takes[:k], _BOOL, *takes[k:]), n_carry=op.n_carry + 1)
    inherit_places(new, op, shifted)
    return new


def _steps(n: int) -> np.ndarray:
    """An array of that length which takes no room."""
    return np.empty((n, 0), "int8")


def _whole(op: Loop, run: Callable) -> Callable[..., tuple]:
    def whole(n: Any, *operands: Any) -> tuple:
        steps = checked_steps(op, n, Parts(op, (n, *operands)).xs)
        return tuple(run(_steps(steps), *operands))

    return whole


def _pieces(op: Loop, run: Callable) -> Callable[..., tuple]:
    name = op.params["name"] or "loop"

    def pieces(n: np.ndarray, *operands: Any) -> tuple:
        parts = Parts(op, (n, *operands))
        steps = checked_steps(op, n, parts.xs)
        with progress.within(progress.Pieces(name), -steps) as shown:
            *results, at = made_of(steps, parts, shown)
        return (*results, np.asarray(at, "int64"))

    def made_of(steps: int, parts: Parts, shown: progress.Pieces) -> list[Any]:
        carries, at, size, stacks = parts.inits, 0, min(steps, FIRST_PIECE), []
        while True:
            rows = [x[at : at + size] for x in parts.xs]
            try:
                *out, made = run(_steps(size), *parts.consts, *carries, np.zeros((), "bool"), *rows)
            except Exception as error:
                if getattr(error, "steps", None):
                    error.steps[-1] += at  # type: ignore[attr-defined]
                raise
            carries, stopped, ys = out[: op.n_carry], out[op.n_carry], out[op.n_carry + 1 :]
            stacks.append([y[: int(made)] for y in ys])
            at += int(made)
            shown.made = at
            if stopped or at == steps:
                break
            size = min(steps - at, at)
        joined = [np.concatenate(found) if len(found) > 1 else found[0].copy() for found in zip(*stacks)]
        return [*carries, *joined, at]

    return pieces


def mixed_loop(op: Any, link: Callable[..., Program]) -> Callable[..., tuple]:
    """`run(n_steps, *operands)` for a body that Python runs, with C code for what C can express."""
    return make_runner(op, link(op.leaves, inline_calls(list(op.params["body"]))))
