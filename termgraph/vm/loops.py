"""Running loop bodies fast: the body becomes one straight-line Python function, made once per loop op.

Errors inside a body are told with the step and the user's line inside the step function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from termgraph import progress
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import places_of, run_loop, set_runner_maker
from termgraph.vm.failures import explain
from termgraph.vm.machine import Machine, Observer, runner_of
from termgraph.vm.program import Program

if TYPE_CHECKING:
    import numpy as np

    from termgraph.terms.term import AnyTerm


def make_runner(op: Any, program: Program | None = None, observers: Sequence[Observer] = ()) -> Callable[..., tuple]:
    """`run(n_steps, *operands)` for a loop op; `program` is that of its body, if it was linked already."""
    program = program or Program.from_terms(op.leaves, inline_calls(list(op.params["body"])))

    def lookup(term: AnyTerm) -> tuple:
        return places_of(op).get(term, (None, ()))

    body = Machine(program, observers=observers, lookup=lookup) if program.lazy or observers else None
    fast = None if body else straight_line(program)
    name = op.params["name"] or "loop"

    def run(*values: np.ndarray) -> tuple:
        made, shown = 0, progress.Steps(name)

        def step(*row: np.ndarray) -> Sequence[Any]:
            nonlocal made
            try:
                out = body(row) if body else fast(*row)  # type: ignore[misc]
            except Exception as error:
                raise _told(error, program, lookup, op, made) from None
            made += 1
            if made == shown.next:
                shown.look(made)
            return out

        most = int(values[0])
        with progress.within(shown, -most if op.params["until"] else most):
            return run_loop(op, step, values)

    return run


def straight_line(program: Program) -> Callable[..., tuple]:
    """The program as one Python function of its inputs, one line per instruction: a line tells which failed."""
    names: dict[str, Any] = {f"v{slot}": value for slot, value in program.constants.items()}
    lines = [f"def step({', '.join(f'v{i}' for i in program.inputs)}):"]
    for n, (instruction, free) in enumerate(zip(program.instructions, program.frees)):
        names[f"f{n}"] = runner_of(instruction)
        outputs = [f"v{s}" for s in instruction.outputs]
        target = ", ".join(outputs) + ("" if len(outputs) == 1 else ",")
        line = f" {target} = f{n}({', '.join(f'v{s}' for s in instruction.inputs)})"
        lines.append(line + (f"; {' = '.join(f'v{s}' for s in free)} = None" if free else ""))
    lines.append(f" return ({''.join(f'v{s}, ' for s in program.outputs)})")
    exec(compile("\n".join(lines), _FILE, "exec"), names)  # the text above is all there is: slots and numbers
    return names["step"]


_FILE = "<loop body>"


def _told(error: Exception, program: Program, lookup: Callable, op: Any, made: int) -> Exception:
    """The exception with the failing instruction, the user's line and the iteration in its message."""
    if not getattr(error, "_termgraph_explained", False):
        frame: Any = error.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename != _FILE:
            frame = frame.tb_next
        if frame is not None:
            instruction = program.instructions[frame.tb_lineno - 2]
            known = {**{f"v{s}": v for s, v in program.constants.items()}, **frame.tb_frame.f_locals}
            operands = [(program.term_of[s], known.get(f"v{s}")) for s in instruction.inputs]
            error = explain(error, instruction, operands, lookup)
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n  in step {made} of {op.title}", *error.args[1:])
    else:
        error.add_note(f"in step {made} of {op.title}")
    return error


set_runner_maker(make_runner)
