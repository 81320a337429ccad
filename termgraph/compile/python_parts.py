"""What of a compiled function runs in Python all the same, and why, in the user's words."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from termgraph._lazy import lazy
from termgraph._logs import INFO, Log
from termgraph._records import NamedTuple
from termgraph.compile.compilation import Compilation
from termgraph.config import config
from termgraph.tensor.trace import placed
from termgraph.terms.errors import PythonPartWarning
from termgraph.terms.traverse import children_first
from termgraph.vm.program import Program

if TYPE_CHECKING:
    from termgraph.backends.c import placement
    from termgraph.terms.term import AnyTerm
else:
    placement = lazy("termgraph.backends.c.placement")

log = Log("compile")


class PythonPart(NamedTuple):
    """An operation that Python runs: its name, the reason, the user's line, and whether that is done in every step."""

    op: str
    why: str
    site: tuple
    in_steps: bool = False

    def __str__(self) -> str:
        return placed(self.site, f"{self.op} runs in Python: {self.why}")


class PythonParts(list[PythonPart]):
    """All of a function's; empty if it is compiled as a whole. Prints one below the other."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "everything is compiled"

    __repr__ = __str__


def python_parts(work: Compilation, program: Program) -> PythonParts:
    """The instructions of a program that no compiled code runs."""
    found = PythonParts()
    refused = dict(work.kept.refused or ()) if work.kept is not None else {}
    told = {t: why for i, why in refused.items() for t in work.program.instructions[i].terms}
    for ins in program.instructions:
        if ins.op.kind == "kernel":
            continue
        t = ins.terms[0]
        why = told.get(t) or getattr(ins.run, "not_in_c", None) or _why_not(work, t)
        found.append(PythonPart(ins.op.name, why, _site(work, t), ins.op.kind == "loop"))
    if not found and work.not_native:
        found.append(PythonPart("the call", f"{work.not_native}; all operations are compiled", ()))
    return found


def _why_not(work: Compilation, t: AnyTerm) -> str:
    if not work.in_c:
        return "the linker is py" if work.options.linker == "py" else "there is no C compiler"
    return placement.why_not(t) or "which of its operands are computed is decided while it runs"


def _site(work: Compilation, t: AnyTerm) -> tuple:
    """The user's line of a term. A warm start does not rewrite for it: the line of the first such op has to do."""
    if not work.warm:
        return work.lookup(t)[1]
    alike = [u for u in children_first(work.captured.roots) if u.args and u.op.family is t.op.family]
    return next((site for u in alike if (site := work.captured.lookup(u)[1])), ())


def tell(work: Compilation, program: Program, name: str | None) -> None:
    """Warn of parts that Python runs, as the flag `python_parts` says, and tell the log; once for each function."""
    wanted = config.python_parts
    if not work.in_c or work.told:
        return
    work.told = True
    if log.wanted(INFO):
        for part in python_parts(work, program):
            log.info("%s: %s", name or "a function", part)
    if wanted == "ignore":
        return
    slow = [i for i in program.instructions if i.op.kind == "loop" or (wanted == "all" and i.op.kind != "kernel")]
    if not slow:
        return
    parts = [part for part in python_parts(work, program) if wanted == "all" or part.in_steps]
    more = f"\n... and {len(parts) - 3} more: f.why_not_native() lists them" if len(parts) > 3 else ""
    silence = "the flag python_parts=ignore silences this"
    warnings.warn(
        "\n".join(map(str, parts[:3])) + more + f"\n  in {f'function {name!r}' if name else 'a function'}; {silence}",
        PythonPartWarning,
        stacklevel=3,
    )
