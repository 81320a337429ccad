"""Carries: values that go from step to step. Their type must not change; if it does, the error says how.

Lengths may: a length that differs between start and step becomes unknown.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.likes import TensorLike
from termgraph.tensor.testvalues import stand_in
from termgraph.tensor.trace import describe_site
from termgraph.tensor.variable import Constant, Variable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import can_cast, kind_of, promote
from termgraph.terms.errors import ShapeError, TypeMismatch
from termgraph.terms.term import Arg
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType


class Carry:
    """One carry while it is traced: `init` outside, `leaf` as the step sees it, `new` as the step returns it.

    `weak`: it starts from a plain number, whose dtype may adapt: first to that of the sequences `around`, then to what
    the step returns. `label` is what errors call it.
    """

    def __init__(self, label: str, init: Any, name: str | None = None, around: Sequence[Variable] = ()) -> None:
        self.label, self.weak = label, is_plain_number(init)
        self.init = init if isinstance(init, Variable) else as_tensor(init, dtype=_guess(init, around))
        self.type = self.init.type
        self.leaf: Any = stand_in(self.type.make_variable(name), self.init)
        self.new: Any = self.leaf

    def take(self, new: Any) -> None:
        """Set the next value; a constant takes the dtype of the carry if it fits."""
        if not isinstance(new, Variable):
            new = as_tensor(new, dtype=self._dtype_for(new))
        elif isinstance(new, Constant) and isinstance(self.type, TensorType):
            new = as_tensor(new, dtype=self._dtype_for(new.data))
        self.new = new

    def _dtype_for(self, value: object) -> str | None:
        if not isinstance(self.type, TensorType):
            return None
        array = np.asarray(value)
        same_kind = kind_of(array.dtype) in "biu" or kind_of(array.dtype) == self.type.kind
        return self.type.dtype if is_plain_number(value) and same_kind and self.type.kind in "fc" else None

    def adapt(self) -> bool:
        """Let a carry that starts from a plain number take the dtype that the step returns; whether it changed."""
        old, new = self.type, self.new.type
        if not (self.weak and isinstance(new, TensorType) and old.dtype != new.dtype):
            return False
        if not can_cast(old.np_dtype, new.np_dtype, "same_kind") or can_cast(new.np_dtype, old.np_dtype, "safe"):
            return False
        self.weak = False
        self.init = as_tensor(self.init, dtype=new.dtype)
        self.type = self.init.type
        self.leaf = stand_in(self.type.make_variable(self.leaf.name), self.init)
        return True


def _guess(init: TensorLike, around: Sequence[Variable]) -> str | None:
    """The float dtype that a plain float most likely meets in the loop."""
    if not isinstance(init, float) or not is_plain_number(init):
        return None
    floats = [v.type.np_dtype for v in around if isinstance(v.type, TensorType) and v.type.kind == "f"]
    return promote(*floats).name if floats else None


def settle_types(carries: Sequence[Carry], function: Callable[..., Any]) -> None:
    """Find the types of the carries, lengths generalised until a step keeps them; TypeMismatch if there are none."""
    problems = [c for c in carries if not _same_kind(c.type, c.new.type)]
    if problems:
        raise TypeMismatch(carry_text(problems, function))
    for _ in range(1 + sum(c.type.ndim for c in carries if isinstance(c.type, TensorType))):
        replace = {c.leaf.term: Arg(i, c.type) for i, c in enumerate(carries)}
        try:
            new = substitute([c.new.term for c in carries], replace)
        except (TypeError, ValueError) as err:
            changed = [c for c in carries if c.type is not c.leaf.type]
            raise ShapeError(_general_text(changed, function, err)) from None
        wider = [merged(c.type, t.type) for c, t in zip(carries, new)]
        if all(w is c.type for w, c in zip(wider, carries)):
            return
        for c, w in zip(carries, wider):
            c.type = w
    raise ShapeError(f"the lengths of the carries of {function_text(function)} do not settle")


def _same_kind(old: TensorType, new: TensorType) -> bool:
    if isinstance(old, TensorType) and isinstance(new, TensorType):
        return old.dtype == new.dtype and old.ndim == new.ndim
    return old.accepts(new)


def merged(old: Any, new: Any) -> Any:
    """The type of values that may have either type: lengths that differ are unknown."""
    if not isinstance(old, TensorType) or old is new:
        return old
    return TensorType.of(old.dtype, tuple([m if m == n else None for m, n in zip(old.shape, new.shape)]))


# ---------------------------------------------------------------------- explaining
def function_text(function: Callable[..., Any]) -> str:
    """A step function by name and place."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", None) or type(function).__name__
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


def function_site(function: Callable[..., Any]) -> tuple:
    """The place of a step function, in the form in which variables remember theirs."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ()
    text = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return ((code.co_filename, code.co_firstlineno, code.co_name, text),)


def carry_text(problems: Sequence[Carry], function: Callable[..., Any]) -> str:
    """What changes in which carry, where it was made, and what to do."""
    lines = [f"the step function {function_text(function)} changes the type of what is carried from step to step:"]
    for c in problems:
        lines.append(f"  {c.label} starts as {c.type}, but the step returns {c.new.type}")
        place = describe_site(c.new.site)
        if place:
            lines.append("\n".join("  " + line for line in place.splitlines()))
        lines += [f"    - {d}" for d in differences(c.type, c.new.type)]
    return "\n".join(lines)


def differences(old: Any, new: Any) -> list[str]:
    """Every difference between the two types, with what to change."""
    if not isinstance(old, TensorType) or not isinstance(new, TensorType):
        return [f"the kinds of value differ: {old} and {new}"]
    found = []
    if old.dtype != new.dtype:
        keep = f"return T.cast(value, {old.dtype!r})"
        found.append(f"dtype {old.dtype} -> {new.dtype}: {keep}, or start from a value of dtype {new.dtype}")
    if old.ndim != new.ndim:
        advice = "reduce or reshape what is returned" if new.ndim > old.ndim else "start from fewer dimensions"
        if old.ndim < new.ndim:
            advice += f", or start from an array of {new.ndim} dimension{'s' * (new.ndim != 1)} (T.zeros(...))"
        found.append(f"dimensions {old.ndim} -> {new.ndim}: {advice}")
    else:
        for axis, (m, n) in enumerate(zip(old.shape, new.shape)):
            if m != n and None not in (m, n):
                found.append(f"length of dimension {axis} {m} -> {n} (allowed, if the step can do with any length)")
    return found


def _general_text(changed: Sequence[Carry], function: Callable[..., Any], err: Exception) -> str:
    lines = [f"the step function {function_text(function)} changes lengths of what is carried from step to step,"]
    lines.append("and does not work when those lengths are unknown:")
    lines += [f"  {c.label} starts as {c.leaf.type}, the step returns {c.new.type}" for c in changed]
    lines.append(f"  ({err})")
    lines.append("  Start from a value that has the final lengths already, for instance T.zeros(...) of that shape.")
    return "\n".join(lines)
