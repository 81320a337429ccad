"""NanGuardMode: stop at the first NaN, infinity or huge number, and say where it arose.

An instruction that fuses many operations is run again one operation at a time to find the first bad one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from termgraph.config import config
from termgraph.function.mode import Maker, Mode
from termgraph.tensor.trace import describe_site
from termgraph.terms.dtypes import kind_of
from termgraph.terms.errors import TermgraphError
from termgraph.terms.evaluate import apply_meaning
from termgraph.terms.op import CONST
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import Parts, checked_steps, places_of
from termgraph.terms.term import AnyTerm, Term
from termgraph.terms.traverse import children_first, children_first_until
from termgraph.vm.failures import shown
from termgraph.vm.program import Instruction

if TYPE_CHECKING:
    from termgraph.compile.compilation import Compilation

BIG = 1e10
BIG_VALUE = "big value"


class NanGuardError(TermgraphError, AssertionError):
    """A value that NanGuardMode does not allow. `kind` is "NaN", "infinity" or "big value"."""

    kind = ""


class NanGuardMode(Mode):
    """A mode that stops when an input or result holds NaN, an infinity, or a number above 1e10.

    With `linker="py"` it looks at the result of every operation. Otherwise it looks at what compiled kernels and loops
    give, which is much faster; one that gives something bad is run again, one operation at a time, for the report.
    What counts as an error can be chosen; the defaults are the flags `NanGuardMode.nan_is_error` and so on.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> f = tg.function([x], T.log(x) * 2, mode=NanGuardMode(inf_is_error=False))
    >>> f([1.0, -1.0])
    Traceback (most recent call last):
        ...
    termgraph.debug.nanguard.NanGuardError: ...
    """

    sees_kernels = True

    def __init__(
        self,
        nan_is_error: bool | None = None,
        inf_is_error: bool | None = None,
        big_is_error: bool | None = None,
        optimizer: str | None = None,
        linker: str | None = None,
    ) -> None:
        super().__init__(linker=linker, optimizer=optimizer)
        flags = config.NanGuardMode
        self.nan_is_error = flags.nan_is_error if nan_is_error is None else nan_is_error
        self.inf_is_error = flags.inf_is_error if inf_is_error is None else inf_is_error
        self.big_is_error = flags.big_is_error if big_is_error is None else big_is_error

    def kind_of(self, value: Any) -> str | None:
        """What is wrong with a value, or None."""
        if not isinstance(value, np.ndarray) or kind_of(value.dtype) not in "fc" or value.size == 0:
            return None
        finite = np.isfinite(value)
        if not finite.all():
            if self.nan_is_error and np.isnan(value).any():
                return "NaN"
            if self.inf_is_error and np.isinf(value).any():
                return "infinity"
        if self.big_is_error and (np.abs(value[finite]) > BIG).any():
            return BIG_VALUE
        return None

    def watch(self, maker: Maker) -> list[Any]:
        """The observer that looks at every value."""
        return [*super().watch(maker), _Guard(self, maker.work)]

    def check_inputs(self, maker: Maker, values: Sequence[Any]) -> None:
        """Look at the arguments and shared variables before the run."""
        for item, value in zip(maker.inputs, values):
            kind = self.kind_of(value)
            if kind:
                place = describe_site(item.variable.site)
                what = "shared variable" if item.shared else "input"
                raise _error(
                    kind, f"{place}\n{kind} in the {what} {item.name or item.variable.type}{_where(kind, value)}"
                )


class _Guard:
    def __init__(self, mode: NanGuardMode, work: Compilation) -> None:
        self.mode, self.work = mode, work

    def __call__(self, i: int, instruction: Instruction, slots: list[Any], seconds: float) -> None:
        for s in instruction.outputs:
            kind = self.mode.kind_of(slots[s])
            if kind and not _is_of_bits(self.work.program.term_of[s], kind):
                given = {self.work.program.term_of[n]: slots[n] for n in instruction.inputs}
                term, value, operands = first_bad(instruction, given, self.mode.kind_of)
                value = slots[s] if term is None else value
                inside = None
                if term is not None and term.op.kind == "loop":
                    inside = first_bad_step(term.op, operands, self.mode.kind_of)
                if inside is not None:
                    kind = self.mode.kind_of(inside.value) or kind
                    text = self._report(kind, inside.term, inside.value, inside.operands, inside.lookup)
                    raise _error(kind, "\n".join([text, *inside.steps()]))
                whole = self.work.program.term_of[s]
                text = self._report(kind, term or whole, value, operands, self.work.lookup)
                raise _error(kind, text)

    def _report(self, kind: str, term: AnyTerm, value: np.ndarray, operands: Sequence[Any], lookup: Callable) -> str:
        name, site = lookup(term)
        lines = [describe_site(site)] if site else []
        called = f" ({name})" if name else ""
        lines.append(f"{kind} in the result{called} of {shown(term, lookup, 200)}{_where(kind, value)}")
        for k, (a, v) in enumerate(zip(term.args, operands)):
            label = lookup(a)[0] or shown(a, lookup, 60)
            extent = f", from {np.min(v)} to {np.max(v)}" if isinstance(v, np.ndarray) and v.size else ""
            shape = f"{v.dtype}, shape {v.shape}" if isinstance(v, np.ndarray) else type(v).__name__
            lines.append(f"  operand {k}: {label}, {shape}{extent}")
        return "\n".join(lines)


def first_bad(
    instruction: Instruction, given: dict[Any, Any], kind_of: Callable[[Any], str | None]
) -> tuple[Any, Any, list[Any]]:
    """The first term inside an instruction whose value is bad: (term, value, operand values).

    `given` holds the values of the terms that the instruction reads. (None, None, []) if, computed one by one, none is.
    """
    values = {id(t): v for t, v in given.items()}
    for t in children_first_until(instruction.terms, values):
        if t.op is CONST:
            values[id(t)] = t.value
        elif t.__class__ is Term:
            operands = [values[id(a)] for a in t.args]
            result = values[id(t)] = apply_meaning(t, operands)
            for value in result if isinstance(result, tuple) else (result,):
                kind = kind_of(value)
                if kind and not _is_of_bits(t, kind):
                    return t, value, operands
    return None, None, []


def _is_of_bits(t: AnyTerm, kind: str) -> bool:
    """Whether a big number is the bits of a draw: they become floats, perhaps half a unit more, and are divided."""
    if kind != BIG_VALUE:
        return False
    while t.op.name == "add" and len(moved := [a for a in t.args if a.op is not CONST]) == 1:
        t = moved[0]
    if t.op.family.name != "cast" or kind_of(t.args[0].type.dtype) not in "iu":
        return False
    return any(a.op.name.startswith("philox") for a in children_first(t.args))


def _where(kind: str, value: np.ndarray) -> str:
    """How many bad elements there are, and where the first is."""
    bad = {"NaN": np.isnan, "infinity": np.isinf}.get(kind, lambda v: np.abs(v) > BIG)(value)
    if value.ndim == 0:
        return f": {value}"
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    return f": {int(bad.sum())} of {value.size} elements of an array of shape {value.shape}, the first at {list(first)}"


def _error(kind: str, text: str) -> NanGuardError:
    error = NanGuardError(text.lstrip("\n"))
    error.kind = kind
    error._termgraph_explained = True  # type: ignore[attr-defined]
    return error


# ---------------------------------------------------------------------- inside loops
class Found(NamedTuple):
    """The first bad value in a loop: the term of its body, value, operands, and the loops with their steps."""

    term: Any
    value: Any
    operands: list[Any]
    loops: list[tuple[Any, int]]  # innermost first

    def lookup(self, term: AnyTerm) -> tuple:
        """(name, site) of a term of the innermost body."""
        return places_of(self.loops[0][0]).get(term, (None, ()))

    def steps(self) -> list[str]:
        """In which steps it arose."""
        return [f"  in step {step} of {op.title}" for op, step in self.loops]


def first_bad_step(op: Any, values: Sequence[Any], kind_of: Callable[[Any], str | None]) -> Found | None:
    """The first bad value that arises in the steps of a loop on these operands, or None."""
    parts = Parts(op, values)
    body = inline_calls(list(op.params["body"]))
    order, carries = children_first(body), parts.inits
    for step in range(checked_steps(op, parts.n, parts.xs)):
        known = dict(zip(op.leaves, [*parts.consts, *carries, *[x[step, ...] for x in parts.xs]]))
        for t in order:
            if t.op is CONST:
                known[t] = t.value
            elif t.__class__ is Term:
                operands = [known[a] for a in t.args]
                known[t] = result = apply_meaning(t, operands)
                found = _look(t, result, operands, kind_of)
                if found is not None:
                    return found._replace(loops=[*found.loops, (op, step)])
        carries = [known[t] for t in body[: op.n_carry]]
        if op.params["until"] and known[body[-1]]:
            break
    return None


def _look(t: AnyTerm, result: Any, operands: list[Any], kind_of: Callable[[Any], str | None]) -> Found | None:
    bad = next((v for v in (result if isinstance(result, tuple) else (result,)) if kind_of(v)), None)
    if bad is None or _is_of_bits(t, kind_of(bad) or ""):
        return None
    inside = first_bad_step(t.op, operands, kind_of) if t.op.kind == "loop" else None  # as deep as loops are nested
    return inside or Found(t, bad, operands, [])
