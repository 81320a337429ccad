"""Building and binding generated programs, and what their failures mean.

`compile_program` makes a callable of a `CProgram`; `failure` turns what a program reports into an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.backends.c.build.program_library import Again, built, with_terms
from termgraph.backends.c.cprogram import CProgram
from termgraph.backends.c.generate import LENGTH_DIFFERS, LENGTH_TOO_SMALL, generate
from termgraph.backends.c.run.glue import bind
from termgraph.backends.c.text.checks import BAD_INDEX, FAILED
from termgraph.backends.c.text.library_calls import MOST, TOO_LONG
from termgraph.lower.push.assertions import holds
from termgraph.stages import Ledger
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import HOW_TO_BROADCAST
from termgraph.terms.ops.loop import places_of
from termgraph.terms.ops.shaping import specify_shape
from termgraph.terms.text import one_line

NO_ROOM = -2  # TG_NOMEM of abi.h


def failure(program: CProgram, code: int, op: int, *numbers: int) -> Exception:
    """The exception for a failure that generated code reported, naming the term and the numbers."""
    if not 0 <= op < len(program.sites) or code not in (LENGTH_DIFFERS, LENGTH_TOO_SMALL, BAD_INDEX, FAILED):
        if code == NO_ROOM:
            return _no_room(program, *numbers[:3])
        if code == TOO_LONG:
            m, n, k = numbers[:3]
            return ShapeError(f"BLAS multiplies matrices of at most {MOST} rows and columns, not {m}x{k} by {k}x{n}")
        return RuntimeError(f"compiled code failed with code {code} at {op}: {numbers}")
    site = program.sites[op]
    kind: Any = ValueError if code == BAD_INDEX else ShapeError
    kind = IndexError if "out of bounds" in site.text or "boolean index" in site.text else kind
    kind = np.linalg.LinAlgError if code == FAILED else kind
    kind = site.term.op.params["error"] if site.term.op.family is holds else kind
    name = "" if site.leaf is None else places_of(site.term.op).get(site.leaf, (None, ()))[0] or repr(site.leaf)
    text = site.text.format(*numbers, name=name)
    if code == LENGTH_DIFFERS and kind is ShapeError and 1 in numbers[:2] and site.term.op.family is not specify_shape:
        text += f"; {HOW_TO_BROADCAST}"
    error: Any = kind(text)
    if site.loops:
        error.term = program.lowered.origin.get(site.term, site.term)
        error.loops, error.steps = [t.op for t in site.loops], [n - 1 for n in numbers[2:] if n]
    else:
        error.term = program.original(site.term)
    return error


def _no_room(program: CProgram, size: int, output: int, space: int) -> Exception:
    """Memory ran out: for which result, as far as that is known."""
    amount = f"{size} bytes" if size < 2**63 - 1 else "more bytes than can be counted"
    error: Any = MemoryError(f"no room for {amount}")
    if program.lowered is not None and (output >= 0 or space >= 0):
        term = program.lowered.outputs[output] if output >= 0 else program.spaces[space]
        if term is not None:
            error.term = program.original(term)
    return error


def compile_program(
    program: CProgram,
    name: str = "f",
    fail: Callable[..., Any] | None = None,
    again: Again | None = None,
    ledger: Ledger | None = None,
    **binding: Any,
) -> Any:
    """Build (or take from the cache) and load a program; the result is called with arrays.

    `fail(code, op, v0, v1, v2, v3)` raises the exception for a failure; the default is `failure`. `again` makes a
    program from the cache anew, with the terms that a failure names. `binding` goes to `glue.bind`.
    """
    ledger = ledger or Ledger()
    library = ledger.run("build", built, program, name, None, again)

    def report(code: int, op: int, *numbers: int) -> None:
        error = failure(with_terms(program, again), code, op, *numbers)
        if hasattr(error, "term"):
            error.plain = str(error)  # type: ignore[attr-defined]  # for whoever can name the term better
            error.args = (f"{error.term.op.family.name}: {error}\n  in {one_line(error.term)}",)
        try:
            raise error
        finally:
            del error  # it holds its traceback, that this frame

    with ledger.timed("bind"):
        return bind(library, program.signature, name=name, constants=program.constants, fail=fail or report, **binding)


def compile_terms(args: Sequence[Any], outputs: Sequence[Any], name: str = "f", **options: Any) -> Any:
    """The callable that computes output terms from `Arg` leaves: `generate` and `compile_program` in one."""
    return compile_program(generate(args, outputs, **options), name)
