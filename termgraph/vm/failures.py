"""Failures at run time, told in the user's words: first the line that made the expression, then op, operands, hints.

The exception keeps its type; its message is put in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.config import config
from termgraph.tensor.trace import describe_site
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.loop import places_of
from termgraph.terms.term import AnyTerm, Input, mk
from termgraph.terms.text import one_line
from termgraph.terms.traverse import free_args, substitute
from termgraph.terms.types import TensorType, TupleType, Type

if TYPE_CHECKING:
    from termgraph.vm.program import Program

_SHAPE_WORDS = ("shape", "align", "broadcast", "dimension", "mismatch", "length")


Operands = Sequence[tuple[Any, Any]]  # the terms of an instruction's inputs with their values
Lookup = Callable[[Any], tuple]


def explain(
    error: Exception, instruction: Any, operands: Operands, lookup: Lookup | None = None, program: Program | None = None
) -> Exception:
    """The same exception, whose message now begins with where and what failed."""
    if getattr(error, "_termgraph_explained", False):
        return error
    text = failure_text(error, instruction, operands, lookup)
    if config.debug >= 5 and program is not None:
        text = f"{text}\n{listing(program, instruction)}"
    return reworded(error, text)


def listing(program: Any, instruction: Any) -> str:
    """The program line by line, with a mark at the instruction that failed."""
    lines = [f"    {line}" for line in program.text()]
    first = len(program.inputs) + len(program.constants)
    if instruction in program.instructions:
        k = first + program.instructions.index(instruction)
        lines[k] = "  > " + lines[k][4:]
    return "\n".join(["  program:", *lines])


def failure_text(error: Exception, instruction: Any, operands: Operands, lookup: Lookup | None) -> str:
    """User's line, what went wrong, the operands as they were, and what more can be shown."""
    lookup = outer = lookup or _nothing_known
    term = getattr(error, "term", None) or instruction.terms[0]  # a kernel of many terms says which one failed
    loops: Sequence[Any] = getattr(error, "loops", ())
    if loops:
        lookup = lambda t: places_of(loops[-1]).get(t, (None, ()))  # noqa: E731
    name, site = _known(term, lookup)
    lines = [describe_site(site, limit=1 if config.debug < 2 else 8)] if site else []
    inside = instruction.op.kind == "kernel" and hasattr(error, "plain")
    failed, why = (term.op, error.plain) if inside else (instruction.op, error)  # type: ignore[attr-defined]
    lines.append(f"{_op_text(failed)} failed: {why}" + (f"   (computing {name!r})" if name else ""))
    told = outer if inside else lookup  # what a kernel was given, are not the operands of the op in it that failed
    lines += [f"  operand {i}: {_operand(t, value, told, inside)}" for i, (t, value) in enumerate(operands)]
    lines += _hints(error, term, lookup)
    steps = zip(getattr(error, "steps", ()), reversed(loops))  # the innermost loop first
    lines += [f"  in step {step} of {op.title}" for step, op in steps]
    return "\n".join(line for line in lines if line)


def _known(term: Any, lookup: Lookup) -> tuple:
    """Name and place of a term; of several results, those of the first one that the user has."""
    name, site = lookup(term)
    if not site and isinstance(term.type, TupleType):
        found = [lookup(mk(nth.bind(i=i), (term,)))[1] for i in range(len(term.type.types))]
        site = next(filter(None, found), ())
    return name, site


def _nothing_known(term: AnyTerm) -> tuple:
    return None, ()


def _op_text(op: Any) -> str:
    text = repr(op)
    if any(getattr(op, "params", {}).get(p) for p in ("message", "told")):  # which are the message itself
        return op.name
    return text if len(text) < 200 else getattr(op, "name", text[:200])


def _operand(term: AnyTerm, value: TensorType | np.ndarray, lookup: Callable[[Any], tuple], inside: bool) -> str:
    name = lookup(term)[0] or (shown(term, lookup, 60) if inside and term.args else None)
    if isinstance(value, Type):  # compiled code reports no values: what is known of them beforehand
        return f"{name or shown(term, lookup, 60)}, {value}"
    label = f"{name}, " if name else ""
    if hasattr(value, "to_host"):
        return f"{label}{value.dtype}, shape {value.shape}, on the GPU"
    if isinstance(value, np.ndarray):
        text = f"{label}{value.dtype}, shape {value.shape}"
        if config.debug >= 3:
            text += f", strides {value.strides}"
        if value.size <= 5 or config.debug >= 4:
            text += f", value {np.array2string(value, threshold=20, max_line_width=10**6)}"
        return text.replace("\n", " ")
    return f"{label}{type(value).__name__} {value!r:.60}"


def _hints(error: Exception, term: AnyTerm, lookup: Lookup) -> list[str]:
    hints = []
    if config.debug < 1:
        if isinstance(error, (ValueError, TypeError)) and any(w in str(error).lower() for w in _SHAPE_WORDS):
            hints.append("  To find a wrong shape while building, give the inputs a tag.test_value and set")
            hints.append("  config.compute_test_value = 'raise'. TERMGRAPH_DEBUG=1 shows the whole expression.")
        else:
            hints.append("  TERMGRAPH_DEBUG=1 shows the whole expression.")
    else:
        hints.append(f"  expression: {shown(term, lookup, 2000)}")
    return hints


def shown(term: AnyTerm, lookup: Lookup, limit: int = 600) -> str:
    """A term on one line, its arguments under the names the user gave them."""
    names = {t: lookup(t)[0] for t in free_args([term])}
    named = {t: Input(name, t.type) for t, name in names.items() if name}
    return one_line(substitute([term], named)[0], limit)


def reworded(error: Exception, text: str) -> Exception:
    """The exception itself, with another message; where a class builds its own message, the text becomes a note."""
    first = error.args[0] if error.args else None
    if first is None or isinstance(first, str):
        old = error.args
        error.args = (text, *error.args[1:])
        if text not in str(error) and not isinstance(error, KeyError):
            error.args = old
            error.add_note(text)
    else:
        error.add_note(text)
    error._termgraph_explained = True  # type: ignore[attr-defined]
    return error
